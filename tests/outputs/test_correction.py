"""What training on corrected labels is worth: the committed figures, and the example."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def means() -> pd.DataFrame:
    """Mean size of the gap and mean AUC, one row per setting, one column per target."""
    results = pd.read_csv(ROOT / "benchmarks" / "results" / "correction.csv", comment="#")
    results["size"] = results["tpr_gap"].abs()
    setting = ["family", "prevalence", "staff"]
    return results.groupby([*setting, "target"])[["size", "auc"]].mean().unstack("target")


def test_where_labelers_are_biased_the_gap_is_less_than_a_third(means):
    biased = means.drop(index="none biased", level="staff")["size"]
    assert len(biased) == 12
    assert (biased["corrected"] < biased["raw"] / 3).all()


def test_the_ranking_of_items_is_nowhere_worse(means):
    assert (means["auc"]["corrected"] >= means["auc"]["raw"] - 0.001).all()


def test_where_nobody_is_biased_it_neither_helps_nor_hurts_much(means):
    fair = means.xs("none biased", level="staff")["size"]
    assert (fair["corrected"] - fair["raw"]).between(-0.02, 0.02).all()


def test_quarantine_cannot_mend_what_everybody_does(means):
    everybody = means.xs("all biased", level="staff")["size"]
    assert (everybody["quarantined"] > everybody["corrected"]).all()


def test_the_example_shows_a_smaller_gap(capsys):
    runpy.run_path(str(ROOT / "examples" / "corrected_labels.py"), run_name="__main__")
    found = re.findall(r"women (\d+) are found, of 100 suitable men (\d+)", capsys.readouterr().out)
    raw, corrected = (int(men) - int(women) for women, men in found)
    assert raw >= 10
    assert abs(corrected) <= raw / 2
