"""The grid to look at: error against the number of gold items, and what intervals cover."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd

from mdba_checks.errors import MissingExtraError

_COLOURS = {
    "mdba_dr": "#1f6f8b",
    "mdba": "#e07a1f",
    "mdba_naive": "#b0894f",
    "gold_model": "#7a8b3d",
    "selection_rate": "#8a5a83",
    "confident_learning": "#9a9a9a",
}


def draw(summary: pd.DataFrame) -> str:
    """Return the summary of a grid as an SVG image."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a plot of the grid", "report") from None
    # Without pyplot: nothing global is touched, and no window could open.
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    error, cover = figure.subplots(1, 2)
    _draw_errors(error, summary[summary["family"] != "inconsistent"])
    _draw_coverage(cover, summary[summary["estimator"] == "mdba_dr"])
    out = io.StringIO()
    # Without a date and with fixed names the same figures are the same file.
    with mpl.rc_context({"svg.hashsalt": "mdba"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _draw_errors(axis: Any, cells: pd.DataFrame) -> None:
    means = cells.groupby(["estimator", "gold_per_group"], sort=False)[["mae", "paper_mae"]].mean()
    for name, colour in _COLOURS.items():
        if name not in means.index:
            continue
        own = means.loc[name]
        axis.plot(own.index, own["mae"], color=colour, marker="o", label=name)
        if name == "mdba":
            axis.plot(
                own.index, own["paper_mae"], color=colour, linestyle=":", label="mdba in the paper"
            )
    axis.set(
        xlabel="gold items per group",
        ylabel="mean absolute error of the gap",
        ylim=(0, None),
        xticks=sorted(cells["gold_per_group"].unique()),
        title="Error, mean over the paper's cells",
    )
    axis.legend(fontsize=8)


def _draw_coverage(axis: Any, ours: pd.DataFrame) -> None:
    means = ours.groupby(["dataset", "family"], sort=False)["coverage"].mean()
    names = [f"{dataset}, {family}" for dataset, family in means.index]
    axis.axvline(0.9, color="#9a9a9a", linestyle=":")
    axis.plot(means, names, "o", color=_COLOURS["mdba_dr"])
    axis.set(
        xlim=(min(0.7, means.min() - 0.02), 1.0),
        xlabel="share of 90% intervals that hold the truth",
        title="Coverage of mdba_dr",
    )
    axis.invert_yaxis()
