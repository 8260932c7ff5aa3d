"""The rate as a function of a labeler's two effects on a side, by the doubly robust formula.

With f the chance that somebody with effects (right, wrong) says yes to an item, over all items U of
a side and its gold items G::

    N = mean_U[f g] + mean_G[f (Y - g)]      D = mean_U[g] + mean_G[Y - g]      rate = N / D

It depends on the labeler through the two effects alone. It is computed once on a grid of them,
together with the influence of every gold item, and read by everybody: the cost per labeler does
not grow with gold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter
from scipy.special import expit

from mdba_checks.tables import FloatArray, IntArray

_END, _STEP = 10.0, 0.5
AXIS: FloatArray = np.arange(-_END, _END + _STEP, _STEP)
_SCORE_STEP, _FAR, _G_STEPS = 0.1, 15.0, 20


@dataclass(frozen=True)
class Population:
    """All items of one side, each once: group, the average labeler's logit, and g."""

    group: IntArray
    score: FloatArray
    g: FloatArray


@dataclass(frozen=True)
class GoldSide:
    """The gold items of one side; scores by every fold's models that may judge the item."""

    group: IntArray
    score: FloatArray  # (folds, gold items), NaN where a fold's models have seen the item
    correct: FloatArray
    g: FloatArray
    weight: FloatArray
    item: IntArray


@dataclass(frozen=True)
class Surface:
    """The rate of one side over the grid of (right, wrong)."""

    rate: FloatArray  # (axis, axis)
    variance: FloatArray  # (axis, axis): from having these gold items and these items
    influence: FloatArray  # (axis × axis, distinct gold items): on the rate
    item_variance: FloatArray  # (axis × axis,): the part of `variance` that is not from gold
    mass: float  # D
    _spline: FloatArray  # coefficients of the rate's cubic spline

    def at(self, effects: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rates and their variances at effects (…, 2)."""
        place = np.moveaxis((np.clip(effects, -_END, _END) + _END) / _STEP, -1, 0)
        flat, shape = place.reshape(2, -1), effects.shape[:-1]
        rate = map_coordinates(self._spline, flat, order=3, prefilter=False, mode="nearest")
        variance = map_coordinates(self.variance, flat, order=1, mode="nearest")
        return np.clip(rate, 0, 1).reshape(shape), variance.reshape(shape)


def rate_surface(items: Population, gold: GoldSide, *, says_no: bool = False) -> Surface:
    """Return the rate over effects; `says_no` counts the items where the decision is no.

    Groups of one side count by how many of the items are theirs.
    """
    sign = -1.0 if says_no else 1.0
    right, wrong = (axis.reshape(-1) for axis in np.meshgrid(AXIS, AXIS, indexing="ij"))
    found, mass = np.zeros(len(right)), 0.0
    parts = []
    for code in np.unique(items.group):
        mine, ours = items.group == code, gold.group == code
        share, n = mine.mean(), mine.sum()
        score, g, count = _binned(items.score[mine], items.g[mine])
        f = expit(sign * (score + np.outer(right, g) + np.outer(wrong, 1 - g)))
        weight = gold.weight[ours] / gold.weight[ours].sum()
        left = weight * (gold.correct[ours] - gold.g[ours])
        shift = np.outer(right, gold.g[ours]) + np.outer(wrong, 1 - gold.g[ours])
        f_gold = np.nanmean([expit(sign * (each + shift)) for each in gold.score[:, ours]], axis=0)
        found += share * (f @ (g * count) / n + f_gold @ left)
        mass += share * ((g * count).sum() / n + left.sum())
        parts.append((share, f, g, count, n, f_gold, left, ours))
    rate = found / mass
    influence = np.zeros((len(right), len(gold.group)))
    variance = np.zeros(len(right))
    for share, f, g, count, n, f_gold, left, ours in parts:
        away = f - rate[:, None]
        influence[:, ours] = share * (f_gold - rate[:, None]) * left / mass
        second = away**2 @ (g**2 * count) / n - (away @ (g * count) / n) ** 2
        variance += share**2 * np.maximum(second, 0) / n / mass**2
    items_of_gold, place = np.unique(gold.item, return_inverse=True)
    if len(items_of_gold) < len(place):  # one item twice is one piece of evidence
        together = np.zeros((len(right), len(items_of_gold)))
        np.add.at(together.T, place, influence.T)
        influence = together
    square = np.clip(rate, 0, 1).reshape(len(AXIS), len(AXIS))
    total = ((influence**2).sum(axis=1) + variance).reshape(square.shape)
    return Surface(
        rate=square,
        variance=total,
        influence=influence,
        item_variance=variance,
        mass=float(mass),
        _spline=spline_filter(square),
    )


def histogram(effects: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weights of points (…, 2) on the grid, (axis × axis,), each split between corners.

    With it, means over many labelers are means over the grid.
    """
    place = (np.clip(effects, -_END, _END) + _END) / _STEP
    low = np.minimum(place.astype(np.int64), len(AXIS) - 2)
    share = place - low
    total = np.zeros(len(AXIS) ** 2)
    for right in (0, 1):
        for wrong in (0, 1):
            cell = (low[..., 0] + right) * len(AXIS) + low[..., 1] + wrong
            part = np.abs(1 - right - share[..., 0]) * np.abs(1 - wrong - share[..., 1])
            total += np.bincount(cell.ravel(), (weight * part).ravel(), len(total))
    return total


def _binned(score: FloatArray, g: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the means of score and g, and the count, of items that are alike in both."""
    at_score = np.rint(np.clip(score, -_FAR, _FAR) / _SCORE_STEP).astype(np.int64)
    at_g = np.minimum((g * _G_STEPS).astype(np.int64), _G_STEPS - 1)
    _, cell = np.unique(at_score * _G_STEPS + at_g, return_inverse=True)
    count = np.bincount(cell).astype(float)
    return np.bincount(cell, score) / count, np.bincount(cell, g) / count, count
