"""Fields of an expectation from an mdba.yaml: read once, and written to the suite one by one.

A suite that only named the file would change its meaning with the file, without anybody agreeing
to it. So the name of the file is not stored: what the file said when the rule was made is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.metrics import METRICS


def fields_from(config: Any, keys: Mapping[str, str], metric: str) -> dict[str, Any]:
    """Return the fields that a file of settings stands for, thresholds written out.

    Parameters
    ----------
    config
        The path of the file.
    keys
        Field of the expectation: key of the configuration.
    metric
        What the expectation is about; a file about another rate is refused.

    Raises
    ------
    InputError
        When the file cannot be read, or is about another rate.
    """
    if not isinstance(config, (str, os.PathLike)):
        raise InputError(
            f"config is {type(config).__name__}: the path of an mdba.yaml is needed; it is read "
            "when the expectation is made"
        )
    settings = CheckConfig.from_yaml(os.fspath(config))
    if "metric" in settings.model_fields_set and settings.metric != metric:
        raise InputError(
            f"config {config} says metric {settings.metric!r}, and this expectation is about the "
            f"{METRICS[metric].title}: use the one that is named after the metric, or remove the "
            "line"
        )
    values = settings.model_copy(update={"policy": settings.policy.resolved()}).model_dump()
    return {name: _plain(_at(values, key)) for name, key in keys.items()}


def _at(values: Mapping[str, Any], key: str) -> Any:
    section, _, name = key.rpartition(".")
    return (values[section] if section else values)[name]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
