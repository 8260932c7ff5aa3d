from __future__ import annotations

import numpy as np

from mdba_checks.estimation.estimators import for_metric
from mdba_checks.metrics import METRICS
from tests.helpers import make_evidence


def test_every_metric_asks_about_the_right_decisions_and_the_right_answers():
    evidence = make_evidence(np.random.default_rng(1))
    said, right = evidence.decision, evidence.gold.correct
    for metric, decision, correct in (
        ("tpr", said, right),
        ("fpr", said, 1 - right),
        ("tnr", 1 - said, 1 - right),
        ("fnr", 1 - said, right),
    ):
        asked = for_metric(evidence, METRICS[metric])
        np.testing.assert_array_equal(asked.decision, decision)
        np.testing.assert_array_equal(asked.gold.correct, correct)
        # The models turn together with what they predict.
        assert (np.sign(asked.f - 0.5) == np.sign(evidence.f - 0.5)).all() == (decision is said)
        assert np.allclose(asked.g, evidence.g) == (correct is right)
        assert np.allclose(asked.gold.g, evidence.gold.g) == (correct is right)
        assert np.allclose(asked.f_gold, evidence.f_gold) == (decision is said)


def test_turning_twice_changes_nothing():
    evidence = make_evidence(np.random.default_rng(2))
    for metric in ("fpr", "tnr", "fnr"):
        again = for_metric(for_metric(evidence, METRICS[metric]), METRICS[metric])
        np.testing.assert_array_equal(again.decision, evidence.decision)
        np.testing.assert_allclose(again.f_gold, evidence.f_gold)
        np.testing.assert_allclose(again.gold.g, evidence.gold.g)


def test_means_and_sums_per_labeler_and_group_are_those_of_loops():
    evidence = make_evidence(np.random.default_rng(3), n_labelers=4, n_groups=3)
    values = np.random.default_rng(4).normal(size=400)
    for labeler in range(4):
        for group in range(3):
            own = [
                values[row]
                for row in range(400)
                if evidence.place[row] == labeler and evidence.group[row] == group
            ]
            assert evidence.n_labels[labeler, group] == len(own)
            assert np.isclose(evidence.cell_sum(values)[labeler, group], sum(own))
            assert np.isclose(evidence.cell_mean(values)[labeler, group], sum(own) / len(own))
