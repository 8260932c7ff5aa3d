"""The task that chooses items for experts, in a real flow run."""

from __future__ import annotations

import pandas as pd
import pytest

pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")

from prefect import flow

from mdba_checks.errors import InputError
from mdba_checks.prefect import choose_items


def test_a_flow_writes_the_sheet_that_the_command_would_write(tables, tmp_path):
    from mdba_checks import CheckConfig, choose_gold

    @flow
    def next_round(labels: str, output: str) -> dict:
        return choose_items(labels, output, n=12, config={"reference": "men", "jobs": 1})

    output = str(tmp_path / "to_judge.csv")
    ended = next_round(tables.labels, output)
    assert ended["sheet"] == output
    assert ended["n_items"] == 12
    assert ended["summary"][0].startswith("round 1 of 3: 12 of")
    wanted = choose_gold(tables.labels, 12, config=CheckConfig(reference="men", jobs=1)).sheet
    found = pd.read_csv(output, dtype={"item": str})
    assert found["item"].tolist() == wanted["item"].tolist()
    assert found["gold_weight"].tolist() == wanted["gold_weight"].tolist()


def test_a_sheet_that_cannot_be_written_fails_before_models_are_fitted(tmp_path):
    with pytest.raises(InputError, match=r"sheets are .csv, .xlsx or .json"):
        choose_items.fn("nowhere.csv", str(tmp_path / "sheet.doc"))
