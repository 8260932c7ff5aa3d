"""Prefect: the check as tasks that anybody's flow can use, one by one or as the ready gate.

The tasks pass paths and small JSON to each other, and never let data through by accident: whatever
goes wrong in one of them ends the flow before training.
"""

from mdba_checks.prefect.support import read_config  # first: it says what is missing  # isort: skip
from mdba_checks.prefect.approval import Approval, ask_person, duration
from mdba_checks.prefect.check import assess_labels, decide, fingerprint, judged
from mdba_checks.prefect.choose import choose_items
from mdba_checks.prefect.exit_codes import exit_code, run_in_shell
from mdba_checks.prefect.gate import OUTCOMES, STOPPED_STATES, label_bias_gate
from mdba_checks.prefect.outputs import (
    check_output,
    verify_released,
    write_findings,
    write_outputs,
)
from mdba_checks.prefect.publish import Outcome, announce, publish_verdict
from mdba_checks.prefect.rules import RulesBrokenError, validate_rules
from mdba_checks.prefect.settings import LabelBiasSettings, settings_of
from mdba_checks.prefect.training import evaluate_model, gated_training, train_model

__all__ = [
    "OUTCOMES",
    "STOPPED_STATES",
    "Approval",
    "LabelBiasSettings",
    "Outcome",
    "RulesBrokenError",
    "announce",
    "ask_person",
    "assess_labels",
    "check_output",
    "choose_items",
    "decide",
    "duration",
    "evaluate_model",
    "exit_code",
    "fingerprint",
    "gated_training",
    "judged",
    "label_bias_gate",
    "publish_verdict",
    "read_config",
    "run_in_shell",
    "settings_of",
    "train_model",
    "validate_rules",
    "verify_released",
    "write_findings",
    "write_outputs",
]
