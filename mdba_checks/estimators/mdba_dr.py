"""`mdba_dr`: the doubly robust rate, right if either the labeler model or g is right.

Given the features, what a labeler says and what is right are independent, so the share of items
that are right *and* accepted is the mean of ``g * Y'`` over the labeler's rows; what g gets wrong
is seen on gold and weighted by f, the labeler's probability to accept::

    rate = (mean_S[g Y'] + mean_G[f (Y - g)]) / (mean_S[g] + mean_G[Y - g])      within a group

Where the labeler also decided on a gold item, the right label replaces g on that row and the
decision replaces f on that item: it is direct evidence, and no model has to be right for it.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.arrays import FloatArray
from mdba_checks.estimators.evidence import Evidence, Rates

# What is left of the product of the errors of f and g once both are good: a boundary learned from n
# labels with p columns is off by the order of sqrt(p / n), on every simulated data set
# (docs/method.md).
_MODEL_ERROR = 0.3
_FEW_POSITIVES = 30.0


def estimate(evidence: Evidence) -> Rates:
    """Estimate the rate of every labeler in every group."""
    gold, n_groups = evidence.gold, evidence.n_groups
    f_gold = evidence.on_gold(evidence.f_gold)
    right, unknown = _right(evidence)
    residual = gold.correct - gold.g
    group_weight = np.bincount(gold.group, gold.weight, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = gold.weight / group_weight[gold.group]  # of a gold item in the mean of its group
        # What g gets wrong matters on those rows only whose right answer is not known.
        open_share = evidence.cell_mean(unknown)
        missed = _by_group(f_gold * (share * residual), gold.group, n_groups)
        found = evidence.cell_mean(right * evidence.decision) + open_share * missed
        mass = evidence.cell_mean(right) + open_share * _by_group(
            (share * residual)[None], gold.group, n_groups
        )
        rate = np.clip(found / mass, 0.0, 1.0)
        influence = (f_gold - rate[:, gold.group]) * (share * residual)
        influence *= (open_share / mass)[:, gold.group]
        own_variance = _own_variance(evidence, rate, mass, unknown)
        brier = _by_group((share * residual**2)[None], gold.group, n_groups)
        spread = _by_group(evidence.f_spread * share, gold.group, n_groups)
        allowance = open_share * np.sqrt(spread * brier) / mass
    impossible = ~(mass > 0)
    rate[impossible] = np.nan
    error = _MODEL_ERROR * evidence.complexity
    return Rates(rate, own_variance, influence, mass * evidence.n_labels, allowance, error)


def _right(evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Return what is right on every row, g where that is not known, and 1.0 where it is not."""
    right, unknown = evidence.g.astype(float), np.ones(len(evidence.g))
    if evidence.direct is not None:
        right[evidence.direct.row] = evidence.gold.correct[evidence.direct.gold]
        unknown[evidence.direct.row] = 0.0
    return right, unknown


def _own_variance(
    evidence: Evidence, rate: FloatArray, mass: FloatArray, unknown: FloatArray
) -> FloatArray:
    """Return the part of the variance that comes from not knowing the right labels of own rows.

    The rate is that of the labels in the table, not of all labels this person might ever give, so
    the rows themselves are fixed; what varies is whether yes is right, a coin with probability g.
    """
    n = evidence.n_labels
    cell = evidence.place, evidence.group
    deviation = (evidence.decision - rate[cell]) / (n * mass)[cell]
    coin = unknown * evidence.g * (1 - evidence.g)
    variance = evidence.cell_sum(_clustered(evidence, deviation) ** 2 * coin)
    positives = n * mass
    # With few positives a variance near zero is luck.
    smoothed = (rate * positives + 1) / (positives + 2)
    binomial = evidence.cell_mean(unknown) * smoothed * (1 - smoothed) / np.maximum(positives, 1)
    return np.where(positives < _FEW_POSITIVES, np.maximum(variance, binomial), variance)


def _clustered(evidence: Evidence, values: FloatArray) -> FloatArray:
    """Return values with rows about one item by one labeler added up in the first of them.

    Rows are sorted by labeler and item, so such rows are neighbours.
    """
    new_cell = np.diff(evidence.place * evidence.n_groups + evidence.group, prepend=-1) != 0
    first = np.flatnonzero(new_cell | (np.diff(evidence.item, prepend=-1) != 0))
    together = np.zeros(len(values))
    together[first] = np.add.reduceat(values, first)
    return together


def _by_group(values: FloatArray, group: np.ndarray, n_groups: int) -> FloatArray:
    """Sum (labelers, gold items) over the items of each group."""
    return np.stack([values[:, group == code].sum(axis=1) for code in range(n_groups)], axis=1)
