"""From two tables to a frozen result: `assess` makes it, `Assessment` is it."""

from mdba_checks.assessment.assessing import assess, assess_data, assess_tables, assess_with
from mdba_checks.assessment.result import Assessment

__all__ = ["Assessment", "assess", "assess_data", "assess_tables", "assess_with"]
