"""Draws have the chances that their weights say, and sums over rounds are right on average."""

from __future__ import annotations

import time

import numpy as np
import pytest

from mdba_checks.findings.gold_choice import (
    Look,
    Wanted,
    Worth,
    chances,
    combined_weights,
    draw,
    find_families,
    worth_of,
)


def items(n: int = 400, seed: int = 0) -> tuple[Worth, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 0.3).astype(int)
    return worth_alike(rng.exponential(size=n) ** 2), group, np.arange(n)


def worth_alike(believed: np.ndarray) -> Worth:
    """Return worth of items that would all tell as much if models say nothing."""
    return Worth(believed, np.ones(len(believed)))


def test_every_item_is_drawn_as_often_as_its_chance_says():
    worth, group, family = items(60)
    family = family // 2  # pairs
    group = np.repeat(group[:30], 2)
    found = chances(worth, group, family, 12)
    drawn = np.concatenate([draw(found.probability, group, family, seed) for seed in range(4000)])
    often = np.bincount(drawn, minlength=60) / 4000
    error = np.sqrt(found.probability * (1 - found.probability) / 4000)
    assert (np.abs(often - found.probability) < 4.5 * error + 1e-9).all()


@pytest.mark.parametrize("seed", range(5))
def test_exactly_as_many_items_are_drawn_as_asked_for(seed):
    worth, group, family = items()
    found = chances(worth, group, family, 57)
    drawn = draw(found.probability, group, family, seed)
    assert len(drawn) == len(set(drawn)) == 57
    expected = np.bincount(group, found.probability)
    assert (np.abs(np.bincount(group[drawn]) - expected) < 1).all()


def test_the_same_seed_draws_the_same_items_and_another_seed_others():
    worth, group, family = items()
    probability = chances(worth, group, family, 40).probability
    first, again, other = (draw(probability, group, family, seed) for seed in (7, 7, 8))
    assert first.tolist() == again.tolist()
    assert set(first) != set(other)


def test_no_weight_is_more_than_four_times_that_of_random_draws():
    _, group, family = items()
    believed = np.random.default_rng(1).exponential(size=400) ** 6
    # A worth that is right whatever models say needs no safety.
    found = chances(Worth(believed, believed), group, family, 2)
    assert found.doubt == 0
    for code in (0, 1):
        random = 1 / (group == code).sum()  # two draws, shared equally by two groups
        assert (1 / found.probability[group == code] <= 4 / random * (1 + 1e-9)).all()


@pytest.mark.parametrize("power", [1, 2, 6])
def test_where_models_are_worthless_a_tenth_is_lost_at_most(power):
    """By the formula of a weighted mean, with every item of a group equally open."""
    rng = np.random.default_rng(power)
    group = (rng.random(2000) < 0.3).astype(int)
    worth = worth_alike(rng.exponential(size=2000) ** power)
    found = chances(worth, group, np.arange(2000), 10)
    random = 5 / np.bincount(group)[group]
    loss = (1 / found.probability).sum() / (1 / random).sum()
    assert loss <= 1.1 + 1e-9
    assert found.doubt > 0


def test_asking_for_more_items_than_there_are_draws_them_all():
    worth, group, family = items(30)
    probability = chances(worth, group, family, 500).probability
    assert sorted(draw(probability, group, family, 0)) == list(range(30))


def test_items_without_any_worth_are_drawn_at_random_within_groups():
    _, group, family = items()
    found = chances(Worth(np.zeros(400), np.zeros(400)), group, family, 40)
    assert np.bincount(group, found.probability) == pytest.approx([20, 20])
    assert np.ptp(found.probability[group == 0]) == pytest.approx(0, abs=1e-12)


def test_only_one_of_several_near_duplicates_is_drawn():
    rng = np.random.default_rng(1)
    features = np.repeat(rng.standard_normal((50, 8)), 4, axis=0)
    features += 0.003 * rng.standard_normal(features.shape)
    group = np.repeat(np.arange(50) % 2, 4)
    family = find_families(features, group, None)
    assert len(np.unique(family)) == 50
    probability = chances(worth_alike(np.ones(200)), group, family, 30).probability
    for seed in range(20):
        drawn = draw(probability, group, family, seed)
        assert len(drawn) == len(set(drawn // 4)) == 30


def test_different_items_with_few_feature_values_are_not_taken_for_copies():
    rng = np.random.default_rng(2)
    features = rng.integers(2, size=(400, 2)).astype(float)
    family = find_families(features, np.zeros(400, dtype=int), None)
    assert len(np.unique(family)) == 400


def test_named_families_are_kept_as_they_are():
    family = find_families(
        np.random.default_rng(3).standard_normal((6, 2)),
        np.zeros(6, dtype=int),
        np.array([5, 5, 9, 9, 2, 2]),
    )
    assert family[0] == family[1] != family[2] == family[3] != family[4] == family[5]


def test_worth_halves_the_variance_where_few_items_are_open():
    """By the formula of a weighted mean, with the residuals known."""
    rng = np.random.default_rng(4)
    score = 20 * rng.standard_normal(20_000)
    g, f = 1 / (1 + np.exp(-score)), 1 / (1 + np.exp(-score + 2))
    group = np.zeros(len(g), dtype=int)
    worth = worth_of(Wanted(f[None], np.ones((1, 1))), g, group, n_judged=10_000)
    rate = (f * g).sum() / g.sum()
    open_part = (f - rate) ** 2 * g * (1 - g)

    def variance(probability: np.ndarray) -> float:
        return float((open_part / probability).sum())

    chosen = variance(chances(worth, group, np.arange(len(g)), 200).probability)
    random = variance(np.full(len(g), 200 / len(g)))
    best = np.sqrt(open_part).sum() ** 2 / 200
    assert best < chosen < 0.5 * random


def test_sums_over_rounds_are_right_whatever_the_next_round_makes_of_the_last():
    """Each round goes where the last one found ones: still the share of ones is found."""
    rng = np.random.default_rng(5)
    n = 120
    truth = (rng.random(n) < np.linspace(0, 0.8, n)).astype(float)
    one_group = np.zeros(n, dtype=int)
    estimates = []
    for seed in range(1500):
        judged, turn, inverse = (np.empty(0, dtype=kind) for kind in (int, int, float))
        for number in (1, 2, 3):
            free = np.setdiff1d(np.arange(n), judged)
            near = truth[judged] @ np.exp(-abs(free - judged[:, None]) / 10) + 0.1
            alone = np.arange(len(free))
            probability = chances(worth_alike(near), one_group[free], alone, 10).probability
            drawn = draw(probability, one_group[free], alone, 10 * seed + number)
            judged, turn = np.append(judged, free[drawn]), np.append(turn, [number] * 10)
            inverse = np.append(inverse, 1 / probability[drawn])
        weight = combined_weights(inverse, turn, one_group[judged])
        estimates.append(weight @ truth[judged] / n)
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - truth.mean()) < 3.5 * error
    assert error < 0.003


def test_the_error_that_intervals_may_make_is_never_spent_twice():
    for planned in (1, 2, 3, 4, 5):
        spent = [1 - Look(number, planned).confidence(0.9) for number in range(1, 30)]
        assert sum(spent) <= 0.1 + 1e-12
        assert max(spent) == spent[planned - 1] >= 0.05 - 1e-12


def test_a_million_items_are_drawn_from_in_seconds():
    worth, group, family = items(1_000_000)
    begin = time.perf_counter()
    drawn = draw(chances(worth, group, family, 200).probability, group, family, 0)
    assert len(drawn) == 200
    assert time.perf_counter() - begin < 10
