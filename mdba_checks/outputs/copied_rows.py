"""Rows copied verbatim: what leaves the gate holds every value of the input as it was.

Reading and writing again turns `007` into 7, `1.0` into 1 and "NA" into nothing.
Rows of a CSV file are therefore not parsed here: a row is the bytes between two line ends, and
columns are added behind them. Rows of Parquet keep their types and the metadata of their schema.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.tables import (
    BoolArray,
    IntArray,
    Kind,
    Source,
    first_line,
    is_database,
    kind_of,
    local_copy,
    read_csv,
    read_source,
    source_name,
    text_columns,
    without_file_scheme,
)

Format: TypeAlias = Literal["csv", "csv.gz", "parquet"]

METADATA_KEY = b"mdba"

_FORMATS: tuple[Format, ...] = ("csv.gz", "csv", "parquet")
_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ROWS_AT_ONCE = 50_000
_HEAD_BYTES = 1 << 20
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


@dataclass(frozen=True)
class CsvRows:
    """The rows of a CSV file, as bytes.

    Attributes
    ----------
    content
        The whole file, unpacked.
    delimiter
        What stands between values.
    records
        (rows + 1, 3): where the header and the rows begin, where their values end, and where the
        line after them begins.
    """

    content: bytes
    delimiter: bytes
    records: IntArray

    @classmethod
    def read(cls, path: Path) -> CsvRows:
        """Find the rows of a file, by the rules of the reader that the check uses."""
        try:
            content = path.read_bytes()
            if content.startswith(_GZIP):
                content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise InputError(f"cannot read {path}: {first_line(error)}") from None
        if content.startswith(_UTF16):  # its line ends and delimiters are not single bytes
            content = content.decode("utf-16").encode()
        start = len(_BOM) if content.startswith(_BOM) else 0
        delimiter = _delimiter(content, start)
        line = _line(delimiter)
        ends = [
            place
            for each in line.finditer(content, start)
            if each[1]  # a line without any character is not a row
            for place in (each.start(), each.end(1), each.end())
        ]
        records = np.array(ends, dtype=np.int64).reshape(-1, 3)
        last = content[records[-1, 0] : records[-1, 1]] if len(records) else b""
        closed = line.match(last + b"\n")
        if closed and closed.end(1) > len(last):
            raise InputError(
                f'cannot read {path}: a quoted value is never closed; add the missing "'
            )
        return cls(content, delimiter, records)

    def __len__(self) -> int:
        return len(self.records) - 1

    def write(
        self,
        path: Path,
        form: Format,
        *,
        extra: pd.DataFrame | None = None,
        keep: BoolArray | None = None,
    ) -> None:
        """Write the header and the rows to keep, each with its extra values behind it."""
        kept = np.arange(len(self)) if keep is None else np.flatnonzero(keep)
        names = b"" if extra is None else self._behind([[str(name)] for name in extra])[0]
        with _opened(path, form) as file:
            file.write(self._lines(self.records[:1], [names], begin=0))
            for first in range(0, len(kept), _ROWS_AT_ONCE):
                part = kept[first : first + _ROWS_AT_ONCE]
                values = [b""] * len(part)
                if extra is not None:
                    values = self._behind([_texts(extra[name].iloc[part]) for name in extra])
                file.write(self._lines(self.records[part + 1], values))

    def _lines(self, records: IntArray, values: list[bytes], begin: int | None = None) -> bytes:
        return b"".join(
            self.content[start if begin is None else begin : end] + value + self.content[end:after]
            for (start, end, after), value in zip(records.tolist(), values, strict=True)
        )

    def _behind(self, columns: list[list[str]]) -> list[bytes]:
        mark = self.delimiter.decode()
        return [(mark + mark.join(row)).encode() for row in zip(*columns, strict=True)]


def _delimiter(content: bytes, start: int) -> bytes:
    """Return the first delimiter that gives the header two names."""
    for delimiter in (b",", b";", b"\t"):
        header = next((each for each in _line(delimiter).finditer(content, start) if each[1]), None)
        if header and header[2]:
            return delimiter
    return b","


def _line(delimiter: bytes) -> re.Pattern[bytes]:
    """Return what a row looks like; a quote opens a value only where the value begins."""
    mark = re.escape(delimiter)
    plain = rb"[^" + mark + rb"\r\n]*+"
    value = rb'(?:"(?:[^"]|"")*+(?:"' + plain + rb"|\Z)|" + plain + rb")"
    return re.compile(rb"(?!\Z)(" + value + rb"(" + mark + value + rb")*+" + rb")(?:\r\n|\r|\n|\Z)")


def _texts(column: pd.Series[Any]) -> list[str]:
    """Return one of our columns as text; what does not exist is empty."""
    return ["" if gap else str(v) for v, gap in zip(column.tolist(), column.isna(), strict=True)]


def _opened(path: Path, form: Format) -> Any:
    # Without the time of writing in it: the same rows give the same file.
    return gzip.GzipFile(path, "wb", mtime=0) if form == "csv.gz" else path.open("wb")


@dataclass(frozen=True)
class ArrowRows:
    """The rows of a table with types; `name` says in messages where it came from."""

    name: str
    table: pa.Table

    def __len__(self) -> int:
        rows: int = self.table.num_rows
        return rows

    def write(
        self,
        path: Path,
        form: Format,
        *,
        extra: pd.DataFrame | None = None,
        keep: BoolArray | None = None,
        metadata: bytes | None = None,
    ) -> None:
        """Write the rows to keep with their extra columns; Parquet carries the metadata."""
        table = self.joined(extra=extra, keep=keep)
        if form == "parquet":
            known = dict(table.schema.metadata or {})
            known.pop(METADATA_KEY, None)  # of an earlier check
            if metadata is not None:
                known[METADATA_KEY] = metadata
            pq.write_table(table.replace_schema_metadata(known), path)
            return
        with _opened(path, form) as file:
            pyarrow.csv.write_csv(self._for_csv(table), file)

    def joined(
        self, *, extra: pd.DataFrame | None = None, keep: BoolArray | None = None
    ) -> pa.Table:
        """Return the rows to keep with their extra columns."""
        table = self.table
        if extra is not None:
            for name in extra:
                table = table.append_column(name, pa.array(extra[name], from_pandas=True))
        return table if keep is None else table.filter(pa.array(keep))

    def _for_csv(self, table: pa.Table) -> pa.Table:
        table = without_index(table)
        columns = [self._plain(name, table.column(name)) for name in table.column_names]
        return pa.table(columns, names=table.column_names)

    def _plain(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if kind_of(column.type) is Kind.OTHER:
            raise InputError(
                f"column {name!r} of {self.name} holds {column.type}, which CSV cannot: choose an "
                "output that ends in .parquet"
            )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        if pa.types.is_floating(column.type):  # NaN is missing, not a text
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        return column


Rows: TypeAlias = CsvRows | ArrowRows


def open_rows(source: Source, form: Format, config: CheckConfig) -> Rows:
    """Return the rows of a source, ready to be written in a format."""
    with local_copy(source) as here:
        path = _file(here)
        if form == "parquet" or (path and _is_parquet(path)):
            return arrow_rows(here, config)
        if path:
            return CsvRows.read(path)
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
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        with gzip.open(path) if packed else path.open("rb") as file:
            head = file.read(_HEAD_BYTES).removeprefix(_BOM)
            if head.startswith(_UTF16):
                head = head.decode("utf-16", "ignore").encode()
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise InputError(f"cannot read {path}: {first_line(error)}") from None
    delimiter = _delimiter(head, 0)
    header = next((each[1] for each in _line(delimiter).finditer(head) if each[1]), b"")
    text = io.StringIO(header.decode(errors="replace"), newline="")
    try:
        return next(csv.reader(text, delimiter=delimiter.decode()), [])
    except csv.Error as error:
        raise InputError(f"cannot read the header of {path}: {error}") from None


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
