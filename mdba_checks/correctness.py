"""g: the probability that the right decision about an item is yes.

Gold is small, so g is not learned from raw features but from a few consensus scores: what the
average labeler, and each group's pooled rule, say about the item. A ridge logistic regression per
group turns them into probabilities. On gold itself every prediction is out of fold, by item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.labelers.batches import make_batches
from mdba_checks.labelers.folds import assign_folds
from mdba_checks.labelers.lapse import Rules, fit_rules

N_GOLD_FOLDS = 10
_RIDGE = 1.0


@dataclass(frozen=True)
class Correctness:
    """A fitted g."""

    weights: FloatArray  # (groups, 1 + scores)
    centre: FloatArray
    scale: FloatArray
    on_gold: FloatArray  # out of fold

    def __call__(self, scores: FloatArray, group: IntArray) -> FloatArray:
        """Return g of items from their consensus scores."""
        return _apply(self.weights, (scores - self.centre) / self.scale, group)


def fit_correctness(
    scores: FloatArray,
    group: IntArray,
    correct: IntArray,
    item: IntArray,
    weight: FloatArray,
    *,
    n_groups: int,
    seed: int,
) -> Correctness:
    """Fit g to the gold rows."""
    centre, scale = scores.mean(axis=0), scores.std(axis=0)
    scale[scale == 0] = 1.0
    standard = (scores - centre) / scale
    fold = assign_folds(item, group * 2 + correct, n_folds=N_GOLD_FOLDS, seed=seed)
    on_gold = np.empty(len(group))
    for held_out in range(N_GOLD_FOLDS):
        here = fold == held_out
        fitted = _fit(standard, group, correct, weight * ~here, n_groups)
        on_gold[here] = _apply(fitted, standard[here], group[here])
    return Correctness(_fit(standard, group, correct, weight, n_groups), centre, scale, on_gold)


def _fit(
    standard: FloatArray, group: IntArray, correct: IntArray, weight: FloatArray, n_groups: int
) -> FloatArray:
    everybody = np.zeros(len(group), dtype=np.int64)
    (batch,) = make_batches(everybody, group, n_groups=n_groups, n_columns=standard.shape[1])
    towards, none = np.zeros((1, n_groups, standard.shape[1] + 1)), np.zeros((1, n_groups))
    share = (weight @ correct + 0.5) / (weight.sum() + 1)
    towards[..., 0] = np.log(share / (1 - share))  # without evidence: everybody at the mean
    fitted = fit_rules(
        batch.gather(standard),
        correct[batch.index].astype(float),
        np.where(batch.filled, weight[batch.index], 0.0),
        Rules(towards, none, none),
        towards=towards,
        ridge=_RIDGE,
        steps=12,
    )
    return fitted.coef[0]


def _apply(weights: FloatArray, standard: FloatArray, group: IntArray) -> FloatArray:
    score = weights[group, 0] + np.einsum("np,np->n", standard, weights[group, 1:])
    return expit(score)
