"""What the rates mean: intervals, findings with their reasons, assumption checks, what to do next.

`compare` turns rates into gaps with their uncertainty, `judge` calls each of them biased,
borderline, fair or inconclusive, the diagnostics say what the numbers rest on, and `make_plan` how
much more evidence would settle what is undecided.
"""

from mdba_checks.findings.crowds import Crowds, crowd_table, find_crowds, with_crowds
from mdba_checks.findings.diagnostics import (
    Cause,
    Diagnostic,
    Inspection,
    Level,
    Measures,
    Obstacle,
    diagnose,
    doubts,
    inspect,
    measure,
    obstacles,
    of_cohorts,
    with_pooled,
)
from mdba_checks.findings.gap_table import GAP_COLUMNS, gap_table, with_findings
from mdba_checks.findings.inference import (
    Contrast,
    Gaps,
    adjust,
    compare,
    contrasts,
    errors_beyond,
    p_beyond,
    p_values,
)
from mdba_checks.findings.judge import (
    ASSUMPTION,
    BIASED,
    BORDERLINE,
    EVERYONE_ELSE,
    EVIDENCE,
    FAIR,
    INCONCLUSIVE,
    SEVERITY,
    by_severity,
    judge,
    meaning,
)
from mdba_checks.findings.plan import PLAN_COLUMNS, Plan, check_wish, make_plan
from mdba_checks.findings.sensitivity import overturned, robustness

__all__ = [
    "ASSUMPTION",
    "BIASED",
    "BORDERLINE",
    "EVERYONE_ELSE",
    "EVIDENCE",
    "FAIR",
    "GAP_COLUMNS",
    "INCONCLUSIVE",
    "PLAN_COLUMNS",
    "SEVERITY",
    "Cause",
    "Contrast",
    "Crowds",
    "Diagnostic",
    "Gaps",
    "Inspection",
    "Level",
    "Measures",
    "Obstacle",
    "Plan",
    "adjust",
    "by_severity",
    "check_wish",
    "compare",
    "contrasts",
    "crowd_table",
    "diagnose",
    "doubts",
    "errors_beyond",
    "find_crowds",
    "gap_table",
    "inspect",
    "judge",
    "make_plan",
    "meaning",
    "measure",
    "obstacles",
    "of_cohorts",
    "overturned",
    "p_beyond",
    "p_values",
    "robustness",
    "with_crowds",
    "with_findings",
    "with_pooled",
]
