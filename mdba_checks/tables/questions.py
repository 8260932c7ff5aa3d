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
from mdba_checks.tables.text import as_names, canonical, match_name, unify

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

    def title(self, others: Sequence[Question]) -> str:
        """Return what tells this question from others, in words; empty if it is the only one.

        Examples
        --------
        >>> question, other = Question(("sex",), "spam"), Question(("sex",), "ham")
        >>> question.title([question, other])
        'spam'
        """
        parts = []
        if len({each.columns for each in others}) > 1:
            parts.append(self.attribute)
        if len({each.label_class for each in others}) > 1:
            parts.append(str(self.label_class))
        return ", ".join(parts)

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
    if config.gold_positive is not None:
        raise InputError(
            "positive is 'each', which needs the same words in labels and gold: leave "
            "gold_positive out, or name the values that count as positive"
        )
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
    names, codes = unify(combined_names(labels), combined_names(gold))
    return names.to_pylist(), codes


def combined_names(columns: Sequence[pa.DictionaryArray]) -> pa.DictionaryArray:
    """Return the names of a column, or the joined names of several; missing where one is.

    Examples
    --------
    >>> sex, age = (pa.array(each).dictionary_encode() for each in (["w", "m"], ["old", None]))
    >>> combined_names([sex, age]).to_pylist()
    ['w × old', None]
    """
    if len(columns) == 1:
        return columns[0]
    code = np.zeros(len(columns[0]), dtype=np.int64)
    missing = np.zeros(len(code), dtype=bool)
    names = [""]
    for number, column in enumerate(columns):
        levels = column.dictionary.to_pylist()
        own = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        missing |= own < 0
        # What is combined so far is numbered anew, so that codes stay small.
        pairs = code * max(len(levels), 1) + np.maximum(own, 0)
        found, code = np.unique(pairs, return_inverse=True)
        before, after = np.divmod(found, max(len(levels), 1))
        cross = CROSS if number else ""
        names = [
            f"{names[one]}{cross}{levels[other] if levels else ''}"
            for one, other in zip(before, after, strict=True)
        ]
    if len(set(names)) < len(names):
        raise InputError(
            f"names of groups hold {CROSS.strip()!r}, which joins the names of combinations: "
            "rename these groups, or leave intersections out"
        )
    return as_names(
        pa.chunked_array(
            [pa.DictionaryArray.from_arrays(pa.array(code, mask=missing), pa.array(names))]
        )
    )


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
