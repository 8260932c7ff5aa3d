"""g, the probability that yes is right: calibrated, honest on gold, fair to weights and codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from mdba_checks.config import CheckConfig
from mdba_checks.estimation import estimate_rates, estimator
from mdba_checks.estimation.right_answers import (
    Correctness,
    Described,
    GoldAnswers,
    fit_correctness,
)
from mdba_checks.tables import load

N_FOLDS = 3


def make_gold(seed: int, n: int = 800) -> dict[str, np.ndarray]:
    """Return gold whose answers follow from two scores, differently in the two groups."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    scores = rng.normal(0, 2, (n, 2))
    chance = expit(np.where(group == 1, 0.8 * scores[:, 0] - 1, 0.3 * scores[:, 0] + scores[:, 1]))
    return {
        "scores": scores,
        "group": group,
        "correct": (rng.random(n) < chance).astype(int),
        "item": rng.permutation(n),
        "weight": np.ones(n),
        "chance": chance,
    }


def described(gold: dict[str, np.ndarray]) -> Described:
    """Return items without features: all that is known of them are the scores."""
    nothing = np.empty((len(gold["group"]), 0))
    return Described(gold["group"], gold["scores"], gold.get("linear", nothing), nothing)


def fit(gold: dict[str, np.ndarray], **changes: np.ndarray) -> Correctness:
    """Fit g where the models of all folds of the labels give the same scores."""
    given = {**gold, **changes}
    nobody = np.full(len(given["group"]), -1)
    answers = GoldAnswers(
        given["correct"], given["weight"], given["item"], given["item"], given.get("fold", nobody)
    )
    items = (described(given),) * N_FOLDS
    return fit_correctness(items, answers, n_groups=2, tree_types=(), seed=0)


def right(g: Correctness, items: dict[str, np.ndarray]) -> np.ndarray:
    return g(0, described(items))


def test_g_is_near_the_truth_on_gold_and_elsewhere():
    gold, elsewhere = make_gold(1), make_gold(2)
    g = fit(gold)
    assert np.abs(g.on_gold - gold["chance"]).mean() < 0.06
    assert np.abs(right(g, elsewhere) - elsewhere["chance"]).mean() < 0.06


def test_with_much_gold_it_is_a_logistic_regression_in_each_group():
    gold = make_gold(3, n=20_000)
    g = right(fit(gold), gold)
    for group in (0, 1):
        own = gold["group"] == group
        model = LogisticRegression(C=np.inf).fit(gold["scores"][own], gold["correct"][own])
        expected = model.predict_proba(gold["scores"][own])[:, 1]
        assert np.abs(g[own] - expected).mean() < 0.01


def test_on_gold_every_answer_is_foretold_by_models_that_did_not_see_it():
    """Answers by coin and many scores to remember them by: out of fold there is nothing to see."""
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(160, 25))
    correct = np.arange(160) // 2 % 2
    gold = {**make_gold(4, n=160), "scores": scores, "correct": correct}
    g = fit(gold)
    assert roc_auc_score(correct, g.on_gold) < 0.6
    assert roc_auc_score(correct, right(g, gold)) > 0.7  # in sample there is


def test_turning_an_answer_round_hardly_moves_the_g_of_its_own_item():
    """Both rows of the item are held out together, so only what all gold shares can move."""
    gold = make_gold(5, n=200)
    item = np.repeat(np.arange(100), 2)
    here = item == 7
    correct = np.where(here, 1 - gold["correct"], gold["correct"])
    before, after = fit(gold, item=item), fit(gold, item=item, correct=correct)
    own = np.abs(after.on_gold - before.on_gold)[here].max()
    seen = np.abs(right(after, gold) - right(before, gold))
    assert own < 0.1 * seen[here].max()


@pytest.mark.parametrize("scale", [0.01, 500.0])
def test_only_the_ratio_of_weights_matters(scale):
    gold = make_gold(6, n=150)
    weight = np.random.default_rng(7).uniform(0.5, 2, 150)
    one, other = fit(gold, weight=weight), fit(gold, weight=weight * scale)
    np.testing.assert_allclose(other.on_gold, one.on_gold, atol=0.01)


def test_a_weight_of_three_pulls_like_three_rows():
    gold = make_gold(8, n=300)
    heavy = gold["scores"][:, 0] > 0
    weighted = fit(gold, weight=np.where(heavy, 3.0, 1.0))
    index = np.concatenate([np.arange(300), *[np.flatnonzero(heavy)] * 2])
    repeated = fit({name: values[index] for name, values in gold.items()})
    np.testing.assert_allclose(right(weighted, gold), right(repeated, gold), atol=0.08)


def test_swapping_the_codes_of_groups_changes_nothing():
    gold = make_gold(9)
    elsewhere = make_gold(10)
    one, other = fit(gold), fit(gold, group=1 - gold["group"])
    np.testing.assert_allclose(
        right(one, elsewhere),
        right(other, {**elsewhere, "group": 1 - elsewhere["group"]}),
        atol=1e-9,
    )


def test_scores_of_any_unit_give_the_same():
    gold = make_gold(11)
    one, other = fit(gold), fit(gold, scores=gold["scores"] * [1000, 0.001] + [5, -7])
    np.testing.assert_allclose(other.on_gold, one.on_gold, atol=0.02)  # trees: single precision


def test_a_constant_score_and_a_group_with_one_answer_only_do_no_harm():
    gold = make_gold(12, n=100)
    scores = np.column_stack([gold["scores"], np.full(100, 3.0)])
    correct = np.where(gold["group"] == 1, 1, gold["correct"])
    g = fit(gold, scores=scores, correct=correct)
    assert np.isfinite(g.on_gold).all()
    assert g.on_gold[gold["group"] == 1].min() > 0.5
    assert ((g.on_gold > 0) & (g.on_gold < 1)).all()


def test_a_handful_of_gold_stays_near_the_share_of_yes():
    gold = make_gold(13, n=6)
    g = fit(gold, correct=np.array([1, 1, 0, 1, 0, 0]))
    assert ((g.on_gold > 0.03) & (g.on_gold < 0.97)).all()


def test_features_take_over_where_the_consensus_says_nothing():
    """Right answers follow from two columns that no labeler looks at."""
    rng = np.random.default_rng(114)
    gold, elsewhere = make_gold(14, n=600), make_gold(15, n=600)
    for items in (gold, elsewhere):
        items["linear"] = rng.normal(size=(600, 2))
        items["chance"] = expit(3 * items["linear"][:, 0] - 2 * items["linear"][:, 1])
    gold["correct"] = (rng.random(600) < gold["chance"]).astype(int)
    g = fit(gold)
    assert g.share[:, 0].max() < 0.2
    assert np.abs(right(g, elsewhere) - elsewhere["chance"]).mean() < 0.06


def test_the_consensus_keeps_its_weight_where_features_are_noise():
    rng = np.random.default_rng(116)
    gold = make_gold(16, n=400)
    gold["linear"] = rng.normal(size=(400, 30))
    g = fit(gold)
    assert g.share[:, 0].min() > 0.6


def test_an_item_that_was_labeled_is_judged_by_the_models_of_its_own_fold():
    gold = make_gold(17, n=90)
    fold = np.arange(90) % N_FOLDS
    answers = GoldAnswers(gold["correct"], gold["weight"], gold["item"], gold["item"], fold)
    other = {**gold, "scores": -gold["scores"]}
    mixed = (described(gold), described(other), described(other))
    g = fit_correctness(mixed, answers, n_groups=2, tree_types=(), seed=0)
    alike = fit_correctness((described(gold),) * 3, answers, n_groups=2, tree_types=(), seed=0)
    # Scores with the sign turned give the same g once they are fitted; trees aside.
    assert np.corrcoef(g.on_gold, alike.on_gold)[0, 1] > 0.99


def test_equal_items_have_equal_g_among_the_labels_and_in_gold():
    """Two yes-no columns decide by their disagreement: g is steep, and one function everywhere."""
    rng = np.random.default_rng(18)

    def items(n: int) -> pd.DataFrame:
        table = pd.DataFrame(
            {
                "group": rng.choice(["men", "women"], n),
                "deserved": rng.choice(["yes", "no"], n),
                "granted": rng.choice(["yes", "no"], n),
            }
        )
        return table.assign(gold=(table["deserved"] != table["granted"]).astype(int))

    gold, labels = items(200), items(4000)
    labels["labeler"] = rng.choice([f"p{k}" for k in range(20)], 4000)
    labels["label"] = np.where(rng.random(4000) < 0.85, labels["gold"], 1 - labels["gold"])
    data = load(labels.drop(columns="gold"), gold, CheckConfig())
    estimation = estimate_rates(data, [estimator("mdba_dr")])
    cells = ["group", "deserved", "granted"]
    keys = labels.iloc[data.labels.position][cells].agg(" ".join, axis=1).to_numpy()
    of_label = pd.Series(estimation.g).groupby(keys)
    gold_keys = gold.iloc[data.gold.position][cells].agg(" ".join, axis=1).to_numpy()
    of_gold = pd.Series(estimation.gold_g).groupby(gold_keys)
    # Folds of the labels differ a little; gold is predicted without itself.
    assert (of_label.max() - of_label.min()).max() < 0.02
    assert (of_label.mean() - of_gold.mean()).abs().max() < 0.02


def test_in_which_units_the_weights_of_a_group_are_counted_does_not_matter():
    gold = make_gold(9, n=200)
    weight = np.random.default_rng(9).uniform(1, 3, 200)
    one, other = (fit(gold, weight=weight * unit) for unit in (1.0, 1 + 9.0 * gold["group"]))
    assert other.on_gold == pytest.approx(one.on_gold, abs=1e-6)
