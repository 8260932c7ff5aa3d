"""A table that stays in parts, wherever they are: functions go to the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pyarrow as pa

C = TypeVar("C")
T = TypeVar("T")

BUCKET = "mdba_bucket"  # the column that says which rows belong together


ROWS_CHANGED = (
    "the rows of the table come in another order, or are others, than when they were read first: "
    "write the DataFrame to Parquet and check that"
)


@dataclass(frozen=True)
class PartsRead:
    """The parts of a table as a check has read them.

    Attributes
    ----------
    columns
        The columns that were read.
    rows
        How many rows each part has.
    marks
        A number per part that depends on its rows and their order (`order_mark`).
    """

    columns: tuple[str, ...]
    rows: tuple[int, ...]
    marks: tuple[int, ...]


class Partitions(Protocol):
    """The parts of a table; each has the same rows in the same order whenever it is asked."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""

    def select(self, names: Sequence[str]) -> Partitions:
        """Return the same parts with some of the columns."""

    def map(
        self,
        function: Callable[[C, Any, pa.Table], T],
        common: C,
        each: Sequence[Any] | None = None,
    ) -> list[T]:
        """Return ``function(common, each[n], rows of part n)`` for all parts, in order."""

    def map_buckets(
        self,
        split: Callable[[Any, Any, pa.Table], pa.Table],
        given: tuple[Any, Sequence[Any]],
        work: Callable[[C, pa.Table], T],
        common: C,
    ) -> Iterator[T]:
        """Yield ``work(common, rows)`` for the rows of every bucket, in any order.

        ``split(given[0], given[1][n], rows of part n)`` returns rows with a column `BUCKET`.
        """


@dataclass(frozen=True)
class LocalPartitions:
    """Parts that are in this process.

    Examples
    --------
    >>> parts = LocalPartitions([pa.table({"x": [1, 2]}), pa.table({"x": [3]})])
    >>> parts.map(lambda by, _, rows: by * rows.num_rows, 10)
    [20, 10]
    """

    tables: Sequence[pa.Table]

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.tables[0].schema

    def select(self, names: Sequence[str]) -> LocalPartitions:
        """Return the same parts with some of the columns."""
        return LocalPartitions([table.select(list(names)) for table in self.tables])

    def map(
        self,
        function: Callable[[C, Any, pa.Table], T],
        common: C,
        each: Sequence[Any] | None = None,
    ) -> list[T]:
        """Return ``function(common, each[n], rows of part n)`` for all parts, in order."""
        own = each if each is not None else [None] * len(self.tables)
        return [function(common, one, table) for one, table in zip(own, self.tables, strict=True)]

    def map_buckets(
        self,
        split: Callable[[Any, Any, pa.Table], pa.Table],
        given: tuple[Any, Sequence[Any]],
        work: Callable[[C, pa.Table], T],
        common: C,
    ) -> Iterator[T]:
        """Yield ``work(common, rows)`` for the rows of every bucket."""
        import pyarrow.compute as pc

        rows = pa.concat_tables(self.map(split, *given))
        for bucket in pc.unique(rows.column(BUCKET)).to_pylist():
            yield work(common, rows.filter(pc.equal(rows.column(BUCKET), bucket)))
