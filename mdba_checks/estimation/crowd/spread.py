"""The crowd in a few numbers: its mean gap, how much people differ, how many are beyond a limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from mdba_checks.estimation.crowd.gaps import CrowdGaps
from mdba_checks.estimation.crowd.uncertainty import GRID
from mdba_checks.tables import BoolArray, FloatArray


@dataclass(frozen=True)
class Estimate:
    """A number and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Spread:
    """How gaps are spread over the labelers of a crowd."""

    mean: Estimate  # the mean gap, every labeler counts once
    spread: Estimate  # the standard deviation of true gaps: beyond what chance makes
    labelers_beyond: Estimate  # share of labelers whose gap is beyond the limit
    labels_beyond: Estimate  # share of labels given by them


def spread(gaps: CrowdGaps, max_gap: float, confidence: float = 0.9) -> Spread:
    """Return how gaps are spread over the labelers there are.

    Errors have three parts: what is not known about each labeler, what is not known about people in
    general (the prior was learned from them, see `uncertainty.py`), and what they share, gold above
    all. Gold moves all gaps together, so its part of a share is how far the share moves with them.
    """
    z = float(norm.ppf((1 + confidence) / 2))
    there = gaps.n_labels.sum(axis=1) > 0
    n = int(there.sum())
    estimate = gaps.estimate[there]
    between = (gaps.mean[there] - estimate[:, None]) ** 2
    own = (gaps.weight[there] * (gaps.variance[there] + between)).sum(axis=1)
    mean = float(estimate.mean())
    prior = gaps.prior_covariance[:2, :2]
    mean_error = np.sqrt(own.sum() / n**2 + prior[0, 0] + gaps.shared_variance)
    # The square of somebody's distance from the mean, its expectation, and that one's variance.
    away = (estimate - mean) ** 2 + own
    variance = float(away.mean())
    chance = 2 * own**2 + 4 * own * (estimate - mean) ** 2
    # In terms of the means of gaps and of squares, before anything was added to the gaps.
    lever = np.array([-2 * (mean - gaps.offset), 1.0])
    variance_error = np.sqrt(chance.sum() / n**2 + lever @ prior @ lever)
    step = float(lever @ gaps.prior_step[:2])
    labels = gaps.n_labels[there].sum(axis=1)
    size = len(GRID)
    by_labelers, by_labels = (
        _share(gaps, there, part, max_gap, begin)
        for part, begin in ((np.ones(n) / n, 2), (labels / labels.sum(), 2 + size))
    )
    return Spread(
        mean=Estimate(mean, mean - z * mean_error, mean + z * mean_error),
        spread=_root(variance, step, z * float(variance_error)),
        labelers_beyond=_inside(*by_labelers, z),
        labels_beyond=_inside(*by_labels, z),
    )


def _root(variance: float, step: float, reach: float) -> Estimate:
    """Return a standard deviation with an interval from that of the variance.

    It is wider upwards, as such intervals are, and reaches zero where the variance may be zero.
    """
    if variance <= 0:
        return Estimate(0.0, 0.0, 0.0)
    low, high = variance + min(step, 0.0) - reach, variance + max(step, 0.0)
    high *= float(np.exp(reach / high))
    return Estimate(float(np.sqrt(variance)), max(low, 0.0) ** 0.5, min(high, 1.0) ** 0.5)


def _share(
    gaps: CrowdGaps, there: BoolArray, part: FloatArray, max_gap: float, begin: int
) -> tuple[float, float, float]:
    """Return the share beyond a limit, how far it would move, and its standard error."""
    p = gaps.p_beyond(max_gap)[there]
    value = float(part @ p)
    chance = part**2 @ (p * (1 - p))
    shift = float(np.sqrt(gaps.shared_variance))
    moved = [
        float(part @ (gaps.below(-max_gap - by) + 1 - gaps.below(max_gap - by))[there])
        for by in (-shift, shift)
    ]
    # The share beyond is one less the share up to the limit, and the share up to minus the limit.
    ends = np.clip(np.array([-max_gap, max_gap]) - gaps.offset, GRID[0], GRID[-1])
    lever = np.zeros(len(gaps.prior_covariance))
    for sign, end in zip((1.0, -1.0), ends, strict=True):
        place = min(int(np.searchsorted(GRID, end, side="right")), len(GRID) - 1)
        above = (end - GRID[place - 1]) / (GRID[place] - GRID[place - 1])
        lever[begin + place - 1] += sign * (1 - above)
        lever[begin + place] += sign * above
    from_prior = lever @ gaps.prior_covariance @ lever
    error = np.sqrt(chance + from_prior + ((moved[1] - moved[0]) / 2) ** 2)
    return value, float(lever @ gaps.prior_step), float(error)


def _inside(value: float, step: float, error: float, z: float) -> Estimate:
    """Return a share with its interval: wider towards one half, and nobody is always possible."""
    low, high = value + min(step, 0.0) - z * error, value + max(step, 0.0)
    inside = min(max(high, 1e-4), 1 - 1e-4)
    # On the logit scale, so that it stays below 1.
    logit = np.log(inside / (1 - inside)) + z * error / (inside * (1 - inside))
    return Estimate(value, max(low, 0.0), max(float(1 / (1 + np.exp(-logit))), value))
