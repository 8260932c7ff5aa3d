"""How much labelers would have to know to overturn a finding, on numbers made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mdba_checks.findings.inference import Gaps
from mdba_checks.findings.sensitivity import robustness


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
