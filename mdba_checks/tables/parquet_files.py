"""Parquet: one file, or a folder of parts, as large as they like.

A table that fits into memory is read at once. A larger one is opened, and its columns are read one
at a time when somebody asks for them: Parquet keeps columns apart, so nothing else is touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mdba_checks.arrays import IntArray
from mdba_checks.errors import InputError
from mdba_checks.memory import left
from mdba_checks.tables.database import first_line

# A table may take this share of the memory that is left; its columns, sorted and compact, take as
# much again at most, and so do the models.
LARGE_SHARE = 0.25
_CELL_BYTES = 8


def read_parts(path: Path) -> pa.Table:
    """Read a file, or all parts in a folder, as one table."""
    tables = [_part(part, keys) for part, keys in _parts(path)]
    return tables[0] if path.is_file() else _together(tables, path)


@dataclass(frozen=True)
class LargeParquet:
    """A table whose columns are read when they are asked for; what `pa.Table` has of the same."""

    path: Path
    column_names: list[str]
    num_rows: int
    understood: Callable[[str, pa.ChunkedArray], pa.ChunkedArray]
    rows: IntArray | None = None  # those that were taken; None for all

    @classmethod
    def opened(
        cls, path: Path, understood: Callable[[str, pa.ChunkedArray], pa.ChunkedArray]
    ) -> LargeParquet | None:
        """Return a table, or None when it is small enough to be read at once."""
        names: dict[str, None] = {}
        num_rows = 0
        for part, keys in _parts(path):
            with _opened(part) as file:
                num_rows += file.metadata.num_rows
                names |= dict.fromkeys([*_columns(file), *keys])
        if num_rows * len(names) * _CELL_BYTES <= LARGE_SHARE * left():
            return None
        return cls(path, list(names), num_rows, understood)

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column."""
        tables = [_part(part, keys, only=name) for part, keys in _parts(self.path)]
        column = self.understood(name, _together(tables, self.path).column(name))
        return column if self.rows is None else column.take(pa.array(self.rows))

    def take(self, rows: pa.Array) -> LargeParquet:
        """Return some of the rows."""
        return replace(self, rows=rows.to_numpy(), num_rows=len(rows))


def _parts(path: Path) -> list[tuple[Path, dict[str, str]]]:
    """Return the files, each with the columns that the names of its folders hold (``year=26``)."""
    if path.is_file():
        return [(path, {})]
    parts = [
        part
        for part in sorted(path.rglob("*.parquet"))
        if part.is_file() and not any(p[0] in "._" for p in part.relative_to(path).parts)
    ]
    if not parts:
        raise InputError(f"folder {path} holds no .parquet file")
    steps = [[step.partition("=") for step in part.relative_to(path).parts[:-1]] for part in parts]
    return [
        (part, {key: value for key, equals, value in named if equals})
        for part, named in zip(parts, steps, strict=True)
    ]


def _part(path: Path, keys: dict[str, str], *, only: str | None = None) -> pa.Table:
    with _opened(path) as file:
        names = _columns(file)
        if only is None:
            table = file.read()
            table = table.drop_columns(list(set(table.column_names) - set(names)))
        elif only in names:
            table = file.read(columns=[only])
        else:  # a folder has it in its name, or another part has it
            table = pa.table({only: pa.repeat(keys.get(only), file.metadata.num_rows)})
    for key, value in keys.items():
        if only is None and key not in names:
            table = table.append_column(key, pa.repeat(value, table.num_rows))
    return table


@contextmanager
def _opened(part: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(part) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError) as error:  # of a folder, name the very part
        raise InputError(f"cannot read {part}: {first_line(error)}") from None


def _columns(file: pq.ParquetFile) -> list[str]:
    # pandas stores its index so; in a DataFrame it is no column either.
    names = file.schema_arrow.names
    return [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]


def _together(tables: list[pa.Table], path: Path) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"the parts in {path} do not fit together: {first_line(error)}") from None
