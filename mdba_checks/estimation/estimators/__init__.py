"""Ways to estimate a labeler's rate per group: one signature, `estimate(evidence) -> Rates`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from mdba_checks.config import EstimatorName
from mdba_checks.estimation.estimators import baselines, mdba, mdba_dr
from mdba_checks.estimation.estimators.evidence import (
    Averaged,
    Direct,
    Evidence,
    GoldEvidence,
    Parts,
    Path,
    Rates,
    for_metric,
)
from mdba_checks.estimation.estimators.inferred_labels import (
    infer_by_confident_learning,
    infer_from_gold,
)
from mdba_checks.estimation.estimators.mdba_dr import with_slope
from mdba_checks.tables import FloatArray

if TYPE_CHECKING:
    from mdba_checks.tables import Data

__all__ = [
    "ESTIMATORS",
    "Averaged",
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
    """An estimator, what has to be computed before it can be asked, and how people read of it."""

    name: EstimatorName
    estimate: Callable[..., Rates]
    description: str  # for somebody who was never told how the method works
    needs_models: bool = False  # of the labelers and of the right answer
    needs_gold_positives: bool = True
    learns_right_answers: bool = False  # from gold, group by group: needs both kinds of items there
    ignores_right_answers: bool = False  # counts decisions on all items
    is_doubly_robust: bool = False  # fills `Rates.parts`, which much of the evidence is read from
    uses_c: bool = False  # takes the ratio `c` of predicted to actual positives
    infer: Callable[[Data, int], FloatArray] | None = None  # right labels inferred by a baseline
    by_c: tuple[Callable[[Evidence], Rates], ...] = ()  # where several c are averaged: each alone


ESTIMATORS: dict[str, Estimator] = {
    each.name: each
    for each in (
        Estimator(
            "mdba_dr",
            mdba_dr.estimate,
            "A model of every labeler's decisions and a model of the right decision, combined "
            "so that the estimate is right if either of them is.",
            needs_models=True,
            learns_right_answers=True,
            is_doubly_robust=True,
        ),
        Estimator(
            "mdba",
            mdba.estimate,
            "A model of every labeler's decisions predicts what they would say to the gold items; "
            "thresholds are set so that it decides positively as often as they do.",
            needs_models=True,
            uses_c=True,
        ),
        Estimator(
            "mdba_naive",
            mdba.estimate_naive,
            "A model of every labeler's decisions predicts what they would say to the gold "
            "items, with the threshold 0.5. A baseline: it is known to be less accurate.",
            needs_models=True,
        ),
        Estimator(
            "selection_rate",
            baselines.estimate_selection_rate,
            "How often a labeler decides positively, without regard to what is right. A baseline: "
            "groups may rightly differ in how often that is right, and it cannot tell.",
            needs_gold_positives=False,
            ignores_right_answers=True,
        ),
        Estimator(
            "gold_model",
            baselines.estimate_against_inferred,
            "A model of the right decision, trained on gold alone, takes the place of the "
            "truth. A baseline: its errors look like the labelers' errors.",
            learns_right_answers=True,
            infer=infer_from_gold,
        ),
        Estimator(
            "confident_learning",
            baselines.estimate_against_inferred,
            "Labels that look wrong to a model of all labels count as wrong. A "
            "baseline: a bias that most labelers share looks right to it.",
            needs_gold_positives=False,
            infer=infer_by_confident_learning,
        ),
    )
}


def estimator(name: EstimatorName, c: tuple[float, ...] = (1.0,)) -> Estimator:
    """Return an estimator by name, ready to be asked with `c` where it takes one.

    Examples
    --------
    >>> estimator("selection_rate").needs_models
    False
    """
    known = ESTIMATORS[name]
    if not known.uses_c:
        return known
    by_c = tuple(partial(known.estimate, c=(ratio,)) for ratio in c) if len(c) > 1 else ()
    return replace(known, estimate=partial(known.estimate, c=c), by_c=by_c)
