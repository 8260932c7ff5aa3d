"""Tables that do not fit: read a column at a time, held on disk, and the same numbers come out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mdba_checks import CheckConfig, assess
from mdba_checks.errors import InputError
from mdba_checks.estimation import rates as estimation
from mdba_checks.simulation import simulate
from mdba_checks.tables import columns_on_disk, content_hash, load
from mdba_checks.tables.sources import open_table, parquet_files, read_table

HOW = {"text_columns": {"labeler", "label", "group", "item"}, "missing_values": [""]}


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(parquet_files, "LARGE_SHARE", 0.0)


@pytest.fixture
def folder(tmp_path):
    """Labels in parts: one in a folder of its own, one without a column, one with other types."""
    made = simulate(n_items=1500, n_labelers=3, gold_per_group=40, seed=3)
    labels = made.labels.assign(town=made.labels.index % 7, seen=made.labels.index % 2 == 0)
    parts = tmp_path / "labels"
    (parts / "year=2026").mkdir(parents=True)
    labels.iloc[:400].to_parquet(parts / "a.parquet")
    labels.iloc[400:900].drop(columns="seen").to_parquet(parts / "b.parquet")
    labels.iloc[900:].astype({"town": float}).to_parquet(parts / "year=2026" / "c.parquet")
    return parts, made.gold.assign(town=3, seen=True, year="2025")


@pytest.mark.usefixtures("everything_is_large")
def test_a_table_that_is_only_opened_has_the_columns_of_one_that_is_read(folder):
    whole, opened = read_table(folder[0], **HOW), open_table(folder[0], **HOW)
    assert isinstance(opened, parquet_files.LargeParquet)
    assert set(opened.column_names) == set(whole.column_names)
    assert "year" in opened.column_names
    assert opened.num_rows == whole.num_rows
    for name in whole.column_names:
        assert opened.column(name).to_pylist() == whole.column(name).to_pylist(), name
    assert content_hash(opened) == content_hash(whole)


@pytest.mark.parametrize("drop", [False, True])
def test_the_same_arrays_come_out_bit_for_bit(folder, same, monkeypatch, drop):
    parts, gold = folder
    if drop:  # rows without a group go
        first = pd.read_parquet(parts / "a.parquet")
        first["group"] = first["group"].astype(object).where(first.index % 5 > 0)
        first.to_parquet(parts / "a.parquet")
    config = CheckConfig(drop_missing=drop)
    small = load(parts, gold, config)
    monkeypatch.setattr(parquet_files, "LARGE_SHARE", 0.0)
    large = load(parts, gold, config)
    assert isinstance(large.labels.linear.columns[0], np.memmap)
    same(small, large)


@pytest.mark.usefixtures("everything_is_large")
def test_problems_are_said_as_for_small_tables(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no \.parquet file"):
        open_table(tmp_path / "empty", **HOW)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match=r"cannot read .*cut\.parquet"):
        open_table(tmp_path / "cut.parquet", **HOW)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(InputError, match="two columns called 'x'"):
        read_table(tmp_path / "twice.parquet", **HOW)


def test_a_full_disk_is_one_line_that_says_where(monkeypatch):
    def no_room(**_):
        return Path("/dev/full").open("wb", buffering=0)

    monkeypatch.setattr(columns_on_disk.tempfile, "TemporaryFile", no_room)
    with pytest.raises(InputError, match=r"no room for columns .* point TMPDIR"):
        columns_on_disk.on_disk(np.arange(1000))


ASSESS_WITH_LITTLE = """
import resource, sys
from mdba_checks import CheckConfig, assess
from mdba_checks.estimation import rates
rates.POOL_ROWS, rates._BUCKET_CELLS = 30_000, 1_000_000  # a small table, small parts
labels, gold, limit, out = sys.argv[1:]
little = CheckConfig(reference="a", jobs=1)
assess(gold.replace("gold", "few"), gold, little)  # libraries, threads and stacks are there then
used = int(open("/proc/self/status").read().split("VmData:")[1].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + int(limit), used + int(limit)))
assess(labels, gold, little).gaps.to_json(out, double_precision=15)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are set as Linux has them")
def test_a_table_larger_than_the_memory_limit_is_assessed_with_the_same_numbers(
    tmp_path, monkeypatch
):
    """The limit is on top of what the libraries take; the table alone is larger than it."""
    rows, features = 240_000, 60
    rng = np.random.default_rng(0)
    names = [f"x{place}" for place in range(features)]
    parts = tmp_path / "labels"
    parts.mkdir()
    for part in range(5):
        table = pd.DataFrame(rng.normal(size=(rows // 5, features)), columns=names)
        table["group"] = rng.choice(["a", "b"], len(table))
        table["labeler"] = [f"w{who}" for who in rng.integers(30, size=len(table))]
        table["label"] = (table["x0"] + rng.logistic(size=len(table)) > 0).astype(int)
        table.to_parquet(parts / f"{part}.parquet")
    table.head(2000).to_parquet(tmp_path / "few.parquet")
    size = rows * features * 8
    gold = pd.DataFrame(rng.normal(size=(300, features)), columns=names)
    gold["group"], gold["gold"] = rng.choice(["a", "b"], 300), (gold["x0"] > 0).astype(int)
    gold.to_parquet(tmp_path / "gold.parquet")
    sources = str(parts), str(tmp_path / "gold.parquet")
    limit, out = int(0.75 * size), tmp_path / "gaps.json"
    command = [sys.executable, "-c", ASSESS_WITH_LITTLE, *sources, str(limit), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    with_little = pd.read_json(out)
    monkeypatch.setattr(estimation, "POOL_ROWS", 30_000)
    with_plenty = assess(*sources, CheckConfig(reference="a", jobs=1)).gaps
    np.testing.assert_allclose(with_little["gap"], with_plenty["gap"], atol=1e-6)
