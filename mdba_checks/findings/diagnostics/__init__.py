"""Assumption checks: what the estimates rest on, each as a number, a level and a sentence.

`inspect` looks at the tables alone, `measure` adds what the models showed, and `diagnose` grades
the numbers under a policy. The three are apart because a policy may change after the numbers have
been found, and several estimators share one look at the tables. `obstacles` says for which
comparisons nothing can be concluded, and why; `doubts`, who cannot be called fair.
"""

from mdba_checks.findings.diagnostics.checks import diagnose, diagnose_all
from mdba_checks.findings.diagnostics.grading import Diagnostic, Level
from mdba_checks.findings.diagnostics.measures import (
    Inspection,
    Measures,
    inspect,
    measure,
    of_cohorts,
    with_pooled,
)
from mdba_checks.findings.diagnostics.obstacles import Cause, Obstacle, doubts, obstacles

__all__ = [
    "Cause",
    "Diagnostic",
    "Inspection",
    "Level",
    "Measures",
    "Obstacle",
    "diagnose",
    "diagnose_all",
    "doubts",
    "inspect",
    "measure",
    "obstacles",
    "of_cohorts",
    "with_pooled",
]
