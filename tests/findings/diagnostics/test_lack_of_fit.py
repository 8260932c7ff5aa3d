"""What both models miss is worth a look where it can move a rate, and serious beyond the limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mdba_checks import CheckConfig, Policy, assess
from mdba_checks.estimation import LackOfFit
from mdba_checks.findings.diagnostics import diagnose
from mdba_checks.simulation import simulate


@pytest.fixture(scope="module")
def measures():
    made = simulate(n_items=1000, n_labelers=2, tprs=[0.6, 0.9], gold_per_group=100, seed=1)
    config = CheckConfig(reference="men", jobs=1)
    return assess(made.labels, made.gold, config).estimated[0].measures


@pytest.mark.parametrize(
    ("moved", "p_g", "level"),
    [(0.0004, 0.0, "ok"), (0.02, 0.0, "look"), (0.15, 0.0, "serious"), (0.15, 0.5, "ok")],
)
def test_a_clear_misfit_counts_by_how_far_it_moves_a_rate(measures, moved, p_g, level):
    size, sure = np.sqrt(moved * measures.gold_share), np.zeros(2)
    asked = replace(measures, fit=LackOfFit(size, size, sure, np.full(2, p_g)))
    found = [each for each in diagnose(asked, Policy(max_gap=0.1)) if each.check == "lack_of_fit"]
    assert {each.level for each in found} == {level}
    assert found[0].value == pytest.approx(moved)
