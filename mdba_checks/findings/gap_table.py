"""The table of gaps: a row per comparison, of a labeler, of a cohort, or of all labels together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig
from mdba_checks.findings.crowds import Crowds, OwnEvidence, with_crowds
from mdba_checks.findings.diagnostics import Measures, doubts, obstacles
from mdba_checks.findings.inference import Gaps
from mdba_checks.findings.judge import INCONCLUSIVE, judge
from mdba_checks.findings.sensitivity import overturned, robustness
from mdba_checks.metrics import EVERYONE_ELSE

GAP_COLUMNS = (
    "labeler",
    "attribute",
    "group",
    "reference",
    "class",
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


@dataclass(frozen=True)
class Basis:
    """What the findings about one question rest on, before a policy judges them.

    Attributes
    ----------
    numbers
        The gaps; those of people with few labels by what the crowd says about them.
    measures
        What assumption checks ask for.
    crowds
        The crowd, where there is one.
    """

    numbers: Gaps
    measures: Measures
    crowds: Crowds | None = None


def draft_table(
    who: Sequence[str],
    numbers: Gaps,
    measures: Measures,
    config: CheckConfig,
    crowds: Crowds | None = None,
) -> tuple[pd.DataFrame, Basis]:
    """Return the gaps of `who` without findings, columns as in `GAP_COLUMNS`, and their basis.

    `numbers` are about the labels in the table; with `crowds`, `gap` and the findings are about how
    people decide.
    """
    wanted = measures.contrasts
    table_gap = numbers.gap
    table_low, table_high = numbers.interval(config.confidence)
    numbers = with_crowds(numbers, crowds, config.confidence)
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
            "attribute": measures.question.attribute,
            "group": np.tile(np.array(groups, dtype=object), len(who)),
            "reference": np.tile(np.array(against, dtype=object), len(who)),
            "class": measures.question.label_class,
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
    return table, Basis(numbers, measures, crowds)


def judge_tables(drafts: Sequence[tuple[pd.DataFrame, Basis]], config: CheckConfig) -> pd.DataFrame:
    """Return the gaps of several questions in one table, judged together."""
    table = pd.concat([table for table, _ in drafts], ignore_index=True)
    return with_findings(table, [basis for _, basis in drafts], config)


def with_findings(table: pd.DataFrame, parts: Sequence[Basis], config: CheckConfig) -> pd.DataFrame:
    """Return a table of gaps with findings under the policy, and how much would overturn them.

    The rows of the first part come first in the table, and so on. All rows count as comparisons
    that are made at once.
    """
    policy, confidence = config.policy, config.confidence
    judged = judge(
        table,
        policy,
        confidence=confidence,
        obstacles=[each for part in parts for each in obstacles(part.measures, policy)],
        doubts=[each for part in parts for each in doubts(part.measures, policy)],
        overturned=[
            each
            for part in parts
            for each in overturned(part.numbers, part.measures, policy.max_gap)
        ],
        freedom=np.concatenate([part.numbers.freedom.ravel() for part in parts]),
        own=_own_evidence(parts, policy.max_gap, confidence),
        wording=[part.measures.wording for part in parts for _ in range(part.numbers.gap.size)],
    )
    found = judged["finding"] != INCONCLUSIVE
    if parts[0].measures.estimator.is_doubly_robust:
        counted = np.concatenate([part.measures.counted.ravel() for part in parts]) & found
        judged.loc[counted, "reason"] += " (counted, not estimated)"
    holds = [
        robustness(part.numbers, *part.numbers.interval(confidence), policy.max_gap).ravel()
        for part in parts
    ]
    judged["robustness"] = np.where(found, np.concatenate(holds), np.nan)
    return judged


def _own_evidence(parts: Sequence[Basis], max_gap: float, confidence: float) -> OwnEvidence | None:
    """Return what people's own decisions say, in one row; None without any crowd."""
    if all(part.crowds is None for part in parts):
        return None
    each = [
        OwnEvidence.unknown(part.numbers.gap.shape)
        if part.crowds is None
        else part.crowds.evidence(max_gap, confidence)
        for part in parts
    ]
    return OwnEvidence(
        np.concatenate([one.p_value.ravel() for one in each]),
        np.concatenate([one.p_beyond.ravel() for one in each]),
        np.concatenate([one.stands_out.ravel() for one in each]),
    )
