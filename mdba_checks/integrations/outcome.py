"""The outcome of a check in the few facts that other tools keep beside a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from mdba_checks.assessment import assess
from mdba_checks.config import CheckConfig
from mdba_checks.outputs import Release, decide_release
from mdba_checks.tables import Source

Config = CheckConfig | str | Path | None


def check(labels: Source, gold: Source, config: Config = None, **models: Any) -> Release:
    """Assess labels and decide what becomes of them; write nothing.

    Parameters
    ----------
    labels, gold
        As for `assess`.
    config
        Settings, or the path of a YAML file with them.
    models
        `learner`, `text_model` and `progress`, as for `assess`.
    """
    if isinstance(config, (str, Path)):
        config = CheckConfig.from_yaml(config)
    assessment = assess(labels, gold, config, **models)
    return decide_release(labels, gold, assessment, **models)


def numbers(found: Release) -> dict[str, float]:
    """Return what can be drawn over time; a number that does not exist is left out.

    Examples
    --------
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=6000, n_labelers=3, tprs=[0.5, 0.94, 0.94], seed=1)
    >>> found = numbers(check(made.labels, made.gold, CheckConfig(reference="men")))
    >>> found["labelers"], found["labelers_biased"], round(found["largest_gap"], 1)
    (3.0, 1.0, 0.4)
    """
    gaps = found.judged.gaps
    told = {"labels": float(found.assessment.data.n_labels)}
    told["labelers"] = float(gaps["labeler"].nunique())
    for finding in ("biased", "borderline", "fair", "inconclusive"):
        who = gaps.loc[gaps["finding"] == finding, "labeler"]
        told[f"labelers_{finding}"] = float(who.nunique())
    told["largest_gap"] = _largest(gaps)
    if found.judged.overall is not None:
        told["overall_gap"] = _largest(found.judged.overall)
    return {name: value for name, value in told.items() if value == value}  # noqa: PLR0124  not NaN


def _largest(gaps: pd.DataFrame) -> float:
    return float(gaps["gap"].abs().max())
