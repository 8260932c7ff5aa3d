"""People follow a rule but sometimes lapse: the lapse logistic regression, for one or for many.

A decision is yes with probability ``(1 - miss) * s + slip * (1 - s)``, where
``s = sigmoid(x @ coef)`` is a rule per group and `miss` and `slip` are how often somebody says no
where the rule says yes, and the reverse. Plain logistic regression is the case without lapses.

Everything is batched over labelers, and over *variants*, which differ in the parts of the data
they may see: fits without each fold in turn are found together, from one pass over the rows. The
groups share strength through the prior ``coef_group ~ centre + shared + own``, which treats all
groups alike, so that renaming or swapping groups changes nothing.
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
    """A batch of rules; the last axis counts variants."""

    coef: FloatArray  # (labelers, groups, columns, variants)
    miss: FloatArray  # (labelers, groups, variants)
    slip: FloatArray  # (labelers, groups, variants)

    def score(self, design: FloatArray) -> FloatArray:
        """Return the rules' logits, (labelers, groups, parts, places, variants)."""
        score: FloatArray = np.matmul(design, self.coef[:, :, None])
        return score

    def repeated(self, times: int) -> Rules:
        """Return a batch of one as a batch of many."""
        arrays = (self.coef, self.miss, self.slip)
        return Rules(*(np.repeat(array, times, axis=0) for array in arrays))


def without_lapses(coef: FloatArray) -> Rules:
    """Return plain logistic rules with these coefficients."""
    none = np.zeros((*coef.shape[:2], coef.shape[3]))
    return Rules(coef, none, none)


def lapsed_logit(score: FloatArray, miss: FloatArray, slip: FloatArray) -> FloatArray:
    """Return the logit of the probability of a yes, lapses included."""
    s = expit(score)
    # Without lapses the bounds keep later logits finite; with them they never bind.
    p = np.clip((1 - miss) * s + slip * (1 - s), 1e-9, 1 - 1e-9)
    logit: FloatArray = np.log(p) - np.log1p(-p)
    return logit


def fit_rules(
    design: FloatArray,
    decision: FloatArray,
    weight: FloatArray,
    sees: FloatArray,
    start: Rules,
    *,
    towards: FloatArray,
    ridge: float,
    rounds: int,
    steps: int = 3,
    learn_lapses: bool = False,
) -> Rules:
    """Fit rules by expectation-maximisation with safeguarded Newton steps.

    Parameters
    ----------
    design
        Shape (labelers, groups, parts, places, columns); the first column is the intercept.
    decision, weight
        Shape (labelers, groups, parts, places); weight zero marks padding.
    sees
        Shape (variants, parts): 1.0 where a variant may learn from a part.
    start
        Where to begin.
    towards, ridge
        Centre, shaped as the coefficients, and precision of the prior on them.
    rounds, steps
        How often the curvature is computed, which is the costly part, and how many steps are taken
        with each. The variants share the curvature at their mean.
    learn_lapses
        Whether `miss` and `slip` are estimated or stay as in `start`.
    """
    precision = _group_precision(design.shape[1])
    decision, weight = decision[..., None], weight[..., None]
    seen = weight * sees.T[:, None]  # (labelers, groups, parts, places, variants)
    coef, miss, slip = start.coef, start.miss, start.slip
    score = start.score(design)
    for _ in range(rounds):
        mean = expit(score.mean(axis=-1))
        curvature = np.maximum(mean * (1 - mean), 1e-6) * weight[..., 0]
        inverse = _inverse_curvature(design, curvature, sees, ridge * precision)
        for _ in range(steps):
            s = expit(score)
            lapses = miss[:, :, None, None], slip[:, :, None, None]
            yes = _responsibility(s, decision, *lapses)
            pull = ridge * np.einsum("ab,kbpv->kapv", precision, coef - towards)
            residual = (yes - s) * seen
            gradient = np.matmul(design.swapaxes(-1, -2), residual).sum(axis=2) - pull
            change = _solve(inverse, gradient)
            step = Rules(change, miss, slip).score(design)
            size = _step_size(score, step, yes, seen, (coef - towards, change, ridge * precision))
            coef = coef + size[:, None, None] * change
            score = score + size[:, None, None, None] * step
            if learn_lapses:
                miss, slip = _lapse_rates(yes, decision, seen)
    return Rules(coef, miss, slip)


def _inverse_curvature(
    design: FloatArray, curvature: FloatArray, sees: FloatArray, prior: FloatArray
) -> FloatArray:
    """Return the inverse Hessian, (labelers, variants, groups × columns, groups × columns)."""
    n_labelers, n_groups, _, _, n_columns = design.shape
    by_part = np.matmul((design * curvature[..., None]).swapaxes(-1, -2), design)
    seen = np.einsum("vf,kafpq->kvapq", sees, by_part)
    hessian = np.zeros((n_labelers, len(sees), n_groups, n_columns, n_groups, n_columns))
    columns = np.arange(n_columns)
    hessian[:, :, :, columns, :, columns] = prior
    for group in range(n_groups):
        hessian[:, :, group, :, group, :] += seen[:, :, group]
    size = n_groups * n_columns
    inverse: FloatArray = np.linalg.inv(hessian.reshape(n_labelers, len(sees), size, size))
    return inverse


def _solve(inverse: FloatArray, gradient: FloatArray) -> FloatArray:
    n_labelers, n_groups, n_columns, n_variants = gradient.shape
    flat = gradient.transpose(0, 3, 1, 2).reshape(n_labelers, n_variants, -1, 1)
    change: FloatArray = np.matmul(inverse, flat).reshape(
        n_labelers, n_variants, n_groups, n_columns
    )
    return change.transpose(0, 2, 3, 1)


def _step_size(
    score: FloatArray,
    step: FloatArray,
    yes: FloatArray,
    seen: FloatArray,
    prior: tuple[FloatArray, FloatArray, FloatArray],
) -> FloatArray:
    """Return how far to go, (labelers, variants), so that no surrogate likelihood gets worse.

    A full step overshoots where nearly everything is sorted out already; it is halved there.
    """
    from_prior, change, precision = prior

    def surrogate(size: FloatArray | None) -> FloatArray:
        at, moved = score, from_prior
        if size is not None:
            at = score + size[:, None, None, None] * step
            moved = from_prior + size[:, None, None] * change
        fit = (seen * (yes * at - np.logaddexp(0, at))).sum(axis=(1, 2, 3))
        penalty = np.einsum("kapv,ab,kbpv->kv", moved, precision, moved, optimize=True) / 2
        result: FloatArray = fit - penalty
        return result

    before = surrogate(None)
    size = np.ones(before.shape)
    for _ in range(_MOST_HALVINGS):
        worse = surrogate(size) < before
        if not worse.any():
            break
        size[worse] /= 2
    return size


def _responsibility(
    s: FloatArray, decision: FloatArray, miss: FloatArray, slip: FloatArray
) -> FloatArray:
    """Return the probability that the rule said yes, given the decision."""
    said_yes = s * (1 - miss) / np.maximum(s * (1 - miss) + (1 - s) * slip, 1e-300)
    said_no = s * miss / np.maximum(s * miss + (1 - s) * (1 - slip), 1e-300)
    result: FloatArray = np.where(decision > 0, said_yes, said_no)
    return result


def _lapse_rates(
    yes: FloatArray, decision: FloatArray, seen: FloatArray
) -> tuple[FloatArray, FloatArray]:
    rule_yes, rule_no = yes * seen, (1 - yes) * seen
    axes = (2, 3)
    miss = (rule_yes * (1 - decision)).sum(axes) / np.maximum(rule_yes.sum(axes), 1e-9)
    slip = (rule_no * decision).sum(axes) / np.maximum(rule_no.sum(axes), 1e-9)
    return np.clip(miss, *LAPSE_RANGE), np.clip(slip, *LAPSE_RANGE)


def _group_precision(n_groups: int) -> FloatArray:
    """Return the inverse covariance of ``shared + own`` over groups, both of unit variance."""
    precision: FloatArray = np.linalg.inv(np.ones((n_groups, n_groups)) + np.eye(n_groups))
    return precision
