"""The rows of whoever is biased, in the form in which core expectations name unexpected rows.

A core expectation finds them and gives them their form: "no value of the labeler column is one of
these names". So every `result_format` means here what it means everywhere, on every engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.expectations.core.expect_column_values_to_not_be_in_set import (
    ExpectColumnValuesToNotBeInSet,
)
from great_expectations.validator.metrics_calculator import MetricsCalculator

from mdba_checks.errors import InputError
from mdba_checks.gx.fetching import one_line
from mdba_checks.tables import BoolArray

_VALUES = ("partial_unexpected_list", "unexpected_list")
_PLACES = ("partial_unexpected_index_list", "unexpected_index_list")
# They hold names as the data has them, whatever else is put under pseudonyms.
_WITH_NAMES = ("unexpected_index_query", "unexpected_rows")


def unexpected_rows(
    column: str,
    values: Sequence[Any],
    domain: Mapping[str, Any],
    *,
    engine: ExecutionEngine[Any],
    result_format: Mapping[str, Any],
) -> dict[str, Any]:
    """Return `unexpected_count` and the rest for the rows that have one of the values.

    Parameters
    ----------
    column
        Who or what a row comes from.
    values
        Those that are biased, as the batch spells them.
    domain
        The batch and its row condition.
    engine
        Of the batch.
    result_format
        What the user wants to know.
    """
    wanted = {**result_format}
    rule = ExpectColumnValuesToNotBeInSet(column=column, value_set=list(values), **domain)
    asked = {"result_format": wanted}
    try:
        metrics = rule.get_validation_dependencies(engine, asked).get_metric_configurations()
        found, failed = MetricsCalculator(engine).compute_metrics(metrics)
        if not failed:
            shown = rule.metrics_validate(found, {"result_format": wanted}, engine)
            return dict(shown.result)
        told = str(next(iter(failed.values()))["exception_info"]["exception_message"])
    except Exception as error:  # noqa: BLE001  engines and index columns fail in their own ways
        told = one_line(error)
    raise InputError(f"the rows of biased {column!r} cannot be named: {one_line(ValueError(told))}")


def only_counted(rows: BoolArray) -> dict[str, Any]:
    """Return how many rows there are, for data sources whose tables cannot be described.

    Examples
    --------
    >>> import numpy as np
    >>> only_counted(np.array([True, False, False, False]))
    {'element_count': 4, 'unexpected_count': 1, 'unexpected_percent': 25.0}
    """
    total, count = len(rows), int(rows.sum())
    share = 100 * count / total if total else None
    return {"element_count": total, "unexpected_count": count, "unexpected_percent": share}


def under_pseudonyms(
    result: Mapping[str, Any], column: str, alias_of: Mapping[str, str]
) -> dict[str, Any]:
    """Return the same with pseudonyms for names, without what spells names out.

    Examples
    --------
    >>> under_pseudonyms({"unexpected_list": ["ann"], "unexpected_count": 1}, "who", {"ann": "p1"})
    {'unexpected_list': ['p1'], 'unexpected_count': 1}
    """
    kept = {key: value for key, value in result.items() if key not in _WITH_NAMES}

    def alias(value: Any) -> str:
        return alias_of.get(str(value), "–")

    for key in _VALUES:
        if kept.get(key):
            kept[key] = [alias(value) for value in kept[key]]
    if kept.get("partial_unexpected_counts"):
        kept["partial_unexpected_counts"] = [
            {**each, "value": alias(each["value"])} for each in kept["partial_unexpected_counts"]
        ]
    for key in _PLACES:
        if kept.get(key):
            kept[key] = [_place(each, column, alias) for each in kept[key]]
    return kept


def _place(entry: Any, column: str, alias: Any) -> Any:
    if not isinstance(entry, Mapping) or column not in entry:
        return entry
    named = entry[column]
    hidden = [alias(each) for each in named] if isinstance(named, list) else alias(named)
    return {**entry, column: hidden}


def spelled(labels: Any, column: str, rows: BoolArray) -> list[Any]:
    """Return the values that some rows have in a column, as the batch spells them."""
    if isinstance(labels, pd.DataFrame):
        # By position: labels of columns that are not text are found by their text.
        place = [str(name) for name in labels.columns].index(column)
        values = labels.iloc[:, place][rows].unique().tolist()
    else:
        values = labels.column(column).filter(rows).unique().to_pylist()
    return [value for value in values if value is not None]
