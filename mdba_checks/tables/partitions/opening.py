"""Which labels stay in parts, and where to go on with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdba_checks.config import CheckConfig
from mdba_checks.tables.partitions.kept import KeptRows
from mdba_checks.tables.partitions.parquet import is_parquet, parquet_parts
from mdba_checks.tables.partitions.partitioned import LocalPartitions, Partitions
from mdba_checks.tables.sources import Source

if TYPE_CHECKING:
    from mdba_checks.tables.data import Data


def parts_of(labels: Any, config: CheckConfig) -> Partitions | None:
    """Return the parts of labels that stay where they are; None for tables that are read.

    Examples
    --------
    >>> parts_of("labels.csv", CheckConfig()) is None
    True
    """
    if isinstance(labels, (LocalPartitions, KeptRows)):
        return labels
    if hasattr(labels, "mapInArrow"):  # a Spark DataFrame, of whatever kind
        from mdba_checks.tables.partitions.spark import SparkPartitions

        return SparkPartitions(labels)
    if hasattr(labels, "to_delayed") and hasattr(labels, "npartitions"):  # a Dask DataFrame
        from mdba_checks.tables.partitions.dask import DaskPartitions

        return DaskPartitions.of_frame(labels)
    if config.engine == "dask" and is_parquet(labels):
        from mdba_checks.tables.partitions.dask import DaskPartitions

        return DaskPartitions(*parquet_parts(labels))
    return None


def needs_dask(labels: object, config: CheckConfig) -> bool:
    """Return whether the workers of a Dask cluster read the labels."""
    if hasattr(labels, "to_delayed") and hasattr(labels, "npartitions"):
        return True
    return config.engine == "dask" and is_parquet(labels)


def load_parts(parts: Partitions, gold: Source, config: CheckConfig) -> Data:
    """Validate and encode labels that stay in parts, and gold; see `load`."""
    # Later, as that module goes on from where `tables.loading` does.
    from mdba_checks.tables.partitions.loading import load_parts as load

    return load(parts, gold, config)
