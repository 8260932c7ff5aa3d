"""The doubly robust rate against loops, closed forms, and draws from a known truth."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from mdba_checks.estimation.estimators import Direct, Evidence, estimator, for_metric
from mdba_checks.estimation.estimators.evidence import GoldEvidence
from mdba_checks.estimation.estimators.mdba_dr import estimate
from mdba_checks.metrics import METRICS
from tests.helpers import Oracle, make_evidence, variance

NOMINAL = 0.9
Z = 1.6448536  # two-sided 90%


def by_hand(evidence: Evidence, labeler: int, group: int) -> dict[str, float]:
    """Return the numbers of one cell, written from the formulas in plain loops."""
    own = [
        (evidence.g[row], evidence.decision[row])
        for row in range(len(evidence.place))
        if evidence.place[row] == labeler and evidence.group[row] == group
    ]
    gold, total = [], 0.0
    for item in range(len(evidence.gold.group)):
        if evidence.gold.group[item] == group:
            residual = evidence.gold.correct[item] - evidence.gold.g[item]
            weight = evidence.gold.weight[item]
            gold.append((weight, evidence.f_gold[labeler, item], residual))
            total += weight
    n = len(own)
    numerator = sum(g * y for g, y in own) / n + sum(w * f * r for w, f, r in gold) / total
    denominator = sum(g for g, _ in own) / n + sum(w * r for w, _, r in gold) / total
    rate = min(max(numerator / denominator, 0.0), 1.0)
    centre = sum(w * (f - rate) * r for w, f, r in gold) / total
    return {
        "rate": rate,
        # What is right on a row is a coin that shows yes with chance g.
        "own": sum(((y - rate) / (n * denominator)) ** 2 * g * (1 - g) for g, y in own),
        "gold": sum((w / total * (f - rate) * r / denominator) ** 2 for w, f, r in gold),
        "gold_centred": sum(
            (w / total * ((f - rate) * r - centre) / denominator) ** 2 for w, f, r in gold
        ),
    }


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_and_variances_are_those_of_plain_loops(n_groups, weighted):
    evidence = make_evidence(
        np.random.default_rng(n_groups), n_groups=n_groups, n_rows=1500, weighted=weighted
    )
    rates = estimate(evidence)
    for labeler in range(evidence.n_labelers):
        for group in range(n_groups):
            expected = by_hand(evidence, labeler, group)
            assert rates.rate[labeler, group] == pytest.approx(expected["rate"], abs=1e-12)
            # Whether to divide by n or by n - 1 is a matter of taste, and so is centring.
            assert rates.own_variance[labeler, group] == pytest.approx(expected["own"], rel=0.02)
            gold = (rates.gold_influence[labeler, evidence.gold.group == group] ** 2).sum()
            assert 0.98 * expected["gold_centred"] < gold < 1.02 * expected["gold"]


def test_the_closed_form_of_a_labeler_who_accepts_everybody_alike():
    """f = 0.7 everywhere and g known: whatever the gold says, the rate is the share of yes."""
    rng = np.random.default_rng(5)
    evidence = make_evidence(rng, n_labelers=1, n_rows=1000)
    even = np.full(1000, 0.3)
    decision = (np.arange(1000) % 10 < 7).astype(int)
    group = np.repeat([0, 1], 500)
    evidence = replace(
        evidence,
        g=even,
        decision=decision,
        group=group,
        f_gold=np.full(evidence.f_gold.shape, 0.7),
        gold=replace(evidence.gold, g=np.full(120, 0.3)),
    )
    rates = estimate(evidence)
    np.testing.assert_allclose(rates.rate, 0.7)
    # Gold does not matter then, and what is left is not knowing which of 500 rows are right.
    np.testing.assert_allclose(rates.gold_influence, 0.0, atol=1e-12)
    mass = 0.3 + np.array(
        [(evidence.gold.correct[evidence.gold.group == a] - 0.3).mean() for a in (0, 1)]
    )
    np.testing.assert_allclose(rates.own_variance[0], 0.3 * 0.7 * 0.21 / 500 / mass**2, rtol=0.01)


def test_without_a_model_of_what_is_right_the_rate_is_read_off_gold_alone():
    """With g = 0: rate = mean of f over the gold positives."""
    evidence = make_evidence(np.random.default_rng(6))
    gold = replace(evidence.gold, g=np.zeros(120))
    rates = estimate(replace(evidence, g=np.zeros(400), gold=gold))
    for group in (0, 1):
        positives = (gold.group == group) & (gold.correct == 1)
        expected = evidence.f_gold[:, positives].mean(axis=1)
        np.testing.assert_allclose(rates.rate[:, group], expected)


def test_a_gold_item_of_weight_two_counts_like_two_gold_items():
    evidence = make_evidence(np.random.default_rng(7))
    gold = evidence.gold
    double = replace(evidence, gold=replace(gold, weight=np.where(np.arange(120) < 30, 2.0, 1.0)))
    index = np.concatenate([np.arange(120), np.arange(30)])
    repeated = replace(
        evidence,
        gold=GoldEvidence(*(getattr(gold, name)[index] for name in gold.__dataclass_fields__)),
        f_gold=evidence.f_gold[:, index],
        f_spread=evidence.f_spread[:, index],
    )
    np.testing.assert_allclose(estimate(double).rate, estimate(repeated).rate)


@pytest.mark.parametrize("scale", [1e-3, 1000.0])
def test_only_the_ratio_of_weights_matters(scale):
    evidence = make_evidence(np.random.default_rng(8), weighted=True)
    scaled = replace(evidence, gold=replace(evidence.gold, weight=evidence.gold.weight * scale))
    one, other = estimate(evidence), estimate(scaled)
    np.testing.assert_allclose(other.rate, one.rate)
    np.testing.assert_allclose(other.gold_influence, one.gold_influence)


# --- the other metrics


def test_the_four_metrics_are_complements_of_each_other():
    evidence = make_evidence(np.random.default_rng(9), n_rows=3000, n_gold=600)
    rate, gap, error = {}, {}, {}
    for metric in ("tpr", "fpr", "tnr", "fnr"):
        rates = estimate(for_metric(evidence, METRICS[metric]))
        rate[metric] = rates.rate
        gap[metric] = rates.rate[:, 1] - rates.rate[:, 0]
        error[metric] = rates.own_variance
    np.testing.assert_allclose(rate["fnr"], 1 - rate["tpr"], atol=1e-12)
    np.testing.assert_allclose(rate["tnr"], 1 - rate["fpr"], atol=1e-12)
    np.testing.assert_allclose(gap["fnr"], -gap["tpr"], atol=1e-12)
    np.testing.assert_allclose(gap["tnr"], -gap["fpr"], atol=1e-12)
    np.testing.assert_allclose(error["fnr"], error["tpr"])
    np.testing.assert_allclose(error["tnr"], error["fpr"])
    assert np.abs(rate["fpr"] - rate["tpr"]).max() > 0.01


def test_the_false_positive_rate_is_the_rate_among_items_where_no_is_right():
    oracle = Oracle()
    x = np.linspace(-2, 2, 20_001)
    expected = []
    for group in (0, 1):
        f, wrong = oracle.chance(oracle.f, group, x), 1 - oracle.chance(oracle.g, group, x)
        expected.append((f * wrong).sum() / wrong.sum())
    rng = np.random.default_rng(10)
    evidence, _ = oracle.draw(rng, rows_per_group=40_000, gold_per_group=10_000)
    found = estimate(for_metric(evidence, METRICS["fpr"])).rate[0]
    np.testing.assert_allclose(found, expected, atol=0.015)


# --- draws from a known truth

WRONG_F = ((1.0, -0.8), (-1.0, -0.5))
WRONG_G = ((0.5, -1.0), (0.2, -0.6))
DRAWS = 400


@functools.cache
def draw_gaps(f_believed, g_believed, draws: int = DRAWS) -> tuple[np.ndarray, ...]:
    """Return gaps, their standard errors, and the true gaps on the rows, in independent draws."""
    oracle, rng = Oracle(), np.random.default_rng(11)
    gaps, errors, truths = [], [], []
    for _ in range(draws):
        evidence, right = oracle.draw(rng, f_believed=f_believed, g_believed=g_believed)
        rates = estimate(evidence)
        gaps.append(rates.rate[0, 1] - rates.rate[0, 0])
        errors.append(
            np.sqrt(sum(variance(rates, evidence.gold.group, 0, group) for group in (0, 1)))
        )
        found, total = evidence.cell_sum(right * evidence.decision), evidence.cell_sum(right)
        truths.append(found[0, 1] / total[0, 1] - found[0, 0] / total[0, 0])
    return np.array(gaps), np.array(errors), np.array(truths)


EITHER_RIGHT = pytest.mark.parametrize(
    ("f_believed", "g_believed"),
    [(None, None), (None, WRONG_G), (WRONG_F, None)],
    ids=["both right", "g wrong", "f wrong"],
)


@EITHER_RIGHT
def test_the_gap_is_right_if_either_model_is_right(f_believed, g_believed):
    gaps, _, truths = draw_gaps(f_believed, g_believed)
    expected = Oracle().rate(1) - Oracle().rate(0)
    # Rates are ratios and clipped, so a bias of order 1/n is left.
    assert abs(gaps.mean() - expected) < 3 * gaps.std() / np.sqrt(DRAWS) + 0.005
    assert abs((gaps - truths).mean()) < 3 * gaps.std() / np.sqrt(DRAWS) + 0.005


@EITHER_RIGHT
def test_the_interval_covers_the_rates_of_the_labelers_own_items_if_either_model_is_right(
    f_believed, g_believed
):
    gaps, errors, truths = draw_gaps(f_believed, g_believed)
    covered = (np.abs(gaps - truths) <= Z * errors).mean()
    least = NOMINAL - 3 * np.sqrt(NOMINAL * (1 - NOMINAL) / DRAWS)
    assert covered > least
    if g_believed is None:
        assert covered < 0.96
        # Not only the tails: the standard errors are the size of the errors.
        assert errors.mean() == pytest.approx((gaps - truths).std(), rel=0.15)


def test_with_both_models_wrong_the_gap_is_off_by_the_product_of_their_errors():
    oracle = Oracle()
    x = np.linspace(-2, 2, 20_001)
    expected = []
    for group in (0, 1):
        f, g = oracle.chance(oracle.f, group, x), oracle.chance(oracle.g, group, x)
        wrong_f, wrong_g = (oracle.chance(line, group, x) for line in (WRONG_F, WRONG_G))
        rate = oracle.rate(group) - ((wrong_f - f) * (wrong_g - g)).mean() / g.mean()
        expected.append(min(max(rate, 0.0), 1.0))
    gaps, *_ = draw_gaps(WRONG_F, WRONG_G, draws=100)
    assert abs(expected[1] - expected[0] - (oracle.rate(1) - oracle.rate(0))) > 0.1
    assert gaps.mean() == pytest.approx(expected[1] - expected[0], abs=0.04)


def test_more_gold_and_more_labels_make_the_error_smaller():
    oracle, rng = Oracle(), np.random.default_rng(12)
    base = estimate(oracle.draw(rng)[0])
    more_gold = estimate(oracle.draw(rng, gold_per_group=1500)[0])
    more_rows = estimate(oracle.draw(rng, rows_per_group=4000)[0])
    gold = [(rates.gold_influence**2).sum() for rates in (base, more_gold)]
    assert gold[1] == pytest.approx(gold[0] / 10, rel=0.35)
    assert more_rows.own_variance.sum() == pytest.approx(base.own_variance.sum() / 10, rel=0.25)


# --- little to go by


def test_somebody_with_three_unanimous_decisions_is_not_known_exactly():
    evidence = make_evidence(np.random.default_rng(13), n_labelers=1, n_rows=6)
    evidence = replace(evidence, group=np.array([0, 0, 0, 1, 1, 1]), decision=np.ones(6, dtype=int))
    rates = estimate(evidence)
    assert (np.sqrt(rates.own_variance) > 0.1).all()


def test_a_group_without_labels_has_no_rate_rather_than_zero():
    evidence = make_evidence(np.random.default_rng(14), n_labelers=2)
    kept = (evidence.place != 1) | (evidence.group != 0)
    names = ("place", "group", "decision", "item", "f", "g")
    evidence = replace(evidence, **{name: getattr(evidence, name)[kept] for name in names})
    rates = estimate(evidence)
    assert np.isnan(rates.rate[1, 0])
    assert np.isfinite(rates.rate[[0, 0, 1], [0, 1, 1]]).all()


def test_where_nothing_can_have_been_right_there_is_no_rate():
    """Gold says no to all and the labeler's items look worse still: the denominator is negative."""
    evidence = make_evidence(np.random.default_rng(15), n_labelers=1)
    gold = replace(evidence.gold, correct=np.zeros(120, dtype=int), g=np.full(120, 0.2))
    rates = estimate(replace(evidence, g=np.full(400, 0.1), gold=gold))
    assert np.isnan(rates.rate).all()


def test_rates_stay_within_zero_and_one():
    rng = np.random.default_rng(16)
    for _ in range(50):
        rates = estimate(make_evidence(rng, n_rows=12, n_gold=8)).rate
        assert ((rates >= 0) & (rates <= 1) | np.isnan(rates)).all()


def test_the_allowance_for_steps_is_what_both_models_miss_of_the_same_step():
    """Yes follows from a score, known up to a normal error: both models turn steps into slopes.

    f and g miss the same step alike, so the allowance is what the rate misses: the mean of
    ``(f - Y') * (g - Y)``, over the share of yes. It is drawn here, beside the formula.
    """
    rng = np.random.default_rng(11)
    n = 20_000
    evidence = make_evidence(rng, n_labelers=1, n_groups=1, n_rows=n, n_gold=n)
    score = rng.uniform(-8, 8, n)
    step = score > 0
    slope = norm.cdf(score + rng.normal(size=n))
    again = norm.cdf(score + rng.normal(size=n))
    spread = np.full(n, ((slope - again) ** 2).mean() / 2)
    gold = replace(
        evidence.gold, g=slope, g_spread=spread, correct=step.astype(int), weight=np.ones(n)
    )
    rates = estimate(
        replace(evidence, gold=gold, g=slope, f=slope, f_gold=slope[None], f_spread=spread[None])
    )
    missed = ((slope - step) ** 2).mean() / step.mean()
    assert rates.allowance[0, 0] == pytest.approx(missed, rel=0.1)
    assert rates.model_variance[0, 0] == pytest.approx(missed**2, rel=0.2)


def test_a_model_that_differs_between_folds_asks_for_an_allowance():
    evidence = make_evidence(np.random.default_rng(17))
    steady, shaky = (
        estimate(replace(evidence, f_spread=np.full((3, 120), spread))).allowance
        for spread in (0.0, 0.02)
    )
    np.testing.assert_allclose(steady, 0.0)
    assert (shaky > 0).all()


# --- direct evidence and repeated judgements


def labeled_gold(rng: np.random.Generator, n_gold: int = 120, n_labelers: int = 1) -> Evidence:
    """Return labelers who judged all gold items and nothing else."""
    evidence = make_evidence(rng, n_labelers=n_labelers, n_rows=n_labelers * n_gold, n_gold=n_gold)
    item = np.tile(np.arange(n_gold), n_labelers)
    return replace(
        evidence,
        place=np.repeat(np.arange(n_labelers), n_gold),
        group=evidence.gold.group[item],
        g=evidence.gold.g[item],
        item=item,
        gold=replace(evidence.gold, item=np.arange(n_gold)),
        direct=Direct(row=np.arange(n_labelers * n_gold), gold=item),
    )


def test_where_all_gold_items_were_labeled_too_the_rate_is_counted():
    """The pairs (Y', Y) are there, so no model matters: the rate is plain counting."""
    evidence = labeled_gold(np.random.default_rng(18), n_labelers=2)
    rates = estimate(evidence)
    for labeler in range(2):
        decision = evidence.decision[evidence.place == labeler]
        for group in (0, 1):
            positives = (evidence.gold.group == group) & (evidence.gold.correct == 1)
            assert rates.rate[labeler, group] == pytest.approx(decision[positives].mean())


def test_a_counted_rate_is_at_least_as_certain_as_a_share():
    """What the rows and gold have in common is not counted as two sources of error."""
    evidence = labeled_gold(np.random.default_rng(19), n_gold=2000)
    rates = estimate(evidence)
    for group in (0, 1):
        positives = (evidence.gold.group == group) & (evidence.gold.correct == 1)
        p = evidence.decision[positives].mean()
        found = variance(rates, evidence.gold.group, 0, group)
        assert 0 <= found < 1.05 * p * (1 - p) / positives.sum()


def test_somebody_who_judged_a_gold_item_twice_counts_with_their_mean():
    evidence = labeled_gold(np.random.default_rng(20))
    twice = np.repeat(np.arange(120), 2)
    decision = evidence.decision[twice]
    decision[::2] = 1
    names = ("place", "group", "item", "f", "g")
    evidence = replace(
        evidence,
        decision=decision,
        direct=Direct(row=np.arange(240), gold=twice),
        **{name: getattr(evidence, name)[twice] for name in names},
    )
    rates = estimate(evidence)
    for group in (0, 1):
        positives = (evidence.gold.group == group) & (evidence.gold.correct == 1)
        expected = decision.reshape(-1, 2).mean(axis=1)[positives].mean()
        assert rates.rate[0, group] == pytest.approx(expected)


def test_judging_the_same_items_twice_in_the_same_way_adds_no_certainty():
    evidence = make_evidence(np.random.default_rng(21), n_labelers=1, n_rows=400)
    twice = np.repeat(np.arange(400), 2)
    names = ("place", "group", "decision", "item", "f", "g")
    repeated = replace(evidence, **{name: getattr(evidence, name)[twice] for name in names})
    once, again = estimate(evidence), estimate(repeated)
    np.testing.assert_allclose(again.rate, once.rate)
    np.testing.assert_allclose(again.own_variance, once.own_variance, rtol=0.02)


def test_it_is_known_by_its_name():
    assert estimator("mdba_dr").estimate is estimate
    assert estimator("mdba_dr").needs_models
