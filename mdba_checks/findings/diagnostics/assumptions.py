"""Checks of what the estimate rests on: features that tell something, gold as it comes, models that
fit, and labelers who know no more than the table.

Sentences never name the labeler: who it is about stands beside them and may be pseudonymised.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.config import Policy
from mdba_checks.findings.diagnostics.grading import LOOK, OK, Grading, levels
from mdba_checks.findings.diagnostics.measures import Measures
from mdba_checks.tables import FloatArray

# Below both of these nothing is compared but how often labelers say yes. An AUC of 0.5 is a
# coin; the margin is what 100 gold items with 30 positives cannot tell from it.
TELLS_OF_LABELERS, TELLS_OF_GOLD = 0.6, 0.6
MANY_LABELS = 200  # in a group
# Fires in 2% of clean draws, and in three quarters or more of those where gold was chosen by its
# answers (docs/method.md).
CHOSEN_CLEAR = 3.0
CHOSEN_LEAST = 0.02  # a smaller difference does no harm
FAMILIES_CLEAR = 4.0  # standard errors
FAMILIES_LOOK, FAMILIES_SERIOUS = 0.1, 0.25  # of the gold items, beyond what is usual
FIT_CLEAR = 0.001
# A tolerance below this is finer than models can be.
LEAST_TOLERANCE = 0.05
KNOWS_MUCH = 0.5  # from here on labelers rely on what the table does not hold


def assumptions(measures: Measures, policy: Policy) -> list[Grading]:
    """Return the gradings that apply."""
    found = [
        _tells_nothing(measures),
        _chosen_gold(measures),
        _families(measures),
        _lack_of_fit(measures, policy),
        _hidden_information(measures),
    ]
    return [each for each in found if each is not None]


def _tells_nothing(measures: Measures) -> Grading | None:
    """Grade whether features say anything, about the labeler or about right answers."""
    within, gold = measures.fidelity_within, measures.gold_fit
    if within is None or gold is None:
        return None
    size, known = measures.n_labels, np.isfinite(within)
    # One labeler's AUC says little where they have few labels; that of all stands in.
    weight = np.where(known, size, 0)
    total = np.maximum(weight.sum(axis=0), 1)
    usual = np.where(known.any(axis=0), (weight * np.nan_to_num(within)).sum(axis=0) / total, 0.5)
    own = np.where(known & (size >= MANY_LABELS), within, usual)
    of_gold = np.where(np.isfinite(gold), gold, 0.5)
    nothing = (own < TELLS_OF_LABELERS) & (of_gold[None] < TELLS_OF_GOLD)
    value = np.maximum(own, of_gold[None])
    worst = float(value.min()) if value.size else np.nan
    return Grading(
        "informative_features",
        value,
        levels(nothing, nothing),
        per_labeler=True,
        columns="groups",
        words=lambda row, column: (
            f"the features say next to nothing about {measures.groups[column]}: neither what the "
            f"labeler decides (AUC {own[row, column]:.2f}) nor what is right (AUC "
            f"{of_gold[column]:.2f}; 0.5 is a coin). Add columns that decisions depend on, or name "
            "the text column"
        ),
        summary=(
            "in some groups the features predict neither labelers nor gold"
            if nothing.any()
            else f"features predict labelers or gold in every group (AUC at least {worst:.2f})"
        ),
        worst=worst,
    )


def _chosen_gold(measures: Measures) -> Grading | None:
    chosen = measures.chosen
    if chosen is None:
        return None
    difference, z = chosen.on_gold - chosen.on_labels, chosen.z
    clear = (np.abs(z) > CHOSEN_CLEAR) & (np.abs(difference) > CHOSEN_LEAST)
    known = np.isfinite(z)
    worst = float(np.abs(difference[known]).max(initial=0.0)) if known.any() else np.nan
    level = np.broadcast_to(levels(clear, clear), (len(measures.labelers), len(measures.groups)))

    def words(_: int, column: int) -> str:
        more = "more" if difference[column] > 0 else "less"
        return (
            f"{measures.words.positive} is expected on {chosen.on_gold[column]:.0%} of the gold "
            f"items of {measures.groups[column]} and on {chosen.on_labels[column]:.0%} of the "
            f"labeled ones, {more} than chance explains: gold seems to be chosen by its answers. "
            "Draw gold at random within groups, or give the weights it was drawn with "
            "(columns.gold_weight)"
        )

    return Grading(
        "chosen_gold",
        np.broadcast_to(difference, level.shape),
        level,
        per_labeler=True,
        columns="groups",
        words=words,
        summary=(
            "gold items are not like the labeled ones in what is probably right "
            f"(shares differ by up to {worst:.0%})"
            if clear.any()
            else f"what is probably right is alike in gold and labels (within {worst:.1%})"
        )
        if known.any()
        else "gold and labels could not be compared in what is probably right",
        worst=worst,
        shown=np.zeros(level.shape, dtype=bool)
        if not clear.any()
        else np.concatenate([clear[None], np.zeros((len(level) - 1, level.shape[1]), dtype=bool)]),
    )


def _families(measures: Measures) -> Grading | None:
    if not measures.estimator.needs_gold_positives:
        return None
    found = measures.inspection.families
    more = found.share - found.usual
    with np.errstate(invalid="ignore"):
        clear = more > FAMILIES_CLEAR * found.error
        graded = levels(clear & (more > FAMILIES_LOOK), clear & (more > FAMILIES_SERIOUS))
    known = np.isfinite(more)
    worst = float(found.share[known].max(initial=0.0)) if known.any() else np.nan
    level = np.broadcast_to(graded, (len(measures.labelers), len(measures.groups)))
    shown = np.zeros(level.shape, dtype=bool)
    shown[:1] = graded > OK
    return Grading(
        "families",
        np.broadcast_to(found.share, level.shape),
        level,
        per_labeler=True,
        columns="groups",
        words=lambda _, column: (
            f"{found.share[column]:.0%} of the gold items of {measures.groups[column]} have a near "
            f"copy in gold (usual here: {found.usual[column]:.0%}), so that gold is worth less "
            "than its number of items. Name the column that tells families of items apart "
            "(columns.cluster), or draw gold at random"
        ),
        summary=(
            "gold holds near copies of items: a family of them is one piece of evidence "
            f"(up to {worst:.0%} of the items of a group)"
            if graded.any()
            else "gold holds no more near copies than the labeled items"
        )
        if known.any()
        else "there are too few items to see whether gold holds near copies",
        worst=worst,
        shown=shown,
    )


def _lack_of_fit(measures: Measures, policy: Policy) -> Grading | None:
    fit = measures.fit
    if fit is None:
        return None
    limit = max(policy.max_gap, LEAST_TOLERANCE)
    with np.errstate(invalid="ignore", divide="ignore"):
        moved: FloatArray = np.nan_to_num(fit.product / measures.gold_share)
    unfit = (fit.p_f < FIT_CLEAR) & (fit.p_g < FIT_CLEAR)
    # With many rows the smallest misfit is clear; what matters is how far it can move a rate.
    level = levels(unfit & (moved > limit / 20), unfit & (moved > limit))
    worst = float(moved.max(initial=0.0))

    def words(_: int, column: int) -> str:
        return (
            f"for {measures.groups[column]} both the models of labelers and that of right answers "
            f"miss something that the features say; a rate could be off by {moved[column]:.3f}, "
            "which the interval allows for: more gold items help, or columns that say it plainly"
        )

    return Grading(
        "lack_of_fit",
        np.broadcast_to(moved, (len(measures.labelers), len(moved))),
        np.broadcast_to(level, (len(measures.labelers), len(moved))),
        per_labeler=True,
        columns="groups",
        words=words,
        summary=f"what models leave in the data could move a rate by up to {worst:.3f}",
        worst=worst,
        shown=np.zeros((len(measures.labelers), len(moved)), dtype=bool)
        if not level.any()
        else np.concatenate(
            [(level > OK)[None], np.zeros((len(measures.labelers) - 1, len(moved)), dtype=bool)]
        ),
    )


def _hidden_information(measures: Measures) -> Grading | None:
    hidden = measures.hidden
    if hidden is None:
        return None
    sources = {
        "direct": "measured on gold items that were labeled",
        "pairs": "bounded by how far labelers agree beyond the features",
        "unknown": "not measured: no gold item was labeled and no item has several labels",
    }
    level = np.where(hidden.measured & (hidden.theta > KNOWS_MUCH), LOOK, OK)[None]
    worst = float(hidden.theta[hidden.measured].max(initial=0.0)) if hidden.measured.any() else 0.0

    def words(_: int, column: int) -> str:
        return (
            f"for {measures.groups[column]} labelers seem to know much that the table does not "
            f"hold (theta {hidden.theta[column]:.2f}; 0 nothing, 1 all; "
            f"{sources[hidden.source[column]]}): the estimate is corrected for it. Columns that "
            "say what they see would make it surer"
        )

    if hidden.measured.any():
        summary = f"what labelers know beyond the features: theta at most {worst:.2f} of 1"
    else:
        summary = f"what labelers know beyond the features is {sources['unknown']}"
    return Grading(
        "hidden_information",
        hidden.theta[None],
        level,
        per_labeler=False,
        columns="groups",
        words=words,
        summary=summary,
        worst=worst,
        blocks="none",
    )
