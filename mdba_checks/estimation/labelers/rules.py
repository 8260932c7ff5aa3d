"""The rule of everybody, and each labeler's own rule near it, cross-fitted.

The pooled rule lends strength: a labeler's rule is pulled towards it, once strongly and once
weakly, and the stack (see `stack.py`) decides how much of each to believe. Somebody with ten labels
is then close to the average labeler; somebody with thousands speaks for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdba_checks.estimation.labelers.batches import make_batches, one_batch
from mdba_checks.estimation.labelers.folds import N_FOLDS
from mdba_checks.estimation.labelers.lapse import (
    Rules,
    Sample,
    fit_rules,
    lapsed_logit,
    without_lapses,
)
from mdba_checks.estimation.labelers.rows import Rows
from mdba_checks.tables import FloatArray, IntArray

PULLS = (3.0, 0.1)  # ridge towards the pooled rule: strongly and weakly
_POOLED_RIDGE = 0.01
_RATE_PRIOR = 10.0  # a labeler's positive rate is smoothed by this many labels at the pooled rate

ALL_BUT_ONE: FloatArray = 1.0 - np.eye(N_FOLDS)  # variant v sees every fold but v


def fit_pooled_rule(rows: Rows, *, n_groups: int) -> Rules:
    """Fit the lapse rule of the average labeler, one variant per fold left out."""
    batch = one_batch(rows.group, rows.fold, n_groups=n_groups, n_parts=N_FOLDS)
    design = batch.gather(rows.linear)
    decision = rows.decision[batch.index].astype(float)
    zero = np.zeros((1, n_groups, design.shape[-1], N_FOLDS))
    sample = Sample(design, decision, batch.weight, ALL_BUT_ONE)
    plain = fit_rules(sample, without_lapses(zero), towards=zero, ridge=_POOLED_RIDGE, rounds=3)
    some = np.full(plain.miss.shape, 0.02)
    start = Rules(plain.coef, some, some)
    return fit_rules(sample, start, towards=zero, ridge=_POOLED_RIDGE, rounds=5, learn_lapses=True)


@dataclass(frozen=True)
class OwnRules:
    """The rules of some labelers, and what they say of those labelers' rows, out of fold."""

    labelers: IntArray  # (labelers,) codes, ascending
    coef: FloatArray  # (folds, pulls, labelers, groups, columns)
    rate: FloatArray  # (folds, labelers, groups): smoothed positive rate in the training folds
    logit: FloatArray  # (rows, pulls), in the order of the rows they were fitted to


def fit_own_rules(rows: Rows, pooled: Rules, pooled_rate: FloatArray) -> OwnRules:
    """Fit every labeler's rule near the pooled one, without each fold in turn."""
    _, n_groups, n_columns, _ = pooled.coef.shape
    codes = np.unique(rows.labeler)
    coef = np.empty((N_FOLDS, len(PULLS), len(codes), n_groups, n_columns))
    rate = np.empty((N_FOLDS, len(codes), n_groups))
    logit = np.empty((len(rows), len(PULLS)))
    for batch in make_batches(
        rows.labeler,
        rows.group,
        rows.fold,
        n_groups=n_groups,
        n_parts=N_FOLDS,
        n_columns=n_columns - 1,
    ):
        place = np.searchsorted(codes, batch.labelers)
        design = batch.gather(rows.linear)
        decision = rows.decision[batch.index].astype(float)
        count = np.einsum("vf,kaf->vka", ALL_BUT_ONE, batch.weight.sum(-1))
        positive = np.einsum("vf,kaf->vka", ALL_BUT_ONE, (batch.weight * decision).sum(-1))
        prior_rate = _RATE_PRIOR * pooled_rate[:, None]
        rate[:, place] = (positive + prior_rate) / (count + _RATE_PRIOR)
        sample = Sample(design, decision, batch.weight, ALL_BUT_ONE)
        start = centre = pooled.repeated(len(place))
        for pull, ridge in enumerate(PULLS):
            # The weak pull starts where the strong one ended, which is on its way.
            start = fit_rules(sample, start, towards=centre.coef, ridge=ridge, rounds=2)
            coef[:, pull, place] = start.coef.transpose(3, 0, 1, 2)
            score = start.score(design)
            for fold in range(N_FOLDS):
                here = batch.weight[:, :, fold] > 0
                lapses = start.miss[..., None, fold], start.slip[..., None, fold]
                held_out = lapsed_logit(score[:, :, fold, fold], *lapses)
                logit[batch.index[:, :, fold][here], pull] = held_out[here]
    return OwnRules(codes, coef, rate, logit)


def rule_logit(
    coef: FloatArray, pooled: Rules, fold: int, linear: FloatArray, group: IntArray
) -> FloatArray:
    """Return logits of rows under coefficients (…, groups, columns), with the pooled lapses.

    Leading axes of `coef` come first in the result: (labelers, groups, columns) gives
    (labelers, rows).
    """
    score = np.empty((*coef.shape[:-2], len(group)))
    for code in range(coef.shape[-2]):
        members = np.flatnonzero(group == code)
        own = coef[..., code, :]
        score[..., members] = own[..., :1] + own[..., 1:] @ linear[members].T
    return lapsed_logit(score, pooled.miss[0, group, fold], pooled.slip[0, group, fold])
