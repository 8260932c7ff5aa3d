"""Labelers who are undecided for lack of evidence: what is known about them nevertheless.

An interval that reaches across the limit may be short or long. A short one shows that the labeler
is not far beyond the limit; a long one shows nothing, unless all of it lies on one side of zero. A
policy tolerates these three differently.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from mdba_checks.config import Policy
from mdba_checks.findings.judge import EVIDENCE, INCONCLUSIVE

# Shown not to be far beyond the limit; about whom nothing is shown; who is probably beyond it.
NEAR, UNKNOWN, SUSPECT = "near", "unknown", "suspect"
# So many margins beyond the limit is far: with the default margin, three times the limit.
FAR_MARGINS = 4
# An interval misses the truth on one side in one of twenty cases at 90% confidence. Of labelers
# about whom nothing is known the policy tolerates a share; of suspects a twentieth of it.
SUSPECTS_TOLERATED = 1 / 20


def far_beyond(policy: Policy) -> float:
    """Return the gap from which on somebody is far beyond the limit.

    Examples
    --------
    >>> round(far_beyond(Policy(max_gap=0.1)), 3), round(far_beyond(Policy(margin=0)), 3)
    (0.3, 0.1)
    """
    return policy.max_gap + FAR_MARGINS * (policy.resolved().margin or 0.0)


def standing(gaps: pd.DataFrame, policy: Policy) -> pd.Series:
    """Return for every row how an undecided labeler stands to the limit; '' for all others.

    Parameters
    ----------
    gaps
        Judged gaps. Where a column ``pooled`` is true, the interval was learned from a crowd: it
        rests on how rare biased people are, and so it cannot show that a single one is not far
        beyond the limit.
    policy
        What they were judged by. Where `max_undecided` is 0, everybody has to be decided, and
        nobody is near.

    Examples
    --------
    >>> rows = pd.DataFrame(
    ...     {
    ...         "finding": "inconclusive",
    ...         "cause": "evidence",
    ...         "p_value": 0.4,
    ...         "ci_low": [-0.02, -0.2, 0.02],
    ...         "ci_high": [0.2, 0.4, 0.4],
    ...     }
    ... )
    >>> standing(rows, Policy()).tolist()
    ['near', 'unknown', 'suspect']
    """
    limit, far = policy.max_gap, far_beyond(policy)
    low, high = gaps["ci_low"], gaps["ci_high"]
    is_open = (gaps["finding"] == INCONCLUSIVE) & (gaps["cause"] == EVIDENCE)
    # A row without a p-value has an obstacle, such as too little gold: its interval shows nothing.
    shows = np.isfinite(gaps["p_value"].to_numpy(dtype=float))
    beyond = (low > limit) | (high < -limit)
    within = (low >= -far) & (high <= far)
    one_sided = (low > 0) | (high < 0)
    suspect = shows & (beyond | (one_sided & ~within))
    near = shows & within & ~beyond & (policy.max_undecided > 0)
    if "pooled" in gaps:
        near &= ~gaps["pooled"]
    found = np.select([~is_open, suspect, near], ["", SUSPECT, NEAR], UNKNOWN)
    return pd.Series(found, index=gaps.index)
