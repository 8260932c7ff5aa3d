"""What the models say about items that are neither gold nor anybody's row.

Asked before experts judge them: which of many items are worth their time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from mdba_checks.estimation.labelers import N_FOLDS, Items, Rows, fit_to_pool, predict_items
from mdba_checks.estimation.rates import Pooled, fit_shared, fold_of_gold
from mdba_checks.estimation.right_answers import Described
from mdba_checks.tables import Data, FloatArray, GoldRows, IntArray


@dataclass(frozen=True)
class ItemModels:
    """What is known about items.

    Attributes
    ----------
    f
        (labelers, items): the chance of a yes, for the labelers asked about.
    scores
        (items, scores): consensus of all labelers, as logits.
    g
        (items,): the chance that yes is right; None without gold.
    """

    f: FloatArray
    scores: FloatArray
    g: FloatArray | None


def describe_items(
    data: Data,
    pooled: Pooled,
    items: GoldRows,
    labelers: IntArray,
    *,
    with_gold: bool,
    jobs: int = 1,
    seed: int = 0,
) -> ItemModels:
    """Return what models say about items, each by models that did not see it.

    Parameters
    ----------
    data, pooled
        The tables, and what `fit_pooled` made of them.
    items
        Encoded like the gold of `data`; what stands for their answers is not read.
    labelers
        Codes of the labelers asked about, ascending.
    with_gold
        Whether `data` holds gold items to fit g to.
    """
    labels = data.labels
    fold = fold_of_gold(items.item, labels.item, pooled.fold)
    fold = np.where(fold < 0, np.arange(len(items)) % N_FOLDS, fold)
    every = Items(items.group, items.linear, items.trees)
    chosen = np.flatnonzero(np.isin(labels.labeler, labelers))
    rows = Rows(
        labeler=labels.labeler[chosen],
        group=labels.group[chosen],
        decision=labels.decision[chosen],
        fold=pooled.fold[chosen],
        linear=labels.linear[chosen],
        trees=labels.trees[chosen],
    )
    with threadpool_limits(limits=1, user_api="blas"):
        f = predict_items(rows, every, fold, pooled.pool, fit_to_pool(rows, pooled.pool))
    correctness = None
    if with_gold:
        correctness = fit_shared(data, pooled, jobs=jobs, seed=seed).models.correctness
    scores: FloatArray = np.empty((len(items), 2 + len(data.groups)))
    g = np.empty(len(items))
    with threadpool_limits(limits=1, user_api="blas"):
        for number in range(N_FOLDS):
            here = np.flatnonzero(fold == number)
            if not len(here):
                continue
            some = Items(every.group[here], every.linear[here], every.trees[here])
            scores[here] = pooled.pool.consensus(number, some)
            if correctness:
                g[here] = correctness(
                    number, Described(some.group, scores[here], some.linear, some.trees)
                )
    return ItemModels(f, scores, g if correctness else None)
