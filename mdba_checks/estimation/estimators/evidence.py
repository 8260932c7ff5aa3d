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
    f_gold: FloatArray  # (labelers, gold)
    f_spread: FloatArray  # (labelers, gold)
    direct: Direct | None = None
    inferred: FloatArray | None = None  # (rows,): inferred right labels, for two baselines

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
class Rates:
    """An estimator's answer: a rate per (labeler, group) and where its uncertainty comes from.

    The variance of a rate is ``own_variance + model_variance + model_shift ** 2 +
    sum(gold_influence ** 2)`` over the gold items of its group. Gold is shared by all labelers, so
    its part is kept item by item; what a labeler's rows and gold have in common, because they
    decided on a gold item, is counted in `own_variance`. NaN means that nothing can be said.
    """

    rate: FloatArray  # (labelers, groups)
    own_variance: FloatArray  # (labelers, groups): from the labeler's own rows
    gold_influence: FloatArray  # (labelers, gold items), on the rate of the item's own group
    mass: FloatArray  # (labelers, groups): positives the labeler had to find; pools groups
    allowance: FloatArray  # (labelers, groups): size of a bias that model errors could leave
    model_variance: FloatArray  # (labelers, groups): what neither more labels nor gold reduce
    # (labelers, groups): standard error of what moves all groups of a labeler together
    model_shift: FloatArray | None = None
    parts: Parts | None = None  # of the doubly robust estimator alone
    path: Path | None = None  # of the doubly robust estimator alone

    @classmethod
    def joined(cls, each: Sequence[Rates]) -> Rates:
        """Return the rates of several buckets of labelers as one."""

        def together(name: str) -> FloatArray:
            array: FloatArray = np.concatenate([getattr(one, name) for one in each])
            return array

        parts = [one.parts for one in each if one.parts is not None]
        return cls(
            rate=together("rate"),
            own_variance=together("own_variance"),
            gold_influence=together("gold_influence"),
            mass=together("mass"),
            allowance=together("allowance"),
            model_variance=together("model_variance"),
            parts=Parts.joined(parts) if parts else None,
        )

    def small(self) -> Rates:
        """Return the same in less memory: influences, the largest of all, in single precision.

        They go into standard errors only, where seven digits are more than enough.
        """
        return replace(self, gold_influence=self.gold_influence.astype(np.float32))

    def without_gold(self) -> Rates:
        """Return the same without the influence of single gold items."""
        return replace(self, gold_influence=self.gold_influence[:, :0])

    def take(self, labelers: IntArray) -> Rates:
        """Return the rates of some labelers."""

        def taken(array: FloatArray | None) -> FloatArray | None:
            return None if array is None else array[labelers]

        return replace(
            self,
            **{name: getattr(self, name)[labelers] for name in PER_LABELER},
            parts=None if self.parts is None else self.parts.take(labelers),
            model_shift=taken(self.model_shift),
            path=None if self.path is None else self.path.take(labelers),
        )


# Arrays of `Rates` that every estimator fills.
PER_LABELER = ("rate", "own_variance", "gold_influence", "mass", "allowance", "model_variance")
