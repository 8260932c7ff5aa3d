"""People with few labels are described by the average labeler: same numbers, less work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.crowd_simulation import Shape, simulate_crowd
from mdba_checks import CheckConfig, assess
from mdba_checks.estimation.estimators import Rates, with_slope
from mdba_checks.estimation.estimators.mdba_dr import estimate
from tests.helpers import make_evidence


def both_ways(rng):
    """Return the rates of labelers with one f: written out for each of them, and kept once."""
    evidence = make_evidence(rng, n_labelers=4, weighted=True)
    f, spread = evidence.f_gold[:1], evidence.f_spread[:1]
    each = replace(evidence, f_gold=np.repeat(f, 4, axis=0), f_spread=np.repeat(spread, 4, axis=0))
    return (
        evidence,
        estimate(each),
        estimate(replace(each, f_gold=f, f_spread=spread, averaged=True)),
    )


def test_one_f_for_all_gives_what_it_gives_written_out_for_each():
    evidence, each, once = both_ways(np.random.default_rng(4))
    slope = np.random.default_rng(5).uniform(-0.1, 0.3, each.rate.shape)
    for one, other in (
        (each, once),
        *[tuple(with_slope(rates, rates.parts, evidence, slope) for rates in (each, once))],
    ):
        assert other.gold_influence.size == 0
        np.testing.assert_allclose(other.rate, one.rate)
        np.testing.assert_allclose(other.allowance, one.allowance)
        np.testing.assert_allclose(other.influence(), one.gold_influence, atol=1e-15)


def test_influences_stay_with_their_labeler_where_some_have_an_f_of_their_own():
    _, each, once = both_ways(np.random.default_rng(6))
    mixed = Rates.joined([each, once, each]).take(np.array([9, 5, 0, 7, 2]))
    expected = np.concatenate([each.gold_influence] * 3)[[9, 5, 0, 7, 2]]
    np.testing.assert_allclose(mixed.influence(), expected, atol=1e-15)
    assert len(mixed.gold_influence) == 3  # of those with an f of their own alone


def test_who_has_many_labels_keeps_a_model_of_their_own(monkeypatch):
    made = simulate_crowd(Shape(labelers=30, labels_each=150, gold_per_group=80), seed=3)
    rank = made.labels.groupby("labeler").cumcount()
    few = made.labels["labeler"].isin(sorted(made.labels["labeler"].unique())[::3])
    labels = made.labels[~few | (rank < 40)]
    config = CheckConfig(reference="men", jobs=1)
    usual = assess(labels, made.gold, config).gaps.set_index("labeler")
    monkeypatch.setattr("mdba_checks.estimation.bucket.OWN_MODEL_LABELS", 0)
    own = assess(labels, made.gold, config).gaps.set_index("labeler")
    assert usual.index.equals(own.index)
    many = usual["n_labels"] >= 100
    assert many.sum() == 20
    moved = (usual["table_gap"] - own["table_gap"]).abs()
    assert moved[many].max() < 1e-9
    # The average labeler is another f, and hardly another answer.
    assert 0 < moved[~many].max() < 0.05
