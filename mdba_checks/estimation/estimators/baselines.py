"""What people compute instead: selection rates, and agreement with inferred labels.

`selection_rate` ignores what would have been right. `gold_model` and `confident_learning` infer the
right label of every row first (see `inferred_labels.py`) and then count as if the inference were
the truth; their intervals know nothing about its errors. They are here to be compared with.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.estimation.estimators.evidence import Evidence, Rates
from mdba_checks.tables import FloatArray


def estimate_selection_rate(evidence: Evidence) -> Rates:
    """Return the share of positive decisions per labeler and group."""
    return _share(evidence, np.ones(len(evidence.place)))


def estimate_against_inferred(evidence: Evidence) -> Rates:
    """Return the rate of every labeler against the inferred right labels."""
    if evidence.inferred is None:
        msg = "inferred labels are missing: see estimators.inferred_labels"
        raise ValueError(msg)
    return _share(evidence, evidence.inferred)


def _share(evidence: Evidence, counts: FloatArray) -> Rates:
    """Return the share of positive decisions among the rows that count."""
    mass = evidence.cell_sum(counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = evidence.cell_sum(counts * evidence.decision) / mass
        smoothed = (rate * mass + 1) / (mass + 2)
        own_variance = smoothed * (1 - smoothed) / mass
    nothing = np.zeros((evidence.n_labelers, len(evidence.gold.group)))
    return Rates(
        rate=rate,
        own_variance=own_variance,
        gold_influence=nothing,
        mass=mass,
        allowance=np.zeros_like(rate),
        model_variance=np.zeros_like(rate),
    )
