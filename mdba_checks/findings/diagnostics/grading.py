"""What a check answers: a number, a level and a sentence, for everybody or for one labeler.

A check grades whole arrays and makes words only where something is not in order, so that a data set
of 100,000 labelers has as many sentences as it has problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mdba_checks.findings.diagnostics.measures import Measures
from mdba_checks.tables import BoolArray, FloatArray, IntArray

Level = Literal["ok", "look", "serious"]
LEVELS: tuple[Level, ...] = ("ok", "look", "serious")
OK, LOOK, SERIOUS = range(3)

# Nobody reads more of one kind; the summary counts them all.
MOST_RECORDS = 1000


@dataclass(frozen=True)
class Diagnostic:
    """One answer of an assumption check.

    Attributes
    ----------
    check
        Which one, for programs: ``covariate_shift``, ``fidelity``, ``gold_positives``,
        ``gold_fit``, ``product_term``, ``c_disagreement``, ``duplicates``, ``gold_in_labels``,
        ``gold_behaviour``, ``noise``, ``consensus``, ``informative_features``, ``chosen_gold``,
        ``families``, ``lack_of_fit``, ``hidden_information``.
    labeler, group
        Whom it is about; None for everybody. A check's summary has neither.
    value
        The number, in the check's own unit; of a summary, the worst one.
    level
        ``ok``, ``look`` (worth a look) or ``serious`` (the finding is inconclusive, unless
        `Policy.on_serious` says otherwise).
    sentence
        What it means.
    attribute, label_class
        Which question it is about, where a check asks several; None for all of them.
    """

    check: str
    labeler: str | None
    group: str | None
    value: float
    level: Level
    sentence: str
    attribute: str | None = None
    label_class: str | None = None


@dataclass(frozen=True)
class Grading:
    """One check's levels, before words are made of them.

    Attributes
    ----------
    value, level
        A row per labeler, or one for all; a column per group or contrast, or one for all.
    per_labeler, columns
        What rows and columns are.
    words
        The sentence about a row and column that is not in order.
    summary, worst
        The sentence about everybody, and its number; NaN where nothing could be looked at, which
        is worth a look.
    shown
        Where a record is made; by default wherever something is not in order.
    blocks
        What a serious level about a labeler stands in the way of: any finding, none, or "fair"
        alone, where it raises a suspicion that must not become an excuse.
    """

    check: str
    value: FloatArray
    level: IntArray
    per_labeler: bool
    columns: Literal["groups", "contrasts", "none"]
    words: Callable[[int, int], str]
    summary: str | None = None
    worst: float = float("nan")
    shown: BoolArray | None = None
    blocks: Literal["any", "fair", "none"] = "any"

    def records(self, measures: Measures) -> Iterator[Diagnostic]:
        """Yield the summary, then what is not in order; of very many, the most serious."""
        if self.summary is not None:
            level = LEVELS[int(self.level.max(initial=LOOK if np.isnan(self.worst) else OK))]
            yield Diagnostic(
                check=self.check,
                labeler=None,
                group=None,
                value=self.worst,
                level=level,
                sentence=self.summary,
            )
        if not self.per_labeler and self.columns == "none":
            return  # the summary has said it
        groups: dict[str, list[str | None]] = {
            "groups": list(measures.groups),
            "contrasts": [measures.groups[each.group] for each in measures.contrasts],
            "none": [None],
        }
        shown = self.level > OK if self.shown is None else self.shown
        places = np.argwhere(shown)
        if len(places) > MOST_RECORDS:
            worst_first = np.argsort(-self.level[shown], kind="stable")
            places = places[np.sort(worst_first[:MOST_RECORDS])]
        for row, column in places.tolist():
            yield Diagnostic(
                check=self.check,
                labeler=measures.labelers[row] if self.per_labeler else None,
                group=groups[self.columns][column],
                value=float(self.value[row, column]),
                level=LEVELS[int(self.level[row, column])],
                sentence=self.words(row, column),
            )


def unsaid(_row: int, _column: int) -> str:
    """Say nothing: where the summary has said it all."""
    return ""


def worth_in_words(count: int, worth: int) -> str:
    """Return what weights or families make of gold items, where that is less than their number.

    Examples
    --------
    >>> worth_in_words(12, 4), worth_in_words(12, 12)
    (' (worth 4 of equal weight)', '')
    """
    return f" (worth {worth} of equal weight)" if worth < count else ""


def levels(look: BoolArray, serious: BoolArray) -> IntArray:
    """Return the worst level that applies."""
    return np.where(serious, SERIOUS, np.where(look, LOOK, OK))


def concerned(level: IntArray) -> str:
    """Say how many labelers a check is about."""
    worst = level.max(axis=1, initial=OK)
    n_serious, n = int((worst == SERIOUS).sum()), len(worst)
    counted = f"{int((worst > OK).sum())} of {n} labeler{'s' if n > 1 else ''}"
    return f"{counted} ({n_serious} seriously)" if n_serious else counted
