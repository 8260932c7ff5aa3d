"""Plots for notebooks, papers and artifacts: `assessment.plot.gaps()`, `.rates()`, `.power()`.

They are matplotlib figures with the look of the report. None of them touches matplotlib's global
state: no window opens, and nothing has to be closed.
"""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from mdba_checks.config import Policy
from mdba_checks.errors import InputError, MissingExtraError
from mdba_checks.findings import (
    BIASED,
    FAIR,
    SEVERITY,
    by_severity,
    errors_beyond,
    with_sides,
)
from mdba_checks.report.explanations import each_row
from mdba_checks.report.formatting import short
from mdba_checks.report.interval import COLOURS, TOLERATED, ZERO, Interval, marker
from mdba_checks.tables import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdba_checks.assessment import Assessment
    from mdba_checks.findings import Gaps

MAX_ROWS = 40

_WIDTH, _ROW, _FRAME = 8.0, 0.26, 1.1  # inches
_INK, _FAINT, _BAND = "#1b1f24", ZERO, TOLERATED
_MORE = 4
# How many times as much gold, how many times as many labels.
_EVIDENCE: dict[tuple[int, int], tuple[str, Any]] = {
    (1, 1): ("as it is", "-"),
    (_MORE, 1): (f"{_MORE} × the gold", "--"),
    (1, _MORE): (f"{_MORE} × the labels", "-."),
    (_MORE, _MORE): (f"{_MORE} × both", ":"),
}
_LARGEST_GAP = 0.6
_LOOK: dict[Any, Any] = {
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "font.size": 10,
    "text.color": _INK,
    "xtick.color": _FAINT,
    "xtick.labelcolor": _INK,
    "ytick.color": _FAINT,
    "ytick.labelcolor": _INK,
}


@dataclass(frozen=True)
class Plots:
    """The plots of one assessment; `Assessment.plot`.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> figure = assessment.plot.gaps()
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['women compared with men']
    """

    assessment: Assessment
    numbers: Sequence[Gaps] = field(repr=False)  # of every question

    def gaps(self, *, max_rows: int = MAX_ROWS) -> Figure:
        """Return every labeler's gap with its interval, against what is tolerated.

        `max_rows` comparisons are drawn at most, the worst first.
        """
        drawn, panels = self._panels(max_rows)
        limit = self.assessment.config.policy.max_gap
        with _new_figure(panels) as (figure, axes):
            for one, rows in zip(axes, panels, strict=True):
                _draw_gaps(one, rows, limit)
            confidence = self.assessment.confidence
            name = self.assessment.wording.title
            axes[-1].set_xlabel(
                f"gap in the {name}, {confidence:.0%} intervals; grey: tolerated, ±{limit:g}"
            )
            self._legend(figure, drawn)
            self._say_what_is_left_out(axes[0], drawn)
        return figure

    def rates(self, *, max_rows: int = MAX_ROWS) -> Figure:
        """Return every labeler's rate in the group and in the reference.

        `max_rows` comparisons are drawn at most, the worst first.
        """
        drawn, panels = self._panels(max_rows)
        with _new_figure(panels) as (figure, axes):
            for one, rows in zip(axes, panels, strict=True):
                _draw_rates(one, rows)
            axes[-1].set_xlabel(
                f"{self.assessment.wording.title}; bar: the reference, mark: the group"
            )
            self._legend(figure, drawn)
            self._say_what_is_left_out(axes[0], drawn)
        return figure

    def power(self) -> Figure:
        """Return how likely gaps of different size are found with these tables, and with more.

        For a typical labeler (the median standard error). Biased counts as found with the
        correction for as many comparisons as there are, none of them shown to be fair.
        """
        policy, confidence = self.assessment.config.policy, self.assessment.confidence
        n_tests = int(self.assessment.gaps["p_value"].notna().sum())
        z = float(norm.isf((1 - confidence) / 2))
        z_biased = errors_beyond(policy, confidence, n_tests)
        gap = np.linspace(0, _LARGEST_GAP, 241)
        with _new_figure(None) as (figure, axes):
            for (gold, labels), (name, style) in _EVIDENCE.items():
                error = self.typical_error(gold=gold, labels=labels)
                look: dict[str, Any] = {"linestyle": style, "linewidth": 2, "label": name}
                biased = chance_biased(gap, error, policy, z_biased)
                axes[0].plot(gap, biased, color=COLOURS[BIASED], **look)
                axes[1].plot(gap, chance_fair(gap, error, policy, z), color=COLOURS[FAIR], **look)
            for one, finding in zip(axes, (BIASED, FAIR), strict=True):
                _finish_power(one, finding, policy)
        return figure

    def typical_error(self, *, gold: float = 1, labels: float = 1) -> float:
        """Return the median standard error if there were so many times as much gold and labels."""
        each = [
            np.sqrt(one.own_variance / labels + one.gold_variance.sum(axis=-1) / gold).ravel()
            for one in self.numbers
        ]
        error = np.concatenate(each)
        known = error[np.isfinite(error)]
        if not len(known):
            raise InputError("no labeler has an estimate: there is nothing to plot")
        return float(np.median(known))

    def _panels(self, max_rows: int) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
        drawn = with_sides(by_severity(self.assessment.gaps).head(max_rows))
        if drawn.empty:
            raise InputError("no comparison was made: there is nothing to plot")
        return drawn, [rows for _, rows in drawn.groupby(["side", "reference"], sort=False)]

    def _legend(self, figure: Figure, drawn: pd.DataFrame) -> None:
        from matplotlib.lines import Line2D

        present = [each for each in SEVERITY if each in set(drawn["finding"])]
        handles = [Line2D([], [], label=each, linewidth=2, **marker(each)) for each in present]
        figure.legend(handles=handles, loc="outside upper right", ncols=4, frameon=False)

    def _say_what_is_left_out(self, axes: Axes, drawn: pd.DataFrame) -> None:
        n = len(self.assessment.gaps)
        if len(drawn) < n:
            words = f"the worst {len(drawn):,} of {n:,} comparisons"
            axes.set_title(words, loc="right", fontweight="normal", color=_FAINT, fontsize=9)


def chance_biased(gap: FloatArray, error: float, policy: Policy, z: float) -> FloatArray:
    """Return the chance that a true gap is found to be biased.

    Examples
    --------
    A true gap exactly where the interval begins to lie beyond the limit is found half the time:

    >>> chance_biased(np.array([0.1 + 1.645 * 0.05]), 0.05, Policy(), 1.645).round(3)
    array([0.5])
    """
    bar = policy.max_gap + z * error
    chance: FloatArray = norm.sf((bar - gap) / error) + norm.cdf((-bar - gap) / error)
    return chance


def chance_fair(gap: FloatArray, error: float, policy: Policy, z: float) -> FloatArray:
    """Return the chance that a true gap is found to be fair.

    Examples
    --------
    >>> chance_fair(np.array([0.0, 0.1]), 0.02, Policy(), 1.645).round(3)
    array([0.999, 0.05 ])
    """
    bar = max(policy.max_gap - z * error, 0.0)
    chance: FloatArray = norm.cdf((bar - gap) / error) - norm.cdf((-bar - gap) / error)
    return chance


def png_data_uri(figure: Figure, *, dpi: int = 110) -> str:
    """Return a figure as an image in text form, for Markdown and HTML.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> png_data_uri(Figure(figsize=(1, 1)))[:22]
    'data:image/png;base64,'
    """
    return f"data:image/png;base64,{b64encode(png(figure, dpi=dpi)).decode()}"


def png(figure: Figure, *, dpi: int = 110, form: str = "png") -> bytes:
    """Return a figure as a file, of PNG unless told."""
    buffer = BytesIO()
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; that is not a reason to stop.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(buffer, format=form, dpi=dpi, facecolor="white")
    return buffer.getvalue()


@cache
def _figure_class() -> type[Figure]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError("plots", "report") from None

    class NotebookFigure(Figure):
        """A figure that notebooks show by itself, without pyplot."""

        def _repr_png_(self) -> bytes:
            return png(self)

    return NotebookFigure


def _layout() -> Any:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)


@contextmanager
def new_figure(rows: int) -> Iterator[tuple[Figure, list[Any]]]:
    """Yield a figure in the look of the report, with so many panels below each other."""
    figure_class = _figure_class()
    from matplotlib import rc_context

    with rc_context(_LOOK):
        figure = figure_class(figsize=(_WIDTH, 3.0 * rows + 0.6), layout=_layout())
        axes = figure.subplots(rows, 1, sharex=True, squeeze=False)
        yield figure, list(axes[:, 0])


@contextmanager
def _new_figure(panels: list[pd.DataFrame] | None) -> Iterator[tuple[Figure, list[Any]]]:
    """Yield a figure with one panel below the other, as high as their rows; or two side by side."""
    figure_class = _figure_class()
    from matplotlib import rc_context

    with rc_context(_LOOK):
        if panels is None:
            figure = figure_class(figsize=(_WIDTH, 3.4), layout=_layout())
            yield figure, list(figure.subplots(1, 2, sharey=True))
            return
        sizes = [len(rows) for rows in panels]
        height = _ROW * sum(sizes) + 0.5 * len(panels) + _FRAME
        figure = figure_class(figsize=(_WIDTH, height), layout=_layout())
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=sizes)
        yield figure, list(axes[:, 0])


def _name_rows(axes: Axes, rows: pd.DataFrame) -> None:
    # Without parse_math a name such as "$x$" would be taken for a formula.
    names = [short(name) for name in rows["labeler"]]
    axes.set_yticks(range(len(rows)), names, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    first = rows.iloc[0]
    axes.set_title(f"{first['side']} compared with {first['reference']}", parse_math=False)


def _draw_gaps(axes: Axes, rows: pd.DataFrame, limit: float) -> None:
    axes.axvspan(-limit, limit, color=_BAND, zorder=0, linewidth=0)
    axes.axvline(0, color=_FAINT, linewidth=0.8, zorder=1)
    for y, row in enumerate(each_row(rows)):
        Interval.of(row).plot(axes, y)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -1.5 * limit), max(high, 1.5 * limit))
    _name_rows(axes, rows)


def _draw_rates(axes: Axes, rows: pd.DataFrame) -> None:
    for y, row in enumerate(each_row(rows)):
        look = marker(str(row.finding))
        axes.plot([row.rate, row.rate_reference], [y, y], color=look["color"], linewidth=2)
        axes.plot(
            [row.rate_reference],
            [y],
            color=_FAINT,
            marker="|",
            markersize=12,
            markeredgewidth=2.5,
        )
        axes.plot([row.rate], [y], **look)
    axes.set_xlim(-0.02, 1.02)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    _name_rows(axes, rows)


def _finish_power(axes: Axes, finding: str, policy: Policy) -> None:
    axes.axvspan(0, policy.max_gap, color=_BAND, zorder=0, linewidth=0)
    axes.set_xlim(0, _LARGEST_GAP)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_title(f"Chance to be found {finding}")
    axes.set_xlabel("size of the true gap (grey: tolerated)")
    axes.grid(axis="y", color=_BAND)
    axes.legend(frameon=False, fontsize=9)
