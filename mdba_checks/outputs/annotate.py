"""The annotated data set: every row with what is known about whoever labeled it.

The input stays as it is, row by row and value by value; five columns are added behind it. The gap,
its interval and the finding are those of the row's labeler and group. `mdba_p_positive` is the
probability that the right label is yes, once the labeler's habits are accounted for: a yes of
somebody who says yes too often in this group counts for less, a no of somebody who says no too
often as well. It can be trained on, as a soft target or as a weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from mdba_checks.assessment import Assessment
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.findings import BIASED, INCONCLUSIVE, SEVERITY, Estimated
from mdba_checks.outputs.copied_rows import arrow_rows
from mdba_checks.tables import (
    BoolArray,
    FloatArray,
    IntArray,
    Source,
    as_names,
    combined_names,
    content,
    is_database,
    read_source,
    read_table,
    source_name,
    text_columns,
)

_NUMBERS = ("gap", "ci_low", "ci_high")
ADDED_COLUMNS = ("mdba_gap", "mdba_ci_low", "mdba_ci_high", "mdba_finding", "mdba_p_positive")

# A rate of 0 or 1 comes from few items; as a likelihood it would silence all other evidence.
_LEAST, _MOST = 0.01, 0.99


def annotate(labels: Source, assessment: Assessment) -> pd.DataFrame:
    """Return the labels with what is known about every row in five more columns.

    ``mdba_gap, mdba_ci_low, mdba_ci_high, mdba_finding`` are those of the row's labeler and group;
    of several comparisons that the row belongs to (by group columns or classes), the worst.
    A row of the reference group has no gap of its own: its numbers are missing, and its finding is
    the labeler's most severe one. Rows that were dropped because they lack a labeler, label or
    group are inconclusive. ``mdba_p_positive`` is the probability that the right label is 1.

    Parameters
    ----------
    labels
        The labels that were assessed. The columns of a DataFrame keep their order and types.
    assessment
        What `assess` returned for them.

    Raises
    ------
    InputError
        When these are not the labels that were assessed, or they were annotated before.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> annotated = annotate(made.labels, assessment)
    >>> list(annotated.columns[-5:])
    ['mdba_gap', 'mdba_ci_low', 'mdba_ci_high', 'mdba_finding', 'mdba_p_positive']
    >>> annotated.loc[annotated["labeler"] == "L1", "mdba_finding"].unique().tolist()
    ['biased']
    """
    source = read_once(labels)
    assessed = read_assessed(source, assessment, source_name(labels))
    refuse_annotated(assessed.table.column_names, labels)
    return assessed.joined(findings_by_row(assessed.table, assessment))


@dataclass(frozen=True)
class AssessedRows:
    """The rows that were assessed, read again; a database may give them in another order.

    Attributes
    ----------
    source
        Where they come from.
    order
        Where the rows of the source are, in an order that comes from what they hold.
    table
        As the check reads them, in the order in which they were assessed.
    place
        Per row of the source: where it is in `table`.
    config
        The settings of the check.
    """

    source: Source
    order: IntArray
    table: pa.Table
    place: IntArray
    config: CheckConfig

    def joined(self, findings: pd.DataFrame) -> pd.DataFrame:
        """Return the rows in the order of the source, with findings that are in that of `table`."""
        if isinstance(self.source, pd.DataFrame):
            frame = self.source.copy()
        else:
            frame = arrow_rows(self.source, self.config).table.to_pandas()
        for name in findings:
            frame[name] = findings[name].to_numpy()[self.place]
        return frame


def findings_by_row(table: pa.Table, assessment: Assessment) -> pd.DataFrame:
    """Return the five columns alone, one row per row of a table from `read_assessed`.

    Where a check asks several questions, each row has what the worst answer about it says: the most
    severe finding, and of several such the largest gap. `mdba_p_positive` is then that of the same
    attribute and, where every class is looked at, the probability that the row's own label is
    right.
    """
    gaps, dropped = assessment.gaps, assessment.estimated[0].decision < 0
    by_attribute: dict[str, FloatArray] = {}
    found: list[_Found] = []
    for number, each in enumerate(assessment.estimated):
        question, cells = each.question, locate(table, assessment, each)
        own = gaps[gaps["attribute"] == question.attribute]
        if question.label_class is not None:
            own = own[own["class"] == question.label_class]
        found.append(_found(own, cells, dropped, number))
        p_positive = _p_positive(each, cells)
        if question.label_class is not None:
            before = by_attribute.get(question.attribute, np.full(len(p_positive), np.nan))
            p_positive = np.where(each.decision == 1, p_positive, before)
        by_attribute[question.attribute] = p_positive
    worst = reduce(_Found.worse_of, found)  # a check asks at least one question
    findings = np.array(list(SEVERITY), dtype=object)
    attributes = [each.question.attribute for each in assessment.estimated]
    known = list(by_attribute)
    place = np.array([known.index(each) for each in attributes])[worst.question]
    stacked = np.stack(list(by_attribute.values()))
    return pd.DataFrame(
        {
            **{f"mdba_{name}": worst.numbers[name] for name in _NUMBERS},
            "mdba_finding": findings[worst.severity],
            "mdba_p_positive": stacked[place, np.arange(len(place))],
        },
        columns=list(ADDED_COLUMNS),
    )


@dataclass(frozen=True)
class _Found:
    """What was found about every row: numbers, how severe it is, and by which question."""

    numbers: Mapping[str, FloatArray]
    severity: IntArray  # place in `SEVERITY`, the most severe first
    question: IntArray

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


def _found(gaps: pd.DataFrame, cells: Cells, dropped: BoolArray, question: int) -> _Found:
    """Return what the gaps of one question say about every row."""
    place = cells.number(gaps["labeler"], gaps["group"])
    numbers: dict[str, FloatArray] = {}
    for name in _NUMBERS:
        by_cell = np.full(cells.count, np.nan)
        by_cell[place] = gaps[name]
        numbers[name] = np.where(dropped, np.nan, cells.spread(by_cell, np.nan))
    ranks = gaps["finding"].map(SEVERITY)
    worst = ranks.groupby(gaps["labeler"]).min().reindex(list(cells.labelers)).to_numpy()
    severity = np.repeat(worst, len(cells.groups))
    severity[place] = ranks
    unknown = SEVERITY[INCONCLUSIVE]
    rows = np.where(dropped, unknown, cells.spread(severity, unknown)).astype(np.int64)
    return _Found(numbers, rows, np.full(len(rows), question))


def rows_of_biased(
    labels: Source, assessment: Assessment, about: Literal["labeler", "cohort"] = "labeler"
) -> BoolArray:
    """Return which rows come from a labeler, or a cohort, that is biased; in the rows' own order.

    Parameters
    ----------
    labels
        The labels that were assessed.
    assessment
        What `assess` returned for them.
    about
        Whose findings count.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> made.labels[rows_of_biased(made.labels, assessment)]["labeler"].unique().tolist()
    ['L1']
    """
    assessed = read_assessed(labels, assessment)
    rows = assessment.gaps if about == "labeler" else assessment.cohorts
    column = getattr(assessment.config.columns, about)
    if rows is None or column is None:
        return np.zeros(len(assessed.place), dtype=bool)
    biased = set(rows.loc[rows["finding"] == BIASED, about])
    known = dict.fromkeys(biased, 0)
    if about == "labeler" and assessment.pseudonyms is not None:
        known = {name: 0 for name, alias in assessment.pseudonyms.items() if alias in biased}
    inside: BoolArray = _places(assessed.table.column(column), known) >= 0
    return inside[assessed.place]


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
        known = {name: place for place, name in enumerate(self.labelers)}
        of_group = {name: place for place, name in enumerate(self.groups)}
        pairs = zip(labelers, groups, strict=True)
        return np.array([known[a] * len(self.groups) + of_group[b] for a, b in pairs], dtype=int)

    def spread(self, values: Any, absent: Any) -> Any:
        """Return the value of every row's pair; `absent` for rows that belong to none."""
        inside = (self.labeler >= 0) & (self.group >= 0)
        return np.where(inside, values[self.labeler * len(self.groups) + self.group], absent)


def read_once(labels: Source) -> Source:
    """Return labels whose rows keep their order: a table of a database is read here."""
    return read_source(labels, (), ()) if is_database(labels) else labels


def read_assessed(labels: Source, assessment: Assessment, name: str = "") -> AssessedRows:
    """Read the labels as the check does; refuse others than those that were assessed.

    Parameters
    ----------
    labels
        What `read_once` returned, where rows are compared with another reading of them.
    assessment
        What `assess` returned for them.
    name
        What they are called in messages; by default the name of the source.
    """
    config = assessment.config
    table = read_table(
        labels, text_columns=text_columns(config), missing_values=config.missing_values
    )
    held = content(table)
    if held.hash != assessment.data.labels_hash:
        raise InputError(
            f"{name or source_name(labels)} does not hold the labels that were assessed: check it "
            "again"
        )
    place = np.empty(table.num_rows, dtype=np.int64)
    place[held.order] = assessment.row_order
    if not np.array_equal(held.order, assessment.row_order):
        table = table.take(pa.array(np.argsort(place)))
    return AssessedRows(source=labels, order=held.order, table=table, place=place, config=config)


def locate(table: pa.Table, assessment: Assessment, asked: Estimated | None = None) -> Cells:
    """Find the labeler and the group of every row of a table from `read_assessed`.

    `asked` says by which question rows are grouped; by default the first.
    """
    asked = assessment.estimated[0] if asked is None else asked
    labelers, groups = asked.measures.labelers, asked.measures.groups
    known = {name: place for place, name in enumerate(labelers)}
    if assessment.pseudonyms is not None:
        known = {name: known[alias] for name, alias in assessment.pseudonyms.items()}
    columns = [table.column(name) for name in asked.question.columns]
    if len(columns) > 1:
        columns = [pa.chunked_array([combined_names([as_names(each) for each in columns])])]
    return Cells(
        labelers=labelers,
        groups=groups,
        labeler=_places(table.column(assessment.config.columns.labeler), known),
        group=_places(columns[0], {name: place for place, name in enumerate(groups)}),
    )


def refuse_annotated(names: Iterable[str], labels: Source) -> None:
    """Refuse a table that has one of our columns: nothing in the input is ever replaced."""
    taken = [name for name in names if name in ADDED_COLUMNS]
    if taken:
        raise InputError(
            f"{source_name(labels)} already has a column {taken[0]!r}: give the labels as they "
            "were before a check annotated them, or rename the column"
        )


def _places(column: pa.ChunkedArray, known: Mapping[str, int]) -> IntArray:
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    # Appending -1 lets a missing code (-1) find it as the last entry.
    place = np.array([*(known.get(name, -1) for name in encoded.dictionary.to_pylist()), -1])
    places: IntArray = place[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return places


def _p_positive(asked: Estimated, cells: Cells) -> FloatArray:
    """Return the probability that yes is right, by Bayes' rule: g before, the decision as news."""
    said_yes = asked.decision == 1
    rates = asked.rates
    if rates is None or asked.p_right is None:
        return np.full(len(said_yes), np.nan)
    place = cells.number(rates["labeler"], rates["group"])
    likelihood = []
    for name in ("tpr", "fpr"):
        rate = np.full(cells.count, np.nan)
        rate[place] = rates[name].clip(_LEAST, _MOST)
        yes = cells.spread(rate, np.nan)
        likelihood.append(np.where(said_yes, yes, 1 - yes))
    right, wrong = asked.p_right * likelihood[0], (1 - asked.p_right) * likelihood[1]
    p: FloatArray = right / (right + wrong)
    return p
