"""How a run that was started from a shell ends: the exit codes of the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import State
from prefect.exceptions import ParameterBindError, ParameterTypeError, SignatureMismatchError
from prefect.settings import PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS, temporary_settings

from mdba_checks.errors import CheckError, hide_secrets, visible

# Without a server Prefect starts one of its own, and gives up after 20 seconds unless told not to:
# on a busy machine it needs longer.
_PATIENCE = {PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS: 180}
PASSED, BLOCKED, BAD_INPUT, UNDECIDED, DEFECT = 0, 1, 2, 3, 70
_BY_NAME = {
    "Blocked": BLOCKED,
    "ModelBiased": BLOCKED,
    "Undecided": UNDECIDED,
    "ModelUndecided": UNDECIDED,
}
_BAD_USAGE = (CheckError, ParameterBindError, ParameterTypeError, SignatureMismatchError)


def run_in_shell(flow: Flow[..., Any], arguments: Sequence[str]) -> int:
    """Run a flow with arguments from a shell and return the exit code, whatever happens."""
    try:
        with temporary_settings(set_defaults=_PATIENCE):
            ended: Any = flow(*arguments, return_state=True)
        return exit_code(ended)
    except Exception as error:  # noqa: BLE001  whatever it is, it is not a verdict
        sys.stderr.write(f"{flow.name}: {hide_secrets(visible(error))}\n")
        return BAD_INPUT if isinstance(error, _BAD_USAGE) else DEFECT


def exit_code(state: State[Any]) -> int:
    """Return the exit code for the last state of a run of `label_bias_gate` or `gated_training`.

    0 completed, 1 blocked because somebody is biased, 3 stopped because it is undecided, 2 bad
    input, 70 anything else: the codes of `mdba check`.

    Parameters
    ----------
    state
        What the flow returned with ``return_state=True``.

    Examples
    --------
    >>> from prefect.states import Completed, Failed
    >>> exit_code(Completed()), exit_code(Failed(name="Blocked")), exit_code(Failed())
    (0, 1, 70)
    """
    if state.is_completed():
        return PASSED
    if state.name in _BY_NAME:
        return _BY_NAME[state.name]
    error: Any = state.result(raise_on_failure=False)
    return BAD_INPUT if isinstance(error, _BAD_USAGE) else DEFECT
