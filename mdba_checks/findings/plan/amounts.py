"""The arithmetic of a plan: how precise an estimate has to become, and what that takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from mdba_checks.tables import BoolArray, FloatArray, IntArray

# Gold serves all labelers and labels only one: labels are asked for where gold alone cannot do it,
# or would take more than this many times as many items.
_GOLD_PREFERENCE = 2.0
_SMALLEST_ERROR = 1e-3  # of the present one


@dataclass(frozen=True)
class Rule:
    """When a gap counts as settled.

    Attributes
    ----------
    max_gap
        The limit.
    z
        Standard errors that a fair gap stays inside it.
    z_biased
        Standard errors that a biased gap lies beyond it; more than `z` where many gaps are judged.
    margin
        How far beyond the limit the interval of a borderline gap may reach.
    """

    max_gap: float
    z: float
    z_biased: float
    margin: float = 0.0

    def settles(self, gap: FloatArray, error: FloatArray) -> BoolArray:
        """Tell which gaps are settled at these standard errors: biased, borderline or fair."""
        size = np.abs(gap)
        inside = size <= self.max_gap + self.margin - self.z * error
        settled: BoolArray = inside | (size > self.max_gap + self.z_biased * error)
        return settled

    def chance(self, gap: FloatArray, error: FloatArray, later: FloatArray) -> FloatArray:
        """Return the chance that a gap is settled once its standard error is `later`.

        Until then the estimate moves by a normal amount with variance ``error² - later²``.

        Examples
        --------
        An estimate right at the limit, with nine tenths of its standard error gone:

        >>> rule = Rule(max_gap=0.1, z=1.645, z_biased=1.645)
        >>> rule.chance(np.array([0.1]), np.array([0.05]), np.array([0.005])).round(2)
        array([0.87])
        """
        size = np.abs(gap)
        inner = self.max_gap + self.margin - self.z * later
        # With a margin the two can overlap; what lies in both is settled once.
        outer = np.maximum(self.max_gap + self.z_biased * later, inner)
        # A move of zero is a very small one.
        move = np.sqrt(np.maximum(error**2 - later**2, 1e-30))
        inside = norm.cdf((inner - size) / move) - norm.cdf((-inner - size) / move)
        biased = norm.sf((outer - size) / move) + norm.cdf((-outer - size) / move)
        chance: FloatArray = np.where(inner > 0, inside, 0.0) + biased
        return chance

    def error_needed(self, gap: FloatArray, error: FloatArray, power: float) -> FloatArray:
        """Return the standard error at which the chance to be settled is `power`; NaN if none is.

        Examples
        --------
        >>> rule = Rule(max_gap=0.1, z=1.645, z_biased=1.645)
        >>> rule.error_needed(np.array([0.1]), np.array([0.05]), 0.87).round(3)
        array([0.005])
        """
        low, high = np.full(len(gap), _SMALLEST_ERROR), np.ones(len(gap))
        reachable = self.chance(gap, error, low * error) >= power
        for _ in range(40):
            middle = np.sqrt(low * high)
            enough = self.chance(gap, error, middle * error) >= power
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        return np.where(reachable, low * error, np.nan)


def fewest_items(variance: FloatArray, size: FloatArray, target: FloatArray) -> FloatArray:
    """Return how many items to add to each part so that the variances sum to `target`.

    Neyman allocation: the variance of a part falls with one over its items, so the fewest items in
    all are those in proportion to ``sqrt(variance * size)``. Items that are there already stay.

    Parameters
    ----------
    variance, size
        (rows, parts): what each part contributes with the items it has.
    target
        (rows,): the variance wanted; infinitely many items where it cannot be had.

    Examples
    --------
    Two parts of 100 items, of which the first contributes four times as much:

    >>> fewest_items(np.array([[0.04, 0.01]]), np.full((1, 2), 100.0), np.array([0.03]))
    array([[100.,   0.]])
    """
    root = np.sqrt(variance * size)
    growing = variance > 0
    more = np.zeros(variance.shape)
    for _ in range(variance.shape[1]):
        left = target - np.where(growing, 0.0, variance).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(left > 0, np.where(growing, root, 0.0).sum(axis=1) / left, np.inf)
            more = np.where(growing, root * scale[:, None] - size, 0.0)
        # A part that has more than its share already is left alone, and the others share anew.
        growing &= more > 0
    reached = variance.sum(axis=1) <= target
    possible = np.where(variance > 0, 0.0, variance).sum(axis=1) < target
    more = np.where(possible[:, None], np.maximum(more, 0.0), np.inf)
    return np.where(reached[:, None], 0.0, more)


def allocate(
    own: FloatArray,
    gold: FloatArray,
    n_labels: FloatArray | IntArray,
    n_gold: IntArray,
    error: FloatArray,
) -> FloatArray:
    """Return what to add to reach a standard error: gold of each group, then labels.

    Parameters
    ----------
    own, n_labels
        (rows,): variance from the labeler's own rows, and how many these are.
    gold
        (rows, groups): variance from the gold items of each group.
    n_gold
        (groups,): how many these are.
    error
        (rows,): the standard error wanted.

    Examples
    --------
    With gold alone half of the variance can be had; less takes more labels as well:

    >>> own, gold = np.array([0.5, 0.5]), np.array([[0.5], [0.5]])
    >>> wanted = np.sqrt([0.75, 0.25])
    >>> allocate(own, gold, np.array([100, 100]), np.array([100]), wanted).round()
    array([[100.,   0.],
           [300., 300.]])
    """
    target = error**2
    sizes = np.broadcast_to(n_gold, gold.shape).astype(float)
    gold_only = np.column_stack([fewest_items(gold, sizes, target - own), np.zeros(len(own))])
    both = fewest_items(
        np.column_stack([gold, own]), np.column_stack([sizes, n_labels.astype(float)]), target
    )
    dear = ~(gold_only.sum(axis=1) <= _GOLD_PREFERENCE * both.sum(axis=1))
    return np.where(dear[:, None], both, gold_only)
