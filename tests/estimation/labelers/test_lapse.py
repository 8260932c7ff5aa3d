"""The lapse logistic regression against scikit-learn, scipy, and coefficients that are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from mdba_checks.estimation.labelers.batches import make_batches, one_batch
from mdba_checks.estimation.labelers.lapse import (
    Rules,
    Sample,
    fit_rules,
    lapsed_logit,
    without_lapses,
)

RIDGE = 0.7


@dataclass
class Problem:
    """Rows of one person, as plain lists would hold them."""

    x: np.ndarray  # (rows, columns), without intercept
    group: np.ndarray
    decision: np.ndarray
    n_groups: int = 2

    def fit(self, *, start: Rules | None = None, towards: np.ndarray | None = None, **options):
        batch = one_batch(self.group, np.zeros_like(self.group), n_groups=self.n_groups, n_parts=1)
        centre = np.zeros((1, self.n_groups, self.x.shape[1] + 1, 1))
        if towards is not None:
            centre[0, :, :, 0] = towards
        return fit_rules(
            Sample(
                batch.gather(self.x),
                self.decision[batch.index].astype(float),
                batch.weight,
                np.ones((1, 1)),
            ),
            start or without_lapses(centre),
            towards=centre,
            **{"ridge": RIDGE, "rounds": 60, **options},
        )

    def objective(self, coef: np.ndarray, miss=0.0, slip=0.0, towards=0.0, ridge=RIDGE) -> float:
        """Return the penalised log-likelihood: yes with chance (1 - miss) s + slip (1 - s).

        The penalty is written as the prior is told: coef_group = towards + shared + own_group, all
        of variance 1 / ridge; the cheapest `shared` for given coefficients is their sum divided by
        the number of groups plus one.
        """
        miss, slip = np.broadcast_to(miss, self.n_groups), np.broadcast_to(slip, self.n_groups)
        total = 0.0
        for row in range(len(self.decision)):
            group = self.group[row]
            s = expit(coef[group, 0] + float(self.x[row] @ coef[group, 1:]))
            p = (1 - miss[group]) * s + slip[group] * (1 - s)
            total += np.log(max(p if self.decision[row] else 1 - p, 1e-300))
        moved = coef - towards
        shared = moved.sum(axis=0) / (self.n_groups + 1)
        return total - ridge / 2 * ((shared**2).sum() + ((moved - shared) ** 2).sum())


def make_problem(
    seed: int,
    n: int = 400,
    n_groups: int = 2,
    n_columns: int = 3,
    miss: tuple[float, ...] = (0.0, 0.0, 0.0),
    slip: tuple[float, ...] = (0.0, 0.0, 0.0),
    steepness: float = 1.0,
) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(seed)
    coef = steepness * rng.normal(size=(n_groups, n_columns + 1))
    x, group = rng.normal(size=(n, n_columns)), rng.integers(n_groups, size=n)
    s = expit(coef[group, 0] + np.einsum("np,np->n", x, coef[group, 1:]))
    chance = (1 - np.array(miss)[group]) * s + np.array(slip)[group] * (1 - s)
    return Problem(x, group, (rng.random(n) < chance).astype(int), n_groups), coef


# --- without lapses


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_without_lapses_it_is_the_logistic_regression_of_scikit_learn(n_groups):
    """Columns for everybody and for each group, all with the same ridge, are the same prior."""
    problem, _ = make_problem(1, n_groups=n_groups)
    with_intercept = np.column_stack([np.ones(len(problem.x)), problem.x])
    own = [with_intercept * (problem.group == code)[:, None] for code in range(n_groups)]
    model = LogisticRegression(C=1 / RIDGE, fit_intercept=False, tol=1e-10, max_iter=10_000)
    model.fit(np.hstack([with_intercept, *own]), problem.decision)
    shared, *owns = model.coef_[0].reshape(n_groups + 1, -1)
    fitted = problem.fit().coef[0, ..., 0]
    np.testing.assert_allclose(fitted, [shared + one for one in owns], atol=1e-4)


def test_the_prior_may_have_any_centre():
    problem, _ = make_problem(2, n=60)
    towards = np.random.default_rng(3).normal(size=(2, 4))
    fitted = problem.fit(towards=towards).coef[0, ..., 0]
    best = minimize(
        lambda flat: -problem.objective(flat.reshape(2, 4), towards=towards),
        np.zeros(8),
        options={"gtol": 1e-6},
    )
    np.testing.assert_allclose(fitted, best.x.reshape(2, 4), atol=1e-3)


def test_without_rows_the_rule_is_the_centre_of_the_prior():
    problem, _ = make_problem(4, n=40)
    towards = np.arange(8.0).reshape(2, 4)
    problem.group[:] = 0
    fitted = problem.fit(towards=towards, ridge=1e6).coef[0, ..., 0]
    np.testing.assert_allclose(fitted, towards, atol=1e-3)


def test_a_group_without_rows_follows_the_others_half_way():
    """With prior shared + own of equal variance, what one group shows moves the other by half."""
    problem, _ = make_problem(5, n=300)
    problem.group[:] = 0
    fitted = problem.fit().coef[0, ..., 0]
    np.testing.assert_allclose(fitted[1], fitted[0] / 2, atol=1e-5)


# --- lapses


def test_known_coefficients_and_lapse_rates_are_found():
    miss, slip = (0.12, 0.25), (0.03, 0.15)
    problem, coef = make_problem(6, n=20_000, miss=miss, slip=slip, steepness=2.5)
    begin = without_lapses(np.zeros((1, 2, 4, 1)))
    begin = Rules(begin.coef, np.full((1, 2, 1), 0.02), np.full((1, 2, 1), 0.02))
    fitted = problem.fit(start=begin, ridge=0.01, rounds=40, learn_lapses=True)
    np.testing.assert_allclose(fitted.miss[0, :, 0], miss, atol=0.02)
    np.testing.assert_allclose(fitted.slip[0, :, 0], slip, atol=0.02)
    found = fitted.coef[0, ..., 0]
    np.testing.assert_allclose(found, coef, atol=0.1 * np.abs(coef).max())
    # Ignoring the lapses flattens the rule.
    plain = problem.fit(ridge=0.01).coef[0, ..., 0]
    assert np.linalg.norm(plain) < 0.75 * np.linalg.norm(coef)


def test_with_given_lapses_the_likelihood_is_that_of_the_best_rule():
    problem, _ = make_problem(7, n=150, miss=(0.1, 0.2), slip=(0.05, 0.1), steepness=1.5)
    miss, slip = np.array([0.1, 0.2]), np.array([0.05, 0.1])
    begin = Rules(np.zeros((1, 2, 4, 1)), miss[None, :, None], slip[None, :, None])
    fitted = problem.fit(start=begin)
    best = minimize(
        lambda flat: -problem.objective(flat.reshape(2, 4), miss, slip),
        fitted.coef[0, ..., 0].ravel() + 0.1,
        options={"gtol": 1e-6},
    )
    found = problem.objective(fitted.coef[0, ..., 0], miss, slip)
    assert found == pytest.approx(-best.fun, abs=1e-3)
    np.testing.assert_array_equal(fitted.miss[0, :, 0], miss)


def test_a_lapse_is_a_chance_and_its_logit_never_reaches_certainty():
    score = np.array([-1000.0, -1.0, 0.0, 1.0, 1000.0])
    logit = lapsed_logit(score, np.array(0.1), np.array(0.05))
    expected = [0.9 * s + 0.05 * (1 - s) for s in (0.0, expit(-1.0), 0.5, expit(1.0), 1.0)]
    np.testing.assert_allclose(expit(logit), expected)
    np.testing.assert_allclose(lapsed_logit(score[1:4], np.array(0.0), np.array(0.0)), score[1:4])
    assert np.isfinite(lapsed_logit(score, np.array(0.0), np.array(0.0))).all()


# --- it does not run away


def paths(problem: Problem, ridge: float, *, lapses: bool, steps: int = 25):
    """Yield the penalised log-likelihood after every single step."""
    start = without_lapses(np.zeros((1, problem.n_groups, problem.x.shape[1] + 1, 1)))
    if lapses:
        some = np.full_like(start.miss, 0.02)
        start = Rules(start.coef, some, some)
    for _ in range(steps):
        start = problem.fit(start=start, ridge=ridge, rounds=1, steps=1, learn_lapses=lapses)
        assert np.isfinite(start.coef).all()
        yield problem.objective(
            start.coef[0, ..., 0], start.miss[0, :, 0], start.slip[0, :, 0], ridge=ridge
        )


@pytest.mark.parametrize("lapses", [False, True])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_every_step_makes_the_fit_better_even_where_one_line_sorts_out_everything(
    seed, ridge, lapses
):
    problem, _ = make_problem(seed, n=80)
    problem.decision[:] = (problem.x[:, 0] * 5 > problem.x[:, 1]).astype(int)
    likelihood = list(paths(problem, ridge, lapses=lapses))
    assert (np.diff(likelihood) > -1e-6).all()
    assert likelihood[-1] > likelihood[0]


def test_somebody_who_always_says_yes_has_a_finite_rule():
    problem, _ = make_problem(8, n=100)
    problem.decision[:] = 1
    coef = problem.fit(ridge=0.1).coef[0, ..., 0]
    assert (coef[:, 0] > 1).all()
    assert np.isfinite(coef).all()


@pytest.mark.parametrize("scale", [1e-3, 50.0])
def test_columns_of_any_size_do_not_break_it(scale):
    problem, _ = make_problem(9, n=200)
    problem.x *= scale
    assert np.isfinite(problem.fit().coef).all()


# --- many at once


def test_a_batch_of_people_is_fitted_like_one_at_a_time():
    rng = np.random.default_rng(10)
    sizes = [3, 40, 41, 55, 200]
    labeler = rng.permutation(np.repeat(np.arange(5), sizes))
    problem, _ = make_problem(11, n=len(labeler))
    none = np.zeros_like(labeler)
    shape = {"n_groups": 2, "n_parts": 1, "n_columns": 3}
    shared_batch = 0
    for batch in make_batches(labeler, problem.group, none, **shape):
        shared_batch += len(batch.labelers) > 1
        zero = np.zeros((len(batch.labelers), 2, 4, 1))
        together = fit_rules(
            Sample(
                batch.gather(problem.x),
                problem.decision[batch.index].astype(float),
                batch.weight,
                np.ones((1, 1)),
            ),
            without_lapses(zero),
            towards=zero,
            ridge=RIDGE,
            rounds=3,
        )
        for number, code in enumerate(batch.labelers):
            own = labeler == code
            alone = Problem(problem.x[own], problem.group[own], problem.decision[own]).fit(rounds=3)
            np.testing.assert_allclose(together.coef[number], alone.coef[0], atol=1e-9)
    assert shared_batch  # otherwise nothing was compared


def test_a_variant_that_may_not_see_a_part_is_the_fit_without_its_rows():
    problem, _ = make_problem(12, n=300)
    part = np.random.default_rng(13).integers(3, size=300)
    batch = one_batch(problem.group, part, n_groups=2, n_parts=3)
    zero = np.zeros((1, 2, 4, 3))
    fitted = fit_rules(
        Sample(
            batch.gather(problem.x),
            problem.decision[batch.index].astype(float),
            batch.weight,
            1.0 - np.eye(3),
        ),
        without_lapses(zero),
        towards=zero,
        ridge=RIDGE,
        rounds=60,
    )
    for held_out in range(3):
        kept = part != held_out
        rest = Problem(problem.x[kept], problem.group[kept], problem.decision[kept])
        np.testing.assert_allclose(fitted.coef[..., [held_out]], rest.fit().coef, atol=1e-5)


@pytest.mark.parametrize("learn_lapses", [False, True])
def test_swapping_the_codes_of_groups_swaps_their_rules(learn_lapses):
    problem, _ = make_problem(14, miss=(0.1, 0.2), slip=(0.1, 0.0))
    swapped = Problem(problem.x, 1 - problem.group, problem.decision)
    some = np.full((1, 2, 1), 0.02)
    begin = Rules(np.zeros((1, 2, 4, 1)), some, some)
    one, other = (
        each.fit(start=begin, rounds=4, learn_lapses=learn_lapses) for each in (problem, swapped)
    )
    np.testing.assert_allclose(one.coef, other.coef[:, ::-1], atol=1e-9)
    np.testing.assert_allclose(one.miss, other.miss[:, ::-1], atol=1e-9)
    np.testing.assert_allclose(one.slip, other.slip[:, ::-1], atol=1e-9)
