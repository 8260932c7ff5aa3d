"""Crowds: how people with few labels each decide, learned from all of them together.

A contrast (one group against a reference) has two sides. On each, a labeler differs from the
average labeler by two effects: how much more readily they say yes where yes is right, and where
it is not (`effects.py`). Few labels say little about them, so a prior is learned from the crowd,
and how far somebody speaks for themselves follows from their labels. The rate is a function of
the two effects alone (`surfaces.py`), so the cost per labeler does not grow with gold.

`fit_crowd` answers how every labeler decides (`gaps.py`), and `spread` how people differ
(`spread.py`).
"""

from mdba_checks.estimation.crowd.fitting import (
    LEAST_LABELERS,
    MOST_LABELS,
    Crowd,
    CrowdGold,
    CrowdLabels,
    fit_crowd,
    is_crowd,
)
from mdba_checks.estimation.crowd.gaps import CrowdGaps
from mdba_checks.estimation.crowd.spread import Estimate, Spread, spread

__all__ = [
    "LEAST_LABELERS",
    "MOST_LABELS",
    "Crowd",
    "CrowdGaps",
    "CrowdGold",
    "CrowdLabels",
    "Estimate",
    "Spread",
    "fit_crowd",
    "is_crowd",
    "spread",
]
