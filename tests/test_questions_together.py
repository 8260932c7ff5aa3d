"""Cohorts, the crowd, the plan, trend and compare where there are several group columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, Columns, Policy, assess, gate
from mdba_checks.outputs import side_by_side, to_record, trend
from tests.helpers import crossed_selections, some_gold_of

REFERENCE = {"sex": "men", "age": "under 50"}
PEOPLE, LABELS = 30, 100
# The share of right yes that is said: both are the score with a noise of their own, so that they
# are normal with a correlation of 1 / 1.09.
FOUND = 1 - np.arccos(1 / 1.09) / np.pi


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Thirty people with 100 labels each: those of agency B say no to half of the women."""
    rng = np.random.default_rng(7)
    n = PEOPLE * LABELS
    about = pd.DataFrame(
        {
            "sex": rng.choice(["men", "women"], n + 800),
            "age": rng.choice(["over 50", "under 50"], n + 800),
            "score": rng.normal(size=n + 800),
        }
    )
    right = (about["score"] + rng.normal(scale=0.3, size=n + 800) > 0).astype(int)
    who = np.repeat(np.arange(PEOPLE), LABELS)
    labels = about.iloc[:n].assign(
        labeler=[f"p{number}" for number in who], agency=np.where(who % 3 == 0, "B", "A")
    )
    labels["label"] = (labels["score"] + rng.normal(scale=0.3, size=n) > 0).astype(int)
    hit = (labels["agency"] == "B") & (labels["sex"] == "women") & (rng.random(n) < 0.5)
    labels.loc[hit, "label"] = 0
    return labels, about.iloc[n:].assign(gold=right[n:])


def checked(tables, group, reference):
    config = CheckConfig(
        columns=Columns(group=group, cohort="agency"),
        reference=reference,
        policy=Policy(max_gap=0.15),
        jobs=1,
    )
    return assess(*tables, config)


@pytest.fixture(scope="module")
def both(tables):
    return checked(tables, ["sex", "age"], REFERENCE)


@pytest.fixture(scope="module")
def sex_alone(tables):
    return checked(tables, "sex", "men")


def test_cohorts_are_compared_in_every_attribute(both):
    cohorts = both.cohorts.set_index(["cohort", "attribute"])
    assert cohorts.index.tolist() == [("A", "sex"), ("B", "sex"), ("A", "age"), ("B", "age")]
    assert cohorts["finding"].to_dict() == {
        ("A", "sex"): "fair",
        ("B", "sex"): "biased",
        ("A", "age"): "fair",
        ("B", "age"): "fair",
    }
    assert cohorts.loc[("B", "sex"), "gap"] == pytest.approx(-FOUND / 2, abs=0.06)
    assert "cohort" in " ".join(gate(both).reasons)


def test_cohorts_and_crowd_have_the_numbers_of_a_check_of_one_attribute(both, sex_alone):
    for name in ("cohorts", "crowd", "overall"):
        together, alone = getattr(both, name), getattr(sex_alone, name)
        of_sex = together[together["attribute"] == "sex"].reset_index(drop=True)
        numbers = [each for each in ("gap", "mean", "spread", "ci_low", "ci_high") if each in alone]
        assert len(numbers) >= 2
        pd.testing.assert_frame_equal(of_sex[numbers], alone[numbers], check_exact=True)


def test_the_crowd_has_a_row_per_attribute(both):
    crowd = both.crowd.set_index("attribute")
    assert crowd.index.tolist() == ["sex", "age"]
    # A third of the people overlook half of the women.
    assert crowd.loc["sex", "mean"] == pytest.approx(-FOUND / 2 / 3, abs=0.06)
    assert crowd.loc["age", "mean"] == pytest.approx(0.0, abs=0.06)
    assert crowd.loc["sex", "spread"] > 3 * crowd.loc["age", "spread"]


def test_the_plan_is_about_what_is_open_in_every_attribute(both):
    judged = both.with_policy(Policy(max_gap=0.05))
    plan, key = judged.plan(), ["labeler", "attribute", "group"]
    open_ = judged.gaps[judged.gaps["finding"] == "inconclusive"]
    assert set(open_["attribute"]) == {"sex", "age"}
    assert sorted(plan.table[key].to_numpy().tolist()) == sorted(open_[key].to_numpy().tolist())


@pytest.fixture(scope="module")
def two_checks():
    """Between two checks of counted labels Ann begins to say yes to fewer women over 50."""
    records = []
    for changed in (False, True):
        labels = crossed_selections()
        if not changed:
            labels.loc[labels["labeler"] == "ann", "label"] = labels.loc[
                labels["labeler"] == "bob", "label"
            ].to_numpy()
        config = CheckConfig(
            columns=Columns(group=["sex", "age"]),
            reference=REFERENCE,
            intersections=True,
            estimator="selection_rate",
            policy=Policy(max_gap=0.2),
        )
        found = assess(labels, some_gold_of(labels), config)
        records.append(to_record(found, gate(found)))
    return records


def changes(rows):
    return {
        (row.labeler, row.attribute, row.group): row.change
        for row in rows[rows["changed"]].itertuples()
    }


# Ann's yes to women over 50 goes from 50% to 20%, which is 15 points less of women and of people
# over 50, and 30 of both together.
CHANGED = {
    ("ann", "sex", "women"): -0.15,
    ("ann", "age", "over 50"): -0.15,
    ("ann", "sex × age", "women × over 50"): -0.3,
}


def test_trend_follows_every_attribute_and_combination(two_checks):
    history = trend(two_checks)
    assert len(history) == 2 * 2 * (1 + 1 + 3)
    assert changes(history) == pytest.approx(CHANGED)


def test_compare_puts_every_attribute_and_combination_side_by_side(two_checks):
    found = side_by_side(*two_checks)
    assert len(found.labelers) == 2 * (1 + 1 + 3)
    assert changes(found.labelers) == pytest.approx(CHANGED)
    moved = found.labelers[found.labelers["finding_before"] != found.labelers["finding_after"]]
    assert ("ann", "women × over 50", "fair", "biased") in set(
        zip(
            moved["labeler"],
            moved["group"],
            moved["finding_before"],
            moved["finding_after"],
            strict=True,
        )
    )
