"""Lack of fit: found where residuals follow from the features, and not where they do not."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig
from mdba_checks.estimation.lack_of_fit import measure_lack_of_fit
from mdba_checks.tables import Data, load


def make_data(seed: int, n: int = 4000, n_gold: int = 600) -> Data:
    rng = np.random.default_rng(seed)
    labels = pd.DataFrame({"labeler": rng.choice(["a", "b"], n), "label": rng.integers(0, 2, n)})
    gold = pd.DataFrame({"gold": rng.integers(0, 2, n_gold)})
    for table in (labels, gold):
        table["group"] = rng.choice(["men", "women"], len(table))
        for name in ("x", "y", "z"):
            table[name] = rng.normal(size=len(table))
    return load(labels, gold, CheckConfig())


def test_coins_leave_nothing_in_nearly_all_draws():
    p_values = []
    for seed in range(40):
        data = make_data(seed)
        fit = measure_lack_of_fit(data, np.full(len(data.labels), 0.5), np.full(600, 0.5))
        p_values += [*fit.p_f, *fit.p_g]
    assert np.mean(np.array(p_values) < 0.05) < 0.12


def test_what_models_miss_is_found_in_its_group_and_size():
    """Decisions depend on x in one group by 0.1 a standard deviation, and f says 0.5 to all."""
    data = make_data(50, n=20_000, n_gold=2000)
    rng = np.random.default_rng(51)
    women = data.groups.index("women")

    def drawn(group: np.ndarray, x: np.ndarray) -> np.ndarray:
        chance = 0.5 + np.where(group == women, 0.1 * x, 0.0)
        return (rng.random(len(x)) < chance).astype(int)

    labels, gold = data.labels, data.gold
    x = labels.linear[:][:, 0]
    object.__setattr__(labels, "decision", drawn(labels.group, x))
    object.__setattr__(gold, "correct", drawn(gold.group, gold.linear[:, 0]))
    fit = measure_lack_of_fit(data, np.full(len(labels), 0.5), np.full(2000, 0.5))
    assert fit.p_f[women] < 1e-6
    assert fit.p_g[women] < 1e-3
    assert fit.p_f[1 - women] > 0.001
    np.testing.assert_allclose(fit.f[women], 0.1, atol=0.03)
    np.testing.assert_allclose(fit.product[women], 0.01, atol=0.006)


def test_a_product_of_two_features_is_found_too():
    data = make_data(60, n=20_000)
    rng = np.random.default_rng(61)
    x, y = data.labels.linear[:][:, 0], data.labels.linear[:][:, 1]
    chance = np.clip(0.5 + 0.15 * np.sign(x * y), 0, 1)
    object.__setattr__(data.labels, "decision", (rng.random(len(x)) < chance).astype(int))
    fit = measure_lack_of_fit(data, np.full(len(x), 0.5), np.full(600, 0.5))
    assert (fit.p_f < 1e-6).all()


def test_too_few_items_are_not_judged():
    data = make_data(70, n_gold=40)
    fit = measure_lack_of_fit(data, np.full(len(data.labels), 0.5), np.full(40, 0.5))
    assert np.isnan(fit.f).all()
    assert (fit.product == 0).all()
