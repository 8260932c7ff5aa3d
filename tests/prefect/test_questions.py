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
