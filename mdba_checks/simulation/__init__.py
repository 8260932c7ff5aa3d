"""Labelers with a known bias, to try a check on and to measure estimators with.

`simulate` takes a table of covariates (its own, or yours), models a correct decision for every
item, sets some items aside as gold, deals the rest to labelers, and lets each labeler decide with
a chosen true positive rate in one group. What comes back holds the labels, the gold and the truth.
"""

from mdba_checks.simulation.covariates import Covariates, make_covariates
from mdba_checks.simulation.generator import Family, Simulation, simulate

__all__ = ["Covariates", "Family", "Simulation", "make_covariates", "simulate"]
