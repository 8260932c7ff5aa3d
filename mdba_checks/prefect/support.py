"""What the tasks have in common: their settings, their log, and when to try again."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import mdba_checks
from mdba_checks.config import CheckConfig
from mdba_checks.errors import MissingExtraError

try:
    from prefect.exceptions import MissingContextError
    from prefect.logging import get_run_logger
    from prefect.settings import PREFECT_LOCAL_STORAGE_PATH
except ModuleNotFoundError as error:
    if error.name != "prefect":
        raise
    raise MissingExtraError("mdba_checks.prefect", "prefect") from None

JSON = dict[str, Any]


def read_config(config: str | Path | Mapping[str, Any] | CheckConfig | None) -> CheckConfig:
    """Return settings from a YAML file, from parsed YAML or JSON, or as they are.

    Examples
    --------
    >>> read_config({"reference": "men", "policy": {"max_gap": 0.2}}).policy.max_gap
    0.2
    """
    if config is None:
        return CheckConfig()
    if isinstance(config, CheckConfig):
        return config
    if isinstance(config, Mapping):
        return CheckConfig.from_mapping(config)
    return CheckConfig.from_yaml(config)


def log() -> Any:
    """Return the run's logger; outside a run, where a task is called as a function, our own."""
    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger("mdba_checks.prefect")


def passing_trouble(task: Any, task_run: Any, state: Any) -> bool:  # noqa: ARG001
    """Tell Prefect whether to try again: after trouble with files and network, and nothing else.

    Bad input stays bad, and a verdict is an answer, not a failure.
    """
    return isinstance(state.result(raise_on_failure=False), OSError)


def digest(value: Any) -> str:
    """Return a hash of plain values, the same in every run.

    Examples
    --------
    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def code_version() -> str:
    """Return the version, and a hash of the code: what other code found is not what this finds."""
    root = Path(mdba_checks.__file__).parent
    total = hashlib.blake2b(digest_size=16)
    for path in sorted(root.rglob("*.py")):
        total.update(str(path.relative_to(root)).encode())
        total.update(path.read_bytes())
    return f"{mdba_checks.__version__}-{total.hexdigest()}"


def work_folder() -> Path:
    """Return where files that belong to cached results are kept, beside Prefect's own."""
    folder = Path(PREFECT_LOCAL_STORAGE_PATH.value()) / "mdba"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
