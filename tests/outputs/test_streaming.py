"""Rows that leave the gate are copied in pieces: the same files come out, with little memory."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from mdba_checks import CheckConfig, Policy, assess
from mdba_checks.errors import InputError
from mdba_checks.outputs import copied_rows, csv_rows, decide_release, verify, write_release
from mdba_checks.outputs.csv_rows import CsvRows
from mdba_checks.outputs.quarantine import removed_path
from mdba_checks.simulation import simulate

CONFIG = CheckConfig(reference="men", policy=Policy(mode="quarantine", max_gap=0.2))


@pytest.fixture(scope="module")
def made():
    found = simulate(n_items=3000, n_labelers=3, tprs=[0.4, 0.94, 0.94], seed=1)
    labels = found.labels.assign(
        code=[f"{n:04d}" for n in range(len(found.labels))],
        late=["x7" if n == 2500 else n for n in range(len(found.labels))],
    )
    return labels.astype({"late": str}), found.gold


@pytest.fixture(scope="module", params=["labels.csv", "labels.csv.gz", "labels.parquet"])
def source(request, made, tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / request.param
    write = made[0].to_parquet if path.suffix == ".parquet" else made[0].to_csv
    write(path, index=False)
    return path


def _released(source, gold, output):
    found = decide_release(source, gold, assess(source, gold, CONFIG))
    assert found.decision.verdict == "quarantine"
    return write_release(source, found, output)


def test_pieces_give_the_files_that_one_read_gives(source, made, tmp_path, monkeypatch):
    names = source.name, removed_path(source.name).name
    (tmp_path / "whole").mkdir()
    whole = _released(source, made[1], tmp_path / "whole" / source.name)
    monkeypatch.setattr("mdba_checks.tables.sources.parquet_files.LARGE_SHARE", 0.0)
    monkeypatch.setattr(copied_rows, "_ROWS_AT_ONCE", 700)
    monkeypatch.setattr(csv_rows, "_PIECE_BYTES", 1000)
    (tmp_path / "pieces").mkdir()
    pieces = _released(source, made[1], tmp_path / "pieces" / source.name)
    assert pieces.record.data.labels_hash == whole.record.data.labels_hash
    assert pieces.record.file == whole.record.file
    assert verify(tmp_path / "pieces" / source.name).ok
    for name in names:
        one, other = tmp_path / "whole" / name, tmp_path / "pieces" / name
        if source.suffix != ".parquet":
            assert _unpacked(other) == _unpacked(one)
            continue
        tables = [pq.read_table(each).replace_schema_metadata() for each in (one, other)]
        assert tables[0].equals(tables[1])


def _unpacked(path):
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("size", [4, 5, 8, 13])
@pytest.mark.parametrize(
    "content",
    [
        b'a,b\r\n1,"x\r\n""y"""\r\n\r\n2,z\r\n',
        b'\xef\xbb\xbfa;b\n"1;2";x\n3;"4\n\n5"',
        "a,b\nä,ö\rü,ß\n".encode("utf-16"),
    ],
)
def test_rows_are_found_wherever_pieces_end(content, size, tmp_path, monkeypatch):
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    written = []
    for piece in (1000, size):
        monkeypatch.setattr(csv_rows, "_PIECE_BYTES", piece)
        file = io.BytesIO()
        assert CsvRows.open(path).write(file, extra=pd.DataFrame({"n": [7, 8]})) == 2
        written.append(file.getvalue())
    assert written[0] == written[1]
    assert written[0].count(b"7") == written[0].count(b"8") == 1


def test_a_file_that_changes_while_it_is_copied_is_not_released(made, tmp_path, monkeypatch):
    source, output = tmp_path / "labels.csv", tmp_path / "out.csv"
    made[0].to_csv(source, index=False)
    found = decide_release(source, made[1], assess(source, made[1], CONFIG))
    write = CsvRows.write

    def changed(self, *args, **kwargs):
        source.write_bytes(source.read_bytes().replace(b"L2", b"L3", 1))
        return write(self, *args, **kwargs)

    monkeypatch.setattr(CsvRows, "write", changed)
    with pytest.raises(InputError, match="changed while they were copied"):
        write_release(source, found, output)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["labels.csv"]


WITH_LITTLE = """
import resource, sys
from mdba_checks import CheckConfig, Policy, assess
from mdba_checks.estimation import rates
from mdba_checks.outputs import decide_release, write_release
rates.POOL_ROWS, rates._BUCKET_CELLS = 20_000, 1_000_000  # a small table, small parts
few, labels, gold, limit, out = sys.argv[1:]
policy = Policy(mode="annotate")  # most columns are copied only
config = CheckConfig(reference="a", jobs=1, features=["x0", "x1"], policy=policy)
def run(source, output):
    write_release(source, decide_release(source, gold, assess(source, gold, config)), output)
run(few, out.replace("out", "few"))  # libraries, threads and stacks are there then
used = int(open("/proc/self/status").read().split("VmData:")[1].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + int(limit), used + int(limit)))
run(labels, out)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are set as Linux has them")
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_table_larger_than_the_memory_limit_is_annotated(tmp_path, suffix):
    """The limit is on top of what the libraries take; the table alone is larger than it."""
    rows, features = 200_000, 60
    rng = np.random.default_rng(0)
    names = [f"x{place}" for place in range(features)]
    table = pd.DataFrame(rng.normal(size=(rows, features)).round(3), columns=names)
    table["group"] = rng.choice(["a", "b"], rows)
    table["labeler"] = [f"w{who}" for who in rng.integers(30, size=rows)]
    table["label"] = (table["x0"] + rng.logistic(size=rows) > 0).astype(int)
    gold = (
        table.drop(columns="labeler").rename(columns={"label": "gold"}).sample(300, random_state=0)
    )
    gold.to_parquet(tmp_path / "gold.parquet")
    paths = [tmp_path / f"{name}.{suffix}" for name in ("some", "labels")]
    for path, own in zip(paths, (table.head(2000), table), strict=True):
        if suffix == "csv":
            pyarrow.csv.write_csv(pa.Table.from_pandas(own, preserve_index=False), path)
        else:
            own.to_parquet(path, row_group_size=20_000)
    limit, out = int(0.75 * rows * features * 8), tmp_path / f"out.{suffix}"
    command = [sys.executable, "-c", WITH_LITTLE, *map(str, paths), str(tmp_path / "gold.parquet")]
    done = subprocess.run(
        [*command, str(limit), str(out)], capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert verify(out).ok
