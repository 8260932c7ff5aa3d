"""Three answers, never two: biased, fair or inconclusive, each with its reason in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.config import EstimatorName, Metric, Policy
from mdba_checks.inference import adjust, p_values

BIASED, FAIR, INCONCLUSIVE = "biased", "fair", "inconclusive"
EVERYONE_ELSE = "everyone else"
SEVERITY = {BIASED: 0, INCONCLUSIVE: 1, FAIR: 2}

_DOING: dict[Metric, tuple[str, str]] = {
    "tpr": ("yes", "yes"),
    "fpr": ("yes", "no"),
    "tnr": ("no", "no"),
    "fnr": ("no", "yes"),
}


def meaning(metric: Metric, estimator: EstimatorName = "mdba_dr") -> str:
    """Return what is counted, in words.

    Examples
    --------
    >>> meaning("fpr")
    'says yes where no is right'
    >>> meaning("tpr", "selection_rate")
    'says yes'
    """
    said, right = _DOING[metric]
    if estimator == "selection_rate":
        return f"says {said}"
    return f"says {said} where {right} is right"


def by_severity(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted: biased, inconclusive, fair, and the larger gap first within each.

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
    obstacles: Sequence[str],
    doubts: Sequence[str] = (),
    estimator: EstimatorName = "mdba_dr",
) -> pd.DataFrame:
    """Return `gaps` with `p_value`, `finding` and `reason` under a policy.

    `obstacles` says, per row, why nothing can be concluded there; an empty text means no obstacle.
    `doubts` says, in the same way, why "fair" cannot be concluded; who is biased stays that.
    """
    judged = gaps.copy()
    gap, error = gaps["gap"].to_numpy(), gaps["std_error"].to_numpy()
    unusable = ~(np.isfinite(gap) & np.isfinite(error))
    obstacles = [
        obstacle or ("the gap could not be estimated" if lost else "")
        for obstacle, lost in zip(obstacles, unusable, strict=True)
    ]
    blocked = np.array([obstacle != "" for obstacle in obstacles], dtype=bool)
    p = p_values(gap, error, policy.max_gap)
    p[blocked] = np.nan
    adjusted = adjust(p, policy.correction)
    if policy.decide_on == "estimate":
        biased = np.abs(gap) > policy.max_gap
        fair = np.abs(gap) <= policy.max_gap
    else:
        # The correction guards the claim "biased". "Fair" needs none: the gate passes only when
        # every single interval lies inside, which is the stricter demand already.
        biased = adjusted < 1 - confidence
        fair = (gaps["ci_low"] >= -policy.max_gap) & (gaps["ci_high"] <= policy.max_gap)
    doubts = doubts or [""] * len(gaps)
    fair &= np.array([doubt == "" for doubt in doubts], dtype=bool)
    judged["p_value"] = p
    judged["finding"] = np.select(
        [blocked, biased, fair], [INCONCLUSIVE, BIASED, FAIR], INCONCLUSIVE
    )
    rows: Iterable[Any] = judged.itertuples(index=False)
    judged["reason"] = [
        obstacle
        or (doubt if row.finding == INCONCLUSIVE else "")
        or _reason(row, policy, confidence, len(gaps), estimator)
        for obstacle, doubt, row in zip(obstacles, doubts, rows, strict=True)
    ]
    return judged


def _reason(
    row: Any, policy: Policy, confidence: float, n_tests: int, estimator: EstimatorName
) -> str:
    limit = f"±{policy.max_gap:g}"
    if policy.decide_on == "estimate":
        place = "beyond" if row.finding == BIASED else "within"
        return f"the estimate {row.gap:+.3f} is {place} {limit} (uncertainty not considered)"
    interval = f"the {confidence:.0%} interval {row.ci_low:+.3f} to {row.ci_high:+.3f}"
    if row.finding == BIASED:
        size = f"{100 * abs(row.gap):.0f} points {'less' if row.gap < 0 else 'more'} often"
        return (
            f"{meaning(row.metric, estimator)} {size} for {row.group} ({row.rate:.0%}) "
            f"than for {row.reference} ({row.rate_reference:.0%}); {interval} lies beyond {limit}"
        )
    if row.finding == FAIR:
        return f"{interval} lies within {limit}"
    if row.ci_low > policy.max_gap or row.ci_high < -policy.max_gap:
        return (
            f"{interval} lies beyond {limit}, but not clearly enough for one of {n_tests} "
            f"comparisons (correction: {policy.correction})"
        )
    return f"{interval} reaches across {limit}: more gold items or more labels would narrow it"
