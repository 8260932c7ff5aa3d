"""`assess` from end to end: labelers whose bias is known, and changes that must not matter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from mdba_checks import Assessment, CheckConfig, Columns, Policy, assess, gate
from mdba_checks.assessment import assess_with
from mdba_checks.estimation import Evidence, bucket
from mdba_checks.estimation import rates as estimation
from mdba_checks.findings import BIASED, FAIR, GAP_COLUMNS, INCONCLUSIVE
from mdba_checks.simulation import Simulation, make_covariates, simulate
from tests.helpers import make_evidence, selection_table, some_gold

CONFIG = CheckConfig(reference="men", jobs=1)
NUMBERS = ["gap", "std_error", "ci_low", "ci_high", "p_value", "rate", "rate_reference"]


def errors(assessment: Assessment, made: Simulation, group: str = "women") -> pd.Series:
    """Return estimate minus truth per labeler."""
    gaps = assessment.gaps.query("group == @group").set_index("labeler")["gap"]
    return gaps - made.truth.query("group == @group").set_index("labeler")["gap"]


def assert_same(one: Assessment, other: Assessment, tolerance: float) -> None:
    left, right = (each.gaps.set_index(["labeler", "group"]).sort_index() for each in (one, other))
    np.testing.assert_allclose(left[NUMBERS], right[NUMBERS], atol=tolerance, rtol=0)
    pd.testing.assert_series_equal(left["finding"], right["finding"])


@pytest.fixture(scope="module")
def made() -> Simulation:
    return simulate(n_items=5000, n_labelers=4, tprs=[0.5, 0.65, 0.8, 0.95], seed=3)


@pytest.fixture(scope="module")
def assessed(made) -> dict[str, Assessment]:
    return assess_with(
        made.labels, made.gold, CONFIG, ["mdba_dr", "mdba", "mdba_naive", "selection_rate"]
    )


@pytest.fixture(scope="module")
def assessment(assessed) -> Assessment:
    return assessed["mdba_dr"]


# --- the truth is found


@pytest.mark.parametrize("family", ["correct", "incorrect", "inconsistent"])
def test_the_gap_of_every_labeler_is_found_for_every_family(family):
    made = simulate(family=family, n_items=5000, n_labelers=5, seed=4)
    found = assess_with(made.labels, made.gold, CONFIG, ["mdba_dr", "selection_rate"])
    error = errors(found["mdba_dr"], made)
    assert error.abs().mean() < 0.08
    assert error.abs().mean() < errors(found["selection_rate"], made).abs().mean()


def test_the_right_people_are_blamed(assessment, made):
    gaps = assessment.gaps.set_index("labeler")
    assert gaps.loc["L1", "finding"] == BIASED
    assert gaps.loc["L4", "finding"] != BIASED
    assert gaps["gap"].is_monotonic_increasing
    assert gate(assessment).verdict == "block"


def test_every_way_that_models_the_labeler_sees_what_selection_rates_do_not(assessed, made):
    counting = errors(assessed["selection_rate"], made).abs().mean()
    for name in ("mdba_dr", "mdba", "mdba_naive"):
        assert errors(assessed[name], made).abs().mean() < 0.75 * counting


def test_selection_rates_are_counted(assessed, made):
    counted = made.labels.groupby(["labeler", "group"])["label"].mean().unstack()
    gaps = assessed["selection_rate"].gaps.set_index("labeler")
    np.testing.assert_allclose(gaps["gap"], counted["women"] - counted["men"])
    np.testing.assert_allclose(gaps["rate"], counted["women"])
    np.testing.assert_allclose(gaps["rate_reference"], counted["men"])


def test_asking_one_estimator_gives_what_asking_several_gives(assessment, made):
    assert_same(assess(made.labels, made.gold, CONFIG), assessment, 0)


def test_false_positives_are_found_too():
    """Women's bar is lowered for the last labeler, so more of them are let in wrongly."""
    made = simulate(family="inconsistent", n_items=5000, n_labelers=3, seed=5)
    labels = made.labels.copy()
    flood = (labels["labeler"] == "L3") & (labels["group"] == "women")
    labels.loc[flood & (np.arange(len(labels)) % 2 == 0), "label"] = 1
    table = labels.merge(made.answers, on="item")
    wrong = table[table["gold"] == 0].groupby(["labeler", "group"])["label"].mean().unstack()
    truth = wrong["women"] - wrong["men"]
    gaps = assess(labels, made.gold, CONFIG.updated({"metric": "fpr"})).gaps.set_index("labeler")
    assert (gaps["gap"] - truth).abs().max() < 0.08
    assert gaps.loc["L3", "finding"] == BIASED
    assert gaps.loc["L3", "gap"] > 0.2


def test_missing_where_yes_is_right_is_the_mirror_of_finding_it(assessment, made):
    fnr = assess(made.labels, made.gold, CONFIG.updated({"metric": "fnr"}))
    np.testing.assert_allclose(fnr.gaps["gap"], -assessment.gaps["gap"], atol=1e-9)
    np.testing.assert_allclose(fnr.gaps["rate"], 1 - assessment.gaps["rate"], atol=1e-9)
    np.testing.assert_allclose(fnr.gaps["std_error"], assessment.gaps["std_error"], atol=1e-9)
    assert fnr.gaps["finding"].tolist() == assessment.gaps["finding"].tolist()


def test_p_right_tells_right_from_wrong_items_in_the_order_of_the_labels(assessment, made):
    right = made.labels.merge(made.answers, on="item", how="left")["gold"]
    assert len(assessment.p_right) == len(made.labels)
    assert roc_auc_score(right, assessment.p_right) > 0.9
    for group in ("men", "women"):
        own = (made.labels["group"] == group).to_numpy()
        assert assessment.p_right[own].mean() == pytest.approx(right[own].mean(), abs=0.05)


# --- what must not matter


def test_the_number_of_jobs_does_not_matter_at_all(assessment, made):
    two = assess(made.labels, made.gold, CONFIG.updated({"jobs": 2}))
    pd.testing.assert_frame_equal(two.gaps, assessment.gaps, check_exact=True)
    np.testing.assert_array_equal(two.p_right, assessment.p_right)


def test_the_order_of_rows_does_not_matter(assessment, made):
    order = np.random.default_rng(6).permutation(len(made.labels))
    shuffled = assess(made.labels.iloc[order], made.gold.sample(frac=1, random_state=1), CONFIG)
    assert_same(shuffled, assessment, 1e-9)
    np.testing.assert_allclose(shuffled.p_right, assessment.p_right[order], atol=1e-9)


def test_the_size_of_buckets_does_not_matter(assessment, made, monkeypatch):
    monkeypatch.setattr(estimation, "_BUCKET_ROWS", 1500)
    assert_same(assess(made.labels, made.gold, CONFIG), assessment, 1e-7)


def test_another_seed_gives_other_numbers_of_the_same_meaning(assessment, made):
    other = assess(made.labels, made.gold, CONFIG.updated({"seed": 1}))
    difference = (other.gaps["gap"] - assessment.gaps["gap"]).abs()
    assert 0 < difference.max() < 0.08


def test_turning_the_comparison_round_turns_the_sign(assessment, made):
    turned = assess(made.labels, made.gold, CONFIG.updated({"reference": "women"})).gaps
    np.testing.assert_allclose(turned["gap"], -assessment.gaps["gap"], atol=1e-12)
    np.testing.assert_allclose(turned["ci_low"], -assessment.gaps["ci_high"], atol=1e-12)
    np.testing.assert_allclose(turned["rate"], assessment.gaps["rate_reference"], atol=1e-12)


def test_swapping_the_names_of_the_groups_turns_the_sign(assessment, made):
    swap = {"men": "women", "women": "men"}
    labels, gold = (table.replace({"group": swap}) for table in (made.labels, made.gold))
    gaps = assess(labels, gold, CONFIG).gaps
    np.testing.assert_allclose(gaps["gap"], -assessment.gaps["gap"], atol=1e-4)
    np.testing.assert_allclose(gaps["std_error"], assessment.gaps["std_error"], atol=1e-4)


def test_pooling_a_sample_of_the_labelers_is_enough(assessment, made, monkeypatch):
    monkeypatch.setattr(estimation, "POOL_ROWS", 2500)
    sampled = assess(made.labels, made.gold, CONFIG)
    assert errors(sampled, made).abs().mean() < 0.09
    moved = (sampled.gaps["gap"] - assessment.gaps["gap"]).abs()
    assert 0 < moved.max() < 0.1


@pytest.mark.parametrize(
    "learner",
    [LogisticRegression(max_iter=500), RandomForestClassifier(n_estimators=40, min_samples_leaf=5)],
    ids=lambda learner: type(learner).__name__,
)
def test_a_scikit_learn_classifier_takes_the_place_of_xgboost(learner, assessment, made):
    found = assess(made.labels, made.gold, CONFIG, learner=learner)
    assert errors(found, made).abs().mean() < 0.09
    assert not np.allclose(found.gaps["gap"], assessment.gaps["gap"])


def test_progress_is_told_from_beginning_to_end(made):
    told: list[tuple[str, int, int]] = []
    assess(
        made.labels,
        made.gold,
        CONFIG.updated({"estimator": "selection_rate"}),
        progress=lambda *event: told.append(event),
    )
    assert told[0] == ("reading", 0, 1)
    assert told[-1] == ("labelers", 4, 4)


# --- more than two groups, shared items, labeled gold, weighted gold


@pytest.fixture(scope="module")
def three() -> Simulation:
    covariates = make_covariates(6000, seed=7, n_groups=3)
    return simulate(covariates=covariates, n_labelers=3, gold_per_group=300, seed=7)


def test_each_of_three_groups_is_compared_with_the_reference(three):
    gaps = assess(three.labels, three.gold, CONFIG).gaps
    assert len(gaps) == 6
    assert set(gaps["group"]) == {"women", "group_3"}
    assert set(gaps["reference"]) == {"men"}
    truth = three.truth.set_index(["labeler", "group"])["gap"]
    error = gaps.set_index(["labeler", "group"])["gap"] - truth
    assert error.abs().mean() < 0.08
    # Only women are treated differently.
    mean = gaps.groupby("group")["gap"].mean()
    assert mean["women"] < mean["group_3"] - 0.1


def test_without_a_reference_each_of_three_groups_is_compared_with_everyone_else(three):
    gaps = assess(three.labels, three.gold, CheckConfig(jobs=1)).gaps
    assert set(gaps["group"]) == {"men", "women", "group_3"}
    assert set(gaps["reference"]) == {"everyone else"}
    table = three.labels.merge(three.answers, on="item").query("gold == 1")
    for row in gaps.itertuples():
        own = table[table["labeler"] == row.labeler]
        inside = own["group"] == row.group
        truth = own.loc[inside, "label"].mean() - own.loc[~inside, "label"].mean()
        assert row.gap == pytest.approx(truth, abs=0.15)
        assert row.rate_reference == pytest.approx(own.loc[~inside, "label"].mean(), abs=0.12)


def test_items_may_be_shared_by_several_labelers():
    made = simulate(n_items=2500, n_labelers=5, overlap=3, gold_per_group=300, seed=8)
    assert (made.labels["item"].value_counts() == 3).all()
    found = assess(made.labels, made.gold, CONFIG)
    assert errors(found, made).abs().mean() < 0.08
    assert found.data.n_labels == len(made.labels)


def gold_among_labels(made: Simulation, seed: int, n: int) -> pd.DataFrame:
    """Return gold answers for some of the labeled items themselves."""
    features = made.gold.columns.drop("gold").tolist()
    some = made.labels.sample(n, random_state=seed)[features]
    return some.merge(made.answers, on="item")


def test_gold_items_may_be_among_the_labeled_ones():
    made = simulate(n_items=4000, n_labelers=4, gold_per_group=5, seed=9)
    gold = gold_among_labels(made, 1, 800)
    found = assess(made.labels, gold, CONFIG)
    assert errors(found, made).abs().mean() < 0.08


def test_where_every_right_answer_is_known_the_gap_is_counted():
    made = simulate(n_items=4000, n_labelers=4, gold_per_group=5, seed=9)
    everything = gold_among_labels(made, 2, len(made.labels))
    assert errors(assess(made.labels, everything, CONFIG), made).abs().max() < 0.01


def test_gold_that_was_not_drawn_evenly_is_put_right_by_its_weights():
    """All positives and every fifth negative are kept: weights say what each row stands for."""
    made = simulate(family="inconsistent", n_items=6000, n_labelers=3, gold_per_group=500, seed=10)
    kept = (made.gold["gold"] == 1) | (np.arange(len(made.gold)) % 5 == 0)
    uneven = made.gold[kept].assign(stands_for=lambda t: np.where(t["gold"] == 1, 1.0, 5.0))
    config = CONFIG.updated({"columns": Columns(gold_weight="stands_for").model_dump()})
    weighted = assess(made.labels, uneven, config)
    assert errors(weighted, made).abs().mean() < 0.08
    for group in ("men", "women"):
        own = (made.labels["group"] == group).to_numpy()
        assert weighted.p_right[own].mean() == pytest.approx(0.2, abs=0.06)


# --- the table


def test_the_table_has_the_promised_columns_and_counts(assessment, made):
    gaps = assessment.gaps
    assert tuple(gaps.columns) == GAP_COLUMNS
    assert gaps["n_labels"].tolist() == made.labels["labeler"].value_counts().sort_index().tolist()
    women = made.gold[made.gold["group"] == "women"]
    assert set(gaps["n_gold"]) == {len(women)}
    assert set(gaps["n_gold_positive"]) == {int(women["gold"].sum())}
    assert set(gaps["metric"]) == {"tpr"}
    np.testing.assert_allclose(gaps["gap"], gaps["rate"] - gaps["rate_reference"])
    # Quantiles of Student's t: a little above the normal one, as gold is small.
    reach = (gaps["ci_high"] - gaps["gap"]) / gaps["std_error"]
    assert reach.between(1.6448, 1.75).all()
    np.testing.assert_allclose(gaps["gap"] - gaps["ci_low"], gaps["ci_high"] - gaps["gap"])


def test_the_table_is_a_copy(assessment):
    table = assessment.gaps
    table.loc[:, "gap"] = 0.0
    assert assessment.gaps["gap"].abs().max() > 0.1


def test_joint_intervals_contain_the_single_ones(assessment):
    joint, single = assessment.joint_intervals(), assessment.gaps
    assert (joint["ci_low"] < single["ci_low"]).all()
    assert (joint["ci_high"] > single["ci_high"]).all()
    assert joint["labeler"].tolist() == single["labeler"].tolist()


# --- other policies


def test_another_policy_changes_findings_and_no_number(assessment):
    strict, lenient = (assessment.with_policy(Policy(max_gap=limit)) for limit in (0.0, 0.9))
    assert set(lenient.gaps["finding"]) == {FAIR}
    assert FAIR not in set(strict.gaps["finding"])
    estimated = [name for name in NUMBERS if name != "p_value"]
    for other in (strict, lenient):
        pd.testing.assert_frame_equal(other.gaps[estimated], assessment.gaps[estimated])
    assert (strict.gaps["p_value"] <= lenient.gaps["p_value"]).all()
    # There and back again.
    pd.testing.assert_frame_equal(lenient.with_policy(CONFIG.policy).gaps, assessment.gaps)


def test_a_policy_that_asks_for_more_gold_than_there_is_is_not_satisfied(assessment, made):
    n = int(made.gold.query("group == 'women'")["gold"].sum())
    policy = Policy(max_gap=0.9, min_gold_positives=n + 1)
    assert gate(assessment, policy).verdict == "inconclusive"
    reasons = assessment.with_policy(policy).gaps["reason"]
    assert reasons.str.contains(f"gold has {n} items of women").all()


# --- nothing to go by: inconclusive, with the reason


@pytest.fixture(scope="module")
def odd(made) -> pd.DataFrame:
    """Return the gaps of ordinary people beside those of whom nothing can be said."""
    men = made.labels[made.labels["group"] == "men"].head(60)
    both = made.labels.groupby("group").head(40)
    extra = [
        men.assign(labeler="only_men"),
        both.assign(labeler="yes", label=1),
        both.assign(labeler="no", label=0),
        both.head(1).assign(labeler="once"),
    ]
    labels = pd.concat([made.labels, *extra]).drop(columns="item")
    return assess(labels, made.gold.drop(columns="item"), CONFIG).gaps.set_index("labeler")


@pytest.mark.parametrize(
    ("labeler", "reason"),
    [
        ("only_men", "has no labels for women"),
        ("yes", "said yes for all 80 items"),
        ("no", "said no for all 80 items"),
    ],
)
def test_somebody_with_nothing_to_compare_is_inconclusive_with_the_reason(odd, labeler, reason):
    row = odd.loc[labeler]
    assert row["finding"] == INCONCLUSIVE
    assert reason in row["reason"]
    assert np.isnan(row["p_value"])


def test_somebody_with_a_single_label_is_inconclusive(odd):
    assert odd.loc["once", "finding"] == INCONCLUSIVE
    assert "has no labels for" in odd.loc["once", "reason"]


def test_odd_people_do_not_spoil_the_others(odd, assessment):
    ordinary = assessment.gaps.set_index("labeler")
    moved = (odd.loc[ordinary.index, "gap"] - ordinary["gap"]).abs()
    assert (moved < 0.1).all()


@pytest.mark.parametrize("name", ["mdba_dr", "mdba", "mdba_naive", "gold_model"])
def test_a_group_without_gold_positives_is_inconclusive_with_the_reason(made, name):
    gold = made.gold[(made.gold["group"] == "men") | (made.gold["gold"] == 0)]
    labels = made.labels[made.labels["labeler"].isin(["L1", "L4"])]
    assessment = assess(labels, gold, CONFIG.updated({"estimator": name}))
    assert set(assessment.gaps["finding"]) == {INCONCLUSIVE}
    assert assessment.gaps["reason"].str.contains("gold has 0 items of women where yes is").all()
    assert gate(assessment).verdict == "inconclusive"
    assert gate(assessment, Policy(max_gap=1)).verdict == "inconclusive"


def test_a_third_group_without_labels_leaves_the_comparison_of_the_other_two(three):
    labels = three.labels
    labels = labels[(labels["labeler"] != "L1") | (labels["group"] != "group_3")]
    gaps = assess(labels, three.gold, CONFIG).gaps.set_index(["labeler", "group"])
    assert "has no labels for group_3" in gaps.loc[("L1", "group_3"), "reason"]
    assert gaps.loc[("L1", "women"), "gap"] < -0.2
    assert gaps.loc[("L1", "women"), "std_error"] < 0.2


def test_two_labelers_who_differ_in_the_group_only_are_told_apart_by_counting():
    people = {
        "even": {"men": (500, 1000), "women": (500, 1000)},
        "harsh": {"men": (500, 1000), "women": (200, 1000)},
        "kind": {"men": (200, 1000), "women": (500, 1000)},
    }
    config = CONFIG.updated({"estimator": "selection_rate"})
    gaps = assess(selection_table(people), some_gold(), config).gaps.set_index("labeler")
    np.testing.assert_allclose(gaps["gap"], [0.0, -0.3, 0.3])
    assert gaps["finding"].tolist() == [FAIR, BIASED, BIASED]


# --- how well labelers are predicted


def fidelity_by_hand(evidence: Evidence, labeler: int) -> tuple[float, float]:
    own = evidence.place == labeler
    decision, f = evidence.decision[own], evidence.f[own]
    wins = pairs = 0.0
    for yes in f[decision == 1]:
        for no in f[decision == 0]:
            wins += 1.0 if yes > no else 0.5 if yes == no else 0.0
            pairs += 1
    return wins / pairs, float(((decision - f) ** 2).mean())


def with_scores(evidence: Evidence, digits: int) -> Evidence:
    return Evidence(**{**vars(evidence), "f": evidence.f.round(digits)})


@pytest.mark.parametrize(
    "digits",
    [
        9,
        1,
    ],
)
def test_how_well_labelers_are_predicted_is_counted_over_pairs(digits):
    evidence = with_scores(make_evidence(np.random.default_rng(11)), digits)
    fidelity = bucket.fidelity_of(evidence)
    for labeler in range(3):
        auc, brier = fidelity_by_hand(evidence, labeler)
        assert fidelity.auc[labeler] == pytest.approx(auc, abs=1e-9)
        assert fidelity.brier[labeler] == pytest.approx(brier)
