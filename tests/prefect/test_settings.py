"""Settings and tables of a flow from wherever people keep them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from prefect.variables import Variable

from mdba_checks import read_released
from mdba_checks.errors import InputError
from mdba_checks.prefect import LabelBiasSettings, gated_training, label_bias_gate, settings_of
from tests.prefect.api import config

pytestmark = pytest.mark.usefixtures("server")


def test_paths_are_taken_as_paths(tables, tmp_path):
    settings, out = tmp_path / "mdba.yaml", tmp_path / "out.parquet"
    settings.write_text(yaml.safe_dump(config(max_gap=0.9)))
    ended = gated_training(
        Path(tables.labels), Path(tables.gold), settings, out, model=tmp_path / "m.ubj"
    )
    assert ended["model"] == str(tmp_path / "m.ubj")
    assert (tmp_path / "m.ubj").is_file()
    assert out.is_file()


@pytest.mark.parametrize(("limit", "name"), [(0.9, "Passed"), (0.2, "Blocked")])
def test_a_variable_and_a_block_decide_as_the_file_would(tables, limit, name):
    settings = config(max_gap=limit)
    Variable.set("label_bias", settings, overwrite=True)
    LabelBiasSettings(settings=settings).save("production", overwrite=True)
    block = LabelBiasSettings.load("production")
    for given in ("variable:label_bias", "block:production", block):
        state = label_bias_gate(tables.labels, tables.gold, given, return_state=True)
        assert state.name == name


def test_what_is_not_there_or_cannot_be_is_one_line(tables):
    with pytest.raises(InputError, match="there is no Prefect variable 'nowhere'"):
        settings_of("variable:nowhere")
    with pytest.raises(InputError, match="there is no block 'nowhere'"):
        settings_of("block:nowhere")
    Variable.set("only_text", "max_gap", overwrite=True)
    with pytest.raises(InputError, match="'only_text' must hold JSON"):
        settings_of("variable:only_text")
    Variable.set("misspelt", {"policy": {"max_gapp": 0.2}}, overwrite=True)
    with pytest.raises(InputError, match=r"variable 'misspelt'.*max_gapp"):
        settings_of("variable:misspelt")
    with pytest.raises(InputError, match="max_gapp"):
        LabelBiasSettings(settings={"policy": {"max_gapp": 0.2}})
    state = label_bias_gate(tables.labels, tables.gold, "block:nowhere", return_state=True)
    assert state.type.value == "FAILED"
    assert "there is no block 'nowhere'" in state.message


def test_tables_settings_and_the_data_set_that_leaves_are_in_object_storage(
    tables, tmp_path, bucket
):
    (tmp_path / "mdba.yaml").write_text(yaml.safe_dump(config(max_gap=0.9)))
    for each in (tables.labels, tables.gold, str(tmp_path / "mdba.yaml")):
        bucket.put(each, f"labels-2024/{Path(each).name}")
    state = label_bias_gate(
        "s3://labels-2024/labels.parquet",
        "s3://labels-2024/gold.parquet",
        "s3://labels-2024/mdba.yaml",
        "s3://labels-2024/out.parquet",
        return_state=True,
    )
    assert state.name == "Passed", state.message
    released = read_released("s3://labels-2024/out.parquet")
    assert len(released.table) == len(pd.read_parquet(tables.labels))
    assert bucket.exists("labels-2024/out.parquet.mdba.json")
