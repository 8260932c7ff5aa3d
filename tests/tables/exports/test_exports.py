"""What annotation tools write becomes labels and gold: the same answers, by the same people."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, assess
from mdba_checks.errors import InputError
from mdba_checks.tables import Wishes, read_export

# Three people about four texts; who did not see an item has no answer. Gold is known of two.
TEXTS = {"1": ("Ä text", "women"), "2": ("two", "men"), "3": ("three", "women"), "4": ("4", "men")}
GIVEN = {
    "ann": {"1": "yes", "2": "no", "3": "yes"},
    "bob": {"1": "no", "2": "no", "4": "yes"},
    "cy": {"2": "yes", "3": "no", "4": "no"},
}
RIGHT = {"1": "yes", "4": "no"}


def label_studio(folder: Path) -> Path:
    def annotation(who: str, label: str, **more: Any) -> dict[str, Any]:
        result = {
            "from_name": "decision",
            "to_name": "text",
            "type": "choices",
            "value": {"choices": [label]},
        }
        by = {"id": 7, "email": who}
        return {"completed_by": by, "result": [result], "was_cancelled": False, **more}

    tasks = []
    for item, (text, group) in TEXTS.items():
        given = [annotation(who, GIVEN[who][item]) for who in GIVEN if item in GIVEN[who]]
        if item in RIGHT:
            given.append(annotation("expert", RIGHT[item], ground_truth=True))
        given.append(annotation("ann", "yes", was_cancelled=True) | {"result": []})
        data = {"text": text, "about": group}
        tasks.append({"id": int(item), "data": data, "annotations": given, "predictions": []})
    return written(folder / "project.json", json.dumps(tasks, ensure_ascii=False))


def label_studio_min(folder: Path) -> Path:
    rows = [
        {
            "id": int(item),
            "text": text,
            "about": group,
            "decision": GIVEN[who][item],
            "annotator": who,
            "annotation_id": 10 * int(item) + place,
            "created_at": "2024-01-02T03:04:05Z",
            "lead_time": 3.5,
        }
        for item, (text, group) in TEXTS.items()
        for place, who in enumerate(GIVEN)
        if item in GIVEN[who]
    ]
    return written(folder / "min.json", json.dumps(rows))


def doccano(folder: Path) -> Path:
    path = folder / "doccano.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for who, answers in GIVEN.items():
            lines = [
                {"id": int(item), "text": text, "about": group, "label": [answers[item]]}
                if item in answers
                else {"id": int(item), "text": text, "about": group, "label": []}
                for item, (text, group) in TEXTS.items()
            ]
            archive.writestr(f"{who}.jsonl", "\n".join(map(json.dumps, lines)))
    return path


def argilla(folder: Path) -> Path:
    records = [
        {
            "id": item,
            "fields": {"text": text},
            "metadata": {"about": group},
            "responses": {
                "decision": [
                    {"user_id": who, "value": GIVEN[who][item], "status": "submitted"}
                    for who in GIVEN
                    if item in GIVEN[who]
                ]
                + [{"user_id": "ann", "value": "yes", "status": "discarded"}]
            },
        }
        for item, (text, group) in TEXTS.items()
    ]
    return written(folder / "argilla.json", json.dumps(records))


def argilla_as_data_set(folder: Path) -> Path:
    rows = []
    for item, (text, group) in TEXTS.items():
        who = [each for each in GIVEN if item in GIVEN[each]]
        rows.append(
            {
                "id": item,
                "text": text,
                "about": group,
                "decision.responses": [GIVEN[each][item] for each in who],
                "decision.responses.users": who,
                "decision.responses.status": ["submitted"] * len(who),
            }
        )
    pd.DataFrame(rows).to_parquet(folder / "argilla.parquet")
    return folder / "argilla.parquet"


def parallel_lists(folder: Path) -> Path:
    lines = [
        {
            "id": item,
            "text": text,
            "about": group,
            "annotators": [who for who in GIVEN if item in GIVEN[who]],
            "labels": [GIVEN[who][item] for who in GIVEN if item in GIVEN[who]],
            **({"gold": RIGHT[item]} if item in RIGHT else {"gold": None}),
        }
        for item, (text, group) in TEXTS.items()
    ]
    return written(folder / "records.jsonl", "\n".join(map(json.dumps, lines)))


def list_of_objects(folder: Path) -> Path:
    lines = [
        {
            "id": item,
            "text": text,
            "about": group,
            "annotations": [
                {"annotator_id": who, "label": GIVEN[who][item]}
                for who in GIVEN
                if item in GIVEN[who]
            ],
        }
        for item, (text, group) in TEXTS.items()
    ]
    return written(folder / "objects.jsonl", "\n".join(map(json.dumps, lines)))


def wide(folder: Path) -> Path:
    frame = pd.DataFrame(
        {
            "case_id": list(TEXTS),
            "text": [text for text, _ in TEXTS.values()],
            "about": [group for _, group in TEXTS.values()],
            **{f"label_{who}": pd.Series(GIVEN[who]).reindex(TEXTS).tolist() for who in GIVEN},
            "label_gold": [RIGHT.get(item) for item in TEXTS],
            "n_yes": [sum(GIVEN[who].get(item) == "yes" for who in GIVEN) for item in TEXTS],
            "majority": ["yes", "no", "yes", "no"],
        }
    )
    frame.to_csv(folder / "wide.csv", index=False)
    return folder / "wide.csv"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def answers(table: pd.DataFrame) -> dict[tuple[str, str], str]:
    who = table["labeler"].str.removeprefix("label_")
    return dict(zip(zip(who, table["item"], strict=True), table["label"], strict=True))


EXPECTED = {(who, item): label for who, given in GIVEN.items() for item, label in given.items()}


@pytest.mark.parametrize(
    ("export", "shape", "has_gold"),
    [
        (label_studio, "Label Studio", True),
        (label_studio_min, "Label Studio", False),
        (doccano, "doccano", False),
        (argilla, "Argilla", False),
        (argilla_as_data_set, "Argilla", False),
        (parallel_lists, "records with lists of answers", True),
        (list_of_objects, "records with lists of answers", False),
        (wide, "a wide table with 3 labelers", True),
    ],
)
def test_an_export_becomes_a_row_per_answer(
    export: Callable[[Path], Path], shape: str, has_gold: bool, tmp_path: Path
) -> None:
    found = read_export(export(tmp_path))
    labels = found.labels.to_pandas()
    assert found.shape == shape
    assert answers(labels) == EXPECTED
    assert set(labels.columns) == {"item", "labeler", "label", "text", "about"}
    known = dict(
        zip(labels["item"], zip(labels["text"], labels["about"], strict=True), strict=True)
    )
    assert known == TEXTS
    assert (found.gold is not None) == has_gold
    if found.gold is not None:
        gold = found.gold.to_pandas()
        assert dict(zip(gold["item"], gold["gold"], strict=True)) == RIGHT
        assert set(gold.columns) == {"item", "gold", "text", "about"}


CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><job><type>{kind}</type><assignee>{who}</assignee></job></meta>
  {images}
</annotations>
"""


def test_tags_of_images_in_cvat_are_answers_and_its_ground_truth_job_is_gold(tmp_path):
    folder = tmp_path / "tasks"
    folder.mkdir()
    jobs = [*((who, "annotation", given) for who, given in GIVEN.items())]
    for who, kind, given in [*jobs, ("expert", "ground_truth", RIGHT)]:
        tags = [
            f'<image id="{item}" name="{item}.jpg"><tag label="{label}"></tag></image>'
            for item, label in given.items()
        ]
        text = CVAT.format(kind=kind, who=who, images="".join(tags))
        written(folder / f"{who}.xml", text)
    found = read_export(folder)
    labels = found.labels.to_pandas()
    assert answers(labels.assign(item=labels["item"].str.removesuffix(".jpg"))) == EXPECTED
    gold = found.gold.to_pandas()
    assert dict(zip(gold["item"].str.removesuffix(".jpg"), gold["gold"], strict=True)) == RIGHT


def test_entities_in_xml_are_refused(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb">]><annotations><image name="&b;"/></annotations>'
    with pytest.raises(InputError, match="defines entities"):
        read_export(written(tmp_path / "a.xml", bomb))


def test_a_case_table_is_joined_and_brings_no_answers_back(tmp_path):
    about = pd.DataFrame({"case_id": list("4321"), "target": list("dcba"), "label_gold": "yes"})
    about.to_csv(tmp_path / "cases.csv", index=False)
    found = read_export(wide(tmp_path), items=tmp_path / "cases.csv")
    labels = found.labels.to_pandas().drop_duplicates("item").set_index("item")
    assert labels["target"].to_dict() == {"1": "a", "2": "b", "3": "c", "4": "d"}
    assert "label_gold" not in labels


def test_several_questions_need_a_name(tmp_path):
    path = argilla(tmp_path)
    records = json.loads(path.read_text())
    for record in records:
        record["responses"]["tone"] = [{"user_id": "ann", "value": 3, "status": "submitted"}]
    path.write_text(json.dumps(records))
    with pytest.raises(InputError, match="name one with --question"):
        read_export(path)
    assert answers(read_export(path, wishes=Wishes("decision")).labels.to_pandas()) == EXPECTED
    with pytest.raises(InputError, match="Did you mean 'tone'"):
        read_export(path, wishes=Wishes("tune"))


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("t.csv", "a,b\n1,2\n", "columns a, b"),
        ("t.json", '[{"text": "hi", "score": 1}]', "columns text, score"),
        ("t.json", '[{"data": {"t": 1}, "annotations": []}]', "0 questions"),
        ("t.xml", "<a/>", "outer tag is <a>"),
        ("t.zip", "PK", "cannot read"),
    ],
)
def test_an_unknown_shape_gets_a_line_that_says_what_was_found(name, content, part, tmp_path):
    with pytest.raises(InputError) as caught:
        read_export(written(tmp_path / name, content))
    assert part in str(caught.value)
    assert name in str(caught.value)


def test_an_export_with_known_truth_gives_the_right_finding(tmp_path):
    """Ten labelers judge 400 items with known answers; the third overlooks half of the women."""
    rng = np.random.default_rng(3)
    group = rng.choice(["men", "women"], 400)
    score = rng.normal(size=400)
    right = score + rng.normal(scale=0.4, size=400) > 0
    tasks = []
    for item in range(400):
        given = [
            {"completed_by": who, "result": result(decide(who, group[item], right[item], rng))}
            for who in range(1, 6)
        ]
        given.append({"completed_by": 9, "ground_truth": True, "result": result(right[item])})
        data = {"gender": str(group[item]), "score": float(score[item])}
        tasks.append({"id": item, "data": data, "annotations": given})
    found = read_export(written(tmp_path / "export.json", json.dumps(tasks)))
    config = CheckConfig.from_mapping({"columns": {"group": "gender"}, "positive": "invite"})
    gaps = assess(found.labels, found.gold, config.updated({"reference": "men"})).gaps
    assert gaps.loc[gaps["finding"] == "biased", "labeler"].tolist() == ["3"]


def decide(who: int, group: str, right: bool, rng: np.random.Generator) -> bool:
    if who == 3 and group == "women" and right:
        return bool(rng.random() < 0.5)
    return bool(right) if rng.random() < 0.95 else not right


def result(yes: object) -> list[dict[str, Any]]:
    value = {"choices": ["invite" if yes else "decline"]}
    return [{"from_name": "decision", "type": "choices", "value": value}]
