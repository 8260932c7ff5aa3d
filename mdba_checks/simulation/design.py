"""The linear design that simulated decisions are made of, and logistic regression on it.

Kept apart from the encoding that the estimators use, on purpose: a simulation must not share
a mistake with what it is meant to test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]

# Levels seen on fewer items than this share one column: they say nothing and cost a column each.
_MIN_LEVEL_COUNT = 20
# One regression over more rows than this would cost time and change nothing.
MAX_FIT_ROWS = 200_000


def linear_design(frame: pd.DataFrame, group: pd.Series[Any]) -> Floats:
    """Return features and group as standardised columns; constant columns are left out."""
    columns: list[Floats] = []
    for name in frame.columns:
        columns += _encoded(frame[name])
    columns += _levels(group)
    kept = [column for column in map(standardised, columns) if column is not None]
    return np.column_stack(kept)


def fit_logit(design: Floats, target: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Fit a logistic regression; return intercept and coefficients."""
    rows: Any = slice(None)
    if len(design) > MAX_FIT_ROWS:
        rows = np.sort(rng.choice(len(design), MAX_FIT_ROWS, replace=False))
    model = LogisticRegression(max_iter=1_000).fit(design[rows], target[rows])
    return np.concatenate([model.intercept_, model.coef_[0]])


def logits(design: Floats, weights: Floats) -> Floats:
    """Return the logits of a model from `fit_logit`."""
    result: Floats = weights[0] + design @ weights[1:]
    return result


def interaction_column(values: pd.Series[Any], score: Floats) -> Floats:
    """Return the misused feature as one standardised number per item.

    Numbers stay what they are. The levels of a categorical feature are replaced by the mean gold
    score of their items: an order that means something to the decision, so that turning it round
    costs true positives. An arbitrary order (alphabetical, say) may leave most targets out of
    reach, and the indicator of a single level can only push that one level aside.
    """
    if is_numeric_dtype(values):
        column = _encoded(values)[0]
    else:
        codes = pd.factorize(values, use_na_sentinel=False)[0]
        means = np.bincount(codes, score) / np.bincount(codes)
        column = means[codes]
    result = standardised(column)
    return np.zeros(len(values)) if result is None else result


def standardised(column: Floats) -> Floats | None:
    """Return the column with mean 0 and standard deviation 1, or None when it is constant."""
    deviation = column.std()
    if deviation < 1e-12:
        return None
    result: Floats = (column - column.mean()) / deviation
    return result


def _encoded(values: pd.Series[Any]) -> list[Floats]:
    if not (is_numeric_dtype(values) or is_bool_dtype(values)):
        return _levels(values)
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    missing = np.isnan(numbers)
    if not missing.any():
        return [numbers]
    middle = 0.0 if missing.all() else float(np.nanmedian(numbers))
    return [np.where(missing, middle, numbers), missing.astype(float)]


def _levels(values: pd.Series[Any]) -> list[Floats]:
    codes, _ = pd.factorize(values, use_na_sentinel=False)
    counts = np.bincount(codes)
    common = np.flatnonzero(counts >= _MIN_LEVEL_COUNT)
    columns = [(codes == code).astype(float) for code in common]
    if len(common) < len(counts):
        columns.append((counts < _MIN_LEVEL_COUNT)[codes].astype(float))
    return columns
