"""How simulated labelers decide: three families of bias.

- *correct*: a labeler ranks the people of the biased group rightly, but sets the bar too high.
- *incorrect*: a labeler misuses one feature for the biased group, and so ranks them wrongly.
- *inconsistent*: a labeler has a chance of saying yes to an item, not a rule, and the gold itself
  was drawn from chances; this is where an estimator that needs a fixed rule breaks.

All three work on whole arrays over (labeler, item) rows, so 100,000 labelers need no more code than
ten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdba_checks.simulation.design import Floats, fit_logit, logits

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]
Rate = Callable[[Floats], Floats]

# The rule of a labeler with fewer items than this is set on everybody's items: on ten items no
# model can be fitted, and hardly a rate can be told from another.
MIN_OWN_ITEMS = 200
# Items on which such a rule is set.
_MAX_POOL = 20_000
# From this many on a count is rounded to the nearest, which keeps a rate within 0.01 of its target.
_MIN_COUNT_TO_ROUND = 50

# Family "inconsistent": how steeply chances rise with the (unit-scale) gold score, and how far a
# labeler's personal weights move the logit of an item (standard deviation).
SHARPNESS = 5.0
PERSONAL_NOISE = 0.75


@dataclass(frozen=True)
class Items:
    """What is known about every item: features, group, the correct decision and its score."""

    design: Floats
    group: Ints
    biased: Bools
    gold: Bools
    chance: Floats


@dataclass(frozen=True)
class Deal:
    """Who judges what: one entry per (labeler, item) row, sorted by labeler."""

    labeler: Ints
    item: Ints
    n_labelers: int


def decide_correct(
    items: Items, deal: Deal, tprs: Floats, tpr_reference: float, rng: np.random.Generator
) -> Bools:
    """Return decisions with the right order within the biased group but another bar."""
    score = _labelers_own_scores(items, deal, rng)
    decision = _mostly_right(items, deal, tpr_reference, rng)
    rows = np.flatnonzero(items.biased[deal.item])
    labeler, score = deal.labeler[rows], score[rows]
    positive = items.gold[deal.item[rows]]
    hits = rounded(tprs * np.bincount(labeler[positive], minlength=deal.n_labelers), rng)
    # The bar is the score of the labeler's m-th best correct positive, m being the wanted hits.
    order = np.lexsort((-score[positive], labeler[positive]))
    ranked = score[positive][order]
    last = rank_within(labeler[positive][order]) == hits[labeler[positive][order]] - 1
    bar = np.full(deal.n_labelers, np.inf)
    bar[labeler[positive][order][last]] = ranked[last]
    decision[rows] = score >= bar[labeler]
    return decision


def decide_incorrect(
    items: Items,
    deal: Deal,
    tprs: Floats,
    tpr_reference: float,
    rng: np.random.Generator,
    *,
    misused: Floats,
    prevalence: float,
) -> Bools:
    """Return decisions in which the weight of one feature is too low for the biased group.

    One model of the gold has the extra column `misused` x biased group; per labeler its coefficient
    is lowered until the true positive rate reaches the target, and the top `prevalence` of the
    labeler's items in the biased group are positive. Where the target is out of reach the nearest
    rate on the way is taken.
    """
    extra = misused * items.biased
    design = np.column_stack([items.design, extra])
    score = logits(design, fit_logit(design, items.gold, rng))
    decision = _mostly_right(items, deal, tpr_reference, rng)

    small = few_items(deal)
    rows = np.flatnonzero(items.biased[deal.item] & small[deal.labeler])
    labeler, item = deal.labeler[rows], deal.item[rows]
    if len(rows):
        pool = _pool(items.biased, rng)
        lowered, bar = _rules_on_pool(
            score[pool], misused[pool], items.gold[pool], tprs, prevalence
        )
        decision[rows] = score[item] - lowered[labeler] * misused[item] >= bar[labeler]

    rows = np.flatnonzero(items.biased[deal.item] & ~small[deal.labeler])
    labeler, item = deal.labeler[rows], deal.item[rows]
    if len(rows):
        decision[rows] = _own_rules(
            labeler, score[item], misused[item], items.gold[item], tprs, prevalence, rng
        )
    return decision


def decide_inconsistent(
    items: Items, deal: Deal, tprs: Floats, tpr_reference: float, rng: np.random.Generator
) -> Bools:
    """Return decisions drawn from each labeler's chances.

    The logit of a chance is the gold's, plus personal weights on the features, plus a shift per
    labeler and group which gives the wanted true positive rate in expectation on their own items
    (on everybody's, for labelers with few items).
    """
    n_columns = items.design.shape[1]
    weights = rng.normal(
        scale=PERSONAL_NOISE / np.sqrt(n_columns), size=(deal.n_labelers, n_columns)
    )
    logit = _logit(items.chance)[deal.item]
    for column in range(n_columns):  # by column, so that no rows x columns table is made
        logit += items.design[deal.item, column] * weights[deal.labeler, column]

    n_groups = int(items.group.max()) + 1
    cell = deal.labeler * n_groups + items.group[deal.item]
    is_biased = np.zeros(n_groups, bool)
    is_biased[items.group] = items.biased
    target = np.where(is_biased[None, :], tprs[:, None], tpr_reference).ravel()
    shift = shifts_to_rate(logit, items.chance[deal.item], cell, target)
    small = few_items(deal)
    if small.any():
        of_cell = np.tile(np.arange(n_groups), deal.n_labelers)
        for group in range(n_groups):
            cells = (of_cell == group) & np.repeat(small, n_groups)
            pool = _pool(items.group == group, rng)
            shift[cells] = _shifts_on_pool(
                items.chance[pool], items.design[pool], target[cells], rng
            )
    return np.asarray(rng.random(len(logit)) < _sigmoid(logit + shift[cell]))


def shifts_to_rate(logit: Floats, weight: Floats, cell: Ints, target: Floats) -> Floats:
    """Return per cell the shift at which the weighted mean of sigmoid(logit + shift) is the target.

    Examples
    --------
    >>> cell = np.array([0, 0, 1])
    >>> shifts_to_rate(np.zeros(3), np.ones(3), cell, np.array([0.1, 0.9])).round(3)
    array([-2.197,  2.197])
    """
    total = np.maximum(np.bincount(cell, weight, minlength=len(target)), 1e-300)
    low, high = np.full(len(target), -60.0), np.full(len(target), 60.0)
    for _ in range(40):
        middle = (low + high) / 2
        mean = np.bincount(cell, weight * _sigmoid(logit + middle[cell]), len(target)) / total
        low, high = np.where(mean < target, middle, low), np.where(mean < target, high, middle)
    return np.asarray((low + high) / 2)


def rounded(counts: NDArray[np.floating], rng: np.random.Generator) -> Ints:
    """Round wanted counts: to the nearest when large, up or down by chance when small.

    A labeler with one positive can only have a rate of 0 or 1; rounding by chance gives the wanted
    rate on average over many such labelers, rounding to the nearest would not.
    """
    nearest = np.floor(counts + 0.5)
    by_chance = np.floor(counts + rng.random(len(counts)))
    return np.where(counts >= _MIN_COUNT_TO_ROUND, nearest, by_chance).astype(np.intp)


def rank_within(labels: NDArray[np.intp]) -> Ints:
    """Return 0, 1, 2, … within every run of equal values.

    Examples
    --------
    >>> rank_within(np.array([4, 4, 4, 7, 7])).tolist()
    [0, 1, 2, 0, 1]
    """
    if not len(labels):
        return np.zeros(0, np.intp)
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    lengths = np.diff(np.r_[starts, len(labels)])
    return np.arange(len(labels)) - np.repeat(starts, lengths)


def _mostly_right(
    items: Items, deal: Deal, tpr_reference: float, rng: np.random.Generator
) -> Bools:
    """Return the gold with random misses outside the biased group, and no decision yet inside."""
    decision = np.zeros(len(deal.item), bool)
    rows = np.flatnonzero(items.gold[deal.item] & ~items.biased[deal.item])
    n_groups = int(items.group.max()) + 1
    cell = deal.labeler[rows] * n_groups + items.group[deal.item[rows]]
    hits = rounded(tpr_reference * np.bincount(cell), rng)
    order = np.lexsort((rng.random(len(rows)), cell))
    decision[rows[order]] = rank_within(cell[order]) < hits[cell[order]]
    return decision


def _labelers_own_scores(items: Items, deal: Deal, rng: np.random.Generator) -> Floats:
    """Return each row's score under its labeler's model of the gold, or under a shared one."""
    score = np.empty(len(deal.item))
    starts = np.searchsorted(deal.labeler, np.arange(deal.n_labelers + 1))
    # No model can be fitted to gold of one kind only, however many items there are.
    n_positive = np.bincount(deal.labeler[items.gold[deal.item]], minlength=deal.n_labelers)
    small = few_items(deal) | (n_positive == 0) | (n_positive == np.diff(starts))
    if small.any():
        shared = logits(items.design, fit_logit(items.design, items.gold, rng))
        rows = small[deal.labeler]
        score[rows] = shared[deal.item[rows]]
    for k in np.flatnonzero(~small):
        own = deal.item[starts[k] : starts[k + 1]]
        weights = fit_logit(items.design[own], items.gold[own], rng)
        score[starts[k] : starts[k + 1]] = logits(items.design[own], weights)
    return score


def few_items(deal: Deal) -> Bools:
    """Return for every labeler whether they have too few items for a rule of their own."""
    return np.bincount(deal.labeler, minlength=deal.n_labelers) < MIN_OWN_ITEMS


def _pool(members: Bools, rng: np.random.Generator) -> Ints:
    pool = np.flatnonzero(members)
    return pool if len(pool) <= _MAX_POOL else rng.choice(pool, _MAX_POOL, replace=False)


def _rules_on_pool(
    base: Floats, feature: Floats, positive: Bools, target: Floats, prevalence: float
) -> tuple[Floats, Floats]:
    """Return how far to lower the coefficient for each target, and the bar that goes with it."""
    steps = float(base.std()) * np.r_[0.0, np.geomspace(0.02, 50, 150)]
    bars, rates = np.empty(len(steps)), np.empty(len(steps))
    for i, step in enumerate(steps):
        score = base - step * feature
        bars[i] = np.quantile(score, 1 - prevalence)
        rates[i] = np.mean(score[positive] >= bars[i])
    # The lowest rate so far: the coefficient at which a target is reached first.
    lowered = np.interp(-target, -np.minimum.accumulate(rates), steps)
    return lowered, np.interp(lowered, steps, bars)


def _own_rules(
    labeler: Ints,
    base: Floats,
    feature: Floats,
    positive: Bools,
    target: Floats,
    prevalence: float,
    rng: np.random.Generator,
) -> Bools:
    """Return each labeler's top items once the coefficient is lowered to their target."""
    n_labelers = len(target)
    n_top = rounded(prevalence * np.bincount(labeler, minlength=n_labelers), rng)
    n_positive = np.bincount(labeler[positive], minlength=n_labelers)

    def top(lowered: Floats) -> Bools:
        order = np.lexsort((lowered[labeler] * feature - base, labeler))
        chosen = np.empty(len(labeler), bool)
        chosen[order] = rank_within(labeler[order]) < n_top[labeler[order]]
        return chosen

    def rate(lowered: Floats) -> Floats:
        hits = np.bincount(labeler[top(lowered) & positive], minlength=n_labelers)
        # Without positives every coefficient is as good as any other.
        return np.where(n_positive > 0, hits / np.maximum(n_positive, 1), target)

    return top(_lowered_until(rate, target, float(base.std())))


def _lowered_until(rate: Rate, target: Floats, unit: float) -> Floats:
    """Return, per labeler, by how much to lower the coefficient for the rate nearest the target."""
    best = np.zeros(len(target))
    error = np.full(len(target), np.inf)
    low, high = np.zeros(len(target)), np.full(len(target), np.nan)

    def look(lowered: Floats) -> Bools:
        nonlocal best, error
        found = rate(lowered)
        better = np.abs(found - target) < error
        best, error = np.where(better, lowered, best), np.minimum(np.abs(found - target), error)
        return np.asarray(found <= target)

    for step in [0.0, *np.geomspace(0.02, 50, 30)]:
        lowered = np.where(np.isnan(high), step * unit, high)
        reached = look(lowered)
        low = np.where(np.isnan(high) & ~reached, lowered, low)
        high = np.where(np.isnan(high) & reached, lowered, high)
        if not np.isnan(high).any():
            break
    for _ in range(14):
        middle = np.where(np.isnan(high), best, (low + high) / 2)
        reached = look(middle)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return best


def _shifts_on_pool(
    chance: Floats, design: Floats, target: Floats, rng: np.random.Generator
) -> Floats:
    """Return the shifts at which a labeler with random personal weights has the target rates."""
    size = PERSONAL_NOISE * np.sqrt(np.mean(design**2, axis=1))
    logit = _logit(chance) + size * rng.normal(size=len(chance))
    shifts = np.linspace(-25, 25, 251)
    rates = np.array([np.average(_sigmoid(logit + shift), weights=chance) for shift in shifts])
    return np.interp(target, rates, shifts)


def _logit(chance: Floats) -> Floats:
    result: Floats = np.log(chance / (1 - chance))
    return result


def _sigmoid(logit: Floats) -> Floats:
    result: Floats = 0.5 + 0.5 * np.tanh(logit / 2)
    return result
