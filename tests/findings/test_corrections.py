"""The default correction promises what Holm's does, and asks less where others are clearly fair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from mdba_checks.findings.corrections import adjust, clear_of_others

LIMIT, ERROR, LEVEL, RUNS = 0.1, 0.02, 0.1, 1000
# Three standard errors of a share of 0.1 in so many runs.
MOST_WRONG = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / RUNS)


def _drawn(true: list[float], alike: float, seed: int) -> np.ndarray:
    """Draw estimates whose errors have `alike` of their variance in common, as with shared gold."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((RUNS, 1))
    own = rng.standard_normal((RUNS, len(true)))
    return np.array(true) + ERROR * (np.sqrt(alike) * shared + np.sqrt(1 - alike) * own)


def _called(estimates: np.ndarray) -> np.ndarray:
    errors = np.full(estimates.shape[1], ERROR)
    return np.array(
        [clear_of_others(each, errors, LIMIT, level=LEVEL) < LEVEL for each in estimates]
    )


def _by_holm(estimates: np.ndarray) -> np.ndarray:
    beyond = (np.abs(estimates) - LIMIT) / ERROR
    p = norm.sf(beyond) + norm.sf(beyond + 2 * LIMIT / ERROR)
    return np.array([adjust(each, "holm") < LEVEL for each in p])


@pytest.mark.parametrize("alike", [0.0, 0.6, 0.9])
@pytest.mark.parametrize(
    "true",
    [
        [0.1] * 10,
        [0.1, -0.1] * 5,
        [0.1] * 5 + [0.0] * 5,
        [0.1] + [0.0] * 9,
        [0.1] * 3 + [0.07] * 7,
        [0.2, 0.2, 0.1, -0.1] + [0.02] * 6,
        [0.2] + [0.1] * 5 + [0.0] * 34,
    ],
)
def test_anybody_within_the_limit_is_accused_in_at_most_a_tenth_of_runs(true, alike):
    called = _called(_drawn(true, alike, seed=1))
    innocent = np.abs(true) <= LIMIT
    assert called[:, innocent].any(axis=1).mean() <= MOST_WRONG


def test_one_biased_among_nine_without_a_gap_is_found_more_often_than_by_holm():
    estimates = _drawn([0.17] + [0.01] * 9, 0.6, seed=2)
    ours, holm = _called(estimates)[:, 0].mean(), _by_holm(estimates)[:, 0].mean()
    assert ours > 0.93
    assert ours > holm + 0.05


def test_many_groups_do_not_hide_one_biased_labeler_where_the_others_are_fair():
    """Ten labelers, seven groups: Holm's asks for 2.98 standard errors of a gap that has three."""
    estimates = _drawn([0.16] + [0.01] * 69, 0.6, seed=4)
    ours, holm = _called(estimates)[:, 0].mean(), _by_holm(estimates)[:, 0].mean()
    assert holm == pytest.approx(norm.sf(norm.isf(LEVEL / 70) - 3), abs=0.05)
    assert ours > holm + 0.1


def test_so_many_comparisons_that_they_are_looked_at_in_parts_give_the_same_numbers(monkeypatch):
    rng = np.random.default_rng(5)
    gap, error = rng.normal(0, 0.1, 60), rng.uniform(0.01, 0.05, 60)
    gap[:40] += 0.3
    at_once = clear_of_others(gap, error, LIMIT, level=LEVEL)
    monkeypatch.setattr("mdba_checks.findings.corrections._AT_ONCE", 7)
    in_parts = clear_of_others(gap, error, LIMIT, level=LEVEL)
    decided = at_once < 0.5
    assert decided.sum() > 30
    np.testing.assert_allclose(in_parts[decided], at_once[decided], rtol=1e-12)
    np.testing.assert_array_equal(in_parts >= 0.5, ~decided)


def test_with_everybody_beyond_the_limit_it_costs_a_tenth_of_the_level():
    gap = np.array([0.15, 0.16, 0.17])
    beyond = (gap - LIMIT) / ERROR
    p = norm.sf(beyond) + norm.sf(beyond + 2 * LIMIT / ERROR)
    ours = clear_of_others(gap, np.full(3, ERROR), LIMIT, level=LEVEL)
    # By hand: the largest gap is compared with all three, the next with two, the last with itself.
    far = 2 * LIMIT / ERROR
    by_hand = [
        n * (norm.sf(x) + norm.sf(x + far)) / 0.9 for n, x in zip((1, 2, 3), beyond, strict=True)
    ]
    np.testing.assert_allclose(ours, np.maximum.accumulate(by_hand[::-1])[::-1], rtol=1e-12)
    np.testing.assert_allclose(ours, adjust(p, "holm") / 0.9, rtol=1e-12)


def test_a_single_comparison_is_not_adjusted():
    near, far = (0.16 - 0.1) / 0.03, (0.16 + 0.1) / 0.03
    alone = clear_of_others(np.array([-0.16]), np.array([0.03]), 0.1, 12.0, level=LEVEL)
    np.testing.assert_allclose(alone, student.sf(near, 12) + student.sf(far, 12), rtol=1e-12)


def test_without_tolerance_every_other_labeler_counts_in_full():
    gap, error = np.array([0.05, 0.0, 0.001]), np.full(3, 0.02)
    ours = clear_of_others(gap, error, 0.0, level=LEVEL)
    np.testing.assert_allclose(ours[0], 3 * 2 * norm.sf(2.5) / 0.9, rtol=1e-12)


def test_comparisons_that_could_not_be_made_do_not_count():
    gap, error = np.array([0.15, 0.09, 0.02]), np.full(3, 0.02)
    padded = clear_of_others(
        np.array([0.15, np.nan, 0.09, 0.02, 0.3]),
        np.array([0.02, 0.02, 0.02, 0.02, np.nan]),
        LIMIT,
        level=LEVEL,
    )
    assert np.isnan(padded[[1, 4]]).all()
    np.testing.assert_array_equal(
        padded[[0, 2, 3]], clear_of_others(gap, error, LIMIT, level=LEVEL)
    )


def test_a_gap_that_is_known_exactly_needs_no_test():
    exact = clear_of_others(np.array([0.2, 0.1]), np.zeros(2), LIMIT, level=LEVEL)
    np.testing.assert_array_equal(exact, [0.0, 1.0])


def test_the_order_of_comparisons_does_not_matter():
    rng = np.random.default_rng(3)
    gap, error = rng.normal(0, 0.1, 12), rng.uniform(0.01, 0.05, 12)
    freedom, order = rng.uniform(5, 50, 12), rng.permutation(12)
    ours = clear_of_others(gap, error, LIMIT, freedom, level=LEVEL)
    mixed = clear_of_others(gap[order], error[order], LIMIT, freedom[order], level=LEVEL)
    np.testing.assert_allclose(mixed, ours[order], rtol=1e-12)
