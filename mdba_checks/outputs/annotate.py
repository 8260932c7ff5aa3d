"""The annotated data set: every row with what is known about whoever labeled it.

The input stays as it is, row by row and value by value; five columns are added behind it. The gap,
its interval and the finding are those of the row's labeler and group. `mdba_p_positive` is the
probability that the right label is yes, once the labeler's habits are accounted for: a yes of
somebody who says yes too often in this group counts for less, a no of somebody who says no too
often as well. It can be trained on, as a soft target or as a weight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from mdba_checks.assessment import Assessment
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.findings import BIASED
from mdba_checks.outputs.copied_rows import arrow_rows
from mdba_checks.outputs.row_findings import ADDED_COLUMNS, findings_by_row, places_of
from mdba_checks.tables import (
    BoolArray,
    IntArray,
    Source,
    Table,
    as_names,
    content,
    is_database,
    open_table,
    parts_of,
    read_source,
    source_name,
    text_columns,
)


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
    table: Table
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
    column = getattr(assessment.config.columns, about)
    if column is None:
        return np.zeros(len(assessed.place), dtype=bool)
    biased = _biased(assessment, about)
    known = dict.fromkeys(biased, 0)
    if about == "labeler" and assessment.pseudonyms is not None:
        known = {name: 0 for name, alias in assessment.pseudonyms.items() if alias in biased}
    inside: BoolArray = places_of(assessed.table.column(column), known) >= 0
    return inside[assessed.place]


def values_of_biased(
    labels: Source, assessment: Assessment, about: Literal["labeler", "cohort"] = "labeler"
) -> list[Any]:
    """Return who is biased, as labels that stay in parts spell them; see `rows_of_biased`."""
    parts, column = parts_of(labels, assessment.config), getattr(assessment.config.columns, about)
    if parts is None or column is None:
        return []
    values = pa.chunked_array(parts.select([column]).map(_distinct, column)).unique()
    names = as_names(pa.chunked_array([values]))
    spelled = names.cast(pa.string()).to_pylist()
    biased = _biased(assessment, about)
    return [
        value for value, name in zip(values.to_pylist(), spelled, strict=True) if name in biased
    ]


def _distinct(column: str, _: object, rows: pa.Table) -> pa.Array:
    return rows.column(column).unique()


def _biased(assessment: Assessment, about: Literal["labeler", "cohort"]) -> set[str]:
    rows = assessment.gaps if about == "labeler" else assessment.cohorts
    return set() if rows is None else set(rows.loc[rows["finding"] == BIASED, about])


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
    table = open_table(
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


def refuse_annotated(names: Iterable[str], labels: Source) -> None:
    """Refuse a table that has one of our columns: nothing in the input is ever replaced."""
    taken = [name for name in names if name in ADDED_COLUMNS]
    if taken:
        raise InputError(
            f"{source_name(labels)} already has a column {taken[0]!r}: give the labels as they "
            "were before a check annotated them, or rename the column"
        )
