"""How much to believe each model of a labeler: a small logistic regression over their logits.

Fitted for everybody first, then for each labeler near everybody, per group. Its inputs are
out-of-fold, so it sees how good the models really are.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.estimation.labelers.batches import Batch, make_batches, one_batch
from mdba_checks.estimation.labelers.folds import N_FOLDS
from mdba_checks.estimation.labelers.lapse import Sample, fit_rules, without_lapses
from mdba_checks.tables import FloatArray, IntArray

_POOLED_RIDGE = 1.0
_OWN_RIDGE = 10.0


def fit_stack(
    logits: FloatArray, group: IntArray, decision: IntArray, fold: IntArray, *, n_groups: int
) -> FloatArray:
    """Return the pooled weights without each fold in turn, (folds, 1, groups, 1 + logits)."""
    centre = np.zeros((1, n_groups, logits.shape[1] + 1, N_FOLDS))
    centre[:, :, 1:] = 1 / logits.shape[1]  # before any evidence: the mean of the models
    batch = one_batch(group, fold, n_groups=n_groups, n_parts=N_FOLDS)
    fitted = _fit(batch, logits, decision, centre, ridge=_POOLED_RIDGE, rounds=5)
    return np.moveaxis(fitted, -1, 0)


def fit_own_stacks(
    logits: FloatArray,
    labeler: IntArray,
    group: IntArray,
    decision: IntArray,
    fold: IntArray,
    pooled: FloatArray,
) -> FloatArray:
    """Return every labeler's weights, (folds, labelers by ascending code, groups, 1 + logits)."""
    codes = np.unique(labeler)
    weights = np.empty((N_FOLDS, len(codes), *pooled.shape[2:]))
    for batch in make_batches(
        labeler,
        group,
        fold,
        n_groups=pooled.shape[2],
        n_parts=N_FOLDS,
        n_columns=logits.shape[1],
    ):
        centre = np.repeat(np.moveaxis(pooled, 0, -1), len(batch.labelers), axis=0)
        fitted = _fit(batch, logits, decision, centre, ridge=_OWN_RIDGE, rounds=3)
        weights[:, np.searchsorted(codes, batch.labelers)] = np.moveaxis(fitted, -1, 0)
    return weights


def _fit(
    batch: Batch,
    logits: FloatArray,
    decision: IntArray,
    centre: FloatArray,
    *,
    ridge: float,
    rounds: int,
) -> FloatArray:
    decided = decision[batch.index].astype(float)
    sample = Sample(batch.gather(logits), decided, batch.weight, 1.0 - np.eye(N_FOLDS))
    start = without_lapses(centre)
    return fit_rules(sample, start, towards=centre, ridge=ridge, rounds=rounds, steps=2).coef


def stacked(weights: FloatArray, logits: FloatArray) -> FloatArray:
    """Return the stacked logit; `weights` and `logits` broadcast against each other."""
    result: FloatArray = weights[..., 0] + np.einsum("...i,...i->...", weights[..., 1:], logits)
    return result
