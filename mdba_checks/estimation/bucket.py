"""The unit of work: a bucket of labelers in, what estimators make of them out.

A bucket holds the rows of whole labelers and everything about them that is already known; `Common`
holds what all buckets read. Both are plain data, so that a bucket can be worked on in a thread, in
another process or on another machine; what comes back are statistics, never rows of features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mdba_checks.estimation.estimators import (
    Direct,
    Estimator,
    Evidence,
    GoldEvidence,
    Rates,
    for_metric,
    mdba_dr,
)
from mdba_checks.estimation.hidden import Hidden
from mdba_checks.estimation.labelers import (
    N_FOLDS,
    OWN_MODEL_LABELS,
    Average,
    Items,
    Known,
    Pool,
    Rows,
    fit_models,
    fit_to_pool,
)
from mdba_checks.estimation.lack_of_fit import LackOfFit
from mdba_checks.estimation.right_answers import Correctness, Described
from mdba_checks.metrics import METRICS, Metric
from mdba_checks.tables import FloatArray, GoldRows, IntArray, Matrix


@dataclass(frozen=True)
class Models:
    """What is fitted once and read by every bucket."""

    pool: Pool
    gold_fold: IntArray  # (gold rows,): the fold of items that were labeled too, else -1
    correctness: Correctness
    gold_scores: FloatArray  # (folds, gold rows, scores); NaN by models that saw the item
    average: Average | None  # where there is a crowd


@dataclass(frozen=True)
class Common:
    """What every bucket reads."""

    gold: GoldRows
    n_groups: int
    n_cohorts: int  # at least 1
    estimators: tuple[Estimator, ...]
    metric: Metric
    keeps_scores: bool  # whether consensus scores of rows are asked for
    models: Models | None  # None where no estimator needs them

    @property
    def average(self) -> Average | None:
        """The average labeler, where it may describe people with few labels."""
        if self.models is None or not all(each.is_doubly_robust for each in self.estimators):
            return None
        return self.models.average


@dataclass(frozen=True)
class Bucket:
    """The rows of some labelers; features are encoded when they are needed."""

    labeler: IntArray
    group: IntArray
    decision: IntArray
    item: IntArray
    cohort: IntArray  # 0 without cohorts
    fold: IntArray
    linear: Matrix
    trees: Matrix
    known: Known | None  # what fitting the pool found out about these labelers
    inferred: Mapping[str, FloatArray]  # right labels as the baselines infer them

    def part(self, rows: IntArray) -> Bucket:
        """Return the rows of some of the labelers."""
        return Bucket(
            labeler=self.labeler[rows],
            group=self.group[rows],
            decision=self.decision[rows],
            item=self.item[rows],
            cohort=self.cohort[rows],
            fold=self.fold[rows],
            linear=self.linear.take(rows),
            trees=self.trees.take(rows),
            known=self.known.take(rows) if self.known else None,
            inferred={name: right[rows] for name, right in self.inferred.items()},
        )

    def rows(self) -> Rows:
        """Return the rows with their features as arrays."""
        return Rows(
            labeler=self.labeler,
            group=self.group,
            decision=self.decision,
            fold=self.fold,
            linear=self.linear[:],
            trees=self.trees[:],
        )


@dataclass(frozen=True)
class Fidelity:
    """How well labelers are predicted, per labeler."""

    auc: FloatArray  # (labelers,)
    brier: FloatArray  # (labelers,)
    within: FloatArray  # (labelers, groups): AUC among the items of one group


@dataclass(frozen=True)
class CohortSums:
    """Models of labelers added up over the labels of cohorts, (cohorts, gold items).

    What a cohort says about a gold item is the mean of its labelers' f, each as often as they gave
    a label in the item's group.
    """

    f: FloatArray
    by_fold: FloatArray  # (folds, cohorts, gold items): by the models of each fold
    n_labels: FloatArray

    @classmethod
    def of(
        cls, common: Common, bucket: Bucket, evidence: Evidence, by_fold: FloatArray
    ) -> CohortSums:
        """Return the sums over a bucket; `by_fold` is (folds, labelers, gold items)."""
        n_groups, group = common.n_groups, common.gold.group
        shape = common.n_cohorts, evidence.n_labelers, n_groups
        cell = (bucket.cohort.astype(np.int64) * shape[1] + evidence.place) * n_groups
        count = np.bincount(cell + bucket.group, minlength=int(np.prod(shape))).reshape(shape)
        if evidence.averaged:  # all have the same f
            total = count.sum(axis=1)[:, group].astype(float)
            return cls(total * evidence.f_gold, total * by_fold, total)
        weight = count[:, :, group].astype(float)  # (cohorts, labelers, gold items)
        return cls(
            np.einsum("ckj,kj->cj", weight, evidence.f_gold),
            np.stack([np.einsum("ckj,kj->cj", weight, each) for each in by_fold]),
            weight.sum(axis=1),
        )

    def __add__(self, other: CohortSums) -> CohortSums:
        """Return the sums over both."""
        return CohortSums(
            self.f + other.f, self.by_fold + other.by_fold, self.n_labels + other.n_labels
        )

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Return f and its spread on gold, (cohorts, gold items); NaN without labels.

        What models of single labelers get wrong averages out, as far as it differs between them:
        the spread is that of the mean, not the mean of theirs.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            by_fold = self.by_fold / self.n_labels
            return self.f / self.n_labels, by_fold.var(axis=0, ddof=1)

    def together(self) -> CohortSums:
        """Return all labels as one cohort."""
        return CohortSums(
            self.f.sum(axis=0)[None],
            self.by_fold.sum(axis=1)[:, None],
            self.n_labels.sum(axis=0)[None],
        )


@dataclass(frozen=True)
class Estimation:
    """The rates of all labelers by every estimator asked for, and what diagnostics need."""

    rates: dict[str, Rates]
    n_labels: IntArray  # (labelers, groups)
    n_positive: IntArray  # (labelers, groups): positive decisions
    g: FloatArray | None  # (label rows,): probability that yes is right
    gold_g: FloatArray | None  # (gold rows,), out of fold
    fidelity: Fidelity | None
    tpr: Rates | None  # by mdba_dr whatever was asked for: with fpr and g they turn a decision
    fpr: Rates | None  # into the probability that yes is right
    f: FloatArray | None  # (label rows,): probability of a yes, out of fold
    scores: FloatArray | None = None  # (label rows, scores): consensus, where crowds need it
    gold_scores: FloatArray | None = None  # (folds, gold rows, scores); NaN by models that saw it
    cohorts: CohortSums | None = None  # where models were fitted
    overall: Rates | None = None  # of all labels together
    by_cohort: Rates | None = None  # (cohorts, groups), where a cohort column is named
    hidden: Hidden | None = None  # what labelers know beyond the features
    fit: LackOfFit | None = None  # what the models leave in the data
    rate_by_c: FloatArray | None = None  # (labelers, groups, c), where several c were asked for

    def ordered(self, labelers: IntArray, rows: IntArray) -> Estimation:
        """Return the same of a bucket with labelers and rows in another order."""

        def taken(array: FloatArray | None, order: IntArray) -> FloatArray | None:
            return None if array is None else array[order]

        fidelity = self.fidelity
        if fidelity is not None:
            arrays = (fidelity.auc, fidelity.brier, fidelity.within)
            fidelity = Fidelity(*(array[labelers] for array in arrays))
        return replace(
            self,
            rates={name: each.take(labelers) for name, each in self.rates.items()},
            n_labels=self.n_labels[labelers],
            n_positive=self.n_positive[labelers],
            fidelity=fidelity,
            tpr=self.tpr.take(labelers) if self.tpr else None,
            fpr=self.fpr.take(labelers) if self.fpr else None,
            g=taken(self.g, rows),
            f=taken(self.f, rows),
            scores=taken(self.scores, rows),
            rate_by_c=taken(self.rate_by_c, labelers),
        )


def estimate_bucket(common: Common, bucket: Bucket) -> Estimation:
    """Return what the estimators make of the labelers of a bucket.

    People with few labels are described by the average labeler, the others by models of their own.
    """
    _, place, count = np.unique(bucket.labeler, return_inverse=True, return_counts=True)
    few = (count < OWN_MODEL_LABELS) & (common.average is not None)
    if few.all() or not few.any():
        return _estimated(common, bucket, averaged=bool(few.all()))
    parts, rows, labelers = [], [], []
    for averaged in (False, True):
        labelers.append(np.flatnonzero(few == averaged))
        rows.append(np.flatnonzero(few[place] == averaged))
        parts.append(_estimated(common, bucket.part(rows[-1]), averaged=averaged))
    return joined(parts).ordered(
        np.argsort(np.concatenate(labelers)), np.argsort(np.concatenate(rows))
    )


def _estimated(common: Common, bucket: Bucket, *, averaged: bool) -> Estimation:
    evidence, by_fold, scores = _evidence(common, bucket, averaged=averaged)
    asked = for_metric(evidence, common.metric)
    rates: dict[str, Rates] = {}
    for each in common.estimators:
        if each.infer:
            inferred = bucket.inferred[each.name]
            right = 1 - inferred if common.metric.turns_gold else inferred
            rates[each.name] = each.estimate(replace(asked, inferred=right)).small()
        else:
            rates[each.name] = each.estimate(asked).small()
    modelled = common.models is not None
    return Estimation(
        rates=rates,
        n_labels=evidence.n_labels.astype(np.int64),
        n_positive=evidence.cell_sum(evidence.decision).astype(np.int64),
        g=evidence.g if modelled else None,
        gold_g=evidence.gold.g if modelled else None,
        fidelity=fidelity_of(evidence) if modelled else None,
        tpr=mdba_dr.estimate(for_metric(evidence, METRICS["tpr"])).without_gold()
        if modelled
        else None,
        fpr=mdba_dr.estimate(for_metric(evidence, METRICS["fpr"])).without_gold()
        if modelled
        else None,
        f=evidence.f if modelled else None,
        cohorts=CohortSums.of(common, bucket, evidence, by_fold) if modelled else None,
        scores=scores if common.keeps_scores else None,
        rate_by_c=_rate_by_c(common.estimators, asked),
    )


def _evidence(
    common: Common, bucket: Bucket, *, averaged: bool
) -> tuple[Evidence, FloatArray, FloatArray | None]:
    """Return what estimators read, f on gold by fold, and the consensus scores of the rows.

    Without models there are no scores, and f is empty.
    """
    gold, models = common.gold, common.models
    codes, place = np.unique(bucket.labeler, return_inverse=True)
    unknown = np.full(len(place), np.nan)
    scores: FloatArray | None = None
    f = g = unknown
    gold_g = g_spread = np.full(len(gold.group), np.nan)
    f_gold: FloatArray = np.empty((len(codes), 0))
    spread, by_fold = f_gold, f_gold[None]
    if models:
        rows = bucket.rows()
        g, scores = _right(rows, models)
        if averaged and models.average:
            f = models.average(scores, rows.group, rows.fold)
            by_fold = models.average.on_gold(models.gold_scores, gold.group)[:, None]
            f_gold, spread = by_fold.mean(axis=0), by_fold.var(axis=0, ddof=1)
            # People differ from the average; their mean does not.
            spread = spread + models.average.between[gold.group] * (f_gold * (1 - f_gold)) ** 2
        else:
            known = bucket.known or fit_to_pool(rows, models.pool)
            items = Items(gold.group, gold.linear, gold.trees)
            own = fit_models(rows, items, models.gold_fold, models.pool, known)
            f, f_gold, by_fold = own.on_rows, own.on_gold, own.by_fold
            spread = by_fold.var(axis=0, ddof=1)
        gold_g = models.correctness.on_gold
        g_spread = models.correctness.spread
    evidence = Evidence(
        n_labelers=len(codes),
        n_groups=common.n_groups,
        place=place,
        group=bucket.group,
        decision=bucket.decision,
        item=bucket.item,
        f=f,
        g=g,
        gold=GoldEvidence(
            group=gold.group,
            correct=gold.correct,
            item=gold.item,
            weight=gold.weight,
            g=gold_g,
            g_spread=g_spread,
        ),
        f_gold=f_gold,
        f_spread=spread,
        direct=direct_pairs(bucket.item, gold.item) if models else None,
        averaged=averaged,
    )
    return evidence, by_fold, scores


def _right(rows: Rows, models: Models) -> tuple[FloatArray, FloatArray]:
    """Return g and the consensus scores of label rows, by models that never saw the row's item."""
    g, every = np.empty(len(rows)), np.empty((len(rows), models.gold_scores.shape[2]))
    for fold in range(N_FOLDS):
        here = np.flatnonzero(rows.fold == fold)
        if len(here):
            items = Items(rows.group[here], rows.linear[here], rows.trees[here])
            every[here] = models.pool.consensus(fold, items)
            described = Described(items.group, every[here], items.linear, items.trees)
            g[here] = models.correctness(fold, described)
    return g, every


def direct_pairs(item: IntArray, gold_item: IntArray) -> Direct | None:
    """Return the rows that are about gold items, paired with every gold row of that item."""
    order = np.argsort(gold_item, kind="stable")
    first = np.searchsorted(gold_item[order], item, side="left")
    count = np.searchsorted(gold_item[order], item, side="right") - first
    if not count.any():
        return None
    row = np.repeat(np.arange(len(item)), count)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return Direct(row, order[np.repeat(first, count) + offset])


def fidelity_of(evidence: Evidence) -> Fidelity:
    """Return how well each labeler's decisions are predicted."""
    brier = np.bincount(evidence.place, (evidence.decision - evidence.f) ** 2)
    cell = evidence.place * evidence.n_groups + evidence.group
    shape = evidence.n_labelers, evidence.n_groups
    return Fidelity(
        _auc_by(evidence.place, evidence, evidence.n_labelers),
        brier / np.bincount(evidence.place),
        _auc_by(cell, evidence, shape[0] * shape[1]).reshape(shape),
    )


def _auc_by(owner: IntArray, evidence: Evidence, n_owners: int) -> FloatArray:
    """Return how well f sorts decisions, for the rows of every owner."""
    count = np.bincount(owner, minlength=n_owners)
    positive = np.bincount(owner, evidence.decision, minlength=n_owners)
    order = np.lexsort((evidence.f, owner))
    starts = np.cumsum(count) - count
    place = np.arange(len(order)) - np.repeat(starts, count) + 1
    f, who = evidence.f[order], owner[order]
    tie = np.cumsum((np.diff(f, prepend=-1) != 0) | (np.diff(who, prepend=-1) != 0)) - 1
    rank = np.empty(len(order))  # equal scores share the mean of their ranks
    rank[order] = (np.bincount(tie, place) / np.bincount(tie))[tie]
    rank_sum = np.bincount(owner, rank * evidence.decision, minlength=n_owners)
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = positive * (count - positive)
        auc: FloatArray = (rank_sum - positive * (positive + 1) / 2) / pairs
    return auc


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
            np.concatenate([each.within for each in every]),
        )
        g = np.concatenate([part.g for part in parts if part.g is not None])
        tpr = Rates.joined([part.tpr for part in parts if part.tpr is not None])
        fpr = Rates.joined([part.fpr for part in parts if part.fpr is not None])
    f = [part.f for part in parts if part.f is not None]
    scores = [part.scores for part in parts if part.scores is not None]
    by_c = [part.rate_by_c for part in parts if part.rate_by_c is not None]
    return Estimation(
        rates=rates,
        n_labels=np.concatenate([part.n_labels for part in parts]),
        n_positive=np.concatenate([part.n_positive for part in parts]),
        g=g,
        gold_g=first.gold_g,
        fidelity=fidelity,
        tpr=tpr,
        fpr=fpr,
        f=np.concatenate(f) if f else None,
        cohorts=_added([part.cohorts for part in parts]),
        scores=np.concatenate(scores) if scores else None,
        rate_by_c=np.concatenate(by_c) if by_c else None,
    )


def _added(sums: Iterable[CohortSums | None]) -> CohortSums | None:
    total: CohortSums | None = None
    for each in sums:
        if each is not None:
            total = each if total is None else total + each
    return total
