"""Cohorts of labels, and all labels as one cohort: the doubly robust gap of labels together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig, Policy
from mdba_checks.estimation import Rates
from mdba_checks.findings.diagnostics import Measures, of_cohorts
from mdba_checks.findings.gap_table import draft_table, judge_tables
from mdba_checks.findings.inference import Gaps, compare
from mdba_checks.tables import Data, IntArray


@dataclass(frozen=True)
class Together:
    """What is known about cohorts of labels, before a policy judges it."""

    names: tuple[str, ...]
    numbers: Gaps
    measures: Measures


def judge_together(parts: Sequence[Together], config: CheckConfig, policy: Policy) -> pd.DataFrame:
    """Return a row per cohort and group, of all questions, under a policy."""
    asked = config.model_copy(update={"policy": policy})
    drafts = [draft_table(each.names, each.numbers, each.measures, asked) for each in parts]
    return judge_tables(drafts, asked)


def take_together(
    rates: Rates | None,
    names: tuple[str, ...],
    cohort: IntArray,
    data: Data,
    measures: Measures,
) -> Together | None:
    """Return what is known about cohorts, or about all labels as one cohort."""
    if rates is None or not measures.estimator.is_doubly_robust:
        return None
    labels, shape = data.labels, (len(data.labelers), len(data.groups), len(names))
    cell = labels.labeler.astype(np.int64) * shape[1] + labels.group
    member = np.bincount(cell * shape[2] + cohort, minlength=int(np.prod(shape))).reshape(shape)
    numbers = compare(
        rates,
        data.gold.group,
        data.gold.cluster,
        list(measures.contrasts),
    )
    return Together(names, numbers, of_cohorts(measures, names, member, rates))
