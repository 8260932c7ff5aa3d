"""The rule of everybody, and each labeler's own rule near it, cross-fitted.

The pooled rule lends strength: a labeler's rule is pulled towards it, once strongly and once
weakly, and the stack (see `stack.py`) decides how much of each to believe. Somebody with ten labels
is then close to the average labeler; somebody with thousands speaks for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.labelers.batches import make_batches
from mdba_checks.labelers.folds import N_FOLDS
from mdba_checks.labelers.lapse import Rules, fit_rules, lapsed_logit
from mdba_checks.labelers.rows import Rows

PULLS = (3.0, 0.1)  # ridge towards the pooled rule: strongly and weakly
_POOLED_RIDGE = 1.0
_RATE_PRIOR = 10.0  # a labeler's positive rate is smoothed by this many labels at the pooled rate


def fit_pooled_rule(rows: Rows, *, n_groups: int, held_out: int) -> Rules:
    """Fit the lapse rule of the average labeler without one fold: a plain start, then EM."""
    everybody = np.zeros(len(rows), dtype=np.int64)
    (batch,) = make_batches(
        everybody, rows.group, n_groups=n_groups, n_columns=rows.linear.shape[1]
    )
    design = batch.gather(rows.linear)
    decision = rows.decision[batch.index].astype(float)
    weight = (batch.filled & (rows.fold[batch.index] != held_out)).astype(float)
    zero = np.zeros((1, n_groups, design.shape[-1]))
    none, some = np.zeros((1, n_groups)), np.full((1, n_groups), 0.02)
    plain = fit_rules(
        design, decision, weight, Rules(zero, none, none), towards=zero, ridge=_POOLED_RIDGE, steps=3
    )
    return fit_rules(
        design,
        decision,
        weight,
        Rules(plain.coef, some, some),
        towards=zero,
        ridge=_POOLED_RIDGE,
        steps=12,
        learn_lapses=True,
    )


@dataclass(frozen=True)
class OwnRules:
    """The rules of some labelers, and what they say of those labelers' rows, out of fold."""

    labelers: IntArray  # (labelers,) codes, ascending
    coef: FloatArray  # (folds, pulls, labelers, groups, columns)
    rate: FloatArray  # (folds, labelers, groups): smoothed positive rate in the training folds
    logit: FloatArray  # (rows, pulls), in the order of the rows they were fitted to


def fit_own_rules(rows: Rows, pooled: list[Rules], pooled_rate: FloatArray) -> OwnRules:
    """Fit every labeler's rule near the pooled one, without each fold in turn."""
    n_groups, n_columns = pooled[0].coef.shape[1:]
    codes = np.unique(rows.labeler)
    coef = np.empty((N_FOLDS, len(PULLS), len(codes), n_groups, n_columns))
    rate = np.empty((N_FOLDS, len(codes), n_groups))
    logit = np.empty((len(rows), len(PULLS)))
    for batch in make_batches(
        rows.labeler, rows.group, n_groups=n_groups, n_columns=n_columns - 1
    ):
        place = np.searchsorted(codes, batch.labelers)
        design = batch.gather(rows.linear)
        decision = rows.decision[batch.index].astype(float)
        fold = rows.fold[batch.index]
        for held_out, rule in enumerate(pooled):
            weight = (batch.filled & (fold != held_out)).astype(float)
            positives = (weight * decision).sum(-1) + _RATE_PRIOR * pooled_rate[held_out]
            rate[held_out, place] = positives / (weight.sum(-1) + _RATE_PRIOR)
            start = rule.repeated(len(place))
            predicted = batch.filled & (fold == held_out)
            for pull, ridge in enumerate(PULLS):
                own = fit_rules(
                    design, decision, weight, start, towards=start.coef, ridge=ridge, steps=6
                )
                coef[held_out, pull, place] = own.coef
                out = lapsed_logit(own.score(design), own.miss[..., None], own.slip[..., None])
                logit[batch.index[predicted], pull] = out[predicted]
    return OwnRules(codes, coef, rate, logit)


def rule_logit(coef: FloatArray, rule: Rules, linear: FloatArray, group: IntArray) -> FloatArray:
    """Return logits of rows under coefficients (…, groups, columns) with the lapses of `rule`.

    Leading axes of `coef` come first in the result: (labelers, groups, columns) gives
    (labelers, rows).
    """
    score = np.empty((*coef.shape[:-2], len(group)))
    for code in range(coef.shape[-2]):
        members = np.flatnonzero(group == code)
        own = coef[..., code, :]
        score[..., members] = own[..., :1] + own[..., 1:] @ linear[members].T
    return lapsed_logit(score, rule.miss[0, group], rule.slip[0, group])
