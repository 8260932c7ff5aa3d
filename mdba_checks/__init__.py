"""Stop biased labels before they train a model.

From a table of labels by many people and a small gold table, `assess` estimates how differently
every labeler treats groups of people, with honest uncertainty; `gate` turns that into a verdict,
and `release` returns the rows that may be trained on.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = [
    "Assessment",
    "Blocked",
    "CheckConfig",
    "Columns",
    "Decision",
    "Policy",
    "Released",
    "Words",
    "assess",
    "choose_gold",
    "gate",
    "read_answers",
    "read_released",
    "release",
    "verify",
]

if TYPE_CHECKING:
    from mdba_checks.assessment import Assessment, assess
    from mdba_checks.config import CheckConfig, Columns, Policy, Words
    from mdba_checks.outputs import (
        Blocked,
        Released,
        choose_gold,
        read_answers,
        read_released,
        release,
        verify,
    )
    from mdba_checks.verdict import Decision, gate

_HOME = {
    "Assessment": "assessment",
    "assess": "assessment",
    "CheckConfig": "config",
    "Columns": "config",
    "Policy": "config",
    "Words": "config",
    "Decision": "verdict",
    "gate": "verdict",
    "Blocked": "outputs",
    "Released": "outputs",
    "choose_gold": "outputs",
    "read_answers": "outputs",
    "read_released": "outputs",
    "release": "outputs",
    "verify": "outputs",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line answers --help without numpy."""
    from importlib import import_module

    if name not in _HOME:
        msg = f"module 'mdba_checks' has no attribute {name!r}"
        raise AttributeError(msg)
    module = import_module(f"mdba_checks.{_HOME[name]}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
