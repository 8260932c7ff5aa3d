"""Rows copied verbatim: what leaves the gate holds every value of the input as it was.

Rows of CSV files are copied as bytes (`csv_rows`). Rows of Parquet keep their types and the
metadata of their schema. Both are read and written in pieces, so that the size of a file does not
matter.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs.csv_rows import CsvRows
from mdba_checks.tables import (
    BoolArray,
    Kind,
    Source,
    Table,
    first_line,
    is_database,
    kind_of,
    open_parquet,
    read_csv,
    read_source,
    read_table,
    source_name,
    text_columns,
    without_file_scheme,
)

Format: TypeAlias = Literal["csv", "csv.gz", "parquet"]

METADATA_KEY = b"mdba"

_FORMATS: tuple[Format, ...] = ("csv.gz", "csv", "parquet")
_ROWS_AT_ONCE = 65_536
# A row group of what is written: large enough to be packed well, small enough for any machine.
_GROUP_BYTES, _GROUP_ROWS = 64 << 20, 1 << 20
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
# Numbers whose text says more than the number: leading zeros, integers that no double can hold.
_MORE_THAN_A_NUMBER = r"^[+-]?(0[0-9]|[0-9]{16,}$)"


def format_of(path: str | Path) -> Format:
    """Return the format that a file's name stands for.

    Examples
    --------
    >>> format_of("labels.csv.gz")
    'csv.gz'
    """
    name = Path(path).name.lower()
    for each in _FORMATS:
        if name.endswith(f".{each}"):
            return each
    known = ", ".join(f".{each}" for each in sorted(_FORMATS))
    raise InputError(f"cannot tell the format of {path}: what is written ends in {known}")


def _opened(path: Path, form: Format) -> Any:
    # Without the time of writing in it: the same rows give the same file.
    return gzip.GzipFile(path, "wb", mtime=0) if form == "csv.gz" else path.open("wb")


@dataclass(frozen=True)
class _FileAsOpened:
    """A file that is read more than once, and should not change meanwhile."""

    path: Path
    stamp: tuple[int, ...]

    @classmethod
    def of(cls, path: Path) -> _FileAsOpened:
        try:
            return cls(path, _stamp(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {first_line(error)}") from None

    def unchanged(self) -> bool:
        try:
            return _stamp(self.path) == self.stamp
        except OSError:
            return False


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@dataclass(frozen=True)
class BytesRows:
    """The rows of a CSV file, on their way into another one."""

    rows: CsvRows
    file: _FileAsOpened

    def unchanged(self) -> bool:
        """Return whether the file is as it was when it was opened."""
        return self.file.unchanged()

    def write(
        self,
        path: Path,
        form: Format,
        *,
        extra: pd.DataFrame,
        keep: BoolArray | None = None,
    ) -> int:
        """Write the rows to keep with their extra columns; return how many rows there are."""
        with _opened(path, form) as file:
            return self.rows.write(file, extra=extra, keep=keep)


@dataclass(frozen=True)
class ArrowRows:
    """The rows of a table with types; `name` says in messages where it came from."""

    name: str
    table: pa.Table

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.table.schema

    def unchanged(self) -> bool:
        """Return whether the rows are as they were: what is in memory stays."""
        return True

    def batches(self) -> Iterator[pa.Table]:
        """Yield the rows, a few at a time."""
        for begin in range(0, self.table.num_rows, _ROWS_AT_ONCE):
            yield self.table.slice(begin, _ROWS_AT_ONCE)

    def as_read(self, **how: Any) -> Table:
        """Return the rows as `read_table` would return them from a file."""
        return read_table(without_index(self.table), **how)

    def write(
        self,
        path: Path,
        form: Format,
        *,
        extra: pd.DataFrame | None = None,
        keep: BoolArray | None = None,
        metadata: bytes | None = None,
    ) -> int:
        """Write the rows to keep with their extra columns; Parquet carries the metadata.

        Returns how many rows there are; those that `extra` does not know are not written.
        """
        return _write(self, path, form, _Added(extra, keep), metadata)


@dataclass(frozen=True)
class ParquetRows:
    """The rows of a Parquet file, which is read in pieces."""

    file: _FileAsOpened

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path

    @property
    def name(self) -> str:
        """Where they came from, for messages."""
        return str(self.path)

    def unchanged(self) -> bool:
        """Return whether the file is as it was when it was opened."""
        return self.file.unchanged()

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return pq.read_schema(self.path)

    def batches(self) -> Iterator[pa.Table]:
        """Yield the rows, a few at a time."""
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                yield pa.Table.from_batches([batch])

    def as_read(self, **how: Any) -> Table:
        """Return the rows as the check reads them."""
        return open_parquet(self.path, **how)

    def write(
        self,
        path: Path,
        form: Format,
        *,
        extra: pd.DataFrame | None = None,
        keep: BoolArray | None = None,
        metadata: bytes | None = None,
    ) -> int:
        """As `ArrowRows.write`."""
        return _write(self, path, form, _Added(extra, keep), metadata)


@dataclass(frozen=True)
class _Added:
    """What is put behind rows, and which of them are kept."""

    extra: pd.DataFrame | None
    keep: BoolArray | None

    @cached_property
    def fields(self) -> list[pa.Field]:
        if self.extra is None:
            return []
        return list(pa.Schema.from_pandas(self.extra, preserve_index=False))

    def to(self, rows: pa.Table, begin: int) -> pa.Table:
        """Return the rows from a place on that are kept, with their extra columns."""
        end = begin + rows.num_rows
        if self.extra is not None:
            rows = rows.slice(0, max(len(self.extra) - begin, 0))
            for own in self.fields:
                values = pa.array(self.extra[own.name].iloc[begin:end], own.type, from_pandas=True)
                rows = rows.append_column(own, values)
        return rows if self.keep is None else rows.filter(pa.array(self.keep[begin:end]))


def _write(
    rows: ArrowRows | ParquetRows, path: Path, form: Format, added: _Added, metadata: bytes | None
) -> int:
    schema = rows.schema
    for own in added.fields:
        schema = schema.append(own)
    count = 0

    def joined() -> Iterator[pa.Table]:
        nonlocal count
        for some in rows.batches():
            yield added.to(some, count)
            count += some.num_rows

    if form == "parquet":
        known = dict(schema.metadata or {})
        known.pop(METADATA_KEY, None)  # of an earlier check
        if metadata is not None:
            known[METADATA_KEY] = metadata
        with pq.ParquetWriter(path, schema.with_metadata(known)) as writer:
            for group in _groups(joined()):
                writer.write_table(group)
        return count
    plain = _for_csv(rows.name, schema.empty_table())
    with _opened(path, form) as file, pyarrow.csv.CSVWriter(file, plain.schema) as to:
        for some in joined():
            to.write_table(_for_csv(rows.name, some))
    return count


def _groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Put small tables together into row groups."""
    held: list[pa.Table] = []
    size = rows = 0
    for table in tables:
        held.append(table)
        size, rows = size + table.nbytes, rows + table.num_rows
        if size >= _GROUP_BYTES or rows >= _GROUP_ROWS:
            yield pa.concat_tables(held)
            held, size, rows = [], 0, 0
    if rows:
        yield pa.concat_tables(held)


def _for_csv(name: str, table: pa.Table) -> pa.Table:
    table = without_index(table)
    columns = [_plain(name, own, table.column(own)) for own in table.column_names]
    return pa.table(columns, names=table.column_names)


def _plain(source: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if kind_of(column.type) is Kind.OTHER:
        raise InputError(
            f"column {name!r} of {source} holds {column.type}, which CSV cannot: choose an output "
            "that ends in .parquet"
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_floating(column.type):  # NaN is missing, not a text
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


Rows: TypeAlias = BytesRows | ArrowRows | ParquetRows


def open_rows(source: Source, form: Format, config: CheckConfig) -> Rows:
    """Return the rows of a source, ready to be written in a format."""
    path = _file(source)
    if path and not _is_parquet(path) and form != "parquet":
        return BytesRows(CsvRows.open(path), _FileAsOpened.of(path))
    if path and _is_parquet(path):
        return ParquetRows(_FileAsOpened.of(path))
    if form == "parquet":
        return arrow_rows(source, config)
    return ArrowRows(source_name(source), read_source(source, (), config.missing_values))


def arrow_rows(source: Source, config: CheckConfig) -> ArrowRows:
    """Return the rows of a source with types.

    Values of a CSV file get the types that the check reads them with; columns stay text where that
    would lose something: leading zeros, or digits of very long integers. The index of a DataFrame
    is not a column and is left out.
    """
    path = _file(source)
    if path and _is_parquet(path):
        with pq.ParquetFile(path) as file:
            return ArrowRows(str(path), file.read())
    if path:
        return ArrowRows(str(path), _typed(path, config))
    if isinstance(source, pd.DataFrame):
        return ArrowRows(source_name(source), _from_pandas(source))
    return ArrowRows(source_name(source), read_source(source, (), config.missing_values))


def without_index(table: pa.Table) -> pa.Table:
    """Return a table without the index that pandas may have stored in it; it is not a column."""
    index = [name for name in table.column_names if _PANDAS_INDEX.fullmatch(name)]
    return table.drop_columns(index) if index else table


def column_names(source: Source) -> list[str]:
    """Return the names of a file's columns without reading the rest; none for other sources."""
    path = _file(source)
    try:
        if path is None or not path.is_file():
            return []
        if _is_parquet(path):
            names: list[str] = pq.read_schema(path).names
            return names
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {path}: {first_line(error)}") from None
    return CsvRows.open(path).header()


def same_format(source: Source, form: Format) -> bool:
    """Return whether a source is a file of a format, packed or not."""
    path = _file(source)
    return path is not None and _is_parquet(path) == (form == "parquet")


def _file(source: Source) -> Path | None:
    """Return the path of a CSV or Parquet file; None for what is read as a table with types."""
    source = without_file_scheme(source)
    if not isinstance(source, (str, Path)) or is_database(source):
        return None
    if not str(source).lower().endswith((".csv", ".csv.gz", ".parquet")):
        return None
    # Unlike a Path, this does not complain about names that no file can have: the reader does.
    if os.path.isdir(source):  # noqa: PTH112
        return None
    return Path(source)


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(".parquet")


def _typed(path: Path, config: CheckConfig) -> pa.Table:
    missing = config.missing_values
    table = read_csv(path, text_columns=(), missing_values=missing)
    text = read_csv(path, text_columns=table.column_names, missing_values=missing)
    names = text_columns(config)
    columns = []
    for name in table.column_names:
        typed, spelled = table.column(name), _plain_text(text.column(name))
        whole = pa.types.is_integer(typed.type) or pa.types.is_boolean(typed.type)
        numbers = pa.types.is_integer(typed.type) or pa.types.is_floating(typed.type)
        odd = numbers and pc.any(pc.match_substring_regex(spelled, _MORE_THAN_A_NUMBER)).as_py()
        # Names that look like 1e5 or a date are names all the same.
        columns.append(spelled if odd or (name in names and not whole) else typed)
    return pa.table(columns, names=table.column_names)


def _plain_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _from_pandas(frame: pd.DataFrame) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        # The last argument names the column; the first one quotes a value, maybe a person's name.
        raise InputError(
            f"the DataFrame does not fit into Parquet: {error.args[-1]}; choose an output that "
            "ends in .csv, or let the column hold one type"
        ) from None
