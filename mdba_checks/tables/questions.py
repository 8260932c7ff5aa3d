"""Which questions a check asks: one per attribute, per combination of attributes and per class.

All of them are about the same tables. A question says which columns make the groups that are
compared and, where every class is looked at, which label counts as yes. Each is answered on its
own; the answers are judged together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.text import canonical, match_name, unify

CROSS = " × "  # between the groups, and the columns, of a combination
EACH = "each"  # positive: each
# Beyond this the column is a measurement or a text, not a decision.
MOST_CLASSES = 50


@dataclass(frozen=True)
class Question:
    """One question of a check.

    Attributes
    ----------
    columns
        The group column, or those whose groups are combined.
    label_class
        The label that counts as yes, where every class is looked at.

    Examples
    --------
    >>> Question(("gender", "age_band")).attribute
    'gender × age_band'
    """

    columns: tuple[str, ...]
    label_class: str | None = None

    @property
    def attribute(self) -> str:
        """What the groups are groups of."""
        return CROSS.join(self.columns)

    @property
    def crosses(self) -> bool:
        """Whether groups of several columns are combined."""
        return len(self.columns) > 1


def attributes_of(config: CheckConfig) -> list[tuple[str, ...]]:
    """Return the group columns, then the sets of them whose groups are combined.

    Examples
    --------
    >>> crossed = CheckConfig(columns={"group": ["a", "b", "c"]}, intersections=True)
    >>> attributes_of(crossed)[3:]
    [('a', 'b'), ('a', 'c'), ('b', 'c'), ('a', 'b', 'c')]
    """
    names = config.columns.groups
    most = len(names) if config.intersections else 1
    return [each for size in range(1, most + 1) for each in combinations(names, size)]


def questions_of(config: CheckConfig, labels: Sequence[str], gold: Sequence[str]) -> list[Question]:
    """Return the questions of a check, by the values that the labels and gold hold."""
    classes: list[str | None] = [None]
    if asks_for_each(config, labels, gold):
        classes = [*_classes(config, labels, gold)]
    attributes = attributes_of(config)
    return [Question(columns, each) for columns in attributes for each in classes]


def asks_for_each(config: CheckConfig, labels: Sequence[str], gold: Sequence[str]) -> bool:
    """Return whether every class is looked at; a label may be called 'each' as well."""
    return config.positive == EACH and match_name(EACH, {*labels, *gold}) is None


def _classes(config: CheckConfig, labels: Sequence[str], gold: Sequence[str]) -> list[str]:
    known = sorted({*labels, *gold})
    columns = f"columns {config.columns.label!r} of labels and {config.columns.gold!r} of gold"
    shown = "" if config.pseudonymize else f": {', '.join(map(repr, known[:5]))}, …"
    if not set(labels) & set(gold):
        raise InputError(
            f"{columns} have no value in common, and positive is 'each': it needs the same words "
            "in both; name the values that count as positive instead (positive, gold_positive)"
        )
    if len({value.strip().casefold() for value in known}) < len(known):
        raise InputError(f"{columns} hold one value in two spellings{shown}: spell it in one way")
    if len(known) > MOST_CLASSES:
        raise InputError(
            f"{columns} hold {len(known)} values{shown}: at most {MOST_CLASSES} classes are "
            "compared one by one; name the values that count as positive (--positive)"
        )
    return known


def groups_of(
    labels: Sequence[pa.DictionaryArray], gold: Sequence[pa.DictionaryArray]
) -> tuple[list[str], list[IntArray]]:
    """Return the names of the groups, sorted, and the codes of both tables' rows.

    `labels` and `gold` hold the names of one column, or of several that are combined; then only
    combinations that some row has are groups.

    Examples
    --------
    >>> sex, age = (pa.array(each).dictionary_encode() for each in (["w", "m"], ["old", "old"]))
    >>> groups_of([sex, age], [sex[:1], age[:1]])[0]
    ['m × old', 'w × old']
    """
    each = [unify(*pair) for pair in zip(labels, gold, strict=True)]
    if len(each) == 1:
        names, codes = each[0]
        return names.to_pylist(), codes
    n_labels = len(labels[0])
    code = np.zeros(n_labels + len(gold[0]), dtype=np.int64)
    spelled = [""]
    for number, (names, codes) in enumerate(each):
        # What is combined so far is numbered anew, so that codes stay small.
        found, code = np.unique(code * len(names) + np.concatenate(codes), return_inverse=True)
        before, own = np.divmod(found, len(names))
        cross = CROSS if number else ""
        spelled = [
            f"{spelled[one]}{cross}{names[int(other)].as_py()}"
            for one, other in zip(before, own, strict=True)
        ]
    if len(set(spelled)) < len(spelled):
        raise InputError(f"a group's name holds {CROSS!r}, which joins the names of combinations")
    order = np.argsort(np.array(spelled, dtype=object), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    code = rank[code].astype(np.int32)
    return [spelled[place] for place in order], [code[:n_labels], code[n_labels:]]


def reference_of(question: Question, groups: Sequence[str], config: CheckConfig) -> str | None:
    """Return the group that others are compared with; None for everyone else.

    Combinations are compared with that of the columns' references, where all of them are named and
    somebody belongs to it.
    """
    wanted = [wanted_reference(column, config) for column in question.columns]
    if any(each is None for each in wanted):
        return None
    if not question.crosses:
        return match_name(wanted[0], groups)
    return match_name(CROSS.join(map(canonical, wanted)), groups)


def wanted_reference(column: str, config: CheckConfig) -> bool | int | str | None:
    """Return the reference that is named for a group column."""
    named = config.reference
    if isinstance(named, dict):
        return named.get(column)
    return named if column in config.columns.groups else None
