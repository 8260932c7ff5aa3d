"""Gold that was drawn with weights: every check counts items by what they stand for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from mdba_checks import CheckConfig, Policy, assess, choose_gold, read_answers
from mdba_checks.simulation import simulate

CONFIG = CheckConfig(reference="men", jobs=1)


@pytest.fixture(scope="module")
def chosen() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Labels, and gold that was chosen where answers are open."""
    made = simulate(n_items=6000, n_labelers=4, gold_per_group=10, seed=5)
    labels = made.labels.assign(item=made.labels["item"].astype(str))
    right = made.answers.assign(item=made.answers["item"].astype(str)).set_index("item")["gold"]
    sheet = choose_gold(labels, 500, config=CONFIG).sheet
    sheet["gold"] = [str(right[item]) for item in sheet["item"]]
    return labels, read_answers([sheet]).gold


@pytest.fixture(scope="module")
def with_weights(chosen):
    return assess(*chosen, CONFIG)


@pytest.fixture(scope="module")
def without_weights(chosen):
    labels, gold = chosen
    return assess(labels, gold.drop(columns="gold_weight"), CONFIG)


def level(assessment, check):
    return next(each.level for each in assessment.diagnostics if each.check == check)


def test_gold_that_was_chosen_is_noticed_unless_its_weights_explain_it(
    with_weights, without_weights
):
    assert level(with_weights, "chosen_gold") == "ok"
    assert level(without_weights, "chosen_gold") == "serious"


def test_nobody_is_suspected_because_gold_was_chosen(with_weights):
    assert level(with_weights, "gold_behaviour") != "serious"
    assert level(with_weights, "covariate_shift") != "serious"


def test_what_weights_are_counted_in_does_not_matter(chosen, with_weights):
    labels, gold = chosen
    in_thousands = assess(labels, gold.assign(gold_weight=gold["gold_weight"] / 1000), CONFIG)
    for name in ("gap", "std_error"):  # the parts that models are kept from are others
        assert in_thousands.gaps[name].to_numpy() == pytest.approx(
            with_weights.gaps[name].to_numpy(), abs=0.01
        )
    found, wanted = (
        [
            (each.check, each.labeler, each.group, each.level)
            for each in one.diagnostics
            if each.check != "hidden_information"  # a test of what those parts leave
        ]
        for one in (in_thousands, with_weights)
    )
    assert found == wanted


def test_how_well_right_answers_are_predicted_counts_items_by_weight(chosen, with_weights):
    """By another implementation, from g as the assessment reports it."""
    measures = with_weights.estimated[0].measures
    gold = chosen[1]
    share = gold["gold_weight"] * gold["gold"].astype(int)
    wanted = share.groupby(gold["group"]).sum() / gold.groupby("group")["gold_weight"].sum()
    assert dict(zip(measures.groups, measures.gold_share, strict=True)) == pytest.approx(
        wanted.to_dict()
    )
    raw = gold["gold"].astype(int).groupby(gold["group"]).mean()
    assert (raw - wanted).abs().max() > 0.05


def test_an_auc_with_weights_is_that_of_repeated_items():
    from mdba_checks.findings.diagnostics.measures import weighted_auc

    rng = np.random.default_rng(0)
    score, right = rng.integers(6, size=40) / 6, rng.random(40) < 0.4
    times = rng.integers(1, 5, size=40)
    wanted = roc_auc_score(np.repeat(right, times), np.repeat(score, times))
    assert weighted_auc(score, right, times.astype(float)) == pytest.approx(wanted)


def test_few_heavy_items_are_worth_few(chosen):
    labels, gold = chosen
    women = gold.index[(gold["group"] == "women") & (gold["gold"] == "1")]
    heavy = gold.assign(gold_weight=1.0)
    heavy.loc[women[:2], "gold_weight"] = 1e6
    found = assess(labels, heavy, CheckConfig(reference="men", jobs=1, policy=Policy()))
    reasons = set(found.gaps["reason"])
    assert len(reasons) == 1
    assert f"gold has {len(women)} items of women where yes is right (worth 2 of" in reasons.pop()
