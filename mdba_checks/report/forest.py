"""The forest plot: every labeler's gap with its interval, against what is tolerated.

Drawn as SVG from the numbers alone. Positions along the axis are percentages and heights are
pixels, so that the same drawing is sharp and readable on a phone, on a wide screen and on paper.
Colour, shape and a word all say the same finding.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from mdba_checks.errors import joined, quoted
from mdba_checks.findings import SEVERITY, by_severity, each, with_sides
from mdba_checks.report.formatting import interval, signed
from mdba_checks.report.interval import Axis, Interval
from mdba_checks.report.markup import Html, fill

MAX_ROWS = 60

_ROW = 22
_PAGE = 30  # rows that fit on a sheet of paper


def forest(
    gaps: pd.DataFrame, *, max_gap: float, max_rows: int = MAX_ROWS, prefix: str = "forest"
) -> Html:
    """Return the forest plot of judged gaps, drawn as SVG.

    Every group has a figure of its own, and so has every page full of rows; all share one axis.

    Parameters
    ----------
    gaps
        Rows of `Assessment.gaps`; the worst `max_rows` of them are drawn.
    max_gap
        The tolerated gap, shown as a band.
    max_rows
        How many rows at most.
    prefix
        Begins the ids in the drawings; has to differ between plots on one page.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> print(forest(assessment.gaps, max_gap=0.1)[:32])
    <figure><figcaption>women compar
    """
    drawn = by_severity(with_sides(gaps)).head(max_rows)
    axis = Axis.of(drawn, max_gap, room=0.03)
    pages = [
        rows.iloc[begin : begin + _PAGE]
        for _, rows in drawn.groupby(["side", "reference"], sort=False)
        for begin in range(0, len(rows), _PAGE)
    ]
    return fill(
        "forest.html",
        parts=[
            {
                "key": f"{prefix}-{number}",
                "compared": f"{rows['side'].iloc[0]} compared with {rows['reference'].iloc[0]}",
                "height": _ROW * len(rows),
                "description": _description(rows, max_gap),
                "rows": [_row(_ROW * place, row, axis) for place, row in enumerate(each(rows))],
            }
            for number, rows in enumerate(pages)
        ],
        axis=axis,
        limit=max_gap,
        zone=f"{100 * 2 * max_gap / (axis.end - axis.begin):.2f}%",
        ticks=[
            (axis.percent(tick), signed(tick).rstrip("0").rstrip(".") or "0") for tick in axis.ticks
        ],
    )


def _row(y: int, row: Any, axis: Axis) -> dict[str, Any]:
    known = math.isfinite(row.gap)
    gap, ends = signed(row.gap), interval(row.ci_low, row.ci_high)
    return {
        "y": y,
        "labeler": row.labeler,
        "finding": row.finding,
        "about": f"{row.labeler}, {row.side}: gap {gap}, interval {ends}, {row.finding}",
        "drawing": Interval.of(row).svg(axis, _ROW / 2) if known else "",
        "number": gap if known else "no estimate",
    }


def _description(drawn: pd.DataFrame, max_gap: float) -> str:
    sentences = [f"The tolerated gap is ±{max_gap:g}."]
    for finding in SEVERITY:
        rows = drawn[drawn["finding"] == finding]
        if len(rows):
            named = [f"{quoted(row.labeler)} {signed(row.gap)}" for row in each(rows)]
            sentences.append(f"{len(rows):,} {finding}: {joined(named)}.")
    return " ".join([*sentences, "All numbers are on this page."])
