"""What people compute instead: counted by loops, and inferred labels against known answers."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mdba_checks
from mdba_checks.config import CheckConfig
from mdba_checks.errors import MissingExtraError
from mdba_checks.estimation.estimators import estimator, for_metric
from mdba_checks.estimation.estimators.inferred_labels import (
    infer_by_confident_learning,
    infer_from_gold,
)
from mdba_checks.metrics import METRICS
from mdba_checks.tables import Data, load
from tests.helpers import make_evidence, variance


def count(evidence, labeler: int, group: int, counts) -> tuple[float, int]:
    """Return the share of yes among the rows that count, and how many those are."""
    yes = total = 0
    for row in range(len(evidence.place)):
        if evidence.place[row] == labeler and evidence.group[row] == group and counts(row):
            yes += int(evidence.decision[row])
            total += 1
    return yes / total, total


def test_the_selection_rate_is_the_share_of_yes():
    evidence = make_evidence(np.random.default_rng(1), n_groups=3, n_rows=900)
    rates = estimator("selection_rate").estimate(evidence)
    for labeler in range(3):
        for group in range(3):
            share, total = count(evidence, labeler, group, lambda _: True)
            assert rates.rate[labeler, group] == pytest.approx(share)
            assert rates.mass[labeler, group] == total
            found = variance(rates, evidence.gold.group, labeler, group)
            assert found == pytest.approx(share * (1 - share) / total, rel=0.05)


@pytest.mark.parametrize("name", ["gold_model", "confident_learning"])
def test_against_inferred_labels_the_rate_is_the_share_of_yes_among_inferred_positives(name):
    rng = np.random.default_rng(2)
    evidence = make_evidence(rng, n_rows=900)
    inferred = rng.integers(2, size=900).astype(float)
    rates = estimator(name).estimate(replace(evidence, inferred=inferred))
    for labeler in range(3):
        for group in range(2):
            share, total = count(evidence, labeler, group, lambda row: inferred[row] == 1)
            assert rates.rate[labeler, group] == pytest.approx(share)
            assert rates.mass[labeler, group] == total


@pytest.mark.parametrize("name", ["gold_model", "confident_learning"])
def test_without_inferred_labels_the_estimate_is_refused(name):
    with pytest.raises(ValueError, match="inferred labels"):
        estimator(name).estimate(make_evidence(np.random.default_rng(3)))


def test_the_selection_rate_turned_round_is_the_rejection_rate():
    evidence = make_evidence(np.random.default_rng(4))
    way = estimator("selection_rate").estimate
    rate = {m: way(for_metric(evidence, METRICS[m])).rate for m in ("tpr", "fpr", "tnr", "fnr")}
    np.testing.assert_allclose(rate["fpr"], rate["tpr"])
    np.testing.assert_allclose(rate["fnr"], 1 - rate["tpr"])
    np.testing.assert_allclose(rate["tnr"], 1 - rate["tpr"])


def test_nobody_who_was_never_seen_has_a_rate():
    evidence = make_evidence(np.random.default_rng(5))
    rates = estimator("gold_model").estimate(replace(evidence, inferred=np.zeros(400)))
    assert np.isnan(rates.rate).all()


def test_ten_unanimous_decisions_are_not_known_exactly():
    evidence = make_evidence(np.random.default_rng(6), n_labelers=1, n_rows=20)
    evidence = replace(evidence, group=np.repeat([0, 1], 10), decision=np.ones(20, dtype=int))
    rates = estimator("selection_rate").estimate(evidence)
    assert (rates.own_variance > 0).all()


# --- inferring the right labels


def tables(*, flipped: float, seed: int = 7) -> tuple[Data, np.ndarray]:
    """Return loaded tables and the right answers, which follow from a category and a number."""
    rng = np.random.default_rng(seed)
    n, n_gold = 1500, 400
    frame = pd.DataFrame(
        {
            "group": rng.choice(["men", "women"], n + n_gold),
            "score": rng.normal(size=n + n_gold),
            "job": rng.choice(["clerk", "cook", "nurse", "pilot"], n + n_gold),
        }
    )
    right = (frame["score"] > np.where(frame["job"].isin(["clerk", "nurse"]), 1.0, -0.5)).astype(
        int
    )
    frame.loc[rng.random(n + n_gold) < 0.05, "job"] = None
    turned = rng.random(n) < flipped
    labels = frame[:n].assign(labeler="ann", label=np.where(turned, 1 - right[:n], right[:n]))
    data = load(labels, frame[n:].assign(gold=right[n:]), CheckConfig())
    return data, right.to_numpy()[:n][data.labels.position]


def test_the_gold_model_learns_what_is_right_from_gold_and_not_from_the_labels():
    data, right = tables(flipped=0.5)
    inferred = infer_from_gold(data, seed=0)
    assert set(np.unique(inferred)) <= {0.0, 1.0}
    assert (inferred == right).mean() > 0.93
    assert abs((data.labels.decision == right).mean() - 0.5) < 0.05
    np.testing.assert_array_equal(inferred, infer_from_gold(data, seed=0))


def test_the_gold_model_agrees_with_gold_that_knows_one_answer_only():
    data, _ = tables(flipped=0.0)
    gold = replace(data.gold, correct=np.ones_like(data.gold.correct))
    np.testing.assert_array_equal(infer_from_gold(replace(data, gold=gold), seed=0), 1.0)


def test_confident_learning_puts_flipped_labels_right():
    data, right = tables(flipped=0.15)
    inferred = infer_by_confident_learning(data, seed=0)
    given = (data.labels.decision == right).mean()
    assert given < 0.87
    assert (inferred == right).mean() > 0.95


WITHOUT_CLEANLAB = """
import sys
sys.modules["cleanlab"] = None  # what an import finds when the package is not installed
import pandas as pd
from mdba_checks import CheckConfig, assess
from mdba_checks.errors import MissingExtraError
labels = pd.DataFrame({"labeler": "ann", "label": [0, 1] * 20, "group": list("ab") * 20})
gold = pd.DataFrame({"gold": [0, 1] * 4, "group": list("aabb") * 2})
for table in (labels, gold):
    table["x"] = table.index % 7
try:
    assess(labels, gold, CheckConfig(estimator="confident_learning"))
except MissingExtraError as error:
    print(error)
"""


def test_without_cleanlab_confident_learning_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CLEANLAB],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(mdba_checks.__file__).parents[1],
    )
    assert done.stdout.strip() == str(
        MissingExtraError("the estimator 'confident_learning'", "benchmark")
    )
    assert "pip install 'mdba-checks[benchmark]'" in done.stdout
