"""From rates to gaps with intervals and p-values.

A gap compares a labeler's rate in one group with their rate in the reference group, or in everyone
else. Groups share no rows and no gold items, so variances add; labelers share the gold, so joint
statements need its influence item by item.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm
from scipy.stats import t as student

from mdba_checks.errors import InputError
from mdba_checks.estimation import Path, Rates
from mdba_checks.findings.joint import AT_ONCE, JointErrors, on_gap
from mdba_checks.tables import FloatArray, IntArray

_LEAST_FREEDOM, _MOST_FREEDOM = 4.0, 1e6
# Marks a field that stays out when an assessment is cached.
NOT_CACHED = {"cached": False}


@dataclass(frozen=True)
class Contrast:
    """One comparison: a group against a named group, or against everyone else (None)."""

    group: int
    reference: int | None


@dataclass(frozen=True)
class Gaps:
    """Gaps of all labelers under all contrasts; arrays are (labelers, contrasts)."""

    gap: FloatArray
    std_error: FloatArray
    rate: FloatArray
    rate_reference: FloatArray
    plain_gap: FloatArray  # without what is known about hidden information
    own_variance: FloatArray  # from the labeler's own rows, with what models leave open
    model_variance: FloatArray  # what models leave open
    gold_variance: FloatArray  # (labelers, contrasts, groups): from the gold items of each group
    freedom: FloatArray  # degrees of freedom of the standard error
    rate_error: FloatArray  # standard error of the rate in the group itself
    path: FloatArray | None  # (labelers, contrasts, steps): gaps if labelers knew more and more
    path_error: FloatArray | None  # the same: standard error of how far the gap has moved
    # (labelers, contrasts, 2): the smallest and largest gap if labelers know more and more, in
    # every group as much as is possible there
    apart: FloatArray | None
    # (labelers, contrasts, 2): where intervals end that do not follow from the standard error
    ends: FloatArray | None = None
    # For statements about all gaps at once; as large as labelers × gold, so it is not cached.
    joint_errors: JointErrors | None = field(default=None, repr=False, metadata=NOT_CACHED)

    def interval(self, confidence: float, *, joint: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper ends, each gap on its own or all of them together."""
        quantile = student.ppf((1 + confidence) / 2, self.freedom)
        if joint:  # stretched as much as the quantiles of single gaps are
            quantile = quantile / norm.ppf((1 + confidence) / 2) * self.joint_quantile(confidence)
        low = np.clip(self.gap - quantile * self.std_error, -1, 1)
        high = np.clip(self.gap + quantile * self.std_error, -1, 1)
        if self.ends is None or joint:
            return low, high
        given = np.isfinite(self.ends)
        return (
            np.where(given[..., 0], self.ends[..., 0], low),
            np.where(given[..., 1], self.ends[..., 1], high),
        )

    def joint_quantile(self, confidence: float) -> float:
        """Return how many standard errors hold all gaps at once; drawn when first asked for."""
        if self.joint_errors is None:
            raise InputError(
                "joint intervals need the influence of every gold item, which a cached assessment "
                "does not hold: call assess() on the tables"
            )
        return self.joint_errors.quantile(confidence)

    def rate_interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper ends for the rates in the groups compared."""
        reach = student.ppf((1 + confidence) / 2, self.freedom) * self.rate_error
        return np.clip(self.rate - reach, 0, 1), np.clip(self.rate + reach, 0, 1)


def contrasts(n_groups: int, reference: int | None, sizes: IntArray) -> list[Contrast]:
    """Return the comparisons to make.

    Without a named reference every group is compared with everyone else. Two groups then say the
    same thing twice with opposite signs, so the smaller one is compared with the larger.

    Examples
    --------
    >>> contrasts(2, None, np.array([10, 90]))
    [Contrast(group=0, reference=1)]
    >>> contrasts(3, 1, np.array([10, 90, 5]))
    [Contrast(group=0, reference=1), Contrast(group=2, reference=1)]
    """
    if reference is None and n_groups == 2:
        reference = int(np.argmax(sizes))
    if reference is None:
        return [Contrast(group, None) for group in range(n_groups)]
    return [Contrast(group, reference) for group in range(n_groups) if group != reference]


def compare(
    rates: Rates,
    gold_group: IntArray,
    gold_item: IntArray,
    wanted: list[Contrast],
    *,
    order: IntArray | None = None,
    seed: int = 0,
) -> Gaps:
    """Return the gap of every labeler under every contrast.

    Chance, for statements about all gaps at once, is drawn for one labeler after the other, in
    `order`, by default that of `rates`.
    """
    order = np.arange(len(rates.rate)) if order is None else order
    clusters, group_of_cluster = _clusters(gold_item, gold_group)
    found: list[dict[str, FloatArray]] = []
    for contrast in wanted:
        parts = []
        for begin in range(0, len(order), AT_ONCE):
            some = rates.take(order[begin : begin + AT_ONCE])
            parts.append(_compared(some, contrast, gold_group, clusters, group_of_cluster))
        found.append({name: np.concatenate([each[name] for each in parts]) for name in parts[0]})
    back = np.argsort(order)
    arrays = {name: np.stack([each[name][back] for each in found], axis=1) for name in found[0]}
    path, path_error, apart = (arrays.pop(name, None) for name in ("path", "path_error", "apart"))
    joint_errors = JointErrors(
        gold_influence=rates.gold_influence,
        averaged=rates.averaged,
        sides=tuple(sides_of(each, rates.mass, rates.rate.shape[1]) for each in wanted),
        gold_group=gold_group,
        clusters=clusters,
        own_variance=arrays["own_variance"],
        std_error=arrays["std_error"],
        order=order,
        seed=seed,
    )
    return Gaps(**arrays, path=path, path_error=path_error, apart=apart, joint_errors=joint_errors)


def _compared(
    rates: Rates,
    contrast: Contrast,
    gold_group: IntArray,
    clusters: Any,
    group_of_cluster: IntArray,
) -> dict[str, FloatArray]:
    """Return the arrays of `Gaps` under one contrast."""
    n_groups = rates.rate.shape[1]
    sides = sides_of(contrast, rates.mass, n_groups)
    influence = on_gap(rates.influence(), sides, gold_group, clusters)
    used = np.where(sides == 0, 0.0, rates.rate)
    own = (sides**2 * np.where(sides == 0, 0.0, rates.own_variance)).sum(axis=1)
    rest = (sides**2 * np.where(sides == 0, 0.0, rates.model_variance)).sum(axis=1)
    if rates.model_shift is not None:
        rest += (sides * np.where(sides == 0, 0.0, rates.model_shift)).sum(axis=1) ** 2
    others = np.where(np.arange(n_groups) == contrast.group, 0, sides)
    by_items = [influence[:, group_of_cluster == code] for code in range(n_groups)]
    by_group = np.stack([(each**2).sum(axis=1) for each in by_items], axis=1)
    freedom = np.stack([_freedom(each) for each in by_items], axis=1)
    variance = own + by_group.sum(axis=1) + rest
    with np.errstate(invalid="ignore", divide="ignore"):
        # Welch and Satterthwaite; what does not come from gold is taken to be well known.
        together = variance**2 / (by_group**2 / freedom).sum(axis=1)
    arrays = {
        "gap": (sides * used).sum(axis=1),
        "std_error": np.sqrt(variance),
        "freedom": _bounded(together),
        "rate": rates.rate[:, contrast.group],
        "rate_error": np.sqrt(_rate_variance(rates, contrast.group) + by_group[:, contrast.group]),
        "rate_reference": -(others * used).sum(axis=1),
        "plain_gap": (sides * np.where(sides == 0, 0.0, _plain_rates(rates))).sum(axis=1),
        "own_variance": own + rest,
        "model_variance": rest,
        "gold_variance": by_group,
    }
    if rates.path is not None:
        arrays["path"], arrays["path_error"] = _path(rates.path, sides)
        arrays["apart"] = _apart(rates.path, sides)
    return arrays


def _plain_rates(rates: Rates) -> FloatArray:
    """Return the rates as they are without hidden information."""
    if rates.parts is None:
        return rates.rate
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = np.clip(rates.parts.numerator / rates.parts.denominator, 0.0, 1.0)
    return np.where(np.isnan(rates.rate), np.nan, plain)


def _path(path: Path, sides: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gaps along a path and how far off their moves may be, (labelers, steps).

    Where a step is not possible, in any group compared, the path stays where it was before.
    """
    used = sides[..., None] != 0
    gap = np.where(used, sides[..., None] * path.rate, 0.0).sum(axis=1)
    error = np.sqrt(np.where(used, (sides[..., None] * path.error) ** 2, 0.0).sum(axis=1))
    possible = (path.possible | ~used).all(axis=1)
    last = np.maximum(np.cumprod(possible, axis=1).sum(axis=1) - 1, 0)
    step = np.minimum(np.arange(gap.shape[1]), last[:, None])
    return np.take_along_axis(gap, step, axis=1), np.take_along_axis(error, step, axis=1)


def _apart(path: Path, sides: FloatArray) -> FloatArray:
    """Return the smallest and the largest gap when every group goes its own way, (labelers, 2)."""
    used = sides != 0
    there = np.cumprod(path.possible, axis=2).astype(bool)
    there[..., 0] = True
    parts = np.where(used[..., None], sides[..., None] * path.rate, 0.0)
    low = np.where(there, parts, np.inf).min(axis=2).sum(axis=1)
    high = np.where(there, parts, -np.inf).max(axis=2).sum(axis=1)
    return np.stack([low, high], axis=1)


def _rate_variance(rates: Rates, group: int) -> FloatArray:
    """Return the variance of the rates in a group, without what comes from gold."""
    variance: FloatArray = rates.own_variance[:, group] + rates.model_variance[:, group]
    if rates.model_shift is not None:
        variance = variance + rates.model_shift[:, group] ** 2
    return variance


def _freedom(influence: FloatArray) -> FloatArray:
    """Return the degrees of freedom of a sum of squares, (labelers,).

    Where a few items carry most of it, because of their weights or because the rest are predicted
    well, its kurtosis is high and it is known less well.
    """
    squares = influence.astype(float) ** 2
    total, n = squares.sum(axis=1), influence.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        kurtosis = n * (squares**2).sum(axis=1) / total**2
        freedom: FloatArray = 2 * n / np.maximum(kurtosis - 1, 1e-9)
    return _bounded(freedom)


def _bounded(freedom: FloatArray) -> FloatArray:
    return np.clip(np.nan_to_num(freedom, nan=_MOST_FREEDOM), _LEAST_FREEDOM, _MOST_FREEDOM)


def _clusters(gold_item: IntArray, gold_group: IntArray) -> tuple[Any, IntArray]:
    """Return a sparse map from gold rows to gold items, and the items' groups.

    An item that stands in gold twice is one piece of evidence, not two.
    """
    codes, first, inverse = np.unique(
        np.stack([gold_group, gold_item]), axis=1, return_index=True, return_inverse=True
    )
    shape = (len(gold_item), codes.shape[1])
    ones = np.ones(len(gold_item))
    return csr_array((ones, (np.arange(len(gold_item)), inverse.ravel())), shape), gold_group[first]


def sides_of(contrast: Contrast, mass: FloatArray, n_groups: int) -> FloatArray:
    """Return the weight of every group in the gap, (labelers, groups)."""
    codes = np.arange(n_groups)
    if contrast.reference is not None:
        against = np.broadcast_to((codes == contrast.reference).astype(float), mass.shape)
    else:
        # Everyone else as one group: positives count, so groups weigh as many as they have.
        others = np.where((codes != contrast.group) & (mass > 0), mass, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            against = others / others.sum(axis=1, keepdims=True)
    sides: FloatArray = (codes == contrast.group).astype(float) - against
    return sides


def p_values(
    gap: FloatArray, std_error: FloatArray, max_gap: float, freedom: FloatArray | float = np.inf
) -> FloatArray:
    """Return p-values for the claim that the gap is at most `max_gap` in size.

    The probability of an estimate as large as this one, in either direction, if the gap were just
    `max_gap`: the largest that any tolerated gap gives.

    Examples
    --------
    >>> p_values(np.array([0.3, -0.05]), np.array([0.1, 0.1]), 0.1).round(3)
    array([0.023, 0.758])
    >>> p_values(np.array([0.1645]), np.array([0.1]), 0.0).round(3)
    array([0.1])
    """
    size = np.abs(gap)
    with np.errstate(invalid="ignore", divide="ignore"):
        near, far = ((size - max_gap) / std_error, (size + max_gap) / std_error)
        p: FloatArray = np.minimum(student.sf(near, freedom) + student.sf(far, freedom), 1.0)
    return p


def p_beyond(gap: FloatArray, std_error: FloatArray, max_gap: float) -> FloatArray:
    """Return the probability that the gap is beyond ±max_gap, for a normal estimate.

    Examples
    --------
    >>> p_beyond(np.array([0.3, 0.1, 0.0]), np.array([0.1, 0.01, 0.0]), 0.1).round(3)
    array([0.977, 0.5  , 0.   ])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        p: FloatArray = norm.sf((max_gap - gap) / std_error) + norm.cdf(
            (-max_gap - gap) / std_error
        )
    # Without uncertainty the limit itself is tolerated, and 0 / 0 says nothing.
    return np.where(std_error == 0, (np.abs(gap) > max_gap).astype(float), p)
