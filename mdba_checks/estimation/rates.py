"""From encoded tables to rates: fit the pool, then every bucket of labelers, then ask estimators.

The order of work: pooled models on a bounded sample of labelers, g on gold, and then, bucket by
bucket and wherever the engine has hands free, the models of single labelers and what the estimators
make of them (`bucket.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from mdba_checks.estimation.bucket import (
    Bucket,
    CohortSums,
    Common,
    Estimation,
    Models,
    direct_pairs,
    estimate_bucket,
    joined,
)
from mdba_checks.estimation.crowd import is_crowd
from mdba_checks.estimation.engines import Engine, LocalEngine
from mdba_checks.estimation.estimators import (
    Estimator,
    Evidence,
    GoldEvidence,
    Rates,
    for_metric,
    mdba_dr,
)
from mdba_checks.estimation.hidden import account_for_hidden, measure_agreement
from mdba_checks.estimation.labelers import (
    N_FOLDS,
    OWN_MODEL_LABELS,
    Average,
    Items,
    Known,
    Learner,
    Pool,
    Rows,
    XGBoostLearner,
    assign_folds,
    fit_average,
    fit_pool,
    scramble,
    without_few,
)
from mdba_checks.estimation.lack_of_fit import LackOfFit, measure_lack_of_fit, rows_compared
from mdba_checks.estimation.remote import estimate_elsewhere, refuse_inferring
from mdba_checks.estimation.right_answers import Described, GoldAnswers, fit_correctness
from mdba_checks.metrics import METRICS, Metric, MetricName
from mdba_checks.tables import Data, FloatArray, IntArray

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
    average: Average | None  # where there is a crowd


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
    metric: MetricName = "tpr",
    learner: Learner | None = None,
    pooled: Pooled | None = None,
    engine: Engine | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Estimation:
    """Estimate the rate of every labeler in every group with every estimator.

    `pooled` is what `fit_pooled` returned for the same labels, to ask again with other gold.

    The numbers do not depend on `engine` or `jobs`: linear algebra and every fit use one thread,
    and work is spread over folds and buckets.
    """
    run = _Run(data, jobs, seed, progress or _silent)
    if data.remote is not None:
        refuse_inferring(estimators)
        _fetch_sample(data, seed)
    with threadpool_limits(limits=1, user_api="blas"):
        shared = None
        if any(each.needs_models for each in estimators):
            shared = run.shared_models(pooled or run.fit_pooled(learner or XGBoostLearner()))
        inferred: dict[str, FloatArray] = {
            each.name: each.infer(data, seed) for each in estimators if each.infer
        }
        common = Common(
            gold=data.gold,
            n_groups=len(data.groups),
            n_cohorts=max(len(data.cohorts), 1),
            estimators=tuple(estimators),
            metric=METRICS[metric],
            keeps_scores=is_crowd(data),
            models=shared.models if shared else None,
        )
        tell = _Count(len(data.labelers), run.tell)
        if data.remote is not None:
            fold = shared.fold if shared else None
            ranges = _row_ranges(data, averages=common.average is not None)
            parts = estimate_elsewhere(data, common, fold, ranges, tell.add)
        else:
            parts = []
            buckets = _buckets(data, common, shared, inferred)
            for part in (engine or LocalEngine(jobs)).map(estimate_bucket, common, buckets):
                parts.append(part)
                tell.add(len(part.n_labels))
        estimation = joined(parts)
        parts.clear()  # all of it is in the whole now
        return (
            _with_hidden(estimation, data, METRICS[metric], shared.models) if shared else estimation
        )


class _Count:
    """Tells how many labelers are done."""

    def __init__(self, total: int, tell: Progress) -> None:
        self.done, self.total, self.tell = 0, total, tell
        self.add(0)

    def add(self, labelers: int) -> None:
        self.done += labelers
        self.tell("labelers", self.done, self.total)


def _fetch_sample(data: Data, seed: int) -> None:
    """Fetch the rows that pooled models and checks look at, all at once."""
    if data.remote is None:
        return
    chosen = pool_sample(data, seed)
    pool = np.arange(len(data.labels)) if chosen is None else chosen
    data.remote.keep(np.concatenate([pool, *rows_compared(data)]))


def _with_hidden(estimation: Estimation, data: Data, metric: Metric, models: Models) -> Estimation:
    """Return the estimation with what labelers know beyond the features taken into account."""
    gold, labels, g = data.gold, data.labels, models.correctness
    if estimation.f is None or estimation.g is None or not (estimation.tpr and estimation.fpr):
        return estimation
    nothing = np.empty((len(data.labelers), 0))
    rows = Evidence(
        n_labelers=len(data.labelers),
        n_groups=len(data.groups),
        place=labels.labeler,
        group=labels.group,
        decision=labels.decision,
        item=labels.item,
        f=estimation.f,
        g=estimation.g,
        gold=GoldEvidence(
            group=gold.group,
            correct=gold.correct,
            item=gold.item,
            weight=gold.weight,
            g=g.on_gold,
            g_spread=g.spread,
        ),
        f_gold=nothing,
        f_spread=nothing,
        direct=direct_pairs(labels.item, gold.item),
    )
    rest = labels.decision - estimation.f
    agreement = measure_agreement(labels.labeler, labels.item, labels.group, rest, len(data.groups))
    fit = measure_lack_of_fit(data, estimation.f, g.on_gold)
    tpr, hidden = account_for_hidden(estimation.tpr, for_metric(rows, METRICS["tpr"]), agreement)
    tpr = tpr.without_paths()
    fpr, _ = account_for_hidden(estimation.fpr, for_metric(rows, METRICS["fpr"]), agreement)
    fpr = fpr.without_paths()
    rates = dict(estimation.rates)
    for name in [name for name, each in rates.items() if each.parts is not None]:
        found, hidden = account_for_hidden(rates[name], for_metric(rows, metric), agreement)
        rates[name] = _with_lack_of_fit(found, fit)
    estimation = replace(
        estimation,
        rates=rates,
        tpr=tpr,
        fpr=fpr,
        hidden=hidden,
        fit=fit,
        gold_scores=models.gold_scores,
    )
    if estimation.cohorts is None:
        return estimation

    def together(sums: CohortSums, cohort: IntArray) -> Rates:
        asked = for_metric(_as_labelers(rows, sums, cohort), metric)
        found, _ = account_for_hidden(mdba_dr.estimate(asked), asked, agreement)
        return _with_lack_of_fit(found, fit).small()

    return replace(
        estimation,
        overall=together(estimation.cohorts.together(), np.zeros(len(labels), dtype=np.int64)),
        by_cohort=together(estimation.cohorts, labels.cohort) if data.cohorts else None,
    )


def _as_labelers(rows: Evidence, sums: CohortSums, cohort: IntArray) -> Evidence:
    """Return the evidence with cohorts in the place of labelers, rows about one item together."""
    order = np.lexsort((rows.item, rows.group, cohort))
    f_gold, spread = sums.means()
    return replace(
        rows,
        n_labelers=len(f_gold),
        place=cohort[order],
        group=rows.group[order],
        decision=rows.decision[order],
        item=rows.item[order],
        f=rows.f[order],
        g=rows.g[order],
        f_gold=f_gold,
        f_spread=spread,
        direct=direct_pairs(rows.item[order], rows.gold.item),
    )


def _with_lack_of_fit(rates: Rates, fit: LackOfFit) -> Rates:
    if rates.parts is None:
        return rates
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = rates.parts.open_share * fit.product / rates.parts.denominator
    return replace(
        rates,
        allowance=np.hypot(rates.allowance, moved),
        model_variance=rates.model_variance + moved**2,
    )


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


def fit_shared(data: Data, pooled: Pooled, *, jobs: int = 1, seed: int = 0) -> Shared:
    """Fit g to the gold items, beside models that are fitted already."""
    with threadpool_limits(limits=1, user_api="blas"):
        return _Run(data, jobs, seed, _silent).shared_models(pooled)


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
        crowd = is_crowd(self.data)
        rows = Rows(
            labeler=without_few(labels.labeler[where]) if crowd else labels.labeler[where],
            group=labels.group[where],
            decision=labels.decision[where],
            fold=fold[where],
            linear=labels.linear[where],
            trees=labels.trees[where],
        )
        pool, known = fit_pool(
            rows,
            n_groups=len(self.data.groups),
            tree_types=self.data.tree_types,
            learner=learner,
            # Learners draw rows by their place: it must not follow from names.
            order=np.argsort(self.data.labeler_mark[labels.labeler[where]], kind="stable"),
            seed=self.seed,
            over_folds=self.over_folds,
        )
        average = None
        if crowd:
            rows = replace(rows, labeler=labels.labeler[where])
            average = fit_average(rows, pool)
        self.tell("pooled models", 1, 1)
        return Pooled(fold, pool, known if chosen is None else None, average)

    def shared_models(self, pooled: Pooled) -> Shared:
        gold = self.data.gold
        gold_fold = fold_of_gold(gold.item, self.data.labels.item, pooled.fold)
        items = Items(gold.group, gold.linear, gold.trees)
        scores = np.stack([pooled.pool.consensus(fold, items) for fold in range(N_FOLDS)])
        # An item that was labeled too is described by the only models that did not see it.
        labeled = np.flatnonzero(gold_fold >= 0)
        unseen = scores.copy()
        for fold in range(N_FOLDS):
            unseen[fold, (gold_fold >= 0) & (gold_fold != fold)] = np.nan
        scores[:, labeled] = scores[gold_fold[labeled], labeled]
        correctness = fit_correctness(
            tuple(Described(gold.group, each, items.linear, items.trees) for each in scores),
            GoldAnswers(
                correct=gold.correct,
                weight=gold.weight,
                item=gold.item,
                mark=gold.mark,
                fold=gold_fold,
            ),
            n_groups=len(self.data.groups),
            tree_types=self.data.tree_types,
            seed=self.seed,
        )
        return Shared(
            pooled.fold,
            Models(
                pool=pooled.pool,
                gold_fold=gold_fold,
                correctness=correctness,
                gold_scores=unseen,
                average=pooled.average,
            ),
            pooled.known,
        )


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


def _buckets(
    data: Data, common: Common, shared: Shared | None, inferred: dict[str, FloatArray]
) -> Iterator[Bucket]:
    """Yield buckets of whole labelers; which ones depends on the data alone."""
    labels = data.labels
    known = shared.known if shared else None
    fold = shared.fold if shared else np.zeros(len(labels), dtype=np.int64)
    for where in _row_ranges(data, averages=common.average is not None):
        yield Bucket(
            labeler=labels.labeler[where],
            group=labels.group[where],
            decision=labels.decision[where],
            item=labels.item[where],
            cohort=labels.cohort[where],
            fold=fold[where],
            linear=labels.linear.take(where),
            trees=labels.trees.take(where),
            known=known.part(labels.labeler[where], where) if known else None,
            inferred={name: right[where] for name, right in inferred.items()},
        )


def _row_ranges(data: Data, *, averages: bool) -> Iterator[slice]:
    """Yield the rows of buckets; only a model of one's own is applied to all gold items."""
    counts = np.bincount(data.labels.labeler, minlength=len(data.labelers))
    most = max(1, _BUCKET_GOLD // len(data.gold.group))
    most_rows = min(_BUCKET_ROWS, _BUCKET_CELLS // max(1, data.labels.linear.shape[1]))
    begin = end = labelers = 0
    for count in counts:
        if end > begin and (end + count - begin > most_rows or labelers == most):
            yield slice(begin, end)
            begin, labelers = end, 0
        end += int(count)
        labelers += not (averages and count < OWN_MODEL_LABELS)
    yield slice(begin, end)


def _silent(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""
