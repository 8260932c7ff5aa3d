"""What every estimator reads, and what every estimator answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from mdba_checks.metrics import Metric
from mdba_checks.tables import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class GoldEvidence:
    """The gold items: group, right decision, and g, out of fold."""

    group: IntArray
    correct: IntArray
    item: IntArray
    weight: FloatArray
    g: FloatArray
    g_spread: FloatArray  # variance of g over the parts of gold it was fitted to

    @property
    def share(self) -> FloatArray:
        """The weight of every item in the mean of its group."""
        total = np.bincount(self.group, self.weight)
        with np.errstate(invalid="ignore", divide="ignore"):
            share: FloatArray = self.weight / total[self.group]
        return share


@dataclass(frozen=True)
class Direct:
    """Decisions on gold items: the labeler's own answer beside the right one."""

    row: IntArray  # (pairs,): the row that holds the decision
    gold: IntArray  # (pairs,): the gold item it is about


@dataclass(frozen=True)
class Evidence:
    """The rows and models of a bucket of labelers; `place` counts labelers from zero."""

    n_labelers: int
    n_groups: int
    place: IntArray  # (rows,)
    group: IntArray  # (rows,)
    decision: IntArray  # (rows,)
    item: IntArray  # (rows,)
    f: FloatArray  # (rows,): f of the row's labeler, out of fold
    g: FloatArray  # (rows,)
    gold: GoldEvidence
    f_gold: FloatArray  # (labelers, gold); one row for all where `averaged`
    f_spread: FloatArray  # the same: how far off f may be, as a variance
    direct: Direct | None = None
    inferred: FloatArray | None = None  # (rows,): inferred right labels, for two baselines
    averaged: bool = False  # whether the average labeler describes all of them

    def on_gold(self, predicted: FloatArray) -> FloatArray:
        """Return predictions on gold, replaced by the decision itself where there is one.

        Somebody who judged an item more than once counts with their mean.
        """
        if self.direct is None:
            return predicted
        n_gold = len(self.gold.group)
        cell = self.place[self.direct.row] * n_gold + self.direct.gold
        cells, inverse = np.unique(cell, return_inverse=True)
        total = np.bincount(inverse, self.decision[self.direct.row])
        known = predicted.copy()
        known.flat[cells] = total / np.bincount(inverse)
        return known

    def cell_mean(self, values: FloatArray) -> FloatArray:
        """Return the mean of row values per (labeler, group), NaN where there are no rows."""
        total = self.cell_sum(values)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: FloatArray = total / self.n_labels
        return mean

    def cell_sum(self, values: FloatArray | IntArray) -> FloatArray:
        """Return the sum of row values per (labeler, group)."""
        cell = self.place * self.n_groups + self.group
        total = np.bincount(cell, values, minlength=self.n_labelers * self.n_groups)
        return total.reshape(self.n_labelers, self.n_groups).astype(float)

    @property
    def n_labels(self) -> FloatArray:
        """The number of rows per (labeler, group)."""
        return self.cell_sum(np.ones(len(self.place)))


def for_metric(evidence: Evidence, metric: Metric) -> Evidence:
    """Return evidence in which the true positive rate *is* the wanted rate.

    FPR is the TPR of the same decisions against 1 - Y; TNR turns both around, FNR the decisions.
    """
    if metric.turns_decisions:
        evidence = replace(
            evidence,
            decision=1 - evidence.decision,
            f=1 - evidence.f,
            f_gold=1 - evidence.f_gold,
        )
    if metric.turns_gold:
        gold = replace(evidence.gold, correct=1 - evidence.gold.correct, g=1 - evidence.gold.g)
        evidence = replace(evidence, g=1 - evidence.g, gold=gold)
    return evidence


@dataclass(frozen=True)
class Parts:
    """What doubly robust rates are made of; arrays are (labelers, groups)."""

    numerator: FloatArray
    denominator: FloatArray
    yes: FloatArray  # share of positive decisions
    open_share: FloatArray  # of the labels whose right answer is not known from gold
    # Decisions on gold items, with r the decision less f and e the right answer less g:
    n_direct: FloatArray
    direct_cross: FloatArray  # sum of r e
    direct_square: FloatArray  # sum of e squared
    direct_rest: FloatArray  # sum of r squared

    @classmethod
    def joined(cls, parts: Sequence[Parts]) -> Parts:
        """Return the parts of several buckets of labelers as one."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def take(self, labelers: IntArray) -> Parts:
        """Return the parts of some labelers."""
        return Parts(*(getattr(self, field.name)[labelers] for field in fields(self)))


@dataclass(frozen=True)
class Path:
    """Rates if labelers knew more and more beyond the features, (labelers, groups, steps).

    The steps are those of `hidden.STEPS`.
    """

    rate: FloatArray
    error: FloatArray  # standard error of how far the rate has moved
    possible: BoolArray  # False where the rate would have to be below 0 or above 1

    @classmethod
    def stacked(cls, groups: Sequence[Path]) -> Path:
        """Return the paths of single groups, (labelers, steps), as one."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.stack([getattr(one, name) for one in groups], axis=1) for name in names))

    def take(self, labelers: IntArray) -> Path:
        """Return the paths of some labelers."""
        return Path(self.rate[labelers], self.error[labelers], self.possible[labelers])


@dataclass(frozen=True)
class Averaged:
    """Influences of gold items on labelers who are described by the average labeler.

    All of them have the same f, so the influence of an item is a sum of a few `basis` vectors, with
    factors for every labeler and group: nothing is kept per labeler and item.
    """

    row: IntArray  # (labelers,): the row of influences of those with an f of their own, else -1
    factor: FloatArray  # (labelers, groups, vectors)
    basis: FloatArray  # (vectors, gold items)
    group: IntArray  # (gold items,)

    @classmethod
    def nobody(cls, n_labelers: int, like: Averaged) -> Averaged:
        """Return the same for labelers who all have an f of their own."""
        shape = n_labelers, *like.factor.shape[1:]
        return cls(np.arange(n_labelers), np.zeros(shape), like.basis, like.group)

    @classmethod
    def joined(cls, parts: Sequence[Averaged]) -> Averaged:
        """Return the influences of several buckets of labelers as one."""
        begin, rows = 0, []
        for part in parts:
            rows.append(np.where(part.row >= 0, part.row + begin, -1))
            begin += int((part.row >= 0).sum())
        factor = np.concatenate([part.factor for part in parts])
        return cls(np.concatenate(rows), factor, parts[0].basis, parts[0].group)

    def take(self, labelers: IntArray) -> tuple[Averaged, IntArray]:
        """Return some labelers, and the rows of influences that are theirs."""
        row = self.row[labelers]
        kept = row[row >= 0]
        row = np.where(row >= 0, np.cumsum(row >= 0) - 1, -1)
        return replace(self, row=row, factor=self.factor[labelers]), kept

    def on_gold(self, own: FloatArray) -> FloatArray:
        """Return the influence of every gold item on every labeler, (labelers, gold items)."""
        influence: FloatArray = np.zeros((len(self.row), len(self.group)))
        for vector, basis in enumerate(self.basis):
            influence += self.factor[:, self.group, vector] * basis
        has_own = self.row >= 0
        influence[has_own] = own[self.row[has_own]]
        return influence


@dataclass(frozen=True)
class Rates:
    """An estimator's answer: a rate per (labeler, group) and where its uncertainty comes from.

    The variance of a rate is ``own_variance + model_variance + model_shift ** 2 +
    sum(gold_influence ** 2)`` over the gold items of its group. Gold is shared by all labelers, so
    its part is kept item by item; what a labeler's rows and gold have in common, because they
    decided on a gold item, is counted in `own_variance`. NaN means that nothing can be said.
    """

    rate: FloatArray  # (labelers, groups)
    own_variance: FloatArray  # (labelers, groups): from the labeler's own rows
    # (labelers, gold items), on the rate of the item's own group; of those with an f of their own
    gold_influence: FloatArray
    mass: FloatArray  # (labelers, groups): positives the labeler had to find; pools groups
    allowance: FloatArray  # (labelers, groups): size of a bias that model errors could leave
    model_variance: FloatArray  # (labelers, groups): what neither more labels nor gold reduce
    # (labelers, groups): standard error of what moves all groups of a labeler together
    model_shift: FloatArray | None = None
    parts: Parts | None = None  # of the doubly robust estimator alone
    path: Path | None = None  # of the doubly robust estimator alone
    averaged: Averaged | None = None  # where the average labeler describes some of them

    @classmethod
    def joined(cls, each: Sequence[Rates]) -> Rates:
        """Return the rates of several buckets of labelers as one."""

        def together(name: str) -> FloatArray:
            array: FloatArray = np.concatenate([getattr(one, name) for one in each])
            return array

        parts = [one.parts for one in each if one.parts is not None]
        like = next((one.averaged for one in each if one.averaged is not None), None)
        averaged = None
        if like is not None:
            averaged = Averaged.joined(
                [one.averaged or Averaged.nobody(len(one.rate), like) for one in each]
            )
        return cls(
            rate=together("rate"),
            own_variance=together("own_variance"),
            gold_influence=together("gold_influence"),
            mass=together("mass"),
            allowance=together("allowance"),
            model_variance=together("model_variance"),
            parts=Parts.joined(parts) if parts else None,
            averaged=averaged,
        )

    def influence(self) -> FloatArray:
        """Return the influence of every gold item, (labelers, gold items)."""
        if self.averaged is None:
            return self.gold_influence
        return self.averaged.on_gold(self.gold_influence)

    def small(self) -> Rates:
        """Return the same in less memory: influences, the largest of all, in single precision.

        They go into standard errors only, where seven digits are more than enough.
        """
        return replace(self, gold_influence=self.gold_influence.astype(np.float32))

    def without_gold(self) -> Rates:
        """Return the same without the influence of single gold items."""
        return replace(self, gold_influence=np.empty((len(self.rate), 0)), averaged=None)

    def without_paths(self) -> Rates:
        """Return the same without what is needed to look at it under other assumptions."""
        return replace(self, parts=None, path=None)

    def take(self, labelers: IntArray) -> Rates:
        """Return the rates of some labelers."""

        def taken(array: FloatArray | None) -> FloatArray | None:
            return None if array is None else array[labelers]

        averaged, own = self.averaged, labelers
        if averaged is not None:
            averaged, own = averaged.take(labelers)
        return replace(
            self,
            **{name: getattr(self, name)[labelers] for name in PER_LABELER},
            gold_influence=self.gold_influence[own],
            averaged=averaged,
            parts=None if self.parts is None else self.parts.take(labelers),
            model_shift=taken(self.model_shift),
            path=None if self.path is None else self.path.take(labelers),
        )


# Arrays of `Rates` that every estimator fills.
PER_LABELER = ("rate", "own_variance", "mass", "allowance", "model_variance")
