"""Ways to estimate a labeler's rate per group: one signature, `estimate(evidence) -> Rates`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mdba_checks.config import EstimatorName
from mdba_checks.estimation.estimators import baselines, mdba, mdba_dr
from mdba_checks.estimation.estimators.evidence import (
    Direct,
    Evidence,
    GoldEvidence,
    Parts,
    Path,
    Rates,
    for_metric,
)
from mdba_checks.estimation.estimators.mdba_dr import with_slope
from mdba_checks.estimation.estimators.silver import infer_by_confident_learning, infer_from_gold
from mdba_checks.tables import FloatArray

if TYPE_CHECKING:
    from mdba_checks.tables import Data

__all__ = [
    "Direct",
    "Estimator",
    "Evidence",
    "GoldEvidence",
    "Parts",
    "Path",
    "Rates",
    "estimator",
    "for_metric",
    "mdba_dr",
    "with_slope",
]


@dataclass(frozen=True)
class Estimator:
    """An estimator and what has to be computed before it can be asked."""

    name: EstimatorName
    estimate: Callable[[Evidence], Rates]
    needs_models: bool
    needs_gold_positives: bool
    infer: Callable[[Data, int], FloatArray] | None = None  # right labels inferred by a baseline
    by_c: tuple[Callable[[Evidence], Rates], ...] = ()  # where several c are averaged: each alone


def estimator(name: EstimatorName, c: tuple[float, ...] = (1.0,)) -> Estimator:
    """Return an estimator by name; `c` matters to `mdba` alone.

    Examples
    --------
    >>> estimator("selection_rate").needs_models
    False
    """
    silver = baselines.estimate_against_silver
    known = (
        Estimator("mdba_dr", mdba_dr.estimate, needs_models=True, needs_gold_positives=True),
        Estimator(
            "mdba",
            partial(mdba.estimate, c=c),
            needs_models=True,
            needs_gold_positives=True,
            by_c=tuple(partial(mdba.estimate, c=(ratio,)) for ratio in c) if len(c) > 1 else (),
        ),
        Estimator("mdba_naive", mdba.estimate_naive, needs_models=True, needs_gold_positives=True),
        Estimator(
            "selection_rate",
            baselines.estimate_selection_rate,
            needs_models=False,
            needs_gold_positives=False,
        ),
        Estimator(
            "gold_model",
            silver,
            needs_models=False,
            needs_gold_positives=True,
            infer=infer_from_gold,
        ),
        Estimator(
            "confident_learning",
            silver,
            needs_models=False,
            needs_gold_positives=False,
            infer=infer_by_confident_learning,
        ),
    )
    return next(candidate for candidate in known if candidate.name == name)
