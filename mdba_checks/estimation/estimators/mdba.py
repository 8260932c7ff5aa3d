"""`mdba`, the paper's Algorithm 1, and `mdba_naive`, its ablation.

A labeler's model is cut at a threshold per group such that it predicts c times as many positives as
the labeler gave in that group; the paper shows that the gap of such a model, divided by c, is the
gap of the labeler. Every threshold inside the interval between two neighbouring scores satisfies c:
predictions are averaged over that interval instead of picking an end. `mdba_naive` cuts at 0.5.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.estimation.estimators.evidence import Evidence, Rates
from mdba_checks.tables import FloatArray, IntArray


def estimate(evidence: Evidence, c: tuple[float, ...] = (1.0,)) -> Rates:
    """Estimate rates with calibrated thresholds; with several c, their mean."""
    return _rates(evidence, np.mean([_accepted(evidence, ratio) / ratio for ratio in c], axis=0))


def estimate_naive(evidence: Evidence) -> Rates:
    """Estimate rates with the threshold 0.5 everywhere."""
    return _rates(evidence, (evidence.f_gold >= 0.5).astype(float))


def _accepted(evidence: Evidence, c: float) -> FloatArray:
    """Return the predicted decision of every labeler on every gold item, in [0, 1]."""
    accepted = np.full(evidence.f_gold.shape, np.nan)
    cell = evidence.place * evidence.n_groups + evidence.group
    order = np.lexsort((-evidence.f, cell))
    ends = np.cumsum(np.bincount(cell, minlength=evidence.n_labelers * evidence.n_groups))
    positives = evidence.cell_sum(evidence.decision)
    members = [np.flatnonzero(evidence.gold.group == code) for code in range(evidence.n_groups)]
    start = 0
    for number, end in enumerate(ends):
        labeler, group = divmod(number, evidence.n_groups)
        wanted = c * positives[labeler, group]
        # More predicted positives than rows: no threshold satisfies c, and nothing can be said.
        if start < end and wanted <= end - start:
            scores = evidence.f[order[start:end]]
            gold_scores = evidence.f_gold[labeler, members[group]]
            accepted[labeler, members[group]] = predict_share(scores, gold_scores, wanted)
        start = end
    return accepted


def predict_share(scores: FloatArray, asked: FloatArray, wanted: float) -> FloatArray:
    """Return how far each asked score is accepted when `wanted` of `scores` are.

    `scores` fall from first to last. A whole number `wanted` leaves an interval of thresholds; the
    answer is the share of that interval at which the asked score is accepted. A fraction mixes the
    two whole numbers next to it.

    Examples
    --------
    >>> predict_share(np.array([0.9, 0.7, 0.3]), np.array([0.8, 0.6, 0.4]), 2.0)
    array([1.  , 0.75, 0.25])
    """
    low = int(np.floor(wanted))
    rest = wanted - low
    share = _share_at(scores, asked, low)
    if rest > 0:
        share = (1 - rest) * share + rest * _share_at(scores, asked, low + 1)
    return share


def _share_at(scores: FloatArray, asked: FloatArray, count: int) -> FloatArray:
    above = scores[count - 1] if count > 0 else 1.0
    below = scores[count] if count < len(scores) else 0.0
    if above > below:
        share: FloatArray = np.clip((asked - below) / (above - below), 0.0, 1.0)
        return share
    # Equal scores straddle the cut: accept as large a part of them as makes the count right.
    tied = scores == above
    part = (count - np.count_nonzero(scores > above)) / np.count_nonzero(tied)
    return np.where(asked > above, 1.0, np.where(asked == above, part, 0.0))


def _rates(evidence: Evidence, accepted: FloatArray) -> Rates:
    gold, n_groups = evidence.gold, evidence.n_groups
    accepted = evidence.on_gold(accepted)
    positive_weight = gold.weight * gold.correct
    total = np.bincount(gold.group, positive_weight, minlength=n_groups)
    prevalence = total / np.maximum(np.bincount(gold.group, gold.weight, minlength=n_groups), 1e-12)
    rate = np.empty((evidence.n_labelers, n_groups))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = positive_weight / total[gold.group]
        for code in range(n_groups):
            here: IntArray = np.flatnonzero((gold.group == code) & (gold.correct == 1))
            rate[:, code] = (accepted[:, here] * share[here]).sum(axis=1) if len(here) else np.nan
        mass = prevalence * evidence.n_labels
        # The labeler's own items are a sample too: they hold about `mass` positives.
        smoothed = (np.clip(rate, 0, 1) * mass + 1) / (mass + 2)  # with c < 1 it may exceed 1
        own_variance = np.where(mass > 0, smoothed * (1 - smoothed) / np.maximum(mass, 1), np.nan)
        influence = np.where(
            gold.correct == 1, (accepted - rate[:, gold.group]) * np.nan_to_num(share), 0.0
        )
    return Rates(
        rate=rate,
        own_variance=own_variance,
        gold_influence=influence,
        mass=mass,
        allowance=np.zeros_like(rate),
        model_variance=np.zeros_like(rate),
    )
