"""Rules of everybody and of each labeler: cross-fitted, and independent of who else is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from mdba_checks.estimation.labelers import N_FOLDS, Rows
from mdba_checks.estimation.labelers.rules import (
    OwnRules,
    fit_own_rules,
    fit_pooled_rule,
    rule_logit,
)
from tests.helpers import make_rows, some_of

RATE = np.full((N_FOLDS, 2), 0.5)


@pytest.fixture(scope="module")
def rows() -> Rows:
    return make_rows(np.random.default_rng(1), [40, 300, 12, 310, 1000])


def fit(rows: Rows) -> OwnRules:
    return fit_own_rules(rows, fit_pooled_rule(rows, n_groups=2), RATE)


def test_each_labeler_is_fitted_as_if_the_others_were_not_there(rows):
    pooled = fit_pooled_rule(rows, n_groups=2)
    together = fit_own_rules(rows, pooled, RATE)
    for code in range(5):
        own = np.flatnonzero(rows.labeler == code)
        alone = fit_own_rules(some_of(rows, own), pooled, RATE)
        np.testing.assert_allclose(alone.logit, together.logit[own], atol=1e-7)
        np.testing.assert_allclose(alone.coef[:, :, 0], together.coef[:, :, code], atol=1e-7)
        np.testing.assert_allclose(alone.rate[:, 0], together.rate[:, code])


def test_the_smoothed_rate_is_counted_in_the_training_folds_only(rows):
    own = fit(rows)
    for fold in range(N_FOLDS):
        for code in range(5):
            for group in (0, 1):
                train = (rows.labeler == code) & (rows.group == group) & (rows.fold != fold)
                yes, n = rows.decision[train].sum(), train.sum()
                rate = own.rate[fold, code, group]
                # Between what was counted and the pooled rate, nearer to the count with more rows.
                assert min(yes / n, 0.5) - 1e-12 <= rate <= max(yes / n, 0.5) + 1e-12
                assert n < 100 or rate == pytest.approx(yes / n, abs=0.05)


def test_a_logit_on_a_row_is_that_of_the_models_that_did_not_see_its_fold(rows):
    pooled = fit_pooled_rule(rows, n_groups=2)
    own = fit_own_rules(rows, pooled, RATE)
    for row in range(0, len(rows), 50):
        fold, code = rows.fold[row], rows.labeler[row]
        for pull in range(own.logit.shape[1]):
            expected = rule_logit(
                own.coef[fold, pull, code],
                pooled,
                int(fold),
                rows.linear[[row]],
                rows.group[[row]],
            )
            assert own.logit[row, pull] == pytest.approx(float(expected[0]), abs=1e-9)


def test_the_models_of_a_row_hardly_know_its_label():
    """Turn round ten labels of one fold: models that saw them move, those of the fold do not."""
    rows = make_rows(np.random.default_rng(2), [400, 400])
    turned = np.flatnonzero(rows.fold == 0)[:10]
    decision = rows.decision.copy()
    decision[turned] = 1 - decision[turned]
    changed = replace(rows, decision=decision)
    coefficients = []
    for each in (rows, changed):
        pooled = fit_pooled_rule(each, n_groups=2)
        coefficients.append((pooled.coef, fit_own_rules(each, pooled, RATE)))
    (pooled_before, before), (pooled_after, after) = coefficients
    moved = np.abs(after.coef - before.coef).max(axis=(1, 2, 3, 4))  # per held-out fold
    assert moved[0] < 0.05 * moved[1:].min()
    moved = np.abs(pooled_after - pooled_before).max(axis=(0, 1, 2))
    assert moved[0] < 0.05 * moved[1:].min()


def test_somebody_with_many_labels_speaks_for_themselves_and_somebody_with_few_for_everybody():
    """One labeler turns the common rule round; with 3000 labels it shows, with 12 hardly."""
    rng = np.random.default_rng(3)
    rows = make_rows(rng, [3000, 3000, 3000, 12])
    chance = expit(2 * rows.linear[:, 0])
    odd = np.isin(rows.labeler, [2, 3])
    decision = (rng.random(len(rows)) < np.where(odd, 1 - chance, chance)).astype(int)
    own = fit(replace(rows, decision=decision))
    slope = own.coef[:, :, :, :, 1].mean(axis=(0, 3))  # (pulls, labelers)
    assert (slope[:, :2] > 1).all()
    assert (slope[:, 2] < -1).all()
    assert slope[0, 3] > slope[0, 2] + 1
    # The strong pull keeps nearer to everybody than the weak one.
    assert slope[0, 3] > slope[1, 3]


@pytest.mark.parametrize("n_groups", [2, 3])
def test_swapping_the_codes_of_groups_swaps_the_rules(n_groups):
    rows = make_rows(np.random.default_rng(4), [200, 90], n_groups=n_groups)
    turn = np.roll(np.arange(n_groups), 1)
    turned = replace(rows, group=turn[rows.group])
    rate = np.full((N_FOLDS, n_groups), 0.5)
    one, other = (
        fit_own_rules(each, fit_pooled_rule(each, n_groups=n_groups), rate)
        for each in (rows, turned)
    )
    np.testing.assert_allclose(other.logit, one.logit, atol=1e-7)
    np.testing.assert_allclose(other.coef[..., turn, :], one.coef, atol=1e-7)


def test_a_labeler_without_rows_in_a_group_or_a_fold_still_has_a_rule():
    rows = make_rows(np.random.default_rng(5), [100, 20])
    kept = (rows.labeler == 0) | ((rows.group == 0) & (rows.fold == 1))
    own = fit(some_of(rows, np.flatnonzero(kept)))
    assert np.isfinite(own.coef).all()
    assert np.isfinite(own.logit).all()
