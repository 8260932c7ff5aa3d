"""The report as one HTML file, plots, pages for Prefect and formats for CI: what people read."""

from mdba_checks.report.artifacts import (
    artifact_key,
    labeler_rows,
    plain,
    plan_page,
    question,
    training_page,
    verdict_page,
)
from mdba_checks.report.ci_formats import github_annotations, junit
from mdba_checks.report.forest import forest
from mdba_checks.report.formatting import count, in_a_row, interval, listed, percent, signed
from mdba_checks.report.html import fragment, render, write_report
from mdba_checks.report.interval import COLOURS, Axis, Interval
from mdba_checks.report.plots import Plots, png_data_uri

__all__ = [
    "COLOURS",
    "Axis",
    "Interval",
    "Plots",
    "artifact_key",
    "count",
    "forest",
    "fragment",
    "github_annotations",
    "in_a_row",
    "interval",
    "junit",
    "labeler_rows",
    "listed",
    "percent",
    "plain",
    "plan_page",
    "png_data_uri",
    "question",
    "render",
    "signed",
    "training_page",
    "verdict_page",
    "write_report",
]
