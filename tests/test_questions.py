"""Several group columns, their combinations and every class: one check, judged together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mdba_checks import CheckConfig, Columns, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.findings import GAP_COLUMNS, adjust
from mdba_checks.outputs import annotate, decide_release, from_cache, to_cache, to_record
from mdba_checks.tables import LocalPartitions
from tests.helpers import crossed_selections, some_gold_of

COLUMNS = Columns(group=["sex", "age"])
REFERENCE = {"sex": "men", "age": "under 50"}
# What a policy makes of the numbers; everything else is known before.
JUDGED = ["finding", "cause", "reason", "robustness"]


def people(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    about = {"item": np.arange(n), "sex": rng.choice(["men", "women"], n)}
    return {**about, "age": rng.choice(["over 50", "under 50"], n), "score": rng.normal(size=n)}


@pytest.fixture(scope="module")
def crossed() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Ann says no to half of the women over 50, and treats all others alike."""
    about = people(2400, 3)
    rng = np.random.default_rng(4)
    right = (about["score"] + rng.normal(scale=0.3, size=2400) > 0).astype(int)
    hit = (about["sex"] == "women") & (about["age"] == "over 50") & (rng.random(2400) < 0.5)
    parts = []
    for who in ("ann", "bob"):
        given = np.where(rng.random(2400) < 0.05, 1 - right, right)
        given = np.where(hit & (who == "ann"), 0, given)
        parts.append(pd.DataFrame({"labeler": who, "label": given, "right": right, **about}))
    truth = pd.concat(parts, ignore_index=True)
    gold = parts[0].drop(columns=["labeler", "label"]).rename(columns={"right": "gold"})
    return truth.drop(columns="right"), gold.sample(700, random_state=1), truth


@pytest.fixture(scope="module")
def assessment(crossed):
    policy = Policy(max_gap=0.3)
    config = CheckConfig(
        columns=COLUMNS, reference=REFERENCE, intersections=True, policy=policy, jobs=1
    )
    return assess(crossed[0], crossed[1], config)


def test_a_bias_against_a_combination_is_found_there_and_only_there(assessment, crossed):
    gaps = assessment.gaps
    assert list(gaps.columns) == list(GAP_COLUMNS)
    biased = gaps.loc[gaps["finding"] == "biased", ["labeler", "attribute", "group", "reference"]]
    assert biased.to_numpy().tolist() == [["ann", "sex × age", "women × over 50", "men × under 50"]]
    truth = crossed[2]
    yes = truth[truth["right"] == 1].groupby(["labeler", "sex", "age"])["label"].mean()
    for row in gaps[gaps["attribute"] == "sex × age"].itertuples():
        sex, _, age = row.group.partition(" × ")
        expected = yes[row.labeler, sex, age] - yes[row.labeler, "men", "under 50"]
        assert row.gap == pytest.approx(expected, abs=0.06)
    assert gate(assessment).verdict == "block"
    assert assessment.overall["attribute"].tolist() == ["sex", "age", *["sex × age"] * 3]


def test_every_attribute_has_the_numbers_of_a_check_of_that_attribute_alone(assessment, crossed):
    config = CheckConfig(columns=Columns(group="age"), reference="under 50", jobs=1)
    alone = assess(crossed[0], crossed[1], config)
    together = assessment.gaps.query("attribute == 'age'").reset_index(drop=True)
    drop = [*JUDGED, "p_value", "p_beyond"]  # those depend on max_gap
    pd.testing.assert_frame_equal(
        together.drop(columns=drop), alone.gaps.drop(columns=drop), check_exact=True
    )


def test_all_comparisons_count_in_the_correction(assessment):
    judged = assessment.with_policy(Policy(max_gap=0.1, correction="holm")).gaps
    assert len(judged) == 2 * (1 + 1 + 3)
    beyond = (judged["ci_low"] > 0.1) | (judged["ci_high"] < -0.1)
    clear = adjust(judged["p_value"].to_numpy(), "holm") < 0.1
    assert (judged["finding"] == "biased").tolist() == (beyond & clear).tolist()
    wide, own = assessment.joint_intervals(), assessment.gaps
    assert (wide["ci_low"] < own["ci_low"]).all()
    assert (wide["ci_high"] > own["ci_high"]).all()


def test_an_assessment_of_several_questions_survives_a_cache_and_has_a_record(assessment):
    again = from_cache(to_cache(assessment))
    pd.testing.assert_frame_equal(again.gaps, assessment.gaps)
    assert gate(again) == gate(assessment)
    record = to_record(assessment, gate(assessment)).values()
    assert record["data"]["attributes"] == {
        "sex": ["men", "women"],
        "age": ["over 50", "under 50"],
    }
    assert {row["attribute"] for row in record["gaps"]} == {"sex", "age", "sex × age"}
    assert record["reference"] == REFERENCE


def test_rows_have_the_worst_of_their_comparisons(assessment, crossed):
    rows = annotate(crossed[0], assessment)
    gaps = assessment.gaps.set_index(["labeler", "group"])
    of_ann = rows[rows["labeler"] == "ann"].groupby(["sex", "age"])
    assert of_ann["mdba_finding"].unique().map(list).to_dict() == {
        ("men", "over 50"): [gaps.loc[("ann", "over 50"), "finding"]],
        ("men", "under 50"): ["biased"],  # the reference of everything: the labeler's worst
        ("women", "over 50"): ["biased"],
        ("women", "under 50"): [gaps.loc[("ann", "women"), "finding"]],
    }
    worst = rows.query("labeler == 'ann' and sex == 'women' and age == 'over 50'")["mdba_gap"]
    assert worst.unique().tolist() == [gaps.loc[("ann", "women × over 50"), "gap"]]
    assert rows["mdba_p_positive"].between(0, 1).all()


def test_quarantine_by_group_takes_out_the_rows_of_the_combination():
    config = CheckConfig(
        columns=COLUMNS,
        reference=REFERENCE,
        intersections=True,
        estimator="selection_rate",
        policy=Policy(max_gap=0.2, mode="quarantine", quarantine="group"),
    )
    labels, gold = crossed_selections(), some_gold_of(crossed_selections())
    found = decide_release(labels, gold, assess(labels, gold, config))
    gone = labels[found.parts.removed].groupby(["labeler", "sex", "age"]).size()
    assert gone.to_dict() == {("ann", "women", "over 50"): 500}
    assert found.decision.removes == (("ann", "sex × age", "women × over 50"),)
    assert found.parts.decision.verdict == "pass"


@pytest.mark.parametrize("reference", [None, {"sex": "men"}])
def test_combinations_without_two_named_references_are_compared_with_everyone_else(reference):
    config = CheckConfig(
        columns=COLUMNS, reference=reference, intersections=True, estimator="selection_rate"
    )
    labels = crossed_selections()
    gaps = assess(labels, some_gold_of(labels), config).gaps
    crossing = gaps[gaps["attribute"] == "sex × age"]
    assert set(crossing["reference"]) == {"everyone else"}
    # Ann says yes to 20% of them and to half of everybody else.
    found = crossing.set_index(["labeler", "group"])["gap"]
    assert found["ann", "women × over 50"] == pytest.approx(0.2 - 0.5)
    assert found["bob", "women × over 50"] == pytest.approx(0.0)


def test_groups_of_two_columns_with_one_name_are_told_apart():
    labels = crossed_selections().replace(
        {"men": "no", "women": "yes", "under 50": "no", "over 50": "yes"}
    )
    config = CheckConfig(columns=COLUMNS, estimator="selection_rate", policy=Policy(max_gap=0.05))
    found = assess(labels, some_gold_of(labels), config)
    assert found.gaps[["attribute", "group"]].drop_duplicates().to_numpy().tolist() == [
        ["sex", "yes"],
        ["age", "yes"],
    ]
    rows = annotate(labels, found)
    for sex, age in product(["yes", "no"], repeat=2):  # each column's own rows
        here = rows.query("labeler == 'ann' and sex == @sex and age == @age")["mdba_gap"]
        wanted = 0.15 if "yes" in (sex, age) else np.nan
        np.testing.assert_allclose(here.abs(), wanted, atol=1e-12)


def test_a_combination_without_gold_is_undecided_and_only_its_own_labels_stay_open():
    labels = crossed_selections()
    few = labels.index[(labels["sex"] == "women") & (labels["age"] == "over 50")]
    labels = labels.drop(few[20:500]).drop(few[520:])  # 20 for each labeler
    gold = some_gold_of(labels).query("sex != 'women' or age != 'over 50'")
    config = CheckConfig(columns=COLUMNS, reference=REFERENCE, intersections=True, jobs=1)
    found = assess(labels, gold, config)
    gaps = found.gaps.set_index(["labeler", "group"])
    row = gaps.loc[("bob", "women × over 50")]
    assert (row["finding"], row["cause"]) == ("inconclusive", "evidence")
    assert "gold has 0 items of women × over 50" in row["reason"]
    open_ = found.labels_concerned("labeler")[found.gaps["group"] == "women × over 50"]
    assert open_.tolist() == [20, 20]


CLASSES = ("decline", "invite", "maybe")


@pytest.fixture(scope="module")
def classes() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ann says maybe to half of the women who should be invited; somebody says unclear twice."""
    rng, n = np.random.default_rng(5), 1500
    about = people(n, 6)
    right = np.digitize(about["score"] + rng.normal(scale=0.3, size=n), [-0.6, 0.2])
    words = np.array(["decline", "maybe", "invite"], dtype=object)
    parts = []
    for who in ("ann", "bob"):
        given = np.where(rng.random(n) < 0.95, right, 1)
        hit = (about["sex"] == "women") & (right == 2) & (rng.random(n) < 0.5) & (who == "ann")
        label = words[np.where(hit, 1, given)]
        label[:2] = "unclear"
        parts.append(pd.DataFrame({"labeler": who, "label": label, **about}))
    gold = parts[0].drop(columns=["labeler", "label"]).assign(gold=words[right])
    return pd.concat(parts, ignore_index=True), gold.sample(450, random_state=1)


@pytest.fixture(scope="module")
def of_classes(classes):
    config = CheckConfig(
        columns=Columns(group="sex"),
        reference="men",
        positive="each",
        policy=Policy(max_gap=0.2),
        jobs=1,
    )
    return assess(*classes, config)


def test_each_class_is_compared_and_the_biased_one_is_found(of_classes, classes):
    gaps = of_classes.gaps
    assert gaps["class"].drop_duplicates().tolist() == [*CLASSES, "unclear"]
    biased = gaps.loc[gaps["finding"] == "biased", ["labeler", "class"]].to_numpy().tolist()
    assert biased == [["ann", "invite"]]
    assert gaps.set_index(["labeler", "class"]).loc[("ann", "invite"), "gap"] == pytest.approx(
        -0.475, abs=0.08
    )
    invite = CheckConfig(columns=Columns(group="sex"), reference="men", positive="invite", jobs=1)
    alone = assess(*classes, invite).gaps
    together = gaps[gaps["class"] == "invite"].reset_index(drop=True)
    drop = [*JUDGED, "class", "p_value", "p_beyond"]
    pd.testing.assert_frame_equal(
        together.drop(columns=drop), alone.drop(columns=drop), check_exact=True
    )
    assert 'ann says "invite" for' in " ".join(gate(of_classes).reasons)


def test_a_class_without_gold_is_undecided_and_hardly_counts(of_classes):
    rows = of_classes.gaps[of_classes.gaps["class"] == "unclear"]
    assert set(zip(rows["finding"], rows["cause"], strict=True)) == {("inconclusive", "evidence")}
    assert rows["reason"].str.contains('where "unclear" is right; at least 5').all()
    (said,) = (each for each in gate(of_classes).reasons if "2 labelers undecided" in each)
    assert "0.1% of the labels; at most the tolerated 10%" in said


def test_a_row_says_how_probable_its_own_label_is(of_classes, classes):
    rows = annotate(classes[0], of_classes)
    mean = rows.query("sex == 'women'").groupby(["labeler", "label"])["mdba_p_positive"].mean()
    assert mean["ann", "maybe"] < 0.7
    assert mean["ann", "invite"] > 0.9
    assert set(rows.query("labeler == 'ann' and sex == 'women'")["mdba_finding"]) == {"biased"}


@pytest.mark.parametrize(
    ("labels", "gold", "part"),
    [
        (["a", "b"], ["x", "y"], "have no value in common, and positive is 'each'"),
        (["a", "b", "A"], ["a", "b", "b"], "one value in two spellings"),
        (list(map(str, range(60))), ["1", "2"], "at most 50 classes"),
    ],
)
def test_classes_that_cannot_be_compared_are_refused(labels, gold, part):
    tables = []
    for values, column in ((labels, "label"), (gold, "gold")):
        n = 4 * len(values)
        about = {"labeler": "ann", "group": ["men", "women"] * (n // 2), "x": np.arange(n) % 3}
        tables.append(pd.DataFrame({column: values * 4, **about}))
    with pytest.raises(InputError, match=part):
        assess(tables[0], tables[1].drop(columns="labeler"), CheckConfig(positive="each"))


def test_each_class_and_other_words_in_gold_exclude_each_other(classes):
    config = CheckConfig(columns=Columns(group="sex"), positive="each", gold_positive="invite")
    with pytest.raises(InputError, match="leave gold_positive out"):
        assess(*classes, config)


def test_a_label_called_each_is_a_label():
    labels = crossed_selections().assign(group="a")
    labels.loc[::2, "group"] = "b"
    labels["label"] = labels["label"].map({0: "none", 1: "each"})
    gold = some_gold_of(crossed_selections()).assign(group=["a", "b"] * 20)
    config = CheckConfig(positive="each", estimator="selection_rate")
    assert assess(labels, gold, config).gaps["class"].tolist() == [None, None]


@pytest.mark.parametrize("more", [{"columns": COLUMNS}, {"positive": "each"}])
def test_labels_that_stay_on_a_cluster_answer_one_question(more):
    labels = crossed_selections().assign(group="a")
    parts = LocalPartitions([pa.Table.from_pandas(labels, preserve_index=False)])
    with pytest.raises(InputError, match="one group column and one meaning of positive"):
        assess(parts, some_gold_of(labels), CheckConfig(**more))
