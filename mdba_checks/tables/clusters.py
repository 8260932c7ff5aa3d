"""Clusters: families of items that are alike, and therefore less evidence than they seem to be.

Versions of one text, photos of one person or questions about one document share what makes them
right or wrong. Models must not learn from one of them and be tested on another, and what a family
shows is one piece of evidence. Without a cluster column every item is a cluster of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mdba_checks.errors import InputError
from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.text import as_names, unify


def assign_clusters(
    columns: Sequence[pa.ChunkedArray | None],
    items: list[IntArray],
    name: str | None,
    *,
    orders: Sequence[IntArray],
    hide: bool,
) -> tuple[list[IntArray], list[str]]:
    """Return the cluster of every row of labels and gold, and messages.

    Without a cluster column every item is a cluster of its own.

    Parameters
    ----------
    columns
        The cluster columns of labels and gold; None where a table has none.
    items
        The items of the rows in `orders`, numbered: items in both tables have one number.
    name
        What the column is called; None where there is none.
    orders
        In which order rows are wanted.
    hide
        Whether values may not be shown in errors.

    Examples
    --------
    >>> family = pa.chunked_array([pa.array(["a", "a", None])])
    >>> items = [np.array([0, 1, 2]), np.array([1, 3, 4])]
    >>> orders = [np.arange(3), np.arange(3)]
    >>> assign_clusters([None, family], items, "family", orders=orders, hide=False)[0]
    [array([1, 0, 3]), array([0, 0, 5])]
    """
    if name is None:
        return items, []
    columns = [
        None if column is None else column.take(pa.array(order))
        for column, order in zip(columns, orders, strict=True)
    ]
    known = [column for column in columns if column is not None]
    names, codes = unify(*(as_names(column) for column in known))
    own: list[IntArray] = []
    messages = []
    for column, rows, where in zip(columns, items, ("labels", "gold"), strict=True):
        own.append(np.full(len(rows), -1) if column is None else codes.pop(0).astype(np.int64))
        if column is None:
            continue
        distinct = np.unique(own[-1])
        alone = int((own[-1] < 0).sum())
        if alone:
            messages.append(
                f"{where}: {alone} rows have no value in column {name!r}: each counts by its item"
            )
        elif len(distinct) == 1:
            shown = "" if hide else f", {names[int(distinct[0])].as_py()!r}"
            raise InputError(
                f"column {name!r} of {where} holds one cluster only{shown}: name a column that "
                "tells families of items apart, or none"
            )
    of_item = _cluster_of_item(own, items, names, name, hide=hide)
    inherited = [
        np.where(rows < 0, of_item[item], rows) for rows, item in zip(own, items, strict=True)
    ]
    return [
        np.where(rows < 0, len(names) + item, rows)
        for rows, item in zip(inherited, items, strict=True)
    ], messages


def _cluster_of_item(
    clusters: Sequence[IntArray],
    items: Sequence[IntArray],
    names: pa.StringArray,
    name: str,
    *,
    hide: bool,
) -> IntArray:
    """Return the cluster of every item, -1 for none; refuse an item that is in two."""
    item, cluster = np.concatenate(list(items)), np.concatenate(list(clusters))
    of_item = np.full(int(item.max()) + 1, -1, dtype=np.int64)
    known = cluster >= 0
    of_item[item[known]] = cluster[known]
    wrong = np.flatnonzero(known & (of_item[item] != cluster))
    if len(wrong):
        one, other = (
            names[int(each)].as_py() for each in (cluster[wrong[0]], of_item[item[wrong[0]]])
        )
        shown = "" if hide else f" ({one!r} and {other!r})"
        raise InputError(
            f"column {name!r} puts one item into two clusters{shown}: give all rows about an item "
            "the same cluster"
        )
    return of_item
