"""Several group columns and every class from the command line, on counted labels."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.helpers import crossed_selections, some_gold_of


@pytest.fixture
def tables(tmp_path):
    labels = crossed_selections()
    words = {0: "decline", 1: "invite"}
    labels = labels.assign(label=labels["label"].map(words))
    labels.loc[::4, "label"] = labels.loc[::4, "label"].replace("decline", "maybe")
    gold = some_gold_of(labels).replace({"gold": {0: "no", 1: "yes"}})
    labels.to_csv(tmp_path / "labels.csv", index=False)
    gold.to_csv(tmp_path / "gold.csv", index=False)
    check = ["check", tmp_path / "labels.csv", "--gold", tmp_path / "gold.csv"]
    return [*check, "--estimator", "selection_rate", "--max-gap", "0.2"], tmp_path


TWO = ["--group", "sex", "--group=age", "--reference", "sex=men", "--reference", "age=under 50"]
WORDS = ["--positive", "invite", "--gold-positive", "yes"]


def test_two_group_columns_and_their_combinations(mdba, tables):
    check, folder = tables
    files = ["--json", folder / "out.json", "--report", folder / "r.html", "--junit", folder / "j"]
    run = mdba(*check, *TWO, *WORDS, "--intersections", *files)
    assert run.code == 1
    assert "sex: men, women; age: over 50, under 50" in " ".join(run.out.split())
    rows = pd.DataFrame(json.loads((folder / "out.json").read_text())["gaps"])
    assert rows["attribute"].drop_duplicates().tolist() == ["sex", "age", "sex × age"]
    biased = rows[rows["finding"] == "biased"]
    assert biased[["labeler", "group"]].to_numpy().tolist() == [["ann", "women × over 50"]]
    assert biased["gap"].tolist() == pytest.approx([-0.3])
    assert "women × over 50" in (folder / "r.html").read_text()
    assert "ann: women × over 50 vs men × under 50" in (folder / "j").read_text()


def test_rows_that_leave_the_gate_have_their_worst_comparison(mdba, tables):
    check, folder = tables
    output = ["--mode", "quarantine", "--output", folder / "out.csv", "--json", folder / "o.json"]
    config = folder / "mdba.yaml"
    config.write_text("policy: {quarantine: group}\n")
    run = mdba(*check, *TWO, *WORDS, "--intersections", *output, "--config", config)
    assert run.code == 0
    gone = pd.read_csv(folder / "out.removed.csv")
    assert gone.groupby(["labeler", "sex", "age"]).size().to_dict() == {
        ("ann", "women", "over 50"): 500
    }
    assert set(gone["mdba_finding"]) == {"biased"}
    assert gone["mdba_gap"].unique().tolist() == pytest.approx([-0.3])
    assert mdba("verify", folder / "out.csv").code == 0
    again = mdba("rerun", folder / "o.json")
    assert again.code == 0, again.err


def test_every_class(mdba, tables):
    check, folder = tables
    gold = pd.read_csv(folder / "gold.csv")
    gold["gold"] = gold["gold"].map({"yes": "invite", "no": "maybe"})
    gold.to_csv(folder / "gold.csv", index=False)
    run = mdba(*check, "--group", "sex", "--positive", "each", "--json", folder / "out.json")
    assert run.code in (0, 1, 3)
    rows = pd.DataFrame(json.loads((folder / "out.json").read_text())["gaps"])
    assert rows["class"].drop_duplicates().tolist() == ["decline", "invite", "maybe"]
    found = rows.set_index(["labeler", "class"])["gap"]
    # Ann invites 35% of women and half of the men; whoever is not invited gets another answer.
    assert found["ann", "invite"] == pytest.approx(-0.15)
    assert found["ann"].sum() == pytest.approx(0.0)
    assert "women (invite)" in run.out
