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
from mdba_checks.labelers.batches import one_batch
from mdba_checks.labelers.folds import assign_folds
from mdba_checks.labelers.lapse import fit_rules, without_lapses

N_GOLD_FOLDS = 10
_RIDGE = 0.3


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
    mark: IntArray,
    n_groups: int,
    seed: int,
) -> Correctness:
    """Fit g to the gold rows; `mark` tells rows apart, as in `assign_folds`."""
    centre_of_scores, scale = scores.mean(axis=0), scores.std(axis=0)
    scale[scale == 0] = 1.0
    standard = (scores - centre_of_scores) / scale
    stratum = group.astype(np.int64) * 2 + correct
    fold = assign_folds(item, stratum, mark=mark, n_folds=N_GOLD_FOLDS, seed=seed)
    batch = one_batch(group, fold, n_groups=n_groups, n_parts=N_GOLD_FOLDS)
    # One variant without each fold, and the last with all of gold, for the label rows.
    sees = np.vstack([1.0 - np.eye(N_GOLD_FOLDS), np.ones(N_GOLD_FOLDS)])
    centre = np.zeros((1, n_groups, scores.shape[1] + 1, len(sees)))
    share = (weight @ correct + 0.5) / (weight.sum() + 1)
    centre[:, :, 0] = np.log(share / (1 - share))  # without evidence: everybody at the mean
    fitted = fit_rules(
        batch.gather(standard),
        correct[batch.index].astype(float),
        batch.weight * weight[batch.index] / weight.mean(),
        sees,
        without_lapses(centre),
        towards=centre,
        ridge=_RIDGE,
        rounds=8,
        steps=2,
    ).coef[0]
    on_gold = np.empty(len(group))
    for held_out in range(N_GOLD_FOLDS):
        here = fold == held_out
        on_gold[here] = _apply(fitted[..., held_out], standard[here], group[here])
    return Correctness(fitted[..., -1], centre_of_scores, scale, on_gold)


def _apply(weights: FloatArray, standard: FloatArray, group: IntArray) -> FloatArray:
    g: FloatArray = expit(weights[group, 0] + np.einsum("np,np->n", standard, weights[group, 1:]))
    return g
