"""What the models leave in the data: do residuals still follow from the features?

The doubly robust rate is off by the product of the errors of f and g. Where the residuals of both,
out of fold, still depend on the features in the same group, that product is real. Features are
turned into uncorrelated directions, with squares and products of the first of them, and residuals
are projected on each; what chance would give is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from mdba_checks.tables import Data, FloatArray, IntArray

_MOST_ROWS = 20_000  # per group: more hardly change what is seen
_MOST_DIRECTIONS = 30
_BENT = 5  # of the first directions squares and products are taken as well
_LEAST_ITEMS = 30
_FAR = 5.0  # standard deviations: a single strange row is not a lack of fit
_SMALL = 1e-3  # directions with less variance than this part of the largest are rounding


@dataclass(frozen=True)
class LackOfFit:
    """What is left in the residuals; arrays are (groups,), NaN with too few items."""

    f: FloatArray  # size of what the features still say about decisions less f
    g: FloatArray  # the same about right answers less g
    p_f: FloatArray
    p_g: FloatArray

    @property
    def product(self) -> FloatArray:
        """What both could move the share of items that are right and accepted."""
        return np.nan_to_num(self.f * self.g)


def measure_lack_of_fit(data: Data, f: FloatArray, gold_g: FloatArray) -> LackOfFit:
    """Return what is left in the residuals of both models, in every group."""
    labels, gold = data.labels, data.gold
    found = []
    for code, rows in enumerate(rows_compared(data)):
        mine = np.flatnonzero(gold.group == code)
        if len(rows) < _LEAST_ITEMS or len(mine) < _LEAST_ITEMS:
            found.append((np.nan,) * 4)
            continue
        directions = _Directions(labels.linear[rows])
        decided = labels.decision[rows] - f[rows]
        right = gold.correct[mine] - gold_g[mine]
        weight = gold.weight[mine] / gold.weight[mine].mean()
        size_f, p_f = _left(directions(labels.linear[rows]), decided, labels.item[rows])
        size_g, p_g = _left(directions(gold.linear[mine]), right * weight, gold.item[mine])
        found.append((size_f, size_g, p_f, p_g))
    size_f, size_g, p_f, p_g = np.array(found, dtype=float).T
    return LackOfFit(size_f, size_g, p_f, p_g)


def rows_compared(data: Data) -> list[IntArray]:
    """Return the label rows that are looked at, for every group."""
    every = [np.flatnonzero(data.labels.group == code) for code in range(len(data.groups))]
    return [rows[:: max(1, -(-len(rows) // _MOST_ROWS))] for rows in every]


class _Directions:
    """Uncorrelated directions of features, of unit variance."""

    def __init__(self, features: FloatArray) -> None:
        self.mean = features.mean(axis=0)
        centred = features - self.mean
        values, vectors = np.linalg.eigh(centred.T @ centred / len(features))
        used = np.argsort(values)[::-1][:_MOST_DIRECTIONS]
        used = used[values[used] > _SMALL * max(values.max(initial=0.0), 1e-12)]
        self.root = vectors[:, used] / np.sqrt(values[used])
        bent = self._bent(self._straight(features))
        self.bent_mean, self.bent_spread = bent.mean(axis=0), np.maximum(bent.std(axis=0), _SMALL)

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return the directions of rows, with squares and products of the first of them."""
        straight = self._straight(features)
        bent = (self._bent(straight) - self.bent_mean) / self.bent_spread
        return np.concatenate([straight, bent], axis=1)

    def _straight(self, features: FloatArray) -> FloatArray:
        straight: FloatArray = np.clip((features - self.mean) @ self.root, -_FAR, _FAR)
        return straight

    @staticmethod
    def _bent(straight: FloatArray) -> FloatArray:
        first = straight[:, :_BENT]
        one, other = np.triu_indices(first.shape[1])
        bent: FloatArray = first[:, one] * first[:, other]
        return bent


def _left(directions: FloatArray, residual: FloatArray, item: IntArray) -> tuple[float, float]:
    """Return the size of the projections beyond chance, and the probability of that by chance."""
    if not directions.shape[1]:
        return 0.0, 1.0
    order = np.argsort(item, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(item[order]) != 0))
    of_item = np.add.reduceat((directions * residual[:, None])[order], first, axis=0)
    mean = of_item.sum(axis=0) / len(residual)
    variance = (of_item**2).sum(axis=0) / len(residual) ** 2
    beyond = float(max((mean**2).sum() - variance.sum(), 0.0))
    score = float((mean**2 / np.maximum(variance, 1e-300)).sum())
    return float(np.sqrt(beyond)), float(chi2.sf(score, directions.shape[1]))
