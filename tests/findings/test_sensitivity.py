"""How much labelers would have to know to overturn a finding, on numbers made by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mdba_checks.findings.inference import Gaps
from mdba_checks.findings.sensitivity import overturned, robustness


def made(gap: float, at_one: float, error: float = 0.02) -> Gaps:
    """Return one gap that moves on a straight line from `gap` to `at_one`."""
    path = np.linspace(gap, at_one, 11)[None, None]
    one = np.full((1, 1), 1.0)
    return Gaps(
        gap=gap * one,
        std_error=error * one,
        rate=0.5 * one,
        rate_reference=(0.5 - gap) * one,
        plain_gap=gap * one,
        own_variance=one,
        model_variance=0 * one,
        gold_variance=one[..., None],
        freedom=1e6 * one,
        rate_error=error * one,
        path=path,
        path_error=np.full((1, 1, 11), error),
        apart=None,
    )


def of(numbers: Gaps, max_gap: float = 0.1) -> float:
    return float(robustness(numbers, *numbers.interval(0.9), max_gap)[0, 0])


def test_a_biased_gap_that_stays_beyond_the_limit_is_robust():
    assert of(made(-0.4, -0.3)) == 1.0


def test_a_biased_gap_falls_where_its_interval_meets_the_limit():
    # The upper end is -0.3 + 0.033, and moves by 0.03 a step: it passes -0.1 at the sixth.
    assert of(made(-0.3, 0.0)) == pytest.approx(0.6)


def test_a_fair_gap_falls_where_its_interval_leaves_the_limit():
    # The upper end is 0.033 and moves by 0.02 a step: it passes 0.1 at the fourth.
    assert of(made(0.0, 0.2)) == pytest.approx(0.4)


def test_an_open_question_has_no_robustness():
    assert np.isnan(of(made(0.1, 0.1)))


def test_an_interval_that_ends_at_the_limit_is_within_it():
    exactly = [np.array([[value]]) for value in (-0.1, 0.1)]
    numbers = made(0.0, 0.0)
    assert robustness(numbers, *exactly, 0.1)[0, 0] == 1.0
    # Not beyond it either: an interval from the limit on is neither biased nor fair.
    for low, high in ((0.1, 0.3), (-0.3, -0.1)):
        assert np.isnan(robustness(numbers, np.array([[low]]), np.array([[high]]), 0.1)[0, 0])


@pytest.mark.parametrize("sign", [1, -1])
def test_both_directions_are_followed_alike(sign):
    assert of(made(-0.3 * sign, 0.0)) == pytest.approx(0.6)
    assert of(made(0.0, 0.2 * sign)) == pytest.approx(0.4)
    assert of(made(-0.4 * sign, -0.3 * sign)) == 1.0


def test_without_a_path_nothing_is_known():
    assert np.isnan(of(replace(made(0.0, 0.0), path=None)))


def why(numbers: Gaps, *, unequal: bool = False, measured: bool = False) -> str:
    asked = SimpleNamespace(  # all that is asked of the measures
        unequally_described=np.array([unequal]), theta_measured=np.array([measured])
    )
    (text,) = overturned(numbers, asked, 0.1)
    return text


def test_a_finding_falls_where_theta_clearly_moves_it_across_the_limit():
    # From -0.30 to 0.00: beyond ±0.1 up to the sixth step, -0.12; the first within is -0.09.
    assert "the gap would be -0.09 instead of -0.30" in why(made(-0.3, 0.0))
    assert "the features leave much open" in why(made(-0.3, 0.0))
    # From 0.00 to 0.30: 0.12 at the fourth step is the first beyond.
    assert "the gap would be +0.12 instead of +0.00" in why(made(0.0, 0.3))
    assert why(made(-0.3, -0.2)) == ""
    assert why(made(0.0, 0.09)) == ""


def test_a_gap_at_the_limit_is_within_it():
    assert why(made(0.05, 0.1)) == ""
    assert "+0.10 instead of +0.15" in why(made(0.15, 0.1))


def test_a_move_that_may_be_chance_overturns_nothing_unless_groups_are_described_unequally():
    # It moves by 0.05 at most, and 1.645 standard errors are 0.066 with 0.04, 0.049 with 0.03.
    assert why(made(0.08, 0.13, error=0.04)) == ""
    assert "+0.13 instead of +0.08" in why(made(0.08, 0.13, error=0.03))
    said = why(made(0.08, 0.13, error=0.04), unequal=True)
    assert "the features describe the groups unequally well" in said
    assert "+0.11 instead" in said  # 0.105, the first step beyond


def test_where_theta_was_measured_the_interval_has_it_already():
    assert why(made(-0.3, 0.0), measured=True) == ""
    assert why(made(-0.3, 0.0), measured=True, unequal=True) == ""


def test_without_a_path_nothing_is_overturned():
    assert why(replace(made(-0.3, 0.0), path=None)) == ""
    assert why(replace(made(-0.3, 0.0), path_error=None)) == ""


@pytest.mark.parametrize(
    ("gap", "ends", "there"),
    [
        (-0.3, (-0.4, -0.05), "-0.05"),  # beyond: the one nearest to none
        (-0.3, (-0.4, 0.2), "+0.00"),
        (0.3, (0.05, 0.4), "+0.05"),
        (0.05, (-0.2, 0.15), "-0.20"),  # within: the largest, whatever its sign
        (0.05, (-0.15, 0.2), "+0.20"),
    ],
)
def test_where_groups_are_described_unequally_theta_may_differ_between_them(gap, ends, there):
    apart = replace(made(gap, gap), apart=np.array([[ends]]))
    assert f"the gap would be {there} instead of {gap:+.2f}" in why(apart, unequal=True)
    assert why(apart) == ""  # described equally well, groups have the same theta
    assert why(apart, unequal=True, measured=True) == ""


def test_ends_on_the_same_side_of_the_limit_overturn_nothing():
    assert why(replace(made(-0.3, -0.3), apart=np.array([[(-0.4, -0.2)]])), unequal=True) == ""
    assert why(replace(made(0.05, 0.05), apart=np.array([[(-0.09, 0.1)]])), unequal=True) == ""
