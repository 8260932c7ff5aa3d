"""A data set that leaves the gate for object storage: with its sidecar, whole or not at all."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy, assess, read_released
from mdba_checks.errors import InputError
from mdba_checks.outputs import check_outputs, decide_release, supersede, verify, write_release
from tests.helpers import selection_table, some_gold

FAIR = {"men": (1000, 2000), "women": (1000, 2000)}
BIASED = {"men": (1600, 2000), "women": (400, 2000)}
OUT = "s3://labels-2024/out/labels.parquet"


def decided(mode: str = "quarantine", labels: pd.DataFrame | None = None):
    labels = selection_table({"007": FAIR, "bob": BIASED}) if labels is None else labels
    config = CheckConfig(
        estimator="selection_rate", reference="men", jobs=1, policy=Policy(mode=mode)
    )
    return labels, decide_release(labels, some_gold(), assess(labels, some_gold(), config))


def names(bucket):
    return sorted(each.rpartition("/")[2] for each in bucket.find("labels-2024"))


@pytest.mark.parametrize("name", ["labels.parquet", "labels.csv", "labels.csv.gz"])
def test_a_data_set_its_removed_rows_and_its_sidecar_are_uploaded(bucket, name, tmp_path):
    labels, found = decided()
    published = write_release(labels, found, f"s3://labels-2024/{name}")
    stem, _, suffix = name.partition(".")
    assert names(bucket) == sorted([name, f"{stem}.removed.{suffix}", f"{name}.mdba.json"])
    lines = found.lines(published)
    assert lines[0] == f"s3://labels-2024/{name}: 4,000 rows that stay; sidecar {name}.mdba.json"
    assert lines[1] == f"s3://labels-2024/{stem}.removed.{suffix}: 4,000 rows taken out"
    # The same as in a folder, value by value.
    write_release(labels, found, tmp_path / name)
    here, there = (read_released(f"{where}/{name}") for where in (tmp_path, "s3://labels-2024"))
    pd.testing.assert_frame_equal(there.table, here.table)
    assert there.record.file == here.record.file
    assert verify(f"s3://labels-2024/{name}").ok


def test_an_existing_data_set_and_an_input_are_never_replaced_unasked(bucket):
    labels, found = decided()
    write_release(labels, found, OUT)
    before = bucket.cat("labels-2024/out/labels.parquet")
    with pytest.raises(InputError, match=rf"cannot write {OUT}: it exists"):
        write_release(labels, found, OUT)
    with pytest.raises(InputError, match=rf"cannot write {OUT}: it is an input"):
        check_outputs(OUT, force=True, inputs=[OUT])
    assert bucket.cat("labels-2024/out/labels.parquet") == before
    write_release(labels, found, OUT, force=True)
    assert verify(OUT).ok


def test_a_bucket_that_is_not_there_is_said_before_anything_is_computed(bucket):
    with pytest.raises(InputError, match="there is no bucket 'lables-2024'"):
        check_outputs("s3://lables-2024/out.csv")
    assert names(bucket) == []


def test_an_upload_that_fails_leaves_no_data_set_and_the_next_run_writes_it(bucket, monkeypatch):
    """The sidecar is there first, as in a folder; the next run replaces it without being asked."""
    labels, found = decided()
    whole, lost = type(bucket)._put_file, ["labels.parquet"]

    async def broken(self, local, place, *args, **options):
        if place.rpartition("/")[2] in lost:
            raise OSError("the connection was lost")
        await whole(self, local, place, *args, **options)

    monkeypatch.setattr(type(bucket), "_put_file", broken)
    with pytest.raises(InputError, match=rf"cannot write {OUT}: the connection was lost"):
        write_release(labels, found, OUT)
    lost.clear()
    assert "labels.parquet" not in names(bucket)
    with pytest.raises(InputError, match="no such file"):
        read_released(OUT)
    write_release(labels, found, OUT)
    assert verify(OUT).ok


def test_a_changed_data_set_or_one_without_its_sidecar_is_not_read(bucket):
    labels, found = decided()
    target = "s3://labels-2024/labels.csv"
    write_release(labels, found, target)
    content = bucket.cat("labels-2024/labels.csv")
    bucket.pipe("labels-2024/labels.csv", content.replace(b"women", b"men", 1))
    with pytest.raises(InputError, match="its values are not those that its sidecar describes"):
        read_released(target)
    bucket.pipe("labels-2024/labels.csv", content)
    assert verify(target).ok
    bucket.rm("labels-2024/labels.csv.mdba.json")
    assert verify(target).reason == "there is no labels.csv.mdba.json beside it"


def test_a_later_stop_marks_the_release_as_superseded(bucket):
    labels, found = decided()
    write_release(labels, found, OUT)
    _, stopped = decided("block", labels)
    assert supersede(OUT, stopped.record())
    with pytest.raises(InputError, match="it is superseded"):
        read_released(OUT)
    assert not supersede("s3://labels-2024/other.parquet", stopped.record())


def test_from_labels_to_release_on_the_command_line(bucket, tmp_path, capsys):
    from mdba_checks.cli import main

    labels, _ = decided()
    for name, table in (("labels", labels), ("gold", some_gold())):
        held = io.BytesIO()
        table.to_csv(held, index=False)
        bucket.pipe(f"labels-2024/{name}.csv", held.getvalue())
    check = ["check", "s3://labels-2024/labels.csv", "--gold", "s3://labels-2024/gold.csv"]
    check += ["--estimator", "selection_rate", "--reference", "men", "--mode", "quarantine"]
    check += ["--output", "s3://labels-2024/kept.csv", "--json", "s3://labels-2024/record.json"]
    assert main(check) == 0
    assert "s3://labels-2024/kept.csv: 4,000 rows that stay" in capsys.readouterr().out
    assert json.loads(bucket.cat("labels-2024/record.json"))["verdict"] == "quarantine"
    assert main(["verify", "s3://labels-2024/kept.csv"]) == 0
    check[check.index("s3://labels-2024/kept.csv")] = "s3://labels-2024/labels.csv"
    assert main([*check, "--force"]) == 2
    assert "it is an input" in capsys.readouterr().err


def test_a_data_set_is_written_to_a_file_url(tmp_path):
    labels, found = decided()
    write_release(labels, found, (tmp_path / "my labels.csv").as_uri())
    assert verify((tmp_path / "my labels.csv").as_uri()).ok
    assert (tmp_path / "my labels.removed.csv").exists()
