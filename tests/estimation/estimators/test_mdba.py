"""Calibrated thresholds against a search over all thresholds, and rates against loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mdba_checks.estimation.estimators import Direct, Evidence, estimator, for_metric
from mdba_checks.estimation.estimators.mdba import estimate, estimate_naive, predict_share
from mdba_checks.metrics import METRICS
from tests.helpers import make_evidence, variance


def share_by_search(scores: list[float], asked: float, count: int, steps: int = 4000) -> float:
    """Try many thresholds: of those that accept `count` scores, which share accepts `asked`?"""
    fitting = accepted = 0
    for step in range(steps):
        threshold = (step + 0.5) / steps
        if sum(score >= threshold for score in scores) == count:
            fitting += 1
            accepted += asked >= threshold
    return accepted / fitting


@pytest.mark.parametrize("count", range(6))
def test_the_share_is_that_of_all_thresholds_which_accept_the_wanted_number(count):
    scores = [0.9, 0.72, 0.5, 0.31, 0.12]
    asked = np.array([0.05, 0.2, 0.31, 0.4, 0.61, 0.72, 0.8, 0.95])
    found = predict_share(np.array(scores), asked, float(count))
    expected = [share_by_search(scores, one, count) for one in asked]
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_a_fraction_mixes_the_two_whole_numbers_next_to_it():
    scores, asked = np.array([0.9, 0.72, 0.5, 0.31]), np.linspace(0, 1, 21)
    two, three = (predict_share(scores, asked, count) for count in (2.0, 3.0))
    np.testing.assert_allclose(predict_share(scores, asked, 2.25), 0.75 * two + 0.25 * three)


def test_of_scores_that_tie_at_the_cut_as_large_a_part_is_accepted_as_makes_the_count_right():
    scores = np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    asked = np.array([0.95, 0.6, 0.5, 0.4])
    np.testing.assert_allclose(predict_share(scores, asked, 2.0), [1, 1, 1 / 3, 0])
    np.testing.assert_allclose(predict_share(scores, asked, 3.0), [1, 1, 2 / 3, 0])
    np.testing.assert_allclose(predict_share(scores, asked, 2.5), [1, 1, 1 / 2, 0])


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=12),
    st.floats(0, 1),
)
def test_asked_about_its_own_scores_it_accepts_exactly_the_wanted_number(tenths, part):
    """The calibration itself: predicted positives are c times the actual ones, ties or not."""
    scores = np.sort(np.array(tenths) / 10)[::-1]
    wanted = part * len(scores)
    assert predict_share(scores, scores, wanted).sum() == pytest.approx(wanted, abs=1e-9)


@given(
    st.lists(st.floats(0.001, 0.999), min_size=1, max_size=12),
    st.lists(st.floats(0, 1), min_size=2, max_size=6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_higher_scores_and_more_wanted_are_accepted_more(scores, asked, part, more):
    scores = np.sort(scores)[::-1]
    assume(np.diff(scores).size == 0 or (np.diff(scores) == 0).any() or -np.diff(scores).max() > 0)
    asked = np.sort(asked)
    less, most = sorted((part, more))
    few, many = (predict_share(scores, asked, share * len(scores)) for share in (less, most))
    assert (np.diff(few) >= -1e-12).all()
    assert (many >= few - 1e-9).all()
    assert ((few >= 0) & (few <= 1)).all()


# --- rates


def accepted_by_hand(evidence: Evidence, labeler: int, item: int, c: float) -> float:
    """Return the prediction for a gold item, from first principles."""
    group = evidence.gold.group[item]
    rows = [
        row
        for row in range(len(evidence.place))
        if evidence.place[row] == labeler and evidence.group[row] == group
    ]
    scores = sorted((float(evidence.f[row]) for row in rows), reverse=True)
    wanted = c * sum(int(evidence.decision[row]) for row in rows)
    asked = float(evidence.f_gold[labeler, item])

    def at(count: int) -> float:
        high = scores[count - 1] if count > 0 else 1.0
        low = scores[count] if count < len(scores) else 0.0
        return min(max((asked - low) / (high - low), 0.0), 1.0)

    whole = int(wanted)
    return (1 - (wanted - whole)) * at(whole) + (wanted - whole) * at(min(whole + 1, len(scores)))


def rate_by_hand(evidence: Evidence, labeler: int, group: int, accepted) -> float:
    found = total = 0.0
    for item in range(len(evidence.gold.group)):
        if evidence.gold.group[item] == group and evidence.gold.correct[item] == 1:
            found += evidence.gold.weight[item] * accepted(labeler, item)
            total += evidence.gold.weight[item]
    return found / total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("c", [(1.0,), (0.8,), (1.25,), (0.75, 1.0, 1.3)])
def test_rates_are_those_of_plain_loops(c, weighted):
    evidence = make_evidence(np.random.default_rng(1), n_groups=3, weighted=weighted)
    rates = estimate(evidence, c=c)
    for labeler in range(3):
        for group in range(3):
            by_ratio = [
                rate_by_hand(
                    evidence,
                    labeler,
                    group,
                    lambda k, i, ratio=ratio: accepted_by_hand(evidence, k, i, ratio) / ratio,
                )
                for ratio in c
            ]
            expected = sum(by_ratio) / len(by_ratio)
            assert rates.rate[labeler, group] == pytest.approx(expected, abs=1e-9)


def test_the_model_predicts_c_times_as_many_positives_as_the_labeler_gave():
    """On gold that repeats the labeler's own rows, the number of predictions can be counted."""
    evidence = make_evidence(np.random.default_rng(2), n_labelers=1)
    gold = replace(
        evidence.gold,
        group=evidence.group,
        correct=np.ones(400, dtype=int),
        item=evidence.item,
        weight=np.ones(400),
        g=np.ones(400),
    )
    evidence = replace(evidence, gold=gold, f_gold=evidence.f[None], f_spread=np.zeros((1, 400)))
    for c in (0.6, 1.0, 1.4):
        rates = estimate(evidence, c=(c,))
        for group in (0, 1):
            own = evidence.group == group
            predicted = rates.rate[0, group] * c * own.sum()
            assert predicted == pytest.approx(c * evidence.decision[own].sum())


def test_naive_cuts_at_one_half():
    evidence = make_evidence(np.random.default_rng(3), weighted=True)
    rates = estimate_naive(evidence)
    for labeler in range(3):
        for group in (0, 1):
            expected = rate_by_hand(
                evidence, labeler, group, lambda k, i: float(evidence.f_gold[k, i] >= 0.5)
            )
            assert rates.rate[labeler, group] == pytest.approx(expected)


@pytest.mark.parametrize("way", [estimate, estimate_naive])
def test_the_variance_is_that_of_two_shares(way):
    """Gold positives are a sample, and so are the positives among the labeler's own items."""
    evidence = make_evidence(np.random.default_rng(4), n_rows=4000, n_gold=1200)
    naive = estimate_naive(evidence)
    rates = way(evidence)
    for labeler in range(3):
        for group in (0, 1):
            here = evidence.gold.group == group
            positives = int((here & (evidence.gold.correct == 1)).sum())
            own = int(((evidence.place == labeler) & (evidence.group == group)).sum())
            mass = own * positives / here.sum()
            p = naive.rate[labeler, group]
            expected = p * (1 - p) / positives + p * (1 - p) / mass
            found = variance(naive, evidence.gold.group, labeler, group)
            assert found == pytest.approx(expected, rel=0.05)
            assert rates.mass[labeler, group] == pytest.approx(mass)


def test_a_perfect_model_of_a_consistent_labeler_gives_the_rate_exactly():
    """Decisions are f above a bar; gold is drawn alike: the predictions are the decisions."""
    rng = np.random.default_rng(5)
    n, n_gold = 4000, 2000
    f, f_gold = rng.random(n), rng.random(n_gold)
    group, gold_group = np.arange(n) % 2, np.arange(n_gold) % 2
    bar = np.array([0.3, 0.6])
    evidence = make_evidence(rng, n_labelers=1, n_rows=n, n_gold=n_gold)
    evidence = replace(
        evidence,
        group=group,
        f=f,
        decision=(f > bar[group]).astype(int),
        f_gold=f_gold[None],
        gold=replace(evidence.gold, correct=(f_gold > 0.2).astype(int), group=gold_group),
    )
    rates = estimate(evidence)
    np.testing.assert_allclose(rates.rate[0], [0.7 / 0.8, 0.4 / 0.8], atol=0.04)
    for group_code in (0, 1):
        positives = (gold_group == group_code) & (f_gold > 0.2)
        exact = (f_gold[positives] > bar[group_code]).mean()
        assert rates.rate[0, group_code] == pytest.approx(exact, abs=0.003)


def test_the_four_metrics_are_complements_of_each_other():
    evidence = make_evidence(np.random.default_rng(6))
    for way in (estimate, estimate_naive):
        rate = {m: way(for_metric(evidence, METRICS[m])).rate for m in ("tpr", "fpr", "tnr", "fnr")}
        np.testing.assert_allclose(rate["fnr"], 1 - rate["tpr"], atol=1e-9)
        np.testing.assert_allclose(rate["tnr"], 1 - rate["fpr"], atol=1e-9)


def test_a_group_without_labels_or_without_gold_positives_has_no_rate():
    evidence = make_evidence(np.random.default_rng(8), n_labelers=2, n_groups=3)
    kept = (evidence.place != 1) | (evidence.group != 0)
    names = ("place", "group", "decision", "item", "f", "g")
    gold = replace(evidence.gold, correct=evidence.gold.correct * (evidence.gold.group != 2))
    evidence = replace(
        evidence, gold=gold, **{name: getattr(evidence, name)[kept] for name in names}
    )
    rate = estimate(evidence).rate
    assert np.isnan(rate[1, 0])
    assert np.isnan(rate[:, 2]).all()
    assert np.isfinite(rate[[0, 0, 1], [0, 1, 1]]).all()


def test_the_ratio_reaches_the_estimator_by_its_name():
    evidence = make_evidence(np.random.default_rng(9))
    named = estimator("mdba", (0.7,)).estimate(evidence)
    np.testing.assert_array_equal(named.rate, estimate(evidence, c=(0.7,)).rate)
    assert not np.allclose(named.rate, estimate(evidence).rate)


def test_where_gold_items_were_labeled_too_the_decision_replaces_the_prediction():
    evidence = make_evidence(np.random.default_rng(10), n_labelers=1)
    n = 50
    pairs = [
        (row, int(np.flatnonzero(evidence.gold.group == evidence.group[row])[row % 40]))
        for row in range(n)
    ]
    unique = {item: row for row, item in pairs}
    direct = Direct(row=np.array(list(unique.values())), gold=np.array(list(unique)))
    plain, seen = (estimate(e, c=(0.7,)) for e in (evidence, replace(evidence, direct=direct)))

    def accepted(labeler: int, item: int) -> float:
        if item in unique:
            return float(evidence.decision[unique[item]])
        return accepted_by_hand(evidence, labeler, item, 0.7) / 0.7

    for group in (0, 1):
        assert seen.rate[0, group] == pytest.approx(rate_by_hand(evidence, 0, group, accepted))
    assert not np.allclose(plain.rate, seen.rate)


def test_a_variance_is_never_negative():
    evidence = make_evidence(np.random.default_rng(11))
    f_gold = np.where(evidence.gold.correct == 1, 0.95, 0.05) * np.ones((3, 1))
    rates = estimate(replace(evidence, f_gold=f_gold), c=(0.5,))
    assert (rates.own_variance >= 0).all()


def test_a_ratio_that_no_threshold_satisfies_is_not_answered():
    """Three times as many positives as somebody gave who says yes to half of all: impossible."""
    evidence = make_evidence(np.random.default_rng(12))
    assert np.isnan(estimate(evidence, c=(3.0,)).rate).all()
