"""From encoded tables to rates: fit the pool, then every bucket of labelers, then ask estimators.

The order of work: pooled models on a bounded sample of labelers, g on gold, and then, bucket by
bucket and in parallel, the models of single labelers and what the estimators make of them. A bucket
reads the pool and its own rows and returns statistics, never rows of features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.config import Metric
from mdba_checks.correctness import Correctness, fit_correctness
from mdba_checks.estimators import (
    Direct,
    Estimator,
    Evidence,
    GoldEvidence,
    Rates,
    for_metric,
    mdba_dr,
)
from mdba_checks.labelers import (
    N_FOLDS,
    Items,
    Known,
    Learner,
    Pool,
    Rows,
    XGBoostLearner,
    assign_folds,
    fit_models,
    fit_pool,
    know,
    over_folds,
)
from mdba_checks.labelers.folds import scramble
from mdba_checks.tables import Data

S = TypeVar("S")
T = TypeVar("T")

POOL_ROWS = 200_000  # more rows than this hardly change the pooled models
_BUCKET_ROWS = 50_000
_BUCKET_GOLD = 50_000  # labelers of a bucket × gold items

Progress = Callable[[str, int, int], None]  # stage, done, total


@dataclass(frozen=True)
class Pooled:
    """The label rows with their folds, and the models all labelers share."""

    rows: Rows
    pool: Pool
    known: Known | None  # None when the pool is a sample of the labelers


@dataclass(frozen=True)
class Fidelity:
    """How well labelers are predicted, per labeler."""

    auc: FloatArray
    brier: FloatArray


@dataclass(frozen=True)
class Estimation:
    """The rates of all labelers by every estimator asked for, and what diagnostics need."""

    rates: dict[str, Rates]
    n_labels: IntArray  # (labelers, groups)
    n_positive: IntArray  # (labelers, groups): positive decisions
    g: FloatArray | None  # (label rows,): probability that yes is right
    gold_g: FloatArray | None  # (gold rows,), out of fold
    fidelity: Fidelity | None
    tpr: FloatArray | None  # (labelers, groups), by mdba_dr whatever was asked for: with fpr and g
    fpr: FloatArray | None  # they turn a decision into the probability that yes is right
    rate_by_c: FloatArray | None = None  # (labelers, groups, c), where several c were asked for

    def take(self, labelers: IntArray) -> Estimation:
        """Return what is known about some labelers, in the order asked for."""
        rows = self.n_labels.sum(axis=1)
        ends = np.cumsum(rows)
        g = self.g
        if g is not None:
            parts = [g[ends[each] - rows[each] : ends[each]] for each in labelers]
            g = np.concatenate([g[:0], *parts])

        def taken(array: FloatArray | None) -> FloatArray | None:
            return None if array is None else array[labelers]

        fidelity = self.fidelity
        return Estimation(
            {name: rates.take(labelers) for name, rates in self.rates.items()},
            self.n_labels[labelers],
            self.n_positive[labelers],
            g,
            self.gold_g,
            fidelity and Fidelity(fidelity.auc[labelers], fidelity.brier[labelers]),
            taken(self.tpr),
            taken(self.fpr),
            taken(self.rate_by_c),
        )


def estimate_rates(
    data: Data,
    estimators: Sequence[Estimator],
    *,
    metric: Metric = "tpr",
    learner: Learner | None = None,
    pooled: Pooled | None = None,
    shared: Shared | None = None,
    only: IntArray | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Estimation:
    """Estimate the rate of every labeler in every group with every estimator.

    `pooled` is what `fit_pooled` returned for the same labels, to ask again with other gold, and
    `shared` what `fit_shared` did, to ask again about the labelers with the codes in `only`.

    The numbers do not depend on `jobs`: linear algebra and every fit use one thread, and work is
    spread over folds and buckets.
    """
    tell = progress or _silent
    run = _Run(data, tuple(estimators), metric, jobs, seed, tell)
    with threadpool_limits(limits=1, user_api="blas"):
        if shared is None and any(each.needs_models for each in estimators):
            shared = run.shared_models(pooled or run.fit_pooled(learner or XGBoostLearner()))
        silver: dict[str, FloatArray] = {
            each.name: each.infer(data, seed) for each in estimators if each.infer
        }
        parts: list[Estimation] = []
        total = len(data.labelers) if only is None else len(only)
        tell("labelers", 0, total)
        buckets = _buckets(data, only)
        for part in run.parallel(lambda rows: run.bucket(rows, shared, silver), buckets):
            parts.append(part)
            tell("labelers", sum(len(each.n_labels) for each in parts), total)
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
        run = _Run(data, (), "tpr", jobs, seed, progress or _silent)
        return run.fit_pooled(learner or XGBoostLearner())


@dataclass(frozen=True)
class Shared:
    """What is fitted once and read by every bucket."""

    pooled: Pooled
    gold_fold: IntArray
    correctness: Correctness


def fit_shared(
    data: Data, *, jobs: int = 1, seed: int = 0, progress: Progress | None = None
) -> Shared:
    """Fit everything but the models of single labelers."""
    with threadpool_limits(limits=1, user_api="blas"):
        run = _Run(data, (), "tpr", jobs, seed, progress or _silent)
        return run.shared_models(run.fit_pooled(XGBoostLearner()))


def rows_of(data: Data, seed: int) -> Rows:
    """Return the label rows with their folds."""
    labels = data.labels
    stratum = (labels.labeler.astype(np.int64) * len(data.groups) + labels.group) * 2
    fold = assign_folds(labels.item, stratum + labels.decision, seed=seed)
    return Rows(labels.labeler, labels.group, labels.decision, fold, labels.linear, labels.trees)


@dataclass(frozen=True)
class _Run:
    data: Data
    estimators: tuple[Estimator, ...]
    metric: Metric
    jobs: int
    seed: int
    tell: Progress

    @property
    def n_groups(self) -> int:
        return len(self.data.groups)

    def parallel(self, function: Callable[[S], T], over: Iterable[S]) -> Iterator[T]:
        """Yield the answers in order, as they come."""
        if self.jobs == 1:
            return map(function, over)
        workers = Parallel(n_jobs=self.jobs, prefer="threads", return_as="generator")
        answers: Iterator[T] = workers(delayed(function)(each) for each in over)
        return answers

    def over_folds(self, function: Callable[[int], T]) -> list[T]:
        return list(self.parallel(function, range(N_FOLDS)))

    def fit_pooled(self, learner: Learner) -> Pooled:
        rows = rows_of(self.data, self.seed)
        chosen = pool_sample(rows.labeler, self.seed)
        self.tell("pooled models", 0, 1)
        pool, known = fit_pool(
            rows if chosen is None else rows.take(chosen),
            n_groups=self.n_groups,
            tree_types=self.data.tree_types,
            learner=learner,
            seed=self.seed,
            over_folds=self.over_folds,
        )
        self.tell("pooled models", 1, 1)
        return Pooled(rows, pool, known if chosen is None else None)

    def shared_models(self, pooled: Pooled) -> Shared:
        gold = self.data.gold
        gold_fold = fold_of_gold(gold.item, self.data.labels.item, pooled.rows.fold)
        items = Items(gold.group, gold.linear, gold.trees)
        by_fold = np.stack([pooled.pool.consensus(fold, items).T for fold in range(N_FOLDS)])
        correctness = fit_correctness(
            over_folds(by_fold, gold_fold).T,
            gold.group,
            gold.correct,
            gold.item,
            gold.weight,
            n_groups=self.n_groups,
            seed=self.seed,
        )
        return Shared(pooled, gold_fold, correctness)

    def bucket(
        self, where: slice | IntArray, shared: Shared | None, silver: dict[str, FloatArray]
    ) -> Estimation:
        """Return what the estimators make of the labelers whose rows are `where`."""
        evidence = self.evidence(where, shared)
        asked = for_metric(evidence, self.metric)
        rates: dict[str, Rates] = {}
        for each in self.estimators:
            if each.infer:
                inferred = silver[each.name][where]
                right = inferred if self.metric in ("tpr", "fnr") else 1 - inferred
                rates[each.name] = each.estimate(replace(asked, silver=right))
            else:
                rates[each.name] = each.estimate(asked)
        return Estimation(
            rates,
            evidence.n_labels.astype(np.int64),
            evidence.cell_sum(evidence.decision).astype(np.int64),
            evidence.g if shared else None,
            evidence.gold.g if shared else None,
            _fidelity(evidence) if shared else None,
            mdba_dr.estimate(for_metric(evidence, "tpr")).rate if shared else None,
            mdba_dr.estimate(for_metric(evidence, "fpr")).rate if shared else None,
            _rate_by_c(self.estimators, asked),
        )

    def evidence(self, where: slice | IntArray, shared: Shared | None) -> Evidence:
        labels, gold = self.data.labels, self.data.gold
        codes, place = np.unique(labels.labeler[where], return_inverse=True)
        group, item = labels.group[where], labels.item[where]
        unknown = np.full(len(place), np.nan)
        f = g = unknown
        gold_g = np.full(len(gold.group), np.nan)
        f_gold: FloatArray = np.empty((len(codes), 0))
        spread: FloatArray = f_gold
        if shared:
            pooled = shared.pooled
            rows = pooled.rows.take(where)
            if pooled.known and isinstance(where, slice):
                known = pooled.known.slice(where)
            else:
                known = know(rows, pooled.pool)
            items = Items(gold.group, gold.linear, gold.trees)
            models = fit_models(rows, items, shared.gold_fold, pooled.pool, known)
            f, f_gold, spread = models.on_rows, models.on_gold, models.spread
            g, gold_g = _right(rows, shared), shared.correctness.on_gold
        return Evidence(
            n_labelers=len(codes),
            n_groups=self.n_groups,
            place=place,
            group=group,
            decision=labels.decision[where],
            item=item,
            f=f,
            g=g,
            gold=GoldEvidence(gold.group, gold.correct, gold.item, gold.weight, gold_g),
            f_gold=f_gold,
            f_spread=spread,
            complexity=complexity(self.data),
            direct=_direct(item, gold.item) if shared else None,
        )


def _right(rows: Rows, shared: Shared) -> FloatArray:
    """Return g of label rows; the scores come from models that never saw the row's item."""
    g = np.empty(len(rows))
    for fold in range(N_FOLDS):
        here = np.flatnonzero(rows.fold == fold)
        if len(here):
            items = Items(rows.group[here], rows.linear[here], rows.trees[here])
            g[here] = shared.correctness(shared.pooled.pool.consensus(fold, items), items.group)
    return g


def pool_sample(labeler: IntArray, seed: int) -> IntArray | None:
    """Return the rows of a random choice of whole labelers; None when all rows are few enough."""
    if len(labeler) <= POOL_ROWS:
        return None
    counts = np.bincount(labeler)
    order = np.argsort(scramble(np.arange(len(counts)), seed), kind="stable")
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


def _direct(item: IntArray, gold_item: IntArray) -> Direct | None:
    """Return the rows that are about gold items, paired with every gold row of that item."""
    order = np.argsort(gold_item, kind="stable")
    first = np.searchsorted(gold_item[order], item, side="left")
    count = np.searchsorted(gold_item[order], item, side="right") - first
    if not count.any():
        return None
    row = np.repeat(np.arange(len(item)), count)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return Direct(row, order[np.repeat(first, count) + offset])


def _buckets(data: Data, only: IntArray | None) -> Iterator[slice | IntArray]:
    """Yield rows that hold whole labelers; which ones depends on the data alone."""
    counts = np.bincount(data.labels.labeler, minlength=len(data.labelers))
    if only is not None:
        index = np.flatnonzero(np.isin(data.labels.labeler, only))
        for part in _ranges(data, counts[np.sort(only)]):
            yield index[part]
        return
    yield from _ranges(data, counts)


def _ranges(data: Data, counts: IntArray) -> Iterator[slice]:
    most = max(1, _BUCKET_GOLD // len(data.gold.group))
    begin = end = labelers = 0
    for count in counts:
        if labelers and (end + count - begin > _BUCKET_ROWS or labelers == most):
            yield slice(begin, end)
            begin, labelers = end, 0
        end += int(count)
        labelers += 1
    yield slice(begin, end)


def _fidelity(evidence: Evidence) -> Fidelity:
    brier = np.bincount(evidence.place, (evidence.decision - evidence.f) ** 2)
    count = np.bincount(evidence.place)
    positive = np.bincount(evidence.place, evidence.decision)
    order = np.lexsort((evidence.f, evidence.place))
    starts = np.cumsum(count) - count
    place = np.arange(len(order)) - np.repeat(starts, count) + 1
    f, who = evidence.f[order], evidence.place[order]
    tie = np.cumsum((np.diff(f, prepend=-1) != 0) | (np.diff(who, prepend=-1) != 0)) - 1
    rank = np.empty(len(order))  # equal scores share the mean of their ranks
    rank[order] = (np.bincount(tie, place) / np.bincount(tie))[tie]
    rank_sum = np.bincount(evidence.place, rank * evidence.decision)
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = positive * (count - positive)
        auc = (rank_sum - positive * (positive + 1) / 2) / pairs
    return Fidelity(auc, brier / count)


def _rate_by_c(estimators: Iterable[Estimator], evidence: Evidence) -> FloatArray | None:
    for each in estimators:
        if each.by_c:
            return np.stack([estimate(evidence).rate for estimate in each.by_c], axis=-1)
    return None


def joined(parts: list[Estimation]) -> Estimation:
    """Return several parts as one, labelers in the order of the parts."""
    first = parts[0]
    rates = {}
    for name in first.rates:
        rates[name] = Rates.joined([part.rates[name] for part in parts])
    fidelity, g, tpr, fpr = None, None, None, None
    if first.fidelity is not None:
        every = [part.fidelity for part in parts if part.fidelity]
        fidelity = Fidelity(
            np.concatenate([each.auc for each in every]),
            np.concatenate([each.brier for each in every]),
        )
        g = np.concatenate([part.g for part in parts if part.g is not None])
        tpr = np.concatenate([part.tpr for part in parts if part.tpr is not None])
        fpr = np.concatenate([part.fpr for part in parts if part.fpr is not None])
    by_c = [part.rate_by_c for part in parts if part.rate_by_c is not None]
    return Estimation(
        rates,
        np.concatenate([part.n_labels for part in parts]),
        np.concatenate([part.n_positive for part in parts]),
        g,
        first.gold_g,
        fidelity,
        tpr,
        fpr,
        np.concatenate(by_c) if by_c else None,
    )


def _silent(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""
