"""The plan for a crowd: within the items there are, finite, and the cheapest way said."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.crowd_simulation import Shape, simulate_crowd
from mdba_checks import CheckConfig, Policy, assess
from mdba_checks.findings.plan.crowd_plan import CrowdFacts, labels_worth


@pytest.fixture(scope="module")
def crowd():
    """Return 40 people with 40 labels each, and how many items they labeled."""
    made = simulate_crowd(Shape(labelers=40, labels_each=40, people="inconsistent"), seed=2)
    config = CheckConfig(reference="men", policy=Policy(max_gap=0.15), jobs=1)
    return assess(made.labels, made.gold, config), made


@pytest.mark.parametrize("wish", [{}, {"power": 0.99}, {"half_width": 0.0005}])
def test_for_a_crowd_amounts_are_finite_and_never_more_than_there_are_items(crowd, wish):
    assessment, made = crowd
    plan = assessment.plan(**wish)
    free = plan.table[plan.table["finding"] == "inconclusive"]
    assert len(free)
    asked = free[["more_gold_group", "more_gold_reference", "more_labels"]].astype(float)
    assert np.isfinite(asked).all(axis=None)
    assert (asked.sum(axis=1) > 0).all()
    items = made.labels.groupby("group")["item"].nunique()
    assert (asked["more_gold_group"] <= items["women"]).all()
    assert (asked["more_gold_reference"] <= items["men"]).all()
    assert (asked["more_labels"] <= items.sum() + len(made.gold)).all()
    assert all(number <= items[name] for name, number in plan.gold.items())
    if wish.get("power") == 0.99:  # more than these items can promise, and said so
        assert free.loc[~free["settles"], "sentence"].str.contains("no more than there are").all()
        assert any("by the items there are" in each for each in plan.summary)


def test_a_crowd_is_told_what_is_cheapest(crowd):
    summary = " ".join(crowd[0].plan().summary)
    assert "labeled by three people or more" in summary  # every item has one label here
    whole = crowd[0].overall.iloc[0]
    assert f"known to ±{(whole['ci_high'] - whole['ci_low']) / 2:.3f}" in summary
    assert "name a cohort column" in summary


def test_for_a_crowd_a_further_label_counts_less_than_one_over_their_number():
    """Twenty labels of an error of 1 each, and a crowd as good as sixty more."""
    alone = np.array([[1 / 20]])
    facts = CrowdFacts(
        own=np.zeros((1, 1)),
        alone=alone,
        n_items=np.array([100, 100]),
        measures_hidden=True,
        has_cohorts=True,
        whole_half_width=0.1,
    )
    worth = labels_worth(facts, np.array([1 / 80]), np.array([20]), np.array([0]))
    np.testing.assert_allclose(worth, 80)
