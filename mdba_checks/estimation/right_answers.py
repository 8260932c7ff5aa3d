"""g: the probability that the right decision about an item is yes.

Gold is small, so g is a weighted mean of a few cautious models: a logistic regression per group on
*consensus scores* (what the average labeler, and each group's pooled rule, say about the item),
ridge regressions on the features, and small trees on features and scores. The weights follow from
how well each model predicts gold out of fold.

The pooled models behind the scores exist once per fold of the labels, so g does too: rows of a fold
and the gold items they are compared with are scored by the same models. On gold itself every
prediction is out of fold, by item, and averaged over the folds of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from mdba_checks.estimation.labelers import (
    Fitted,
    Sample,
    XGBoostLearner,
    assign_folds,
    fit_rules,
    one_batch,
    without_lapses,
)
from mdba_checks.tables import FloatArray, IntArray

N_GOLD_FOLDS = 10
_SCORE_RIDGE = 0.3
_FEATURE_RIDGES = (1.0, 10.0)
# Before any evidence the consensus counts this many gold items, every other model one: with few
# gold items a model of the features that was lucky must not take over.
_CONSENSUS_COUNT = 5.0
_STACK_ROUNDS = 50
_GROUP_COUNT = 25.0  # gold items that the weights of all groups together count in each group


@dataclass(frozen=True)
class Described:
    """Items as the models of right answers see them."""

    group: IntArray
    scores: FloatArray  # (items, scores): consensus of the labelers, by the models of one fold
    linear: FloatArray
    trees: FloatArray

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.group)

    def take(self, rows: IntArray) -> Described:
        """Return some of the items."""
        return Described(self.group[rows], self.scores[rows], self.linear[rows], self.trees[rows])

    def tree_columns(self) -> FloatArray:
        """Return what trees see: features, group and scores."""
        columns = (self.trees, self.group[:, None], self.scores)
        return np.concatenate(columns, axis=1, dtype=np.float32)


@dataclass(frozen=True)
class GoldAnswers:
    """The gold items' right decisions, and what is needed to hold them out."""

    correct: IntArray
    weight: FloatArray
    item: IntArray
    mark: IntArray  # tells rows apart, as in `assign_folds`
    fold: IntArray  # of the labels, where the item was labeled too; else -1


@dataclass(frozen=True)
class Logistic:
    """Logistic regressions per group on standardised columns."""

    weights: FloatArray  # (groups, 1 + columns)
    centre: FloatArray
    scale: FloatArray

    def __call__(self, columns: FloatArray, group: IntArray) -> FloatArray:
        """Return the probability of yes for items."""
        return _apply(self.weights, (columns - self.centre) / self.scale, group)


@dataclass(frozen=True)
class Correctness:
    """A fitted g, one per fold of the labels."""

    by_scores: tuple[Logistic, ...]  # per fold
    by_features: tuple[Logistic, ...]  # per ridge, the same for all folds
    trees: tuple[Fitted, ...]  # per fold
    share: FloatArray  # (groups, models): how much each model counts
    on_gold: FloatArray  # out of fold
    spread: FloatArray  # (gold items,): variance of g, by leaving out parts of gold

    def __call__(self, fold: int, items: Described) -> FloatArray:
        """Return g of items, whose scores come from the models of a fold of the labels."""
        parts = [self.by_scores[fold](items.scores, items.group)]
        parts += [each(items.linear, items.group) for each in self.by_features]
        parts.append(expit(self.trees[fold].logit(items.tree_columns())))
        g: FloatArray = np.einsum("nm,mn->n", self.share[items.group], np.stack(parts))
        return g


def fit_correctness(
    by_fold: tuple[Described, ...],
    gold: GoldAnswers,
    *,
    n_groups: int,
    tree_types: tuple[str, ...],
    seed: int,
) -> Correctness:
    """Fit g to the gold items, as described by the models of every fold of the labels.

    Weights tell the items of a group apart. Groups count by how many gold items they have, however
    many items of the population these stand for.
    """
    first = by_fold[0]
    gold = replace(gold, weight=gold.weight / _group_mean(gold.weight, first.group))
    stratum = first.group.astype(np.int64) * 2 + gold.correct
    held_out = assign_folds(gold.item, stratum, mark=gold.mark, n_folds=N_GOLD_FOLDS, seed=seed)
    fits = _Fits(
        gold=gold,
        held_out=held_out,
        n_groups=n_groups,
        types=(*tree_types, "c", *"q" * first.scores.shape[1]),
        seed=seed,
    )
    by_scores, scored = zip(
        *(fits.logistic(each.scores, each.group, _SCORE_RIDGE) for each in by_fold), strict=True
    )
    by_features, described = zip(
        *(fits.logistic(first.linear, first.group, ridge) for ridge in _FEATURE_RIDGES), strict=True
    )
    trees, grown = zip(*(fits.trees(each) for each in by_fold), strict=True)
    # (models, parts, gold items): every model without each part of gold.
    without = np.stack([_own_fold(scored, gold.fold), *described, _own_fold(grown, gold.fold)])
    on_gold = without[:, held_out, np.arange(len(held_out))]
    share_of_groups = _shares(on_gold, first.group, gold, n_groups)
    share = share_of_groups[first.group]
    stacked: FloatArray = np.einsum("nm,mn->n", share, on_gold)
    spread = np.einsum("nm,mpn->pn", share, without).var(axis=0) * (N_GOLD_FOLDS - 1)
    return Correctness(
        by_scores=by_scores,
        by_features=by_features,
        trees=trees,
        share=share_of_groups,
        on_gold=stacked,
        spread=spread,
    )


@dataclass(frozen=True)
class _Fits:
    """Fits to gold: without each part in turn, and to all of it for the label rows."""

    gold: GoldAnswers
    held_out: IntArray
    n_groups: int
    types: tuple[str, ...]
    seed: int

    def logistic(
        self, columns: FloatArray, group: IntArray, ridge: float
    ) -> tuple[Logistic, FloatArray]:
        """Return a logistic regression per group, and what it says of gold without each part."""
        weight, correct = self.gold.weight, self.gold.correct
        centre_of_columns, scale = columns.mean(axis=0), columns.std(axis=0)
        scale[scale == 0] = 1.0
        standard = (columns - centre_of_columns) / scale
        batch = one_batch(group, self.held_out, n_groups=self.n_groups, n_parts=N_GOLD_FOLDS)
        sees = np.vstack([1.0 - np.eye(N_GOLD_FOLDS), np.ones(N_GOLD_FOLDS)])
        centre = np.zeros((1, self.n_groups, columns.shape[1] + 1, len(sees)))
        share = (weight @ correct + 0.5) / (weight.sum() + 1)
        centre[:, :, 0] = np.log(share / (1 - share))  # without evidence: everybody at the mean
        sample = Sample(
            batch.gather(standard),
            correct[batch.index].astype(float),
            batch.weight * weight[batch.index],
            sees,
        )
        start = without_lapses(centre)
        fitted = fit_rules(
            sample, start, towards=centre, ridge=ridge, rounds=12, steps=4, one_curvature=True
        ).coef[0]
        without = [_apply(fitted[..., part], standard, group) for part in range(N_GOLD_FOLDS)]
        return Logistic(fitted[..., -1], centre_of_columns, scale), np.stack(without)

    def trees(self, items: Described) -> tuple[Fitted, FloatArray]:
        """Return small trees, and what they say of gold without each part of it."""
        learner = XGBoostLearner(
            trees=30,
            depth=3,
            rate=0.15,
            subsample=1.0,
            colsample=1.0,
            min_child_weight=5.0,
            bins=64,  # as many as a few hundred gold items can tell apart
        )
        columns, weight = items.tree_columns(), self.gold.weight
        parts = [np.where(self.held_out == part, 0.0, weight) for part in range(N_GOLD_FOLDS)]
        *without, whole = learner.fit_each(
            columns,
            self.gold.correct,
            self.types,
            self.seed,
            [each if each.any() else weight for each in (*parts, weight)],
        )
        return whole, np.stack([expit(each.logit(columns)) for each in without])


def _group_mean(values: FloatArray, group: IntArray) -> FloatArray:
    """Return the mean over the items of its own group for every item."""
    mean: FloatArray = np.bincount(group, values) / np.maximum(np.bincount(group), 1)
    return mean[group]


def _own_fold(by_fold: tuple[FloatArray, ...], fold: IntArray) -> FloatArray:
    """Return the mean over the folds of the labels that may describe each gold item.

    The models of the other folds saw somebody's decision about an item that was labeled too.
    """
    every = np.stack(by_fold)
    labeled = fold >= 0
    result: FloatArray = every.mean(axis=0)
    result[:, labeled] = every[fold[labeled], :, np.flatnonzero(labeled)].T
    return result


def _shares(predicted: FloatArray, group: IntArray, gold: GoldAnswers, n_groups: int) -> FloatArray:
    """Return the weights (groups, models) under which gold is most likely, near those of all."""
    likelihood = np.where(gold.correct == 1, predicted, 1 - predicted).T
    prior = np.ones(len(predicted))
    prior[0] = _CONSENSUS_COUNT
    everybody = _most_likely_shares(likelihood, gold.weight, prior)
    return np.stack(
        [
            _most_likely_shares(
                likelihood[group == code], gold.weight[group == code], _GROUP_COUNT * everybody
            )
            for code in range(n_groups)
        ]
    )


def _most_likely_shares(
    likelihood: FloatArray, weight: FloatArray, prior: FloatArray
) -> FloatArray:
    """Return mixture weights by expectation-maximisation; `prior` counts items in advance."""
    share: FloatArray = prior / prior.sum()
    for _ in range(_STACK_ROUNDS):
        claim = likelihood * share
        claim /= np.maximum(claim.sum(axis=1, keepdims=True), 1e-300)
        counted = prior + weight @ claim
        share = counted / counted.sum()
    return share


def _apply(weights: FloatArray, standard: FloatArray, group: IntArray) -> FloatArray:
    g: FloatArray = expit(weights[group, 0] + np.einsum("np,np->n", standard, weights[group, 1:]))
    return g
