"""Gaps, intervals and multiplicity against slow textbook versions and known distributions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import norm

from mdba_checks.estimation import Rates, estimator
from mdba_checks.findings.corrections import adjust
from mdba_checks.findings.inference import Contrast, Gaps, compare, contrasts, p_values
from tests.helpers import Oracle, make_evidence

Z90 = norm.ppf(0.95)


def gaps_of(rates: Rates, gold_group: np.ndarray, wanted: list[Contrast], **options) -> Gaps:
    return compare(rates, gold_group, np.arange(len(gold_group)), wanted, **options)


def make_rates(
    rng: np.random.Generator, n_labelers: int, n_groups: int, n_gold: int, *, allowance: float = 0.0
) -> Rates:
    shape = n_labelers, n_groups
    return Rates(
        rate=rng.random(shape),
        own_variance=rng.uniform(1e-4, 1e-3, shape),
        gold_influence=rng.normal(0, 0.005, (n_labelers, n_gold)),
        mass=rng.uniform(10, 100, shape),
        allowance=np.full(shape, allowance),
        model_variance=np.zeros(shape),
    )


# --- which comparisons


def test_two_groups_are_compared_once_the_smaller_with_the_larger():
    assert contrasts(2, None, np.array([10, 90])) == [Contrast(0, 1)]
    assert contrasts(2, None, np.array([90, 10])) == [Contrast(1, 0)]


def test_a_named_reference_is_compared_with_every_other_group_and_not_with_itself():
    assert contrasts(2, 0, np.array([10, 90])) == [Contrast(1, 0)]
    assert contrasts(4, 2, np.ones(4)) == [Contrast(0, 2), Contrast(1, 2), Contrast(3, 2)]


def test_of_three_groups_each_is_compared_with_everyone_else():
    assert contrasts(3, None, np.ones(3)) == [Contrast(group, None) for group in range(3)]


# --- gaps


def test_a_gap_against_a_named_group_is_the_difference_and_variances_add():
    rng = np.random.default_rng(1)
    group = np.arange(60) % 3
    rates = make_rates(rng, 4, 3, 60)
    gaps = gaps_of(rates, group, [Contrast(0, 2), Contrast(1, 2)])
    for labeler in range(4):
        for number, code in enumerate((0, 1)):
            assert gaps.gap[labeler, number] == pytest.approx(
                rates.rate[labeler, code] - rates.rate[labeler, 2]
            )
            assert gaps.rate[labeler, number] == rates.rate[labeler, code]
            assert gaps.rate_reference[labeler, number] == pytest.approx(rates.rate[labeler, 2])
            total = rates.own_variance[labeler, code] + rates.own_variance[labeler, 2]
            for item in range(60):
                if group[item] in (code, 2):
                    total += rates.gold_influence[labeler, item] ** 2
            assert gaps.std_error[labeler, number] == pytest.approx(np.sqrt(total))


def test_swapping_group_and_reference_turns_the_gap_round():
    rates = make_rates(np.random.default_rng(2), 5, 2, 40)
    one, other = (gaps_of(rates, np.arange(40) % 2, [w]) for w in (Contrast(0, 1), Contrast(1, 0)))
    np.testing.assert_allclose(one.gap, -other.gap)
    np.testing.assert_allclose(one.std_error, other.std_error)
    low, high = one.interval(0.9)
    other_low, other_high = other.interval(0.9)
    np.testing.assert_allclose(low, -other_high)
    np.testing.assert_allclose(high, -other_low)


def test_a_gold_item_that_stands_in_gold_twice_is_one_piece_of_evidence():
    rates = make_rates(np.random.default_rng(3), 2, 2, 40)
    halves = replace(rates, gold_influence=np.repeat(rates.gold_influence / 2, 2, axis=1))
    group = np.arange(40) % 2
    once = compare(rates, group, np.arange(40), [Contrast(0, 1)])
    twice = compare(halves, np.repeat(group, 2), np.repeat(np.arange(40), 2), [Contrast(0, 1)])
    np.testing.assert_allclose(twice.std_error, once.std_error)


def test_what_models_leave_open_widens_the_interval_and_never_narrows_it():
    group = np.arange(40) % 2
    rates = make_rates(np.random.default_rng(4), 3, 2, 40)

    def error(*sides: float) -> np.ndarray:
        wide = replace(rates, model_variance=np.tile(np.square(sides), (3, 1)))
        return gaps_of(wide, group, [Contrast(0, 1)]).std_error

    assert (error(0.1, 0.0) > error(0.0, 0.0)).all()
    assert (error(0.2, 0.0) > error(0.1, 0.0)).all()
    assert (error(0.1, 0.1) >= error(0.0, 0.0)).all()
    np.testing.assert_allclose(error(0.1, 0.0), error(0.0, 0.1))


# --- everyone else


def test_everyone_else_has_the_rate_of_all_others_pooled():
    """For counted rates that is counting without looking at the group."""
    evidence = make_evidence(np.random.default_rng(5), n_groups=3, n_rows=900)
    rates = estimator("selection_rate").estimate(evidence)
    gaps = gaps_of(rates, evidence.gold.group, [Contrast(group, None) for group in range(3)])
    for labeler in range(3):
        for group in range(3):
            others = (evidence.place == labeler) & (evidence.group != group)
            pooled = evidence.decision[others].mean()
            assert gaps.rate_reference[labeler, group] == pytest.approx(pooled)
            own = rates.rate[labeler, group]
            assert gaps.gap[labeler, group] == pytest.approx(own - pooled)


def test_everyone_else_weighs_groups_by_the_positives_of_the_labelers_own_items():
    evidence = make_evidence(np.random.default_rng(6), n_groups=3, n_rows=1500)
    rates = estimator("mdba_dr").estimate(evidence)
    gaps = gaps_of(rates, evidence.gold.group, [Contrast(0, None)])
    for labeler in range(3):
        right = found = 0.0
        for group in (1, 2):
            own = (evidence.place == labeler) & (evidence.group == group)
            here = evidence.gold.group == group
            missed = evidence.gold.correct[here] - evidence.gold.g[here]
            right += own.sum() * (evidence.g[own].mean() + missed.mean())
            found += own.sum() * (
                (evidence.g * evidence.decision)[own].mean()
                + (evidence.f_gold[labeler, here] * missed).mean()
            )
        assert gaps.rate_reference[labeler, 0] == pytest.approx(found / right)


def test_with_two_groups_everyone_else_is_the_other_group():
    rates = make_rates(np.random.default_rng(7), 4, 2, 40)
    group = np.arange(40) % 2
    named, rest = (gaps_of(rates, group, [Contrast(0, r)]) for r in (1, None))
    np.testing.assert_allclose(named.gap, rest.gap)
    np.testing.assert_allclose(named.std_error, rest.std_error)


@pytest.mark.parametrize("reference", [1, None])
def test_a_third_group_without_labels_does_not_spoil_the_comparison_of_the_other_two(reference):
    group = np.arange(60) % 3
    rates = make_rates(np.random.default_rng(8), 2, 3, 60)
    expected = gaps_of(rates, group, [Contrast(0, 1)])
    nothing = np.array([False, False, True])
    rates.rate[0, nothing] = rates.own_variance[0, nothing] = np.nan
    rates.mass[0, nothing] = rates.model_variance[0, nothing] = np.nan
    rates.gold_influence[0, group == 2] = np.nan
    found = gaps_of(rates, group, [Contrast(0, reference)])
    assert found.gap[0, 0] == pytest.approx(expected.gap[0, 0])
    assert found.std_error[0, 0] == pytest.approx(expected.std_error[0, 0])


def test_a_gap_with_an_unknown_side_is_unknown():
    rates = make_rates(np.random.default_rng(9), 2, 2, 40)
    rates.rate[0, 1] = np.nan
    gaps = gaps_of(rates, np.arange(40) % 2, [Contrast(0, 1)])
    assert np.isnan(gaps.gap[0, 0])
    assert np.isfinite(gaps.gap[1, 0])


# --- intervals


def test_the_interval_is_that_of_student_and_stays_within_what_a_gap_can_be():
    rates = make_rates(np.random.default_rng(10), 6, 2, 40)
    gaps = gaps_of(rates, np.arange(40) % 2, [Contrast(0, 1)])
    low, high = gaps.interval(0.95)
    reach = stats.t.ppf(0.975, gaps.freedom) * gaps.std_error
    np.testing.assert_allclose(low, np.maximum(gaps.gap - reach, -1), atol=1e-9)
    np.testing.assert_allclose(high, np.minimum(gaps.gap + reach, 1), atol=1e-9)
    wide = replace(rates, own_variance=rates.own_variance * 1e4)
    low, high = gaps_of(wide, np.arange(40) % 2, [Contrast(0, 1)]).interval(0.9)
    assert (low == -1).any()
    assert ((low >= -1) & (high <= 1)).all()


def test_degrees_of_freedom_follow_from_how_many_gold_items_carry_the_variance():
    """With equal weights on normal influences: Welch's formula for two samples of 40 and 10."""
    group = np.repeat([0, 1], [40, 10])
    rng = np.random.default_rng(21)
    freedom = []
    for _ in range(200):
        rates = make_rates(rng, 1, 2, 50)
        rates.own_variance[:] = 0.0
        freedom.append(gaps_of(rates, group, [Contrast(0, 1)]).freedom[0, 0])
    v0, v1 = 40.0, 10.0  # sums of squares, in units of one influence
    welch = (v0 + v1) ** 2 / (v0**2 / 40 + v1**2 / 10)
    assert np.median(freedom) == pytest.approx(welch, rel=0.25)


def test_one_heavy_item_leaves_few_degrees_of_freedom_and_own_rows_add_many():
    rates = make_rates(np.random.default_rng(22), 1, 2, 40)
    heavy = replace(rates, gold_influence=rates.gold_influence * np.where(np.arange(40) < 2, 30, 1))
    group = np.arange(40) % 2
    few = gaps_of(heavy, group, [Contrast(0, 1)]).freedom[0, 0]
    assert few < 9
    sure = replace(heavy, own_variance=heavy.own_variance + 1.0)
    assert gaps_of(sure, group, [Contrast(0, 1)]).freedom[0, 0] > 100


# --- all labelers at once


def test_labelers_who_share_no_gold_need_the_quantile_of_independent_errors():
    rates = make_rates(np.random.default_rng(11), 20, 2, 40)
    alone = replace(rates, gold_influence=np.zeros((20, 40)))
    gaps = gaps_of(alone, np.arange(40) % 2, [Contrast(0, 1)])
    sidak = norm.ppf((1 + 0.9 ** (1 / 20)) / 2)
    assert gaps.joint_quantile(0.9) == pytest.approx(sidak, abs=0.12)


def test_labelers_who_share_everything_need_no_more_than_one_does():
    rates = make_rates(np.random.default_rng(12), 20, 2, 40)
    shared = replace(
        rates,
        own_variance=np.full((20, 2), 1e-12),
        gold_influence=np.tile(rates.gold_influence[:1], (20, 1)),
    )
    gaps = gaps_of(shared, np.arange(40) % 2, [Contrast(0, 1)])
    assert gaps.joint_quantile(0.9) == pytest.approx(Z90, abs=0.15)


def test_joint_intervals_lie_between_single_ones_and_those_of_independent_errors():
    rates = make_rates(np.random.default_rng(13), 20, 2, 40)
    half = replace(
        rates,
        own_variance=np.full((20, 2), 2e-4),
        gold_influence=np.tile(rates.gold_influence[:1], (20, 1)),
    )
    gaps = gaps_of(half, np.arange(40) % 2, [Contrast(0, 1)])
    sidak = norm.ppf((1 + 0.9 ** (1 / 20)) / 2)
    assert Z90 + 0.1 < gaps.joint_quantile(0.9) < sidak - 0.05
    single, joint = gaps.interval(0.9), gaps.interval(0.9, joint=True)
    assert (joint[0] <= single[0]).all()
    assert (joint[1] >= single[1]).all()


def test_a_joint_interval_is_never_narrower_than_a_single_one():
    rates = make_rates(np.random.default_rng(14), 1, 2, 40)
    for seed in range(10):
        gaps = gaps_of(rates, np.arange(40) % 2, [Contrast(0, 1)], seed=seed)
        assert gaps.joint_quantile(0.9) >= Z90


def test_joint_intervals_can_be_asked_for_with_any_confidence():
    rates = make_rates(np.random.default_rng(16), 20, 2, 40)
    alone = replace(rates, gold_influence=np.zeros((20, 40)))
    gaps = gaps_of(alone, np.arange(40) % 2, [Contrast(0, 1)])
    for confidence in (0.5, 0.8, 0.9):
        sidak = norm.ppf((1 + confidence ** (1 / 20)) / 2)
        assert gaps.joint_quantile(confidence) == pytest.approx(sidak, abs=0.12)


def test_joint_intervals_cover_all_labelers_at_once_as_often_as_they_say():
    oracle, rng, draws = Oracle(), np.random.default_rng(15), 150
    single = joint = 0
    for _ in range(draws):
        evidence, right = oracle.draw(rng, n_labelers=8, rows_per_group=200, gold_per_group=100)
        gaps = gaps_of(
            estimator("mdba_dr").estimate(evidence),
            evidence.gold.group,
            [Contrast(1, 0)],
        )
        found, total = evidence.cell_sum(right * evidence.decision), evidence.cell_sum(right)
        truth = (found / total)[:, 1] - (found / total)[:, 0]
        error = np.abs(gaps.gap[:, 0] - truth)[:, None]
        joint += int((error <= gaps.joint_quantile(0.9) * gaps.std_error).all())
        single += int((error <= Z90 * gaps.std_error).all())
    assert joint / draws > 0.9 - 0.075  # three standard errors
    assert single / draws < joint / draws - 0.1


# --- p-values


@given(
    st.floats(-1, 1),
    st.floats(1e-4, 1),
    st.floats(0, 0.5),
    st.sampled_from([0.8, 0.9, 0.95, 0.99]),
)
def test_a_p_value_is_the_largest_chance_of_such_an_estimate_under_a_tolerated_gap(
    gap, error, limit, level
):
    p = p_values(np.array([gap]), np.array([error]), limit)[0]
    tolerated = np.linspace(-limit, limit, 21)
    larger = norm.sf(abs(gap), tolerated, error) + norm.cdf(-abs(gap), tolerated, error)
    assert p == pytest.approx(min(larger.max(), 1.0), abs=1e-9)
    z = norm.ppf((1 + level) / 2)
    if max(gap - z * error - limit, -limit - gap - z * error) > 1e-9:  # the interval is beyond
        assert p < 1 - level


def test_a_p_value_against_zero_is_the_textbook_one():
    gap, error = np.array([0.2, -0.2, 0.0]), np.array([0.1, 0.1, 0.1])
    np.testing.assert_allclose(p_values(gap, error, 0.0), [0.0455003, 0.0455003, 1.0], atol=1e-6)


def test_an_unknown_gap_or_error_has_no_p_value():
    p = p_values(np.array([np.nan, 0.5]), np.array([0.1, np.nan]), 0.1)
    assert np.isnan(p).all()


# --- many tests


def rejected_by_holm(p: list[float], alpha: float) -> set[int]:
    """Step down from the smallest p-value, as in the textbook, until one is not small enough."""
    rejected: set[int] = set()
    for index in sorted(range(len(p)), key=lambda i: p[i]):
        if p[index] > alpha / (len(p) - len(rejected)):
            break
        rejected.add(index)
    return rejected


def rejected_by_bh(p: list[float], alpha: float) -> set[int]:
    """Step up: the largest k such that k p-values are at most k / n of alpha."""
    bar = 0.0
    for k in range(1, len(p) + 1):
        if sorted(p)[k - 1] <= k * alpha / len(p):
            bar = sorted(p)[k - 1]
    return {index for index, value in enumerate(p) if value <= bar and bar > 0}


P_VALUES = st.lists(
    st.one_of(st.floats(1e-6, 1), st.sampled_from([0.01, 0.02, 0.05])), min_size=1, max_size=12
)


@given(P_VALUES, st.floats(0.001, 0.5), st.sampled_from(["holm", "bh"]))
def test_an_adjusted_p_value_is_below_alpha_exactly_when_the_textbook_rejects(p, alpha, correction):
    adjusted = adjust(np.array(p), correction)
    textbook = {"holm": rejected_by_holm, "bh": rejected_by_bh}[correction](p, alpha)
    for index, value in enumerate(adjusted):
        if abs(value - alpha) > 1e-9:
            assert (value < alpha) == (index in textbook)


@given(P_VALUES, st.sets(st.integers(0, 12)), st.sampled_from(["holm", "bh", "none"]))
def test_nan_counts_as_no_test(p, where, correction):
    padded: list[float] = []
    for index, value in enumerate(p):
        padded += [np.nan, value] if index in where else [value]
    adjusted = adjust(np.array(padded), correction)
    np.testing.assert_array_equal(np.isnan(adjusted), np.isnan(padded))
    np.testing.assert_allclose(adjusted[~np.isnan(padded)], adjust(np.array(p), correction))


@given(P_VALUES, st.sampled_from(["holm", "bh"]))
def test_adjusting_keeps_the_order_and_never_helps(p, correction):
    adjusted = adjust(np.array(p), correction)
    assert (adjusted >= np.array(p) - 1e-12).all()  # p * n / n may round down
    assert (adjusted <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= -1e-12).all()


def test_holm_is_stricter_than_bh_and_none_changes_nothing():
    p = np.random.default_rng(16).random(50)
    assert (adjust(p, "holm") >= adjust(p, "bh")).all()
    np.testing.assert_array_equal(adjust(p, "none"), p)
    assert np.isnan(adjust(np.array([np.nan]), "holm")).all()
    assert len(adjust(np.array([]), "bh")) == 0


def test_the_input_is_left_as_it_is():
    p = np.array([0.03, 0.01])
    adjust(p, "holm")
    np.testing.assert_array_equal(p, [0.03, 0.01])
