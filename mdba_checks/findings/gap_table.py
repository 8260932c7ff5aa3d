"""The table of gaps: a row per comparison, of a labeler, of a cohort, or of all labels together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig
from mdba_checks.findings.crowds import Crowds
from mdba_checks.findings.diagnostics import Measures, doubts, obstacles
from mdba_checks.findings.inference import Contrast, Gaps
from mdba_checks.findings.judge import INCONCLUSIVE, judge
from mdba_checks.findings.sensitivity import overturned, robustness
from mdba_checks.metrics import EVERYONE_ELSE

GAP_COLUMNS = (
    "labeler",
    "group",
    "reference",
    "metric",
    "gap",
    "std_error",
    "ci_low",
    "ci_high",
    "p_value",
    "rate",
    "rate_low",
    "rate_high",
    "rate_reference",
    "table_gap",
    "table_low",
    "table_high",
    "finding",
    "cause",
    "reason",
    "robustness",
    "p_beyond",
    "n_labels",
    "n_gold",
    "n_gold_positive",
    "n_direct",
)


def gap_table(
    who: Sequence[str],
    wanted: Sequence[Contrast],
    numbers: Gaps,
    measures: Measures,
    config: CheckConfig,
    crowds: Crowds | None = None,
    decided: Gaps | None = None,
) -> pd.DataFrame:
    """Return the gaps of `who` with findings under the policy, columns as in `GAP_COLUMNS`.

    `numbers` are about the labels in the table. With `crowds`, `gap` and the findings are about how
    people decide: `decided`, what `with_crowds` returns.
    """
    table_gap = numbers.gap
    table_low, table_high = numbers.interval(config.confidence)
    numbers = decided or numbers
    low, high = numbers.interval(config.confidence)
    rate_low, rate_high = numbers.rate_interval(config.confidence)
    groups = [measures.groups[each.group] for each in wanted]
    against = [
        EVERYONE_ELSE if each.reference is None else measures.groups[each.reference]
        for each in wanted
    ]
    codes = [each.group for each in wanted]
    table = pd.DataFrame(
        {
            "labeler": np.repeat(np.array(who, dtype=object), len(wanted)),
            "group": np.tile(np.array(groups, dtype=object), len(who)),
            "reference": np.tile(np.array(against, dtype=object), len(who)),
            "metric": config.metric,
            "gap": numbers.gap.ravel(),
            "std_error": numbers.std_error.ravel(),
            "ci_low": low.ravel(),
            "ci_high": high.ravel(),
            "p_value": np.nan,
            "rate": numbers.rate.ravel(),
            "rate_low": rate_low.ravel(),
            "rate_high": rate_high.ravel(),
            "rate_reference": numbers.rate_reference.ravel(),
            "table_gap": table_gap.ravel(),
            "table_low": table_low.ravel(),
            "table_high": table_high.ravel(),
            "finding": "",
            "cause": "",
            "reason": "",
            "robustness": np.nan,
            "p_beyond": np.nan,
            "n_labels": measures.labels_compared.ravel(),
            "n_gold": np.tile(measures.n_gold[codes], len(who)),
            "n_gold_positive": np.tile(measures.n_gold_positive[codes], len(who)),
            "n_direct": measures.direct_compared.ravel(),
        },
        columns=list(GAP_COLUMNS),
    )
    return with_findings(table, numbers, measures, config, crowds)


def with_findings(
    table: pd.DataFrame,
    numbers: Gaps,
    measures: Measures,
    config: CheckConfig,
    crowds: Crowds | None = None,
) -> pd.DataFrame:
    """Return a table of gaps with findings under the policy, and how much would overturn them.

    `numbers` are those that findings rest on, `with_crowds` where there is a crowd.
    """
    policy = config.policy
    judged = judge(
        table,
        policy,
        confidence=config.confidence,
        obstacles=obstacles(measures, policy),
        doubts=doubts(measures, policy),
        overturned=overturned(numbers, measures, policy.max_gap),
        freedom=numbers.freedom.ravel(),
        own=None if crowds is None else crowds.evidence(policy.max_gap, config.confidence),
        wording=measures.wording,
    )
    found = judged["finding"] != INCONCLUSIVE
    if measures.estimator.is_doubly_robust:
        counted = measures.counted.ravel() & found
        judged.loc[counted, "reason"] += " (counted, not estimated)"
    holds = robustness(numbers, *numbers.interval(config.confidence), policy.max_gap).ravel()
    judged["robustness"] = np.where(found, holds, np.nan)
    return judged
