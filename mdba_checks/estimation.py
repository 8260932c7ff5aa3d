"""From encoded tables to rates: fit the pool, then every bucket of labelers, then ask estimators.

The order of work: pooled models on a bounded sample of labelers, g on gold, and then, bucket by
bucket and wherever the engine has hands free, the models of single labelers and what the estimators
make of them (`bucket.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.bucket import Bucket, Common, Estimation, Models, estimate_bucket, joined
from mdba_checks.config import Metric
from mdba_checks.correctness import fit_correctness
from mdba_checks.engines import Engine, LocalEngine
from mdba_checks.estimators import Estimator
from mdba_checks.labelers import (
    N_FOLDS,
    Items,
    Known,
    Learner,
    Pool,
    Rows,
    XGBoostLearner,
    assign_folds,
    fit_pool,
    over_folds,
)
from mdba_checks.labelers.folds import scramble
from mdba_checks.tables import Data

T = TypeVar("T")

POOL_ROWS = 200_000  # more rows than this hardly change the pooled models
_BUCKET_ROWS = 50_000
_BUCKET_CELLS = 4_000_000  # rows of a bucket × columns for linear models: 32 MB
_BUCKET_GOLD = 50_000  # labelers of a bucket × gold items

Progress = Callable[[str, int, int], None]  # stage, done, total


@dataclass(frozen=True)
class Pooled:
    """The folds of all label rows, and the models all labelers share."""

    fold: IntArray
    pool: Pool
    known: Known | None  # None when the pool is a sample of the labelers


@dataclass(frozen=True)
class Shared:
    """The folds of all label rows, and everything but the models of single labelers."""

    fold: IntArray
    models: Models
    known: Known | None = None


def estimate_rates(
    data: Data,
    estimators: Sequence[Estimator],
    *,
    metric: Metric = "tpr",
    learner: Learner | None = None,
    pooled: Pooled | None = None,
    shared: Shared | None = None,
    only: IntArray | None = None,
    engine: Engine | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Estimation:
    """Estimate the rate of every labeler in every group with every estimator.

    `pooled` is what `fit_pooled` returned for the same labels, to ask again with other gold, and
    `shared` what `fit_shared` did, to ask again about the labelers with the codes in `only`.

    The numbers do not depend on `engine` or `jobs`: linear algebra and every fit use one thread,
    and work is spread over folds and buckets.
    """
    run = _Run(data, jobs, seed, progress or _silent)
    with threadpool_limits(limits=1, user_api="blas"):
        if shared is None and any(each.needs_models for each in estimators):
            shared = run.shared_models(pooled or run.fit_pooled(learner or XGBoostLearner()))
        silver: dict[str, FloatArray] = {
            each.name: each.infer(data, seed) for each in estimators if each.infer
        }
        common = Common(
            data.gold,
            len(data.groups),
            tuple(estimators),
            metric,
            complexity(data),
            shared.models if shared else None,
        )
        buckets = _buckets(data, shared, silver, only)
        parts: list[Estimation] = []
        done, total = 0, len(data.labelers) if only is None else len(only)
        run.tell("labelers", 0, total)
        for part in (engine or LocalEngine(jobs)).map(estimate_bucket, common, buckets):
            parts.append(part)
            done += len(part.n_labels)
            run.tell("labelers", done, total)
    return joined(parts)


def fit_pooled(
    data: Data,
    *,
    learner: Learner | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Pooled:
    """Fit what does not depend on gold."""
    with threadpool_limits(limits=1, user_api="blas"):
        return _Run(data, jobs, seed, progress or _silent).fit_pooled(learner or XGBoostLearner())


def fit_shared(
    data: Data, *, jobs: int = 1, seed: int = 0, progress: Progress | None = None
) -> Shared:
    """Fit everything but the models of single labelers."""
    with threadpool_limits(limits=1, user_api="blas"):
        run = _Run(data, jobs, seed, progress or _silent)
        return run.shared_models(run.fit_pooled(XGBoostLearner()))


def folds_of(data: Data, seed: int) -> IntArray:
    """Return the folds of the label rows."""
    labels = data.labels
    stratum = (labels.labeler.astype(np.int64) * len(data.groups) + labels.group) * 2
    return assign_folds(labels.item, stratum + labels.decision, mark=labels.mark, seed=seed)


@dataclass(frozen=True)
class _Run:
    data: Data
    jobs: int
    seed: int
    tell: Progress

    def over_folds(self, function: Callable[[int], T]) -> list[T]:
        local = LocalEngine(self.jobs)
        return list(local.map(lambda _, fold: function(fold), None, range(N_FOLDS)))

    def fit_pooled(self, learner: Learner) -> Pooled:
        labels, fold = self.data.labels, folds_of(self.data, self.seed)
        chosen = pool_sample(self.data, self.seed)
        self.tell("pooled models", 0, 1)
        where = slice(None) if chosen is None else chosen
        pool, known = fit_pool(
            Rows(
                labels.labeler[where],
                labels.group[where],
                labels.decision[where],
                fold[where],
                labels.linear[where],
                labels.trees[where],
            ),
            n_groups=len(self.data.groups),
            tree_types=self.data.tree_types,
            learner=learner,
            # Learners draw rows by their place: it must not follow from names.
            order=np.argsort(self.data.labeler_mark[labels.labeler[where]], kind="stable"),
            seed=self.seed,
            over_folds=self.over_folds,
        )
        self.tell("pooled models", 1, 1)
        return Pooled(fold, pool, known if chosen is None else None)

    def shared_models(self, pooled: Pooled) -> Shared:
        gold = self.data.gold
        gold_fold = fold_of_gold(gold.item, self.data.labels.item, pooled.fold)
        items = Items(gold.group, gold.linear, gold.trees)
        by_fold = np.stack([pooled.pool.consensus(fold, items).T for fold in range(N_FOLDS)])
        correctness = fit_correctness(
            over_folds(by_fold, gold_fold).T,
            gold.group,
            gold.correct,
            gold.item,
            gold.weight,
            mark=gold.mark,
            n_groups=len(self.data.groups),
            seed=self.seed,
        )
        return Shared(pooled.fold, Models(pooled.pool, gold_fold, correctness), pooled.known)


def pool_sample(data: Data, seed: int) -> IntArray | None:
    """Return the rows of a random choice of whole labelers; None when all rows are few enough."""
    labeler = data.labels.labeler
    if len(labeler) <= POOL_ROWS:
        return None
    counts = np.bincount(labeler)
    order = np.argsort(scramble(data.labeler_mark, seed), kind="stable")
    taken = order[np.cumsum(counts[order]) <= POOL_ROWS]
    if not len(taken):  # a single labeler is larger than the sample
        taken = order[:1]
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[taken] = True
    return np.flatnonzero(chosen[labeler])


def fold_of_gold(gold_item: IntArray, item: IntArray, fold: IntArray) -> IntArray:
    """Return the fold of every gold item that was labeled too, -1 for the others."""
    items, first = np.unique(item, return_index=True)
    place = np.minimum(np.searchsorted(items, gold_item), len(items) - 1)
    return np.where(items[place] == gold_item, fold[first[place]], -1)


def complexity(data: Data) -> float:
    """Return by how much a boundary learned from all labels is off, up to a factor."""
    rows, columns = data.labels.linear.shape
    return float(np.sqrt(columns / min(rows, POOL_ROWS)))


def _buckets(
    data: Data, shared: Shared | None, silver: dict[str, FloatArray], only: IntArray | None
) -> Iterator[Bucket]:
    """Yield buckets of whole labelers; which ones depends on the data alone."""
    labels = data.labels
    known = shared.known if shared else None
    fold = shared.fold if shared else np.zeros(len(labels), dtype=np.int64)
    for where in _row_ranges(data, only):
        yield Bucket(
            labels.labeler[where],
            labels.group[where],
            labels.decision[where],
            labels.item[where],
            fold[where],
            labels.linear.take(where),
            labels.trees.take(where),
            known.part(labels.labeler[where], where)
            if known and isinstance(where, slice)
            else None,
            {name: inferred[where] for name, inferred in silver.items()},
        )


def _row_ranges(data: Data, only: IntArray | None) -> Iterator[slice | IntArray]:
    counts = np.bincount(data.labels.labeler, minlength=len(data.labelers))
    if only is not None:
        index = np.flatnonzero(np.isin(data.labels.labeler, only))
        for part in _ranges(data, counts[np.sort(only)]):
            yield index[part]
        return
    yield from _ranges(data, counts)


def _ranges(data: Data, counts: IntArray) -> Iterator[slice]:
    most = max(1, _BUCKET_GOLD // len(data.gold.group))
    most_rows = min(_BUCKET_ROWS, _BUCKET_CELLS // max(1, data.labels.linear.shape[1]))
    begin = end = labelers = 0
    for count in counts:
        if labelers and (end + count - begin > most_rows or labelers == most):
            yield slice(begin, end)
            begin, labelers = end, 0
        end += int(count)
        labelers += 1
    yield slice(begin, end)


def _silent(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""
