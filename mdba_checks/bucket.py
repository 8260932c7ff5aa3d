"""The unit of work: a bucket of labelers in, what estimators make of them out.

A bucket holds the rows of whole labelers and everything about them that is already known; `Common`
holds what all buckets read. Both are plain data, so that a bucket can be worked on in a thread, in
another process or on another machine; what comes back are statistics, never rows of features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.config import Metric
from mdba_checks.correctness import Correctness
from mdba_checks.estimators import (
    Direct,
    Estimator,
    Evidence,
    GoldEvidence,
    Rates,
    for_metric,
    mdba_dr,
)
from mdba_checks.labelers import N_FOLDS, Items, Known, Pool, Rows, fit_models, know
from mdba_checks.tables import GoldRows
from mdba_checks.tables.matrix import Matrix


@dataclass(frozen=True)
class Models:
    """What is fitted once and read by every bucket."""

    pool: Pool
    gold_fold: IntArray  # (gold rows,): the fold of items that were labeled too, else -1
    correctness: Correctness


@dataclass(frozen=True)
class Common:
    """What every bucket reads."""

    gold: GoldRows
    n_groups: int
    estimators: tuple[Estimator, ...]
    metric: Metric
    complexity: float
    models: Models | None  # None where no estimator needs them


@dataclass(frozen=True)
class Bucket:
    """The rows of some labelers; features are encoded when they are needed."""

    labeler: IntArray
    group: IntArray
    decision: IntArray
    item: IntArray
    fold: IntArray
    linear: Matrix
    trees: Matrix
    known: Known | None  # what fitting the pool found out about these labelers
    silver: Mapping[str, FloatArray]  # right labels as the baselines infer them

    def rows(self) -> Rows:
        """Return the rows with their features as arrays."""
        return Rows(
            self.labeler, self.group, self.decision, self.fold, self.linear[:], self.trees[:]
        )


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


def estimate_bucket(common: Common, bucket: Bucket) -> Estimation:
    """Return what the estimators make of the labelers of a bucket."""
    evidence = _evidence(common, bucket)
    asked = for_metric(evidence, common.metric)
    rates: dict[str, Rates] = {}
    for each in common.estimators:
        if each.infer:
            inferred = bucket.silver[each.name]
            right = inferred if common.metric in ("tpr", "fnr") else 1 - inferred
            rates[each.name] = each.estimate(replace(asked, silver=right)).small()
        else:
            rates[each.name] = each.estimate(asked).small()
    modelled = common.models is not None
    return Estimation(
        rates,
        evidence.n_labels.astype(np.int64),
        evidence.cell_sum(evidence.decision).astype(np.int64),
        evidence.g if modelled else None,
        evidence.gold.g if modelled else None,
        _fidelity(evidence) if modelled else None,
        mdba_dr.estimate(for_metric(evidence, "tpr")).rate if modelled else None,
        mdba_dr.estimate(for_metric(evidence, "fpr")).rate if modelled else None,
        _rate_by_c(common.estimators, asked),
    )


def _evidence(common: Common, bucket: Bucket) -> Evidence:
    gold, models = common.gold, common.models
    codes, place = np.unique(bucket.labeler, return_inverse=True)
    unknown = np.full(len(place), np.nan)
    f = g = unknown
    gold_g = np.full(len(gold.group), np.nan)
    f_gold: FloatArray = np.empty((len(codes), 0))
    spread: FloatArray = f_gold
    if models:
        rows = bucket.rows()
        known = bucket.known or know(rows, models.pool)
        items = Items(gold.group, gold.linear, gold.trees)
        own = fit_models(rows, items, models.gold_fold, models.pool, known)
        f, f_gold, spread = own.on_rows, own.on_gold, own.spread
        g, gold_g = _right(rows, models), models.correctness.on_gold
    return Evidence(
        n_labelers=len(codes),
        n_groups=common.n_groups,
        place=place,
        group=bucket.group,
        decision=bucket.decision,
        item=bucket.item,
        f=f,
        g=g,
        gold=GoldEvidence(gold.group, gold.correct, gold.item, gold.weight, gold_g),
        f_gold=f_gold,
        f_spread=spread,
        complexity=common.complexity,
        direct=_direct(bucket.item, gold.item) if models else None,
    )


def _right(rows: Rows, models: Models) -> FloatArray:
    """Return g of label rows; the scores come from models that never saw the row's item."""
    g = np.empty(len(rows))
    for fold in range(N_FOLDS):
        here = np.flatnonzero(rows.fold == fold)
        if len(here):
            items = Items(rows.group[here], rows.linear[here], rows.trees[here])
            g[here] = models.correctness(models.pool.consensus(fold, items), items.group)
    return g


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
