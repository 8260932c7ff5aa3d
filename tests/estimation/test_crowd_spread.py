"""Statements about a crowd hold: how much people differ, and how many are beyond a limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from mdba_checks.estimation.crowd import CrowdGold, CrowdLabels, fit_crowd, spread

LIMIT, PEOPLE, EACH, GOLD = 0.15, 80, 30, 200


def crowd(seed, *, biased):
    """Return what is said about a simulated crowd, and its true spread and share beyond."""
    rng = np.random.default_rng([seed, 9])
    n = PEOPLE * EACH
    labeler, group = np.repeat(np.arange(PEOPLE), EACH), rng.integers(2, size=n)
    score, gold_score, every = (rng.normal(-1, 2, size) for size in (n, GOLD, 2000))
    level, against = rng.normal(0, 0.5, PEOPLE), rng.normal(0, 0.05, PEOPLE)
    against[: round(biased * PEOPLE)] -= rng.uniform(1.5, 3, round(biased * PEOPLE))

    def chance(who, score, first):
        return expit(1.2 * score + level[who] + against[who] * first)

    right = expit(every)
    rate = [
        (right * chance(np.arange(PEOPLE)[:, None], every, first)).sum(axis=1) / right.sum()
        for first in (1, 0)
    ]
    gap = rate[0] - rate[1]
    said = (rng.random(n) < chance(labeler, score, group == 0)).astype(int)
    labels = CrowdLabels(labeler, group, np.arange(n), said, score[:, None], expit(score))
    gold = CrowdGold(
        np.arange(GOLD) % 2,
        n + np.arange(GOLD),
        (rng.random(GOLD) < expit(gold_score)).astype(int),
        np.ones(GOLD),
        gold_score[None, :, None],
        expit(gold_score),
    )
    found = fit_crowd(labels, gold, (0, 1), n_labelers=PEOPLE, n_groups=2).gaps
    return spread(found, LIMIT), gap.std(), (np.abs(gap) > LIMIT).mean()


@pytest.mark.parametrize("biased", [0.0, 0.2])
def test_how_much_people_differ_is_covered_whether_they_do_or_not(biased):
    found = [crowd(seed, biased=biased) for seed in range(6)]
    for statement in (
        [said.spread.low <= true <= said.spread.high for said, true, _ in found],
        [said.labelers_beyond.low <= true <= said.labelers_beyond.high for said, _, true in found],
    ):
        assert sum(statement) >= 5
    if biased:  # and the intervals say something
        assert np.mean([said.labelers_beyond.low for said, _, _ in found]) > 0.02
        assert np.mean([said.spread.low for said, _, _ in found]) > 0.04
