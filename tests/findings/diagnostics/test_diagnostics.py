"""Assumption checks on data whose true answer is known."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.findings.diagnostics import diagnose, inspect, obstacles
from mdba_checks.findings.diagnostics.checks import grade
from mdba_checks.findings.diagnostics.repeats import find_repeats
from mdba_checks.findings.diagnostics.shift import measure_shift
from mdba_checks.outputs import to_record
from mdba_checks.simulation import simulate
from mdba_checks.tables import load

CONFIG = CheckConfig(reference="men", jobs=1)


def assessed(labels, gold, **changes):
    return assess(labels, gold, CONFIG.updated(changes))


def of_check(assessment, check, **about):
    """Return the records of a check; its summary when nothing else is asked for."""
    about = {"labeler": None, "group": None} | about
    return [
        each
        for each in assessment.diagnostics
        if each.check == check and all(getattr(each, key) == about[key] for key in about)
    ]


def summary(assessment, check):
    (found,) = of_check(assessment, check)
    return found


@pytest.fixture(scope="module")
def made():
    return simulate(n_items=2000, n_labelers=3, tprs=[0.5, 0.7, 0.93], gold_per_group=200, seed=1)


@pytest.fixture(scope="module")
def clean(made):
    return assessed(made.labels, made.gold)


def normal_tables(rng, shift_of, *, rows=600, gold_rows=400, features=3, gold_shift=0.0):
    """Return tables of normal features; `shift_of[labeler][group]` moves the first of them."""
    labels = [
        pd.DataFrame(rng.normal(size=(rows, features)), columns=list("xyz")[:features])
        .assign(labeler=labeler, group=group, label=rng.integers(2, size=rows))
        .assign(x=lambda table, by=by: table["x"] + by)
        for labeler, groups in shift_of.items()
        for group, by in groups.items()
    ]
    gold = pd.DataFrame(rng.normal(size=(2 * gold_rows, features)), columns=list("xyz")[:features])
    gold = gold.assign(group=["men", "women"] * gold_rows, gold=rng.integers(2, size=2 * gold_rows))
    gold["x"] += gold_shift
    return pd.concat(labels, ignore_index=True), gold


# --- covariate shift


@pytest.mark.parametrize("by", [0.0, 0.5, 1.0, 2.0])
def test_the_shift_of_normal_items_has_the_auc_that_theory_gives(by):
    rng = np.random.default_rng(3)
    shifted = {"ann": {"men": 0.0, "women": 0.0}, "bob": {"men": 0.0, "women": by}}
    found = measure_shift(load(*normal_tables(rng, shifted, rows=3000), CONFIG))
    assert found.auc[1, 1] == pytest.approx(norm.cdf(by / np.sqrt(2)), abs=0.035)
    assert found.auc[[0, 0, 1], [0, 1, 0]] == pytest.approx(0.5, abs=0.05)


def test_the_shift_agrees_with_a_classifier_that_is_really_trained():
    rng = np.random.default_rng(4)
    mixing = rng.normal(size=(3, 3))
    labels, gold = normal_tables(rng, {"ann": {"men": 0.9, "women": 0.9}}, rows=800)
    labels[list("xyz")] @= mixing
    gold[list("xyz")] @= mixing
    found = measure_shift(load(labels, gold, CONFIG)).auc[0, 0]
    both = pd.concat([labels[labels["group"] == "men"], gold[gold["group"] == "men"]])
    classifier = LogisticRegression()
    trained = cross_val_score(classifier, both[list("xyz")], both["gold"].isna(), scoring="roc_auc")
    assert found == pytest.approx(trained.mean(), abs=0.03)


def test_gold_drawn_evenly_from_unequal_groups_is_no_shift():
    rng = np.random.default_rng(5)
    labels, gold = normal_tables(rng, {"ann": {"men": 3.0, "women": 0.0}}, rows=1000)
    labels = labels.drop(labels.index[1200:])  # 1,000 men and 200 women, gold has as many of each
    gold["x"] += 3.0 * (gold["group"] == "men")
    found = measure_shift(load(labels, gold, CONFIG))
    assert (found.auc < 0.56).all()


def test_weights_make_up_for_gold_that_was_drawn_unevenly():
    rng = np.random.default_rng(6)
    labels, gold = normal_tables(rng, {"ann": {"men": 0.0, "women": 0.0}}, gold_rows=3000)
    gold["weight"] = 1 / norm.cdf(1.5 * gold["x"] - 1)
    gold = gold[rng.random(len(gold)) < 1 / gold["weight"]]
    weighted = CONFIG.updated({"columns.gold_weight": "weight"})
    uneven = measure_shift(load(labels, gold.drop(columns="weight"), CONFIG)).auc_of_all
    evened = measure_shift(load(labels, gold, weighted)).auc_of_all
    assert (uneven > 0.7).all()
    assert (evened < 0.6).all()


def test_a_labeler_with_few_items_is_not_accused_of_shift_by_chance():
    rng = np.random.default_rng(7)
    people = {f"L{k}": {"men": 0.0, "women": 0.0} for k in range(150)}
    labels, gold = normal_tables(rng, people, rows=25, gold_rows=60)
    # Long tails and rare categories are where means of few items go astray.
    for table in (labels, gold):
        table["x"] = np.exp(2 * table["x"])
        table["y"] = rng.standard_t(1.5, size=len(table))
        table["prize"] = (rng.random(len(table)) < 0.02).astype(int)
        table["kind"] = rng.choice([f"k{n}" for n in range(30)], size=len(table))
    data = load(labels, gold, CONFIG)
    shift = inspect(data).shift
    clear = shift.p_value < 0.01 / shift.p_value.size
    assert np.nanmax(shift.auc) > 0.65  # it does look bad at times,
    assert not (clear & (shift.auc > 0.65)).any()  # but never clearly


def test_items_unlike_gold_make_that_labeler_inconclusive_and_nobody_else(made):
    labels = made.labels.copy()
    theirs = labels["labeler"] == "L1"
    numbers = labels.select_dtypes("number").columns.difference(["item", "label"])
    labels[numbers] = labels[numbers].astype(float)
    labels.loc[theirs, numbers] += 3 * labels[numbers].std()
    found = assessed(labels, made.gold)
    rows = found.gaps.set_index("labeler")
    record = of_check(found, "covariate_shift", labeler="L1", group="women")[0]
    assert record.level == "serious"
    assert record.value > 0.8
    assert rows.loc["L1", "finding"] == "inconclusive"
    assert "cannot stand for them" in rows.loc["L1", "reason"]
    assert not of_check(found, "covariate_shift", labeler="L3", group="women")

    reported = found.with_policy(Policy(on_serious="report"))
    again = reported.gaps.set_index("labeler")
    assert "cannot stand for them" not in again.loc["L1", "reason"]
    assert np.isfinite(again.loc["L1", "p_value"])
    assert reported.diagnostics == found.diagnostics
    pd.testing.assert_series_equal(again["gap"], rows["gap"])
    back = reported.with_policy(found.config.policy)
    pd.testing.assert_frame_equal(back.gaps, found.gaps)


def test_gold_unlike_everything_is_said_once_per_group_and_stops_all():
    rng = np.random.default_rng(8)
    people = {name: {"men": 0.0, "women": 0.0} for name in ("ann", "bob", "cy")}
    found = assessed(*normal_tables(rng, people, rows=150, gold_shift=3.0))
    records = [each for each in found.diagnostics if each.check == "covariate_shift"]
    assert {(each.labeler, each.group) for each in records} == {
        (None, None),
        (None, "men"),
        (None, "women"),
    }
    assert {each.level for each in records} == {"serious"}
    assert set(found.gaps["finding"]) == {"inconclusive"}
    assert gate(found).verdict == "inconclusive"


def test_a_shift_in_a_group_that_is_not_compared_matters_to_nobody():
    rng = np.random.default_rng(9)
    people = {"ann": {"men": 0.0, "women": 0.0, "others": 3.0}}
    labels, gold = normal_tables(rng, people, rows=200)
    more = gold[gold["group"] == "women"].assign(group="others")
    found = assessed(labels, pd.concat([gold, more]))
    blocked = found.gaps.set_index("group")["reason"].str.contains("cannot stand for them")
    assert blocked.to_dict() == {"women": False, "others": True}


# --- the models


def test_a_labeler_who_tosses_coins_is_hard_to_predict_but_not_dismissed(made, clean):
    rng = np.random.default_rng(1)
    labels = made.labels.copy()
    theirs = labels["labeler"] == "L3"
    labels.loc[theirs, "label"] = rng.integers(2, size=theirs.sum())
    found = assessed(labels, made.gold)
    (record,) = of_check(found, "fidelity", labeler="L3")
    assert record.level == "look"
    assert record.value == pytest.approx(0.5, abs=0.08)
    assert "right as long as" in record.sentence
    assert not of_check(found, "fidelity", labeler="L1")
    assert summary(clean, "fidelity").level == "ok"
    row = found.gaps.set_index("labeler").loc["L3"]
    assert "predict" not in row["reason"]


def test_an_auc_from_a_handful_of_labels_is_not_judged(clean):
    few = replace(
        clean.estimated[0].measures,
        n_labels=np.full((3, 2), 10),
        n_positive=np.full((3, 2), 5),
        fidelity=np.array([0.4, 0.5, 0.6]),
    )
    records = [each for each in diagnose(few, Policy()) if each.check == "fidelity"]
    assert [(each.labeler, each.level) for each in records] == [(None, "look")]
    assert "no labeler has enough labels" in records[0].sentence
    many = replace(few, n_labels=np.full((3, 2), 100), n_positive=np.full((3, 2), 50))
    records = [each for each in diagnose(many, Policy()) if each.check == "fidelity"]
    assert [each.labeler for each in records] == [None, "L1", "L2", "L3"]


def test_gold_that_follows_no_feature_is_worth_a_look(made):
    rng = np.random.default_rng(2)
    gold = made.gold.assign(gold=rng.permutation(made.gold["gold"]))
    found = assessed(made.labels, gold)
    assert summary(found, "gold_fit").level == "look"
    assert summary(found, "gold_fit").value < 0.65


def test_gold_of_one_kind_in_a_group_leaves_open_how_well_it_is_predicted(made):
    gold = made.gold[(made.gold["group"] == "men") | (made.gold["gold"] == 1)]
    found = assessed(made.labels, gold, estimator="mdba")
    assert summary(found, "gold_fit").level == "look"
    assert "where gold has items of both kinds" in summary(found, "gold_fit").sentence
    (women,) = of_check(found, "gold_fit", group="women")
    assert (women.level, np.isnan(women.value)) == ("look", True)
    assert "one kind of items of women" in women.sentence


def test_what_nobody_could_look_at_is_never_in_order(made):
    few = made.labels.groupby(["labeler", "group"]).head(2)
    gold = made.gold.groupby(["group", "gold"]).head(1)
    found = assessed(few, gold)
    for check in ("covariate_shift", "fidelity", "gold_fit", "product_term"):
        said = summary(found, check)
        assert said.level != "ok" or np.isfinite(said.value), said
    assert "too few items" in summary(found, "covariate_shift").sentence
    assert "enough labels" in summary(found, "fidelity").sentence


def test_the_auc_of_gold_is_the_share_of_pairs_in_the_right_order(made, clean):
    data = load(made.labels, made.gold, CONFIG)
    assert clean.estimated[0].measures.gold_fit.shape == (2,)
    from mdba_checks.findings.diagnostics.measures import weighted_auc

    score, right = np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True])
    assert weighted_auc(score, right, np.ones(4)) == (0.5 + 3) / 4
    assert np.isnan(weighted_auc(score, np.ones(4, dtype=bool), np.ones(4)))
    assert len(data.gold) == clean.estimated[0].measures.n_gold.sum()


def test_the_product_term_is_graded_by_what_the_policy_tolerates(clean):
    measures = replace(clean.estimated[0].measures, product=np.array([[0.04], [0.06], [0.12]]))

    def levels(max_gap):
        policy = Policy(max_gap=max_gap)
        records = [each for each in diagnose(measures, policy) if each.check == "product_term"]
        return {each.labeler: each.level for each in records if each.labeler}

    assert levels(0.1) == {"L2": "look", "L3": "serious"}
    assert levels(0.3) == {}
    # No tolerance at all is read as a small one: else everything would be serious.
    assert levels(0.0) == {"L1": "look", "L2": "serious", "L3": "serious"}
    stopped = obstacles(measures, Policy(max_gap=0.1))
    assert [each and each.cause for each in stopped] == [None, None, "assumption"]
    assert set(obstacles(measures, Policy(max_gap=0.1, on_serious="report"))) == {None}


def test_the_product_term_is_what_the_allowances_of_both_sides_differ_by(made):
    from mdba_checks.estimation import estimate_rates, estimator

    found = assessed(made.labels, made.gold)
    rates = estimate_rates(
        load(made.labels, made.gold, CONFIG), [estimator("mdba_dr")], jobs=1
    ).rates["mdba_dr"]
    men, women = rates.allowance.T
    np.testing.assert_allclose(found.estimated[0].measures.product[:, 0], abs(women - men))


def test_the_disagreement_across_c_is_the_range_of_the_gaps(made):
    ratios = (0.8, 1.0, 1.25)
    several = assessed(made.labels, made.gold, estimator="mdba", c=ratios)
    alone = [assessed(made.labels, made.gold, estimator="mdba", c=(c,)) for c in ratios]
    gaps = np.stack([each.gaps["gap"] for each in alone])
    np.testing.assert_allclose(several.estimated[0].measures.c_spread[:, 0], np.ptp(gaps, axis=0))
    assert summary(several, "c_disagreement").value == pytest.approx(np.ptp(gaps, axis=0).max())
    assert not of_check(alone[0], "c_disagreement")
    assert summary(alone[0], "product_term").level == "ok"  # for information only


# --- gold


def test_gold_positives_are_counted_per_group_and_judged_by_the_policy(made):
    short = made.gold[(made.gold["group"] == "men") | (made.gold["gold"] == 0)]
    women = made.gold[(made.gold["group"] == "women") & (made.gold["gold"] == 1)]
    gold = pd.concat([short, women.head(7)])
    found = assessed(made.labels, gold)
    (record,) = of_check(found, "gold_positives", group="women")
    assert (record.value, record.level) == (7.0, "look")
    assert not of_check(found, "gold_positives", group="men")

    strict = found.with_policy(Policy(min_gold_positives=8))
    assert of_check(strict, "gold_positives", group="women")[0].level == "serious"
    assert set(strict.gaps["finding"]) == {"inconclusive"}
    assert strict.gaps["reason"].str.contains("at least 8 are needed").all()
    # This limit is the policy's own: it holds also where serious checks are only reported.
    lenient = Policy(min_gold_positives=8, on_serious="report")
    assert set(found.with_policy(lenient).gaps["finding"]) == {"inconclusive"}
    assert strict.with_policy(Policy()).gaps.equals(found.gaps)


def test_for_false_positive_rates_the_other_kind_of_gold_counts(made):
    found = assessed(made.labels, made.gold, metric="fpr")
    number = int((made.gold.query("group == 'women'")["gold"] == 0).sum())
    assert f"women {number}" in summary(found, "gold_positives").sentence


def test_gold_items_that_were_labeled_too_are_fine_when_they_have_a_name(made):
    answers = made.labels[made.labels["labeler"] == "L1"].head(20)
    known = answers.drop(columns=["labeler", "label"]).merge(made.answers, on="item")
    found = assessed(made.labels, pd.concat([made.gold, known]))
    record = summary(found, "gold_in_labels")
    assert (record.level, record.value) == ("ok", 20 / 420)
    assert record.sentence.startswith("20 of 420 gold items were labeled too")


def test_gold_copied_into_the_labels_is_found_without_names(made, clean):
    assert summary(clean, "gold_in_labels").value == 0
    copied = made.gold.head(50).assign(labeler="L2", label=lambda table: table["gold"])
    labels = pd.concat([made.labels, copied.drop(columns="gold")]).drop(columns="item")
    found = assessed(labels, made.gold.drop(columns="item"))
    record = summary(found, "gold_in_labels")
    assert (record.level, record.value) == ("look", 50 / 400)
    assert "item column" in record.sentence
    assert "in all features" not in set(found.gaps["reason"])


def test_coarse_features_are_not_taken_for_copied_gold_or_repeated_rows():
    rng = np.random.default_rng(10)
    labels = pd.DataFrame(rng.integers(3, size=(900, 3)), columns=list("xyz")).assign(
        labeler=rng.choice(["ann", "bob"], 900),
        group=rng.choice(["men", "women"], 900),
        label=rng.integers(2, size=900),
    )
    gold = labels.head(200).drop(columns=["labeler", "label"]).assign(gold=labels["label"])
    for one in (labels, labels.assign(labeler="ann")):
        found = find_repeats(load(one, gold, CONFIG))
        assert not found.comparable
        assert found.gold_alike <= found.gold_twins
        assert found.share.max() == 0


def test_gold_may_have_as_many_twins_as_labeled_items_have_among_themselves():
    rng = np.random.default_rng(13)
    items = pd.DataFrame({"x": rng.integers(40, size=700), "y": rng.integers(40, size=700)})
    items = items.assign(item=np.arange(700), group=rng.choice(["men", "women"], 700))
    labels = items.head(500).assign(labeler="ann", label=rng.integers(2, size=500))
    gold = items.tail(200).assign(gold=rng.integers(2, size=200))
    found = find_repeats(load(labels, gold, CONFIG))
    assert found.gold_alike > 10  # some 14% of the 3,200 kinds of items are labeled
    assert found.gold_alike < found.gold_twins
    copied = pd.concat([gold, items.head(100).assign(item=np.arange(900, 1000), gold=0)])
    found = find_repeats(load(labels, copied, CONFIG))
    assert found.gold_alike > found.gold_twins


# --- repeated rows


def doubled(labels, share):
    again = labels[labels["labeler"] == "L2"].sample(frac=share, random_state=0)
    return pd.concat([labels, again])


def test_rows_that_repeat_an_item_are_counted_and_count_as_one(made):
    found = assessed(doubled(made.labels, 0.6), made.gold)
    (record,) = of_check(found, "duplicates", labeler="L2")
    assert record.value == pytest.approx(0.6 / 1.6, abs=1e-3)
    assert record.level == "look"  # mdba_dr knows them for what they are
    assert "count as one" in record.sentence
    assert not of_check(found, "duplicates", labeler="L1")


def test_copies_without_item_names_are_serious_for_that_labeler(made):
    labels = doubled(made.labels, 0.6).drop(columns="item")
    found = assessed(labels, made.gold.drop(columns="item"))
    (record,) = of_check(found, "duplicates", labeler="L2")
    assert record.value == pytest.approx(0.6 / 1.6, abs=1e-3)
    assert record.level == "serious"
    rows = found.gaps.set_index("labeler")
    assert rows.loc["L2", "reason"] == record.sentence
    assert (rows.drop("L2")["reason"].str.contains("repeat")).sum() == 0


def test_a_table_that_was_pasted_twice_is_noticed(made):
    twice = pd.concat([made.labels, made.labels]).drop(columns="item")
    found = find_repeats(load(twice, made.gold.drop(columns="item"), CONFIG))
    np.testing.assert_allclose(found.share, 0.5)


def test_several_labelers_on_one_item_are_no_copies():
    shared = simulate(n_items=1500, n_labelers=3, overlap=3, gold_per_group=50, seed=2)
    for drop in ([], ["item"]):
        labels, gold = shared.labels.drop(columns=drop), shared.gold.drop(columns=drop)
        assert find_repeats(load(labels, gold, CONFIG)).share.max() == 0


def test_estimators_that_know_no_items_take_named_copies_seriously(made):
    labels = doubled(made.labels, 0.6)
    found = assessed(labels, made.gold, estimator="selection_rate")
    assert of_check(found, "duplicates", labeler="L2")[0].level == "serious"
    assert found.gaps.set_index("labeler").loc["L2", "finding"] == "inconclusive"


# --- all together


def test_estimators_that_do_not_use_gold_are_not_held_to_it(made):
    found = assessed(made.labels, made.gold, estimator="selection_rate")
    assert {each.check for each in found.diagnostics} == {"duplicates"}


@pytest.mark.parametrize("family", ["correct", "incorrect", "inconsistent"])
@pytest.mark.parametrize("seed", [11, 12])
def test_clean_data_are_never_serious(family, seed):
    clean = simulate(
        family=family,
        n_items=2500,
        n_labelers=4,
        gold_per_group=100,
        overlap=seed % 2 + 1,
        seed=seed,
    )
    found = assessed(clean.labels, clean.gold)
    assert [each for each in found.diagnostics if each.level == "serious"] == []
    checks = {each.check for each in found.diagnostics if each.level == "look"}
    # Labelers who saw the same items agree beyond what models of them can tell from features.
    shared = {"hidden_information"} if seed % 2 else set()
    assert checks <= {"gold_positives", "product_term"} | shared


def test_every_check_has_one_summary_with_the_worst_level(clean):
    summaries = [each for each in clean.diagnostics if (each.labeler, each.group) == (None, None)]
    assert len({each.check for each in summaries}) == len(summaries) == 14
    order = ["ok", "look", "serious"]
    for each in summaries:
        own = [one.level for one in clean.diagnostics if one.check == each.check]
        assert each.level == max(own, key=order.index)
        assert each.sentence


def test_many_labelers_in_order_make_no_more_records_than_one(clean):
    n = 100_000
    repeats = replace(clean.estimated[0].measures.inspection.repeats, share=np.zeros(n))
    shift = replace(
        clean.estimated[0].measures.inspection.shift,
        auc=np.full((n, 2), 0.5),
        p_value=np.ones((n, 2)),
    )
    many = replace(
        clean.estimated[0].measures,
        labelers=tuple(map(str, range(n))),
        n_labels=np.full((n, 2), 100),
        n_positive=np.full((n, 2), 30),
        fidelity=np.full(n, 0.9),
        fidelity_within=np.full((n, 2), 0.9),
        product=np.full((n, 1), 0.01),
        inspection=replace(clean.estimated[0].measures.inspection, repeats=repeats, shift=shift),
    )
    assert len(diagnose(many, Policy())) == 16  # fourteen summaries, and two groups
    assert set(obstacles(many, Policy())) == {None}


def test_where_everybody_is_out_of_order_the_summary_counts_and_the_worst_are_listed(clean):
    n = 5_000
    product = np.where(np.arange(n) % 10 == 0, 0.2, 0.07)[:, None]
    many = replace(clean.estimated[0].measures, labelers=tuple(map(str, range(n))), product=product)
    grading = next(each for each in grade(many, Policy()) if each.check == "product_term")
    summary, *listed = grading.records(many)
    assert "5000 of 5000 labelers (500 seriously)" in summary.sentence
    assert len(listed) == 1000
    assert [each.level for each in listed].count("serious") == 500


def test_sentences_never_name_the_labeler(made):
    labels = doubled(made.labels, 0.6).replace({"labeler": {"L2": "Mallory"}})
    found = assessed(labels, made.gold)
    assert any(each.labeler == "Mallory" for each in found.diagnostics)
    assert not any("Mallory" in each.sentence for each in found.diagnostics)


def test_the_record_holds_the_diagnostics(clean):
    record = to_record(clean, gate(clean)).values()
    assert record["diagnostics"] == [asdict(each) for each in clean.diagnostics]
