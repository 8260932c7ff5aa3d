"""The verdict: what a policy makes of an assessment.

The strictest consequence wins, and what cannot be decided never passes by itself:
block > inconclusive > quarantine > annotate > pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from mdba_checks.assessment import Assessment
from mdba_checks.config import Policy
from mdba_checks.findings import BIASED, FAIR, INCONCLUSIVE

Verdict = Literal["pass", "annotate", "quarantine", "block", "inconclusive"]

CONSEQUENCES: dict[Verdict, str] = {
    "pass": "these labels may train a model.",
    "annotate": "these labels may be used by training that takes the findings into account.",
    "quarantine": "these labels may be used without the rows of the biased labelers.",
    "block": "these labels must not train a model as they are.",
    "inconclusive": "stopped, because the evidence does not decide it.",
}
_SHOWN = 3


@dataclass(frozen=True)
class Decision:
    """A verdict with its reasons, as sentences."""

    verdict: Verdict
    reasons: tuple[str, ...]
    policy: Policy

    @property
    def lets_through(self) -> bool:
        """Whether the data may go on, be it annotated or in part."""
        return self.verdict in ("pass", "annotate", "quarantine")


def gate(assessment: Assessment, policy: Policy | None = None) -> Decision:
    """Decide about a data set; without a policy, by the one it was assessed with.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> gate(assessment).verdict
    'block'
    """
    if policy is None:
        policy = assessment.config.policy
    return decide(assessment.with_policy(policy).gaps, policy)


def decide(gaps: pd.DataFrame, policy: Policy) -> Decision:
    """Decide about gaps that were judged by the policy."""
    biased, undecided = gaps[gaps["finding"] == BIASED], gaps[gaps["finding"] == INCONCLUSIVE]
    n_fair = int((gaps["finding"] == FAIR).sum())
    reasons = []
    if len(biased):
        reasons.append(_sentence(biased, "biased beyond", policy))
    if len(undecided):
        reasons.append(_sentence(undecided, "undecided at", policy))
    if n_fair and n_fair == len(gaps):
        reasons.append(f"all {n_fair} comparisons are within ±{policy.max_gap:g}")
    n_known = int(np.isfinite(gaps["gap"]).sum())
    if not n_known:
        reasons.append("not a single gap could be estimated")
    verdict = _verdict(len(biased), len(undecided), n_known, policy)
    return Decision(verdict, tuple(reasons), policy)


def _verdict(n_biased: int, n_undecided: int, n_known: int, policy: Policy) -> Verdict:
    if n_biased and policy.mode == "block":
        return "block"
    # Knowing nothing at all is no clean bill of health, whatever is tolerated in single cases.
    if (n_undecided and policy.on_inconclusive == "block") or n_known == 0:
        return "inconclusive"
    if n_biased:
        return policy.mode
    return "annotate" if n_undecided and policy.on_inconclusive == "annotate" else "pass"


def _sentence(rows: pd.DataFrame, what: str, policy: Policy) -> str:
    worst = rows.reindex(rows["gap"].abs().sort_values(ascending=False, kind="stable").index)
    names = list(dict.fromkeys(worst["labeler"]))
    first = worst.iloc[0]
    shown = ", ".join(names[:_SHOWN])
    if len(names) > _SHOWN:
        shown += f" and {len(names) - _SHOWN} more"
    return (
        f"{len(names)} labeler{'s' if len(names) > 1 else ''} {what} ±{policy.max_gap:g}: {shown}. "
        f"{first['labeler']}, {first['group']}: {first['reason']}"
    )
