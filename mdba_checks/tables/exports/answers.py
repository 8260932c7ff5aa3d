"""What every export holds: items, answers about them, and right answers where some are marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.tables.sources import typed
from mdba_checks.tables.text import canonical

ITEM, LABELER, LABEL, GOLD = "item", "labeler", "label", "gold"
_MOST_SHOWN = 8


@dataclass
class Answers:
    """Answers as they are collected from an export.

    Attributes
    ----------
    items
        What is known about every item, by its name.
    given
        Item, labeler and answer, in the order of the export.
    right
        The right answer to items where it is marked.
    skipped
        How many answers were left out, by reason.
    used
        Columns of the export that hold answers or follow from them: never about an item.
    """

    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    given: list[tuple[str, str, Any]] = field(default_factory=list)
    right: dict[str, Any] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    used: set[str] = field(default_factory=set)

    def add_item(self, name: object, about: Mapping[str, Any]) -> str:
        """Keep what is known about an item and return its name."""
        item = canonical(name)
        self.items.setdefault(item, {}).update(about)
        return item

    def add(self, item: str, labeler: object, label: Any, *, right: bool = False) -> None:
        """Keep an answer, or a right answer; gaps are counted."""
        if label is None or label == "":
            self.skipped["without an answer"] += 1
        elif right:
            self.right[item] = label
        elif labeler is None or labeler == "":
            self.skipped["without a labeler"] += 1
        else:
            self.given.append((item, canonical(labeler), label))

    def labels(self) -> pa.Table:
        """Return a row per answer: ``item, labeler, label`` and what is known about the item."""
        given = {
            ITEM: pa.array([item for item, _, _ in self.given], pa.string()),
            LABELER: pa.array([who for _, who, _ in self.given], pa.string()),
            LABEL: typed([label for _, _, label in self.given]),
        }
        return self._with_items(given)

    def gold(self) -> pa.Table | None:
        """Return a row per item with a right answer, or None where there is none."""
        if not self.right:
            return None
        right = {ITEM: pa.array(list(self.right)), GOLD: typed(list(self.right.values()))}
        return self._with_items(right)

    def _with_items(self, columns: dict[str, pa.Array]) -> pa.Table:
        about = list(self.items.values())
        places = {name: place for place, name in enumerate(self.items)}
        rows = pa.array([places[name] for name in columns[ITEM].to_pylist()], pa.int64())
        names = dict.fromkeys(name for each in about for name in each)
        for name in names:
            values = typed([each.get(name) for each in about])
            columns[_free(name, columns)] = values.take(rows)
        return pa.table(columns)


def _free(name: str, taken: Iterable[str]) -> str:
    """Return a name that no role has: an item may bring a column 'label' of its own."""
    reserved = {ITEM, LABELER, LABEL, GOLD, *taken}
    while name in reserved:
        name = f"{name}_of_item"
    return name


def one_question(found: Mapping[str, Any], asked: str | None, where: str) -> str:
    """Return which question of an export the labels are answers to.

    Raises
    ------
    InputError
        When there are several and none is named, or the named one is not there.
    """
    if asked is not None:
        if asked not in found:
            raise InputError(f"{where} has no question {asked!r}.{did_you_mean(asked, found)}")
        return asked
    if len(found) != 1:
        shown = ", ".join(map(repr, list(found)[:_MOST_SHOWN])) or "none"
        raise InputError(
            f"{where} holds answers to {len(found)} questions ({shown}): name one with --question"
        )
    return next(iter(found))


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return what is nested in a record under names with points; other lists than vectors go.

    Examples
    --------
    >>> flat({"text": "hi", "meta": {"sex": "f"}, "tags": ["a"], "emb": [0.5, 1]})
    {'text': 'hi', 'meta.sex': 'f', 'emb': [0.5, 1]}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        elif not isinstance(value, list) or _is_vector(value):
            found[f"{prefix}{name}"] = value
    return found


def one_value(value: Any) -> Any:
    """Return the answer in a list of one; several at once are one answer of their own."""
    if not isinstance(value, list):
        return value
    if len(value) > 1:
        return " + ".join(sorted(map(canonical, value)))
    return value[0] if value else None


def _is_vector(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(each, float | int) for each in value)


Parser = Callable[..., Answers]
