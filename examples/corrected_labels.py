"""Train on corrected labels instead of raw ones, and see what becomes of the gap.

Half of the labelers in this simulated hiring data overlook many suitable women. The same model is
trained twice: on their labels as they are, and on `mdba_p_positive`, the probability that the right
label is yes once each labeler's habits are accounted for. Simulated data has the advantage that the
right answers are known, so both models can be judged on items that nobody labeled for them.

    python examples/corrected_labels.py
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xgboost

from mdba_checks import CheckConfig, assess
from mdba_checks.outputs import annotate
from mdba_checks.simulation import simulate


def main() -> None:
    made = simulate(n_items=12_000, n_labelers=6, tprs=[0.45, 0.5, 0.55, 0.9, 0.9, 0.9], seed=2)
    unseen = made.labels["item"] % 3 == 0
    labels, test = made.labels[~unseen], made.labels[unseen]

    assessment = assess(labels, made.gold, CheckConfig(reference="men"))
    print(assessment.gaps[["labeler", "group", "gap", "ci_low", "ci_high", "finding"]].round(2))

    annotated = annotate(labels, assessment)
    features = [*assessment.data.features, "group"]
    right = made.answers.set_index("item")["gold"].loc[test["item"]].to_numpy()
    for name in ("label", "mdba_p_positive"):
        score = train(annotated[features], annotated[name], test[features])
        accepted = score >= np.sort(score)[-right.sum()]
        rates = pd.Series(accepted[right == 1]).groupby(test["group"].to_numpy()[right == 1]).mean()
        print(
            f"\ntrained on {name}: of 100 suitable women {100 * rates['women']:.0f} are found, "
            f"of 100 suitable men {100 * rates['men']:.0f}"
        )


def train(table: pd.DataFrame, target: pd.Series, asked: pd.DataFrame) -> np.ndarray:
    """Train on labels or on probabilities: this loss takes both."""
    both = pd.concat([table, asked])
    names = both.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in both.dtypes]]
    both[names] = both[names].astype("category")
    rows, others = both.iloc[: len(table)], both.iloc[len(table) :]
    matrix = xgboost.DMatrix(rows, label=target, enable_categorical=True)
    options = {"objective": "binary:logistic", "max_depth": 4, "eta": 0.1, "nthread": 1}
    model = xgboost.train(options, matrix, num_boost_round=150)
    return model.predict(xgboost.DMatrix(others, enable_categorical=True))


if __name__ == "__main__":
    main()
