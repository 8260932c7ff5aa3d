"""When to stop: what more gold would bring, against simulated gold that is really added."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy, assess
from mdba_checks.findings.gold_choice import OpenGaps, look_ahead
from mdba_checks.findings.plan import Rule
from mdba_checks.simulation import simulate

RULE = Rule(max_gap=0.1, z=1.645, z_biased=1.645)
GOLD = np.array([50, 50])


def test_more_gold_narrows_the_interval_about_as_foretold():
    made = simulate(n_items=6000, n_labelers=3, tprs=[0.8, 0.85, 0.9], gold_per_group=400, seed=4)
    config = CheckConfig(reference="men", jobs=1)
    first, later = (assess(made.labels, made.gold_pool(n), config) for n in (100, 300))
    outlook = first.outlook(more=400)
    is_open = (first.gaps["finding"] == "inconclusive").to_numpy()
    assert outlook.n_open == is_open.sum() > 0
    reached = (later.gaps["ci_high"] - later.gaps["ci_low"])[is_open].mean() / 2
    assert outlook.half_width > 1.1 * outlook.half_width_then
    assert outlook.half_width_then == pytest.approx(reached, rel=0.35)


def test_a_gap_at_the_limit_whose_error_is_gold_is_helped_by_gold_and_one_of_labels_is_not():
    by_gold = OpenGaps(np.array([-0.3]), np.array([0.15]), np.array([[0.01, 0.01]]))
    by_labels = OpenGaps(np.array([-0.11]), np.array([0.15]), np.array([[1e-6, 1e-6]]))
    helped = look_ahead(by_gold, GOLD, RULE, n_settled=0)
    lost = look_ahead(by_labels, GOLD, RULE, n_settled=0)
    assert helped.helps
    assert not lost.helps
    assert lost.sentences[1].startswith("more gold will not help")


def test_nothing_open_needs_nothing():
    nothing = OpenGaps(np.empty(0), np.empty(0), np.empty((0, 2)))
    outlook = look_ahead(nothing, GOLD, RULE, n_settled=4)
    assert outlook.sentences == (
        "4 comparisons are settled, and none is open for lack of evidence: no more gold is needed",
    )


def test_the_number_of_settled_comparisons_is_the_sum_of_chances():
    """Over draws of where the estimates go, by simulation."""
    rng = np.random.default_rng(0)
    gaps = OpenGaps(np.array([-0.3, 0.0, 0.12]), np.full(3, 0.1), np.tile([0.004, 0.004], (3, 1)))
    outlook = look_ahead(gaps, GOLD, RULE, n_settled=0, more=300)
    later = gaps.error_with(GOLD, 300)
    moved = gaps.gap + np.sqrt(gaps.std_error**2 - later**2) * rng.standard_normal((20_000, 3))
    settled = RULE.settles(moved, np.broadcast_to(later, moved.shape)).sum(axis=1).mean()
    assert outlook.settled_then == pytest.approx(settled, abs=0.03)


@pytest.fixture(scope="module")
def world() -> tuple[pd.DataFrame, pd.DataFrame]:
    made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.9], gold_per_group=150, seed=6)
    return made.labels, made.gold


@pytest.mark.parametrize(("turn", "confidence"), [("1 of 3", 0.99), ("3 of 3", 0.93)])
def test_intervals_at_a_look_have_the_confidence_that_the_look_needs(world, turn, confidence):
    labels, gold = world
    config = CheckConfig(reference="men", jobs=1)
    at_look = assess(labels, gold.assign(gold_round=turn), config)
    asked = assess(labels, gold, config.updated({"confidence": confidence}))
    assert at_look.confidence == pytest.approx(confidence)
    assert at_look.config.confidence == 0.9
    ends = ["ci_low", "ci_high", "finding"]
    pd.testing.assert_frame_equal(at_look.gaps[ends], asked.gaps[ends])
    pd.testing.assert_frame_equal(at_look.overall[ends], asked.overall[ends])
    assert f"this is look {turn}" in at_look.messages[-1]
    tolerant = Policy(max_gap=0.3)
    pd.testing.assert_frame_equal(
        at_look.with_policy(tolerant).gaps[ends], asked.with_policy(tolerant).gaps[ends]
    )


def test_gold_without_rounds_is_as_it_was(world):
    assert assess(*world, CheckConfig(reference="men", jobs=1)).confidence == 0.9


def test_a_round_that_is_none_is_said(world):
    from mdba_checks.errors import InputError

    labels, gold = world
    with pytest.raises(InputError, match="column 'gold_round' of gold holds 'first'"):
        assess(labels, gold.assign(gold_round="first"), CheckConfig(reference="men"))
