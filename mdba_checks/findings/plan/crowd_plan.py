"""The plan for a crowd: within the items there are, and the cheapest way first.

With hundreds of people and few labels each, what one by one would need adds up to more than anybody
collects. Amounts therefore never exceed the items of the table, and where these are not enough the
plan says what they would bring. What is known about somebody rests on the crowd as well as on their
own labels, so a further label counts less than one over their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdba_checks.findings.crowds import Crowds
from mdba_checks.findings.diagnostics import Measures
from mdba_checks.findings.inference import Gaps
from mdba_checks.findings.plan.amounts import Rule
from mdba_checks.tables import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class CrowdFacts:
    """What a plan needs to know about a crowd."""

    own: FloatArray  # (labelers, contrasts): the gap by the labeler's labels alone
    alone: FloatArray  # (labelers, contrasts): its variance, without what comes from gold
    n_items: IntArray  # (groups,): items that were labeled and are not in gold
    measures_hidden: bool  # whether anything shows what labelers know beyond the table
    has_cohorts: bool
    whole_half_width: float  # of the interval of all labels together


def crowd_facts(
    crowds: Crowds, measures: Measures, whole: Gaps, *, has_cohorts: bool, confidence: float
) -> CrowdFacts:
    """Return what a plan needs to know about a crowd; `whole` is about all labels together."""
    alone = [
        np.maximum(each.own_variance - (each.weight * each.gold_variance).sum(axis=1), 1e-12)
        for each in crowds.gaps
    ]
    low, high = whole.interval(confidence)
    return CrowdFacts(
        own=np.stack([each.own for each in crowds.gaps], axis=1) + crowds.shift,
        alone=np.stack(alone, axis=1),
        n_items=measures.n_items,
        measures_hidden=bool(measures.theta_measured.all()),
        has_cohorts=has_cohorts,
        whole_half_width=float(np.max(high - low)) / 2,
    )


@dataclass(frozen=True)
class Wish:
    """What is wanted for some comparisons, and what they have; arrays have a row for each."""

    gap: FloatArray
    error: FloatArray
    needed: FloatArray  # the standard error wanted
    own: FloatArray  # variance that labels reduce
    gold: FloatArray  # (rows, groups): variance that gold items of each group reduce
    n_labels: FloatArray  # as many as what is known about the labeler is worth
    n_gold: IntArray  # (groups,)


def labels_worth(
    facts: CrowdFacts, own: FloatArray, n_labels: IntArray, rows: IntArray
) -> FloatArray:
    """Return how many labels of one's own say as much as labels and crowd together.

    By n labels alone the variance is `alone`; adding one over the variance of the crowd makes it
    `own`, which further labels reduce as if there were ``n * alone / own`` already.
    """
    alone = facts.alone.ravel()[rows]
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = n_labels * np.maximum(alone / own, 1.0)
    return np.where(np.isfinite(worth), worth, n_labels)


def within_items(
    more: FloatArray, wish: Wish, most_gold: FloatArray, most_labels: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return amounts that the items allow, (rows, groups + 1), and where they were cut.

    `most_gold` is (rows, groups) and `most_labels` (rows,). Where gold is not enough, labels are
    asked for as well.
    """
    most = np.column_stack([most_gold, most_labels])
    planned = np.isfinite(wish.needed)
    cut = planned & ~(more <= most + 1e-6).all(axis=1)
    gold = np.minimum(np.where(np.isfinite(more[:, :-1]), more[:, :-1], np.inf), most_gold)
    left = (wish.gold * wish.n_gold / (wish.n_gold + gold)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = wish.own / np.maximum(wish.needed**2 - left, 1e-300)
    labels = np.clip(wish.n_labels * (ratio - 1), 0.0, most_labels)
    bounded = np.where(cut[:, None], np.column_stack([gold, labels]), more)
    return np.where(planned[:, None], bounded, np.nan), cut


def labels_for_own_evidence(
    facts: CrowdFacts, rule: Rule, wish: Wish, rows: IntArray, power: float
) -> FloatArray:
    """Return the labels after which somebody's own labels settle it, (rows,).

    Nobody is biased without evidence of their own, and nobody fair against it, however narrow the
    interval is that the crowd gives them.
    """
    own, alone = facts.own.ravel()[rows], facts.alone.ravel()[rows]
    from_gold = wish.gold.sum(axis=1)
    needed = rule.error_needed(own, np.sqrt(alone + from_gold), power)
    # Labels in the table, not what the crowd adds to them.
    labels = wish.n_labels * np.minimum(wish.own / alone, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = alone / np.maximum(needed**2 - from_gold, 1e-300)
    more: FloatArray = np.maximum(labels * (ratio - 1), 1.0)
    return np.where(np.isfinite(more), more, np.inf)


def chance_then(rule: Rule, wish: Wish, more: FloatArray) -> FloatArray:
    """Return the chance that each comparison is settled once the amounts are there."""
    left = (wish.gold * wish.n_gold / (wish.n_gold + more[:, :-1])).sum(axis=1)
    left = left + wish.own * wish.n_labels / np.maximum(wish.n_labels + more[:, -1], 1e-9)
    later = np.minimum(np.sqrt(left), wish.error)
    return rule.chance(wish.gap, wish.error, later)


def advice(
    facts: CrowdFacts, by_gold: tuple[int, float], by_labels: tuple[int, float]
) -> list[str]:
    """Return what is cheapest, in sentences.

    `by_gold` and `by_labels` are how many comparisons each would settle, and with how many items or
    labels in all.
    """
    said = []
    each = {
        name: total / count
        for name, (count, total) in (
            ("gold items", by_gold),
            ("labels", by_labels),
        )
        if count
    }
    if len(each) == 2:
        cheap, dear = sorted(each, key=lambda name: each[name])
        said.append(
            f"{cheap} are cheaper: {_amount(each[cheap])} per settled labeler, against "
            f"{_amount(each[dear])} {dear}"
        )
    if not facts.measures_hidden:
        said.append(
            "take gold from items that were labeled, and let some items be labeled by three "
            "people or more: both also show what labelers know beyond the table, which nothing "
            "shows today"
        )
    who = (
        "cohorts are decided by all their labels"
        if facts.has_cohorts
        else "name a cohort column (vendor, team): cohorts are decided by all their labels"
    )
    said.append(
        f"to decide about labels rather than people, nothing more may be needed: all labels "
        f"together are known to ±{facts.whole_half_width:.3f}; {who}"
    )
    return said


def _amount(number: float) -> str:
    return f"{number:,.1f}" if number < 10 else f"{number:,.0f}"
