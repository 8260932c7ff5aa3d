"""Inferred right labels, the raw material of two baselines.

`gold_model` learns the right decision from gold alone and predicts it for every row.
`confident_learning` merges gold and human labels, lets cleanlab find the labels that look wrong,
and predicts every row with a model trained on what is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdba_checks.errors import MissingExtraError
from mdba_checks.tables import Data, FloatArray

_FOLDS = 5


def infer_from_gold(data: Data, seed: int) -> FloatArray:
    """Return 0/1 per label row, from a model trained on gold."""
    gold = _columns(data.gold.trees, data.gold.group)
    if len(np.unique(data.gold.correct)) == 1:
        return np.full(len(data.labels.group), float(data.gold.correct[0]))
    model = _classifier(data, seed).fit(gold, data.gold.correct)
    return _predict(model, _columns(data.labels.trees[:], data.labels.group))


def infer_by_confident_learning(data: Data, seed: int) -> FloatArray:
    """Return 0/1 per label row, from a model trained on the labels that cleanlab keeps."""
    try:
        from cleanlab.filter import find_label_issues
    except ImportError:
        raise MissingExtraError("the estimator 'confident_learning'", "benchmark") from None
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    rows = _columns(data.labels.trees[:], data.labels.group)
    columns = np.concatenate([rows, _columns(data.gold.trees, data.gold.group)])
    given = np.concatenate([data.labels.decision, data.gold.correct]).astype(int)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    model = _classifier(data, seed)
    probabilities = cross_val_predict(model, columns, given, cv=folds, method="predict_proba")
    wrong = find_label_issues(given, probabilities, n_jobs=1)
    return _predict(model.fit(columns[~wrong], given[~wrong]), rows)


def _columns(trees: FloatArray, group: Any) -> FloatArray:
    return np.column_stack([trees, group.astype(np.float32)])


def _classifier(data: Data, seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=100,
        max_depth=4,
        learning_rate=0.1,
        n_jobs=1,
        random_state=seed,
        enable_categorical=True,
        feature_types=[*data.tree_types, "c"],
    )


def _predict(model: Any, columns: FloatArray) -> FloatArray:
    predicted: FloatArray = (model.predict_proba(columns)[:, 1] >= 0.5).astype(float)
    return predicted
