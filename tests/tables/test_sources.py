"""Tables as people keep them: workbooks, numbers written for people, object storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.simulation import simulate
from mdba_checks.tables import load, read_table

HOW = {"text_columns": {"labeler", "label", "group", "gold"}, "missing_values": ["", "#N/A"]}


def german(value: float) -> str | None:
    if np.isnan(value):
        return None
    whole, _, decimals = f"{value:,.3f}".partition(".")
    return whole.replace(",", ".") + "," + decimals


def refusal(source: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, **HOW)
    return str(caught.value)


# --- Numbers -------------------------------------------------------------------------------------


def labels_and_gold(written: list[str], **others: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = len(written)
    sides = {"group": ["men", "women"] * (rows // 2), "x": written, **others}
    labels = pd.DataFrame({"labeler": "ann", "label": [0, 1] * (rows // 2), **sides})
    return labels, pd.DataFrame({"gold": [1, 0] * (rows // 2), **sides})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["3,5", "-0,25", "12", "1.234,5"], [3.5, -0.25, 12, 1234.5]),
        (["1,234.5", "12", "-7,000,000", "0.25"], [1234.5, 12, -7e6, 0.25]),
        (["1 234,5", "12", "7", "1\u00a0000"], [1234.5, 12, 7, 1000]),
        (["1'234.5", "12", "7", "0.5"], [1234.5, 12, 7, 0.5]),
        (["1.234.567", "12", "7", "1.000"], [1234567, 12, 7, 1000]),
        (["0,125", "0,250", "1,000", "2,125"], [0.125, 0.25, 1, 2.125]),
        # Could be either: a column of decimals would not stop at three digits every time.
        (["1,234", "950", "12,000", "7"], [1234, 950, 12000, 7]),
        (["−1,5", "2,25", "3", "4"], [-1.5, 2.25, 3, 4]),
    ],
)
def test_numbers_that_are_written_for_people_are_numbers(written, meant):
    data = load(*labels_and_gold(written), CheckConfig())
    plain = load(*labels_and_gold(meant), CheckConfig())
    np.testing.assert_array_equal(data.labels.trees[:], plain.labels.trees[:])
    np.testing.assert_array_equal(data.gold.linear, plain.gold.linear)
    assert any("column 'x' is read with" in each for each in data.messages)


def test_what_could_be_either_follows_the_other_columns():
    labels, gold = labels_and_gold(["1,234", "950", "12,000", "7"], y=["0,5", "1,5", "2", "3,25"])
    data = load(labels, gold, CheckConfig(features=("x",)))
    assert sorted(data.gold.trees[:, 0].tolist()) == pytest.approx([1.234, 7, 12, 950])


@pytest.mark.parametrize(
    "codes",
    [
        ["1,2,3", "2", "1,3", "3"],
        ["10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.1"],
        ["a,b", "b", "a", "c"],
    ],
)
def test_lists_of_codes_and_addresses_are_not_numbers(codes):
    data = load(*labels_and_gold(codes * 10), CheckConfig())
    assert data.tree_types == ("c",)
    assert data.messages == ()


def test_numbers_in_two_ways_are_categories_and_said_aloud():
    data = load(*labels_and_gold(["1,5", "2.5", "1,5", "2.5"]), CheckConfig())
    assert data.tree_types == ("c",)
    assert "'x' holds numbers that are written in several ways" in data.messages[0]


def test_weights_may_have_decimal_commas():
    labels, gold = labels_and_gold(["1", "2", "3", "4"])
    gold["w"] = ["0,5", "1,5", "2", "1"]
    data = load(labels, gold, CheckConfig.from_mapping({"columns": {"gold_weight": "w"}}))
    assert sorted(data.gold.weight) == [0.5, 1, 1.5, 2]


def test_points_are_thousands_in_a_file_with_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("income;score;rate\n1.250;3,5;1.5\n950;2,25;2\n")
    notes: list[str] = []
    table = read_table(path, **HOW, notes=notes)
    assert table["income"].to_pylist() == [1250, 950]
    assert table["rate"].to_pylist() == [1.5, 2]
    assert "'income'" in notes[0]
    path.write_text("income;score\n1.250;3\n950;2\n")
    assert read_table(path, **HOW)["income"].to_pylist() == [1.25, 950]


# --- Encodings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "said"), [("cp1252", "Windows-1252"), ("utf-16", "UTF-16")])
def test_another_encoding_is_read_and_said_aloud(encoding, said, tmp_path):
    labels, gold = labels_and_gold(["größer", "kleiner"] * 4)
    labels["labeler"] = "Jörg"
    labels.to_csv(tmp_path / "labels.csv", index=False, sep=";", encoding=encoding)
    data = load(tmp_path / "labels.csv", gold, CheckConfig())
    assert data.labelers == ("Jörg",)
    assert f"is read as {said}" in data.messages[0]


# --- Workbooks -----------------------------------------------------------------------------------


def workbook(path: Path, *rows: list[object]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_german_workbook_gives_the_numbers_of_the_same_table_in_parquet(tmp_path):
    made = simulate(n_items=3000, n_labelers=3, gold_per_group=150, tprs=[0.35, 0.9, 0.9], seed=4)
    words = {"labeler": "Prüfer", "label": "Entscheidung", "group": "Geschlecht", "gold": "Wahr"}
    values = {"label": {0: "nein", 1: "ja"}, "gold": {0: "nein", 1: "ja"}}
    groups = {"men": "Männer", "women": "Frauen"}
    tables = {}
    for name, table in (("Etiketten", made.labels), ("Gold", made.gold)):
        numbers = table.select_dtypes("float").columns
        rounded = table.round(dict.fromkeys(numbers, 3))
        tables[name] = rounded.replace({"group": groups, **values}).rename(columns=words)
        tables[name].to_parquet(tmp_path / f"{name}.parquet")
        for column in numbers:
            tables[name][column] = [german(each) for each in tables[name][column]]
    with pd.ExcelWriter(tmp_path / "mappe.xlsx") as book:
        for name, table in tables.items():
            table.to_excel(book, sheet_name=name, index=False)
    config = CheckConfig.from_mapping({"columns": words, "positive": "ja", "reference": "Männer"})
    config = config.updated({"policy": Policy(max_gap=0.2)})
    typed = assess(tmp_path / "Etiketten.parquet", tmp_path / "Gold.parquet", config)
    book = tmp_path / "mappe.xlsx"
    found = assess(f"{book}::Etiketten", f"{book}::Gold", config)
    pd.testing.assert_frame_equal(found.gaps, typed.gaps)
    biased = found.gaps.loc[found.gaps["finding"] == "biased", ["labeler", "group"]]
    assert biased.to_numpy().tolist() == [["L1", "Frauen"]]
    assert gate(found).verdict == "block"
    assert any("decimal commas" in each for each in found.messages)


def test_cells_keep_their_kind_and_empty_rows_are_not_rows(tmp_path):
    path = workbook(
        tmp_path / "t.xlsx",
        [],
        ["labeler", "age", "seen", 2024],
        ["007", 31, True, 1.5],
        [],
        [7, None, False, "#N/A"],
    )
    table = read_table(path, **HOW)
    assert table.column_names == ["labeler", "age", "seen", "2024"]
    assert table["labeler"].to_pylist() == ["007", "7"]
    assert table["age"].to_pylist() == [31, None]
    assert table["2024"].to_pylist() == [1.5, None]


def test_the_first_sheet_is_read_and_the_others_are_named(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["a"], [1])
    book = openpyxl.load_workbook(path)
    book.create_sheet("Zweite").append(["b"])
    book.save(path)
    notes: list[str] = []
    assert read_table(path, **HOW, notes=notes).column_names == ["a"]
    assert "2 sheets: 'Sheet' is read" in notes[0]
    assert "t.xlsx::Zweite" in notes[0]
    assert "Did you mean 'Zweite'?" in refusal(f"{path}::Zweitte")


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([], "is empty"),
        ([["a", None, "c"], [1, 2, 3]], "column 2 of sheet 'Sheet'"),
        ([["Our labels"], ["a", "b"], [1, 2]], "row 2 of sheet 'Sheet'"),
        ([["a"], ["=1+1"], [2]], "cell A2 of sheet 'Sheet'"),
        ([["a"], ["#DIV/0!"]], "cell A2 of sheet 'Sheet'"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused_by_cell(rows, part, tmp_path):
    assert part in refusal(workbook(tmp_path / "t.xlsx", *rows))


# --- Object storage ------------------------------------------------------------------------------


def test_files_and_folders_in_s3_are_read_and_copies_go(bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "copies"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "copies").mkdir()
    labels, gold = labels_and_gold([f"{each}" for each in range(40)])
    labels.to_csv(tmp_path / "labels.csv", index=False)
    (tmp_path / "gold").mkdir()
    gold.iloc[:25].to_parquet(tmp_path / "gold" / "a.parquet")
    gold.iloc[25:].to_parquet(tmp_path / "gold" / "b.parquet")
    bucket.put(str(tmp_path / "labels.csv"), "labels-2024/labels.csv")
    bucket.put(f"{tmp_path / 'gold'}/", "labels-2024/gold/", recursive=True)
    there = read_table("s3://labels-2024/labels.csv", **HOW)
    assert there.equals(read_table(tmp_path / "labels.csv", **HOW))
    assert read_table("s3://labels-2024/gold", **HOW).num_rows == 40
    assert list((tmp_path / "copies").iterdir()) == []
    message = refusal("s3://labels-2024/lables.csv")
    assert "no such file: s3://labels-2024/lables.csv. Did you mean 'labels.csv'?" in message


def test_what_is_replaced_in_s3_is_read_anew(bucket, tmp_path):
    for rows in (3, 5):
        bucket.pipe("labels-2024/t.csv", b"a,b\n" + b"1,2\n" * rows)
        assert read_table("s3://labels-2024/t.csv", **HOW).num_rows == rows


def test_what_is_wrong_with_a_remote_file_is_said_with_its_address(bucket):
    bucket.pipe("labels-2024/t.csv", b"a,b\n1,2\n3\n")
    message = refusal("s3://labels-2024/t.csv")
    assert "s3://labels-2024/t.csv" in message
    assert "mdba-" not in message


def test_a_password_in_an_address_is_not_shown():
    message = refusal("memory://ann:secret@bucket/t.csv")
    assert "secret" not in message


def test_a_file_on_another_machine_is_refused():
    assert "'host'" in refusal("file://host/labels.csv")
