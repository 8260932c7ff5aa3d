"""Parquet: one file, or a folder of parts, as large as they like.

A table that fits into memory is read at once. A larger one is opened, and its columns are read one
at a time when somebody asks for them: Parquet keeps columns apart, so nothing else is touched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mdba_checks.errors import InputError
from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.memory import left
from mdba_checks.tables.sources.database import first_line

# A table may take this share of the memory that is left; its columns, sorted and compact, take as
# much again at most, and so do the models.
LARGE_SHARE = 0.25
_CELL_BYTES = 8


def is_large(size: int) -> bool:
    """Return whether so many bytes are too many to be read at once."""
    return size > LARGE_SHARE * left()


def read_parts(path: Path) -> pa.Table:
    """Read a file, or all parts in a folder, as one table."""
    tables = [_part(part, keys) for part, keys in files_of(path)]
    return tables[0] if path.is_file() else _together(tables, path)


@dataclass(frozen=True)
class LargeParquet:
    """A table whose columns are read when they are asked for; what `pa.Table` has of the same."""

    path: Path
    column_names: list[str]
    num_rows: int
    types: Mapping[str, pa.DataType]
    sizes: Mapping[str, int]  # bytes before compression
    understood: Callable[[str, pa.ChunkedArray], pa.ChunkedArray]
    rows: IntArray | None = None  # those that were taken; None for all
    held: object = None  # what keeps the file there
    added: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)  # columns in memory

    @classmethod
    def opened(
        cls,
        path: Path,
        understood: Callable[[str, pa.ChunkedArray], pa.ChunkedArray],
        held: object = None,
    ) -> LargeParquet | None:
        """Return a table, or None when it is small enough to be read at once."""
        types: dict[str, pa.DataType] = {}
        sizes: Counter[str] = Counter()
        num_rows = 0
        for part, keys in files_of(path):
            with _opened(part) as file:
                num_rows += file.metadata.num_rows
                sizes += _sizes(file)
                # By place: a name that is there twice cannot be asked for; it is refused later.
                known = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
                own = {name: known[name] for name in columns_of(file)}
                # A part may have nothing but gaps in a column; then another one knows its type.
                for name, kind in {**dict.fromkeys(keys, pa.string()), **own}.items():
                    if pa.types.is_null(types.get(name, pa.null())):
                        types[name] = kind
        if not is_large(max(num_rows * len(types) * _CELL_BYTES, sizes.total())):
            return None
        return cls(path, list(types), num_rows, types, sizes, understood, held=held)

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column."""
        if name in self.added:
            return self.added[name]
        self._refuse_too_large(name)
        tables = [_part(part, keys, only=name) for part, keys in files_of(self.path)]
        column = self.understood(name, _together(tables, self.path).column(name))
        return column if self.rows is None else column.take(pa.array(self.rows))

    def parts(self, names: Sequence[str], most_rows: int) -> Iterator[pa.Table]:
        """Read some columns, a few rows at a time."""
        if set(names) & set(self.added) or not self._in_order():
            table = pa.table({name: self.column(name) for name in names})
            yield from (table.slice(b, most_rows) for b in range(0, self.num_rows, most_rows))
            return
        begin = 0
        for part, keys in files_of(self.path):
            with _opened(part) as file:
                own = set(columns_of(file))
                for batch in file.iter_batches(most_rows, columns=[n for n in names if n in own]):
                    columns = {
                        name: batch.column(name)
                        if name in own
                        else pa.repeat(pa.scalar(keys.get(name), self.types[name]), batch.num_rows)
                        for name in names
                    }
                    table, end = pa.table(columns), begin + batch.num_rows
                    if self.rows is not None:
                        here = slice(*np.searchsorted(self.rows, (begin, end)))
                        table = table.take(pa.array(self.rows[here] - begin))
                    yield table
                    begin = end

    def _refuse_too_large(self, name: str) -> None:
        size, free = self.sizes[name], left()
        if size > free:
            raise InputError(
                f"column {name!r} of {self.path} takes {size / 1e9:.1f} GB by itself, and "
                f"{free / 1e9:.1f} GB of memory are left: leave it out of the file, or check on a "
                "larger machine"
            )

    def _in_order(self) -> bool:
        return self.rows is None or bool(np.all(self.rows[1:] > self.rows[:-1]))

    def take(self, rows: pa.Array) -> LargeParquet:
        """Return some of the rows."""
        place = rows.to_numpy()
        return replace(
            self,
            rows=place if self.rows is None else self.rows[place],
            num_rows=len(place),
            added={name: column.take(rows) for name, column in self.added.items()},
        )

    def filter(self, keep: pa.Array) -> LargeParquet:
        """Return the rows to keep."""
        return self.take(pa.array(np.flatnonzero(np.asarray(keep))))

    def append_column(self, name: str, column: pa.Array) -> LargeParquet:
        """Return the table with one more column, which stays in memory."""
        added = {**self.added, name: pa.chunked_array([column])}
        types = {**self.types, name: column.type}
        return replace(self, column_names=[*self.column_names, name], types=types, added=added)

    def drop_columns(self, names: Sequence[str]) -> LargeParquet:
        """Return the table without some columns."""
        return replace(self, column_names=[n for n in self.column_names if n not in names])


def files_of(path: Path) -> list[tuple[Path, dict[str, str]]]:
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
        names = columns_of(file)
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


def _sizes(file: pq.ParquetFile) -> Counter[str]:
    """Return how many bytes each column takes, before compression."""
    found: Counter[str] = Counter()
    for group in range(file.metadata.num_row_groups):
        columns = file.metadata.row_group(group)
        for place in range(columns.num_columns):
            column = columns.column(place)
            found[column.path_in_schema.partition(".")[0]] += column.total_uncompressed_size
    return found


def columns_of(file: pq.ParquetFile) -> list[str]:
    """Return the names of a file's columns, without the index of pandas."""
    # pandas stores its index so; in a DataFrame it is not a column either.
    names = file.schema_arrow.names
    return [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]


def _together(tables: list[pa.Table], path: Path) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"the parts in {path} do not fit together: {first_line(error)}") from None
