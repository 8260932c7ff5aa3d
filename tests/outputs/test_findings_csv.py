"""Findings as CSV: read back, they are the numbers of the check, from every face."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from mdba_checks.cli import main
from mdba_checks.findings import GAP_COLUMNS
from mdba_checks.outputs import findings_csv, to_record
from tests.outputs.conftest import Checked


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_read_back_they_are_the_rows_of_the_check(checked: Checked, tmp_path):
    target = tmp_path / "findings.csv"
    text = checked.assessment.to_csv(target)
    assert target.read_text(encoding="utf-8") == text
    found, wanted = read(target), checked.assessment.gaps
    assert list(found[0]) == ["about", "name", *wanted.columns[1:]]
    labelers = [row for row in found if row["about"] == "labeler"]
    for mine, row in zip(labelers, wanted.to_dict("records"), strict=True):
        mine["labeler"] = mine.pop("name")
        for column, value in row.items():
            if isinstance(value, float):
                assert mine[column] == "" if math.isnan(value) else float(mine[column]) == value
            else:
                assert mine[column] == ("" if value is None else str(value))
    (whole,) = (row for row in found if row["about"] == "whole")
    assert whole["name"] == "all labels"
    assert float(whole["gap"]) == checked.assessment.overall["gap"].iloc[0]


def test_names_with_commas_quotes_and_line_ends_stay_one_cell(checked: Checked, tmp_path):
    record = to_record(checked.assessment, checked.decision).values()
    names = ['Ann, "the" first', "two\nlines", "=1+1"]
    for row, name in zip(record["gaps"], names, strict=True):
        row["labeler"] = name
    (tmp_path / "x.csv").write_text(findings_csv(record), encoding="utf-8", newline="")
    found = read(tmp_path / "x.csv")
    assert [row["name"] for row in found if row["about"] == "labeler"] == names


@pytest.mark.parametrize("force", [False, True])
def test_the_command_line_writes_them_beside_its_json(checked: Checked, tmp_path, force):
    for name, table in (("labels", checked.made.labels), ("gold", checked.made.gold)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    target, record = tmp_path / "findings.csv", tmp_path / "out.json"
    target.write_text("precious")
    tables = [f"{tmp_path}/labels.csv", "--gold", f"{tmp_path}/gold.csv", "--reference", "men"]
    written = ["--csv", str(target), "--json", str(record), *(["--force"] if force else [])]
    code = main(["check", *tables, "--estimator", "selection_rate", "--quiet", *written])
    if not force:
        assert (code, target.read_text()) == (2, "precious")
        return
    assert target.read_text(encoding="utf-8") == findings_csv(json.loads(record.read_text()))
    assert set(GAP_COLUMNS[1:]) <= set(read(target)[0])
