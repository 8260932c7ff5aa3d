"""Obstacles: the comparisons about which nothing can be concluded, and why.

Either there is too little to go by, or an assumption plainly does not hold. The first is always an
obstacle, the second unless the policy asks for findings all the same. Beside obstacles there are
doubts: they stand in the way of "fair" alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mdba_checks.config import Policy
from mdba_checks.findings.diagnostics.checks import grade
from mdba_checks.findings.diagnostics.grading import SERIOUS, Grading, worth_in_words
from mdba_checks.findings.diagnostics.measures import Measures
from mdba_checks.tables import BoolArray, IntArray

Cause = Literal["evidence", "assumption"]

# A group that holds less of "everyone else" than this cannot spoil the comparison with them.
_PART_OF_REST = 0.2
# They say for every labeled item how likely yes is right. Taught by one kind of gold alone they say
# the same of all items, and what is compared is how often people say yes at all.


@dataclass(frozen=True)
class Obstacle:
    """Why nothing can be concluded: too little evidence, or an assumption that does not hold."""

    text: str
    cause: Cause


def obstacles(measures: Measures, policy: Policy) -> tuple[Obstacle | None, ...]:
    """Return what is in the way, per labeler and contrast (labeler by labeler); None: nothing.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, gold_per_group=150, seed=1)
    >>> strict = CheckConfig(reference="men", policy={"min_gold_positives": 31})
    >>> print(assess(made.labels, made.gold, strict).gaps["reason"].iloc[0])
    gold has 30 items of women where yes is right; at least 31 are needed ...
    """
    little = np.full((len(measures.labelers), len(measures.contrasts)), "", dtype=object)
    _too_little(little, measures, policy)
    failed = np.full_like(little, "")
    _all_serious(failed, measures, policy, "any")
    # Too little comes first, because there a check sees little as well.
    return tuple(
        Obstacle(lack, "evidence") if lack else Obstacle(text, "assumption") if text else None
        for lack, text in zip(little.ravel(), failed.ravel(), strict=True)
    )


def doubts(measures: Measures, policy: Policy) -> tuple[str, ...]:
    """Return a text per labeler and contrast: why somebody cannot be called fair or borderline.

    Empty means no doubt. Biased they may be called in any case.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, gold_per_group=150, seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> doubts(assessment.estimated[0].measures, assessment.config.policy)
    ('', '')
    """
    texts = np.full((len(measures.labelers), len(measures.contrasts)), "", dtype=object)
    _all_serious(texts, measures, policy, "fair")
    return tuple(texts.ravel())


def _all_serious(
    texts: np.ndarray, measures: Measures, policy: Policy, what: Literal["any", "fair"]
) -> None:
    if policy.on_serious == "inconclusive":
        for grading in grade(measures, policy):
            if grading.per_labeler and grading.blocks == what:
                _serious(texts, grading, measures)


def _put(texts: np.ndarray, where: BoolArray, column: int, text: str) -> None:
    """Name an obstacle where none is named yet."""
    here = where & (texts[:, column] == "")
    texts[here, column] = text


def _too_little(texts: np.ndarray, measures: Measures, policy: Policy) -> None:
    least, metric = policy.min_gold_positives, measures.metric
    other = measures.words.is_right("no" if metric.right == "yes" else "yes")
    n, positive = measures.n_labels.sum(axis=1), measures.n_positive.sum(axis=1)
    one_sided = np.flatnonzero((positive == 0) | (positive == n))
    for column, contrast in enumerate(measures.contrasts):
        sides = (
            (measures.groups[contrast.group], np.array([contrast.group])),
            (measures.reference_name(contrast), measures.members(contrast)),
        )
        for name, codes in sides:
            nobody = measures.n_labels[:, codes].sum(axis=1) == 0
            _put(texts, nobody, column, f"has no labels for {name}")
            found = int(measures.n_gold_positive[codes].sum())
            worth = int(measures.worth_positive[codes].sum())
            if measures.estimator.needs_gold_positives and worth < least:
                text = (
                    f"gold has {found} item{'s' if found != 1 else ''} of {name} where "
                    f"{measures.is_right}{worth_in_words(found, worth)}; at least {least} "
                    "are needed (policy.min_gold_positives)"
                )
                _put(texts, np.full(len(texts), fill_value=True), column, text)
            if measures.estimator.learns_right_answers and found == measures.n_gold[codes].sum():
                text = (
                    f"gold has no item of {name} where {other}, so that it "
                    "cannot tell such items apart: gold needs both kinds, as they come"
                )
                _put(texts, np.full(len(texts), fill_value=True), column, text)
        for row in one_sided:
            if measures.pooled is not None and measures.pooled[row, column]:
                continue  # what others decide on such items says how much that means
            if texts[row, column] == "":
                said = measures.words.same_for_all("yes" if positive[row] else "no", n[row])
                texts[row, column] = f"{said}: there is nothing to compare"


def _serious(texts: np.ndarray, grading: Grading, measures: Measures) -> None:
    if not (grading.level == SERIOUS).any():
        return
    for column in range(len(measures.contrasts)):
        of_grading = _columns(grading, measures, column)
        level = grading.level[:, of_grading]
        for row in np.flatnonzero((level == SERIOUS).any(axis=1)):
            place = int(of_grading[int(np.argmax(level[row] == SERIOUS))])
            texts[row, column] = texts[row, column] or grading.words(int(row), place)


def _columns(grading: Grading, measures: Measures, column: int) -> IntArray:
    """Return the columns of a grading that matter to a contrast."""
    if grading.columns == "none":
        return np.array([0])
    if grading.columns == "contrasts":
        return np.array([column])
    contrast = measures.contrasts[column]
    rest = measures.members(contrast)
    size = measures.n_labels.sum(axis=0)[rest]
    return np.array([contrast.group, *rest[size >= _PART_OF_REST * size.sum()]])
