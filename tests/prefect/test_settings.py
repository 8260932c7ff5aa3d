"""Settings and tables of a flow from wherever people keep them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from prefect.variables import Variable

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


def test_tables_and_settings_in_object_storage_are_read(tables, tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec", reason="needs mdba-checks[cloud]")
    pytest.importorskip("s3fs", reason="needs mdba-checks[cloud]")
    moto = pytest.importorskip("moto.server", reason="needs mdba-checks[dev]")
    for name, value in (("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "very-secret")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    storage = fsspec.filesystem("s3", skip_instance_cache=True)
    storage.makedirs("tables", exist_ok=True)
    (tmp_path / "mdba.yaml").write_text(yaml.safe_dump(config(max_gap=0.9)))
    for each in (tables.labels, tables.gold, str(tmp_path / "mdba.yaml")):
        storage.put(each, f"tables/{Path(each).name}")
    out = tmp_path / "out.parquet"
    try:
        state = label_bias_gate(
            "s3://tables/labels.parquet",
            "s3://tables/gold.parquet",
            "s3://tables/mdba.yaml",
            out,
            return_state=True,
        )
    finally:
        fsspec.filesystem("s3").clear_instance_cache()
        server.stop()
    assert state.name == "Passed", state.message
    assert len(pd.read_parquet(out)) == len(pd.read_parquet(tables.labels))
