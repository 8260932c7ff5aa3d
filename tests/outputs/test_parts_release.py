"""Labels in parts: workers write the rows that a table in one piece would give."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mdba_checks import CheckConfig, Policy, assess
from mdba_checks.errors import InputError
from mdba_checks.outputs import decide_release, parts_release, read_released, verify, write_release
from mdba_checks.simulation import simulate
from mdba_checks.tables import LocalPartitions


@pytest.fixture(scope="module")
def made():
    found = simulate(n_items=3000, n_labelers=3, tprs=[0.4, 0.94, 0.94], seed=1)
    labels = found.labels.sample(frac=1, random_state=1).reset_index(drop=True)
    rows = np.arange(len(labels))
    labels.loc[17, "labeler"] = None
    return labels.assign(note=[f"n{n:04d}" for n in rows], row=rows * 2.5), found.gold


def in_parts(labels: pd.DataFrame, *cuts: int) -> LocalPartitions:
    table = pa.Table.from_pandas(labels, preserve_index=False)
    ends = [0, *cuts, table.num_rows]
    return LocalPartitions([table.slice(begin, end - begin) for begin, end in pairwise(ends)])


def _config(mode, by="labeler"):
    policy = Policy(mode=mode, max_gap=0.2, quarantine=by)
    return CheckConfig(reference="men", policy=policy, drop_missing=True)


def _rows(path):
    frame = pd.read_parquet(path)
    return frame.sort_values("row").reset_index(drop=True)


@pytest.fixture(scope="module")
def released(made, tmp_path_factory):
    """Return what a table gives, and what its parts give, by policy."""
    found = {}

    def get(mode, by="labeler"):
        if (mode, by) not in found:
            folder = tmp_path_factory.mktemp(f"{mode}-{by}")
            config = _config(mode, by)
            for name, labels in (("whole", made[0]), ("parts", in_parts(made[0], 900, 900, 1400))):
                decided = decide_release(labels, made[1], assess(labels, made[1], config))
                write_release(labels, decided, folder / f"{name}.parquet")
            found[mode, by] = folder
        return found[mode, by]

    return get


@pytest.mark.parametrize(("mode", "by"), [("annotate", "labeler"), ("quarantine", "group")])
def test_parts_give_the_rows_of_a_table_in_one_piece(released, mode, by):
    folder = released(mode, by)
    names = ["{}.parquet"] + (["{}.removed.parquet"] if mode == "quarantine" else [])
    for name in names:
        whole, parts = (_rows(folder / name.format(each)) for each in ("whole", "parts"))
        pd.testing.assert_frame_equal(parts, whole, rtol=0, atol=1e-9)
    assert verify(folder / "parts.parquet").ok
    table = read_released(folder / "parts.parquet").table
    assert len(table) == len(_rows(folder / "whole.parquet"))


def test_parts_keep_their_order_and_their_files(released, made):
    folder = released("annotate")
    files = sorted((folder / "parts.parquet").iterdir())
    assert [each.name for each in files] == [f"part-0000{n}.parquet" for n in (0, 2, 3)]
    rows = pq.read_table(files).column("row").to_numpy()
    np.testing.assert_array_equal(rows, made[0]["row"])


def test_what_is_changed_later_is_noticed(released, tmp_path):
    folder = released("annotate")
    record = json.loads((folder / "parts.parquet.mdba.json").read_text())
    assert record["data"]["labels_hash"].startswith("rows-")
    copy = tmp_path / "parts.parquet"
    copy.mkdir()
    (tmp_path / "parts.parquet.mdba.json").write_bytes(
        (folder / "parts.parquet.mdba.json").read_bytes()
    )
    for each in (folder / "parts.parquet").iterdir():
        (copy / each.name).write_bytes(each.read_bytes())
    assert verify(copy).ok
    first = pq.read_table(copy / "part-00000.parquet")
    place = first.column_names.index("row")
    changed = first.set_column(place, "row", pa.array([1.0] * first.num_rows))
    pq.write_table(changed, copy / "part-00000.parquet")
    assert verify(copy).reason == "its values are not those that its sidecar describes"
    (copy / "part-00000.parquet").unlink()
    assert "rows, its sidecar describes" in verify(copy).reason


def test_a_worker_that_cannot_write_leaves_nothing(made, tmp_path, monkeypatch):
    labels, config = in_parts(made[0], 900), _config("annotate")
    decided = decide_release(labels, made[1], assess(labels, made[1], config))
    write = parts_release._write_file

    def fail(folder, number, rows):
        if number == 1:
            raise InputError("a worker cannot write: no space left on device")
        return write(folder, number, rows)

    monkeypatch.setattr(parts_release, "_write_file", fail)
    with pytest.raises(InputError, match="no space left"):
        write_release(labels, decided, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_rows_in_another_order_than_before_are_not_written(made, tmp_path):
    labels, config = in_parts(made[0], 900), _config("annotate")
    decided = decide_release(labels, made[1], assess(labels, made[1], config))
    mixed = in_parts(pd.concat([made[0].iloc[:900].iloc[::-1], made[0].iloc[900:]]), 900)
    with pytest.raises(InputError, match="come in another order"):
        write_release(mixed, decided, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match=r"a name that ends in \.parquet"):
        write_release(labels, decided, tmp_path / "out.csv")
    with pytest.raises(InputError, match="are not brought here"):
        decided.table(labels)


def test_a_folder_is_replaced_only_with_force_and_only_if_it_holds_parts(made, tmp_path):
    labels, config = in_parts(made[0], 900), _config("annotate")
    decided = decide_release(labels, made[1], assess(labels, made[1], config))
    output = tmp_path / "out.parquet"
    write_release(labels, decided, output)
    with pytest.raises(InputError, match="it exists"):
        write_release(labels, decided, output)
    write_release(labels, decided, output, force=True)
    assert verify(output).ok
    assert sorted(p.name for p in Path(tmp_path).iterdir()) == [
        "out.parquet",
        "out.parquet.mdba.json",
    ]
    (output / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match=r"holds mine\.txt"):
        write_release(labels, decided, output, force=True)
