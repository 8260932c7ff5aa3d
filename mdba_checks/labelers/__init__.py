"""A model of every labeler, cross-fitted, with strength borrowed from the pool of all labelers."""

from mdba_checks.labelers.folds import N_FOLDS, assign_folds
from mdba_checks.labelers.learners import ClassifierLearner, FittedBooster, Learner, XGBoostLearner
from mdba_checks.labelers.models import LabelerModels, fit_models, over_folds
from mdba_checks.labelers.pool import Items, Known, MapFolds, Pool, fit_pool, know
from mdba_checks.labelers.rows import Rows

__all__ = [
    "N_FOLDS",
    "ClassifierLearner",
    "FittedBooster",
    "Items",
    "Known",
    "LabelerModels",
    "Learner",
    "MapFolds",
    "Pool",
    "Rows",
    "XGBoostLearner",
    "assign_folds",
    "fit_models",
    "fit_pool",
    "know",
    "over_folds",
]
