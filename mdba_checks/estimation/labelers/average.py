"""The average labeler: how likely somebody out of the crowd is to say yes to an item.

A model of one's own learns nothing from a handful of labels. Where there is a crowd, people with
few labels are described by the average labeler instead, a logistic regression of everybody's
decisions on consensus scores, per group. The doubly robust rate allows that: it is right whatever
f is as long as g is, and f matters less the fewer labels there are to be explained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from mdba_checks.estimation.labelers.folds import N_FOLDS
from mdba_checks.estimation.labelers.pool import Items, Pool
from mdba_checks.estimation.labelers.rows import Rows
from mdba_checks.estimation.labelers.stack import fit_stack, stacked
from mdba_checks.tables import FloatArray, IntArray

# With fewer labels a rule per group has about as many columns as labels to learn them from.
OWN_RULE_LABELS = 20
# With fewer labels, models of one's own give no smaller error and no better coverage of
# `table_gap`; simulated crowds and payraise show no difference up to a few hundred
# (benchmarks/crowds.py).
OWN_MODEL_LABELS = 100


@dataclass(frozen=True)
class Average:
    """How the average labeler decides, one model per fold left out."""

    weights: FloatArray  # (folds, groups, 1 + scores)
    between: FloatArray  # (groups,): variance of people's levels around it, in logits

    def __call__(self, scores: FloatArray, group: IntArray, fold: IntArray | int) -> FloatArray:
        """Return the chance of a yes for items with the consensus scores of a fold's models."""
        chance: FloatArray = expit(stacked(self.weights[fold, group], scores))
        return chance

    def on_gold(self, scores: FloatArray, group: IntArray) -> FloatArray:
        """Return the chance of a yes by the models of each fold, (folds, gold items).

        `scores` is (folds, gold items, scores), NaN where a fold's models have seen the item: the
        mean of the others stands there.
        """
        by_fold = np.stack([self(scores[fold], group, fold) for fold in range(N_FOLDS)])
        unseen = np.isfinite(by_fold)
        mean = np.where(unseen, by_fold, 0.0).sum(axis=0) / np.maximum(unseen.sum(axis=0), 1)
        return np.where(unseen, by_fold, mean)


def fit_average(rows: Rows, pool: Pool) -> Average:
    """Fit the average labeler to the rows that the pool was fitted to."""
    scores = consensus_of(rows, pool)
    weights = fit_stack(scores, rows.group, rows.decision, rows.fold, n_groups=pool.n_groups)
    average = Average(weights[:, 0], np.zeros(pool.n_groups))
    return replace(average, between=_between(rows, average(scores, rows.group, rows.fold)))


def _between(rows: Rows, chance: FloatArray) -> FloatArray:
    """Return how much levels differ, per group: what people's sums vary beyond chance."""
    _, place = np.unique(rows.labeler, return_inverse=True)
    found = []
    for code in range(int(rows.group.max()) + 1):
        here = rows.group == code
        bend = chance[here] * (1 - chance[here])
        beyond = np.bincount(place[here], rows.decision[here] - chance[here]) ** 2
        expected = np.bincount(place[here], bend)
        found.append(max((beyond - expected).sum(), 0.0) / max((expected**2).sum(), 1e-9))
    return np.array(found)


def without_few(labeler: IntArray) -> IntArray:
    """Return who gave each label, with everybody who has too few for a rule of their own as one.

    Examples
    --------
    >>> without_few(np.repeat([0, 1, 2], [5, 30, 7])).tolist() == [-1] * 5 + [1] * 30 + [-1] * 7
    True
    """
    few = np.bincount(labeler) < OWN_RULE_LABELS
    return np.where(few[labeler], -1, labeler)


def consensus_of(rows: Rows, pool: Pool) -> FloatArray:
    """Return the consensus scores of rows, by models that never saw the row's item."""
    scores = np.empty((len(rows), 2 + pool.n_groups))
    for fold in range(N_FOLDS):
        here = np.flatnonzero(rows.fold == fold)
        if len(here):
            items = Items(rows.group[here], rows.linear[here], rows.trees[here])
            scores[here] = pool.consensus(fold, items)
    return scores
