"""The gap of a model on gold, with numbers from the literature and by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy
from mdba_checks.findings import model_gaps
from mdba_checks.tables import load


def gold_of(**counts: int) -> pd.DataFrame:
    """Return gold where yes is right everywhere but in one row per group."""
    group = np.repeat(list(counts), list(counts.values()))
    frame = pd.DataFrame({"group": group, "gold": 1, "x": np.arange(len(group))})
    wrong = pd.DataFrame({"group": list(counts), "gold": 0, "x": -1})
    return pd.concat([frame, wrong], ignore_index=True)


def measured(gold: pd.DataFrame, said: pd.Series, **settings: object):
    """Return the gaps of a model that says yes where `said`, a column beside gold, is 1."""
    labels = pd.DataFrame(
        {"labeler": "a", "label": [0, 1] * 2, "group": gold["group"].unique()[:2].tolist() * 2}
    ).assign(x=range(4))
    config = CheckConfig(reference="men", **settings)
    data = load(labels, gold, config)
    answers = said.to_numpy(dtype=bool)[data.gold.position]
    return model_gaps(answers, data, config)


def first(counts: dict[str, int], gold: pd.DataFrame) -> pd.Series:
    """Return yes for the first so many rows of each group."""
    place = gold.groupby("group").cumcount()
    return place < gold["group"].map(counts)


def test_the_interval_is_newcombes():
    # Newcombe (1998), table II, method 10, first example: 56/70 and 48/80 give 0.0524 to 0.3339.
    gold = gold_of(women=70, men=80)
    (found,) = measured(gold, first({"women": 56, "men": 48}, gold), confidence=0.95)
    assert found.gap == pytest.approx(0.2)
    assert (found.ci_low, found.ci_high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert (found.group, found.reference, found.n_gold) == ("women", "men", 70)


@pytest.mark.parametrize(
    ("women", "max_gap", "finding"),
    [
        (500, 0.1, "biased"),
        (790, 0.1, "fair"),
        (730, 0.1, "borderline"),
        (700, 0.1, "borderline"),
        (500, 0.5, "fair"),
    ],
)
def test_the_policy_of_the_check_judges_it(women, max_gap, finding):
    gold = gold_of(women=1000, men=1000)
    policy = Policy(max_gap=max_gap)
    (found,) = measured(gold, first({"women": women, "men": 800}, gold), policy=policy)
    assert found.finding == finding


def test_few_items_decide_nothing():
    gold = gold_of(women=4, men=1000)
    (found,) = measured(gold, first({"women": 0, "men": 1000}, gold))
    assert found.finding == "inconclusive"  # fewer than min_gold_positives
    gold = gold_of(women=12, men=12)
    (found,) = measured(gold, first({"women": 9, "men": 10}, gold))
    assert found.finding == "inconclusive"


def test_a_group_without_items_has_no_number():
    gold = gold_of(women=1, men=20)
    gold = gold[~((gold["group"] == "women") & (gold["gold"] == 1))]
    gold = pd.concat([gold, gold.assign(gold=0)], ignore_index=True)
    (found,) = measured(gold, first({"men": 10}, gold))
    assert np.isnan(found.gap)
    assert found.finding == "inconclusive"


def test_another_rate_looks_at_other_items():
    gold = gold_of(women=50, men=50)
    gold["gold"] = 1 - gold["gold"]
    said = first({"women": 20, "men": 10}, gold)
    (found,) = measured(gold, said, metric="fpr")
    assert found.gap == pytest.approx(0.2)
    (turned,) = measured(gold, said, metric="tnr")
    assert turned.gap == pytest.approx(-0.2)


def test_items_that_stand_for_one_another_count_once():
    gold = gold_of(women=70, men=80)
    said = first({"women": 56, "men": 48}, gold)
    many = pd.concat([gold.assign(item=gold.index)] * 3, ignore_index=True)
    (once,) = measured(gold, said)
    (thrice,) = measured(many.drop(columns="item"), pd.concat([said] * 3, ignore_index=True))
    assert thrice.ci_high - thrice.ci_low < 0.7 * (once.ci_high - once.ci_low)
    weighted = gold.assign(w=3.0)
    (heavy,) = measured(weighted, said, columns={"gold_weight": "w"})
    assert (heavy.ci_low, heavy.ci_high) == pytest.approx((once.ci_low, once.ci_high))


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(5)
    held = []
    for _ in range(150):
        gold = gold_of(women=40, men=60)
        chance = gold["group"].map({"women": 0.7, "men": 0.9})
        (found,) = measured(gold, pd.Series(rng.random(len(gold)) < chance))
        held.append(found.ci_low <= -0.2 <= found.ci_high)
    # 90% of 150, within three standard errors.
    assert 0.826 <= np.mean(held) <= 0.974
