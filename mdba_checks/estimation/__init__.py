"""From encoded tables to the rates of every labeler: models, right answers, estimators.

`estimate_rates` fits the models that all labelers share, then works bucket by bucket, wherever the
engine has threads or processes free, and asks the estimators. What comes back is an `Estimation`.
"""

from mdba_checks.estimation.bucket import Estimation
from mdba_checks.estimation.crowd import (
    MOST_LABELS,
    CrowdGaps,
    CrowdGold,
    CrowdLabels,
    Estimate,
    Spread,
    fit_crowd,
    spread,
)
from mdba_checks.estimation.engines import jobs_of, open_engine, open_workers
from mdba_checks.estimation.estimators import (
    ESTIMATORS,
    Averaged,
    Estimator,
    Evidence,
    GoldEvidence,
    Path,
    Rates,
    estimator,
)
from mdba_checks.estimation.hidden import STEPS, Hidden
from mdba_checks.estimation.items import ItemModels, describe_items
from mdba_checks.estimation.labelers import ClassifierLearner, FittedBooster, Rows, XGBoostLearner
from mdba_checks.estimation.lack_of_fit import LackOfFit
from mdba_checks.estimation.rates import Pooled, Progress, estimate_rates, fit_pooled

__all__ = [
    "ESTIMATORS",
    "MOST_LABELS",
    "STEPS",
    "Averaged",
    "ClassifierLearner",
    "CrowdGaps",
    "CrowdGold",
    "CrowdLabels",
    "Estimate",
    "Estimation",
    "Estimator",
    "Evidence",
    "FittedBooster",
    "GoldEvidence",
    "Hidden",
    "ItemModels",
    "LackOfFit",
    "Path",
    "Pooled",
    "Progress",
    "Rates",
    "Rows",
    "Spread",
    "XGBoostLearner",
    "describe_items",
    "estimate_rates",
    "estimator",
    "fit_crowd",
    "fit_pooled",
    "jobs_of",
    "open_engine",
    "open_workers",
    "spread",
]
