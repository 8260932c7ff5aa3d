from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from mdba_checks.errors import InputError
from mdba_checks.simulation import Covariates, Simulation, make_covariates, simulate

FAMILIES = ("correct", "incorrect", "inconsistent")
PAPER_TPRS = [0.54, 0.58, 0.62, 0.66, 0.70, 0.74, 0.78, 0.82, 0.86, 0.90]


@pytest.fixture(scope="module")
def simulations() -> dict[str, Simulation]:
    return {family: simulate(family=family, seed=3) for family in FAMILIES}


def judged(simulation: Simulation) -> pd.DataFrame:
    return simulation.labels.merge(simulation.answers, on="item", validate="many_to_one")


def rate(table: pd.DataFrame, gold: int) -> pd.Series:
    return table[table["gold"] == gold].groupby(["labeler", "group"])["label"].mean()


# --- what the tables hold


@pytest.mark.parametrize("family", FAMILIES)
def test_the_truth_is_what_counting_on_each_labelers_own_items_gives(simulations, family):
    simulation = simulations[family]
    table, truth = judged(simulation), simulation.truth.set_index("labeler")
    for metric, gold, gap in (("tpr", 1, "gap"), ("fpr", 0, "fpr_gap")):
        counted = rate(table, gold).unstack("group")
        np.testing.assert_allclose(truth[metric], counted["women"])
        np.testing.assert_allclose(truth[f"{metric}_reference"], counted["men"])
        np.testing.assert_allclose(truth[gap], counted["women"] - counted["men"])
    assert (truth["group"] == "women").all()
    assert (truth["reference"] == "men").all()


@pytest.mark.parametrize("family", FAMILIES)
def test_columns_are_roles_and_features_and_nothing_that_gives_the_answer_away(simulations, family):
    simulation = simulations[family]
    features = list(make_covariates(100).frame.columns)
    assert list(simulation.labels.columns) == ["item", "labeler", *features, "group", "label"]
    assert list(simulation.gold.columns) == ["item", *features, "group", "gold"]
    assert set(simulation.labels["label"]) == set(simulation.gold["gold"]) == {0, 1}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_gold_item_is_labeled_and_every_other_item_once(simulations, family):
    simulation = simulations[family]
    gold, labeled = set(simulation.gold["item"]), simulation.labels["item"]
    assert not gold & set(labeled)
    assert len(gold) == 800
    assert labeled.is_unique
    assert len(labeled) == 20_000 - 800


@pytest.mark.parametrize("family", FAMILIES)
def test_gold_and_labels_carry_the_features_of_their_items(simulations, family):
    frame = make_covariates(20_000, seed=3).frame
    for table in (simulations[family].labels, simulations[family].gold):
        expected = frame.iloc[table["item"]].reset_index(drop=True)
        pd.testing.assert_frame_equal(table[list(frame.columns)], expected)


# --- the gold


@pytest.mark.parametrize("prevalence", [0.2, 0.3])
def test_the_prevalence_is_exact_within_every_group(prevalence):
    simulation = simulate(n_items=5_001, prevalence=prevalence, gold_per_group=50, n_labelers=2)
    group = make_covariates(5_001).group
    for _, gold in simulation.answers["gold"].groupby(group):
        assert abs(gold.sum() - prevalence * len(gold)) <= 0.5 + 1e-9


def test_inconsistent_gold_has_the_prevalence_up_to_the_draw(simulations):
    group = make_covariates(20_000, seed=3).group
    for _, gold in simulations["inconsistent"].answers["gold"].groupby(group):
        assert gold.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.2 * 0.8 / len(gold)))


def test_the_gold_is_the_top_of_a_logistic_regression_on_the_outcome(simulations):
    covariates = make_covariates(20_000, seed=3)
    numbers = covariates.frame.select_dtypes(["number", "bool"]).astype(float)
    columns = [
        numbers.fillna(numbers.median()),
        numbers.isna().astype(float).add_suffix("_missing"),
        pd.get_dummies(
            covariates.frame.select_dtypes(exclude=["number", "bool"]), dummy_na=True, dtype=float
        ),
        (covariates.group == "women").rename("women").astype(float),
    ]
    design = StandardScaler().fit_transform(pd.concat(columns, axis=1))
    model = LogisticRegression(max_iter=1_000).fit(design, covariates.outcome)
    score = pd.Series(model.decision_function(design))
    top = score.groupby(covariates.group).rank(ascending=False, pct=True) <= 0.2
    assert (top == simulations["correct"].answers["gold"]).mean() > 0.995


@pytest.mark.parametrize("family", FAMILIES)
def test_gold_pools_are_nested_and_stratified(simulations, family):
    simulation = simulations[family]
    share = simulation.gold.groupby("group")["gold"].mean()
    smaller: set[int] = set()
    for per_group in (7, 100, 200, 300, 400):
        pool = simulation.gold_pool(per_group)
        assert smaller < set(pool["item"])
        smaller = set(pool["item"])
        assert (pool.groupby("group").size() == per_group).all()
        off = pool.groupby("group")["gold"].sum() - per_group * share
        assert off.abs().max() <= 1
        # With equal groups a pool is also the head of the table.
        pd.testing.assert_frame_equal(pool, simulation.gold.head(2 * per_group))


def test_gold_holds_the_positives_of_the_population_in_proportion(simulations):
    assert simulations["correct"].gold.groupby("group")["gold"].sum().tolist() == [80, 80]


# --- who judges what


@pytest.mark.parametrize("family", FAMILIES)
def test_every_labeler_gets_the_same_share_of_every_kind_of_item(simulations, family):
    counts = judged(simulations[family]).groupby(["group", "gold"])["labeler"].value_counts()
    spread = counts.groupby(["group", "gold"]).agg(lambda n: n.max() - n.min())
    assert spread.max() <= 2


@pytest.mark.parametrize("overlap", [2, 3, 4])
def test_with_overlap_an_item_goes_to_that_many_different_labelers(overlap):
    simulation = simulate(n_items=2_000, n_labelers=4, gold_per_group=50, overlap=overlap)
    people = simulation.labels.groupby("item")["labeler"]
    assert (people.nunique() == overlap).all()
    assert (people.size() == overlap).all()
    hands = simulation.labels["labeler"].value_counts()
    assert hands.max() - hands.min() <= 1


def test_with_overlap_everybody_shares_items_with_everybody():
    labels = simulate(n_items=2_000, n_labelers=6, gold_per_group=50, overlap=2).labels
    pairs = labels.merge(labels, on="item").query("labeler_x < labeler_y")
    assert len(pairs.groupby(["labeler_x", "labeler_y"])) == 15


def test_hands_are_capped_and_stay_stratified():
    simulation = simulate(n_items=6_000, n_labelers=3, items_per_labeler=500, gold_per_group=50)
    assert simulation.labels["labeler"].value_counts().tolist() == [500, 500, 500]
    women = simulation.labels["group"].eq("women").mean()
    assert women == pytest.approx(make_covariates(6_000).group.eq("women").mean(), abs=0.01)
    assert judged(simulation)["gold"].mean() == pytest.approx(0.2, abs=0.005)


def test_a_cap_holds_with_overlap_too():
    labels = simulate(
        n_items=500, n_labelers=10, items_per_labeler=5, overlap=3, gold_per_group=20
    ).labels
    assert labels["labeler"].value_counts().max() <= 5
    assert labels["labeler"].nunique() == 10


# --- how they decide


def test_correct_labelers_hit_their_rates(simulations):
    truth = simulations["correct"].truth
    np.testing.assert_allclose(truth["tpr"], PAPER_TPRS, atol=0.01)
    np.testing.assert_allclose(truth["tpr_reference"], 0.95, atol=0.01)
    assert (truth["fpr_reference"] == 0).all()


def test_incorrect_labelers_hit_their_rates_and_rise(simulations):
    truth = simulations["incorrect"].truth
    np.testing.assert_allclose(truth["tpr"], np.linspace(0.5, 0.9, 10), atol=0.01)
    assert truth["tpr"].is_monotonic_increasing
    np.testing.assert_allclose(truth["tpr_reference"], 0.95, atol=0.01)


def test_inconsistent_labelers_hit_their_rates_up_to_the_draw(simulations):
    truth = simulations["inconsistent"].truth
    positives = judged(simulations["inconsistent"]).query("gold == 1")
    for group, column, target in (
        ("women", "tpr", np.array(PAPER_TPRS)),
        ("men", "tpr_reference", np.full(10, 0.95)),
    ):
        n = positives[positives["group"] == group].groupby("labeler").size().to_numpy()
        z = (truth[column] - target) / np.sqrt(target * (1 - target) / n)
        # Drawn gold and drawn decisions: no more than binomial scatter.
        assert np.abs(z).max() < 3.5
        assert np.sqrt(np.mean(z**2)) < 1.5


def test_correct_keeps_the_order_within_the_biased_group_and_incorrect_does_not(simulations):
    def false_positives(family: str) -> float:
        return simulations[family].truth["fpr"].iloc[:3].mean()

    # Half of the places of the biased group go to the wrong people: 0.2 * 0.5 / 0.8 of them.
    assert false_positives("correct") < 0.005
    assert false_positives("incorrect") == pytest.approx(0.2 * (1 - 0.544) / 0.8, abs=0.01)


def test_incorrect_labelers_choose_as_many_of_the_biased_group_as_deserve_it(simulations):
    labels = simulations["incorrect"].labels
    chosen = labels[labels["group"] == "women"].groupby("labeler")["label"].mean()
    np.testing.assert_allclose(chosen, 0.2, atol=0.002)


def test_incorrect_labelers_turn_the_misused_feature_against_the_biased_group(simulations):
    table = judged(simulations["incorrect"]).query("labeler == 'L01' and group == 'women'")
    hit = table.query("gold == 1").groupby("education")["label"].mean()
    assert hit["bachelor"] > hit["master"] > hit["doctorate"]


def test_an_unreachable_rate_becomes_the_nearest_one():
    # The misused feature is the same for all but a handful of women: nobody can be pushed aside.
    plain = make_covariates(4_000)
    frame = plain.frame.assign(badge=np.arange(4_000) % 400 == 0)
    covariates = Covariates(frame, plain.group, plain.outcome, "women", "men", "badge")
    truth = simulate(
        family="incorrect", covariates=covariates, n_labelers=1, tprs=[0.2], gold_per_group=100
    ).truth
    assert truth["tpr"].item() > 0.9


def test_inconsistent_decisions_differ_on_the_same_item_where_a_rule_would_not():
    simulation = simulate(
        family="inconsistent", n_items=4_000, n_labelers=2, overlap=2, tprs=[0.8, 0.8]
    )
    labels = simulation.labels.pivot(index="item", columns="labeler", values="label")
    assert (labels["L1"] != labels["L2"]).mean() > 0.1


@pytest.mark.parametrize("family", FAMILIES)
def test_chosen_rates_are_taken_in_order(family):
    truth = simulate(
        family=family, n_labelers=3, tprs=[0.9, 0.5, 0.8], tpr_reference=0.8, n_items=12_000
    ).truth
    np.testing.assert_allclose(truth["tpr"], [0.9, 0.5, 0.8], atol=0.06)
    np.testing.assert_allclose(truth["tpr_reference"], 0.8, atol=0.06)


def test_a_single_labeler_has_a_rate_of_seven_in_ten():
    truth = simulate(n_labelers=1, n_items=5_000).truth
    assert truth["labeler"].tolist() == ["L1"]
    assert truth["tpr"].item() == pytest.approx(0.7, abs=0.01)


def test_rates_of_zero_and_one_are_possible():
    truth = simulate(n_labelers=2, n_items=5_000, tprs=[0, 1], tpr_reference=1).truth
    assert truth["tpr"].tolist() == [0, 1]
    assert truth["tpr_reference"].tolist() == [1, 1]


# --- more groups, small hands, many labelers


def test_of_three_groups_only_the_biased_one_is_treated_differently():
    covariates = make_covariates(8_000, seed=5, n_groups=3)
    truth = simulate(covariates=covariates, n_labelers=2, tprs=[0.5, 0.7], gold_per_group=100).truth
    assert truth.groupby("labeler")["group"].agg(list).tolist() == [["group_3", "women"]] * 2
    women, third = (truth[truth["group"] == name] for name in ("women", "group_3"))
    np.testing.assert_allclose(women["tpr"], [0.5, 0.7], atol=0.01)
    np.testing.assert_allclose(third["tpr"], 0.95, atol=0.01)
    np.testing.assert_allclose(third["gap"], 0, atol=0.01)
    assert (truth["reference"] == "men").all()


@pytest.mark.parametrize("family", FAMILIES)
def test_labelers_with_few_items_have_their_rates_on_average(family):
    simulation = simulate(
        family=family,
        n_items=25_000,
        n_labelers=600,
        tprs=[0.6] * 300 + [0.9] * 300,
        items_per_labeler=40,
    )
    table = judged(simulation).query("gold == 1")
    table["strict"] = table["labeler"] <= "L300"
    pooled = table.groupby(["group", "strict"])["label"].mean()
    assert pooled["women", True] == pytest.approx(0.6, abs=0.04)
    assert pooled["women", False] == pytest.approx(0.9, abs=0.03)
    assert pooled["men"].to_numpy() == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("family", FAMILIES)
def test_five_thousand_labelers_take_seconds(family):
    started = time.perf_counter()
    simulation = simulate(family=family, n_items=52_000, n_labelers=5_000, items_per_labeler=10)
    assert time.perf_counter() - started < 15
    assert (simulation.labels["labeler"].value_counts() == 10).all()
    assert len(simulation.truth) == 5_000
    # Nobody without a positive of a group gets a made-up rate.
    seen = rate(judged(simulation), 1).unstack("group").reindex(simulation.truth["labeler"])
    np.testing.assert_array_equal(simulation.truth["tpr"].isna(), seen["women"].isna())


# --- seeds


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_tables_and_another_seed_others(family):
    def tables(seed: int) -> list[pd.DataFrame]:
        made = simulate(family=family, n_items=2_500, n_labelers=3, gold_per_group=100, seed=seed)
        return [made.labels, made.gold, made.truth, made.answers]

    for one, two, other in zip(tables(1), tables(1), tables(2), strict=True):
        pd.testing.assert_frame_equal(one, two)
        assert not one.equals(other)


def test_another_seed_on_the_same_covariates_deals_differently():
    covariates = make_covariates(2_500)
    one, two = (
        simulate(covariates=covariates, n_labelers=3, gold_per_group=100, seed=seed)
        for seed in (1, 2)
    )
    assert set(one.gold["item"]) != set(two.gold["item"])
    pd.testing.assert_frame_equal(one.answers, two.answers)


# --- what is refused


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"family": "corect"}, "family is 'corect'. Did you mean 'correct'?"),
        ({"n_labelers": 0}, "n_labelers is 0"),
        ({"prevalence": 1.0}, "prevalence is 1.0"),
        ({"tprs": [0.5]}, "tprs is 1. Give one for each of 10"),
        ({"tprs": [0.5] * 9 + [1.5]}, "Give rates in [0, 1]"),
        ({"tpr_reference": -0.1}, "tpr_reference is -0.1"),
        ({"overlap": 11}, "overlap is 11. Give 1 to n_labelers=10"),
        ({"items_per_labeler": 0}, "items_per_labeler is 0"),
        ({"gold_per_group": 0}, "gold_per_group is 0"),
        ({"n_items": 500}, "gold_per_group is 400; lower it or give more items"),
        ({"n_items": 2_000, "n_labelers": 5_000}, "1200 items are left for n_labelers=5000"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(options, text):
    with pytest.raises(InputError) as error:
        simulate(**options)
    assert text in str(error.value)


def test_a_pool_larger_than_the_gold_is_refused(simulations):
    with pytest.raises(InputError, match="per_group is 401; there are 400 gold items per group"):
        simulations["correct"].gold_pool(401)
