"""One interval, drawn against what is tolerated: as text, as SVG, with matplotlib, as HTML spans.

All drawings say the same: an interval beyond the limits is biased, within them fair, across one of
them undecided or borderline. Colour and shape repeat the word that stands beside the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from mdba_checks.findings import BIASED, BORDERLINE, FAIR, INCONCLUSIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Hues of Okabe and Ito, which people with any colour vision can distinguish; orange is darkened
# until it stands out from white.
COLOURS = {
    BIASED: "#d55e00",
    INCONCLUSIVE: "#a86f00",
    BORDERLINE: "#00805f",
    FAIR: "#0072b2",
}
TOLERATED, ZERO = "#e4e6e9", "#57606a"
_MARKERS = {BIASED: "o", INCONCLUSIVE: "D", BORDERLINE: "s", FAIR: "s"}
_SQUARE = Markup('rect x="-4.5" y="-4.5" width="9" height="9"')
_SHAPES = {
    BIASED: Markup('circle r="5"'),
    INCONCLUSIVE: Markup('path d="M0 -6 6 0 0 6 -6 0Z"'),
    BORDERLINE: _SQUARE,
    FAIR: _SQUARE,
}
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_MOST_TICKS = 6
_SPAN_WIDTH, _SPAN_HEIGHT = 170, 14  # pixels


@dataclass(frozen=True)
class Axis:
    """The axis that all intervals of a drawing share; gaps within ±`limit` are tolerated."""

    limit: float
    begin: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float | None], limit: float, *, room: float = 0.0) -> Axis:
        """Return an axis with space for every value and both limits, and `room` at its ends.

        Examples
        --------
        >>> Axis.over([-0.3, None, 0.05], limit=0.1)
        Axis(limit=0.1, begin=-0.3, end=0.15000000000000002)
        """
        margin = 1.5 * max(limit, 0.01)
        known = [each for each in values if each is not None and math.isfinite(each)]
        low, high = float(min([*known, -margin])), float(max([*known, margin]))
        space = room * (high - low)
        return cls(limit, low - space, high + space)

    @classmethod
    def of(cls, gaps: pd.DataFrame, limit: float, *, room: float = 0.0) -> Axis:
        """Return an axis for rows of `Assessment.gaps`."""
        numbers = gaps[["gap", "ci_low", "ci_high"]].to_numpy(dtype=float)
        return cls.over(numbers.ravel().tolist(), limit, room=room)

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 at the beginning to 1 at the end of the axis."""
        return (value - self.begin) / (self.end - self.begin)

    def percent(self, value: float) -> str:
        """Return where a value lies, as a length in SVG and HTML."""
        return f"{100 * self.share(value):.2f}%"

    @property
    def ticks(self) -> list[float]:
        """Round values to write at the axis."""
        width = self.end - self.begin
        step = next((each for each in _STEPS if width / each <= _MOST_TICKS), _STEPS[-1])
        first, last = math.ceil(self.begin / step), math.floor(self.end / step)
        return [number * step for number in range(first, last + 1)]


@dataclass(frozen=True)
class _Columns:
    """The columns of a text drawing.

    Rounding to a column must not turn one finding into another: what is beyond a limit is drawn
    beyond its mark, what is within is drawn within, however few columns there are.
    """

    axis: Axis
    width: int

    @property
    def zero(self) -> int:
        """The column of no gap at all, with space for a limit and something beyond it."""
        return min(max(self._nearest(0.0), 2), self.width - 3)

    @property
    def first(self) -> int:
        """The column of the lower limit."""
        return max(min(self._nearest(-self.axis.limit), self.zero - 1), 1)

    @property
    def last(self) -> int:
        """The column of the upper limit."""
        return min(max(self._nearest(self.axis.limit), self.zero + 1), self.width - 2)

    def of(self, value: float) -> int:
        """Return the column that a value is drawn in."""
        column = self._nearest(value)
        if value < -self.axis.limit:
            return min(column, self.first - 1)
        if value > self.axis.limit:
            return max(column, self.last + 1)
        return min(max(column, self.first + 1), self.last - 1)

    def _nearest(self, value: float) -> int:
        return math.floor(self.axis.share(value) * (self.width - 1) + 0.5)


@dataclass(frozen=True)
class Interval:
    """A gap with its interval and finding; NaN where there is no number."""

    gap: float
    low: float
    high: float
    finding: str
    tested: bool = True  # False where something prevented a test: such a row is drawn dashed

    @classmethod
    def of(cls, row: Any) -> Interval:
        """Return the interval of a row of gaps, or of the same row in the record of a check."""
        values = row if isinstance(row, Mapping) else row._asdict()
        gap, low, high, p = (
            math.nan if values[key] is None else float(values[key])
            for key in ("gap", "ci_low", "ci_high", "p_value")
        )
        return cls(gap, low, high, str(values["finding"]), math.isfinite(p))

    @property
    def colour(self) -> str:
        """The colour of the finding."""
        return COLOURS[self.finding]

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends, where both are known."""
        return (self.low, self.high) if math.isfinite(self.low + self.high) else None

    def text(self, axis: Axis, width: int, *, unicode: bool = True) -> str:
        """Return the interval drawn in letters; without a gap, only the limits.

        Examples
        --------
        >>> axis = Axis(limit=0.1, begin=-0.3, end=0.2)
        >>> for low, high in ((-0.3, -0.2), (-0.2, -0.04), (-0.05, 0.05)):
        ...     drawn = Interval((low + high) / 2, low, high, "fair").text(axis, 21)
        ...     print(f"[{drawn}]")
        [━━●━━   ├───┼───┤    ]
        [    ━━━●┿━━─┼───┤    ]
        [        ├─━━●━━─┤    ]
        """
        left, zero, right, line, across, over, dot = "├┼┤─┿━●" if unicode else "|+|-|=o"
        columns = _Columns(axis, width)
        first, last = columns.first, columns.last
        cells = [" "] * width
        cells[first : last + 1] = [left, *line * (last - first - 1), right]
        cells[columns.zero] = zero
        if math.isfinite(self.gap):
            low, high = self.ends or (self.gap, self.gap)
            begin, end = columns.of(low), columns.of(high)
            cells[begin : end + 1] = over * (end + 1 - begin)
            for limit in (first, last):
                if begin < limit < end:
                    cells[limit] = across
            cells[columns.of(self.gap)] = dot
        return "".join(cells)

    def svg(self, axis: Axis, middle: float) -> Markup:
        """Return a line and a marker; without a gap, nothing.

        Examples
        --------
        >>> drawn = Interval(0.2, 0.15, 0.25, "biased").svg(Axis(0.1, -0.5, 0.5), 11)
        >>> print(drawn.partition("/>")[0])
        <line x1="65.00%" x2="75.00%" y1="11" y2="11" class="whisker" stroke="#d55e00" \
stroke-width="2.5"
        """
        if not math.isfinite(self.gap):
            return Markup()
        parts = []
        if self.ends:
            parts.append(
                Markup(
                    '<line x1="{}" x2="{}" y1="{}" y2="{}" class="whisker" stroke="{}" '
                    'stroke-width="2.5"{}/>'
                ).format(
                    *map(axis.percent, self.ends), middle, middle, self.colour, self._dashes("3 4")
                )
            )
        hollow = self.finding in (INCONCLUSIVE, BORDERLINE)
        parts.append(
            Markup(
                '<svg x="{}" y="{}" overflow="visible"><{} class="marker" fill="{}" stroke="{}"'
                "{}{}/></svg>"
            ).format(
                axis.percent(self.gap),
                middle,
                _SHAPES[self.finding],
                "#ffffff" if hollow else self.colour,
                self.colour,
                Markup(' stroke-width="2"') if hollow else "",
                self._dashes("2 2") if self.finding == INCONCLUSIVE else "",
            )
        )
        return Markup().join(parts)

    def _dashes(self, pattern: str) -> Markup:
        return Markup("") if self.tested else Markup(' stroke-dasharray="{}"').format(pattern)

    def plot(self, axes: Axes, y: float) -> None:
        """Draw a line and a marker with matplotlib."""
        axes.plot([self.low, self.high], [y, y], color=self.colour, linewidth=2)
        axes.plot([self.gap], [y], **marker(self.finding))

    def spans(self, axis: Axis) -> Markup:
        """Return HTML that needs no style sheet: spans over the tolerated range.

        Examples
        --------
        >>> unknown = Interval(math.nan, math.nan, math.nan, "inconclusive")
        >>> "left:25.0%;width:50.0%" in unknown.spans(Axis(0.1, -0.2, 0.2))
        True
        """
        parts = [_span(axis, -axis.limit, axis.limit, 0, _SPAN_HEIGHT, TOLERATED)]
        parts.append(_span(axis, 0.0, 0.0, 0, _SPAN_HEIGHT, ZERO))
        if self.ends:
            parts.append(_span(axis, *self.ends, 5, 4, self.colour))
        if math.isfinite(self.gap):
            parts.append(_span(axis, self.gap, self.gap, 2, 10, self.colour))
        return Markup(
            '<span style="display:inline-block;position:relative;width:{}px;height:{}px;'
            'vertical-align:middle;overflow:hidden">{}</span>'
        ).format(_SPAN_WIDTH, _SPAN_HEIGHT, Markup().join(parts))


def marker(finding: str) -> dict[str, Any]:
    """Return how matplotlib draws a finding: colour, shape, and hollow where it is undecided."""
    colour = COLOURS[finding]
    inside = "white" if finding in (INCONCLUSIVE, BORDERLINE) else colour
    return {
        "color": colour,
        "marker": _MARKERS[finding],
        "markerfacecolor": inside,
        "markeredgewidth": 1.8,
        "markersize": 5.5 if finding == INCONCLUSIVE else 6.5,
    }


def _span(axis: Axis, low: float, high: float, top: int, height: int, colour: str) -> Markup:
    left, right = (100 * axis.share(value) for value in (low, high))
    width = f"{right - left:.1f}%" if right > left else "3px;margin-left:-1px"
    return Markup(
        '<span style="position:absolute;left:{:.1f}%;width:{};top:{}px;height:{}px;'
        'background:{};border-radius:2px"></span>'
    ).format(left, width, top, height, colour)
