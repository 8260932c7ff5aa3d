"""Findings as CSV: a row per comparison, for spreadsheets and for whoever counts on from here.

All labels together come first, then cohorts, then labelers. The numbers are those of the record,
with all their digits; a number that does not exist is an empty cell. Names are written as they
came, so that they can be looked up in the labels again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mdba_checks.findings import WHOLE

# Where a record keeps them, what they are about, and which column has the name.
_LEVELS = (
    ("overall", "whole", None),
    ("cohorts", "cohort", "cohort"),
    ("gaps", "labeler", "labeler"),
)
_FIRST = ("about", "name")


def findings_csv(record: Mapping[str, Any]) -> str:
    r"""Return what a check found as the text of a CSV file.

    Parameters
    ----------
    record
        What `to_record` returned, or what ``mdba check --json`` wrote.

    Returns
    -------
    str
        The columns are ``about`` (whole, cohort or labeler), ``name``, and those of
        `Assessment.gaps`.

    Examples
    --------
    >>> row = {"labeler": "Ann", "group": "women", "gap": -0.2, "finding": "biased"}
    >>> whole = {"group": "women", "gap": None, "finding": "inconclusive"}
    >>> print(findings_csv({"gaps": [row], "overall": [whole]}), end="")
    about,name,group,gap,finding
    whole,all labels,women,,inconclusive
    labeler,Ann,women,-0.2,biased
    """
    return as_csv(list(_rows(record)))


def rules_csv(record: Mapping[str, Any]) -> str:
    """Return what expectations about labelers found as CSV, each row with its expectation.

    Parameters
    ----------
    record
        What ``mdba validate --json`` wrote, or the sidecar of `BlockOnLabelerGap`.

    Examples
    --------
    >>> row = {"labeler": "Ann", "group": "women", "gap": -0.2}
    >>> rule = {"expectation": "expect_x", "details": {"gaps": [row]}}
    >>> print(rules_csv({"rules": [rule]}), end="")
    expectation,about,name,group,gap
    expect_x,labeler,Ann,women,-0.2
    """
    found = []
    for rule in record.get("rules") or record.get("checks") or ():
        details = rule.get("details", rule)
        found += [{"expectation": rule["expectation"], **row} for row in _rows(details)]
    return as_csv(found, first=("expectation", *_FIRST))


def as_csv(rows: Sequence[Mapping[str, Any]], first: Sequence[str] = _FIRST) -> str:
    """Return rows as CSV with all columns that any of them has."""
    columns = dict.fromkeys([*first, *(key for row in rows for key in row)])
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, about, named in _LEVELS:
        for row in record.get(key) or ():
            name = WHOLE if named is None else row[named]
            rest = {each: value for each, value in row.items() if each != named}
            yield {"about": about, "name": name, **rest}
