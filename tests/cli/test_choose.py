"""`mdba choose` and `mdba answers`: a sheet out, answers in, and a check that uses them."""

from __future__ import annotations

import pandas as pd
import pytest


@pytest.fixture
def sheet(files, mdba, tmp_path):
    path = tmp_path / "to_judge.csv"
    run = mdba(
        "choose", str(files.labels), "--n", "60", "--reference", "men", "--output", str(path)
    )
    assert run.code == 0, run.err
    assert "round 1 of 3: 60 of 2,600 items to judge" in run.out
    assert "Next: mdba answers" in run.out
    return path


@pytest.fixture
def judged(sheet, tables):
    labels, _ = tables
    table = pd.read_csv(sheet, dtype={"item": str}, keep_default_na=False)
    # The third labeler makes no difference between groups: their view is taken for right here.
    score = labels.assign(item=labels["item"].astype(str)).groupby("item")["label"].max()
    table.assign(gold=score[table["item"]].to_numpy()).to_csv(sheet, index=False)
    return sheet


def test_labels_become_a_sheet_answers_become_gold_and_gold_is_checked(
    files, mdba, judged, tmp_path
):
    gold = tmp_path / "judged.csv"
    run = mdba("answers", str(judged), "--output", str(gold))
    assert run.code == 0, run.err
    assert "60 of 60 items have an answer" in run.out
    run = mdba("check", str(files.labels), "--gold", str(gold), "--reference", "men")
    assert run.code in (1, 3), run.err
    assert "99% intervals" in " ".join(run.out.split())
    assert "this is look 1 of 3" in " ".join(run.out.split())
    assert "Judging more items" in run.out


def test_the_next_round_follows_from_the_first(files, mdba, judged, tmp_path):
    second = tmp_path / "second.csv"
    run = mdba(
        *("choose", str(files.labels), "--n", "20", "--reference", "men"),
        *("--judged", str(judged), "--output", str(second)),
    )
    assert run.code == 0, run.err
    assert "round 2 of 3: 20 of" in run.out
    first, second = (pd.read_csv(each)["item"] for each in (judged, second))
    assert not set(first) & set(second)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--output", "sheet.doc"], "sheets are .csv, .xlsx or .json"),
        (["--output", "labels.csv"], "it is an input"),
        (["--n", "0", "--output", "s.csv"], "n is 0: ask for one item or more"),
        (["--item", "nr", "--output", "s.csv"], "labels has no column 'nr' for columns.item"),
        (["--judged", "gold.csv", "--output", "s.csv"], "gold.csv has no column 'gold_weight'"),
    ],
)
def test_what_cannot_be_done_is_one_line(files, mdba, monkeypatch, arguments, said):
    monkeypatch.chdir(files.folder)
    run = mdba("choose", "labels.csv", *arguments)
    assert run.code == 2
    assert said in run.err
    assert run.err.count("\n") == 1


def test_a_sheet_without_answers_is_not_gold(mdba, sheet, tmp_path):
    run = mdba("answers", str(sheet), "--output", str(tmp_path / "gold_of_nobody.csv"))
    assert run.code == 2
    assert run.err == "mdba: no item has an answer yet: fill in column 'gold' of the sheet\n"
    assert not (tmp_path / "gold_of_nobody.csv").exists()
