"""What is known about the gap of every labeler: estimate, interval, and two kinds of evidence.

The posterior of a gap is a mixture of normals, one per kind of people. Its intervals hold on
average over the crowd. Somebody unlike most people is found in the tail of their posterior, so
intervals are widened for everybody until they also hold, by the crowd's own prior, for people of
the unusual kinds nearly as often as for all.

The prior must not create an accusation: `own`, the estimate by a vague prior, is what a labeler's
own decisions say. Somebody is biased when both lie beyond the limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from mdba_checks.tables import BoolArray, FloatArray, IntArray

# Intervals may miss people of the unusual kinds this many times as often as they miss anybody.
_MISSES = 1.8
_TAILS = np.linspace(1.0, 0.2, 17)  # of the nominal tail, tried in turn
_HALVINGS = 30  # of at most 16 standard errors and the distance between kinds


@dataclass(frozen=True)
class CrowdGaps:
    """Gaps of all labelers under one contrast; kind 0 are people who treat both sides alike."""

    weight: FloatArray  # (labelers, kinds): probability of each kind
    mean: FloatArray  # (labelers, kinds): of the gap
    variance: FloatArray  # (labelers, kinds): from not knowing how the labeler decides
    gold_variance: FloatArray  # (labelers, kinds): from having these gold items
    rate: FloatArray  # (labelers,): in the group
    rate_error: FloatArray  # (labelers,): its standard error
    rate_reference: FloatArray  # (labelers,)
    own: FloatArray  # (labelers,): the gap by the labeler's own decisions alone
    own_variance: FloatArray  # (labelers,)
    n_labels: IntArray  # (labelers, sides)
    # Of what `CrowdUncertainty` lists: from not knowing what people are like in general.
    prior_covariance: FloatArray
    prior_step: FloatArray  # how far they would move if that were learned by the labels alone
    shared_variance: float  # of the mean gap, from what all labelers share: gold and model error
    model_error: float
    offset: float = 0.0  # what was added to all gaps

    def moved(self, by: float) -> CrowdGaps:
        """Return the same with something added to all gaps."""
        return replace(self, mean=self.mean + by, own=self.own + by, offset=self.offset + by)

    @property
    def estimate(self) -> FloatArray:
        """The expected gap of every labeler."""
        estimate: FloatArray = (self.weight * self.mean).sum(axis=1)
        return estimate

    @property
    def std_error(self) -> FloatArray:
        """The standard deviation of what is known about every gap."""
        away = self.mean - self.estimate[:, None]
        error: FloatArray = np.sqrt((self.weight * (self._spread**2 + away**2)).sum(axis=1))
        return error

    @property
    def own_error(self) -> FloatArray:
        """The standard error of `own`."""
        error: FloatArray = np.sqrt(self.own_variance + self.model_error**2)
        return error

    @cached_property
    def _spread(self) -> FloatArray:
        spread: FloatArray = np.sqrt(self.variance + self.gold_variance + self.model_error**2)
        return spread

    def below(self, value: FloatArray | float) -> FloatArray:
        """Return the probability that each gap is below a value, one for all or one for each."""
        at = np.broadcast_to(np.asarray(value, dtype=float), len(self.mean))[:, None]
        chance: FloatArray = (self.weight * ndtr((at - self.mean) / self._spread)).sum(axis=1)
        return chance

    def interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper ends."""
        nominal = (1 - confidence) / 2
        enough = 1 - _MISSES * (1 - confidence)
        unusual = self.weight[:, 1:].sum()
        ends = [self._between(nominal)]
        if unusual > 0 and self._unusual_within(*ends[0]) < enough * unusual:
            # The first tail that is small enough, by halving what is left of them.
            least, most = 1, len(_TAILS) - 1
            while True:
                middle = (least + most) // 2
                ends.append(self._between(_TAILS[middle] * nominal))
                if least == most:
                    break
                if self._unusual_within(*ends[-1]) >= enough * unusual:
                    most = middle
                else:
                    least = middle + 1
        low, high = ends[-1]
        return np.clip(low, -1, 1), np.clip(high, -1, 1)

    def p_value(self, max_gap: float) -> FloatArray:
        """Return p-values for a gap of at most `max_gap`, by own decisions alone."""
        size, error = np.abs(self.own), self.own_error
        p: FloatArray = ndtr((max_gap - size) / error) + ndtr(-(size + max_gap) / error)
        return np.minimum(p, 1.0)

    def p_beyond(self, max_gap: float) -> FloatArray:
        """Return the probability that a gap is beyond `max_gap` in size."""
        return self.below(-max_gap) + 1 - self.below(max_gap)

    def stands_out(self, max_gap: float, confidence: float) -> BoolArray:
        """Return whose own decisions speak against being like the others, and beyond the limit.

        Nobody of whom that is true is called fair, whatever the crowd suggests.
        """
        unlike = np.abs(self.own - self.estimate.mean()) / self.own_error
        z = norm.ppf((1 + confidence) / 2)
        out: BoolArray = (np.abs(self.own) > max_gap) & (unlike > z)
        return out

    def _between(self, tail: float) -> tuple[FloatArray, FloatArray]:
        return self._quantile(tail), self._quantile(1 - tail)

    def _quantile(self, level: float) -> FloatArray:
        spread = self._spread
        low = (self.mean - 8 * spread).min(axis=1)
        high = (self.mean + 8 * spread).max(axis=1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            less = self.below(middle) < level
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        quantile: FloatArray = (low + high) / 2
        return quantile

    def _unusual_within(self, low: FloatArray, high: FloatArray) -> float:
        mean, spread = self.mean[:, 1:], self._spread[:, 1:]
        chance = ndtr((high[:, None] - mean) / spread) - ndtr((low[:, None] - mean) / spread)
        return float((self.weight[:, 1:] * chance).sum())
