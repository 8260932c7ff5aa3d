"""Answers come back whole, from every kind of sheet; a changed sheet is refused in one line."""

from __future__ import annotations

import json

import numpy as np
import openpyxl
import pandas as pd
import pytest

from mdba_checks import assess
from mdba_checks.errors import InputError
from mdba_checks.outputs import choose_gold, read_answers, write_sheet


def test_a_judged_sheet_becomes_gold_with_the_weights_of_the_draw(world, judged):
    gold = read_answers([judged]).gold.set_index("item")
    assert gold["gold_weight"].to_dict() == pytest.approx(
        judged.set_index("item")["gold_weight"].to_dict()
    )
    assert (gold["gold"].astype(int) == world.right[gold.index]).all()
    assert not {"reason", "seed", "code"} & set(gold)


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.xlsx"])
def test_files_that_experts_fill_in_hold_the_same_answers_as_tables(
    world, first_sheet, judged, tmp_path, name
):
    path = tmp_path / name
    write_sheet(first_sheet, path, config=world.config)
    if name.endswith("xlsx"):
        book = openpyxl.load_workbook(path)
        page = book.active
        place = [cell.value for cell in page[1]].index("gold") + 1
        for row, answer in enumerate(judged["gold"], start=2):
            page.cell(row, place).value = int(answer)  # as a spreadsheet would have it
        book.save(path)
    else:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        table.assign(gold=judged["gold"]).to_csv(path, index=False)
    found, wanted = (read_answers([each]).gold.set_index("item") for each in (path, judged))
    assert found["gold"].to_dict() == wanted["gold"].to_dict()
    assert found["gold_weight"].to_dict() == pytest.approx(wanted["gold_weight"].to_dict())
    numbers = assess(world.labels, found.reset_index(), world.config).gaps["gap"]
    again = assess(world.labels, wanted.reset_index(), world.config).gaps["gap"]
    assert numbers.to_numpy() == pytest.approx(again.to_numpy(), abs=1e-9)


def test_label_studio_tasks_come_back_with_what_every_annotator_chose(
    world, first_sheet, judged, tmp_path
):
    path = tmp_path / "tasks.json"
    write_sheet(first_sheet, path, config=world.config)
    tasks = json.loads(path.read_text())
    assert "reason" not in tasks[0]["data"]
    for task, answer in zip(tasks, judged["gold"], strict=True):
        result = [{"type": "choices", "value": {"choices": [answer]}}]
        task["annotations"] = [{"completed_by": 1, "result": result}]
    tasks[0]["annotations"].append({"completed_by": 2, "was_cancelled": True, "result": []})
    tasks[1]["annotations"] = []
    path.write_text(json.dumps(tasks))
    gold = read_answers([path]).gold
    assert gold["item"].tolist() == [judged["item"][0], *judged["item"][2:]]
    assert gold["gold"].tolist() == [judged["gold"][0], *judged["gold"][2:]]


def test_items_without_an_answer_are_stood_for_by_the_others_of_their_group(judged):
    partly = judged.copy()
    women = partly.index[partly["group"] == "women"]
    partly.loc[women[:3], "gold"] = None
    partly.loc[women[3], "gold"] = "Cannot tell"
    answers = read_answers([partly])
    assert answers.summary[0] == "56 of 60 items have an answer; 1 cannot be told"
    sums = [each.groupby("group")["gold_weight"].sum() for each in (answers.gold, judged)]
    assert sums[0].to_dict() == pytest.approx(sums[1].to_dict())


def test_two_experts_share_the_weight_of_an_item_and_their_disagreement_is_said(judged):
    second = judged.head(10).copy()
    second["gold"] = ["1" if answer == "0" else "0" for answer in second["gold"][:4]] + list(
        second["gold"][4:]
    )
    answers = read_answers([judged, second])
    assert answers.summary[1] == (
        "10 items were judged more than once; experts disagree on 4 of them (40%)"
    )
    assert set(answers.disputed) == set(second["item"][:4])
    of_item = answers.gold.groupby("item")["gold_weight"].sum()
    assert of_item.to_dict() == pytest.approx(judged.set_index("item")["gold_weight"].to_dict())


def test_disagreement_of_experts_widens_the_interval(world):
    sheet = world.judge(choose_gold(world.labels, 300, config=world.config).sheet)
    turned = sheet.assign(
        gold=[
            str(1 - int(answer)) if row % 4 == 0 else answer
            for row, answer in enumerate(sheet["gold"])
        ]
    )
    agreed, disputed = (
        assess(world.labels, read_answers(sheets).gold, world.config).gaps["std_error"]
        for sheets in ([sheet, sheet], [sheet, turned])
    )
    assert (disputed > 1.05 * agreed).all()


def test_two_rounds_weigh_each_other_by_their_size(world, judged):
    second = world.judge(choose_gold(world.labels, 30, judged=[judged], config=world.config).sheet)
    gold = read_answers([judged, second]).gold.set_index("item")
    for group in ("men", "women"):
        n1, n2 = ((each["group"] == group).sum() for each in (judged, second))
        for sheet, share, later in ((judged, n1, n2), (second, n2, 0)):
            mine = sheet[sheet["group"] == group].set_index("item")["gold_weight"]
            wanted = (share * mine + later) / (n1 + n2)
            assert gold.loc[mine.index, "gold_weight"].to_numpy() == pytest.approx(
                wanted.to_numpy()
            )


def changed(sheet: pd.DataFrame, row: int, **values: object) -> pd.DataFrame:
    sheet = sheet.copy().astype(object)
    for name, value in values.items():
        sheet.loc[row, name] = value
    return sheet


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: changed(s, 2, item="nobody"), "row 3 has the item 'nobody', which was not draw"),
        (
            lambda s: changed(s, 4, gold_weight=1.0),
            r"row 5, item 'app-\d+', has another group, gold_weight, .* \(gold_weight 1\)",
        ),
        (lambda s: changed(s, 0, group="men" if s["group"][0] == "women" else "women"), "another"),
        (lambda s: changed(s, 1, gold_weight="heavy"), "row 2 has 'heavy' in column 'gold_weight'"),
        (lambda s: changed(s, 1, code=None), "row 2 has no value in column 'code'"),
        (lambda s: s.drop(columns="code"), "has no column 'code': it is not a sheet as mdba choos"),
        (lambda s: s.assign(gold=None), "no item has an answer yet: fill in column 'gold'"),
        (
            lambda s: changed(s, 3, gold="maybe"),
            "holds 3 different answers, such as 'maybe' in row 4: give one of two, or 'cannot",
        ),
        (lambda s: s.head(0), "has no rows"),
    ],
)
def test_a_sheet_that_was_changed_is_refused_in_one_line(judged, written, change, said):
    path = written(change(judged), "sheet.csv")
    with pytest.raises(InputError, match=said) as caught:
        read_answers([path])
    assert "\n" not in str(caught.value)


def test_two_draws_of_one_round_do_not_add_up(world, judged):
    other = world.judge(choose_gold(world.labels, 400, config=world.config, seed=5).sheet)
    assert set(other["item"]) & set(judged["item"])
    with pytest.raises(InputError, match="stands in two sheets with different weights or rounds"):
        read_answers([judged, other])


def test_names_that_a_spreadsheet_would_spoil_stay_names(world, tmp_path):
    labels = world.labels.copy()
    names = labels["item"].unique()
    spoiled = dict(zip(names, [f"{number:06}" for number in range(len(names))], strict=True))
    sheet = choose_gold(labels.assign(item=labels["item"].map(spoiled)), 20, config=world.config)
    write_sheet(sheet.sheet, tmp_path / "sheet.xlsx", config=world.config)
    page = openpyxl.load_workbook(tmp_path / "sheet.xlsx").active
    cells = [row[0] for row in page.iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == sheet.sheet["item"].tolist()
    assert {cell.number_format for cell in cells} == {"@"}


def test_a_feature_that_looks_like_a_formula_is_text_in_excel(world, first_sheet, tmp_path):
    sheet = first_sheet.assign(field="=1+1")
    write_sheet(sheet, tmp_path / "sheet.xlsx", config=world.config)
    page = openpyxl.load_workbook(tmp_path / "sheet.xlsx").active
    place = list(sheet.columns).index("field")
    assert {row[place].data_type for row in page.iter_rows(min_row=2)} == {"s"}


def test_weights_are_used_without_being_named(world, judged):
    gold = read_answers([judged]).gold
    by_itself = assess(world.labels, gold, world.config).gaps["gap"]
    named = world.config.updated({"columns.gold_weight": "w"})
    renamed = gold.rename(columns={"gold_weight": "w"})
    assert by_itself.to_numpy() == pytest.approx(
        assess(world.labels, renamed, named).gaps["gap"].to_numpy()
    )
    without = assess(world.labels, gold.drop(columns="gold_weight"), world.config).gaps["gap"]
    assert not np.allclose(by_itself, without, atol=1e-3)
