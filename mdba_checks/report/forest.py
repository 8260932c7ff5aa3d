"""The forest plot: every labeler's gap with its interval, against what is tolerated.

Drawn as SVG from the numbers alone. Positions along the axis are percentages and heights are
pixels, so that the same drawing is sharp and readable on a phone, on a wide screen and on paper.
Colour, shape and a word all say the same finding.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from mdba_checks.findings import SEVERITY, by_severity
from mdba_checks.report.explanations import each_row
from mdba_checks.report.formatting import interval, listed, short, signed
from mdba_checks.report.interval import Axis, Interval
from mdba_checks.report.markup import Html, join, tag

MAX_ROWS = 60

_ROW, _AXIS = 22, 40
_PLOT_AT, _PLOT_WIDE, _TEXT_AT = 25.0, 50.0, 77.0  # percent of the drawing's width
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
    drawn = by_severity(gaps).head(max_rows)
    axis = Axis.of(drawn, max_gap, room=0.03)
    parts = [
        rows.iloc[begin : begin + _PAGE]
        for _, rows in drawn.groupby(["group", "reference"], sort=False)
        for begin in range(0, len(rows), _PAGE)
    ]
    return join(
        _drawing(rows, axis, max_gap, f"{prefix}-{number}") for number, rows in enumerate(parts)
    )


def _drawing(rows: pd.DataFrame, axis: Axis, max_gap: float, key: str) -> Html:
    first = rows.iloc[0]
    height = _ROW * len(rows)
    compared = f"{first['group']} compared with {first['reference']}"
    drawing = tag(
        "svg",
        tag("title", f"Gaps of {len(rows)} labelers: {compared}", id=f"{key}-title"),
        tag("desc", _description(rows, max_gap), id=f"{key}-text"),
        _background(0, height, axis, max_gap),
        *(_row(_ROW * number, row, axis) for number, row in enumerate(each_row(rows))),
        _ticks(height, axis),
        class_="forest",
        role="img",
        aria_labelledby=f"{key}-title {key}-text",
        width="100%",
        height=height + _AXIS,
        font_size="13",
        font_family="system-ui, sans-serif",
        xmlns="http://www.w3.org/2000/svg",
    )
    return tag("figure", tag("figcaption", compared), drawing)


def _background(y: int, height: int, axis: Axis, max_gap: float) -> Html:
    width = f"{100 * 2 * max_gap / (axis.end - axis.begin):.2f}%"
    lines = [
        tag(
            "line",
            x1=axis.percent(place),
            x2=axis.percent(place),
            y1=0,
            y2=height,
            class_=kind,
            stroke="#6b7280",
            stroke_dasharray=dashes,
        )
        for place, kind, dashes in (
            (-max_gap, "limit", "4 3"),
            (max_gap, "limit", "4 3"),
            (0.0, "zero", None),
        )
    ]
    zone = tag(
        "rect",
        x=axis.percent(-max_gap),
        y=0,
        width=width,
        height=height,
        class_="zone",
        fill="#888888",
        fill_opacity="0.16",
    )
    return _plot(y, height, [zone, *lines])


def _row(y: int, row: Any, axis: Axis) -> Html:
    middle = _ROW / 2
    full = f"{row.labeler}, {row.group}: gap {signed(row.gap)}"
    parts = [
        tag("title", f"{full}, interval {interval(row.ci_low, row.ci_high)}, {row.finding}"),
        tag(
            "svg",
            tag("text", short(row.labeler), x=0, y=middle, dy="0.35em", fill="currentColor"),
            x=0,
            y=y,
            width=f"{_PLOT_AT - 1}%",
            height=_ROW,
        ),
    ]
    if math.isfinite(row.gap):
        parts.append(_plot(y, _ROW, [Interval.of(row).svg(axis, middle)]))
    number = signed(row.gap) if math.isfinite(row.gap) else "no estimate"
    words = [tag("tspan", f"{number} ", class_="number"), tag("tspan", str(row.finding))]
    parts.append(
        tag("text", *words, x=f"{_TEXT_AT}%", y=y + middle, dy="0.35em", fill="currentColor")
    )
    return tag("g", *parts, class_=f"row {row.finding}")


def _ticks(y: int, axis: Axis) -> Html:
    marks = [tag("line", x1="0%", x2="100%", y1=0, y2=0, class_="axis", stroke="#6b7280")]
    for tick in axis.ticks:
        at = axis.percent(tick)
        marks.append(tag("line", x1=at, x2=at, y1=0, y2=5, class_="axis", stroke="#6b7280"))
        marks.append(
            tag(
                "text",
                signed(tick).rstrip("0").rstrip(".") or "0",
                x=at,
                y=17,
                text_anchor="middle",
                font_size="11",
                fill="currentColor",
            )
        )
    for words, at, anchor in (("← less often", "0%", "start"), ("more often →", "100%", "end")):
        marks.append(
            tag("text", words, x=at, y=33, text_anchor=anchor, font_size="11", fill="currentColor")
        )
    return _plot(y, _AXIS, marks)


def _plot(y: int, height: int, parts: list[Html]) -> Html:
    return tag(
        "svg",
        *parts,
        x=f"{_PLOT_AT}%",
        y=y,
        width=f"{_PLOT_WIDE}%",
        height=height,
        overflow="visible",
    )


def _description(drawn: pd.DataFrame, max_gap: float) -> str:
    sentences = [f"The tolerated gap is ±{max_gap:g}."]
    for finding in SEVERITY:
        rows = drawn[drawn["finding"] == finding]
        if len(rows):
            named = [f"{row.labeler} {signed(row.gap)}" for row in each_row(rows)]
            sentences.append(f"{len(rows):,} {finding}: {listed(named)}.")
    return " ".join([*sentences, "The table of labelers has all numbers."])
