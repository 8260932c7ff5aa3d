"""The report as one HTML file, plots, pages for Prefect and formats for CI: what people read."""

from mdba_checks.findings import WHOLE
from mdba_checks.report.artifacts import (
    artifact_key,
    labeler_rows,
    model_sentence,
    plain,
    plan_page,
    question,
    training_page,
    verdict_page,
)
from mdba_checks.report.ci_formats import github_annotations, junit
from mdba_checks.report.forest import forest
from mdba_checks.report.formatting import (
    count,
    in_a_row,
    interval,
    p_value,
    percent,
    signed,
)
from mdba_checks.report.html import fragment, render, write_report
from mdba_checks.report.interval import COLOURS, Axis, Interval
from mdba_checks.report.labeler_page import file_names, labeler_page, labelers_of
from mdba_checks.report.plots import Plots, png, png_data_uri
from mdba_checks.report.rules import rules_junit, rules_page
from mdba_checks.report.side_by_side import both_facts, change_sentences, compare_page
from mdba_checks.report.together import (
    crowd_sentences,
    look_first,
    look_first_sentence,
    together,
    whole_sentences,
)
from mdba_checks.report.trend import trend_figure

__all__ = [
    "COLOURS",
    "WHOLE",
    "Axis",
    "Interval",
    "Plots",
    "artifact_key",
    "both_facts",
    "change_sentences",
    "compare_page",
    "count",
    "crowd_sentences",
    "file_names",
    "forest",
    "fragment",
    "github_annotations",
    "in_a_row",
    "interval",
    "junit",
    "labeler_page",
    "labeler_rows",
    "labelers_of",
    "look_first",
    "look_first_sentence",
    "model_sentence",
    "p_value",
    "percent",
    "plain",
    "plan_page",
    "png",
    "png_data_uri",
    "question",
    "render",
    "rules_junit",
    "rules_page",
    "signed",
    "together",
    "training_page",
    "trend_figure",
    "verdict_page",
    "whole_sentences",
    "write_report",
]
