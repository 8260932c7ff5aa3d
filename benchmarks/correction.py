"""Does training on corrected labels help? The same model, trained on six targets.

Labelers with a known bias label simulated items; some items are held out with their right labels.
The same XGBoost model is trained on

- ``raw``: the labels as they are,
- ``corrected``: `mdba_p_positive` as a soft target,
- ``quarantined``: the labels without the rows of biased labelers,
- ``g``: the probability of yes before the labeler's decision is looked at, as a soft target,
- ``gold``: the gold items alone,
- ``right``: the right labels of the same rows, which nobody has: the ceiling,

and judged on the held-out items: AUC against the right labels, and the true gap in TPR between the
groups when as many are accepted as there are right positives.

Run it from the root of the checkout; it writes benchmarks/results/correction.csv::

    python -m benchmarks.correction
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost
from sklearn.metrics import roc_auc_score

from mdba_checks import CheckConfig, assess
from mdba_checks.findings import BIASED
from mdba_checks.outputs import annotate, write_whole
from mdba_checks.simulation import simulate

RESULTS = Path(__file__).parent / "results" / "correction.csv"

FAMILIES = ("correct", "incorrect", "inconsistent")
PREVALENCES = (0.2, 0.3)
# The true positive rate of every labeler for women; for men it is 0.95.
STAFF = {
    "half biased": (0.45, 0.5, 0.55, 0.6, 0.65, 0.94, 0.94, 0.94, 0.94, 0.94),
    "all biased": (0.54, 0.58, 0.62, 0.66, 0.7, 0.74, 0.78, 0.82, 0.86, 0.9),
    "none biased": (0.95,) * 10,
}
N_ITEMS, GOLD_PER_GROUP, HELD_OUT, SEEDS = 12_000, 200, 0.3, 3

_TREES: dict[str, Any] = {
    "objective": "binary:logistic",  # takes probabilities as labels
    "max_depth": 4,
    "eta": 0.1,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "nthread": 1,
    "seed": 0,
}
_ROUNDS = 150


def run(family: str, prevalence: float, staff: str, seed: int) -> pd.DataFrame:
    """Return what models trained on each target are worth in one simulated setting."""
    made = simulate(
        family=family,
        n_items=N_ITEMS,
        n_labelers=len(STAFF[staff]),
        tprs=STAFF[staff],
        prevalence=prevalence,
        gold_per_group=GOLD_PER_GROUP,
        seed=seed,
    )
    answer = made.answers.set_index("item")["gold"]
    held_out = np.random.default_rng([seed, 7]).random(len(made.labels)) < HELD_OUT
    test, train = made.labels[held_out], made.labels[~held_out].reset_index(drop=True)
    assessment = assess(train, made.gold, CheckConfig(reference="men", seed=seed))
    annotated = annotate(train, assessment)
    kept = (annotated["mdba_finding"] != BIASED).to_numpy()
    everything = np.ones(len(train), dtype=bool)
    right = answer.loc[train["item"]].to_numpy()
    targets = {
        "raw": (train, train["label"].to_numpy(), everything),
        "corrected": (train, annotated["mdba_p_positive"].to_numpy(), everything),
        "quarantined": (train, train["label"].to_numpy(), kept),
        "g": (train, np.asarray(assessment.p_right), everything),
        "gold": (made.gold, made.gold["gold"].to_numpy(), np.ones(len(made.gold), dtype=bool)),
        "right": (train, right, everything),
    }
    features = [*assessment.data.features, "group"]
    truth = answer.loc[test["item"]].to_numpy()
    rows = []
    for name, (table, target, chosen) in targets.items():
        score = _predict(table[features], target, chosen, test[features], made.labels[features])
        rows.append(
            {
                "family": family,
                "prevalence": prevalence,
                "staff": staff,
                "seed": seed,
                "target": name,
                "rows": int(chosen.sum()),
                **_judged(score, truth, (test["group"] == "women").to_numpy()),
            }
        )
    return pd.DataFrame(rows)


def _predict(
    table: pd.DataFrame,
    target: np.ndarray,
    chosen: np.ndarray,
    test: pd.DataFrame,
    whole: pd.DataFrame,
) -> np.ndarray:
    if not chosen.any():
        return np.full(len(test), np.nan)
    train, asked = (_encoded(each, whole) for each in (table[chosen], test))
    matrix = xgboost.DMatrix(train, label=target[chosen], enable_categorical=True)
    model = xgboost.train(_TREES, matrix, num_boost_round=_ROUNDS)
    predicted: np.ndarray = model.predict(xgboost.DMatrix(asked, enable_categorical=True))
    return predicted


def _encoded(table: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose categories are those of all items, in one order."""
    names = [name for name in table if not pd.api.types.is_numeric_dtype(whole[name])]
    known = {name: pd.CategoricalDtype(sorted(whole[name].dropna().unique())) for name in names}
    return table.astype(known)


def _judged(score: np.ndarray, truth: np.ndarray, women: np.ndarray) -> dict[str, float]:
    if np.isnan(score).any():
        return dict.fromkeys(("auc", "tpr_women", "tpr_men", "tpr_gap"), np.nan)
    accepted = np.zeros(len(score), dtype=bool)
    accepted[np.argsort(-score, kind="stable")[: int(truth.sum())]] = True
    tpr_women = accepted[women & (truth == 1)].mean()
    tpr_men = accepted[~women & (truth == 1)].mean()
    return {
        "auc": float(roc_auc_score(truth, score)),
        "tpr_women": float(tpr_women),
        "tpr_men": float(tpr_men),
        "tpr_gap": float(tpr_women - tpr_men),
    }


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return the mean AUC and size of the gap per setting and target, one row per setting."""
    sized = results.assign(size=results["tpr_gap"].abs())
    by = ["family", "prevalence", "staff"]
    means = sized.groupby([*by, "target"])[["auc", "size"]].mean().unstack("target")
    order = ["raw", "corrected", "quarantined", "g", "gold", "right"]
    return means.reindex(columns=itertools.product(["size", "auc"], order)).round(3)


def main() -> None:
    """Run all settings and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="repetitions of every setting")
    parser.add_argument("--output", type=Path, default=RESULTS)
    asked = parser.parse_args()
    settings = list(itertools.product(FAMILIES, PREVALENCES, STAFF, range(asked.seeds)))
    found = []
    for number, setting in enumerate(settings, start=1):
        found.append(run(*setting))
        sys.stderr.write(f"\r{number}/{len(settings)} settings")
    results = pd.concat(found, ignore_index=True)
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    text = f"# python -m benchmarks.correction --seeds {asked.seeds}\n"
    write_whole(asked.output, text + results.round(4).to_csv(index=False), force=True)
    with pd.option_context("display.width", 200, "display.max_columns", 20):
        print()
        print(summary(results))


if __name__ == "__main__":
    main()
