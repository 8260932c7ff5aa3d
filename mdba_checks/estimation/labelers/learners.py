"""The learner inside every labeler model: XGBoost, or any scikit-learn classifier.

A learner sees the item's features, its group, and what the linear rules of the labeler say; it
adds what rules cannot express. It returns logits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from mdba_checks.tables import FloatArray, IntArray


class Fitted(Protocol):
    """A fitted learner."""

    def logit(self, columns: FloatArray) -> FloatArray:
        """Return one logit per row."""


class Learner(Protocol):
    """Something that can be fitted to decisions."""

    linear: bool  # True: wants one-hot, standardised, complete columns; False: raw with NaN

    def fit(
        self, columns: FloatArray, decision: IntArray, types: Sequence[str], seed: int
    ) -> Fitted:
        """Fit to decisions; `types` is 'q' or 'c' per column."""


class XGBoostLearner:
    """Boosted trees on raw columns: categories as categories, missing as missing."""

    linear = False

    def __init__(
        self,
        *,
        trees: int = 40,
        depth: int = 4,
        rate: float = 0.2,
        subsample: float = 0.8,
        colsample: float = 0.8,
        min_child_weight: float = 1.0,
        bins: int = 256,
    ) -> None:
        self.trees, self.depth, self.rate = trees, depth, rate
        self.subsample, self.colsample = subsample, colsample
        self.min_child_weight, self.bins = min_child_weight, bins

    def fit(
        self, columns: FloatArray, decision: IntArray, types: Sequence[str], seed: int
    ) -> Fitted:
        """Fit with one thread: parallelism is across fits, where it does not fight itself."""
        (fitted,) = self.fit_each(columns, decision, types, seed, (None,))
        return fitted

    def fit_each(
        self,
        columns: FloatArray,
        decision: IntArray,
        types: Sequence[str],
        seed: int,
        weights: Iterable[FloatArray | None],
    ) -> list[Fitted]:
        """Fit once per weighting of the rows, which are read once; weight 0 leaves a row out."""
        import xgboost

        settings = {
            "objective": "binary:logistic",
            "max_depth": self.depth,
            "eta": self.rate,
            "subsample": self.subsample,
            "colsample_bytree": self.colsample,
            "min_child_weight": self.min_child_weight,
            "max_bin": self.bins,
            "nthread": 1,
            "seed": seed,
        }
        fitted: list[Fitted] = []
        with _one_thread():
            data = xgboost.QuantileDMatrix(
                columns,
                decision,
                feature_types=list(types),
                enable_categorical=True,
                max_bin=self.bins,
                nthread=1,
            )
            for weight in weights:
                if weight is not None:
                    data.set_weight(weight)
                booster = xgboost.train(settings, data, num_boost_round=self.trees)
                fitted.append(FittedBooster(booster))
        return fitted


def _one_thread() -> AbstractContextManager[None]:
    """Return a context in which labels and weights are copied by one thread, too.

    They are copied by all cores whatever `nthread` of the data says, and on a busy machine most of
    a small fit is waiting for them. Older releases of XGBoost do not have the setting.
    """
    import xgboost

    known = "nthread" in xgboost.get_config()
    context: AbstractContextManager[None] = (
        xgboost.config_context(nthread=1) if known else nullcontext()
    )
    return context


class FittedBooster:
    """Fitted trees."""

    def __init__(self, booster: Any) -> None:
        self._booster = booster

    def logit(self, columns: FloatArray) -> FloatArray:
        """Return one logit per row."""
        # From the array itself: a DMatrix would copy it, and takes half as long as the trees.
        with _one_thread():
            margin: FloatArray = self._booster.inplace_predict(
                columns, predict_type="margin", validate_features=False
            )
        return margin.astype(np.float64)


class ClassifierLearner:
    """Any scikit-learn classifier with `predict_proba`, on one-hot, standardised columns."""

    linear = True

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(
        self,
        columns: FloatArray,
        decision: IntArray,
        types: Sequence[str],  # noqa: ARG002  (all columns are numbers here)
        seed: int,
    ) -> Fitted:
        """Fit a clone; a `random_state` that is not set is set from the seed."""
        from sklearn.base import clone

        if len(np.unique(decision)) == 1:  # most classifiers refuse to learn from one class
            return _Constant(float(decision[0]))
        classifier = clone(self.classifier)
        if classifier.get_params().get("random_state", 0) is None:
            classifier.set_params(random_state=seed)
        return _FittedClassifier(classifier.fit(columns, decision))


class _Constant:
    def __init__(self, p: float) -> None:
        self._p = min(max(p, 5e-4), 1 - 5e-4)

    def logit(self, columns: FloatArray) -> FloatArray:
        return np.full(len(columns), np.log(self._p) - np.log1p(-self._p))


class _FittedClassifier:
    def __init__(self, classifier: Any) -> None:
        self._classifier = classifier

    def logit(self, columns: FloatArray) -> FloatArray:
        p = self._classifier.predict_proba(columns)[:, list(self._classifier.classes_).index(1)]
        # Forests answer exactly 0 or 1; half a vote in a thousand keeps the logit finite.
        p = np.clip(p, 5e-4, 1 - 5e-4)
        logit: FloatArray = np.log(p) - np.log1p(-p)
        return logit
