"""What was estimated for one question: gaps and what they rest on, before a policy judges them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig
from mdba_checks.estimation import Estimation, Estimator, Progress
from mdba_checks.findings.crowds import find_crowds
from mdba_checks.findings.diagnostics import Inspection, Measures, measure, with_pooled
from mdba_checks.findings.gap_table import Basis, draft_table
from mdba_checks.findings.inference import Gaps, compare, contrasts
from mdba_checks.findings.together import Together, take_together
from mdba_checks.tables import Data, FloatArray, IntArray, Question

WHOLE = "all labels"  # what stands for the data set as a whole where a name is needed


@dataclass(frozen=True)
class Estimated:
    """What was estimated for one question.

    Attributes
    ----------
    basis
        What findings about labelers rest on.
    overall, cohorts
        The same for all labels together, and for cohorts; None where there are none.
    p_right
        Per row of the labels table, in its own order: g, the probability that yes is right. None
        for estimators that do not model it, NaN for rows that were dropped.
    decision
        Per row of the labels table, in its own order: what was decided, 0 or 1; -1 for rows that
        were dropped.
    rates
        ``labeler, group, tpr, fpr``: what turns a decision into a probability, whatever the metric
        is. None where `p_right` is None.
    """

    basis: Basis
    overall: Together | None
    cohorts: Together | None
    p_right: FloatArray | None
    decision: IntArray
    rates: pd.DataFrame | None

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.measures.question

    @property
    def numbers(self) -> Gaps:
        """The gaps that findings rest on."""
        return self.basis.numbers

    @property
    def measures(self) -> Measures:
        """What assumption checks ask for."""
        return self.basis.measures


def estimated_gaps(
    data: Data,
    estimation: Estimation,
    asked: Estimator,
    inspection: Inspection,
    config: CheckConfig,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Estimated]:
    """Return the gaps of all labelers without findings, and what they rest on."""
    sizes = np.bincount(data.labels.group, minlength=len(data.groups))
    reference = None if data.reference is None else data.groups.index(data.reference)
    # A combination that gold knows and nobody labeled is not compared with anything.
    possible = contrasts(len(data.groups), reference, sizes)
    wanted = [each for each in possible if sizes[each.group] > 0] or possible
    measures = measure(data, estimation, asked, wanted, config, inspection)
    numbers = compare(
        estimation.rates[asked.name],
        data.gold.group,
        data.gold.cluster,
        wanted,
        order=np.argsort(data.labeler_mark, kind="stable"),
        seed=config.seed,
    )
    everybody = np.zeros(len(data.labels), dtype=np.int64)
    overall = take_together(estimation.overall, (WHOLE,), everybody, data, measures)
    crowds = None
    if overall is not None:
        crowds = find_crowds(data, estimation, wanted, overall.numbers, config, progress)
    if overall is not None and crowds is not None:
        measures = with_pooled(measures, crowds.judged, overall.measures)
    draft, basis = draft_table(data.labelers, numbers, measures, config, crowds)
    return draft, Estimated(
        basis=basis,
        overall=overall,
        cohorts=take_together(
            estimation.by_cohort, data.cohorts, data.labels.cohort, data, measures
        ),
        p_right=_in_input_order(estimation.g, data),
        decision=_decisions(data),
        rates=_both_rates(estimation, data),
    )


def _decisions(data: Data) -> IntArray:
    ordered = np.full(data.n_label_rows, -1, dtype=np.int8)
    ordered[data.labels.position] = data.labels.decision
    return ordered


def _both_rates(estimation: Estimation, data: Data) -> pd.DataFrame | None:
    if estimation.tpr is None or estimation.fpr is None:
        return None
    return pd.DataFrame(
        {
            "labeler": np.repeat(np.array(data.labelers, dtype=object), len(data.groups)),
            "group": np.tile(np.array(data.groups, dtype=object), len(data.labelers)),
            "tpr": estimation.tpr.rate.ravel(),
            "fpr": estimation.fpr.rate.ravel(),
        }
    )


def _in_input_order(g: FloatArray | None, data: Data) -> FloatArray | None:
    if g is None:
        return None
    ordered = np.full(data.n_label_rows, np.nan)
    ordered[data.labels.position] = g
    return ordered
