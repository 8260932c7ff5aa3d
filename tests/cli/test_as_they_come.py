"""Label sets in the shapes that people have them in: the right verdict in at most two commands.

Every set is simulated, so that it is known who is biased against whom; nobody else is.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ITEMS, JUDGED = 1500, 600
RECRUITERS = ("ann", "bob", "cy")


@pytest.fixture(scope="module")
def applications() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Applications with a right answer from 1 to 5, each answered by three recruiters.

    Everybody is one off in a tenth of the cases. Ann takes two points off half of the women over
    50 and off nobody else.
    """
    rng = np.random.default_rng(21)
    items = pd.DataFrame(
        {
            "item": [f"a{number}" for number in range(ITEMS)],
            "sex": rng.choice(["men", "women"], ITEMS),
            "age_band": rng.choice(["over 50", "under 50"], ITEMS),
            "test_score": rng.normal(size=ITEMS).round(3),
        }
    )
    items["right"] = np.digitize(items["test_score"], [-1.2, -0.5, 0.0, 1.2]) + 1
    harmed = (items["sex"] == "women") & (items["age_band"] == "over 50")
    parts = []
    for who in RECRUITERS:
        off = np.where(rng.random(ITEMS) < 0.1, rng.choice([-1, 1], ITEMS), 0)
        lost = np.where(harmed & (who == "ann") & (rng.random(ITEMS) < 0.5), 2, 0)
        answer = (items["right"] + off - lost).clip(1, 5)
        parts.append(items.assign(labeler=who, answer=answer).drop(columns="right"))
    return pd.concat(parts), items.sample(JUDGED, random_state=1)


def biased(found: Path) -> list[list[str]]:
    gaps = pd.DataFrame(json.loads(found.read_text())["gaps"])
    columns = ["labeler", "attribute", "group"]
    return gaps.loc[gaps["finding"] == "biased", columns].to_numpy().tolist()


def written(folder, labels, gold) -> list[object]:
    labels.to_csv(folder / "labels.csv", index=False)
    gold.to_csv(folder / "gold.csv", index=False)
    names = ["--label", "answer", "--gold-label", "right", "--json", folder / "out.json"]
    return ["check", folder / "labels.csv", "--gold", folder / "gold.csv", *names]


def test_a_scale_from_1_to_5_in_one_command(mdba, applications, tmp_path):
    check = written(tmp_path, *applications)
    run = mdba(*check, "--group", "sex", "--reference", "men", "--positive", ">= 4")
    assert run.code == 1, run.err
    assert biased(tmp_path / "out.json") == [["ann", "sex", "women"]]


def test_three_classes_in_one_command(mdba, applications, tmp_path):
    labels, gold = (table.copy() for table in applications)
    words = {1: "decline", 2: "decline", 3: "maybe", 4: "invite", 5: "invite"}
    labels["answer"], gold["right"] = labels["answer"].map(words), gold["right"].map(words)
    check = written(tmp_path, labels, gold)
    run = mdba(*check, "--group", "sex", "--reference", "men", "--positive", "invite")
    assert run.code == 1, run.err
    assert biased(tmp_path / "out.json") == [["ann", "sex", "women"]]
    assert 'ann says "invite" for' in " ".join(run.out.split())


def test_two_attributes_with_combinations_in_one_command(mdba, applications, tmp_path):
    check = written(tmp_path, *applications)
    asked = ["--group", "sex", "--group", "age_band", "--intersections", "--positive", ">= 4"]
    asked += ["--reference", "sex=men", "--reference", "age_band=under 50", "--max-gap", "0.3"]
    run = mdba(*check, *asked)
    assert run.code == 1, run.err
    assert biased(tmp_path / "out.json") == [["ann", "sex × age_band", "women × over 50"]]


def test_a_label_studio_export_in_two_commands(mdba, applications, tmp_path):
    """The second command is the one that the first proposes, with the group's reference."""
    labels, gold = applications
    right = gold.set_index("item")["right"]
    tasks = []
    for number, (item, rows) in enumerate(labels.groupby("item")):
        given = [
            {"completed_by": {"email": f"{row.labeler}@x.org"}, "result": chosen(row.answer)}
            for row in rows.itertuples()
        ]
        if item in right:
            given.append(
                {"completed_by": 9, "ground_truth": True, "result": chosen(right.loc[item])}
            )
        about = rows.iloc[0][["sex", "test_score"]].to_dict()
        tasks.append({"id": number, "data": about, "annotations": given})
    (tmp_path / "project.json").write_text(json.dumps(tasks))
    files = ["--output", tmp_path / "labels.parquet", "--gold-output", tmp_path / "gold.parquet"]
    first = mdba("import", tmp_path / "project.json", *files)
    assert first.code == 0, first.err
    proposed = first.out.partition("Next: mdba ")[2].split()
    second = mdba(*proposed, "--reference", "men", "--json", tmp_path / "out.json")
    assert second.code == 1, second.err
    assert biased(tmp_path / "out.json") == [["ann@x.org", "sex", "women"]]


def chosen(answer: int) -> list[dict[str, object]]:
    value = {"choices": ["invite" if answer >= 4 else "decline"]}
    return [{"from_name": "decision", "type": "choices", "value": value}]
