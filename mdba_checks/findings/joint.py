"""All gaps at once: how far the worst of them may be off.

Labelers share the gold, so their errors go together. What chance does to all of them is drawn with
every gold item's influence, once for everybody. This takes time and memory, so nothing is drawn
until somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import norm

from mdba_checks.estimation import Averaged
from mdba_checks.tables import FloatArray, IntArray

_DRAWS = 1000
# Labelers at a time: times gold items and draws, this many are in memory at once.
AT_ONCE = 256


@dataclass(frozen=True)
class JointErrors:
    """What the errors of all gaps have in common, and what is each one's own.

    Attributes
    ----------
    gold_influence, averaged
        As in `Rates`: the influence of gold rows on labelers.
    sides
        Per contrast the weight of every group in the gap, (labelers, groups).
    gold_group, clusters
        The group of every gold row, and a sparse map from gold rows to gold items.
    own_variance, std_error
        As in `Gaps`, (labelers, contrasts).
    order
        In which order chance is drawn for labelers.
    seed
        Of the draws.
    """

    gold_influence: FloatArray
    averaged: Averaged | None
    sides: tuple[FloatArray, ...]
    gold_group: IntArray
    clusters: Any
    own_variance: FloatArray
    std_error: FloatArray
    order: IntArray
    seed: int

    def quantile(self, confidence: float) -> float:
        """Return how many standard errors hold all gaps at once, with so much confidence."""
        # Drawn, so for a single gap it may fall a little short of what that gap needs alone.
        drawn = float(np.quantile(self._largest, confidence))
        return max(drawn, float(norm.ppf((1 + confidence) / 2)))

    @cached_property
    def _largest(self) -> FloatArray:
        """The largest standardised error over all gaps, one per draw."""
        shape = (self.clusters.shape[1], _DRAWS)
        of_gold = np.random.default_rng([self.seed, 1]).standard_normal(shape)
        of_own = np.random.default_rng([self.seed, 2])
        largest = np.zeros(_DRAWS)
        for contrast, sides in enumerate(self.sides):
            for some in self._some_labelers():
                error = self.std_error[some, contrast]
                usable = some[np.isfinite(error) & (error > 0)]
                own = np.sqrt(self.own_variance[usable, contrast])[:, None]
                influence = on_gap(
                    self._influence(usable), sides[usable], self.gold_group, self.clusters
                )
                noise = of_own.standard_normal((len(usable), _DRAWS))
                total = influence @ of_gold + own * noise
                total /= self.std_error[usable, contrast][:, None]
                largest = np.maximum(largest, np.abs(total).max(axis=0, initial=0.0))
        return largest

    def _influence(self, labelers: IntArray) -> FloatArray:
        if self.averaged is None:
            return self.gold_influence[labelers]
        averaged, own = self.averaged.take(labelers)
        return averaged.on_gold(self.gold_influence[own])

    def _some_labelers(self) -> Iterator[IntArray]:
        for begin in range(0, len(self.order), AT_ONCE):
            yield self.order[begin : begin + AT_ONCE]


def on_gap(
    gold_influence: FloatArray, sides: FloatArray, gold_group: IntArray, clusters: Any
) -> FloatArray:
    """Return the influence of every gold item on a gap, (labelers, gold items)."""
    side_of_gold = sides[:, gold_group]
    # A group without labels has no influence, and with weight zero none is asked for.
    by_row = np.where(side_of_gold == 0, 0.0, gold_influence * side_of_gold)
    influence: FloatArray = by_row @ clusters
    return influence
