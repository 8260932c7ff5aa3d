"""Hidden information: what labelers know beyond the features is measured, corrected and bounded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from mdba_checks.config import CheckConfig, Columns
from mdba_checks.estimation import Estimation, GoldEvidence, Rates, estimate_rates, estimator
from mdba_checks.estimation.estimators import mdba_dr
from mdba_checks.estimation.hidden import STEPS, measure_agreement, slope_bound
from mdba_checks.tables import load

CONFIG = CheckConfig(reference="men", columns=Columns(item="item"))


def make_world(
    seed: int,
    *,
    hidden: float,
    n_labelers: int = 8,
    labels_each: int = 600,
    overlap: int = 1,
    labeled_gold: float = 0.0,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Return labels, gold and the true rates; `hidden` is the weight of what no column holds.

    Right answers follow from a visible and a hidden part; labelers see both and lapse at random, so
    that among items with equal features they are right more often than the features explain.
    """
    rng = np.random.default_rng(seed)
    n_items, n_gold = n_labelers * labels_each // overlap, 600
    total = n_items + n_gold
    visible, unseen = rng.normal(size=(total, 2)).T
    chance = expit(2.5 * (np.sqrt(1 - hidden**2) * visible + hidden * unseen) - 0.5)
    right = (rng.random(total) < chance).astype(int)
    items = pd.DataFrame(
        {
            "item": [f"i{number}" for number in range(total)],
            "group": np.where(np.arange(total) % 2, "men", "women"),
            "x": visible,
            "noise": rng.normal(size=total),
            "gold": right,
        }
    )
    chosen = [rng.permutation(n_items) for _ in range(overlap)]
    labels = pd.concat(
        [
            items.iloc[order].assign(labeler=[f"L{k % n_labelers}" for k in range(n_items)])
            for order in chosen
        ]
    ).drop_duplicates(["item", "labeler"])
    if labeled_gold:
        rows = items.iloc[n_items:].sample(frac=labeled_gold, random_state=seed)
        more = [rows.assign(labeler=f"L{k}") for k in range(n_labelers)]
        labels = pd.concat([labels, *more])
    # Everybody answers by what is right, and lapses in 15% of all cases.
    lapse = rng.random(len(labels)) < 0.15
    labels["label"] = np.where(lapse, 1 - labels["gold"], labels["gold"])
    truth = labels[labels["gold"] == 1].groupby(["labeler", "group"])["label"].mean()
    return labels.drop(columns="gold"), items.iloc[n_items:], truth


def rates_of(labels: pd.DataFrame, gold: pd.DataFrame) -> tuple[Rates, Estimation, list[tuple]]:
    data = load(labels, gold, CONFIG)
    found = estimate_rates(data, [estimator("mdba_dr")])
    cells = [(labeler, group) for labeler in data.labelers for group in data.groups]
    return found.rates["mdba_dr"], found, cells


def errors(rates: Rates, cells: list[tuple], truth: pd.Series) -> np.ndarray:
    return rates.rate.ravel() - truth[cells].to_numpy()


def test_without_a_sign_of_it_nothing_is_corrected_and_the_rate_is_too_low():
    labels, gold, truth = make_world(1, hidden=0.8)
    rates, found, cells = rates_of(labels, gold)
    assert found.hidden.source == ("unknown", "unknown")
    assert errors(rates, cells, truth).mean() < -0.1


def test_labeled_gold_shows_how_much_labelers_know():
    labels, gold, truth = make_world(2, hidden=0.8, labeled_gold=0.3)
    rates, found, cells = rates_of(labels, gold)
    assert found.hidden.source == ("direct", "direct")
    assert (found.hidden.theta > 0.5).all()
    assert abs(errors(rates, cells, truth).mean()) < 0.05


def test_agreement_bounds_how_much_labelers_know_and_the_error_allows_for_the_rest():
    labels, gold, truth = make_world(2, hidden=0.8, overlap=4)
    rates, found, cells = rates_of(labels, gold)
    assert found.hidden.source == ("pairs", "pairs")
    assert (found.hidden.theta > 0.5).all()
    off = errors(rates, cells, truth)
    variance = rates.own_variance + rates.model_variance + rates.model_shift**2
    # Most of it: what chance did to a rate is carried further by the correction.
    assert (np.abs(off) < 3 * np.sqrt(variance).ravel()).mean() > 0.8
    uncorrected = rates.parts.numerator / rates.parts.denominator
    assert abs(off.mean()) < 0.4 * abs((uncorrected.ravel() - truth[cells].to_numpy()).mean())


@pytest.mark.parametrize("way", [{"overlap": 4}, {"labeled_gold": 0.3}])
def test_where_features_say_it_all_there_is_little_to_correct(way):
    labels, gold, truth = make_world(3, hidden=0.0, **way)
    labels["label"] = make_consistent_with_features(labels)
    rates, found, _ = rates_of(labels, gold)
    assert (found.hidden.theta < 0.35).all()
    assert np.abs(rates.rate - rates.path.rate[..., 0]).max() < 1e-9
    assert len(truth)


def make_consistent_with_features(labels: pd.DataFrame) -> np.ndarray:
    """Return decisions drawn from the features alone: nobody knows more."""
    rng = np.random.default_rng(99)
    return (rng.random(len(labels)) < expit(2.5 * labels["x"].to_numpy() - 0.5)).astype(int)


@pytest.mark.parametrize("seen", [-0.015, 0.007, 0.03, 0.14])
def test_what_pairs_show_is_weighed_against_chance(seen):
    """Draw slopes as they are before any evidence; those that would look like this are the rest."""
    rng = np.random.default_rng(5)
    error, largest = 0.018, 0.8
    slope = largest * rng.random(2_000_000) * (rng.random(2_000_000) < 0.5)
    shown = rng.normal(slope**2, error)
    alike = slope[np.abs(shown - seen) < 0.0015]
    found = slope_bound(seen, error, largest)
    assert found.mean == pytest.approx(alike.mean(), rel=0.1)
    assert found.deviation == pytest.approx(alike.std(), rel=0.1)
    assert found.nothing == pytest.approx((alike == 0).mean(), abs=0.02)


def test_groups_that_only_chance_tells_apart_are_corrected_alike():
    """Nobody knows more: what is corrected of the gap is less than of either rate at the bound."""
    moved = []
    for seed in range(30, 34):
        labels, gold, _ = make_world(seed, hidden=0.0, labels_each=200, overlap=3)
        labels["label"] = make_consistent_with_features(labels)
        rates, found, _ = rates_of(labels, gold)
        assert found.hidden.source == ("pairs", "pairs")
        plain = rates.parts.numerator / rates.parts.denominator
        moved.append(np.diff(rates.rate - plain, axis=1).mean())
    assert np.abs(moved).max() < 0.02


def test_the_interval_holds_the_true_rates_with_labeled_gold():
    """Over draws of everything, 90% intervals of rates; everybody labeled a third of gold."""
    inside = []
    for seed in range(20, 28):
        labels, gold, truth = make_world(seed, hidden=0.7, labels_each=400, labeled_gold=0.33)
        rates, _, cells = rates_of(labels, gold)
        data = load(labels, gold, CONFIG)
        variance = rates.own_variance + rates.model_variance
        for code in range(2):
            here = data.gold.group == code
            variance[:, code] += (rates.gold_influence[:, here] ** 2).sum(axis=1)
        reach = 1.645 * np.sqrt(variance).ravel()
        inside.append((np.abs(errors(rates, cells, truth)) <= reach).mean())
    assert np.mean(inside) > 0.82


def test_the_path_is_the_formula_of_the_method():
    labels, gold, _ = make_world(4, hidden=0.6)
    rates, found, _ = rates_of(labels, gold)
    data = load(labels, gold, CONFIG)
    parts = rates.parts
    for code in range(2):
        here = data.gold.group == code
        brier = ((data.gold.correct - found.gold_g)[here] ** 2).mean()
        for step, theta in enumerate(STEPS):
            kappa = theta * brier / (1 - parts.denominator[:, code])
            top = parts.numerator[:, code] - kappa * parts.yes[:, code]
            expected = np.clip(top / (parts.denominator[:, code] - kappa), 0, 1)
            np.testing.assert_allclose(rates.path.rate[:, code, step], expected, atol=1e-6)


def test_agreement_is_the_mean_product_of_two_labelers_on_one_item():
    rng = np.random.default_rng(5)
    n_items = 400
    item = np.repeat(np.arange(n_items), 3)
    labeler = np.tile(np.arange(3), n_items)
    group = item % 2
    shared = rng.normal(size=n_items)[item]
    rest = np.where(group == 1, 0.5 * shared, 0.0) + rng.normal(size=len(item))
    found = measure_agreement(labeler, item, group, rest, 2)
    for code in (0, 1):
        products = []
        for one in np.unique(item[group == code]):
            a, b, c = rest[item == one]
            products += [a * b, a * c, b * c]
        assert found.covariance[code] == pytest.approx(np.mean(products))
        assert found.n_pairs[code] == len(products)
    assert abs(found.covariance[0]) < 3 * found.error[0]
    assert found.covariance[1] > 3 * found.error[1]


def test_nobody_agrees_with_themselves():
    twice = measure_agreement(
        np.zeros(4, int), np.array([1, 1, 2, 2]), np.zeros(4, int), np.ones(4), 1
    )
    assert twice is None


def test_where_every_label_is_about_gold_rates_are_counted():
    labels, gold, truth = make_world(6, hidden=0.5, labeled_gold=1.0)
    labels = labels[labels["item"].isin(gold["item"])]
    rates, _, cells = rates_of(labels, gold)
    np.testing.assert_allclose(rates.rate.ravel(), truth_of(labels, gold)[cells], atol=1e-9)
    assert len(truth)


def truth_of(labels: pd.DataFrame, gold: pd.DataFrame) -> pd.Series:
    known = labels.merge(gold[["item", "gold"]], on="item")
    return known[known["gold"] == 1].groupby(["labeler", "group"])["label"].mean()


def test_weights_cost_as_much_certainty_about_hidden_information_as_they_take():
    """As the variance of weighted least squares says; equal weights cost nothing."""
    rng = np.random.default_rng(8)
    group, correct = np.repeat([0, 1], 500), rng.integers(2, size=1000)
    g, unequal = rng.uniform(0.2, 0.8, 1000), rng.uniform(1, 20, 1000)
    left = correct - g
    for weight in (np.where(group == 1, 7.0, 1.0), unequal):
        gold = GoldEvidence(
            group=group, correct=correct, item=np.arange(1000), weight=weight, g=g, g_spread=g
        )
        counted = mdba_dr.counting_weights(gold)
        for code in (0, 1):
            w, e = weight[group == code], left[group == code]
            sandwich = (w**2 * e**2).sum() / (w * e**2).sum() ** 2
            assert 1 / (counted[group == code] * e**2).sum() == pytest.approx(sandwich)
        if weight is not unequal:
            assert counted == pytest.approx(1.0)
