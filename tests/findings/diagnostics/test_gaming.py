"""Labelers who game the check, on data whose true answer is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from benchmarks.gaming import Made, Setting, checked, make
from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.findings.diagnostics import diagnose, doubts, obstacles
from mdba_checks.findings.diagnostics.gaming import (
    DecisionSums,
    compare_on_gold,
    find_noise,
    gold_of_rows,
)
from mdba_checks.findings.judge import judge
from mdba_checks.tables import load

TOLERANT = Policy(max_gap=0.25)
SMALL = {"n_items": 4000, "n_labelers": 4, "gold_per_group": 150}


@cache
def gamed(way, strength, *, family="correct", tables="items", seed=0):
    made = make(Setting(way, family, tables, strength), seed, **SMALL)
    return made, checked(made, tables)


def raised(assessment, check):
    """Return who is suspected of what, without the summary."""
    return {
        (each.labeler, each.group): each.level
        for each in assessment.diagnostics
        if each.check == check and (each.labeler or each.group) and each.level != "ok"
    }


def level_of(assessment, check):
    (found,) = [
        each.level
        for each in assessment.diagnostics
        if each.check == check and each.labeler is None and each.group is None
    ]
    return found


# --- behaving well where one is checked


@pytest.mark.parametrize("tables", ["items", "no items"])
def test_somebody_who_is_fair_on_gold_items_alone_is_found_out(tables):
    _, found = gamed("recognises gold", 1.0, tables=tables)
    assert raised(found, "gold_behaviour") == {("L1", "women"): "serious"}


def test_the_numbers_are_the_shares_of_yes_on_gold_and_elsewhere():
    made, found = gamed("recognises gold", 1.0)
    on_gold = found.estimated[0].measures.gaming.on_gold
    women = made.labels[(made.labels["labeler"] == "L1") & (made.labels["group"] == "women")]
    right = women[made.answers.loc[women["item"]].to_numpy() == 1]
    is_gold = right["item"].isin(made.gold["item"])
    # g is not perfect, so the shares are those of items that look right rather than are.
    assert on_gold.on_gold[0, 1] == pytest.approx(right[is_gold]["label"].mean(), abs=0.1)
    assert on_gold.elsewhere[0, 1] == pytest.approx(right[~is_gold]["label"].mean(), abs=0.12)
    assert on_gold.p_value[0, 1] < 1e-3 < on_gold.p_value[1:].min()


def test_for_false_positives_it_is_the_items_where_no_is_likely_that_count():
    made, _ = gamed("honest", 0.0)
    labels = made.labels.copy()
    lenient = (labels["labeler"] == "L2") & (labels["group"] == "women")
    lenient &= ~labels["item"].isin(made.gold["item"])
    now = lenient & (np.random.default_rng(7).random(len(labels)) < 0.4)
    labels.loc[now, "label"] = 1
    wrong = made.answers.loc[labels["item"]].to_numpy() == 0
    config = CheckConfig(reference="men", metric="fpr", jobs=1)
    found = assess(labels, made.gold, config)
    assert raised(found, "gold_behaviour") == {("L2", "women"): "serious"}
    elsewhere = found.estimated[0].measures.gaming.on_gold.elsewhere[1, 1]
    assert elsewhere == pytest.approx(labels.loc[lenient & wrong, "label"].mean(), abs=0.05)
    assert found.estimated[0].measures.gaming.on_gold.on_gold[1, 1] < 0.05
    (said,) = [
        each.sentence
        for each in found.diagnostics
        if each.check == "gold_behaviour" and each.labeler == "L2"
    ]
    assert "where no seems right" in said


def test_gold_that_nobody_labeled_cannot_be_gamed():
    _, found = gamed("recognises gold", 1.0, tables="apart")
    assert found.estimated[0].measures.gaming.on_gold is None
    assert not [each for each in found.diagnostics if each.check == "gold_behaviour"]
    assert found.gaps.set_index("labeler").loc["L1", "finding"] == "biased"


@pytest.mark.parametrize("family", ["correct", "incorrect", "inconsistent"])
@pytest.mark.parametrize("tables", ["items", "no items"])
@pytest.mark.parametrize("seed", [1, 2])
def test_honest_labelers_are_not_suspected(family, tables, seed):
    _, found = gamed("honest", 0.0, family=family, tables=tables, seed=seed)
    assert raised(found, "gold_behaviour") == {}
    assert raised(found, "noise") == {}
    assert raised(found, "consensus") == {}


@pytest.mark.parametrize("family", ["correct", "inconsistent"])
def test_somebody_who_is_biased_everywhere_alike_games_nothing(family):
    _, found = gamed("recognises gold", 0.0, family=family)
    assert found.gaps["finding"].iloc[0] == "biased"
    assert raised(found, "gold_behaviour") == {}


def test_the_comparison_has_the_level_it_claims_when_nothing_is_different():
    rng = np.random.default_rng(1)
    n_people, n_gold, n_other, n_classes = 4000, 60, 800, 5
    chance = rng.uniform(0.05, 0.95, (n_people, 1, n_classes))

    def side(n):
        weight = rng.uniform(0.5, 1, (n_people, 1, n_classes, n // n_classes))
        yes = rng.random(weight.shape) < chance[..., None]
        return DecisionSums(weight.sum(-1), (weight * yes).sum(-1), (weight**2).sum(-1))

    p_value = compare_on_gold(side(n_gold), side(n_other), by_item=True).p_value
    for level in (0.1, 0.01, 0.001):
        assert (p_value < level).mean() < 1.3 * level + 3 * np.sqrt(level / n_people)
    assert (p_value < 0.1).mean() > 0.05  # and it is no coward either


def test_the_comparison_is_the_difference_of_shares_over_its_error():
    gold = DecisionSums(*(np.array([[[value]]], float) for value in (50, 45, 50)))
    other = DecisionSums(*(np.array([[[value]]], float) for value in (500, 250, 500)))
    found = compare_on_gold(gold, other, by_item=True)
    common = (45 + 250 + 1) / (550 + 2)
    z = (0.9 - 0.5) / np.sqrt(common * (1 - common) * (1 / 50 + 1 / 500))
    assert found.on_gold[0, 0] == pytest.approx(0.9)
    assert found.elsewhere[0, 0] == pytest.approx(0.5)
    assert found.p_value[0, 0] == pytest.approx(2 * norm.sf(z))


def test_items_are_compared_with_items_as_likely_right():
    # Gold has mostly likely items, the rest mostly unlikely ones; the habit is the same.
    gold = DecisionSums(*(np.array([[value]], float) for value in ([5, 95], [1, 76], [5, 95])))
    other = DecisionSums(
        *(np.array([[value]], float) for value in ([900, 100], [180, 80], [900, 100]))
    )
    found = compare_on_gold(gold, other, by_item=True)
    assert found.on_gold[0, 0] == pytest.approx(0.77)
    assert found.elsewhere[0, 0] == pytest.approx(0.05 * 0.2 + 0.95 * 0.8)
    assert found.p_value[0, 0] > 0.5


def test_a_few_gold_items_are_no_habit():
    few = DecisionSums(*(np.array([[[value]]], float) for value in (4, 4, 4)))
    other = DecisionSums(*(np.array([[[value]]], float) for value in (900, 100, 900)))
    assert np.isnan(compare_on_gold(few, other, by_item=True).p_value).all()


def test_an_answer_that_was_sent_twice_counts_once():
    made, once = gamed("recognises gold", 0.5)
    on_gold = made.labels["item"].isin(made.gold["item"])
    twice = Made(pd.concat([made.labels, made.labels[on_gold]]), made.gold, made.gamers, None)
    again = checked(twice, "items")
    before, after = (
        once.estimated[0].measures.gaming.on_gold,
        again.estimated[0].measures.gaming.on_gold,
    )
    # The models see the copies, so the weights differ a little; twice the evidence would show.
    np.testing.assert_allclose(np.log(after.p_value[0, 1]), np.log(before.p_value[0, 1]), rtol=0.4)


def test_features_that_many_items_share_point_to_nobody():
    rng = np.random.default_rng(2)
    items = pd.DataFrame(rng.integers(3, size=(900, 3)), columns=list("xyz")).assign(
        group=rng.choice(["men", "women"], 900)
    )
    labels = items.assign(labeler=rng.choice(["a", "b"], 900), label=rng.integers(2, size=900))
    gold = items.tail(200).assign(gold=rng.integers(2, size=200))
    data = load(labels, gold, CheckConfig(reference="men"))
    from mdba_checks.findings.diagnostics.repeats import find_repeats

    assert (gold_of_rows(data, find_repeats(data)) == -1).all()


# --- what a suspicion does


def gaps_of(**columns):
    table = {"labeler": ["A", "B", "C"], "group": "women", "reference": "men", "metric": "tpr"}
    table |= {"gap": [-0.4, 0.0, -0.1], "std_error": [0.03, 0.01, 0.05]}
    table |= {"ci_low": [-0.45, -0.02, -0.18], "ci_high": [-0.35, 0.02, -0.02]}
    return pd.DataFrame({**table, "rate": 0.5, "rate_reference": 0.9, **columns})


@pytest.mark.parametrize("decide_on", ["confident", "estimate"])
def test_a_doubt_takes_away_fair_and_never_excuses_biased(decide_on):
    def findings(**doubt):
        policy = Policy(decide_on=decide_on, max_gap=0.1)
        return judge(gaps_of(), policy, confidence=0.9, obstacles=[""] * 3, **doubt)

    assert findings()["finding"].tolist()[:2] == ["biased", "fair"]
    doubted = findings(doubts=["odd"] * 3)
    assert doubted["finding"].tolist() == ["biased", "inconclusive", "inconclusive"]
    assert doubted["reason"].tolist()[1:] == ["odd", "odd"]
    assert doubted["reason"][0] == findings()["reason"][0]
    pd.testing.assert_series_equal(doubted["p_value"], findings()["p_value"])


@pytest.fixture(scope="module")
def suspected():
    """An assessment in which L2, who is fair, decides differently on gold."""
    _, found = gamed("honest", 0.0)
    gaming = found.estimated[0].measures.gaming
    p_value, elsewhere = gaming.on_gold.p_value.copy(), gaming.on_gold.elsewhere.copy()
    p_value[1, 1], elsewhere[1, 1] = 1e-9, gaming.on_gold.on_gold[1, 1] - 0.3
    on_gold = replace(gaming.on_gold, p_value=p_value, elsewhere=elsewhere)
    measures = replace(found.estimated[0].measures, gaming=replace(gaming, on_gold=on_gold))
    clean = found.with_policy(TOLERANT)
    assert clean.gaps["finding"].tolist() == ["fair"] * 4
    assert gate(clean).verdict == "pass"
    (part,) = found.estimated
    basis = replace(part.basis, measures=measures)
    return replace(found, estimated=(replace(part, basis=basis),)).with_policy(TOLERANT)


def test_who_is_seriously_suspected_is_not_called_fair_and_the_gate_stops(suspected):
    rows = suspected.gaps.set_index("labeler")
    assert rows["finding"].to_dict() == {
        "L1": "fair",
        "L2": "inconclusive",
        "L3": "fair",
        "L4": "fair",
    }
    assert "leave gold items out of the labels" in rows.loc["L2", "reason"]
    assert gate(suspected).verdict == "inconclusive"
    assert set(obstacles(suspected.estimated[0].measures, TOLERANT)) == {None}
    assert rows.loc["L2", "cause"] == "assumption"
    assert [text != "" for text in doubts(suspected.estimated[0].measures, TOLERANT)] == [
        False,
        True,
        False,
        False,
    ]


def test_a_policy_may_have_suspicions_only_reported(suspected):
    reported = suspected.with_policy(Policy(max_gap=0.25, on_serious="report"))
    assert gate(reported).verdict == "pass"
    assert raised(reported, "gold_behaviour") == {("L2", "women"): "serious"}


def test_no_amount_of_gold_is_said_to_settle_a_suspicion(suspected):
    (row,) = suspected.plan().table.itertuples()
    assert row.labeler == "L2"
    assert "leave gold items out of the labels" in row.sentence


def test_a_clear_difference_within_what_is_tolerated_is_worth_a_look(suspected):
    wide = Policy(max_gap=0.4)
    levels = [
        each.level
        for each in diagnose(suspected.estimated[0].measures, wide)
        if each.check == "gold_behaviour" and each.labeler == "L2"
    ]
    assert levels == ["look"]


# --- noise


@pytest.mark.parametrize("strength", [0.5, 0.8])
def test_the_share_of_random_answers_is_measured(strength):
    _, found = gamed("adds noise", strength)
    share = found.estimated[0].measures.gaming.noise.share
    assert share[0] == pytest.approx([strength, strength], abs=0.12)
    assert share[1:].max() < 0.15
    assert raised(found, "noise") == {("L1", "men"): "look", ("L1", "women"): "look"}


def test_randomness_in_one_group_alone_is_found_there():
    _, found = gamed("adds noise for men", 0.7, tables="apart")
    assert raised(found, "noise") == {("L1", "men"): "look"}


def test_strict_and_lenient_people_are_not_random():
    tpr = np.array([[0.9, 0.3], [0.9, 0.9], [1.0, 0.9], [0.9, 0.9]])  # one strict with a group
    fpr = np.array([[0.0, 0.0], [0.0, 0.0], [0.5, 0.0], [0.0, 0.0]])  # one lenient with a group
    found = find_noise(tpr, fpr, np.full((4, 2), 200.0), np.full((4, 2), 800.0))
    assert found.share.max() == 0


def test_what_is_usual_needs_three_labelers():
    two = find_noise(*np.full((2, 2, 2), 0.5), *np.full((2, 2, 2), 500.0))
    assert np.isnan(two.usual).all()
    assert np.isnan(two.p_value).all()


def test_randomness_is_never_serious_because_it_is_no_bias():
    _, found = gamed("adds noise", 1.0)
    assert level_of(found, "noise") == "look"
    assert set(doubts(found.estimated[0].measures, Policy())) == {""}


# --- a majority that is wrong together


def test_a_majority_against_gold_is_said_and_everybody_in_it_is_still_found():
    rng = np.random.default_rng(5)
    made = make(Setting("collude", "correct", "apart", 0.75), 3, **SMALL | {"gold_per_group": 300})
    labels = made.labels.copy()
    theirs = labels["labeler"].isin(made.gamers) & (labels["group"] == "women")
    labels.loc[theirs & (rng.random(len(labels)) < 0.9), "label"] = 0
    found = assess(labels, made.gold, CheckConfig(reference="men", jobs=1))
    assert raised(found, "consensus") == {(None, "women"): "look"}
    women = labels[labels["group"] == "women"]
    right = women[made.answers.loc[women["item"]].to_numpy() == 1]["label"].mean()
    assert found.estimated[0].measures.gaming.right_together[1] == pytest.approx(right, abs=0.05)
    findings = found.gaps.set_index("labeler")["finding"]
    assert set(findings[sorted(made.gamers)]) == {"biased"}
    assert "biased" not in set(findings.drop(sorted(made.gamers)))


def test_for_false_positives_it_is_the_yeses_that_are_wrong():
    made, _ = gamed("honest", 0.0)
    rng = np.random.default_rng(6)
    labels = made.labels.copy()
    women = labels["group"] == "women"
    labels.loc[women & (rng.random(len(labels)) < 0.9), "label"] = 1
    config = CheckConfig(reference="men", metric="fpr", jobs=1)
    found = assess(labels, made.gold, config)
    assert raised(found, "consensus") == {(None, "women"): "look"}
    assert found.estimated[0].measures.gaming.right_together[1] < 0.25


def test_estimators_without_models_are_not_asked():
    made, _ = gamed("honest", 0.0)
    config = CheckConfig(reference="men", estimator="selection_rate")
    assert assess(made.labels, made.gold, config).estimated[0].measures.gaming is None


def test_sentences_never_name_the_labeler():
    _, found = gamed("recognises gold", 1.0)
    texts = [each.sentence for each in found.diagnostics]
    assert not any("L1" in text for text in texts)
