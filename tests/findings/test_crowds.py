"""Crowds: people with few labels, all labels together, and cohorts, against a known truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.crowd_simulation import Shape, simulate_crowd
from mdba_checks import CheckConfig, Columns, Policy, assess, gate
from mdba_checks.errors import InputError

CONFIG = CheckConfig(reference="men", policy=Policy(max_gap=0.15))


@pytest.fixture(scope="module")
def made():
    """150 people with 60 labels each, of whom 15% are biased."""
    return simulate_crowd(Shape(labelers=150, labels_each=60, people="inconsistent"), seed=5)


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def found(made, told):
    return assess(made.labels, made.gold, CONFIG, progress=lambda *event: told.append(event))


@pytest.fixture(scope="module")
def beside_truth(made, found):
    return found.gaps.merge(made.truth.rename(columns={"gap": "truth"}), on="labeler")


def test_how_people_decide_is_nearer_to_the_truth_than_their_few_labels(beside_truth):
    rows = beside_truth
    error = (rows["gap"] - rows["truth"]).abs().mean()
    unpooled = (rows["table_gap_x"] - rows["truth"]).abs().mean()
    assert error < 0.6 * unpooled


def test_intervals_hold_on_average_and_for_the_biased(beside_truth):
    rows = beside_truth
    covered = rows["truth"].between(rows["ci_low"], rows["ci_high"])
    assert 0.84 <= covered.mean() <= 0.98
    assert covered[rows["biased"]].mean() >= 0.6  # of 22; over many crowds see benchmarks


def test_calls_are_many_and_hardly_ever_wrong(beside_truth):
    rows = beside_truth
    settled = rows["finding"].isin(["biased", "fair"])
    beyond = rows["truth"].abs() > 0.15
    wrong = ((rows["finding"] == "biased") & ~beyond) | ((rows["finding"] == "fair") & beyond)
    assert settled.mean() > 0.4
    assert wrong.sum() <= 0.05 * settled.sum()


@pytest.mark.usefixtures("found")
def test_progress_is_told_of_the_crowd_after_the_labelers(told):
    assert told[-2:] == [("crowd", 0, 1), ("crowd", 1, 1)]
    assert ("labelers", 150, 150) in told


def test_nobody_is_biased_without_evidence_of_their_own(found):
    biased = found.gaps[found.gaps["finding"] == "biased"]
    assert len(biased)
    assert (biased["p_value"] < 0.1).all()
    assert ((biased["ci_low"] > 0.15) | (biased["ci_high"] < -0.15)).all()


def test_the_whole_is_covered_and_part_of_the_verdict(made, found):
    (row,) = found.overall.to_dict("records")
    assert row["ci_low"] <= made.overall <= row["ci_high"]
    strict = found.with_policy(Policy(max_gap=0.9, max_gap_overall=0.0, max_undecided=1.0))
    assert strict.overall["finding"].tolist() == ["biased"]
    assert gate(strict).verdict == "block"


def test_the_crowd_in_numbers(made, found):
    (row,) = found.crowd.to_dict("records")
    truth = made.truth["gap"]
    assert row["n_labelers"] == 150
    assert row["mean_low"] <= truth.mean() <= row["mean_high"]
    assert row["spread"] == pytest.approx(truth.std(), rel=0.35)
    assert row["labelers_beyond"] == pytest.approx((truth.abs() > 0.15).mean(), abs=0.08)


def test_with_thousands_of_labels_each_both_gaps_are_the_same():
    made = simulate_crowd(Shape(labelers=6, labels_each=2500), seed=1)
    gaps = assess(made.labels, made.gold, CONFIG).gaps
    np.testing.assert_allclose(gaps["gap"], gaps["table_gap"])


def test_few_people_are_no_crowd():
    made = simulate_crowd(Shape(labelers=10, labels_each=100), seed=1)
    found = assess(made.labels, made.gold, CONFIG)
    assert found.crowd is None
    np.testing.assert_allclose(found.gaps["gap"], found.gaps["table_gap"])
    assert found.overall is not None


@pytest.fixture(scope="module")
def with_vendors(made):
    """All biased people work for one vendor."""
    bad = set(made.truth.loc[made.truth["biased"], "labeler"])
    vendor = np.where(made.labels["labeler"].isin(bad), "hasty", "careful")
    return made.labels.assign(vendor=vendor)


def test_a_cohort_of_biased_people_is_found_and_blocks(made, with_vendors):
    config = CONFIG.updated({"columns.cohort": "vendor"})
    found = assess(with_vendors, made.gold, config)
    rows = found.cohorts.set_index("cohort")
    right = made.truth.assign(hasty=made.truth["biased"]).groupby("hasty")["gap"].mean()
    assert rows.loc["hasty", "gap"] == pytest.approx(right[True], abs=0.12)
    assert abs(rows.loc["careful", "gap"]) < 0.1
    assert rows["n_labels"].sum() == len(with_vendors)
    assert any("cohort" in reason for reason in gate(found).reasons)


def test_a_cohort_may_vary_within_a_labeler(made):
    week = np.where(np.arange(len(made.labels)) % 2, "first week", "second week")
    config = CONFIG.updated({"columns.cohort": "week"})
    found = assess(made.labels.assign(week=week), made.gold, config)
    assert found.cohorts["cohort"].tolist() == ["first week", "second week"]
    assert found.cohorts["n_labels"].sum() == len(made.labels)


def test_a_single_cohort_is_the_whole(made, found):
    config = CONFIG.updated({"columns.cohort": "vendor"})
    one = assess(made.labels.assign(vendor="only"), made.gold, config)
    numbers = ["gap", "ci_low", "ci_high"]
    np.testing.assert_allclose(one.cohorts[numbers], one.overall[numbers])
    assert any("all labels are of one cohort, 'only'" in each for each in one.messages)
    pd.testing.assert_frame_equal(one.overall[numbers], found.overall[numbers])


@pytest.mark.parametrize("names", [(None, "b"), (None, "(no cohort)"), (None, None)])
def test_labels_without_a_cohort_are_one(made, names):
    """Whatever the others are called, and if there are no others."""
    labels = made.labels[made.labels["labeler"].isin(made.truth["labeler"][:10])]
    vendor = np.array(names, dtype=object)[np.arange(len(labels)) % 2]
    config = CONFIG.updated({"columns.cohort": "vendor", "jobs": 1})
    found = assess(labels.assign(vendor=vendor), made.gold, config)
    rows = found.cohorts.set_index("cohort")["n_labels"]
    assert rows.sum() == len(labels)
    assert rows.index.is_unique
    assert "(no cohort)" in rows.index
    missing = sum(name is None for name in vendor)
    text = f"{missing:,} of {len(labels):,} labels have no value in cohort column 'vendor'"
    assert any(text in each for each in found.messages)


def test_a_cohort_for_every_label_is_refused_in_one_line(made):
    labels = made.labels.assign(vendor=[f"v{n}" for n in range(len(made.labels))])
    with pytest.raises(InputError, match="cohort column 'vendor' has 9,000 different values"):
        assess(labels, made.gold, CheckConfig(columns=Columns(cohort="vendor")))


def test_a_missing_cohort_column_is_named(made):
    with pytest.raises(InputError, match="vendor"):
        assess(made.labels, made.gold, CheckConfig(columns=Columns(cohort="vendor")))
