"""Wide tables: one row per item, one column per labeler.

Columns of labelers have names that differ in their end only (``label_1``, ``label_2``) and values
of one small set. What follows from their answers, such as a count or a majority, is left out: it is
not something that a decision could have depended on.
"""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.errors import InputError
from mdba_checks.tables.exports.answers import Answers
from mdba_checks.tables.kinds import Kind, kind_of
from mdba_checks.tables.text import as_names

_MOST_VALUES = 20
_GOLD = re.compile(r"(?i)(.*[^a-z])?(gold|truth|correct|expert)([^a-z].*)?")
_INDEX_NAME = re.compile(r"|Unnamed: \d+|index")


def labeler_columns(table: pa.Table, patterns: Sequence[str]) -> list[str]:
    """Return the columns that hold the answers of one labeler each; none if it cannot be told.

    Examples
    --------
    >>> table = pa.table({"id": [1, 2], "rater_a": [0, 1], "rater_b": [1, None]})
    >>> labeler_columns(table, [])
    ['rater_a', 'rater_b']
    """
    if patterns:
        names = [n for n in table.column_names if any(fnmatch.fnmatchcase(n, p) for p in patterns)]
        unknown = [p for p in patterns if not fnmatch.filter(table.column_names, p)]
        if unknown:
            raise InputError(f"no column is called {unknown[0]!r}; a pattern is 'rater_*'")
        return names
    families: dict[str, list[str]] = defaultdict(list)
    for name in table.column_names:
        if (stem := _stem(name)) and not _GOLD.fullmatch(name) and _values(table, name):
            families[stem].append(name)
    alike = [names for names in families.values() if len(names) > 1 and _share(table, names)]
    numbered = [names for names in alike if len(names) == max(map(len, alike))]
    return numbered[0] if len(numbered) == 1 else []


def read_wide(
    table: pa.Table, where: str, labelers: Sequence[str], item: str | None, gold: str | None
) -> Answers:
    """Return the answers of a wide table; without an item column rows are numbered."""
    values = set().union(*(_values(table, name) for name in labelers))
    if gold is None:
        rest = [name for name in table.column_names if name not in labelers]
        found = [n for n in rest if _GOLD.fullmatch(n) and _values(table, n) <= values]
        gold = found[0] if len(found) == 1 else None
    for name in (item, gold):
        if name is not None and name not in table.column_names:
            raise InputError(f"{where} has no column {name!r}")
    item = item or _key(table, labelers)
    answers = Answers()
    columns = [as_names(table.column(name)).to_pylist() for name in labelers]
    derived = _derived(table, columns, values, {item, gold, *labelers})
    kept = [
        name
        for name in table.column_names
        if name not in {item, gold, *labelers, *derived} and not _INDEX_NAME.fullmatch(name)
    ]
    about = table.select(kept).to_pylist()
    names: list[Any] = table.column(item).to_pylist() if item else list(range(1, len(table) + 1))
    right = as_names(table.column(gold)).to_pylist() if gold else [None] * len(table)
    for row, name in enumerate(names):
        known = answers.add_item(name, about[row])
        for labeler, answered in zip(labelers, columns, strict=True):
            if answered[row] is not None:  # not everybody sees every item
                answers.add(known, labeler, answered[row])
        if right[row] is not None:
            answers.add(known, None, right[row], right=True)
    answers.used.update(labelers, derived, [gold] if gold else [])
    return answers


def _stem(name: str) -> str:
    """Return a name without its last part: a number, a letter or a word behind a mark."""
    found = re.fullmatch(r"(.*?[^\W\d_].*?)[\W_]*(\d+|(?<=[\W_])[^\W_]+)", name)
    return found[1].rstrip("_-. ") if found else ""


def _values(table: pa.Table, name: str) -> set[str]:
    column = table.column(name)
    if kind_of(column.type) not in (Kind.TEXT, Kind.NUMBER):
        return set()
    if pc.count_distinct(column).as_py() > _MOST_VALUES:
        return set()
    return set(as_names(column).dictionary.to_pylist())


def _share(table: pa.Table, names: Sequence[str]) -> bool:
    """Return whether columns hold values of one set: what most of them have, all may have."""
    sets = [_values(table, name) for name in names]
    most = max(sets, key=len)
    return len(most) > 1 and all(each <= most for each in sets)


def _key(table: pa.Table, labelers: Sequence[str]) -> str | None:
    """Return the column that names items: different in every row, and called so."""
    names: list[str] = table.column_names
    for name in names:
        if name in labelers or not re.search(r"(?i)(^|[^a-z])(id|item|uid|key)([^a-z]|$)", name):
            continue
        if pc.count_distinct(table.column(name)).as_py() == len(table):
            return name
    return None


def _derived(
    table: pa.Table, columns: Sequence[list[Any]], values: set[str], taken: set[Any]
) -> list[str]:
    """Return columns that hold labels too, or count the answers."""
    counts = [
        [sum(answered[row] == value for answered in columns) for row in range(len(table))]
        for value in sorted(values)
    ]
    counts.append([sum(a[row] is not None for a in columns) for row in range(len(table))])
    found = []
    for name in table.column_names:
        if name in taken:
            continue
        held = _values(table, name)
        whole = kind_of(table.column(name).type) is Kind.TEXT and len(held) > 1 and held <= values
        if whole or table.column(name).to_pylist() in counts:
            found.append(name)
    return found
