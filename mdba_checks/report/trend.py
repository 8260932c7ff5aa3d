"""Gaps over successive checks, as a figure: who changed stands out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mdba_checks.findings import with_sides
from mdba_checks.report.formatting import short
from mdba_checks.report.interval import TOLERATED, ZERO
from mdba_checks.report.plots import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = 8  # labelers with a colour and a name; the others are grey


def trend_figure(history: pd.DataFrame) -> Figure:
    """Return every labeler's gap over successive checks, one panel per group.

    Labelers who changed more than by chance, then those with the largest gaps, have a colour, their
    intervals and a name. Where every check has a date, the axis is one of dates.

    Parameters
    ----------
    history
        What `mdba_checks.outputs.trend` returned.

    Examples
    --------
    >>> from mdba_checks.outputs import trend
    >>> row = {"labeler": "Ann", "group": "women", "reference": "men", "finding": "fair"}
    >>> row |= {"gap": 0.0, "std_error": 0.03, "ci_low": -0.05, "ci_high": 0.05}
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9}
    >>> figure = trend_figure(trend([{**about, "gaps": [row]}, {**about, "gaps": [row]}]))
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['women']
    """
    groups = list(with_sides(history).groupby("side", sort=False))
    dated = bool(history["created"].notna().all())
    with new_figure(len(groups)) as (figure, axes):
        for one, (group, rows) in zip(axes, groups, strict=True):
            limit = rows["max_gap"].iloc[-1]
            if np.isfinite(limit):
                one.axhspan(-limit, limit, color=TOLERATED, zorder=0, linewidth=0)
            one.axhline(0, color=ZERO, linewidth=0.8, zorder=1)
            for name, checks in _ranked(rows):
                _draw(one, checks, name, "created" if dated else "check")
            one.set_title(str(group), parse_math=False)
            one.set_ylabel("gap")
            if one.get_legend_handles_labels()[0]:
                one.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        axes[-1].set_xlabel("time of the check" if dated else "check")
        if not dated:
            axes[-1].set_xticks(sorted(set(history["check"])))
    return figure


def _ranked(rows: pd.DataFrame) -> list[tuple[str | None, pd.DataFrame]]:
    """Return the checks of each labeler with the name to show, those without a name first."""
    by_labeler = list(rows.groupby("labeler", sort=False))
    by_labeler.sort(key=lambda each: (-each[1]["changed"].sum(), -each[1]["gap"].abs().max()))
    named: list[tuple[str | None, pd.DataFrame]] = [
        (short(name), checks) for name, checks in by_labeler[:_NAMED]
    ]
    return [(None, checks) for _, checks in by_labeler[_NAMED:]] + named


def _draw(axes: Any, checks: pd.DataFrame, name: str | None, x: str) -> None:
    when, gap = checks[x].to_numpy(), checks["gap"].to_numpy()
    if name is None:
        axes.plot(when, gap, color=ZERO, linewidth=0.8, alpha=0.4, zorder=2)
        return
    # A name that begins with an underscore would be left out of the legend.
    (line,) = axes.plot(when, gap, marker="o", markersize=4, label=f"\u200b{name}", zorder=3)
    low, high = checks["ci_low"].to_numpy(), checks["ci_high"].to_numpy()
    axes.vlines(when, low, high, color=line.get_color(), linewidth=1.5, zorder=3)
    moved = checks["changed"].to_numpy()
    axes.plot(when[moved], gap[moved], "o", color=line.get_color(), markersize=9, zorder=4)
