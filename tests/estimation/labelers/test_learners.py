"""XGBoost on raw columns, and scikit-learn classifiers in its place."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from mdba_checks.estimation.labelers import ClassifierLearner, XGBoostLearner

TYPES = ("q", "c", "q")


def make_columns(seed: int, n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and the chance of a yes: odd categories and missing numbers say yes."""
    rng = np.random.default_rng(seed)
    number = rng.normal(size=n).astype(np.float32)
    category = rng.integers(8, size=n).astype(np.float32)
    other = rng.normal(size=n).astype(np.float32)
    number[rng.random(n) < 0.2] = np.nan
    logit = np.where(category % 2 == 1, 1.5, -1.5) + np.where(np.isnan(number), 2.0, -0.5)
    category[rng.random(n) < 0.05] = np.nan
    return np.column_stack([number, category, other]), expit(logit)


@pytest.fixture(scope="module")
def fitted():
    columns, chance = make_columns(1)
    decision = (np.random.default_rng(2).random(len(chance)) < chance).astype(int)
    return XGBoostLearner().fit(columns, decision, TYPES, 0)


def test_xgboost_learns_from_categories_and_from_what_is_missing(fitted):
    columns, chance = make_columns(3)
    logit = fitted.logit(columns)
    known = ~np.isnan(columns[:, 1])
    assert np.abs(expit(logit) - chance)[known].mean() < 0.06
    missing = np.isnan(columns[:, 0])
    assert logit[missing].mean() > logit[~missing].mean() + 1.5


def test_a_category_that_was_never_seen_gets_a_logit_all_the_same(fitted):
    columns, _ = make_columns(4, n=10)
    columns[:5, 1] = 50
    assert np.isfinite(fitted.logit(columns)).all()


def test_a_code_is_a_name_and_not_a_size():
    """Numbering the categories otherwise changes next to nothing."""
    columns, chance = make_columns(5, n=1500)
    decision = (np.random.default_rng(6).random(len(chance)) < chance).astype(int)
    turned = columns.copy()
    turned[:, 1] = np.array([5, 2, 7, 0, 3, 6, 1, 4, np.nan])[
        np.where(np.isnan(columns[:, 1]), 8, columns[:, 1]).astype(int)
    ]
    one, other = (XGBoostLearner().fit(x, decision, TYPES, 0).logit(x) for x in (columns, turned))
    assert np.corrcoef(one, other)[0, 1] > 0.97


def test_same_seed_same_trees():
    columns, chance = make_columns(7, n=800)
    decision = (chance > 0.5).astype(int)
    one, again, other = (
        XGBoostLearner().fit(columns, decision, TYPES, seed).logit(columns) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("value", [0, 1])
def test_trees_survive_decisions_that_are_all_alike(value):
    columns, _ = make_columns(8, n=100)
    logit = XGBoostLearner().fit(columns, np.full(100, value), TYPES, 0).logit(columns)
    assert np.isfinite(logit).all()


@pytest.mark.parametrize(
    "classifier", [LogisticRegression(), RandomForestClassifier(n_estimators=60)]
)
def test_a_scikit_learn_classifier_gives_finite_logits_and_is_not_touched(classifier):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(1200, 3))
    decision = (rng.random(1200) < expit(3 * x[:, 0])).astype(int)
    fitted = ClassifierLearner(classifier).fit(x[:800], decision[:800], "qqq", 0)
    logit = fitted.logit(x[800:])
    assert np.isfinite(logit).all()
    assert roc_auc_score(decision[800:], logit) > 0.85
    assert np.isfinite(fitted.logit(x[:800])).all()  # a forest is certain about what it saw
    assert not hasattr(classifier, "classes_")


def test_a_classifier_without_a_seed_gets_ours_and_one_with_a_seed_keeps_it():
    rng = np.random.default_rng(10)
    x = rng.normal(size=(300, 3))
    decision = (x[:, 0] + rng.normal(size=300) > 0).astype(int)

    def logits(state: int | None, seed: int) -> np.ndarray:
        forest = RandomForestClassifier(n_estimators=10, random_state=state)
        return ClassifierLearner(forest).fit(x, decision, "qqq", seed).logit(x)

    np.testing.assert_array_equal(logits(None, 1), logits(None, 1))
    assert not np.array_equal(logits(None, 1), logits(None, 2))
    np.testing.assert_array_equal(logits(7, 1), logits(7, 2))


@pytest.mark.parametrize("value", [0, 1])
def test_a_classifier_survives_decisions_that_are_all_alike(value):
    x = np.random.default_rng(11).normal(size=(100, 3))
    fitted = ClassifierLearner(LogisticRegression()).fit(x, np.full(100, value), "qqq", 0)
    assert (np.sign(fitted.logit(x)) == (1 if value else -1)).all()
