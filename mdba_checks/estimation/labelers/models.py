"""A model of every labeler: f_k, the probability that labeler k says yes to an item.

Takes the pool and a bucket of labelers, and answers what estimators ask: f_k on k's own rows, never
from a model that saw the row's item, and f_k on the gold items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mdba_checks.estimation.labelers.folds import N_FOLDS
from mdba_checks.estimation.labelers.pool import Items, Known, Pool
from mdba_checks.estimation.labelers.rows import Rows
from mdba_checks.estimation.labelers.stack import fit_own_stacks, stacked
from mdba_checks.tables import FloatArray, IntArray


@dataclass(frozen=True)
class LabelerModels:
    """The models of a bucket of labelers, as far as estimators need them."""

    labelers: IntArray  # (labelers,) codes, ascending
    on_rows: FloatArray  # (rows,): f of the row's labeler, out of fold
    on_gold: FloatArray  # (labelers, gold items)
    by_fold: FloatArray  # (folds, labelers, gold items): f on gold by the models of each fold


def fit_models(
    rows: Rows, gold: Items, gold_fold: IntArray, pool: Pool, known: Known
) -> LabelerModels:
    """Fit the models of all labelers in `rows`.

    `gold_fold` is -1 for gold items that nobody labeled; for the others it is the item's fold,
    whose models alone may speak about it, because the others have seen somebody's decision on it.
    """
    codes, place = np.unique(rows.labeler, return_inverse=True)
    weights = fit_own_stacks(
        known.logits, rows.labeler, rows.group, rows.decision, rows.fold, pool.stack
    )
    on_rows = expit(stacked(weights[rows.fold, place, rows.group], known.logits))
    kept = np.searchsorted(known.own.labelers, codes)
    by_fold = np.stack(
        [
            stacked(
                weights[fold][:, gold.group],
                pool.model_logits(
                    fold, gold, known.own.coef[fold][:, kept], known.own.rate[fold][kept]
                ),
            )
            for fold in range(N_FOLDS)
        ]
    )
    on_gold = expit(over_folds(by_fold, gold_fold))
    return LabelerModels(codes, on_rows, on_gold, expit(by_fold, out=by_fold))


def predict_items(rows: Rows, items: Items, fold: IntArray, pool: Pool, known: Known) -> FloatArray:
    """Return f of all labelers in `rows` on items, (labelers, items).

    `fold` says which models may speak about each item: for an item that was labeled, those that
    did not see it.
    """
    weights = fit_own_stacks(
        known.logits, rows.labeler, rows.group, rows.decision, rows.fold, pool.stack
    )
    codes = np.unique(rows.labeler)
    kept = np.searchsorted(known.own.labelers, codes)
    predicted = np.empty((len(codes), len(fold)))
    for number in range(N_FOLDS):
        here = np.flatnonzero(fold == number)
        if len(here):
            some = Items(items.group[here], items.linear[here], items.trees[here])
            logits = pool.model_logits(
                number, some, known.own.coef[number][:, kept], known.own.rate[number][kept]
            )
            predicted[:, here] = expit(stacked(weights[number][:, some.group], logits))
    return predicted


def over_folds(by_fold: FloatArray, gold_fold: IntArray) -> FloatArray:
    """Average (folds, …, gold items) over the folds that may speak about each gold item."""
    result: FloatArray = by_fold.mean(axis=0)
    for fold in range(len(by_fold)):
        labeled = gold_fold == fold
        result[..., labeled] = by_fold[fold][..., labeled]
    return result
