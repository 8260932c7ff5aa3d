"""How much to believe each model of a labeler: a small logistic regression over their logits.

Fitted for everybody first, then for each labeler near everybody, per group. Its inputs are
out-of-fold, so it sees how good the models really are.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.labelers.batches import make_batches
from mdba_checks.labelers.lapse import Rules, fit_rules

_POOLED_RIDGE = 1.0
_OWN_RIDGE = 10.0


def fit_stack(
    logits: FloatArray, group: IntArray, decision: IntArray, *, n_groups: int
) -> FloatArray:
    """Return the pooled weights, (1, groups, 1 + logits)."""
    start = np.zeros((1, n_groups, logits.shape[1] + 1))
    start[..., 1:] = 1 / logits.shape[1]  # before any evidence: the mean of the models
    everybody = np.zeros(len(group), dtype=np.int64)
    return _fit(logits, everybody, group, decision, start, ridge=_POOLED_RIDGE, steps=10)


def fit_own_stacks(
    logits: FloatArray, labeler: IntArray, group: IntArray, decision: IntArray, pooled: FloatArray
) -> FloatArray:
    """Return every labeler's weights, (labelers by ascending code, groups, 1 + logits)."""
    return _fit(logits, labeler, group, decision, pooled, ridge=_OWN_RIDGE, steps=5)


def _fit(
    logits: FloatArray,
    labeler: IntArray,
    group: IntArray,
    decision: IntArray,
    towards: FloatArray,
    *,
    ridge: float,
    steps: int,
) -> FloatArray:
    n_groups = towards.shape[1]
    codes = np.unique(labeler)
    weights = np.empty((len(codes), *towards.shape[1:]))
    for batch in make_batches(labeler, group, n_groups=n_groups, n_columns=logits.shape[1]):
        none = np.zeros((len(batch.labelers), n_groups))
        start = Rules(np.repeat(towards, len(batch.labelers), axis=0), none, none)
        fitted = fit_rules(
            batch.gather(logits),
            decision[batch.index].astype(float),
            batch.filled.astype(float),
            start,
            towards=start.coef,
            ridge=ridge,
            steps=steps,
        )
        weights[np.searchsorted(codes, batch.labelers)] = fitted.coef
    return weights


def stacked(weights: FloatArray, logits: FloatArray) -> FloatArray:
    """Return the stacked logit; `weights` and `logits` broadcast against each other."""
    result: FloatArray = weights[..., 0] + np.einsum("...i,...i->...", weights[..., 1:], logits)
    return result
