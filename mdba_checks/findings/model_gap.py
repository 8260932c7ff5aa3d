"""The gap of a model on gold: what it does to groups, measured where the right answer is known.

A model's answers on gold items are counted, nothing is estimated. The interval of a rate is
Wilson's, that of a difference Newcombe's hybrid of the two: both hold for few items and for rates
near 0 and 1. Weights, and items that belong together, make the number of items smaller than their
count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from mdba_checks.config import CheckConfig, Policy
from mdba_checks.findings.inference import contrasts
from mdba_checks.findings.judge import BIASED, BORDERLINE, FAIR, INCONCLUSIVE
from mdba_checks.metrics import EVERYONE_ELSE, METRICS
from mdba_checks.tables import BoolArray, Data, FloatArray, IntArray


@dataclass(frozen=True)
class ModelGap:
    """A model's rate in a group less that in the reference, and what the policy makes of it."""

    group: str
    reference: str
    gap: float
    ci_low: float
    ci_high: float
    n_gold: int
    finding: str


def model_gaps(said_yes: BoolArray, data: Data, config: CheckConfig) -> list[ModelGap]:
    """Return the gap of a model in every group, by its answers on the gold items.

    Parameters
    ----------
    said_yes
        Per gold item of `data`: whether the model says yes.
    data
        The tables of the check.
    config
        Of the check: which rate, how large a gap is tolerated, and how sure to be.
    """
    rate, policy = METRICS[config.metric], config.policy
    counted = ~said_yes if rate.turns_decisions else said_yes
    asked = data.gold.correct == rate.right_code
    group = data.gold.group
    sizes = np.bincount(group, minlength=len(data.groups))
    named = None if data.reference is None else data.groups.index(data.reference)
    found = []
    for contrast in contrasts(len(data.groups), named, sizes):
        here = group == contrast.group
        there = ~here if contrast.reference is None else group == contrast.reference
        parts = [
            _Rate.of(counted, data.gold.weight, data.gold.cluster, asked & rows)
            for rows in (here, there)
        ]
        gap = parts[0].share - parts[1].share
        low, high = _difference(parts[0], parts[1], config.confidence)
        n_gold = int((asked & here).sum())
        enough = min(part.items for part in parts) >= policy.min_gold_positives
        reference = EVERYONE_ELSE if contrast.reference is None else data.groups[contrast.reference]
        finding = _finding(low, high, policy) if enough else INCONCLUSIVE
        found.append(
            ModelGap(
                group=data.groups[contrast.group],
                reference=reference,
                gap=gap,
                ci_low=low,
                ci_high=high,
                n_gold=n_gold,
                finding=finding,
            )
        )
    return found


@dataclass(frozen=True)
class _Rate:
    share: float
    items: float  # how many independent items of equal weight it is worth

    @classmethod
    def of(
        cls, counted: BoolArray, weight: FloatArray, cluster: IntArray, rows: BoolArray
    ) -> _Rate:
        weights = weight[rows]
        total = float(weights.sum())
        if not total:
            return cls(math.nan, 0.0)
        _, member = np.unique(cluster[rows], return_inverse=True)
        together = np.bincount(member, weights)
        items = total**2 / float((together**2).sum())
        return cls(float(weights[counted[rows]].sum()) / total, items)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return Wilson's interval."""
        if not self.items:
            return math.nan, math.nan
        z = float(norm.ppf((1 + confidence) / 2))
        shrink = 1 + z**2 / self.items
        middle = (self.share + z**2 / (2 * self.items)) / shrink
        spread = self.share * (1 - self.share) / self.items + z**2 / (4 * self.items**2)
        half = z * math.sqrt(spread) / shrink
        return middle - half, middle + half


def _difference(one: _Rate, other: _Rate, confidence: float) -> tuple[float, float]:
    """Return Newcombe's interval for the difference of two rates."""
    gap = one.share - other.share
    low, high = one.interval(confidence)
    other_low, other_high = other.interval(confidence)
    return (
        gap - math.hypot(one.share - low, other_high - other.share),
        gap + math.hypot(high - one.share, other.share - other_low),
    )


def _finding(low: float, high: float, policy: Policy) -> str:
    limit, margin = policy.max_gap, policy.resolved().margin or 0.0
    if low > limit or high < -limit:
        return BIASED
    if -limit <= low and high <= limit:
        return FAIR
    if -limit - margin <= low and high <= limit + margin:
        return BORDERLINE
    return INCONCLUSIVE
