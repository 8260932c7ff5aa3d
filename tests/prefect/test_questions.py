"""Several group columns in the gate as a flow, on counted labels."""

from __future__ import annotations

import pandas as pd
import pytest

from mdba_checks.prefect import label_bias_gate
from tests.helpers import crossed_selections, some_gold_of

pytestmark = pytest.mark.usefixtures("server")


def test_the_gate_takes_out_the_rows_of_a_combination(tmp_path):
    labels = crossed_selections()
    labels.to_parquet(tmp_path / "labels.parquet")
    some_gold_of(labels).to_parquet(tmp_path / "gold.parquet")
    settings = {
        "columns": {"group": ["sex", "age"]},
        "reference": {"sex": "men", "age": "under 50"},
        "intersections": True,
        "estimator": "selection_rate",
        "policy": {"max_gap": 0.2, "mode": "quarantine", "quarantine": "group"},
    }
    tables = (str(tmp_path / "labels.parquet"), str(tmp_path / "gold.parquet"))
    state = label_bias_gate(*tables, settings, str(tmp_path / "out.parquet"), return_state=True)
    assert state.name == "Quarantined", state.message
    gone = pd.read_parquet(state.result()["removed"])
    assert gone.groupby(["labeler", "sex", "age"]).size().to_dict() == {
        ("ann", "women", "over 50"): 500
    }
    assert gone["mdba_gap"].unique().tolist() == pytest.approx([-0.3])


def test_the_gate_compares_every_class(tmp_path):
    """Ann says "invite" to 35% of those over 50 and to half of the others: 15 points in each."""
    labels = crossed_selections()
    labels["label"] = labels["label"].map({0: "decline", 1: "invite"})
    gold = some_gold_of(labels)
    gold["gold"] = gold["gold"].map({0: "decline", 1: "invite"})
    tables = [tmp_path / "labels.parquet", tmp_path / "gold.parquet"]
    for table, path in zip((labels, gold), tables, strict=True):
        table.to_parquet(path)
    settings = {
        "columns": {"group": "age"},
        "reference": "under 50",
        "positive": "each",
        "estimator": "selection_rate",
        "policy": {"max_gap": 0.05, "mode": "quarantine", "quarantine": "group"},
    }
    out, findings = tmp_path / "out.parquet", tmp_path / "findings.csv"
    state = label_bias_gate(*tables, settings, out, findings=findings, return_state=True)
    assert state.name == "Quarantined", state.message
    gone = pd.read_parquet(state.result()["removed"])
    assert gone.groupby(["labeler", "age"]).size().to_dict() == {("ann", "over 50"): 1000}
    rows = pd.read_csv(findings)
    found = rows[rows["about"] == "labeler"].set_index(["name", "class"])["gap"]
    assert found.to_dict() == pytest.approx(
        {("ann", "decline"): 0.15, ("ann", "invite"): -0.15}
        | {("bob", "decline"): 0.0, ("bob", "invite"): 0.0}
    )
