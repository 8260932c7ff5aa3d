"""The crowd in a few numbers: its mean gap, how much people differ, how many are beyond a limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from mdba_checks.estimation.crowd.gaps import CrowdGaps
from mdba_checks.tables import FloatArray


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
    """Return how gaps are spread.

    Errors have three parts: what is not known about each labeler, which labelers the crowd happens
    to consist of (the prior was learned from them), and what they share, gold above all. Gold moves
    all gaps together, so its part of a share is how far the share moves with them.
    """
    z = float(norm.ppf((1 + confidence) / 2))
    there = gaps.n_labels.sum(axis=1) > 0
    n = int(there.sum())
    estimate, shared = gaps.estimate[there], np.sqrt(gaps.shared_variance)
    between = (gaps.mean[there] - estimate[:, None]) ** 2
    own = (gaps.weight[there] * (gaps.variance[there] + between)).sum(axis=1)
    mean = float(estimate.mean())
    mean_error = np.sqrt((own.sum() + n * estimate.var()) / n**2 + shared**2)
    # The square of somebody's distance from the mean, its expectation, and that one's variance.
    away = (estimate - mean) ** 2 + own
    variance = float(away.mean())
    chance = 2 * own**2 + 4 * own * (estimate - mean) ** 2
    variance_error = np.sqrt((chance.sum() + n * away.var()) / n**2)
    labels = gaps.n_labels[there].sum(axis=1)
    return Spread(
        mean=Estimate(mean, mean - z * mean_error, mean + z * mean_error),
        spread=Estimate(*_positive(variance, float(variance_error), z)),
        labelers_beyond=_share(gaps, there, np.ones(n) / n, max_gap, z),
        labels_beyond=_share(gaps, there, labels / labels.sum(), max_gap, z),
    )


def _positive(variance: float, error: float, z: float) -> tuple[float, float, float]:
    """Return a standard deviation with an interval from that of the variance, on a log scale."""
    if variance <= 0:
        return 0.0, 0.0, 0.0
    factor = np.exp(z * error / variance / 2)
    root = np.sqrt(variance)
    return float(root), float(root / factor), float(root * factor)


def _share(
    gaps: CrowdGaps, there: FloatArray, part: FloatArray, max_gap: float, z: float
) -> Estimate:
    p = gaps.p_beyond(max_gap)[there]
    value = float(part @ p)
    chance = part**2 @ (p * (1 - p)) + part**2 @ (p - value) ** 2
    shift = float(np.sqrt(gaps.shared_variance))
    moved = [
        float(part @ (gaps.below(-max_gap - by) + 1 - gaps.below(max_gap - by))[there])
        for by in (-shift, shift)
    ]
    error = np.sqrt(chance + ((moved[1] - moved[0]) / 2) ** 2)
    # On the logit scale, so that a share stays between 0 and 1.
    inside = min(max(value, 1e-4), 1 - 1e-4)
    width = z * error / (inside * (1 - inside))
    logit = np.log(inside / (1 - inside))
    ends = 1 / (1 + np.exp(-(logit + np.array([-width, width]))))
    return Estimate(value, float(ends[0]), float(ends[1]))
