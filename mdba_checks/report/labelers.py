"""The table of labelers: one row per comparison, and behind the worst what is known about them.

Every row is in the file as it is: without scripts the table is complete, and on paper it is what
the screen showed. The script only sorts, searches and opens. The worst `FULL` comparisons can be
opened; the others are a line each, so that a page about 10,000 people is one that browsers open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from mdba_checks.assessment import Assessment
from mdba_checks.errors import quoted
from mdba_checks.findings import (
    SEVERITY,
    Diagnostic,
    Level,
    by_severity,
    comparisons,
    each,
    said_about,
    with_sides,
)
from mdba_checks.report.formatting import interval, p_value, percent, short, signed
from mdba_checks.report.markup import Html, fill

FULL = 300  # comparisons with all that is known about them
MAX_ROWS = 20_000  # a file that no browser opens helps nobody; the rest is in the CSV and the JSON

_CHECKS = 8  # of the history, the newest ones

LEVELS: tuple[Level, ...] = ("ok", "look", "serious")


def labelers_section(assessment: Assessment, history: pd.DataFrame | None = None) -> Html:
    """Return the table of labelers with its controls; `assessment` is judged already.

    `history` is what `trend` found in earlier checks.
    """
    gaps = by_severity(with_sides(assessment.gaps))
    shown = gaps.head(MAX_ROWS)
    pairs = comparisons(gaps)
    several = len(pairs) > 1
    side = "group" if several or gaps.empty else pairs["side"].iloc[0]
    reference = "reference" if gaps.empty else pairs["reference"].iloc[0]
    name, counts = assessment.wording.title, assessment.wording.question()
    known = Known(assessment, gaps, history)
    return fill(
        "labelers.html",
        rows=[known.row(row, full=number < FULL) for number, row in enumerate(each(shown))],
        badges={kind: fill("badge.html", kind=kind) for kind in (*SEVERITY, *LEVELS)},
        findings=list(SEVERITY),
        several=several,
        notes=_left_out(len(shown), len(gaps)),
        caption=f"Compared: {'each group' if several else side} with {reference}, by the {name} "
        f"({counts}).",
        columns=[
            "Labeler",
            *(["Group"] if several else []),
            "Finding",
            "Gap",
            f"{assessment.confidence:.0%} interval",
            f"Rate, {short(side)}",
            f"Rate, {short(reference)}",
            "Labels",
            "Checks",
        ],
        rate_name=name,
    )


def _left_out(shown: int, n: int) -> list[str]:
    notes = []
    if shown > FULL:
        notes.append(
            f"The worst {FULL:,} can be opened; the reasons of the others are in the CSV and JSON "
            "of the check."
        )
    if shown < n:
        notes.append(
            f"The worst {shown:,} of {n:,} comparisons are listed; all of them are in the CSV and "
            "JSON of the check."
        )
    return notes


class Known:
    """What is known about the comparisons of one check, for a row or a page about one of them."""

    def __init__(
        self, assessment: Assessment, gaps: pd.DataFrame, history: pd.DataFrame | None = None
    ) -> None:
        wording = assessment.wording
        self.is_right = wording.words.is_right(wording.metric.right)
        fidelity = assessment.fidelity
        self.fidelity = {} if fidelity is None else dict(fidelity)
        self.history: dict[tuple[str, ...], list[Any]] = {}
        for row in [] if history is None else each(history):
            self.history.setdefault(_comparison(row), []).append(row)
        self.diagnostics: dict[str, list[Diagnostic]] = {}
        for found in assessment.diagnostics:
            if found.labeler is not None:
                self.diagnostics.setdefault(found.labeler, []).append(found)
        self.rates: dict[str, list[tuple[str, float]]] = {}
        sides = gaps.sort_values("side", kind="stable")
        for labeler, side, share in zip(
            sides["labeler"], sides["side"], sides["rate"], strict=True
        ):
            self.rates.setdefault(str(labeler), []).append((side, share))

    def row(self, row: Any, *, full: bool) -> dict[str, Any]:
        """Return what the table shows about a comparison; with `full`, what is behind it too."""
        found = self.checks(row)
        return {
            "labeler": row.labeler,
            "side": row.side,
            "finding": row.finding,
            "key": f"{row.gap:.5g}" if math.isfinite(row.gap) else "",
            "gap": signed(row.gap),
            "interval": interval(row.ci_low, row.ci_high),
            "rate": percent(row.rate),
            "rate_reference": percent(row.rate_reference),
            "n_labels": f"{row.n_labels:,}",
            "level": max((each.level for each in found), key=LEVELS.index, default="ok"),
            "more": self.more(row, found) if full else None,
        }

    def checks(self, row: Any) -> list[Diagnostic]:
        """Return what was checked about this labeler, in general or in this group."""
        found = self.diagnostics.get(str(row.labeler), ())
        mine = [
            each
            for each in found
            if each.group in {None, row.group, row.reference}
            and each.attribute in {None, getattr(row, "attribute", None)}
            and each.label_class in {None, getattr(row, "class_", None)}
        ]
        return sorted(mine, key=lambda each: -LEVELS.index(each.level))

    def more(self, row: Any, found: Sequence[Diagnostic]) -> dict[str, Any]:
        """Return what is known about a comparison beyond its line."""
        earlier = self.history.get(_comparison(row))
        rates = [*self.rates[str(row.labeler)], (row.reference, row.rate_reference)]
        return {
            "reason": said_about(quoted(row.labeler), row._asdict()),
            "rates": rates,
            "notes": [self.evidence(row), *([_history(earlier)] if earlier else [])],
            "checks": found,
        }

    def evidence(self, row: Any) -> str:
        """Return what a comparison rests on."""
        auc = self.fidelity.get(row.labeler, math.nan)
        facts = [
            f"{row.n_labels:,} labels",
            f"{row.n_gold:,} gold items of {row.group}",
            f"{self.is_right} for {row.n_gold_positive:,} of them",
            f"standard error {row.std_error:.3f}" if math.isfinite(row.std_error) else "",
            f"p-value {p_value(row.p_value)} by itself" if math.isfinite(row.p_value) else "",
            f"decisions predicted with AUC {auc:.2f}" if math.isfinite(auc) else "",
        ]
        return f"Evidence: {'; '.join(filter(None, facts))}."


def _comparison(row: Any) -> tuple[str, ...]:
    """Return what names a comparison, in a check and in the history."""
    named = (getattr(row, name, None) for name in ("labeler", "attribute", "group", "class_"))
    return tuple("" if each is None else str(each) for each in named)


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
