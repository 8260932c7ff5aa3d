"""Items that stand in both tables must be the same thing there.

A gold item that was labeled is direct evidence. Two tables that are both numbered from 0 share all
their item names and not a single item; their features show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mdba_checks.errors import InputError
from mdba_checks.tables.arrays import BoolArray, FloatArray, IntArray
from mdba_checks.tables.blocks import Table
from mdba_checks.tables.kinds import Kind, kind_of, numbers
from mdba_checks.tables.roles import Roles
from mdba_checks.tables.text import as_names, canonical, unify

# Numbers that were rounded on their way through a file differ by less than this: relative to
# themselves, or to the spread of their column.
_ROUNDED, _ROUNDED_OF_SPREAD = 1e-6, 1e-3


def refuse_unequal_items(
    tables: Sequence[Table],
    items: Sequence[IntArray],
    features: Sequence[str],
    roles: Roles,
    *,
    hide: bool,
) -> None:
    """Refuse a labeled row that differs from every gold row of the same item.

    Parameters
    ----------
    tables, items
        Labels and gold, and the items of their rows; -1 for none.
    features
        The columns to compare, those of groups among them. A value that is missing in one table
        says nothing.
    roles
        Which columns have a role.
    hide
        Whether values may not be shown.
    """
    pairs = _pairs(*items)
    if pairs is None:
        return
    rows, gold_rows = pairs
    labels, gold = (_Rows(table, own) for table, own in zip(tables, (rows, gold_rows), strict=True))
    equal = np.ones(len(rows), dtype=bool)
    unequal_in: dict[str, BoolArray] = {}
    for name in features:
        if name in tables[0].column_names and name in tables[1].column_names:
            unequal_in[name] = ~_equal(labels.column(name), gold.column(name))
            equal &= ~unequal_in[name]
    matched = np.zeros(len(items[0]), dtype=bool)
    matched[rows[equal]] = True
    wrong = np.flatnonzero(~matched[rows])
    if not len(wrong):
        return
    pair = int(wrong[0])
    name = next(name for name, unequal in unequal_in.items() if unequal[pair])
    shared = np.unique(items[0][rows])
    differ = np.unique(items[0][rows[wrong]])
    value, in_labels, in_gold = (
        canonical(column[pair].as_py())[:40]
        for column in (labels.column(roles.item or ""), labels.column(name), gold.column(name))
    )
    example = "an item" if hide else f"item {value!r} ({in_labels!r} and {in_gold!r})"
    raise InputError(
        f"column {name!r} differs between labels and gold for {example}, and {len(differ)} of "
        f"{len(shared)} items with equal names in column {roles.item!r} differ in some column: "
        "rename one table's items or leave the item column out"
    )


class _Rows:
    """Some rows of a table, a column at a time."""

    def __init__(self, table: Table, rows: IntArray) -> None:
        self.table, self.rows = table, pa.array(rows)

    def column(self, name: str) -> pa.ChunkedArray:
        return self.table.column(name).take(self.rows)


def _pairs(item: IntArray, gold_item: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return every pair of a labels row and a gold row with the same item; None without any."""
    order = np.argsort(gold_item, kind="stable")
    order = order[gold_item[order] >= 0]
    first = np.searchsorted(gold_item[order], item, side="left")
    count = np.searchsorted(gold_item[order], item, side="right") - first
    if not count.any():
        return None
    row = np.repeat(np.arange(len(item)), count)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return row, order[np.repeat(first, count) + offset]


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> BoolArray:
    """Return where two columns agree, as far as both have values."""
    kinds = {kind_of(column.type) for column in (one, other)}
    if kinds <= {Kind.NUMBER, Kind.TIME, Kind.MISSING}:
        return _close(*(_numbers(column) for column in (one, other)))
    if Kind.OTHER in kinds:  # not a feature by itself
        return np.ones(len(one), dtype=bool)
    _, (first, second) = unify(as_names(one), as_names(other))
    same: BoolArray = (first == second) | (first < 0) | (second < 0)
    return same


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    if kind_of(column.type) is Kind.MISSING:
        return np.full(len(column), np.nan)
    return numbers(column)


def _close(one: FloatArray, other: FloatArray) -> BoolArray:
    known = np.concatenate([one[~np.isnan(one)], other[~np.isnan(other)]])
    if not len(known):
        return np.ones(len(one), dtype=bool)
    # By a scale, because squares of very large numbers overflow.
    scale = float(np.abs(known).max()) or 1.0
    spread = float((known / scale).std()) * scale
    size = np.maximum(np.abs(one), np.abs(other))
    with np.errstate(invalid="ignore"):
        far: Any = np.abs(one - other) > _ROUNDED * size + _ROUNDED_OF_SPREAD * spread
    close: BoolArray = ~far
    return close
