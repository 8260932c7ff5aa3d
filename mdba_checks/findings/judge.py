"""Four findings: biased, borderline, fair or inconclusive, each with its reason in plain words.

Borderline is for gaps at the limit, where more data would not settle it and either answer is nearly
right. Inconclusive has a cause: too little evidence, or an assumption that does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.config import Policy
from mdba_checks.findings.corrections import MANY, adjust, clear_of_others
from mdba_checks.findings.crowds import OwnEvidence
from mdba_checks.findings.diagnostics import Cause, Obstacle
from mdba_checks.findings.inference import p_beyond, p_values
from mdba_checks.metrics import Wording
from mdba_checks.tables import BoolArray, FloatArray

BIASED, BORDERLINE, FAIR, INCONCLUSIVE = "biased", "borderline", "fair", "inconclusive"
SEVERITY = {BIASED: 0, INCONCLUSIVE: 1, BORDERLINE: 2, FAIR: 3}
EVIDENCE: Cause = "evidence"
ASSUMPTION: Cause = "assumption"
_NOT_ESTIMATED = Obstacle("the gap could not be estimated", EVIDENCE)


def said_about(who: str, row: Mapping[Any, Any]) -> str:
    """Return what was found about somebody, as a sentence.

    Examples
    --------
    >>> row = {"finding": "biased", "group": "women", "reason": "invites 55% of …"}
    >>> said_about("Ada", row)
    'Ada invites 55% of …'
    >>> said_about("Ada", {"finding": "fair", "group": "women", "reason": "the interval …"})
    'Ada, women: the interval …'
    """
    if row["finding"] == BIASED:  # the reason is then what they do
        return f"{who} {row['reason']}"
    return f"{who}, {row.get('side', row['group'])}: {row['reason']}"


def by_severity(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted by finding, the most severe first, and by size within each.

    Examples
    --------
    >>> rows = pd.DataFrame({"finding": ["fair", "biased", "biased"], "gap": [0.0, 0.2, -0.4]})
    >>> by_severity(rows)["gap"].tolist()
    [-0.4, 0.2, 0.0]
    """
    size = gaps["gap"].abs().fillna(-1.0)
    keys = pd.DataFrame({"finding": gaps["finding"].map(SEVERITY), "size": -size})
    return gaps.loc[keys.sort_values(["finding", "size"], kind="stable").index]


def judge(
    gaps: pd.DataFrame,
    policy: Policy,
    *,
    confidence: float,
    obstacles: Sequence[Obstacle | None],
    doubts: Sequence[str] = (),
    overturned: Sequence[str] = (),
    freedom: FloatArray | float = np.inf,
    own: OwnEvidence | None = None,
    wording: Sequence[Wording] = (),
) -> pd.DataFrame:
    """Return `gaps` with `p_value`, `finding`, `cause`, `reason` and `p_beyond` under a policy.

    Parameters
    ----------
    gaps
        One row per comparison: ``gap, std_error, ci_low, ci_high`` and what reasons name.
    policy, confidence
        How to decide, and what the intervals are.
    obstacles
        Per row, why nothing can be concluded there; None where nothing is in the way.
    doubts
        Per row, why neither fair nor borderline can be concluded; who is biased stays that. An
        empty text is not a doubt.
    overturned
        Per row, what would overturn whatever finding the numbers alone give; the row is then
        inconclusive. An empty text changes nothing.
    freedom
        Degrees of freedom of the standard errors.
    own
        What people's own decisions say, for rows whose gap was learned from a crowd.
    wording
        Per row, how reasons describe the rate.
    """
    judged = gaps.copy()
    gap, error = gaps["gap"].to_numpy(), gaps["std_error"].to_numpy()
    unusable = ~(np.isfinite(gap) & np.isfinite(error))
    obstacles = [
        obstacle or (_NOT_ESTIMATED if lost else None)
        for obstacle, lost in zip(obstacles, unusable, strict=True)
    ]
    blocked = np.array([obstacle is not None for obstacle in obstacles], dtype=bool)
    p = p_values(gap, error, policy.max_gap, freedom)
    beyond = p_beyond(gap, error, policy.max_gap)
    pooled, stands_out = np.zeros(len(p), dtype=bool), np.zeros(len(p), dtype=bool)
    if own is not None:
        pooled, stands_out = np.isfinite(own.p_value.ravel()), own.stands_out.ravel()
        p = np.where(pooled, own.p_value.ravel(), p)
        beyond = np.where(pooled, own.p_beyond.ravel(), beyond)
    p[blocked] = np.nan
    judged["p_value"] = p
    judged["p_beyond"] = np.where(blocked, np.nan, beyond)
    adjusted = _adjusted(judged, policy, 1 - confidence, freedom, pooled)
    by_numbers = _by_numbers(judged, policy, adjusted < 1 - confidence, stands_out)
    judged["finding"] = np.where(blocked, INCONCLUSIVE, by_numbers)
    doubts, overturned = (each or [""] * len(gaps) for each in (doubts, overturned))
    rows: Iterable[Any] = judged.itertuples(index=False)
    answers = [
        _answer(row.finding, obstacle, doubt, overturning)
        or (row.finding, "", _reason(row, policy, confidence, len(gaps), words))
        for row, obstacle, doubt, overturning, words in zip(
            rows, obstacles, doubts, overturned, wording or [Wording()] * len(gaps), strict=True
        )
    ]
    judged["finding"] = [finding for finding, _, _ in answers]
    judged["cause"] = [
        cause or (EVIDENCE if finding == INCONCLUSIVE else "") for finding, cause, _ in answers
    ]
    judged["reason"] = [reason for _, _, reason in answers]
    return judged


def _adjusted(
    gaps: pd.DataFrame,
    policy: Policy,
    level: float,
    freedom: FloatArray | float,
    pooled: BoolArray,
) -> FloatArray:
    """Return p-values that allow for the number of comparisons.

    The correction guards the claim "biased". "Fair" needs none: the gate passes only when every
    single interval lies inside, which is the stricter demand already.
    """
    p = gaps["p_value"].to_numpy()
    if policy.correction != "auto":
        return adjust(p, policy.correction)
    if gaps["labeler"].nunique() > MANY:
        return np.where(pooled, p, adjust(p, "bh"))
    if pooled.any():
        return adjust(p, "holm")
    gap = np.where(np.isfinite(p), gaps["gap"], np.nan)
    return clear_of_others(gap, gaps["std_error"].to_numpy(), policy.max_gap, freedom, level=level)


def _by_numbers(gaps: pd.DataFrame, policy: Policy, clear: BoolArray, stands_out: BoolArray) -> Any:
    """Return the finding that the numbers alone give to every row.

    `clear` says which gaps are shown to be beyond the limit after the correction. Somebody whose
    gap was learned from a crowd is biased when their own decisions say so and the interval, which
    knows how rare such people are, lies beyond the limit. Nobody whose own decisions stand out is
    called fair because others are.
    """
    limit = policy.max_gap
    if policy.decide_on == "estimate":
        return np.where(gaps["gap"].abs() > limit, BIASED, FAIR)
    shown = (gaps["ci_low"] > limit) | (gaps["ci_high"] < -limit)
    fair, borderline = (
        (gaps["ci_low"] >= -widest) & (gaps["ci_high"] <= widest)
        for widest in (limit, limit + (policy.resolved().margin or 0.0))
    )
    findings = [BIASED, INCONCLUSIVE, FAIR, BORDERLINE]
    return np.select([clear & shown, stands_out, fair, borderline], findings, INCONCLUSIVE)


def _answer(
    finding: str, obstacle: Obstacle | None, doubt: str, overturning: str
) -> tuple[str, str, str] | None:
    """Return finding, cause and reason where something else than the numbers decides."""
    if obstacle is not None:
        return INCONCLUSIVE, obstacle.cause, obstacle.text
    if doubt and finding != BIASED:
        return INCONCLUSIVE, ASSUMPTION, doubt
    if overturning and finding != INCONCLUSIVE:
        return INCONCLUSIVE, ASSUMPTION, overturning
    return None


def _reason(row: Any, policy: Policy, confidence: float, n_tests: int, wording: Wording) -> str:
    limit = f"±{policy.max_gap:g}"
    does = ""
    if row.finding == BIASED:
        group, reference = (row.group, row.rate), (row.reference, row.rate_reference)
        does = wording.sentence(group, reference, gap=row.gap, limit=policy.max_gap)
    if policy.decide_on == "estimate":
        says = does or f"the estimate {row.gap:+.3f} is within {limit}"
        return f"{says}; uncertainty not considered"
    interval = f"the {confidence:.0%} interval {row.ci_low:+.3f} to {row.ci_high:+.3f}"
    if does:
        return f"{does}; {interval} lies beyond {limit}"
    if row.finding == FAIR:
        return f"{interval} lies within {limit}"
    if row.finding == BORDERLINE:
        widest = policy.max_gap + (policy.resolved().margin or 0.0)
        return f"{interval} reaches across {limit}, but stays within ±{widest:g}"
    widest = policy.max_gap + (policy.resolved().margin or 0.0)
    if row.ci_low >= -widest and row.ci_high <= widest:
        return (
            f"{interval} is what most labelers are like, but the labeler's own decisions stand "
            "out: more labels by them would tell"
        )
    if row.ci_low > policy.max_gap or row.ci_high < -policy.max_gap:
        return (
            f"{interval} lies beyond {limit}, but not clearly enough for one of {n_tests} "
            f"comparisons (correction: {policy.correction})"
        )
    return f"{interval} reaches across {limit}: more gold items or more labels would narrow it"
