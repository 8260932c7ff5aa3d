"""Ours beside the published figures: one row per cell, one table to read, one plot to look at."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd

_CELL = ["dataset", "family", "prevalence", "gold_per_group"]


def published() -> pd.DataFrame:
    """Return the mean absolute errors printed in the paper, by cell and method."""
    text = files("benchmarks.paper").joinpath("paper_tables.csv")
    with text.open(encoding="utf-8") as file:
        return pd.read_csv(file).rename(columns={"ordering": "family"})


def summarize(records: pd.DataFrame) -> pd.DataFrame:
    """Return a row per cell and estimator: means over repetitions, the paper's figure, a ratio."""
    measures = ["mae", "bias", "coverage", "width", "joint_coverage"]
    by = records.groupby([*_CELL, "estimator"], sort=False)
    means = by[measures].mean().join(by.size().rename("repetitions")).reset_index()
    paper = published().melt(_CELL, var_name="estimator", value_name="paper_mae")
    # The paper has no mdba_dr; its own method is what ours has to beat.
    ours = paper[paper["estimator"] == "mdba"].assign(estimator="mdba_dr")
    summary = means.merge(pd.concat([paper, ours]), how="left", on=[*_CELL, "estimator"])
    summary["ratio"] = summary["mae"] / summary["paper_mae"]
    return summary


def render(summary: pd.DataFrame) -> str:
    """Return the summary as Markdown: the headline figures, then the grid."""
    lines = ["## Over all cells of the paper", "", _headline(summary), ""]
    lines += ["## By data set and family (`mdba_dr`)", "", _by_family(summary), ""]
    lines += ["## Every cell: mean absolute error of the gap", "", _cells(summary), ""]
    return "\n".join(lines)


def _headline(summary: pd.DataFrame) -> str:
    paper = summary[summary["family"] != "inconsistent"]
    rows = []
    for name, part in paper.groupby("estimator", sort=False):
        known = part["paper_mae"].notna()
        rows.append(
            {
                "estimator": f"`{name}`",
                "cells": len(part),
                "repetitions": int(part["repetitions"].min()),
                "MAE": f"{part['mae'].mean():.4f}",
                "paper": f"{part['paper_mae'].mean():.4f}" if known.any() else "–",
                "cells below the paper": f"{int((part['ratio'] < 1).sum())} of {int(known.sum())}",
                "90% interval covers": f"{part['coverage'].mean():.1%}",
                "all labelers at once": f"{part['joint_coverage'].mean():.1%}",
                "mean width": f"{part['width'].mean():.3f}",
            }
        )
    return _markdown(pd.DataFrame(rows))


def _by_family(summary: pd.DataFrame) -> str:
    ours = summary[summary["estimator"] == "mdba_dr"]
    classic = summary[summary["estimator"] == "mdba"].groupby(["dataset", "family"])["mae"].mean()
    rows = []
    for (dataset, family), part in ours.groupby(["dataset", "family"], sort=False):
        mae = part["mae"].mean()
        rows.append(
            {
                "data set": dataset,
                "family": family,
                "MAE": f"{mae:.4f}",
                "of `mdba`'s error": f"{mae / classic.get((dataset, family), np.nan):.2f}",
                "bias": f"{part['bias'].mean():+.4f}",
                "covers": f"{part['coverage'].mean():.1%}",
                "joint": f"{part['joint_coverage'].mean():.1%}",
                "width": f"{part['width'].mean():.3f}",
            }
        )
    return _markdown(pd.DataFrame(rows))


def _cells(summary: pd.DataFrame) -> str:
    wide = summary.pivot_table(index=_CELL, columns="estimator", values="mae", sort=False)
    paper = summary[summary["estimator"] == "mdba"].set_index(_CELL)["paper_mae"]
    wide.insert(0, "paper's mdba", paper)
    shown = wide.reset_index()
    for column in shown.columns[len(_CELL) :]:
        shown[column] = [f"{value:.3f}" if np.isfinite(value) else "–" for value in shown[column]]
    return _markdown(shown)


def _markdown(table: pd.DataFrame) -> str:
    head = [str(column) for column in table.columns]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(str(value) for value in row) for row in table.itertuples(index=False)]
    return "\n".join(f"| {line} |" for line in lines)
