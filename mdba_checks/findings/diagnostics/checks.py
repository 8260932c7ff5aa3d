"""The checks: from numbers to levels and sentences, under a policy.

Sentences never name the labeler: who it is about stands beside them and may be pseudonymised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mdba_checks.config import Policy
from mdba_checks.errors import quoted
from mdba_checks.findings.diagnostics.assumptions import assumptions
from mdba_checks.findings.diagnostics.grading import (
    LOOK,
    OK,
    SERIOUS,
    Diagnostic,
    Grading,
    concerned,
    levels,
    unsaid,
    worth_in_words,
)
from mdba_checks.findings.diagnostics.measures import Measures
from mdba_checks.findings.diagnostics.suspicions import suspicions
from mdba_checks.tables import FloatArray, IntArray, Question

# AUC 0.65 is where the means of two samples lie half a standard deviation apart: with models that
# are fitted to both, that still does little. At 0.8 (1.2 standard deviations) most gold items say
# nothing about most of the labeler's items.
SHIFT_LOOK, SHIFT_SERIOUS = 0.65, 0.8
# How often chance may raise an alarm about shift anywhere in a data set.
SHIFT_CHANCE = 0.01
# Little better than a coin. The doubly robust estimate stays right as long as g is.
FIDELITY_LOOK = 0.65
# An AUC that is known less well than this (standard error) is not judged.
FIDELITY_KNOWN = 0.09
GOLD_FIT_LOOK = 0.7
# From about here on the normal approximation behind the intervals is a good one.
GOLD_POSITIVES_LOOK = 30
# A tolerance below this is finer than models can be; without a floor, max_gap = 0 would make every
# estimate suspect.
LEAST_TOLERANCE = 0.05
# A few rows are sent twice everywhere; from a third on, the table is not what it seems to be.
REPEATS_LOOK, REPEATS_SERIOUS = 0.01, 0.3
GOLD_ALIKE_LOOK = 0.01  # beyond coincidence
NOTHING_ESTIMATED = "not a single gap could be estimated, so there is nothing to look at"


def diagnose(measures: Measures, policy: Policy) -> tuple[Diagnostic, ...]:
    """Return what the checks say under a policy.

    One summary per check that applies, and a record for every labeler or group that is not in
    order (for shift between all labels and gold: for every group).

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, gold_per_group=150, seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> print(next(d.sentence for d in assessment.diagnostics if d.check == "gold_positives"))
    gold items where yes is right: men 30, women 30
    """
    return tuple(
        record for grading in grade(measures, policy) for record in grading.records(measures)
    )


def diagnose_all(each: Sequence[Measures], policy: Policy) -> tuple[Diagnostic, ...]:
    """Return what the checks say about several questions.

    What is the same for all of them is said once; the rest names its question.
    """
    if len(each) == 1:
        return diagnose(each[0], policy)
    questions = [measures.question for measures in each]
    asked: dict[Diagnostic, list[Question]] = {}
    for measures in each:
        for said in diagnose(measures, policy):
            asked.setdefault(said, []).append(measures.question)
    return tuple(
        said
        if len(about) == len(each)
        else replace(
            said,
            attribute=one.attribute,
            label_class=one.label_class,
            sentence=f"{one.title(questions)}: {said.sentence}",
        )
        for said, about in asked.items()
        for one in about[: 1 if len(about) == len(each) else None]
    )


def grade(measures: Measures, policy: Policy) -> list[Grading]:
    """Return the gradings of all checks that apply to the estimator."""
    found: list[Grading | None] = []
    if measures.estimator.needs_gold_positives:
        found += [_gold_positives(measures, policy), *_covariate_shift(measures)]
    found += [_fidelity(measures), _gold_fit(measures), _product_term(measures, policy)]
    found += [_c_disagreement(measures, policy), _duplicates(measures)]
    if measures.estimator.needs_gold_positives:
        found.append(_gold_in_labels(measures))
    found += assumptions(measures, policy)
    found += suspicions(measures, policy)
    return [each for each in found if each is not None]


def _covariate_shift(measures: Measures) -> tuple[Grading, Grading]:
    shift = measures.inspection.shift
    n_tests = max(np.isfinite(shift.auc).sum() + np.isfinite(shift.auc_of_all).sum(), 1)

    def level(auc: FloatArray, p_value: FloatArray) -> IntArray:
        clear = p_value < SHIFT_CHANCE / n_tests
        return levels(clear & (auc >= SHIFT_LOOK), clear & (auc >= SHIFT_SERIOUS))

    own = level(shift.auc, shift.p_value)
    judged = np.isfinite(shift.auc)
    of_all = level(shift.auc_of_all, shift.p_value_of_all)
    # Gold is unlike everybody's items where it is unlike those of most labelers, one by one.
    most = judged.sum(axis=0) / 2
    shared = sum(((own >= each).sum(axis=0) >= most).astype(int) for each in (LOOK, SERIOUS))
    of_all = np.minimum(of_all, shared)
    # That is said once; and it is all that is known of labelers with few items.
    shown = own > of_all
    effective = np.where(judged, own, np.where(measures.n_labels > 0, of_all, OK))

    def differ(auc: float, group: str, whose: str, graded: int, most: int) -> str:
        then = {LOOK: ": gold may not stand for them", SERIOUS: ": gold cannot stand for them"}
        where = f", most in column {shift.features[most]!r}" if graded and shift.features else ""
        return (
            f"{whose} items of {group} {'differ from' if graded else 'are like'} the gold items of "
            f"{group}{where} (two-sample AUC {auc:.2f}; 0.5 means alike){then.get(graded, '')}"
        )

    seen = np.concatenate([shift.auc_of_all[np.isfinite(shift.auc_of_all)], shift.auc[shown]])
    worst = float(seen.max()) if len(seen) else float("nan")
    if not len(seen):
        summary = "there are too few items to see whether labeled items and gold items are alike"
    elif of_all.max() > OK:
        summary = f"the labeled items differ from the gold items (two-sample AUC up to {worst:.2f})"
    elif shown.any():
        summary = (
            f"the items of {concerned(own)} differ from the gold items "
            f"(two-sample AUC up to {worst:.2f})"
        )
    else:
        summary = f"labeled items and gold items are alike (two-sample AUC at most {worst:.2f})"

    def of_everybody(column: int) -> str:
        return differ(
            shift.auc_of_all[column],
            measures.groups[column],
            "the labeled",
            of_all[column],
            shift.most_of_all[column],
        )

    def words(row: int, column: int) -> str:
        auc, group = shift.auc[row, column], measures.groups[column]
        if judged[row, column]:
            return differ(auc, group, "the labeler's", own[row, column], shift.most[row, column])
        return of_everybody(column)

    together = Grading(
        "covariate_shift",
        shift.auc_of_all[None],
        of_all[None],
        per_labeler=False,
        columns="groups",
        words=lambda _, column: of_everybody(column),
        shown=np.isfinite(shift.auc_of_all)[None],
        blocks="none",
    )
    one_by_one = Grading(
        "covariate_shift",
        shift.auc,
        effective,
        per_labeler=True,
        columns="groups",
        words=words,
        summary=summary,
        worst=worst,
        shown=shown,
    )
    return one_by_one, together


def _fidelity(measures: Measures) -> Grading | None:
    if measures.fidelity is None:
        return None
    auc = measures.fidelity[:, None]
    yes, n = measures.n_positive.sum(axis=1), measures.n_labels.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt((n + 1) / (12 * yes * (n - yes)))  # of the AUC of a coin
    known = (error <= FIDELITY_KNOWN)[:, None] & np.isfinite(auc)
    level = np.where(known & (auc < FIDELITY_LOOK), LOOK, OK)
    worst = float(auc[known].min()) if known.any() else float("nan")
    then = (
        "the estimate leans on the model of gold, and is right as long as that one is"
        if measures.estimator.is_doubly_robust
        else "this estimator depends on that model; mdba_dr does not alone"
    )
    if not known.any():
        summary = "no labeler has enough labels to say how well their decisions are predicted"
    elif level.any():
        summary = (
            f"the decisions of {concerned(level)} are hard to predict "
            f"(out-of-fold AUC down to {worst:.2f})"
        )
    else:
        summary = f"decisions are predicted well (out-of-fold AUC at least {worst:.2f})"
    return Grading(
        "fidelity",
        auc,
        level,
        per_labeler=True,
        columns="none",
        words=lambda row, _: (
            f"the labeler's decisions are hard to predict from the features (out-of-fold AUC "
            f"{auc[row, 0]:.2f}; 0.5 is a coin): {then}"
        ),
        summary=summary,
        worst=worst,
    )


def _gold_positives(measures: Measures, policy: Policy) -> Grading:
    count, worth = measures.n_gold_positive, measures.worth_positive
    least = policy.min_gold_positives
    level = levels(worth < GOLD_POSITIVES_LOOK, worth < least)[None]
    some = sorted(zip(count.tolist(), measures.groups, strict=True))[:5]
    shown = ", ".join(
        f"{quoted(name)} {number}" for name, number in sorted((g, n) for n, g in some)
    )
    more = " (those with fewest)" if len(count) > len(some) else ""

    def words(_: int, column: int) -> str:
        found = f"gold has {count[column]} item{'s' if count[column] != 1 else ''} of "
        found += f"{measures.groups[column]} where {measures.is_right}"
        found += worth_in_words(int(count[column]), int(worth[column]))
        if worth[column] < least:
            return f"{found}; at least {least} are needed (policy.min_gold_positives)"
        return f"{found}: intervals rest on few items; {GOLD_POSITIVES_LOOK} make them reliable"

    return Grading(
        "gold_positives",
        count[None].astype(float),
        level,
        per_labeler=False,
        columns="groups",
        words=words,
        summary=f"gold items where {measures.is_right}: {shown}{more}",
        worst=float(count.min()),
        blocks="none",  # the policy's limit is an obstacle of its own
    )


def _gold_fit(measures: Measures) -> Grading | None:
    auc = measures.gold_fit
    if auc is None:
        return None
    known = np.isfinite(auc)
    worst = float(auc[known].min()) if known.any() else float("nan")
    summary = (
        f"what is right is predicted with an out-of-fold AUC of at least {worst:.2f}"
        f"{' in every group' if known.all() else ' where gold has items of both kinds'}"
        if known.any()
        else "no group has gold items of both kinds to see how well the right decision is predicted"
    )

    def words(_: int, column: int) -> str:
        group = measures.groups[column]
        if not known[column]:
            return f"gold has one kind of items of {group}: nobody can see how well g predicts them"
        return (
            f"what is right for {group} is hard to predict (out-of-fold AUC {auc[column]:.2f} on "
            "gold): features may lack what decides, or gold is noisy"
        )

    return Grading(
        "gold_fit",
        auc[None],
        np.where(known & (auc >= GOLD_FIT_LOOK), OK, LOOK)[None],
        per_labeler=False,
        columns="groups",
        words=words,
        summary=summary,
        worst=worst,
    )


def _product_term(measures: Measures, policy: Policy) -> Grading | None:
    value = measures.product
    if value is None:
        return _product_bound(measures)
    limit = max(policy.max_gap, LEAST_TOLERANCE)
    level = levels(value > limit / 2, value > limit)
    worst = _largest(value)
    summary = (
        "errors that the models of labelers and of gold have in common could move a gap by up to "
        f"{worst:.3f}{f'; {concerned(level)} concerned' if level.any() else ''}"
    )
    return Grading(
        "product_term",
        value,
        level,
        per_labeler=True,
        columns="contrasts",
        words=lambda row, column: (
            f"errors that the models of the labeler and of gold have in common could move the gap "
            f"by {value[row, column]:.3f} (limit: {limit:g}); the interval allows for it"
        ),
        summary=summary if np.isfinite(worst) else NOTHING_ESTIMATED,
        worst=worst,
    )


def _product_bound(measures: Measures) -> Grading | None:
    value = measures.product_bound
    if value is None:
        return None
    worst = _largest(value)
    return Grading(
        "product_term",
        value,
        np.zeros(value.shape, dtype=int),
        per_labeler=True,
        columns="contrasts",
        words=unsaid,
        summary=(
            f"if the models of labeler and gold erred on the same items in the same way, a gap "
            f"could be off by {min(worst, 1.0):.2f}; for information, the worst case in theory"
        )
        if np.isfinite(worst)
        else NOTHING_ESTIMATED,
        worst=worst,
    )


def _c_disagreement(measures: Measures, policy: Policy) -> Grading | None:
    value = measures.c_spread
    if value is None:
        return None
    limit = max(policy.max_gap, LEAST_TOLERANCE)
    # Never serious: far from c = 1 the thresholds themselves bend the gap, also for good models.
    level = np.where(value > limit, LOOK, OK)
    worst = _largest(value)
    return Grading(
        "c_disagreement",
        value,
        level,
        per_labeler=True,
        columns="contrasts",
        words=lambda row, column: (
            f"the gaps from different c lie {value[row, column]:.2f} apart: the answer depends on "
            "the choice of c"
        ),
        summary=f"gaps from different c lie at most {worst:.2f} apart"
        + (f"; {concerned(level)} concerned" if level.any() else "")
        if np.isfinite(worst)
        else NOTHING_ESTIMATED,
        worst=worst,
    )


def _largest(value: FloatArray) -> float:
    known = value[np.isfinite(value)]
    return float(known.max()) if len(known) else float("nan")


def _duplicates(measures: Measures) -> Grading:
    repeats = measures.inspection.repeats
    share = repeats.share[:, None]
    # With item names, mdba_dr counts all rows of a labeler about one item as one piece of evidence.
    counted_once = repeats.by_item and measures.estimator.is_doubly_robust
    level = levels(share > REPEATS_LOOK, (share > REPEATS_SERIOUS) & (not counted_once))
    same = "about the same item" if repeats.by_item else "with the same features"
    if counted_once:
        then = "they count as one"
    elif repeats.by_item:
        then = "they count as if they were different items"
    else:
        then = "remove copies, or name an item column if they are different items"
    worst = float(share.max(initial=0.0))
    if not repeats.comparable:
        summary = "many items have the same features: only an item column could show repeated rows"
    elif level.any():
        summary = f"{concerned(level)} repeat rows {same} (up to {worst:.0%} of their rows)"
    else:
        summary = f"at most {worst:.1%} of a labeler's rows repeat an earlier one {same}"
    return Grading(
        "duplicates",
        share,
        level,
        per_labeler=True,
        columns="none",
        words=lambda row, _: (
            f"{share[row, 0]:.0%} of the labeler's rows repeat an earlier one {same}: {then}"
        ),
        summary=summary,
        worst=worst,
    )


def _gold_in_labels(measures: Measures) -> Grading:
    repeats, n_gold = measures.inspection.repeats, int(measures.n_gold.sum())
    alike = repeats.gold_alike
    leaks = alike > repeats.gold_twins + max(1, GOLD_ALIKE_LOOK * n_gold)
    found = repeats.gold_by_item + (alike if leaks else 0)
    if leaks:
        summary = (
            f"{alike} of {n_gold} gold items equal a labeled one in all features, more than by "
            "coincidence: models may have seen them; an item column in both tables would tell"
        )
    elif repeats.gold_by_item:
        summary = (
            f"{repeats.gold_by_item} of {n_gold} gold items were labeled too: models are kept from "
            "them, and decisions on them are used as direct evidence"
        )
    elif repeats.gold_twins < n_gold / 2:
        summary = "gold items do not stand in the labels"
    else:
        summary = (
            "many items have the same features: only an item column could show gold in the labels"
        )
    share = np.array([[found / n_gold]])
    return Grading(
        "gold_in_labels",
        share,
        np.array([[LOOK if leaks else OK]]),
        per_labeler=False,
        columns="none",
        words=unsaid,
        summary=summary,
        worst=float(share[0, 0]),
    )
