"""`mdba_dr`: the doubly robust rate, right if either the labeler model or g is right.

Given the features, what a labeler says and what is right are independent, so the share of items
that are right *and* accepted is the mean of ``g * Y'`` over the labeler's rows; what g gets wrong
is seen on gold and weighted by f, the labeler's probability to accept::

    rate = (mean_S[g Y'] + mean_G[f (Y - g)]) / (mean_S[g] + mean_G[Y - g])      within a group

Where the labeler also decided on a gold item, the right label replaces g on that row: it is direct
evidence. What such pairs show about decisions and right answers that have more in common than the
features explain is used by `hidden.py`, for all labelers together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mdba_checks.estimation.estimators.evidence import (
    Averaged,
    Evidence,
    GoldEvidence,
    Parts,
    Rates,
)
from mdba_checks.tables import FloatArray, IntArray

_FEW_POSITIVES = 30.0
_CHANCE_RANGE = (0.02, 0.98)  # no single decision may outweigh fifty others


def estimate(evidence: Evidence) -> Rates:
    """Estimate the rate of every labeler in every group."""
    gold, n_groups = evidence.gold, evidence.n_groups
    right, unknown = _right(evidence)
    residual = gold.correct - gold.g
    share = gold.share
    with np.errstate(invalid="ignore", divide="ignore"):
        # What g gets wrong matters on those rows only whose right answer is not known.
        open_share = evidence.cell_mean(unknown)
        missed = _by_group(evidence.f_gold * (share * residual), gold.group, n_groups)
        found = evidence.cell_mean(right * evidence.decision) + open_share * missed
        mass = evidence.cell_mean(right) + open_share * _by_group(
            (share * residual)[None], gold.group, n_groups
        )
        rate = np.clip(found / mass, 0.0, 1.0)
        influence, averaged = _influence(evidence, rate, open_share / mass)
        own_variance = _own_variance(evidence, rate, mass, unknown, evidence.g)
        error_of_g = _square_error(gold.g[None], gold.g_spread[None], share, gold.group, n_groups)
        error_of_f = _square_error(evidence.f_gold, evidence.f_spread, share, gold.group, n_groups)
        allowance = open_share * np.sqrt(error_of_f * error_of_g) / mass
    yes = evidence.cell_mean(evidence.decision.astype(float))
    impossible = ~(mass > 0)
    rate[impossible] = np.nan
    return Rates(
        rate=rate,
        own_variance=own_variance,
        gold_influence=influence,
        mass=mass * evidence.n_labels,
        allowance=allowance,
        # How much the errors of f and g have in common is not known: at worst, everything.
        model_variance=allowance**2,
        parts=Parts(
            numerator=found,
            denominator=mass,
            yes=yes,
            open_share=open_share,
            **_direct_sums(evidence),
        ),
        averaged=averaged,
    )


def _influence(
    evidence: Evidence, rate: FloatArray, scale: FloatArray
) -> tuple[FloatArray, Averaged | None]:
    """Return the influence of gold items on rates; `scale` is (labelers, groups)."""
    gold = evidence.gold
    left = gold.share * (gold.correct - gold.g)
    if not evidence.averaged:
        influence = (evidence.f_gold - rate[:, gold.group]) * left
        influence *= scale[:, gold.group]
        return influence, None
    factor = np.stack([scale, -scale * rate, np.zeros_like(scale)], axis=-1)
    basis = np.stack([evidence.f_gold[0] * left, left, (1 - 2 * gold.g) * left])
    nobody = np.full(evidence.n_labelers, -1)
    return np.empty((0, len(left))), Averaged(nobody, factor, basis, gold.group)


def with_slope(rates: Rates, parts: Parts, evidence: Evidence, slope: FloatArray) -> Rates:
    """Return rates for labelers who know more than the features.

    `slope`, (labelers, groups), is by how much a yes is likelier where yes is right, at equal
    features. A decision then tells about the right answer: on rows, the chance that yes is right
    given features *and* decision takes the place of g. `evidence` holds the rows of all labelers.
    """
    gold, n_groups = evidence.gold, evidence.n_groups
    right, unknown = _right(evidence)
    told = np.where(unknown > 0, _right_given_decision(evidence, slope), right)
    more = told - right
    residual, bend = gold.correct - gold.g, 1 - 2 * gold.g
    bent = _by_group((gold.share * residual * bend)[None], gold.group, n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = parts.numerator + evidence.cell_mean(more * evidence.decision)
        found += parts.open_share * slope * bent
        mass = parts.denominator + evidence.cell_mean(more)
        rate = np.where(mass > 0, np.clip(found / mass, 0.0, 1.0), np.nan)
        own_variance = _own_variance(evidence, rate, mass, unknown, told)
        influence, averaged = rates.gold_influence, rates.averaged
        kept: slice | IntArray = slice(None)
        if averaged is not None:
            kept = np.flatnonzero(averaged.row >= 0)[np.argsort(averaged.row[averaged.row >= 0])]
            scale = parts.open_share / mass
            moved_by = np.stack([np.zeros_like(slope), rates.rate - rate, slope], axis=-1)
            factor = averaged.factor * (parts.denominator / mass)[..., None]
            averaged = replace(averaged, factor=factor + scale[..., None] * moved_by)
        if influence.shape[1]:
            scale = (parts.open_share / mass)[kept][:, gold.group] * (gold.share * residual)
            moved = slope[kept][:, gold.group] * bend - (rate - rates.rate)[kept][:, gold.group]
            held = (parts.denominator / mass)[kept][:, gold.group]
            influence = influence * held + scale * moved
    return replace(
        rates,
        rate=np.where(np.isnan(rates.rate), np.nan, rate),
        own_variance=own_variance,
        gold_influence=influence.astype(rates.gold_influence.dtype),
        mass=mass * evidence.n_labels,
        averaged=averaged,
    )


def _right_given_decision(evidence: Evidence, slope: FloatArray) -> FloatArray:
    """Return the probability that yes is right, given features and decision."""
    own = slope[evidence.place, evidence.group] * (1 - evidence.g)
    f = np.clip(evidence.f, *_CHANCE_RANGE)
    if_yes, if_no = evidence.g * (f + own) / f, evidence.g * (1 - f - own) / (1 - f)
    told: FloatArray = np.clip(np.where(evidence.decision == 1, if_yes, if_no), 0.0, 1.0)
    return told


def _direct_sums(evidence: Evidence) -> dict[str, FloatArray]:
    """Return what `Parts` says about decisions on gold items."""
    shape = evidence.n_labelers, evidence.n_groups
    if evidence.direct is None:
        names = ("n_direct", "direct_cross", "direct_square", "direct_rest")
        return dict.fromkeys(names, np.zeros(shape))
    row, item = evidence.direct.row, evidence.direct.gold
    weight = counting_weights(evidence.gold)[item]
    decided = evidence.decision[row] - evidence.f[row]
    right = evidence.gold.correct[item] - evidence.gold.g[item]
    cell = evidence.place[row] * evidence.n_groups + evidence.group[row]

    def total(values: FloatArray) -> FloatArray:
        counted = np.bincount(cell, weight * values, minlength=shape[0] * shape[1])
        return counted.astype(float).reshape(shape)

    return {
        "n_direct": total(np.ones(len(row))),
        "direct_cross": total(decided * right),
        "direct_square": total(right**2),
        "direct_rest": total(decided**2),
    }


def counting_weights(gold: GoldEvidence) -> FloatArray:
    """Return weights under which sums over items are worth what they seem to be.

    A slope on ``Y - g`` that is fitted with weights w has the variance of its noise divided by
    ``(sum w e²)² / sum w² e²``; with these weights that is ``sum w e²``, in every group.
    """
    square = (gold.correct - gold.g) ** 2
    once = np.bincount(gold.group, gold.weight * square)
    twice = np.bincount(gold.group, gold.weight**2 * square)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(twice > 0, once / twice, 0.0)
    weight: FloatArray = gold.weight * scale[gold.group]
    return weight


def _right(evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Return what is right on every row, g where that is not known, and 1.0 where it is not."""
    right, unknown = evidence.g.astype(float), np.ones(len(evidence.g))
    if evidence.direct is not None:
        row, answer = evidence.direct.row, evidence.gold.correct[evidence.direct.gold]
        yes = np.bincount(row, answer, minlength=len(right))
        times = np.bincount(row, minlength=len(right))
        # Where experts disagree about an item, what is right stays open.
        known = (times > 0) & ((yes == 0) | (yes == times))
        right[known] = yes[known] > 0
        unknown[known] = 0.0
    return right, unknown


def _own_variance(
    evidence: Evidence, rate: FloatArray, mass: FloatArray, unknown: FloatArray, chance: FloatArray
) -> FloatArray:
    """Return the part of the variance that comes from the labeler's own rows.

    The rate is that of the labels in the table, not of all labels this person might ever give, so
    the rows themselves are fixed; what varies is whether yes is right, with probability `chance`.
    Rows about gold items leave nothing open; as anybody may be lucky on a few, they are taken for
    what they are, a sample.
    """
    n = evidence.n_labels
    cell = evidence.place, evidence.group
    deviation = (evidence.decision - rate[cell]) / (n * mass)[cell]
    coin = unknown * chance * (1 - chance)
    variance = evidence.cell_sum(_clustered(evidence, deviation) ** 2 * coin)
    positives = n * mass
    # With few positives a variance near zero is luck.
    smoothed = (rate * positives + 1) / (positives + 2)
    binomial = smoothed * (1 - smoothed) / np.maximum(positives, 1)
    open_share = evidence.cell_mean(unknown)
    few = positives < _FEW_POSITIVES
    variance = np.where(few, np.maximum(variance, open_share * binomial), variance)
    return variance + (1 - open_share) * binomial


def _clustered(evidence: Evidence, values: FloatArray) -> FloatArray:
    """Return values with rows about one item by one labeler added up in the first of them.

    Rows are sorted by labeler and item, so such rows are neighbours.
    """
    new_cell = np.diff(evidence.place * evidence.n_groups + evidence.group, prepend=-1) != 0
    first = np.flatnonzero(new_cell | (np.diff(evidence.item, prepend=-1) != 0))
    together = np.zeros(len(values))
    together[first] = np.add.reduceat(values, first)
    return together


def _square_error(
    chance: FloatArray, spread: FloatArray, share: FloatArray, group: IntArray, n_groups: int
) -> FloatArray:
    """Return the mean square error of a fitted chance of yes, (labelers, groups).

    `spread` is the variance of `chance` over fits. Where yes is a matter of chance, given the
    features, that is the error. Where it follows from them, the fitted chance turns a step into a
    slope: where the step lies is known up to a normal error, and the square error is 1 + √2 times
    the variance. All doubt, ``chance * (1 - chance)``, is then of that kind, so the part of the
    doubt that the variance explains says which of the two it is.
    """
    variance = _by_group(spread * share, group, n_groups)
    doubt = _by_group(chance * (1 - chance) * share, group, n_groups)
    explained = np.minimum((1 + np.sqrt(2)) * variance / np.maximum(doubt, 1e-12), 1.0)
    error: FloatArray = variance * (1 + np.sqrt(2) * explained)
    return error


def _by_group(values: FloatArray, group: np.ndarray, n_groups: int) -> FloatArray:
    """Sum (labelers, gold items) over the items of each group."""
    return np.stack([values[:, group == code].sum(axis=1) for code in range(n_groups)], axis=1)
