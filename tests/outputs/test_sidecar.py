from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mdba_checks import __version__
from mdba_checks.errors import InputError
from mdba_checks.outputs import check_outputs, sidecar_path, verify
from mdba_checks.tables import content_hash, read_table
from tests.helpers import write_annotated


@pytest.fixture(params=["csv", "csv.gz", "parquet"])
def written(request, checked, tmp_path):
    path = tmp_path / f"out.{request.param}"
    write_annotated(checked.labels, checked.assessment, checked.decision, path)
    return path


def change(path, edit) -> None:
    """Read a data file, change it with `edit`, and write it again under its name."""
    if path.name.endswith(".parquet"):
        table = pq.read_table(path)
        frame = edit(table.to_pandas())
        changed = pa.Table.from_pandas(frame, preserve_index=False)
        pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    else:
        # The text of every value as it is: only what `edit` does may differ.
        edit(pd.read_csv(path, dtype=str, keep_default_na=False)).to_csv(path, index=False)


def only_first_cell(column, value):
    def edit(frame):
        frame.loc[0, column] = type(frame.loc[0, column])(value)
        return frame

    return edit


class TestContent:
    def test_the_sidecar_holds_the_check_and_what_it_was_made_of(self, written, checked):
        record = json.loads(sidecar_path(written).read_text())
        assert record["verdict"] == "annotate"
        assert record["policy"]["max_gap"] == 0.2
        assert record["version"] == __version__
        assert record["created_by"] == f"mdba-checks {__version__}"
        assert record["seed"] == 0
        assert [row["labeler"] for row in record["gaps"]] == ["L1", "L2", "L3"]
        texts = {"text_columns": ["labeler", "label", "group", "gold", "item"]}
        for name, source in (("labels", checked.labels), ("gold", checked.made.gold)):
            expected = content_hash(read_table(source, **texts, missing_values=[]))
            assert record["data"][f"{name}_hash"] == expected
        assert record["file"]["name"] == written.name
        assert record["file"]["rows"] == len(checked.labels)

    def test_parquet_carries_the_same_inside(self, checked, tmp_path):
        path = tmp_path / "out.parquet"
        write_annotated(checked.labels, checked.assessment, checked.decision, path)
        assert pq.read_schema(path).metadata[b"mdba"] == sidecar_path(path).read_bytes()

    def test_two_runs_give_the_same_data_and_the_same_hash(self, written, checked, tmp_path):
        again = tmp_path / f"again.{written.name.partition('.')[2]}"
        write_annotated(checked.labels, checked.assessment, checked.decision, again)
        one, two = verify(written).record, verify(again).record
        assert one.file.content_hash == two.file.content_hash

    def test_all_formats_have_the_same_hash(self, checked, tmp_path):
        hashes = set()
        for suffix in ("csv", "csv.gz", "parquet"):
            path = tmp_path / f"out.{suffix}"
            published = write_annotated(checked.labels, checked.assessment, checked.decision, path)
            hashes.add(published.record.file.content_hash)
        assert len(hashes) == 1


class TestVerify:
    def test_an_untouched_file_is_verified(self, written):
        found = verify(written)
        assert found.ok
        assert found.record.file.name == written.name

    def test_a_file_and_its_sidecar_may_be_moved_and_renamed(self, written, tmp_path):
        suffix = written.name.partition(".")[2]
        (tmp_path / "elsewhere").mkdir()
        moved = tmp_path / "elsewhere" / f"data.{suffix}"
        sidecar_path(written).rename(sidecar_path(moved))
        written.rename(moved)
        assert verify(moved).ok

    def test_packing_a_file_again_is_no_change(self, written):
        change(written, lambda frame: frame)
        assert verify(written).ok

    def test_neither_is_another_order_of_rows(self, written):
        change(written, lambda frame: frame.iloc[::-1])
        assert verify(written).ok

    @pytest.mark.parametrize(
        "edit",
        [
            only_first_cell("label", 1),
            only_first_cell("labeler", "somebody"),
            only_first_cell("mdba_finding", "fine"),
            only_first_cell("mdba_p_positive", "0.123"),
            lambda frame: frame.iloc[:-1],
            lambda frame: pd.concat([frame, frame.iloc[:1]]),
            lambda frame: frame.drop(columns="mdba_gap"),
            lambda frame: frame.rename(columns={"label": "lable"}),
            lambda frame: frame.assign(new="x"),
        ],
    )
    def test_every_change_of_the_data_shows(self, written, edit):
        change(written, edit)
        assert not verify(written).ok

    def test_a_missing_sidecar_shows_except_where_the_file_carries_it(self, written):
        sidecar_path(written).unlink()
        found = verify(written)
        assert found.ok == written.name.endswith(".parquet")
        assert found.ok or found.reason == f"there is no {written.name}.mdba.json beside it"

    def test_a_parquet_file_that_lost_its_metadata_is_held_against_its_sidecar(
        self, checked, tmp_path
    ):
        path = tmp_path / "out.parquet"
        write_annotated(checked.labels, checked.assessment, checked.decision, path)
        pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
        assert verify(path).ok

    @pytest.mark.parametrize(
        "damage",
        [
            lambda text: text[: len(text) // 2],
            lambda _: "",
            lambda _: "[]",
            lambda _: "{}",
            lambda text: text.replace('"quarantine"', '"pass"'),
            lambda text: text.replace('"seed": 0', '"seed": 1'),
            lambda _: "\x00\xff",
        ],
    )
    def test_a_damaged_sidecar_shows(self, written, damage):
        beside = sidecar_path(written)
        beside.write_text(damage(beside.read_text()))
        found = verify(written)
        assert not found.ok
        assert beside.name in found.reason

    def test_the_sidecar_of_another_file_shows(self, written, quick, checked):
        other, decision = quick(checked.labels, checked.made.gold, reference="men")
        another = written.with_name(f"another-{written.name}")
        write_annotated(checked.labels, other, decision, another)
        sidecar_path(another).replace(sidecar_path(written))
        assert not verify(written).ok

    def test_a_truncated_file_shows(self, written):
        content = written.read_bytes()
        written.write_bytes(content[: len(content) // 2])
        assert not verify(written).ok

    def test_there_must_be_a_file(self, tmp_path):
        with pytest.raises(InputError, match="no such file"):
            verify(tmp_path / "nothing.csv")


class TestTargets:
    def test_an_input_is_never_written_to(self, checked, tmp_path):
        labels, gold = tmp_path / "labels.csv", tmp_path / "gold.csv"
        checked.labels.to_csv(labels, index=False)
        checked.made.gold.to_csv(gold, index=False)
        before = labels.read_bytes(), gold.read_bytes()
        for target in (labels, gold):
            with pytest.raises(InputError, match="it is an input"):
                write_annotated(
                    checked.labels,
                    checked.assessment,
                    checked.decision,
                    target,
                    force=True,
                    inputs=(labels, gold),
                )
        assert (labels.read_bytes(), gold.read_bytes()) == before

    def test_the_labels_file_is_an_input_without_being_said(self, quick, checked, tmp_path):
        labels = tmp_path / "labels.csv"
        checked.labels.to_csv(labels, index=False)
        assessment, decision = quick(labels, checked.made.gold, reference="men")
        with pytest.raises(InputError, match="it is an input"):
            write_annotated(labels, assessment, decision, labels, force=True)

    @pytest.mark.parametrize("which", ["data", "sidecar"])
    def test_existing_files_are_replaced_only_by_force(self, checked, tmp_path, which):
        output = tmp_path / "out.csv"
        output.write_text("mine")
        existing = output
        if which == "sidecar":
            existing = sidecar_path(output)
            existing.write_text("mine")
        run = (checked.labels, checked.assessment, checked.decision, output)
        with pytest.raises(InputError, match="it exists"):
            write_annotated(*run)
        with pytest.raises(InputError, match="it exists"):
            check_outputs(output)
        assert existing.read_text() == "mine"
        write_annotated(*run, force=True)
        assert verify(output).ok

    def test_a_failed_run_leaves_nothing(self, checked, tmp_path):
        sidecar_path(tmp_path / "out.csv").mkdir()
        with pytest.raises(InputError, match="not an ordinary file"):
            write_annotated(
                checked.labels, checked.assessment, checked.decision, tmp_path / "out.csv"
            )
        assert [each.name for each in tmp_path.iterdir()] == ["out.csv.mdba.json"]
