"""The benchmark of real people: the truth is counted, gold leaves the labels."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.real_people import Goal, draw, measure
from benchmarks.real_sets import DATA

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"REAL DATA NOT TESTED: there is no folder {DATA}; set MDBA_DATA"
)


def counted_gap(made, labeler, reference):
    """Return a labeler's gap for women by going through the rows one by one."""
    yes, all_of = {"women": 0, reference: 0}, {"women": 0, reference: 0}
    mine = (made.labels["labeler"] == labeler).to_numpy()
    rows = made.labels[mine]
    for group, label, right in zip(rows["group"], rows["label"], made.right[mine], strict=True):
        if right == 1:
            yes[group] += label
            all_of[group] += 1
    return yes["women"] / all_of["women"] - yes[reference] / all_of[reference]


@needs_data
def test_payraise_has_the_right_answer_where_merit_and_decision_disagree():
    made = draw("payraise", DATA, 0)
    objective, granted = made.labels["objective"], made.labels["committee"] == "granted"
    np.testing.assert_array_equal(made.right, (objective != granted).astype(int))
    assert made.gold.groupby("group").size().to_dict() == {"men": 100, "women": 100}
    assert not made.labels["item"].isin(made.gold["item"]).any()
    assert "gold" not in made.labels
    truth = made.truth.set_index("labeler")["gap"]
    assert len(truth) == 487
    for labeler in ("p1", "p100"):
        assert truth[labeler] == pytest.approx(counted_gap(made, labeler, "men"))


@needs_data
def test_one_annotator_of_hatecheck_overlooks_hate_against_women():
    made = draw("hatecheck words", DATA, 0)
    truth = made.truth.set_index("labeler")["gap"]
    assert truth["label_2"] == pytest.approx(counted_gap(made, "label_2", "others"))
    # 76% of hate against women and 95.6% of hate against the others, over all texts.
    assert truth["label_2"] == pytest.approx(0.765 - 0.956, abs=0.05)
    assert (truth.drop("label_2").abs() < 0.1).all()
    assert made.gold.groupby("group").size().to_dict() == {"others": 300, "women": 100}
    assert not made.labels["item"].isin(made.gold["item"]).any()


@needs_data
def test_the_settings_of_hatecheck_differ_in_their_columns_alone():
    made = [draw(f"hatecheck {kind}", DATA, 3) for kind in ("words", "raw text", "noise")]
    kept = ["item", "group", "labeler", "label"]
    assert [len(each.labels.columns) - len(kept) for each in made] == [40, 1, 1]
    for each in made[1:]:
        assert each.gold["item"].tolist() == made[0].gold["item"].tolist()
        assert each.labels[kept].equals(made[0].labels[kept])


@needs_data
def test_a_draw_of_two_settings_is_measured_beside_its_goals():
    row, found = measure("hatecheck noise", "mdba_dr", DATA, draws=range(1), jobs=1)
    assert len(found) == row["findings"] == 10
    assert row["goals"].startswith("settled ")
    row, found = measure("payraise", "selection_rate", DATA, draws=range(1), jobs=1)
    assert len(found) == 487
    assert row["goals"] == ""
    assert row["mae"] == pytest.approx((found["gap"] - found["truth"]).abs().mean())


def test_a_goal_says_what_was_wanted_and_whether_it_was_met():
    assert Goal("coverage", least=0.88).verdict({"coverage": 0.9}).endswith("(at least 0.88: met)")
    assert Goal("coverage", least=0.88).verdict({"coverage": 0.3}).endswith("0.88: missed)")
    assert Goal("settled", most=0.0).verdict({"settled": 0.0}) == "settled 0 (at most 0.0: met)"
