"""The table of labelers: one row per comparison, and behind each row what is known about it.

Every row is in the file as it is: without scripts the table is complete, and on paper it is what
the screen showed. The script only sorts, searches and opens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from mdba_checks.assessment import Assessment
from mdba_checks.findings import SEVERITY, Diagnostic, Level, by_severity
from mdba_checks.metrics import METRICS
from mdba_checks.report.explanations import each_row, rate
from mdba_checks.report.formatting import interval, p_value, percent, sentence, short, signed
from mdba_checks.report.markup import Html, join, tag

MAX_ROWS = 5_000  # a file that no browser opens helps nobody; the rest is in the JSON record

_CHECKS = 8  # of the history, the newest ones

LEVELS: tuple[Level, ...] = ("ok", "look", "serious")


@cache
def badge(kind: str) -> Html:
    """Return a finding or a level as a word; the style adds a shape and a colour that repeat it."""
    return tag("span", kind, class_=f"badge {kind}")


@dataclass(frozen=True)
class _Column:
    title: str
    numeric: bool = False
    extra: bool = False  # left out where there is little room


def labelers_section(assessment: Assessment, history: pd.DataFrame | None = None) -> Html:
    """Return the table of labelers with its controls; `assessment` is judged already.

    `history` is what `trend` found in earlier checks.
    """
    gaps = by_severity(assessment.gaps)
    shown = gaps.head(MAX_ROWS)
    several = len(gaps[["group", "reference"]].drop_duplicates()) > 1
    builder = _Rows(assessment, several, gaps, history)
    body = [builder.body(number, row) for number, row in enumerate(each_row(shown))]
    left_out = ""
    if len(shown) < len(gaps):
        left_out = (
            f"The worst {len(shown):,} of {len(gaps):,} comparisons are listed; all of them are "
            "in the JSON record of the check."
        )
    return join(
        [
            _controls(len(shown)),
            tag("p", left_out, class_="note") if left_out else "",
            tag(
                "table",
                tag("caption", builder.caption()),
                tag(
                    "thead",
                    tag("tr", *map(_heading, builder.columns()), role="row"),
                    role="rowgroup",
                ),
                *body,
                id="labelers-table",
                class_="labelers several" if several else "labelers",
                role="table",
            ),
            tag(
                "p",
                tag("button", "Show all", type="button", id="show-all"),
                class_="no-print needs-script",
                hidden=True,
            ),
        ]
    )


def _controls(n: int) -> Html:
    options = [tag("option", "all findings", value="")]
    options += [tag("option", each, value=each) for each in SEVERITY]
    return tag(
        "div",
        tag("label", "Search ", tag("input", type="search", id="search", autocomplete="off")),
        tag("label", "Finding ", tag("select", *options, id="finding")),
        tag("span", f"{n:,} comparisons", id="shown", role="status"),
        class_="controls needs-script",
        hidden=True,
    )


def _heading(column: _Column) -> Html:
    classes = " ".join(
        name for name, on in (("numeric", column.numeric), ("extra", column.extra)) if on
    )
    return tag(
        "th",
        tag("button", column.title, type="button"),
        scope="col",
        role="columnheader",
        class_=classes or None,
        aria_sort="none",
    )


class _Rows:
    """What rows of one table have in common: their columns, and what was found out elsewhere."""

    def __init__(
        self,
        assessment: Assessment,
        several: bool,
        gaps: pd.DataFrame,
        history: pd.DataFrame | None,
    ) -> None:
        self.metric = METRICS[assessment.config.metric]
        self.rate_name, self.rate_counts = rate(assessment.config)
        self.confidence = assessment.confidence
        self.several = several
        fidelity = assessment.fidelity
        self.fidelity = {} if fidelity is None else dict(fidelity)
        self.history: dict[tuple[str, str], list[Any]] = {}
        for row in [] if history is None else each_row(history):
            self.history.setdefault((row.labeler, row.group), []).append(row)
        self.diagnostics: dict[str, list[Diagnostic]] = {}
        for each in assessment.diagnostics:
            if each.labeler is not None:
                self.diagnostics.setdefault(each.labeler, []).append(each)
        first = gaps.iloc[0] if len(gaps) else {"group": "the group", "reference": "the reference"}
        self.group, self.reference = first["group"], first["reference"]
        self.rates: dict[str, list[Any]] = {}
        for row in each_row(gaps.sort_values("group", kind="stable")):
            self.rates.setdefault(str(row.labeler), []).append(row)

    def caption(self) -> Html:
        who = "each group" if self.several else str(self.group)
        compared = (
            f"Compared: {who} with {self.reference}, by the {self.rate_name} ({self.rate_counts}). "
        )
        return join([compared, tag("span", "Choose a name to see more.", class_="no-print")])

    def columns(self) -> list[_Column]:
        sides = ("group" if self.several else self.group, self.reference)
        columns = [_Column("Labeler")]
        if self.several:
            columns.append(_Column("Group"))
        columns += [_Column("Finding"), _Column("Gap", numeric=True)]
        columns.append(_Column(f"{self.confidence:.0%} interval", numeric=True, extra=True))
        columns += [_Column(f"Rate, {short(side)}", numeric=True, extra=True) for side in sides]
        columns.append(_Column("Labels", numeric=True, extra=True))
        columns.append(_Column("Checks", extra=True))
        return columns

    def body(self, number: int, row: Any) -> Html:
        """Return a row and what is behind it, as one body, so that they move together."""
        key = f"more-{number}"
        button = tag(
            "button",
            tag("bdi", row.labeler),
            type="button",
            class_="name",
            aria_expanded="false",
            aria_controls=key,
        )
        cells = [tag("th", button, scope="row", role="rowheader")]
        if self.several:
            cells.append(tag("td", tag("bdi", row.group), role="cell"))
        cells += [
            tag("td", badge(row.finding), role="cell", data_v=SEVERITY[row.finding]),
            _number(row.gap, signed(row.gap)),
            _number(row.ci_low, interval(row.ci_low, row.ci_high), extra=True),
            _number(row.rate, percent(row.rate), extra=True),
            _number(row.rate_reference, percent(row.rate_reference), extra=True),
            _number(row.n_labels, f"{row.n_labels:,}", extra=True),
        ]
        found = self.diagnostics_of(row)
        worst = max((each.level for each in found), key=LEVELS.index, default="ok")
        cells.append(
            tag("td", badge(worst), role="cell", class_="extra", data_v=-LEVELS.index(worst))
        )
        more = tag(
            "tr",
            tag("td", *self.details(row, found), role="cell", colspan=len(cells)),
            id=key,
            role="row",
            class_="more",
        )
        return tag(
            "tbody", tag("tr", *cells, role="row"), more, role="rowgroup", class_=row.finding
        )

    def diagnostics_of(self, row: Any) -> list[Diagnostic]:
        """Return what was checked about this labeler, in general or in this group."""
        return [
            each
            for each in self.diagnostics.get(str(row.labeler), [])
            if each.group in {None, row.group, row.reference}
        ]

    def details(self, row: Any, found: Sequence[Diagnostic]) -> list[Html]:
        parts = [
            tag("p", sentence(row.reason)),
            self._rates(row),
            tag("p", self._evidence(row), class_="note"),
        ]
        earlier = self.history.get((row.labeler, row.group))
        if earlier:
            parts.append(tag("p", _history(earlier), class_="note"))
        if found:
            parts.append(
                tag(
                    "ul",
                    *(
                        tag("li", badge(each.level), " ", sentence(each.sentence))
                        for each in sorted(found, key=lambda each: -LEVELS.index(each.level))
                    ),
                    class_="checks",
                )
            )
        return parts

    def _rates(self, row: Any) -> Html:
        rows = self.rates[str(row.labeler)]
        sides = [(each.group, each.rate) for each in rows]
        sides.append((row.reference, row.rate_reference))
        lines = [
            tag(
                "div",
                tag("dt", tag("bdi", name)),
                tag("dd", tag("span", percent(share), class_="value"), _rate_bar(share)),
            )
            for name, share in sides
        ]
        return tag("dl", *lines, class_="rates", aria_label=self.rate_name)

    def _evidence(self, row: Any) -> str:
        auc = self.fidelity.get(row.labeler, math.nan)
        facts = [
            f"{row.n_labels:,} labels",
            f"{row.n_gold:,} gold items of {row.group}",
            f"{self.metric.right} is right for {row.n_gold_positive:,} of them",
            f"standard error {row.std_error:.3f}" if math.isfinite(row.std_error) else "",
            f"p-value {p_value(row.p_value)} by itself" if math.isfinite(row.p_value) else "",
            f"decisions predicted with AUC {auc:.2f}" if math.isfinite(auc) else "",
        ]
        return f"Evidence: {'; '.join(filter(None, facts))}."


def _when(check: Any) -> str:
    return f"check {check.check}" if pd.isna(check.created) else f"{check.created:%Y-%m-%d}"


def _history(checks: Sequence[Any]) -> str:
    """Return how the gap went, from the oldest check to the newest."""
    told = [
        f"{_when(each)} {signed(each.gap)} "
        f"{each.finding}{' (a change beyond chance)' if each.changed else ''}"
        for each in checks[-_CHECKS:]
    ]
    return f"Checks so far: {'; '.join(told)}."


def _number(value: float, words: str, *, extra: bool = False) -> Html:
    key = f"{value:.6g}" if math.isfinite(value) else None
    look = "numeric extra" if extra else "numeric"
    return tag("td", words, role="cell", class_=look, data_v=key)


def _rate_bar(share: float) -> Html:
    if not math.isfinite(share):
        return Html("")
    width = f"{100 * min(max(share, 0.0), 1.0):.1f}%"
    return tag(
        "svg",
        tag("rect", width=width, height=8),
        class_="bar",
        height=8,
        aria_hidden="true",
    )
