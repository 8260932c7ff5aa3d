"""The table of labelers: the worst first, each with its interval drawn against the limits.

A row is one comparison: a labeler, a group, and how the rate there differs from the reference. The
drawing shows at a glance what the words say: an interval outside the limits is biased, inside is
fair, across is inconclusive. Colour only repeats the word beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.cells import cell_len
from rich.text import Text

from mdba_checks.cli.terminal import Screen, shorten
from mdba_checks.findings import BIASED, BORDERLINE, FAIR, INCONCLUSIVE

STYLES = {BIASED: "bold red", INCONCLUSIVE: "yellow", BORDERLINE: "cyan", FAIR: "green"}
MAX_ROWS = 25

_MIN_BAR, _MAX_BAR = 11, 61
_MIN_NAME = 6
_ROOMY = 100  # from this width on, columns stand further apart
_TO_THE_RIGHT = ("gap", "truth")


@dataclass(frozen=True)
class Scale:
    """The axis that all bars of a table share, wide enough for every interval and both limits.

    Rounding to a column must not turn one finding into another: what is beyond a limit is drawn
    beyond its mark, what is within is drawn within, however few columns there are.
    """

    limit: float
    begin: float
    end: float
    width: int

    @classmethod
    def over(cls, gaps: pd.DataFrame, *, limit: float, width: int) -> Scale:
        """Return the axis for these rows."""
        ends = gaps[["gap", "ci_low", "ci_high"]].to_numpy(dtype=float).ravel()
        known = [float(each) for each in ends if math.isfinite(each)]
        margin = 1.5 * max(limit, 0.01)
        return cls(limit, min([*known, -margin]), max([*known, margin]), width)

    @property
    def zero(self) -> int:
        """The column of no gap at all, with room for a mark and something beyond on both sides."""
        return min(max(self._column(0.0), 2), self.width - 3)

    @property
    def first(self) -> int:
        """The column of the lower limit."""
        return max(min(self._column(-self.limit), self.zero - 1), 1)

    @property
    def last(self) -> int:
        """The column of the upper limit."""
        return min(max(self._column(self.limit), self.zero + 1), self.width - 2)

    def place(self, value: float) -> int:
        """Return the column that a value is drawn in."""
        column = self._column(value)
        if value < -self.limit:
            return min(column, self.first - 1)
        if value > self.limit:
            return max(column, self.last + 1)
        return min(max(column, self.first + 1), self.last - 1)

    def _column(self, value: float) -> int:
        share = (value - self.begin) / (self.end - self.begin)
        return math.floor(share * (self.width - 1) + 0.5)


def bar(scale: Scale, gap: float, low: float, high: float, *, draws: bool = True) -> str:
    """Draw an interval against the limits; without a gap, only the limits.

    Examples
    --------
    >>> scale = Scale(limit=0.1, begin=-0.3, end=0.2, width=21)
    >>> for low, high in ((-0.3, -0.2), (-0.2, -0.04), (-0.05, 0.05)):
    ...     print("[" + bar(scale, (low + high) / 2, low, high) + "]")
    [━━●━━   ├───┼───┤    ]
    [    ━━━●┿━━─┼───┤    ]
    [        ├─━━●━━─┤    ]
    """
    left, zero, right, line, across, over, dot = "├┼┤─┿━●" if draws else "|+|-|=o"
    first, last = scale.first, scale.last
    cells = [" "] * scale.width
    cells[first : last + 1] = [left, *line * (last - first - 1), right]
    cells[scale.zero] = zero
    if math.isfinite(gap):
        begin, end = (scale.place(each if math.isfinite(each) else gap) for each in (low, high))
        for place in range(begin, end + 1):
            cells[place] = over
        for mark in (first, last):
            if begin < mark < end:
                cells[mark] = across
        cells[scale.place(gap)] = dot
    return "".join(cells)


def labeler_table(
    gaps: pd.DataFrame,
    screen: Screen,
    *,
    limit: float,
    truth: Mapping[tuple[str, str], float] | None = None,
) -> list[Text]:
    """Return the lines of the table for these rows, in their order, as wide as the screen allows.

    Parameters
    ----------
    gaps
        Rows of `Assessment.gaps`.
    screen
        Where it will be shown.
    limit
        The tolerated gap.
    truth
        The true gap by labeler and group, where it is known: for simulated data.
    """
    columns = _columns(gaps, screen, truth)
    space = " " * (2 if screen.width >= _ROOMY else 1)
    widths = _widths(columns, screen.width, len(space))
    if "bar" in widths:
        scale = Scale.over(gaps, limit=limit, width=widths["bar"])
        numbers = zip(gaps["gap"], gaps["ci_low"], gaps["ci_high"], strict=True)
        columns["bar"][1:] = [
            bar(scale, float(gap), float(low), float(high), draws=screen.draws)
            for gap, low, high in numbers
        ]
    dots = "…" if screen.draws else "~"
    lines = []
    for number in range(len(gaps) + 1):
        line = Text(no_wrap=True, overflow="crop")
        style = STYLES[columns["finding"][number]] if number else ""
        for name, width in widths.items():
            text = shorten(columns[name][number], width, dots=dots)
            blank = " " * (width - cell_len(text))
            padded = blank + text if name in _TO_THE_RIGHT else text + blank
            coloured = style if name in ("bar", "finding") else ""
            line.append(padded, style=coloured if number else "bold").append(space)
        line.rstrip()
        lines.append(line)
    return lines


def _columns(
    gaps: pd.DataFrame, screen: Screen, truth: Mapping[tuple[str, str], float] | None
) -> dict[str, list[str]]:
    """Return the texts of every column, its heading first; the bars come later."""
    rows: list[Any] = list(gaps.itertuples(index=False))
    reference = screen.clean(rows[0].reference) if rows else ""
    columns = {
        "labeler": ["labeler", *(screen.clean(row.labeler) for row in rows)],
        "group": [f"vs {reference}", *(screen.clean(row.group) for row in rows)],
        "gap": ["gap", *(_signed(row.gap) for row in rows)],
    }
    if truth is not None:
        known = [truth.get((row.labeler, row.group), math.nan) for row in rows]
        columns["truth"] = ["truth", *map(_signed, known)]
    columns["bar"] = [""] * (len(rows) + 1)
    columns["interval"] = ["interval", *(_interval(row.ci_low, row.ci_high) for row in rows)]
    columns["rates"] = ["rates", *(_rates(row.rate, row.rate_reference) for row in rows)]
    columns["finding"] = ["finding", *(str(row.finding) for row in rows)]
    return columns


def _widths(columns: Mapping[str, list[str]], room: int, space: int) -> dict[str, int]:
    """Return what each column gets; where room is short, names are cut before columns go."""
    for without in ((), ("rates",), ("rates", "bar"), ("rates", "bar", "interval")):
        widths = {
            name: max(map(cell_len, cells))
            for name, cells in columns.items()
            if name not in without
        }
        bar_least = 0 if "bar" in without else _MIN_BAR
        left = room - sum(widths.values()) - space * (len(widths) - 1) - bar_least
        while left < 0:
            longer = max("labeler", "group", key=lambda name: widths[name])
            if widths[longer] <= _MIN_NAME:
                break
            widths[longer] -= 1
            left += 1
        if left >= 0:
            break
    if "bar" in widths:
        widths["bar"] = min(bar_least + max(left, 0), _MAX_BAR)
    return widths


def _signed(value: float) -> str:
    # Adding zero turns -0.0 into 0.0: a gap of "-0.00" looks like a riddle.
    return f"{round(value, 2) + 0.0:+.2f}" if math.isfinite(value) else "?"


def _interval(low: float, high: float) -> str:
    return f"{_signed(low)} to {_signed(high)}" if math.isfinite(low) else "?"


def _rates(rate: float, reference: float) -> str:
    sides = (f"{each:.0%}" if math.isfinite(each) else "?" for each in (rate, reference))
    return " / ".join(sides)
