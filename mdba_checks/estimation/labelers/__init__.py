"""A model of every labeler, cross-fitted, with strength borrowed from the pool of all labelers."""

from mdba_checks.estimation.labelers.average import (
    OWN_MODEL_LABELS,
    Average,
    fit_average,
    without_few,
)
from mdba_checks.estimation.labelers.batches import one_batch
from mdba_checks.estimation.labelers.folds import N_FOLDS, assign_folds, scramble
from mdba_checks.estimation.labelers.lapse import Sample, fit_rules, without_lapses
from mdba_checks.estimation.labelers.learners import (
    ClassifierLearner,
    Fitted,
    FittedBooster,
    Learner,
    XGBoostLearner,
)
from mdba_checks.estimation.labelers.models import (
    LabelerModels,
    fit_models,
    over_folds,
    predict_items,
)
from mdba_checks.estimation.labelers.pool import Items, Known, MapFolds, Pool, fit_pool, fit_to_pool
from mdba_checks.estimation.labelers.rows import Rows

__all__ = [
    "N_FOLDS",
    "OWN_MODEL_LABELS",
    "Average",
    "ClassifierLearner",
    "Fitted",
    "FittedBooster",
    "Items",
    "Known",
    "LabelerModels",
    "Learner",
    "MapFolds",
    "Pool",
    "Rows",
    "Sample",
    "XGBoostLearner",
    "assign_folds",
    "fit_average",
    "fit_models",
    "fit_pool",
    "fit_rules",
    "fit_to_pool",
    "one_batch",
    "over_folds",
    "predict_items",
    "scramble",
    "without_few",
    "without_lapses",
]
