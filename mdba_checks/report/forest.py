"""The forest plot: every labeler's gap with its interval, against what is tolerated.

Drawn as SVG from the numbers alone. Positions along the axis are percentages and heights are
pixels, so that the same drawing is sharp and readable on a phone, on a wide screen and on paper.
Colour, shape and a word all say the same finding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mdba_checks.findings import BIASED, BORDERLINE, FAIR, INCONCLUSIVE, SEVERITY, by_severity
from mdba_checks.report.markup import Html, join, tag, visible
from mdba_checks.report.words import each_row, listed

MAX_ROWS = 60

# Hues of Okabe and Ito, which people with any colour vision can tell apart; orange is darkened
# until it stands out from white.
COLOURS = {
    BIASED: "#d55e00",
    INCONCLUSIVE: "#a86f00",
    BORDERLINE: "#00805f",
    FAIR: "#0072b2",
}

_ROW, _AXIS = 22, 40
_PLOT_AT, _PLOT_WIDE, _TEXT_AT = 25.0, 50.0, 77.0  # percent of the drawing's width
_PAGE = 30  # rows that fit on a sheet of paper
_NAME_CHARACTERS = 32
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)


@dataclass(frozen=True)
class Scale:
    """The axis, from `begin` to `end`, with ticks at round numbers."""

    begin: float
    end: float
    step: float

    @classmethod
    def over(cls, gaps: pd.DataFrame, limit: float) -> Scale:
        """Return an axis with room for every interval and for both limits."""
        ends = gaps[["gap", "ci_low", "ci_high"]].to_numpy(dtype=float).ravel()
        known = [float(each) for each in ends if math.isfinite(each)]
        margin = 1.5 * max(limit, 0.01)
        low, high = min([*known, -margin]), max([*known, margin])
        step = next((each for each in _STEPS if (high - low) / each <= 6), _STEPS[-1])
        room = 0.03 * (high - low)
        return cls(low - room, high + room, step)

    def at(self, value: float) -> str:
        """Return the place of a value, in percent of the axis."""
        return f"{100 * (value - self.begin) / (self.end - self.begin):.2f}%"

    @property
    def ticks(self) -> list[float]:
        """The values that are written at the axis."""
        first, last = math.ceil(self.begin / self.step), math.floor(self.end / self.step)
        return [number * self.step for number in range(first, last + 1)]


def signed(value: float, digits: int = 2) -> str:
    """Return a gap as people write it, with a real minus sign.

    Examples
    --------
    >>> signed(-0.418), signed(0.0), signed(math.nan)
    ('−0.42', '0.00', '–')
    """
    if not math.isfinite(value):
        return "–"
    rounded = f"{value:+.{digits}f}"
    return rounded[1:] if float(rounded) == 0 else rounded.replace("-", "−")


def interval(low: float, high: float) -> str:
    """Return an interval as people write it.

    Examples
    --------
    >>> interval(-0.545, 0.02)
    '−0.55 to +0.02'
    """
    return f"{signed(low)} to {signed(high)}" if math.isfinite(low + high) else "–"


def forest(
    gaps: pd.DataFrame, *, max_gap: float, max_rows: int = MAX_ROWS, prefix: str = "forest"
) -> Html:
    """Return the forest plot of judged gaps, drawn as SVG.

    Every group has a figure of its own, and so has every page full of rows; all share one scale.

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
    >>> forest(assessment.gaps, max_gap=0.1)[:32]
    '<figure><figcaption>women compar'
    """
    drawn = by_severity(gaps).head(max_rows)
    scale = Scale.over(drawn, max_gap)
    parts = [
        rows.iloc[begin : begin + _PAGE]
        for _, rows in drawn.groupby(["group", "reference"], sort=False)
        for begin in range(0, len(rows), _PAGE)
    ]
    return join(
        _drawing(rows, scale, max_gap, f"{prefix}-{number}") for number, rows in enumerate(parts)
    )


def _drawing(rows: pd.DataFrame, scale: Scale, max_gap: float, key: str) -> Html:
    first = rows.iloc[0]
    height = _ROW * len(rows)
    compared = f"{first['group']} compared with {first['reference']}"
    drawing = tag(
        "svg",
        tag("title", f"Gaps of {len(rows)} labelers: {compared}", id=f"{key}-title"),
        tag("desc", _description(rows, max_gap), id=f"{key}-text"),
        _background(0, height, scale, max_gap),
        *(_row(_ROW * number, row, scale) for number, row in enumerate(each_row(rows))),
        _axis(height, scale),
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


def _background(y: int, height: int, scale: Scale, max_gap: float) -> Html:
    width = f"{100 * 2 * max_gap / (scale.end - scale.begin):.2f}%"
    lines = [
        tag(
            "line",
            x1=scale.at(place),
            x2=scale.at(place),
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
        x=scale.at(-max_gap),
        y=0,
        width=width,
        height=height,
        class_="zone",
        fill="#888888",
        fill_opacity="0.16",
    )
    return _plot(y, height, [zone, *lines])


def _row(y: int, row: Any, scale: Scale) -> Html:
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
        parts.append(_plot(y, _ROW, [_whisker(row, scale, middle), _marker(row, scale, middle)]))
    number = signed(row.gap) if math.isfinite(row.gap) else "no estimate"
    words = [tag("tspan", f"{number} ", class_="number"), tag("tspan", str(row.finding))]
    parts.append(
        tag("text", *words, x=f"{_TEXT_AT}%", y=y + middle, dy="0.35em", fill="currentColor")
    )
    return tag("g", *parts, class_=f"row {row.finding}")


def _whisker(row: Any, scale: Scale, middle: float) -> Html:
    if not math.isfinite(row.ci_low + row.ci_high):
        return Html("")
    return tag(
        "line",
        x1=scale.at(row.ci_low),
        x2=scale.at(row.ci_high),
        y1=middle,
        y2=middle,
        stroke=COLOURS[row.finding],
        stroke_width=2.5,
        stroke_dasharray="3 4" if _untested(row) else None,
        class_="whisker",
    )


def _untested(row: Any) -> bool:
    """Tell whether something stood in the way; such a row must not look like an answer."""
    return not math.isfinite(row.p_value)


def _marker(row: Any, scale: Scale, middle: float) -> Html:
    """Return a disc, a hollow diamond, a hollow square or a square, by the finding."""
    look: dict[str, object] = {
        "fill": COLOURS[row.finding],
        "stroke": COLOURS[row.finding],
        "class_": "marker",
    }
    if row.finding == BIASED:
        shape = tag("circle", r=5, **look)
    elif row.finding in (BORDERLINE, FAIR):
        if row.finding == BORDERLINE:
            look |= {"fill": "#ffffff", "stroke_width": 2}
        shape = tag("rect", x=-4.5, y=-4.5, width=9, height=9, **look)
    else:
        dashes = "2 2" if _untested(row) else None
        look |= {"fill": "#ffffff", "stroke_width": 2, "stroke_dasharray": dashes}
        shape = tag("path", d="M0 -6 6 0 0 6 -6 0Z", **look)
    return tag("svg", shape, x=scale.at(row.gap), y=middle, overflow="visible")


def _axis(y: int, scale: Scale) -> Html:
    marks = [tag("line", x1="0%", x2="100%", y1=0, y2=0, class_="axis", stroke="#6b7280")]
    for tick in scale.ticks:
        at = scale.at(tick)
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


def short(name: object) -> str:
    """Return a name that fits beside a plot; the middle goes, because names differ at the ends.

    Examples
    --------
    >>> short("annotator-of-the-second-team-007")
    'annotator-of-the-second-team-007'
    >>> short("annotator-of-the-second-team-0007")
    'annotator-of-th…second-team-0007'
    """
    known = visible(name)
    if len(known) <= _NAME_CHARACTERS:
        return known
    half = _NAME_CHARACTERS // 2
    return f"{known[: half - 1]}…{known[-half:]}"


def _description(drawn: pd.DataFrame, max_gap: float) -> str:
    sentences = [f"The tolerated gap is ±{max_gap:g}."]
    for finding in SEVERITY:
        rows = drawn[drawn["finding"] == finding]
        if len(rows):
            named = [f"{row.labeler} {signed(row.gap)}" for row in each_row(rows)]
            sentences.append(f"{len(rows):,} {finding}: {listed(named)}.")
    return " ".join([*sentences, "The table of labelers has all numbers."])
