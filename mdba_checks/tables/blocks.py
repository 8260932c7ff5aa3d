"""A table in blocks of rows, be it in memory or in Parquet files that are larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa

from mdba_checks.tables.sources import LargeParquet

Table: TypeAlias = pa.Table | LargeParquet

BLOCK_ROWS = 4096


def blocks(table: Table, names: Sequence[str], rows: int = BLOCK_ROWS) -> Iterator[pa.Table]:
    """Yield some columns in blocks of exactly so many rows, the last one perhaps shorter.

    Examples
    --------
    >>> table = pa.table({"x": [1, 2, 3], "y": [4, 5, 6]})
    >>> [block["x"].to_pylist() for block in blocks(table, ["x"], rows=2)]
    [[1, 2], [3]]
    """
    if isinstance(table, LargeParquet):
        yield from _of_length(table.parts(names, rows), rows)
        return
    chosen = table.select(list(names))
    for first in range(0, table.num_rows, rows):
        yield chosen.slice(first, rows)


def type_of(table: Table, name: str) -> pa.DataType:
    """Return the type of a column without reading it."""
    return table.types[name] if isinstance(table, LargeParquet) else table.schema.field(name).type


def _of_length(parts: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    n_held = 0
    for part in parts:
        held.append(part)
        n_held += part.num_rows
        while n_held >= rows:
            together = pa.concat_tables(held, promote_options="permissive")
            yield together.slice(0, rows)
            held, n_held = [together.slice(rows)], n_held - rows
    if n_held:
        yield pa.concat_tables(held, promote_options="permissive")
