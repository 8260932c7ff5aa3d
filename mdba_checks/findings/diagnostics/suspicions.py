"""Suspicions: checks for labelers who game, from numbers to levels and sentences.

A suspicion is not an excuse. Where another serious check makes every finding inconclusive, a
serious one of these takes away only the finding "fair": else somebody who is found biased would
have to do no more than to raise a suspicion.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.config import Policy
from mdba_checks.findings.diagnostics.gaming import Gaming
from mdba_checks.findings.diagnostics.grading import LOOK, OK, Grading, concerned, levels
from mdba_checks.findings.diagnostics.measures import Measures

# How often chance may raise a suspicion anywhere in a data set.
CHANCE = 0.01
# A tolerance below this is finer than a habit; as for the product term.
LEAST_DIFFERENCE = 0.05
# Everybody slips; from about here on somebody is not looking.
NOISE_LOOK = 0.3


def suspicions(measures: Measures, policy: Policy) -> list[Grading]:
    """Return the gradings that apply."""
    gaming = measures.gaming
    if gaming is None:
        return []
    found = [_noise(gaming, measures), _consensus(gaming, measures)]
    on_gold = _gold_behaviour(gaming, measures, policy)
    return found if on_gold is None else [on_gold, *found]


def _gold_behaviour(gaming: Gaming, measures: Measures, policy: Policy) -> Grading | None:
    seen = gaming.on_gold
    if seen is None:
        return None
    difference = seen.on_gold - seen.elsewhere
    known = np.isfinite(seen.p_value)
    clear = seen.p_value < CHANCE / max(int(known.sum()), 1)
    far = abs(difference) > max(policy.max_gap, LEAST_DIFFERENCE)
    level = levels(clear, clear & far)
    worst = float(abs(difference[known]).max(initial=0.0))
    if not known.any():
        summary = "no labeler decided on enough gold items to compare them with the others"
    elif level.any():
        summary = f"{concerned(level)} decide differently on gold items (by up to {worst:.0%})"
    else:
        summary = f"nobody clearly decides differently on gold items (shares within {worst:.0%})"

    def words(row: int, column: int) -> str:
        return (
            f"{measures.words.decides('yes')} {seen.on_gold[row, column]:.0%} of the gold items of "
            f"{measures.groups[column]} where "
            f"{measures.words.is_right(measures.metric.right, 'seems')}, and "
            f"{seen.elsewhere[row, column]:.0%} of like items that are not gold: gold may have "
            "been recognised; leave gold items out of the labels and check again"
        )

    return Grading(
        "gold_behaviour",
        difference,
        level,
        per_labeler=True,
        columns="groups",
        words=words,
        summary=summary,
        worst=worst,
        blocks="fair",
    )


def _noise(gaming: Gaming, measures: Measures) -> Grading:
    noise = gaming.noise
    known = np.isfinite(noise.share) & np.isfinite(noise.usual)
    clear = noise.p_value < CHANCE / max(int(known.sum()), 1)
    # Never serious: somebody who is wrong equally often in every group treats the groups alike.
    level = np.where(clear & (noise.share - noise.usual >= NOISE_LOOK), LOOK, OK)
    worst = float(noise.share[known].max(initial=0.0))
    if not known.any():
        summary = "too few labelers to say how much randomness is usual"
    elif level.any():
        summary = f"{concerned(level)} answer at random far more than others (up to {worst:.0%})"
    else:
        summary = f"nobody answers at random far more than others (at most {worst:.0%})"
    return Grading(
        "noise",
        noise.share,
        level,
        per_labeler=True,
        columns="groups",
        words=lambda row, column: (
            f"up to {noise.share[row, column]:.0%} of the answers for {measures.groups[column]} "
            f"could be random (usual here: {noise.usual[column]:.0%}): random answers shrink a gap "
            "and widen its interval"
        ),
        summary=summary,
        worst=worst,
    )


def _consensus(gaming: Gaming, measures: Measures) -> Grading:
    share, p_value = gaming.right_together, gaming.right_p_value
    known = np.isfinite(share)
    # Never serious: right is what gold says, and labelers are measured against that.
    level = np.where(known & (p_value < CHANCE / max(int(known.sum()), 1)), LOOK, OK)[None]
    worst = float(share[known].min()) if known.any() else float("nan")
    return Grading(
        "consensus",
        share[None],
        level,
        per_labeler=False,
        columns="groups",
        words=lambda _, column: (
            f"where {measures.is_right} for {measures.groups[column]}, "
            f"{1 - share[column]:.0%} of all answers are wrong: most labelers agree against gold, "
            "so look at gold and at the guidelines, and trust no majority here"
        ),
        summary=f"where {measures.is_right}, at least {worst:.0%} of all answers of every "
        "group are right"
        if known.any()
        else "what labelers say together could not be compared with gold",
        worst=worst,
    )
