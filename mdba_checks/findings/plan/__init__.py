"""The plan: how many more gold items, of which group, would settle what is inconclusive.

The variance of a gap is a sum: one part from the labeler's own rows, one part from the gold items
of each group. Each shrinks as its items grow, so it can be said in advance how many items make an
interval as narrow as wanted, and which split of them is the cheapest.

How narrow is narrow enough depends on where the estimate will be by then, and it will move: new
data shift it by as much as the variance shrinks. *Power* is therefore the chance that a comparison
is settled, as biased or as fair, counted over where the estimate may go from here; it is not
assumed that the present estimate is the truth.
"""

from mdba_checks.findings.plan.amounts import Rule
from mdba_checks.findings.plan.crowd_plan import CrowdFacts, crowd_facts
from mdba_checks.findings.plan.planning import PLAN_COLUMNS, Plan, check_wish, make_plan, rule_of

__all__ = [
    "PLAN_COLUMNS",
    "CrowdFacts",
    "Plan",
    "Rule",
    "check_wish",
    "crowd_facts",
    "make_plan",
    "rule_of",
]
