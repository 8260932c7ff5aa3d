"""From an export as it is to the verdict, in two commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

# Beside the checkout, unless a variable names a folder.
_FOLDER = os.environ.get("MDBA_DATA", Path(__file__).parents[3] / "shared" / "data")
REAL = Path(_FOLDER) / "real"
PEOPLE = ["label_1", "label_2", "label_3"]


@pytest.fixture
def wide(tmp_path):
    """A wide table in the form of HateCheck, with its case table.

    label_2 overlooks 40% of the hate against women and 3% of that against others; the other two
    overlook 3% in both. One text in twenty is about nobody.
    """
    rng = np.random.default_rng(2)
    rows = 1200
    target = rng.choice(["women", "immigrants", None], rows, p=[0.4, 0.55, 0.05])
    harsh = rng.normal(size=rows)
    hateful = harsh + rng.normal(scale=0.4, size=rows) > -0.3
    table = pd.DataFrame({"case_id": np.arange(rows) + 1, "harshness": harsh.round(3)})
    table["label_gold"] = np.where(hateful, "hateful", "non-hateful")
    for name in PEOPLE:
        women = pd.Series(target).eq("women").to_numpy()
        overlooked = np.where((name == "label_2") & women, 0.4, 0.03)
        says = hateful & (rng.random(rows) >= overlooked)
        table[name] = np.where(says, "hateful", "non-hateful")
        table.loc[rng.random(rows) < 0.2, name] = None  # not everybody sees every text
    table["count_label_h"] = (table[PEOPLE] == "hateful").sum(axis=1)
    table.to_csv(tmp_path / "annotations.csv")
    about = pd.DataFrame({"case_id": table["case_id"], "target_ident": target})
    about.sample(frac=1, random_state=1).to_csv(tmp_path / "cases.csv", index=False)
    return tmp_path


def test_a_wide_table_and_its_case_table_reach_the_right_verdict_in_two_commands(mdba, wide):
    labels, gold, found = (wide / name for name in ("labels.parquet", "gold.parquet", "out.json"))
    first = mdba(
        *("import", wide / "annotations.csv", "--items", wide / "cases.csv"),
        *("--output", labels, "--gold-output", gold),
    )
    assert first.code == 0, first.err
    assert "a wide table with 3 labelers" in first.out
    assert not {"count_label_h", "label_gold"} & set(pd.read_parquet(labels).columns)
    second = mdba(
        *("check", labels, "--gold", gold, "--group", "target_ident", "--positive", "hateful"),
        *("--reference", "immigrants", "--drop-missing", "--json", found, "--jobs", 1),
    )
    assert second.code == 1, second.err
    gaps = pd.DataFrame(json.loads(found.read_text())["gaps"]).set_index("labeler")
    assert gaps.index[gaps["finding"] == "biased"].tolist() == ["label_2"]
    assert gaps.loc["label_2", "group"] == "women"
    assert gaps.loc["label_2", "gap"] == pytest.approx(-0.37, abs=0.07)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason=f"NO REAL DATA: {REAL} is not there")
def test_hatecheck_as_it_is_published_reaches_the_right_verdict_in_two_commands(mdba, tmp_path):
    """76% and 96% are counted over all texts; nobody else is beyond 6 points."""
    labels, gold, found = (tmp_path / f"{name}" for name in ("l.parquet", "g.parquet", "out.json"))
    wide, cases = (REAL / f"hatecheck_all_{name}.csv.gz" for name in ("annotations", "cases"))
    assert (
        mdba("import", wide, "--items", cases, "--output", labels, "--gold-output", gold).code == 0
    )
    run = mdba(
        *("check", labels, "--gold", gold, "--group", "target_ident", "--positive", "hateful"),
        *("--drop-missing", "--features", "test_case", "--max-gap", 0.08, "--json", found),
    )
    assert run.code == 1, run.err
    gaps = pd.DataFrame(json.loads(found.read_text())["gaps"])
    biased = gaps[gaps["finding"] == "biased"]
    assert biased[["labeler", "group"]].to_numpy().tolist() == [["label_2", "women"]]
    assert biased["gap"].iloc[0] == pytest.approx(0.765 - 0.956, abs=0.01)


def test_what_cannot_be_imported_leaves_nothing_behind(mdba, wide):
    target = wide / "labels.parquet"
    for arguments, part in (
        (("--annotators", "rater_*"), "'rater_*'"),
        (("--gold-label", "expert"), "no column 'expert'"),
        (("--items", wide / "nowhere.csv"), "no such file"),
        (("--gold-output", target), "rename one"),
    ):
        run = mdba("import", wide / "annotations.csv", "--output", target, *arguments)
        assert run.code == 2
        assert run.err.count("\n") == 1
        assert part in run.err
        assert not target.exists()


def test_an_export_is_not_written_over(mdba, wide):
    export = wide / "annotations.csv"
    before = export.read_bytes()
    run = mdba("import", export, "--output", export, "--force")
    assert run.code == 2
    assert "it is an input" in run.err
    assert export.read_bytes() == before
