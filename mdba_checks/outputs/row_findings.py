"""What is known about every row: the findings of its labeler and group, and what is probably right.

`RowFindings` holds a few numbers per labeler and group. It goes to wherever the rows are: it can be
sent to the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from mdba_checks.assessment import Assessment
from mdba_checks.findings import INCONCLUSIVE, SEVERITY, Estimated
from mdba_checks.tables import BoolArray, FloatArray, IntArray, Table, as_names, combined_names

_NUMBERS = ("gap", "ci_low", "ci_high")
ADDED_COLUMNS = ("mdba_gap", "mdba_ci_low", "mdba_ci_high", "mdba_finding", "mdba_p_positive")

# A rate of 0 or 1 comes from few items; as a likelihood it would silence all other evidence.
_LEAST, _MOST = 0.01, 0.99


@dataclass(frozen=True)
class Cells:
    """Which labeler and which group every row of the labels belongs to.

    Attributes
    ----------
    labelers, groups
        Names; pseudonyms if the assessment knows labelers by them.
    labeler, group
        Per row, the place of its name among the names; -1 where the row has none.
    """

    labelers: tuple[str, ...]
    groups: tuple[str, ...]
    labeler: IntArray
    group: IntArray

    @property
    def count(self) -> int:
        """How many pairs of a labeler and a group there are."""
        return len(self.labelers) * len(self.groups)

    def number(self, labelers: Iterable[str], groups: Iterable[str]) -> IntArray:
        """Return the numbers of pairs by their names."""
        return _numbers_of(self.labelers, self.groups, labelers, groups)

    def spread(self, values: Any, absent: Any) -> Any:
        """Return the value of every row's pair; `absent` for rows that belong to none."""
        inside = (self.labeler >= 0) & (self.group >= 0)
        return np.where(inside, values[self.labeler * len(self.groups) + self.group], absent)


@dataclass(frozen=True)
class _Places:
    """How the rows of a table find their labeler and group in one question."""

    column: str
    columns: tuple[str, ...]  # of the group
    labelers: tuple[str, ...]
    groups: tuple[str, ...]
    known: Mapping[str, int]  # labelers as the table names them

    @classmethod
    def of(cls, assessment: Assessment, asked: Estimated) -> _Places:
        labelers, groups = asked.measures.labelers, asked.measures.groups
        known = {name: place for place, name in enumerate(labelers)}
        if assessment.pseudonyms is not None:
            known = {name: known[alias] for name, alias in assessment.pseudonyms.items()}
        return cls(
            column=assessment.config.columns.labeler,
            columns=tuple(asked.question.columns),
            labelers=labelers,
            groups=groups,
            known=known,
        )

    def cells(self, table: Table) -> Cells:
        columns = [table.column(name) for name in self.columns]
        if len(columns) > 1:
            columns = [pa.chunked_array([combined_names([as_names(each) for each in columns])])]
        return Cells(
            labelers=self.labelers,
            groups=self.groups,
            labeler=places_of(table.column(self.column), self.known),
            group=places_of(columns[0], {name: place for place, name in enumerate(self.groups)}),
        )


def locate(table: Table, assessment: Assessment, asked: Estimated | None = None) -> Cells:
    """Find the labeler and the group of every row of a table that the check has read.

    `asked` says by which question rows are grouped; by default the first.
    """
    return _Places.of(assessment, asked or assessment.estimated[0]).cells(table)


@dataclass(frozen=True)
class _Answer:
    """What one question says about every pair of a labeler and a group."""

    places: _Places
    attribute: str
    by_class: bool
    numbers: Mapping[str, FloatArray]
    severity: IntArray  # place in `SEVERITY`, the most severe first
    rates: tuple[FloatArray, FloatArray] | None  # tpr and fpr

    @classmethod
    def of(cls, assessment: Assessment, asked: Estimated) -> _Answer:
        places, question = _Places.of(assessment, asked), asked.question
        gaps = assessment.gaps
        gaps = gaps[gaps["attribute"] == question.attribute]
        if question.label_class is not None:
            gaps = gaps[gaps["class"] == question.label_class]
        labelers, groups = places.labelers, places.groups
        place = _numbers_of(labelers, groups, gaps["labeler"], gaps["group"])
        count = len(labelers) * len(groups)
        numbers: dict[str, FloatArray] = {}
        for name in _NUMBERS:
            numbers[name] = np.full(count, np.nan)
            numbers[name][place] = gaps[name]
        ranks = gaps["finding"].map(SEVERITY)
        worst = ranks.groupby(gaps["labeler"]).min().reindex(list(labelers)).to_numpy()
        severity = np.repeat(worst, len(groups))
        severity[place] = ranks
        rates = None
        if asked.rates is not None and asked.p_right is not None:
            place = _numbers_of(labelers, groups, asked.rates["labeler"], asked.rates["group"])
            tpr, fpr = np.full(count, np.nan), np.full(count, np.nan)
            tpr[place] = asked.rates["tpr"].clip(_LEAST, _MOST)
            fpr[place] = asked.rates["fpr"].clip(_LEAST, _MOST)
            rates = tpr, fpr
        return cls(
            places=places,
            attribute=question.attribute,
            by_class=question.label_class is not None,
            numbers=numbers,
            severity=severity,
            rates=rates,
        )

    def p_positive(
        self, cells: Cells, decision: IntArray, p_right: FloatArray | None
    ) -> FloatArray:
        """Return the probability that yes is right, by Bayes' rule: g before, then the decision."""
        said_yes = decision == 1
        if self.rates is None or p_right is None:
            return np.full(len(said_yes), np.nan)
        likelihood = []
        for rate in self.rates:
            yes = cells.spread(rate, np.nan)
            likelihood.append(np.where(said_yes, yes, 1 - yes))
        right, wrong = p_right * likelihood[0], (1 - p_right) * likelihood[1]
        p: FloatArray = right / (right + wrong)
        return p


@dataclass(frozen=True)
class KnownOfRows:
    """What an assessment knows of some rows, per question: decisions, and g where it is modelled.

    Decisions are 0 or 1, and -1 for rows that were dropped.
    """

    decision: tuple[IntArray, ...]
    p_right: tuple[FloatArray | None, ...]

    @classmethod
    def of(cls, assessment: Assessment) -> KnownOfRows:
        """Return what is known of all rows, in the order in which they were assessed."""
        asked = assessment.estimated
        return cls(tuple(e.decision for e in asked), tuple(e.p_right for e in asked))

    def slice(self, begin: int, end: int) -> KnownOfRows:
        """Return what is known of the rows from one place to another."""
        return KnownOfRows(
            tuple(each[begin:end] for each in self.decision),
            tuple(None if each is None else each[begin:end] for each in self.p_right),
        )


@dataclass(frozen=True)
class RowFindings:
    """What an assessment says about a row, once its labeler and its groups are known.

    Where a check asks several questions, each row has what the worst answer about it says: the most
    severe finding, and of several such the largest gap. `mdba_p_positive` is then that of the same
    attribute and, where every class is looked at, the probability that the row's own label is
    right.
    """

    answers: tuple[_Answer, ...]

    @classmethod
    def of(cls, assessment: Assessment) -> RowFindings:
        """Return the findings of an assessment, without what it knows of single rows."""
        return cls(tuple(_Answer.of(assessment, each) for each in assessment.estimated))

    @property
    def columns(self) -> list[str]:
        """The columns that rows are found by."""
        named = [n for each in self.answers for n in (each.places.column, *each.places.columns)]
        return list(dict.fromkeys(named))

    def rows(self, table: Table, known: KnownOfRows) -> pd.DataFrame:
        """Return the five columns, one row per row of a table whose names were read as names."""
        dropped = known.decision[0] < 0
        by_attribute: dict[str, FloatArray] = {}
        found: list[_Found] = []
        for number, each in enumerate(self.answers):
            decision, cells = known.decision[number], each.places.cells(table)
            found.append(_Found.of(each, cells, dropped, number))
            p_positive = each.p_positive(cells, decision, known.p_right[number])
            if each.by_class:
                before = by_attribute.get(each.attribute, np.full(len(p_positive), np.nan))
                p_positive = np.where(decision == 1, p_positive, before)
            by_attribute[each.attribute] = p_positive
        worst = reduce(_Found.worse_of, found)  # a check asks at least one question
        attributes = list(by_attribute)
        place = np.array([attributes.index(each.attribute) for each in self.answers])
        stacked = np.stack(list(by_attribute.values()))
        return pd.DataFrame(
            {
                **{f"mdba_{name}": worst.numbers[name] for name in _NUMBERS},
                "mdba_finding": np.array(list(SEVERITY), dtype=object)[worst.severity],
                "mdba_p_positive": stacked[place[worst.question], np.arange(len(dropped))],
            },
            columns=list(ADDED_COLUMNS),
        )


def findings_by_row(table: Table, assessment: Assessment) -> pd.DataFrame:
    """Return the five columns alone, one row per row of a table that was assessed."""
    return RowFindings.of(assessment).rows(table, KnownOfRows.of(assessment))


@dataclass(frozen=True)
class _Found:
    """What was found about every row: numbers, how severe it is, and by which question."""

    numbers: Mapping[str, FloatArray]
    severity: IntArray
    question: IntArray

    @classmethod
    def of(cls, answer: _Answer, cells: Cells, dropped: BoolArray, question: int) -> _Found:
        """Return what one question says about every row."""
        numbers = {
            name: np.where(dropped, np.nan, cells.spread(by_cell, np.nan))
            for name, by_cell in answer.numbers.items()
        }
        unknown = SEVERITY[INCONCLUSIVE]
        rows = np.where(dropped, unknown, cells.spread(answer.severity, unknown)).astype(np.int64)
        return cls(numbers, rows, np.full(len(rows), question))

    def worse_of(self, other: _Found) -> _Found:
        """Return, row by row, the one that is worse; of two equal ones, this."""
        sizes = (np.abs(each.numbers["gap"]) for each in (self, other))
        mine, theirs = (np.nan_to_num(size, nan=-1) for size in sizes)
        worse = (other.severity < self.severity) | (
            (other.severity == self.severity) & (theirs > mine)
        )
        numbers = {
            name: np.where(worse, other.numbers[name], own) for name, own in self.numbers.items()
        }
        return _Found(
            numbers,
            np.where(worse, other.severity, self.severity),
            np.where(worse, other.question, self.question),
        )


def places_of(column: pa.ChunkedArray, known: Mapping[str, int]) -> IntArray:
    """Return the places of a column's names among those that are known; -1 for others."""
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    # Appending -1 lets a missing code (-1) find it as the last entry.
    place = np.array([*(known.get(name, -1) for name in encoded.dictionary.to_pylist()), -1])
    places: IntArray = place[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return places


def _numbers_of(
    all_labelers: Sequence[str],
    all_groups: Sequence[str],
    labelers: Iterable[str],
    groups: Iterable[str],
) -> IntArray:
    known = {name: place for place, name in enumerate(all_labelers)}
    of_group = {name: place for place, name in enumerate(all_groups)}
    pairs = zip(labelers, groups, strict=True)
    return np.array([known[a] * len(all_groups) + of_group[b] for a, b in pairs], dtype=int)
