"""Bad input: one line on stderr that names the trouble, exit code 2, nothing written."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

Tables = tuple[pd.DataFrame, pd.DataFrame]


def labels_with(
    column: str, value: object, rows: slice = slice(0, 3)
) -> Callable[[Tables], Tables]:
    def change(tables: Tables) -> Tables:
        labels = tables[0].astype({column: object})
        labels.iloc[rows, labels.columns.get_loc(column)] = value
        return labels, tables[1]

    return change


def gold_with(column: str, value: object, rows: slice = slice(0, 3)) -> Callable[[Tables], Tables]:
    def change(tables: Tables) -> Tables:
        labels, gold = labels_with(column, value, rows)((tables[1], tables[0]))
        return gold, labels

    return change


# What is done to the two tables, and what the one line must say.
TABLES: dict[str, tuple[Callable[[Tables], Tables], tuple[str, ...]]] = {
    "no column of that name": (
        lambda t: (t[0].rename(columns={"label": "labell"}), t[1]),
        ("labels has no column 'label'", "--label", "Did you mean 'labell'?"),
    ),
    "no such column in gold": (
        lambda t: (t[0], t[1].rename(columns={"gold": "golden"})),
        ("gold has no column 'gold'", "--gold-label", "Did you mean 'golden'?"),
    ),
    "several columns of other names": (
        lambda t: (
            t[0].rename(columns={"labeler": "Prüfer", "label": "Urteil"}),
            t[1].rename(columns={"gold": "Richtig"}),
        ),
        (
            "labels has no column 'labeler' for columns.labeler (--labeler), no 'label' for",
            "columns.label (--label); gold has no column 'gold' for columns.gold (--gold-label).",
            "Prüfer",
            "Urteil",
            "Richtig",
            "mdba init proposes which is which",
        ),
    ),
    "no rows in labels": (lambda t: (t[0].head(0), t[1]), ("labels has no rows",)),
    "no rows in gold": (lambda t: (t[0], t[1].head(0)), ("gold has no rows",)),
    "one group only": (
        lambda t: tuple(x[x["group"] == "men"] for x in t),  # type: ignore[return-value]
        ("column 'group'", "one group only", "'men'"),
    ),
    "three labels": (labels_with("label", 2), ("column 'label'", "3", "'2'")),
    "a gold that is not binary": (gold_with("gold", "perhaps"), ("column 'gold'", "'perhaps'")),
    "a group that gold does not have": (
        labels_with("group", "others"),
        ("column 'group' of labels", "gold does not have", "'others'"),
    ),
    "a group that labels do not have": (
        gold_with("group", "others"),
        ("column 'group' of gold", "labels does not have", "'others'"),
    ),
    "no shared features": (
        lambda t: (t[0][["labeler", "label", "group"]], t[1]),
        ("share no usable feature",),
    ),
    "a number here and text there": (
        gold_with("test_score", "high", slice(None)),
        ("'test_score'", "number", "text"),
    ),
    "missing labelers": (labels_with("labeler", None), ("3", "'labeler'", "row 1")),
    "missing labels": (
        labels_with("label", None, slice(5, 6)),
        ("1 missing in column 'label'", "row 6", "drop"),
    ),
    "missing groups": (labels_with("group", None), ("3", "'group'")),
    "missing groups in gold": (gold_with("group", None), ("3", "'group'", "gold")),
    "infinite values": (labels_with("experience_years", np.inf), ("'experience_years'", "inf")),
    "no gold positive": (
        lambda t: (t[0], t[1].assign(gold=0)),
        ("column 'gold'", "no positive at all"),
    ),
}


def refused(run: object, *parts: str) -> None:
    assert run.code == 2
    assert run.out == ""
    assert run.err.startswith("mdba: ")
    assert run.err.count("\n") == 1
    assert "Traceback" not in run.err
    for part in parts:
        assert part in run.err


@pytest.mark.parametrize("kind", TABLES)
def test_tables_that_cannot_be_used(mdba, files, tables, kind):
    change, parts = TABLES[kind]
    labels, gold = change((tables[0].copy(), tables[1].copy()))
    labels.to_csv(files.labels, index=False)
    gold.to_csv(files.gold, index=False)
    before = sorted(files.folder.iterdir())
    refused(mdba(*files.check, "--json", files.folder / "out.json"), *parts)
    assert sorted(files.folder.iterdir()) == before


CONTENTS: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "an empty file": ("labels.csv", b"", ("labels.csv",)),
    "a picture called CSV": ("labels.csv", b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe" * 50, ()),
    "a picture called Parquet": ("labels.parquet", b"\x89PNG\r\n\x1a\n" * 50, ("labels.parquet",)),
    "half a gzip file": ("labels.csv.gz", gzip.compress(b"a,b\n" * 999)[:-9], ("labels.csv.gz",)),
    "an unknown kind of file": ("labels.feather", b"ARROW1", ("labels.feather", ".parquet")),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_files_that_are_no_tables(mdba, files, kind):
    name, content, parts = CONTENTS[kind]
    target = files.folder / name
    target.write_bytes(content)
    refused(mdba("check", target, "--gold", files.gold), *parts)


def test_a_file_that_is_not_there_and_the_nearest_one(mdba, files):
    run = mdba("check", files.folder / "lables.csv", "--gold", files.gold)
    refused(run, "no such file", "lables.csv", "Did you mean 'labels.csv'?")


def test_a_folder_without_tables(mdba, files, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(mdba("check", tmp_path / "empty", "--gold", files.gold), "holds no .parquet file")


def test_a_password_in_a_url_is_not_shown(mdba, files):
    run = mdba("check", "postgresql://ann:secret@host/db", "--gold", files.gold)
    refused(run, "names no table")
    assert "secret" not in run.err


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("policy:\n  max_gpa: 0.1\n", ("'policy.max_gpa'", "Did you mean 'max_gap'?")),
        ("policy: [", ("not valid YAML at line",)),
        ("just words\n", ("must hold keys",)),
        ("metric: accuracy\n", ("'metric' is 'accuracy'",)),
    ],
)
def test_settings_that_cannot_be_used(mdba, files, text, parts):
    settings = files.folder / "mdba.yaml"
    settings.write_text(text)
    refused(mdba(*files.check, "--config", settings), "mdba.yaml", *parts)


def test_settings_that_are_not_there(mdba, files):
    run = mdba(*files.check, "--config", files.folder / "mdba.yml")
    refused(run, "cannot read config", "mdba.yml", "No such file")


@pytest.mark.parametrize("option", ["--label", "--cohort", "--item"])
def test_a_column_that_is_named_twice_is_not_ignored_once(mdba, files, option):
    refused(mdba(*files.check, option, "1", f"{option}=0"), option, "given twice")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--group", "group", "--group", "sex"], ["reference is 'men'", "--reference group=men"]),
        (["--reference", "women"], ["--reference men: say of which group column", "group=men"]),
        (["--intersections"], ["2 to 4 group columns, and there is 1"]),
        (["--positive", "1", "--positive", "x"], ["positive='x' is not a value of"]),
    ],
)
def test_a_second_group_or_reference_that_does_not_fit_is_refused(mdba, files, options, parts):
    refused(mdba(*files.check, *options), *parts)


def test_two_references_for_one_column_are_refused(mdba, files):
    named = ("--reference", "group=men", "--reference", "group=women")
    refused(mdba("check", files.labels, "--gold", files.gold, *named), "given twice for group")


def test_an_unknown_reference_group(mdba, files):
    run = mdba("check", files.labels, "--gold", files.gold, "--reference", "man")
    refused(run, "reference 'man'", "Did you mean 'men'?")


def test_a_line_break_in_the_data_does_not_make_a_second_line(mdba, files, tables):
    labels = tables[0].copy()
    labels["group"] = labels["group"].where(labels.index > 2, "a\nmdba: all is well\x1b[2J")
    labels.to_csv(files.labels, index=False)
    run = mdba(*files.check)
    refused(run, "\\n")
    assert "\x1b" not in run.err


@pytest.mark.parametrize("folder", ["file/inside", "file"])
def test_a_folder_that_cannot_be_made(mdba, tmp_path, folder):
    Path(tmp_path / "file").touch()
    refused(mdba("simulate", tmp_path / folder), "cannot make")
