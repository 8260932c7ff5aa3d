"""Models of labelers: honest about rows they have not seen, and the same however they are made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from mdba_checks.estimation.labelers import (
    N_FOLDS,
    Items,
    Rows,
    XGBoostLearner,
    assign_folds,
    fit_models,
    fit_pool,
    fit_to_pool,
    over_folds,
)
from tests.helpers import make_rows, some_of

NOWHERE = -1  # the fold of a gold item that nobody labeled


def pool_of(rows: Rows):
    return fit_pool(
        rows,
        n_groups=2,
        tree_types=("q",) * rows.trees.shape[1],
        learner=XGBoostLearner(trees=40),
        order=np.arange(len(rows)),
        seed=0,
        over_folds=lambda function: [function(fold) for fold in range(N_FOLDS)],
    )


def items_of(rows: Rows) -> Items:
    return Items(rows.group, rows.linear, rows.trees)


@pytest.fixture(scope="module")
def world():
    """Four labelers of known chances, and gold items like theirs."""
    rng = np.random.default_rng(1)
    rows = make_rows(rng, [900, 900, 900, 900], n_columns=3)
    gold = make_rows(rng, [300], n_columns=3)
    slope = np.array([[2.0, 0, 0], [2.0, 0, 0], [1.5, 1.0, 0], [0, 2.0, 0]])
    chance = expit(np.einsum("np,np->n", rows.linear, slope[rows.labeler]))
    rows = replace(rows, decision=(rng.random(len(rows)) < chance).astype(int))
    pool, known = pool_of(rows)
    on_gold = expit(slope @ gold.linear.T)
    return rows, items_of(gold), pool, known, chance, on_gold


def test_f_is_near_the_chance_of_a_yes_on_rows_and_on_gold(world):
    rows, gold, pool, known, chance, on_gold = world
    models = fit_models(rows, gold, np.full(300, NOWHERE), pool, known)
    assert np.abs(models.on_rows - chance).mean() < 0.06
    assert np.abs(models.on_gold - on_gold).mean() < 0.06
    assert models.labelers.tolist() == [0, 1, 2, 3]
    # Calibrated for each labeler: as many yes as there are.
    for code in range(4):
        own = rows.labeler == code
        assert models.on_rows[own].mean() == pytest.approx(rows.decision[own].mean(), abs=0.01)


def test_labelers_have_models_of_their_own(world):
    rows, gold, pool, known, _, on_gold = world
    models = fit_models(rows, gold, np.full(300, NOWHERE), pool, known)
    for code in range(4):
        errors = np.abs(models.on_gold - on_gold[code]).mean(axis=1)
        assert errors[code] < errors.min() + 0.02
    assert np.abs(models.on_gold[0] - models.on_gold[3]).mean() > 0.15


def test_a_bucket_of_labelers_has_the_models_it_has_among_all(world):
    rows, gold, pool, known, *_ = world
    everybody = fit_models(rows, gold, np.full(300, NOWHERE), pool, known)
    middle = slice(900, 2700)
    own = known.part(rows.labeler[middle], middle)
    some = fit_models(some_of(rows, middle), gold, np.full(300, NOWHERE), pool, own)
    np.testing.assert_allclose(some.on_gold, everybody.on_gold[1:3], atol=1e-8)
    np.testing.assert_allclose(some.on_rows, everybody.on_rows[middle], atol=1e-8)


def test_finding_out_again_about_labelers_of_the_pool_gives_the_same(world):
    rows, _, pool, known, *_ = world
    again = fit_to_pool(rows, pool)
    np.testing.assert_allclose(again.logits, known.logits, atol=1e-6)
    np.testing.assert_allclose(again.own.coef, known.own.coef, atol=1e-8)


def test_a_labeler_outside_the_pool_is_modelled_too(world):
    rows, gold, _, _, chance, on_gold = world
    pool, _ = pool_of(some_of(rows, slice(0, 2700)))
    stranger = some_of(rows, slice(2700, 3600))
    models = fit_models(stranger, gold, np.full(300, NOWHERE), pool, fit_to_pool(stranger, pool))
    assert np.abs(models.on_rows - chance[2700:]).mean() < 0.12
    assert np.abs(models.on_gold[0] - on_gold[3]).mean() < 0.12


def test_the_spread_is_larger_where_there_are_fewer_labels():
    rng = np.random.default_rng(2)
    rows, gold = make_rows(rng, [2000, 60]), make_rows(rng, [200])
    pool, known = pool_of(rows)
    models = fit_models(rows, items_of(gold), np.full(200, NOWHERE), pool, known)
    spread = models.by_fold.var(axis=0, ddof=1)
    assert spread[1].mean() > 1.5 * spread[0].mean()
    assert (spread >= 0).all()


# --- honesty


def test_a_labeled_gold_item_is_judged_by_the_models_of_its_own_fold_alone():
    by_fold = np.array([[[1.0, 2.0, 3.0]], [[10.0, 20.0, 30.0]], [[100.0, 200.0, 300.0]]])
    found = over_folds(by_fold, np.array([NOWHERE, 1, 2]))
    np.testing.assert_allclose(found, [[37.0, 20.0, 300.0]])


def coin_flippers(seed: int, sizes: list[int], n_columns: int) -> Rows:
    """Return labelers who flip a coin that comes up yes exactly half the time in each group."""
    rng = np.random.default_rng(seed)
    rows = make_rows(rng, sizes, n_columns=n_columns, coin=True)
    group, decision = np.arange(len(rows)) % 2, np.empty(len(rows), dtype=int)
    for code in range(len(sizes)):
        for one in (0, 1):
            own = np.flatnonzero((rows.labeler == code) & (group == one))
            decision[own] = rng.permutation(np.arange(len(own)) % 2)
    fold = assign_folds(np.arange(len(rows)), rows.labeler * 4 + group * 2 + decision)
    return replace(rows, group=group, decision=decision, fold=fold)


def test_no_model_of_a_labeler_foresees_coin_flips():
    """Forty features to remember 1200 rows by, and nothing to learn."""
    rows = coin_flippers(3, [400, 400, 400], 40)
    pool, known = pool_of(rows)
    for model in range(known.logits.shape[1]):
        assert abs(roc_auc_score(rows.decision, known.logits[:, model]) - 0.5) < 0.05
    # The same models asked about rows as if they were new do remember: the test could fail.
    models = fit_models(rows, items_of(rows), np.full(1200, NOWHERE), pool, known)
    remembered = models.on_gold[rows.labeler, np.arange(1200)]
    assert roc_auc_score(rows.decision, remembered) > 0.6


def test_f_does_not_foresee_coin_flips_either():
    found = []
    for seed in range(3):
        rows = coin_flippers(seed, [400, 400, 400], 5)
        pool, known = pool_of(rows)
        models = fit_models(rows, items_of(rows), np.full(1200, NOWHERE), pool, known)
        found.append(roc_auc_score(rows.decision, models.on_rows))
    assert abs(np.mean(found) - 0.5) < 0.05


def test_what_one_labeler_said_of_an_item_tells_nothing_about_what_another_says_of_it():
    """Two labelers flip one coin per item. Only folds by row would let a model copy."""
    rng = np.random.default_rng(4)
    linear = np.tile(rng.normal(size=(600, 8)), (2, 1))
    decision = np.tile(np.arange(600) // 2 % 2, 2)
    group = np.tile(np.arange(600) % 2, 2)
    labeler = np.repeat([0, 1], 600)
    item = np.tile(np.arange(600), 2)
    stratum = labeler * 4 + group * 2 + decision
    auc = {}
    for name, key in (("item", item), ("row", np.arange(1200))):
        fold = assign_folds(key, stratum)
        rows = Rows(labeler, group, decision, fold, linear, linear.astype(np.float32))
        _, known = pool_of(rows)
        auc[name] = roc_auc_score(decision, known.logits[:, -1])
    assert abs(auc["item"] - 0.5) < 0.06
    assert auc["row"] > 0.65  # the leak that folds by item close


def test_a_labeled_gold_item_is_judged_by_models_that_do_not_remember_it():
    """With its fold the models hardly know what was said of it; without, they do."""
    rows = coin_flippers(5, [500, 500], 30)
    pool, known = pool_of(rows)
    honest, leaky = (
        roc_auc_score(
            rows.decision,
            fit_models(rows, items_of(rows), fold, pool, known).on_gold[
                rows.labeler, np.arange(1000)
            ],
        )
        for fold in (rows.fold, np.full(1000, NOWHERE))
    )
    assert leaky > 0.75
    assert honest - 0.5 < 0.4 * (leaky - 0.5)
