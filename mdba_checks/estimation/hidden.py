"""What labelers know beyond the features, and what it does to their rates.

The doubly robust rate takes decisions and right answers to be independent given the features.
Labelers who see more than the table holds (a photo, a tone, a second page) are right more often
than that: the rate misses ``E[(Y - g)(Y' - f)]``, most in the group that the table describes worse.

`theta` measures it. At 0 labelers know nothing beyond the features; at 1 they tell right from wrong
among items with equal features as well as among all items. With numerator A and denominator p of
the rate, s the share of yes and v the mean of ``(Y - g) ** 2``, all in one group::

    rate(theta) = (A - kappa s) / (p - kappa),   kappa = theta v / (1 - p)

Where labelers decided on gold items, the missing term is seen directly: how much more often they
say yes where yes is right, at equal features (`slope`, per labeler, pulled towards that of all).
Where items were judged by several labelers, they bound it: hidden knowledge of the right answer
makes them agree beyond the features. Where there is neither, theta is 0, and the rate at 1 says
what the answer would be at worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from mdba_checks.estimation.estimators import Evidence, GoldEvidence, Parts, Path, Rates, with_slope
from mdba_checks.tables import BoolArray, FloatArray, IntArray

Source = Literal["direct", "pairs", "unknown"]

STEPS: FloatArray = np.linspace(0.0, 1.0, 11)
# Labelers also agree because they err alike, so what pairs show is a bound on the slope. Below it
# every value is possible, and the larger the likelier: with a density proportional to the square of
# the slope the mean is 3/4 of the bound, the mean square 3/5 of its square, and the standard
# deviation 0.19 of it. Why labelers agree is mostly the same in all groups.
_OF_BOUND, _SQUARE_OF_BOUND, _OF_BOUND_ALIKE, _OF_BOUND_APART = 0.75, 0.6, 0.17, 0.09
_LEAST_PAIRS = 50
_LEAST_DIRECT = 20
# Direct evidence is used where it fixes rates this well; else it would add more noise than it helps
_USEFUL_ERROR = 0.05
_AT_ONCE = 256  # labelers × gold items in memory
_CHANCE = 1.64  # standard errors: as far as a 90% interval reaches


@dataclass(frozen=True)
class Agreement:
    """How far labelers agree on items beyond what the features explain; arrays are (groups,)."""

    covariance: FloatArray  # of what is left of two labelers' decisions on one item
    error: FloatArray
    n_pairs: FloatArray
    variance: FloatArray  # of what is left of single decisions


@dataclass(frozen=True)
class Hidden:
    """What is known about theta, per group."""

    source: tuple[Source, ...]
    theta: FloatArray
    error: FloatArray
    n_direct: FloatArray
    n_pairs: FloatArray
    agreement: FloatArray  # residual correlation between labelers; NaN without pairs
    left_open: FloatArray  # share of the variance of right answers that g does not explain
    left_open_error: FloatArray

    @property
    def measured(self) -> BoolArray:
        """The groups in which theta was estimated."""
        return np.array([each != "unknown" for each in self.source], dtype=bool)


def measure_agreement(
    labeler: IntArray, item: IntArray, group: IntArray, rest: FloatArray, n_groups: int
) -> Agreement | None:
    """Return how far `rest`, decisions less f, agrees between labelers; None without pairs.

    Examples
    --------
    >>> rest = np.array([0.5, 0.5, -0.5, -0.5])
    >>> found = measure_agreement(
    ...     np.array([0, 1, 0, 1]), np.array([7, 7, 8, 8]), np.zeros(4, int), rest, 1
    ... )
    >>> found.covariance, found.n_pairs
    (array([0.25]), array([2.]))
    """
    order = np.lexsort((labeler, item))
    item, labeler, group, rest = item[order], labeler[order], group[order], rest[order]
    # Somebody who judged an item twice does not agree with somebody else.
    own = np.append(True, (np.diff(item) != 0) | (np.diff(labeler) != 0))
    item, group, rest = item[own], group[own], rest[own].astype(float)
    first = np.flatnonzero(np.append(True, (np.diff(item) != 0) | (np.diff(group) != 0)))
    count = np.diff(np.append(first, len(item))).astype(float)
    if not (count > 1).any():
        return None
    total, square = np.add.reduceat(rest, first), np.add.reduceat(rest**2, first)
    products, pairs, of_item = total**2 - square, count * (count - 1), group[first]
    n_pairs = np.bincount(of_item, pairs, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = np.bincount(of_item, products, minlength=n_groups) / n_pairs
        off = (products - covariance[of_item] * pairs) ** 2
        error = np.sqrt(np.bincount(of_item, np.nan_to_num(off), minlength=n_groups)) / n_pairs
        variance = np.bincount(group, rest**2, minlength=n_groups) / np.bincount(
            group, minlength=n_groups
        )
    return Agreement(covariance, error, n_pairs / 2, variance)


def account_for_hidden(
    rates: Rates, evidence: Evidence, agreement: Agreement | None
) -> tuple[Rates, Hidden]:
    """Return the rates with what is known about hidden information, and that knowledge.

    `evidence` holds the rows of all labelers, in the direction of the metric.
    """
    parts = rates.parts
    if parts is None:
        msg = "rates without parts are not doubly robust"
        raise ValueError(msg)
    gold, n_groups = evidence.gold, evidence.n_groups
    groups = [_Group(rates, parts, code, gold) for code in range(n_groups)]
    pairs = _squares(agreement, [each.brier for each in groups])
    found = [each.account(pairs.get(code)) for code, each in enumerate(groups)]
    slope = np.stack([each.slope for each in found], axis=1)
    models_open = np.array([each.models_open for each in found])
    variance = np.stack([each.variance for each in found], axis=1)
    path = Path.stacked([each.path for each in found])
    corrected = with_slope(rates, parts, evidence, slope) if slope.any() else rates
    # The path starts where the estimate is, which uses more than the sums it was made of.
    offset = np.nan_to_num(corrected.rate - path.rate[..., 0])
    corrected = replace(
        corrected,
        model_variance=models_open * rates.model_variance + variance,
        model_shift=np.stack([each.shift for each in found], axis=1),
        path=replace(path, rate=np.clip(path.rate + offset[..., None], 0.0, 1.0)),
    )
    none = np.zeros(n_groups)
    left_open, left_open_error = _left_open(gold, n_groups)
    hidden = Hidden(
        source=tuple(each.source for each in found),
        theta=np.array([each.theta for each in found]),
        error=np.array([each.error for each in found]),
        n_direct=parts.n_direct.sum(axis=0),
        n_pairs=agreement.n_pairs if agreement else none,
        agreement=agreement.covariance / agreement.variance if agreement else none + np.nan,
        left_open=left_open,
        left_open_error=left_open_error,
    )
    return corrected, hidden


def _left_open(gold: GoldEvidence, n_groups: int) -> tuple[FloatArray, FloatArray]:
    """Return which share of the variance of right answers g leaves, and its standard error."""
    share, error = gold.share, (gold.correct - gold.g) ** 2
    right = np.bincount(gold.group, share * gold.correct, minlength=n_groups)
    variance = np.maximum(right * (1 - right), 1e-9)
    left = np.bincount(gold.group, share * error, minlength=n_groups) / variance
    # Both the errors and the variance they are compared with are means over gold.
    bend = (gold.correct - right[gold.group]) * (1 - 2 * right[gold.group])
    off = (error - left[gold.group] * (variance[gold.group] + bend)) / variance[gold.group]
    spread = np.sqrt(np.bincount(gold.group, (share * off) ** 2, minlength=n_groups))
    return left, spread


class PairsShow(NamedTuple):
    """What pairs show in one group: the square of the slope at which they would agree so much."""

    square: float
    error: float
    alike: float  # share of the variance that all groups have in common


def _squares(agreement: Agreement | None, brier: Sequence[float]) -> dict[int, PairsShow]:
    """Return what pairs show, by group.

    A slope makes pairs agree by its square times the Brier score of g. Why labelers agree is mostly
    the same in all groups: as far as chance explains why groups differ, they share one square.
    """
    if agreement is None:
        return {}
    scale = np.array(brier)
    known = np.flatnonzero((agreement.n_pairs >= _LEAST_PAIRS) & (scale > 0))
    square = agreement.covariance[known] / scale[known]
    variance = np.maximum(agreement.error[known] / scale[known], 1e-9) ** 2
    total = (1 / variance).sum()
    mean = float((square / variance).sum() / total) if len(known) else 0.0
    near = variance / (variance + _between(square, 1 / variance, mean, 1.0))
    own, alike = (1 - near) * variance, near**2 / total
    error = np.sqrt(own + alike)
    square = square + near * (mean - square)
    return {
        int(code): PairsShow(*map(float, each))
        for code, each in zip(known, zip(square, error, alike / error**2, strict=True), strict=True)
    }


class SlopeBound(NamedTuple):
    """How large slopes can be by what pairs show."""

    mean: float
    deviation: float
    nothing: float  # the probability that it is zero


def slope_bound(square: float, error: float, largest: float) -> SlopeBound:
    """Return what the square of a slope, with its standard error, shows about the slope.

    Pairs never disagree by what labelers know. Before any evidence it is as likely that they know
    nothing beyond the features as that they know something, and then every slope up to `largest` is
    as likely as any other. Near zero a small error of the square is a large one of its root.

    Examples
    --------
    >>> found = slope_bound(0.25, 0.006, 0.8)
    >>> round(found.mean, 2), round(found.deviation, 3), round(found.nothing, 2)
    (0.5, 0.006, 0.0)
    >>> found = slope_bound(0.0, 0.006, 0.8)  # no sign of it
    >>> round(found.mean, 3), round(found.deviation, 3), round(found.nothing, 2)
    (0.004, 0.016, 0.91)
    """
    if not (error > 0 and largest > 0):
        bound = min(float(np.sqrt(max(square, 0.0))), max(largest, 0.0))
        return SlopeBound(bound, 0.0, float(bound == 0))
    bounds = np.linspace(0.0, largest, 4001)
    log = -0.5 * ((bounds**2 - square) / error) ** 2
    weight = np.exp(log - log.max()) / len(bounds)
    weight[0] += np.exp(log[0] - log.max())
    weight /= weight.sum()
    mean = float(weight @ bounds)
    deviation = float(np.sqrt(weight @ (bounds - mean) ** 2))
    return SlopeBound(mean, deviation, float(weight[0]))


def _between(each: FloatArray, precision: FloatArray, mean: float, noise: float) -> float:
    """Return the variance between estimates whose own is noise / precision (DerSimonian, Laird)."""
    spread = float((precision * (each - mean) ** 2).sum())
    expected = noise * max(int((precision > 0).sum()) - 1, 0)
    scale = precision.sum() - (precision**2).sum() / max(precision.sum(), 1e-300)
    return max(spread - expected, 0.0) / scale if scale > 0 else 0.0


def _from_gold(rates: Rates, here: BoolArray) -> FloatArray:
    """Return the variance of rates that comes from some of the gold items, (labelers,)."""
    n, found = len(rates.rate), []
    for begin in range(0, n, _AT_ONCE):
        some = rates if n <= _AT_ONCE else rates.take(np.arange(begin, min(begin + _AT_ONCE, n)))
        influence = some.influence()
        if not influence.shape[1]:
            return np.zeros(n)
        found.append((influence[:, here].astype(float) ** 2).sum(axis=1))
    return np.concatenate(found)


@dataclass(frozen=True)
class _Found:
    """The answer for one group; arrays are (labelers,)."""

    source: Source
    theta: float
    error: float
    slope: FloatArray  # by how much yes is likelier where yes is right, at equal features
    variance: FloatArray
    # What both models miss makes labelers agree, and decisions and right answers: it is part of
    # what was measured, and open as far as nothing was.
    models_open: float
    shift: FloatArray  # standard error of what moves all groups together
    path: Path  # (labelers, steps)


class _Group:
    """The labelers' rates in one group, for any theta."""

    def __init__(self, rates: Rates, parts: Parts, code: int, gold: GoldEvidence) -> None:
        here = gold.group == code
        error = (gold.correct[here] - gold.g[here]) ** 2
        share = gold.share[here]
        self.brier = float(share @ error)
        self.brier_error = float(np.sqrt((share**2) @ (error - self.brier) ** 2))
        from_gold = _from_gold(rates, here)
        self.rate_error = np.sqrt(np.nan_to_num(rates.own_variance[:, code]) + from_gold)
        self.top, self.bottom = parts.numerator[:, code], parts.denominator[:, code]
        with np.errstate(invalid="ignore", divide="ignore"):
            self.seen = np.isfinite(self.top / self.bottom) & (self.bottom > 0)
        self.yes, self.open = parts.yes[:, code], parts.open_share[:, code]
        self.n_direct, self.cross = parts.n_direct[:, code], parts.direct_cross[:, code]
        self.square, self.rest = parts.direct_square[:, code], parts.direct_rest[:, code]

    def rate(self, theta: float) -> FloatArray:
        return np.clip(self._rate(theta, self.top, self.brier), 0.0, 1.0)

    def _kappa(self, theta: float, brier: float) -> FloatArray:
        kappa = theta * self.open * brier / np.maximum(1 - self.bottom, 1e-9)
        # Where features tell nothing about right answers, rates could be anything at theta = 1.
        bounded: FloatArray = np.minimum(kappa, 0.9 * self.bottom)
        return bounded

    def _rate(self, theta: float, top: FloatArray, brier: float) -> FloatArray:
        kappa = self._kappa(theta, brier)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate: FloatArray = (top - kappa * self.yes) / (self.bottom - kappa)
        return rate

    def _moved_error(self, theta: float) -> FloatArray:
        """Return the standard error of how far rates move from 0 to theta."""
        by_brier = [
            np.clip(self._rate(theta, self.top, max(self.brier + side, 0.0)), 0.0, 1.0)
            for side in (-self.brier_error, self.brier_error)
        ]
        by_rate = [
            np.clip(self._rate(theta, top, self.brier), 0.0, 1.0) - top / self.bottom
            for side in (-1, 1)
            for top in [self.top + side * self.rate_error * self.bottom]
        ]
        error: FloatArray = np.hypot(by_brier[1] - by_brier[0], by_rate[1] - by_rate[0]) / 2
        return np.nan_to_num(error)

    def _possible(self, theta: float) -> BoolArray:
        """Return for whom theta does not imply a rate beyond 0 or 1, up to chance."""
        reach = _CHANCE * self.rate_error * self.bottom
        with np.errstate(invalid="ignore"):
            possible: BoolArray = (self._rate(theta, self.top - reach, self.brier) <= 1) & (
                self._rate(theta, self.top + reach, self.brier) >= 0
            )
        return possible

    def slope(self, theta: float) -> FloatArray:
        """Return by how much yes is likelier where it is right, at equal features."""
        slope = theta * (self.rate(theta) - self.yes) / np.maximum(1 - self.bottom, 1e-9)
        return np.nan_to_num(slope)

    def account(self, pairs: PairsShow | None) -> _Found:
        direct = self._from_direct()
        if direct is not None:
            return direct
        if pairs is not None:
            return self._from_pairs(pairs)
        nothing = np.zeros_like(self.top)
        return _Found(
            source="unknown",
            theta=0.0,
            error=np.nan,
            slope=nothing,
            variance=nothing,
            models_open=1.0,
            shift=nothing,
            path=self.path(0.0),
        )

    def path(self, start: float) -> Path:
        """Return the rates for every step, constant up to where theta is estimated to be."""
        steps = [max(step, start) for step in STEPS]
        return Path(
            np.stack([self.rate(step) for step in steps], axis=1),
            np.stack([self._moved_error(step) for step in steps], axis=1),
            np.stack([self._possible(step) for step in steps], axis=1),
        )

    def _theta_of_slope(self, slope: float) -> float:
        """Return the theta at which slopes have this size, at most 1."""
        if slope <= 0 or not self.seen.any():
            return 0.0
        sizes = [self._size(self.slope(step)) for step in STEPS]
        return float(np.interp(slope, np.maximum.accumulate(sizes), STEPS))

    def _size(self, slope: FloatArray) -> float:
        """Return the root of the mean square of slopes, of those who have a rate."""
        return float(np.sqrt(np.mean(slope[self.seen] ** 2))) if self.seen.any() else 0.0

    def _from_pairs(self, pairs: PairsShow) -> _Found:
        found = slope_bound(pairs.square, pairs.error, self._size(self.slope(1.0)))
        bound = self._theta_of_slope(found.mean)
        slope = _OF_BOUND * self.slope(bound)
        theta = self._theta_of_slope(self._size(slope))
        reach = np.nan_to_num(self.rate(bound) - self.rate(0.0))  # the rate is linear in the slope
        chance = _SQUARE_OF_BOUND * (found.deviation / max(found.mean, 1e-9)) ** 2
        apart = np.sqrt(_OF_BOUND_APART**2 + (1 - pairs.alike) * chance)
        alike = np.sqrt(_OF_BOUND_ALIKE**2 + pairs.alike * chance)
        return _Found(
            source="pairs",
            theta=theta,
            error=float(np.hypot(alike, apart)) * bound,
            slope=slope,
            variance=(apart * reach) ** 2,
            models_open=found.nothing,
            shift=alike * reach,
            path=self.path(theta),
        )

    def _from_direct(self) -> _Found | None:
        square = self.square.sum()
        if self.n_direct.sum() < _LEAST_DIRECT or not square > 0:
            return None
        mean = self.cross.sum() / square
        noise = max(float((self.rest - 2 * mean * self.cross + mean**2 * self.square).sum()), 0.0)
        noise /= max(self.n_direct.sum() - 1, 1)
        own = self.square > 0
        each = np.divide(self.cross, self.square, out=np.zeros_like(self.cross), where=own)
        each_variance = np.divide(
            noise, self.square, out=np.full_like(self.square, np.inf), where=own
        )
        between = _between(each, self.square, mean, noise)
        mean_variance = noise / square + between * (self.square**2).sum() / square**2
        with np.errstate(invalid="ignore", divide="ignore"):
            lever = self.open * self.brier / self.bottom
        if np.nanmedian(lever) * np.sqrt(mean_variance) > _USEFUL_ERROR:
            return None
        # Everybody's slope near that of all; who judged many gold items stands for themselves.
        weight = between / (between + each_variance) if between > 0 else np.zeros_like(each)
        slope = mean + weight * (each - mean)
        variance = np.where(weight > 0, weight * np.where(own, each_variance, 0.0), between)
        variance += (1 - weight) ** 2 * mean_variance
        size = float(np.sqrt(np.mean(slope**2)))
        theta = self._theta_of_slope(size)
        error = theta * np.sqrt(mean_variance) / max(size, 1e-9)
        return _Found(
            source="direct",
            theta=theta,
            error=float(error),
            slope=slope,
            variance=np.nan_to_num(lever**2 * variance),
            models_open=0.0,
            shift=np.zeros_like(slope),
            path=self.path(theta),
        )
