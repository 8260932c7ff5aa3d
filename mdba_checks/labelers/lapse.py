"""People follow a rule but sometimes lapse: the lapse logistic regression, for one or for many.

A decision is yes with probability ``(1 - miss) * s + slip * (1 - s)``, where
``s = sigmoid(x @ coef)`` is a rule per group and `miss` and `slip` are how often somebody says no
where the rule says yes, and the reverse. Plain logistic regression is the case without lapses.

Everything is batched: arrays have the axes (labeler, group, row, column), rows are padded with
weight zero, and one labeler is a batch of one. The groups share strength through the prior
``coef_group ~ prior + shared + own``, which treats all groups alike, so that renaming or swapping
groups changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mdba_checks.arrays import FloatArray

LAPSE_RANGE = (1e-4, 0.3)
_MOST_HALVINGS = 4


@dataclass(frozen=True)
class Rules:
    """A batch of rules: coefficients and lapse rates per labeler and group."""

    coef: FloatArray  # (labelers, groups, columns)
    miss: FloatArray  # (labelers, groups)
    slip: FloatArray  # (labelers, groups)

    def score(self, design: FloatArray) -> FloatArray:
        """Return the rule's logit for rows of shape (labelers, groups, rows, columns)."""
        score: FloatArray = np.matmul(design, self.coef[..., None])[..., 0]
        return score

    def repeated(self, times: int) -> Rules:
        """Return a batch of one as a batch of many."""
        return Rules(*(np.repeat(array, times, axis=0) for array in (self.coef, self.miss, self.slip)))


def lapsed_logit(score: FloatArray, miss: FloatArray, slip: FloatArray) -> FloatArray:
    """Return the logit of the probability of a yes, lapses included."""
    p = decision_probability(expit(score), miss, slip)
    result: FloatArray = np.log(p) - np.log1p(-p)
    return result


def decision_probability(s: FloatArray, miss: FloatArray, slip: FloatArray) -> FloatArray:
    """Return the probability of a yes where the rule says yes with probability `s`."""
    # Without lapses the bounds keep later logits finite; with them they never bind.
    p: FloatArray = np.clip((1 - miss) * s + slip * (1 - s), 1e-9, 1 - 1e-9)
    return p


def fit_rules(
    design: FloatArray,
    decision: FloatArray,
    weight: FloatArray,
    start: Rules,
    *,
    towards: FloatArray,
    ridge: float,
    steps: int,
    learn_lapses: bool = False,
) -> Rules:
    """Fit rules by expectation-maximisation, one safeguarded Newton step of the rule per round.

    Parameters
    ----------
    design
        Shape (labelers, groups, rows, columns); the first column is the intercept.
    decision, weight
        Shape (labelers, groups, rows); weight zero marks padding and held-out rows.
    start
        Where to begin.
    towards, ridge
        Centre and precision of the prior on the coefficients.
    learn_lapses
        Whether `miss` and `slip` are estimated or stay as in `start`.
    """
    prior = ridge * _group_precision(design.shape[1])
    coef, miss, slip = start.coef, start.miss, start.slip
    score = start.score(design)
    for _ in range(steps):
        s = expit(score)
        yes = _responsibility(s, decision, miss[..., None], slip[..., None])
        pulled = np.einsum("ab,kbp->kap", prior, coef - towards)
        gradient = np.matmul(((yes - s) * weight)[..., None, :], design)[..., 0, :] - pulled
        hessian = _hessian(design, np.maximum(s * (1 - s), 1e-6) * weight, prior)
        change = np.linalg.solve(hessian, gradient.reshape(len(coef), -1, 1)).reshape(coef.shape)
        # A full step overshoots where nearly everything is already sorted out: halve it for those
        # labelers whose surrogate would get worse.
        step_score = np.matmul(design, change[..., None])[..., 0]
        size = np.ones(len(coef))
        before = _surrogate(score, yes, weight, coef - towards, prior)
        for _ in range(_MOST_HALVINGS):
            scale = size[:, None, None]
            moved = coef + scale * change - towards
            worse = _surrogate(score + scale * step_score, yes, weight, moved, prior) < before
            if not worse.any():
                break
            size[worse] /= 2
        coef = coef + size[:, None, None] * change
        score = score + size[:, None, None] * step_score
        if learn_lapses:
            miss, slip = _lapse_rates(yes, decision, weight)
    return Rules(coef, miss, slip)


def _surrogate(
    score: FloatArray, yes: FloatArray, weight: FloatArray, from_prior: FloatArray, prior: FloatArray
) -> FloatArray:
    """Return the penalised log-likelihood of the rule, one number per labeler."""
    fit = (weight * (yes * score - np.logaddexp(0, score))).sum(axis=(1, 2))
    penalty = np.einsum("kap,ab,kbp->k", from_prior, prior, from_prior, optimize=True) / 2
    surrogate: FloatArray = fit - penalty
    return surrogate


def _responsibility(
    s: FloatArray, decision: FloatArray, miss: FloatArray, slip: FloatArray
) -> FloatArray:
    """Return the probability that the rule said yes, given the decision."""
    said_yes = s * (1 - miss) / np.maximum(s * (1 - miss) + (1 - s) * slip, 1e-300)
    said_no = s * miss / np.maximum(s * miss + (1 - s) * (1 - slip), 1e-300)
    result: FloatArray = np.where(decision > 0, said_yes, said_no)
    return result


def _lapse_rates(
    yes: FloatArray, decision: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    rule_yes, rule_no = yes * weight, (1 - yes) * weight
    miss = (rule_yes * (1 - decision)).sum(-1) / np.maximum(rule_yes.sum(-1), 1e-9)
    slip = (rule_no * decision).sum(-1) / np.maximum(rule_no.sum(-1), 1e-9)
    return np.clip(miss, *LAPSE_RANGE), np.clip(slip, *LAPSE_RANGE)


def _group_precision(n_groups: int) -> FloatArray:
    """Return the inverse covariance of ``shared + own`` over groups, both of unit variance."""
    precision: FloatArray = np.linalg.inv(np.ones((n_groups, n_groups)) + np.eye(n_groups))
    return precision


def _hessian(design: FloatArray, curvature: FloatArray, prior: FloatArray) -> FloatArray:
    n_labelers, n_groups, _, n_columns = design.shape
    hessian = np.zeros((n_labelers, n_groups, n_columns, n_groups, n_columns))
    columns = np.arange(n_columns)
    hessian[:, :, columns, :, columns] = prior
    blocks = np.matmul(np.swapaxes(design * curvature[..., None], -1, -2), design)
    for group in range(n_groups):
        hessian[:, group, :, group, :] += blocks[:, group]
    return hessian.reshape(n_labelers, n_groups * n_columns, n_groups * n_columns)
