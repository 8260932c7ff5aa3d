"""Near duplicates in gold: families of items that are alike and share their right answer.

Gold of 200 items that are 25 families of eight near copies is worth 25 items. A gold item is
suspicious when another gold item is far nearer to it than any of as many labeled items. Where
labeled items come in families too, and gold is a draw from them, both are equally near, so nothing
is suspicious about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mdba_checks.tables import Data, FloatArray, IntArray

_MOST_ITEMS = 1_000  # per group: more hardly change what is seen
_LEAST_ITEMS = 20
_FAR_NEARER = 0.5  # less than this part of the distance


@dataclass(frozen=True)
class Families:
    """How many gold items have a near copy in gold; arrays are (groups,), NaN with few items."""

    share: FloatArray
    usual: FloatArray  # the same among labeled items
    error: FloatArray  # of the difference, by chance


def find_families(data: Data) -> Families:
    """Compare how near gold items are to each other and to labeled items."""
    found = [_of_group(data, code) for code in range(len(data.groups))]
    share, usual, error = np.array(found, dtype=float).reshape(-1, 3).T
    return Families(share, usual, error)


def rows_looked_at(data: Data) -> list[IntArray]:
    """Return the label rows that are compared, for every group that is."""
    chosen = (_chosen(data, code) for code in range(len(data.groups)))
    return [each[1] for each in chosen if each is not None]


def _chosen(data: Data, code: int) -> tuple[IntArray, IntArray] | None:
    """Return the gold rows and the label rows of a group to compare; None where there are few."""
    gold = np.flatnonzero(data.gold.group == code)
    gold = gold[np.unique(data.gold.cluster[gold], return_index=True)[1]]
    rows = np.flatnonzero(data.labels.group == code)
    rows = rows[np.unique(data.labels.item[rows], return_index=True)[1]]
    # Items that were labeled too would be their own nearest neighbours.
    rows = rows[~np.isin(data.labels.item[rows], data.gold.item)]
    n = min(len(gold), len(rows) // 2, _MOST_ITEMS)
    if n < _LEAST_ITEMS:
        return None
    return _spread_over(gold, n), _spread_over(rows, 2 * n)


def _of_group(data: Data, code: int) -> tuple[float, float, float]:
    found = _chosen(data, code)
    if found is None:
        return np.nan, np.nan, np.nan
    chosen, compared = found
    n = len(chosen)
    ours = data.gold.linear[chosen]
    others, more = (data.labels.linear[compared[begin::2]] for begin in (0, 1))
    share, usual = _near_copies(ours, others), _near_copies(others, more)
    pooled = (share + usual) / 2
    return share, usual, float(np.sqrt(2 * pooled * (1 - pooled) / n))


def _spread_over(rows: IntArray, n: int) -> IntArray:
    """Return `n` of the rows, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, n).astype(np.int64)]


def _near_copies(ours: FloatArray, others: FloatArray) -> float:
    """Return the share of our items with one of ours far nearer than any of the others."""
    own, _ = NearestNeighbors(n_neighbors=2).fit(ours).kneighbors(ours)
    other, _ = NearestNeighbors(n_neighbors=1).fit(others).kneighbors(ours)
    return float((own[:, 1] < _FAR_NEARER * other[:, 0]).mean())
