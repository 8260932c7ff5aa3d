"""The metric behind the expectations: the two tables, fetched once, and nothing computed.

Great Expectations runs a metric that raises three times and drops the finished metrics of its round
with it. This one therefore never raises: what went wrong is one line in the value it returns, and
the expectation says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.execution_engine.sqlalchemy_execution_engine import (
    SqlAlchemyExecutionEngine,
)
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from mdba_checks.errors import CheckError, InputError, did_you_mean
from mdba_checks.gx.fetching import PandasRows, Rows, SparkRows, SqlRows, one_line
from mdba_checks.gx.gold import filtered, read_gold
from mdba_checks.tables import Source

METRIC = "mdba.labels_and_gold"

_IN_LABELS = ("labeler_column", "label_column", "group_column", "item_column", "cohort_column")
_IN_GOLD = ("group_column", "gold_column", "gold_weight_column")


@dataclass(frozen=True)
class LabelsAndGold:
    """The two tables, or why they could not be had."""

    labels: Source | None = None
    gold: pa.Table | None = None
    problem: str = ""


def _fetch(
    cls: type[TableMetricProvider],  # noqa: ARG001
    execution_engine: ExecutionEngine[Any],
    metric_domain_kwargs: dict[str, Any],
    metric_value_kwargs: dict[str, Any],
    metrics: dict[str, Any],  # noqa: ARG001
    runtime_configuration: dict[str, Any],  # noqa: ARG001
) -> LabelsAndGold:
    """Fetch from a batch of any engine; the arguments' names are Great Expectations'."""
    engine, domain, wanted = execution_engine, metric_domain_kwargs, metric_value_kwargs
    try:
        keys = (*_IN_LABELS, "gold_column", "cluster_column")
        text = {*_named(wanted, keys), "item"} - set(wanted["features"] or ())
        gold = read_gold(
            wanted["gold"],
            _context(engine, domain),
            text_columns=text,
            missing_values=wanted["missing_values"],
        )
        if wanted["filter_gold"]:
            gold = filtered(gold, domain.get("row_condition"), domain.get("condition_parser"))
        rows = _rows(engine, domain)
        needed = _needed(rows.names(), gold.column_names, wanted)
        labels = rows.chosen(needed) if isinstance(rows, SparkRows) else rows.fetch(needed)
        return LabelsAndGold(labels, gold)
    except CheckError as error:
        return LabelsAndGold(problem=str(error))
    except Exception as error:  # noqa: BLE001  see above: whatever it is, it must not leave here
        return LabelsAndGold(problem=f"the batch cannot be read: {one_line(error)}")


class LabelsAndGoldMetric(TableMetricProvider):
    """Fetches the labels of a batch, as far as they are needed, and the gold to go with them."""

    metric_name = METRIC
    value_keys = (
        *_IN_LABELS,
        *("gold_column", "gold_weight_column", "cluster_column", "text_columns"),
        *("features", "missing_values", "gold", "filter_gold"),
    )

    # Great Expectations makes class methods of these, one per engine.
    _pandas = metric_value(engine=PandasExecutionEngine)(_fetch)
    _sqlalchemy = metric_value(engine=SqlAlchemyExecutionEngine)(_fetch)
    _spark = metric_value(engine=SparkDFExecutionEngine)(_fetch)


def _rows(engine: ExecutionEngine[Any], domain: Mapping[str, Any]) -> Rows:
    part, _, _ = engine.get_compute_domain(dict(domain), domain_type=MetricDomainTypes.TABLE)
    if isinstance(engine, PandasExecutionEngine):
        return PandasRows(part)
    if isinstance(engine, SparkDFExecutionEngine):
        return SparkRows(part)
    return SqlRows(engine.batch_manager.batch_data_cache[domain["batch_id"]], part)


def _context(engine: ExecutionEngine[Any], domain: Mapping[str, Any]) -> Any:
    """Return the data context that the batch belongs to, or None."""
    batch: Any = engine.batch_manager.batch_cache.get(domain["batch_id"])
    return batch.datasource.data_context if batch else None


def _needed(available: list[str], in_gold: list[str], wanted: Mapping[str, Any]) -> list[str]:
    """Return the columns to fetch, in the order of the batch."""
    tables = (("the batch", available, _IN_LABELS), ("gold", in_gold, _IN_GOLD))
    for where, there, keys in tables:
        for key in keys:
            for name in _named(wanted, [key]):
                if name not in there:
                    near = did_you_mean(name, there)
                    raise InputError(f"{where} has no column {name!r} ({key}).{near}")
    for name in wanted["features"] or ():
        if name not in available:
            near = did_you_mean(name, available)
            raise InputError(f"the batch has no column {name!r} (features).{near}")
    features = set(wanted["features"] or in_gold) - set(_named(wanted, _IN_GOLD))
    roles = {*_named(wanted, (*_IN_LABELS, "cluster_column")), "item"}
    roles |= set(wanted["text_columns"] or ())
    return [name for name in available if name in roles | features]


def _named(wanted: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """Return the columns that fields name, each of them one, several or none."""
    given = (wanted[key] for key in keys)
    return [
        name
        for each in given
        if each
        for name in (each if isinstance(each, (list, tuple)) else [each])
    ]
