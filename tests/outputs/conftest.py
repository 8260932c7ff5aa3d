"""Data sets that are assessed once and annotated, quarantined and verified in many ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from mdba_checks import Assessment, CheckConfig, Decision, Policy, assess, gate
from mdba_checks.simulation import Simulation, simulate


@dataclass(frozen=True)
class Checked:
    """A simulated data set with what was found about it."""

    made: Simulation
    assessment: Assessment
    decision: Decision

    @property
    def labels(self) -> pd.DataFrame:
        return self.made.labels


@pytest.fixture(scope="session")
def checked() -> Checked:
    """One labeler in three is far below the others for women; nobody is undecided at 0.2."""
    made = simulate(n_items=4_500, n_labelers=3, tprs=[0.4, 0.94, 0.92], seed=3)
    config = CheckConfig(reference="men", policy=Policy(mode="quarantine", max_gap=0.2))
    assessment = assess(made.labels, made.gold, config)
    assert assessment.gaps["finding"].tolist() == ["biased", "fair", "fair"]
    return Checked(made, assessment, gate(assessment))


@pytest.fixture
def quick():
    """Assess small tables with an estimator that fits nothing."""

    def run(labels, gold=None, **settings) -> tuple[Assessment, Decision]:
        config = CheckConfig(
            estimator="selection_rate",
            drop_missing=True,
            policy=Policy(on_inconclusive="annotate", **settings.pop("policy", {})),
            **settings,
        )
        assessment = assess(labels, small_gold() if gold is None else gold, config)
        return assessment, gate(assessment)

    return run


def small_gold() -> pd.DataFrame:
    return pd.DataFrame({"group": ["m", "w"] * 6, "gold": [0, 1, 1] * 4, "x": np.arange(12.0)})
