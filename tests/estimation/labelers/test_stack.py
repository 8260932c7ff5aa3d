from __future__ import annotations

import numpy as np
from scipy.special import expit

from mdba_checks.estimation.labelers.stack import fit_own_stacks, fit_stack, stacked


def everybody(logits, group, decision) -> np.ndarray:
    """Return the pooled weights without each fold in turn."""
    return fit_stack(logits, group, decision, np.arange(len(group)) % 3, n_groups=2)


def make_logits(seed: int, n: int = 6000) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (true logit, group, decision, generator): what the models are made from."""
    rng = np.random.default_rng(seed)
    true = rng.normal(0, 1.5, n)
    group = rng.integers(2, size=n)
    return true, group, (rng.random(n) < expit(true)).astype(int), rng


def test_the_model_that_is_right_is_believed_and_the_noise_is_not():
    true, group, decision, rng = make_logits(1)
    logits = np.column_stack([true, rng.normal(size=(len(true), 2))])
    weights = everybody(logits, group, decision).mean(axis=0)
    assert weights.shape == (1, 2, 4)
    np.testing.assert_allclose(weights[0, :, 1], 1.0, atol=0.15)
    np.testing.assert_allclose(weights[0, :, 2:], 0.0, atol=0.12)
    found = expit(stacked(weights[0, group], logits))
    assert np.abs(found - expit(true)).mean() < 0.02


def test_models_that_are_too_sure_in_one_group_are_toned_down_there():
    true, group, decision, _ = make_logits(2)
    logits = (true * np.where(group == 1, 3.0, 1.0) + np.where(group == 1, 1.0, 0.0))[:, None]
    weights = everybody(logits, group, decision).mean(axis=0)
    np.testing.assert_allclose(weights[0, :, 1], [1.0, 1 / 3], atol=0.1)
    np.testing.assert_allclose(weights[0, :, 0], [0.0, -1 / 3], atol=0.15)


def test_on_coin_flips_the_stack_believes_nobody():
    rng = np.random.default_rng(3)
    labeler = np.repeat(np.arange(20), 300)
    group = rng.integers(2, size=6000)
    logits = rng.normal(0, 1.5, (6000, 4))
    decision, fresh = rng.integers(2, size=(2, 6000))
    pooled = everybody(logits, group, decision)
    np.testing.assert_allclose(pooled[..., 1:], 0.0, atol=0.1)
    fold = np.arange(6000) % 3
    own = fit_own_stacks(logits, labeler, group, decision, fold, pooled).mean(axis=0)
    f = expit(stacked(own[labeler, group], logits))
    # On other flips of the coin it is not much worse than somebody who says 0.5 throughout.
    assert ((f - fresh) ** 2).mean() < 0.27


def test_a_labelers_own_weights_are_near_everybodys_with_few_rows_and_free_with_many():
    rng = np.random.default_rng(4)
    sizes = [4000, 4000, 10]
    labeler = np.repeat(np.arange(3), sizes)
    true = rng.normal(0, 2, (len(labeler), 2))
    # Labelers 1 and 2 follow the second model, labeler 0 the first.
    follows = np.where(labeler == 0, true[:, 0], true[:, 1])
    decision = (rng.random(len(labeler)) < expit(follows)).astype(int)
    group = rng.integers(2, size=len(labeler))
    pooled = np.tile([0, 0.5, 0.5], (3, 1, 2, 1))
    fold = np.arange(len(labeler)) % 3
    own = fit_own_stacks(true, labeler, group, decision, fold, pooled).mean(axis=0)
    np.testing.assert_allclose(own[0, :, 1:], [[1, 0], [1, 0]], atol=0.15)
    np.testing.assert_allclose(own[1, :, 1:], [[0, 1], [0, 1]], atol=0.15)
    assert np.abs(own[2] - pooled[0, 0]).max() < 0.4


def test_weights_come_in_the_order_of_labeler_codes():
    true, group, decision, rng = make_logits(5, n=900)
    labeler = rng.choice([3, 40, 7], size=900, p=[0.1, 0.6, 0.3])
    logits = np.column_stack([true, rng.normal(size=900)])
    pooled = everybody(logits, group, decision)
    fold = np.arange(900) % 3
    together = fit_own_stacks(logits, labeler, group, decision, fold, pooled)
    for place, code in enumerate([3, 7, 40]):
        own = labeler == code
        alone = fit_own_stacks(
            logits[own], labeler[own], group[own], decision[own], fold[own], pooled
        )
        np.testing.assert_allclose(together[:, place], alone[:, 0], atol=1e-8)


def test_stacking_is_a_weighted_sum():
    weights, logits = np.array([0.5, 2.0, -1.0]), np.array([[1.0, 1.0], [0.0, 3.0]])
    np.testing.assert_allclose(stacked(weights, logits), [1.5, -2.5])
