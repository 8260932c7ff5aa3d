"""Labelers who game the check: the numbers that give them away, from what is there already.

Three ways to look better than one's labels are. To behave well on the items that one knows to be
gold: then answers on gold items differ from answers on other items that are as likely right. To
answer at random now and then, so that a gap shrinks and its interval widens: then somebody says yes
where no is right *and* no where yes is right, far more often than their colleagues. To agree on a
wrong rule, so that it looks like the right one: then most answers contradict gold.

Everything is a few sums over the rows; no model is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from mdba_checks.estimation import Estimation
from mdba_checks.findings.diagnostics.repeats import Repeats, feature_marks
from mdba_checks.metrics import Metric
from mdba_checks.tables import Data, FloatArray, IntArray

# Items are compared with items that are about as likely right; so many classes of likelihood.
_CLASSES = 5
# Fewer right answers than these among the gold items of a labeler say nothing about a habit.
_LEAST_ON_GOLD = 5.0
# With fewer colleagues than this nobody can say what is usual.
_LEAST_COLLEAGUES = 3


@dataclass(frozen=True)
class OnGold:
    """How often a labeler said yes on gold items and on others that are as likely right.

    Attributes
    ----------
    on_gold, elsewhere
        (labelers, groups): the share of yes, each item counted by how likely it is of the kind that
        the metric is about; NaN where a labeler decided on too few gold items.
    p_value
        (labelers, groups): of the claim that both are the same.
    by_item
        Whether gold items were found by their names; else by their features.
    """

    on_gold: FloatArray
    elsewhere: FloatArray
    p_value: FloatArray
    by_item: bool


@dataclass(frozen=True)
class Noise:
    """How much of what a labeler says could be random.

    Attributes
    ----------
    share
        (labelers, groups): twice the smaller of the two error rates. Somebody who is strict or
        lenient has one of them; somebody who answers at random with chance r has both, r / 2 each.
    usual
        (groups,): the median over labelers; NaN where there are too few.
    p_value
        (labelers, groups): of the claim that the share is no larger than usual.
    """

    share: FloatArray
    usual: FloatArray
    p_value: FloatArray


@dataclass(frozen=True)
class Gaming:
    """The numbers behind the checks for labelers who game.

    Attributes
    ----------
    on_gold
        None where nobody decided on gold items, or nobody can tell.
    noise
        How random single labelers are.
    right_together
        (groups,): how often the answers of all labelers together are right, on items of the kind
        the metric is about; NaN without such items.
    right_p_value
        (groups,): of the claim that most of them are right.
    """

    on_gold: OnGold | None
    noise: Noise
    right_together: FloatArray
    right_p_value: FloatArray


def look_for_gaming(data: Data, estimation: Estimation, metric: Metric, repeats: Repeats) -> Gaming:
    """Return what the rows and the finished estimates show about gaming.

    The estimation must be one with models.
    """
    g = estimation.g
    if g is None or estimation.tpr is None or estimation.fpr is None:
        msg = "gaming can be looked for only where the right decision was modelled"
        raise ValueError(msg)
    tpr, fpr = estimation.tpr.rate, estimation.fpr.rate
    shape = tpr.shape
    cell = data.labels.labeler.astype(np.int64) * shape[1] + data.labels.group
    positives = np.bincount(cell, g, minlength=tpr.size).reshape(shape).astype(float)
    negatives = estimation.n_labels.astype(float) - positives
    about_no = metric.turns_gold
    n_right = negatives if about_no else positives
    correct = 1 - fpr if about_no else tpr
    together, p_value = _together(data, correct, n_right, about_no=about_no)
    return Gaming(
        on_gold=_on_gold(data, estimation, cell, repeats, about_no=about_no),
        noise=find_noise(tpr, fpr, positives, negatives),
        right_together=together,
        right_p_value=p_value,
    )


def _together(
    data: Data, correct: FloatArray, n_right: FloatArray, *, about_no: bool
) -> tuple[FloatArray, FloatArray]:
    known = np.where(np.isfinite(correct), n_right, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (np.nan_to_num(correct) * known).sum(axis=0) / known.sum(axis=0)
        of_kind = data.gold.correct == (0 if about_no else 1)
        group, weight = data.gold.group[of_kind], data.gold.weight[of_kind]
        mass, squares = (
            np.bincount(group, each, minlength=correct.shape[1]) for each in (weight, weight**2)
        )
        # What is right is known as well as so many gold items of equal weight tell it.
        n = mass**2 / squares
        p_value = norm.cdf((share - 0.5) / np.sqrt(0.25 / n))
    return share, p_value


def find_noise(
    tpr: FloatArray, fpr: FloatArray, positives: FloatArray, negatives: FloatArray
) -> Noise:
    """Return how much of the decisions looks like noise, and how sure that is; per labeler."""
    smaller_is_fpr = fpr < 1 - tpr
    error = np.where(smaller_is_fpr, fpr, 1 - tpr)
    error[~(np.isfinite(tpr) & np.isfinite(fpr))] = np.nan
    n = np.where(smaller_is_fpr, negatives, positives)
    usual = np.full(tpr.shape[1], np.nan)
    for group in range(tpr.shape[1]):
        known = error[np.isfinite(error[:, group]), group]
        if len(known) >= _LEAST_COLLEAGUES:
            usual[group] = np.median(known)
    # The spread of a share that is usual, smoothed: with few items a usual share of zero is luck.
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (usual * n + 1) / (n + 2)
        p_value = norm.sf((error - usual) / np.sqrt(expected * (1 - expected) / n))
    return Noise(2 * error, 2 * usual, p_value)


def _on_gold(
    data: Data, estimation: Estimation, cell: IntArray, repeats: Repeats, *, about_no: bool
) -> OnGold | None:
    g, gold_g = estimation.g, estimation.gold_g
    gold_row = gold_of_rows(data, repeats)
    row = np.flatnonzero(gold_row >= 0)
    if not len(row) or g is None or gold_g is None:
        return None
    # Somebody who was asked twice about a gold item has said it once.
    pair = data.labels.labeler[row].astype(np.int64) * len(gold_g) + gold_row[row]
    row = row[np.sort(np.unique(pair, return_index=True)[1])]
    other = np.flatnonzero(gold_row < 0)
    gold_item = gold_row[row]
    likely, likely_gold = (1 - g, 1 - gold_g) if about_no else (g, gold_g)
    shape = *estimation.n_labels.shape, _CLASSES

    def side(where: IntArray, chance: FloatArray, weight: FloatArray) -> DecisionSums:
        # Even steps: among items that are all but certain, finer ones would compare rounding.
        place = np.minimum(chance * _CLASSES, _CLASSES - 1).astype(np.int64)
        key = cell[where] * _CLASSES + place

        def total(values: FloatArray) -> FloatArray:
            return np.bincount(key, values, minlength=np.prod(shape)).reshape(shape)

        said = data.labels.decision[where]
        return DecisionSums(total(weight), total(weight * said), total(weight**2))

    chance = likely_gold[gold_item]
    mean = np.bincount(data.gold.group, data.gold.weight) / np.bincount(data.gold.group)
    weight = data.gold.weight / mean[data.gold.group]
    return compare_on_gold(
        side(row, chance, chance * weight[gold_item]),
        side(other, likely[other], likely[other]),
        by_item=data.has_items,
    )


@dataclass(frozen=True)
class DecisionSums:
    """Weighted sums over rows, (labelers, groups, classes)."""

    mass: FloatArray
    yes: FloatArray
    squares: FloatArray


def compare_on_gold(gold: DecisionSums, other: DecisionSums, *, by_item: bool) -> OnGold:
    """Compare shares of yes class by class; both sides count the classes as gold does."""
    both = (gold.mass > 0) & (other.mass > 0)
    weight = np.where(both, gold.mass, 0.0)
    total = weight.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = weight / total[..., None]
        shares = [each.yes / each.mass for each in (gold, other)]
        # So many even rows would say as much as these uneven ones.
        n = [each.mass**2 / each.squares for each in (gold, other)]
        # Both sides have one share if the claim holds; one row more of each kind, as zero is luck.
        common = (shares[0] * n[0] + shares[1] * n[1] + 1) / (n[0] + n[1] + 2)
        variance = part**2 * common * (1 - common) * (1 / n[0] + 1 / n[1])
        on_gold, elsewhere, squared = (
            np.where(both, each, 0.0).sum(axis=-1)
            for each in (part * shares[0], part * shares[1], variance)
        )
        p_value = 2 * norm.sf(abs(on_gold - elsewhere) / np.sqrt(squared))
    # So many gold items of equal weight, not as many as they stand for.
    squares = np.where(both, gold.squares, 0.0).sum(axis=-1)
    worth = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)
    enough = (total >= _LEAST_ON_GOLD) & (worth >= _LEAST_ON_GOLD)

    def known(values: FloatArray) -> FloatArray:
        return np.where(enough, values, np.nan)

    return OnGold(known(on_gold), known(elsewhere), known(p_value), by_item)


def gold_of_rows(data: Data, repeats: Repeats) -> IntArray:
    """Return the gold row that each label row is about (one of them), -1 for the others.

    Without item names, equal features are the trace; where coincidence would leave the same one,
    nobody is suspected for it.
    """
    if data.has_items:
        mark, gold_mark = data.labels.item, data.gold.item
    elif repeats.gold_alike > repeats.gold_twins:
        mark = feature_marks(data.labels.trees, data.labels.group)
        gold_mark = feature_marks(data.gold.trees, data.gold.group)
    else:
        return np.full(len(data.labels), -1)
    order = np.argsort(gold_mark, kind="stable")
    place = np.minimum(np.searchsorted(gold_mark[order], mark), len(order) - 1)
    return np.where(gold_mark[order[place]] == mark, order[place], -1)
