"""Rules that were checked, for people and for build servers: a page and a JUnit file.

A rule is an expectation of a suite or a contract. What became of it is plain values, as in the JSON
that `mdba validate` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mdba_checks.report.ci_formats import junit_case, junit_file, junit_outcome
from mdba_checks.report.html import whole_page
from mdba_checks.report.markup import fill

OUTCOMES = {
    "ok": "holds",
    "noted": "does not hold, noted only",
    "block": "does not hold",
    "inconclusive": "undecided",
    "error": "could not be checked",
}
_TAGS = {"block": "failure", "inconclusive": "error", "error": "error", "noted": "skipped"}
_MOST = 200


def rules_junit(record: Mapping[str, Any]) -> str:
    """Return checked rules as JUnit XML: one test case per rule.

    Parameters
    ----------
    record
        ``suite``, ``verdict`` and ``rules``, each with ``outcome``, ``expectation``, ``severity``,
        ``column`` and ``reason``.

    Examples
    --------
    >>> rule = {"outcome": "block", "expectation": "expect_x", "severity": "critical"}
    >>> rule |= {"column": "label", "reason": "column 'label': 2"}
    >>> rules_junit({"suite": "s", "verdict": "block", "rules": [rule]}).count("<failure ")
    1
    """
    cases = []
    for rule in record["rules"]:
        case = junit_case(_name(rule), f"mdba.{record['suite']}")
        if rule["outcome"] in _TAGS:
            junit_outcome(case, _TAGS[rule["outcome"]], rule["outcome"], rule["reason"])
        cases.append(case)
    said = "\n".join(rule["reason"] for rule in record["rules"] if rule["reason"])
    return junit_file("mdba validate", cases, {"verdict": record["verdict"]}, said)


def rules_page(record: Mapping[str, Any]) -> str:
    """Return checked rules as the text of one HTML file, for people; see `rules_junit`."""
    rules: Sequence[Mapping[str, Any]] = record["rules"]
    title = f"{record['suite']}: {record['verdict']}"
    main = fill(
        "rules.html",
        title=title,
        labels=record["labels"],
        failed=sum(rule["outcome"] != "ok" for rule in rules),
        rules=[
            {
                **rule,
                "name": _name(rule),
                "outcome": OUTCOMES[rule["outcome"]],
                "gaps": rule.get("details", {}).get("gaps") or [],
            }
            for rule in rules
        ],
        most=_MOST,
    )
    return whole_page(title, main)


def _name(rule: Mapping[str, Any]) -> str:
    column = f" ({rule['column']})" if rule["column"] else ""
    return f"{rule['expectation']}{column}"
