"""What every estimator reads, and what every estimator answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.config import Metric


@dataclass(frozen=True)
class GoldEvidence:
    """The gold items: group, right decision, and g, out of fold."""

    group: IntArray
    correct: IntArray
    item: IntArray
    weight: FloatArray
    g: FloatArray


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
    complexity: float = 0.0  # sqrt(columns / label rows), of all labelers together
    direct: Direct | None = None
    silver: FloatArray | None = None  # (rows,): inferred right labels, for two baselines

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
    turn_decisions, turn_gold = metric in ("tnr", "fnr"), metric in ("fpr", "tnr")
    if turn_decisions:
        evidence = replace(
            evidence,
            decision=1 - evidence.decision,
            f=1 - evidence.f,
            f_gold=1 - evidence.f_gold,
        )
    if turn_gold:
        gold = replace(evidence.gold, correct=1 - evidence.gold.correct, g=1 - evidence.gold.g)
        evidence = replace(evidence, g=1 - evidence.g, gold=gold)
    return evidence


@dataclass(frozen=True)
class Rates:
    """An estimator's answer: a rate per (labeler, group) and where its uncertainty comes from.

    The variance of a rate is ``own_variance + sum(gold_influence ** 2)`` over the gold items of its
    group. Gold is shared by all labelers, so its part is kept item by item; what a labeler's rows
    and gold have in common, because they decided on a gold item, is counted in `own_variance`. NaN
    means that nothing can be said.
    """

    rate: FloatArray  # (labelers, groups)
    own_variance: FloatArray  # (labelers, groups): from the labeler's own rows
    gold_influence: FloatArray  # (labelers, gold items), on the rate of the item's own group
    mass: FloatArray  # (labelers, groups): positives the labeler had to find; pools groups
    allowance: FloatArray  # (labelers, groups): size of a bias that model errors could leave
    model_error: float = 0.0  # standard error of a gap that remains however much data there is

    @classmethod
    def joined(cls, parts: Sequence[Rates]) -> Rates:
        """Return the rates of several buckets of labelers as one."""
        together = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in PER_LABELER
        }
        return cls(**together, model_error=parts[0].model_error)

    def small(self) -> Rates:
        """Return the same in less memory: influences, the largest of all, in single precision.

        They go into standard errors only, where seven digits are more than enough.
        """
        return replace(self, gold_influence=self.gold_influence.astype(np.float32))

    def take(self, labelers: IntArray) -> Rates:
        """Return the rates of some labelers."""
        return replace(self, **{name: getattr(self, name)[labelers] for name in PER_LABELER})


PER_LABELER = ("rate", "own_variance", "gold_influence", "mass", "allowance")  # arrays of `Rates`
