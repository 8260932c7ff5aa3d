"""Many comparisons at once: how clear must one of them be to be called biased.

Three corrections. Holm's keeps the chance of any wrong accusation below what was asked for,
whatever the others are like. Benjamini and Hochberg's allows few wrong ones among all accusations.
`clear_of_others` gives the promise of Holm's, and asks less where most labelers are shown to be
well within the limit: somebody with no gap is very unlikely to look biased by chance, so they need
not be allowed for as if they were just at the limit.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from mdba_checks.config import Policy
from mdba_checks.tables import FloatArray

# Up to so many people, not one wrong accusation is the aim; with more that would find nobody, and
# few wrong ones among all accusations are.
MANY = 20
_FOR_BOUNDS = 0.1  # of the allowed chance of an error, spent on how far within the limit others are
_AT_ONCE = 256  # gaps compared with all others at a time: 20 people may have thousands of groups


def adjust(p: FloatArray, correction: Literal["holm", "bh", "none"]) -> FloatArray:
    """Return p-values adjusted for their number; NaN stays NaN and counts as no test.

    Examples
    --------
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm")
    array([0.03, 0.06, 0.06])
    >>> adjust(np.array([0.01, 0.04, 0.03]), "bh")
    array([0.03, 0.04, 0.04])
    """
    adjusted = np.array(p, dtype=float)
    tested = np.flatnonzero(np.isfinite(adjusted))
    n = len(tested)
    if correction == "none" or n == 0:
        return adjusted
    order = tested[np.argsort(adjusted[tested], kind="stable")]
    ranked = adjusted[order]
    if correction == "holm":
        steps = np.maximum.accumulate(ranked * np.arange(n, 0, -1))
    else:
        steps = np.minimum.accumulate((ranked * n / np.arange(1, n + 1))[::-1])[::-1]
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def clear_of_others(
    gap: FloatArray,
    std_error: FloatArray,
    max_gap: float,
    freedom: FloatArray | float = np.inf,
    *,
    level: float,
) -> FloatArray:
    """Return adjusted p-values that know which other gaps are well within the limit.

    Two steps. With a tenth of `level`, every gap gets an upper bound on its size, all bounds
    together. Then the adjusted p-value of a gap is the largest chance that any gap not yet called
    biased, at its bound or at the limit if that is nearer, would lie as many standard errors beyond
    the limit. Below `level`, the chance of any wrong accusation is at most `level`, however the
    errors depend on each other (Romano, Shaikh and Wolf, 2014, with sums instead of a bootstrap).

    Parameters
    ----------
    gap, std_error, freedom
        The estimates, their standard errors and their degrees of freedom; NaN counts as no test.
    max_gap
        The limit.
    level
        The chance of a wrong accusation that is allowed; the bounds depend on it.

    Examples
    --------
    One labeler lies beyond 0.1, nine have no gap. Holm's would give ten times 0.023.

    >>> gap, error = np.array([0.14, *[0.0] * 9]), np.full(10, 0.02)
    >>> round(float(clear_of_others(gap, error, 0.1, level=0.1)[0]), 3)
    0.026
    """
    gap, std_error = np.asarray(gap, dtype=float), np.asarray(std_error, dtype=float)
    adjusted = np.full(len(gap), np.nan)
    (tested,) = np.nonzero(np.isfinite(gap) & (std_error > 0))
    size, error = np.abs(gap[tested]), std_error[tested]
    freedom = np.broadcast_to(np.asarray(freedom, dtype=float), gap.shape)[tested]
    n = len(tested)
    bound = np.full(n, max_gap)
    if n > 1:
        reach = student.isf(_FOR_BOUNDS * level / n, freedom)
        bound = np.minimum(size + reach * error, max_gap)
    beyond = (size - max_gap) / error
    order = np.argsort(-beyond, kind="stable")
    spent = 1.0 - _FOR_BOUNDS if n > 1 else 1.0
    ordered, worst = np.ones(n), 0.0
    for start in range(0, n, _AT_ONCE):
        if worst >= 1 or beyond[order[start]] <= 0:
            break  # this one is not called biased, nor is any that comes later
        # A row per gap, in this order; a column for each of the others not yet called biased there.
        open_ones = order[start:]
        near, far = (((max_gap + side * bound) / error)[open_ones] for side in (-1, 1))
        x, nu = beyond[open_ones[:_AT_ONCE], None], freedom[open_ones]
        chance = np.triu(student.sf(x + near, nu) + student.sf(x + far, nu)).sum(axis=1) / spent
        block = np.minimum(np.maximum.accumulate(np.maximum(chance, worst)), 1.0)
        ordered[start : start + _AT_ONCE], worst = block, block[-1]
    adjusted[tested[order]] = ordered
    certain = np.isfinite(gap) & (std_error == 0)
    adjusted[certain] = np.where(np.abs(gap[certain]) > max_gap, 0.0, 1.0)
    return adjusted


def errors_beyond(policy: Policy, confidence: float, n_tests: int) -> float:
    """Return by how many standard errors a gap has to lie beyond the limit to be called biased.

    The interval has to lie beyond it, and the test has to be clear enough for the first of so many
    comparisons, of which none is shown to be well within the limit.

    Examples
    --------
    >>> round(errors_beyond(Policy(), 0.9, 1), 2), round(errors_beyond(Policy(), 0.9, 10), 2)
    (1.64, 2.33)
    """
    tests = 1 if policy.correction == "none" else max(n_tests, 1)
    tails = 1 if policy.max_gap > 0 else 2
    alone = norm.isf((1 - confidence) / 2)
    return float(max(alone, norm.isf((1 - confidence) / (tails * tests))))
