"""Prefect: the check as tasks that anybody's flow can use, one by one or as the ready gate.

The tasks pass paths and small JSON to each other, and never let data through by accident: whatever
goes wrong in one of them ends the flow before training.
"""

from mdba_checks.tasks.support import read_config  # first: it says what is missing  # isort: skip
from mdba_checks.tasks.approval import Approval, ask_person, duration
from mdba_checks.tasks.check import assess_labels, decide, fingerprint, judged
from mdba_checks.tasks.outputs import (
    Released,
    check_output,
    decided,
    read_released,
    verify_released,
    write_outputs,
)
from mdba_checks.tasks.publish import Outcome, announce, publish_verdict
from mdba_checks.tasks.rules import RulesBrokenError, validate_rules

__all__ = [
    "Approval",
    "Outcome",
    "Released",
    "RulesBrokenError",
    "announce",
    "ask_person",
    "assess_labels",
    "check_output",
    "decide",
    "decided",
    "duration",
    "fingerprint",
    "judged",
    "publish_verdict",
    "read_config",
    "read_released",
    "validate_rules",
    "verify_released",
    "write_outputs",
]
