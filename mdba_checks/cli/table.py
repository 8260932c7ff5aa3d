"""The table of labelers: the worst first, each with its interval drawn against the limits.

A row is one comparison: a labeler, a group, and how the rate there differs from the reference. The
drawing shows at a glance what the words say: an interval outside the limits is biased, inside is
fair, across is inconclusive. Colour only repeats the word beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.cells import cell_len
from rich.text import Text

from mdba_checks.cli.terminal import Screen, shorten
from mdba_checks.findings import BIASED, BORDERLINE, FAIR, INCONCLUSIVE, with_sides
from mdba_checks.report import Axis, Interval, interval, percent, signed

STYLES = {BIASED: "bold red", INCONCLUSIVE: "yellow", BORDERLINE: "cyan", FAIR: "green"}
MAX_ROWS = 25

_MIN_BAR, _MAX_BAR = 11, 61
_MIN_NAME = 6
_ROOMY = 100  # from this width on, columns stand further apart
_TO_THE_RIGHT = ("gap", "truth")


def labeler_table(
    gaps: pd.DataFrame,
    screen: Screen,
    *,
    limit: float,
    truth: Mapping[tuple[str, str], float] | None = None,
    who: str = "labeler",
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
    who
        What the rows are about, for the heading.
    """
    columns = _columns(gaps, screen, truth)
    columns["labeler"][0] = who
    space = " " * (2 if screen.width >= _ROOMY else 1)
    widths = _widths(columns, screen.width, len(space))
    if "bar" in widths:
        axis = Axis.of(gaps, limit)
        columns["bar"][1:] = [
            Interval.of(row).text(axis, widths["bar"], unicode=screen.draws)
            for row in gaps.itertuples(index=False)
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
    rows: list[Any] = list((gaps if "side" in gaps else with_sides(gaps)).itertuples(index=False))
    references = list(dict.fromkeys(screen.clean(row.reference) for row in rows))
    against = references[0] if len(references) == 1 else "reference" if references else ""
    columns = {
        "labeler": ["labeler", *(screen.clean(row.labeler) for row in rows)],
        "group": [f"vs {against}", *(screen.clean(row.side) for row in rows)],
        "gap": ["gap", *(_signed(row.gap) for row in rows)],
    }
    if truth is not None:
        known = [truth.get((row.labeler, row.group), math.nan) for row in rows]
        columns["truth"] = ["truth", *map(_signed, known)]
    columns["bar"] = [""] * (len(rows) + 1)
    columns["interval"] = [
        "interval",
        *(interval(row.ci_low, row.ci_high, ascii_only=True) for row in rows),
    ]
    columns["rates"] = ["rates", *(_rates(row) for row in rows)]
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
    return signed(value, ascii_only=True)


def _rates(row: Any) -> str:
    return " / ".join(percent(each, ascii_only=True) for each in (row.rate, row.rate_reference))
