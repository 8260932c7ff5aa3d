"""CSV files, which say nothing about encoding, delimiter or types: all three are found out.

Types are guessed from the beginning of the file, in parallel and fast. Where a later value
contradicts the guess, everything is read again as text and each column gets the narrowest type
that holds all of its values.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from mdba_checks.errors import InputError
from mdba_checks.tables.database import first_line
from mdba_checks.tables.text import retype_untyped

# Types are guessed from the first block and blocks are parsed in parallel: large enough for a
# sound guess, small enough to keep all cores busy on an ordinary file.
_BLOCK_BYTES = 8 << 20
_HEAD_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_DELIMITERS = (",", ";", "\t")
_NAMES = pa.dictionary(pa.int32(), pa.string())


def read_csv(
    path: Path, *, text_columns: Collection[str], missing_values: Collection[str]
) -> pa.Table:
    """Read a CSV file, compressed or not; `text_columns` are text whatever they look like."""
    file = _File(path, missing_values)
    roles = {name: _NAMES for name in file.names if name in text_columns}
    try:
        table = file.parse(roles)
    except pa.ArrowInvalid as error:
        problem = str(error)
        if "UTF8" in problem:
            raise InputError(_not_utf8(path)) from None
        if "Empty CSV file" in problem:  # how Arrow calls a header without a line end
            raise InputError(f"{path} has no rows: a header line and rows are needed") from None
        if "conversion error" not in problem:
            raise InputError(f"cannot read {path}: {file.explain(error)}") from None
        table = file.parse({name: roles.get(name, pa.string()) for name in file.names})
        for place, name in enumerate(file.names):
            if name not in roles:
                table = table.set_column(place, name, _narrowest(table.column(place)))
    for place, name in enumerate(table.column_names):
        if pa.types.is_binary(table.column(place).type):  # how Arrow types text it cannot decode
            raise InputError(_not_utf8(path, f" in column {name!r}"))
        if name in roles:
            table = table.set_column(place, name, retype_untyped(table.column(place)))
    if file.ends_inside_quotes(table):
        raise InputError(f'cannot read {path}: a quoted value is never closed; add the missing "')
    return table


class _File:
    """A CSV file whose header was looked at."""

    def __init__(self, path: Path, missing_values: Collection[str]) -> None:
        self.path = path
        self.missing_values = list(missing_values)
        with path.open("rb") as file:
            # By content rather than by name: people rename files.
            self.compression = "gzip" if file.read(2) == _GZIP else None
        with self._stream() as stream:
            head = stream.read(_HEAD_BYTES)
        self.delimiter, self.names = self._header(self._decoded(head))
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            raise InputError(f"{path} has two columns called {twice[0]!r}: rename one of them")

    def parse(self, types: dict[str, pa.DataType], *, threads: bool = True) -> pa.Table:
        with self._stream() as stream:
            return pyarrow.csv.read_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=threads),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=types, null_values=self.missing_values, strings_can_be_null=True
                ),
            )

    def explain(self, error: Exception) -> str:
        """Return the reader's complaint, with the row number that only one thread can tell."""
        try:
            self.parse({}, threads=False)
        except pa.ArrowInvalid as again:
            error = again
        # Arrow quotes the whole row, and a row may name somebody who is to stay unnamed.
        return re.sub(r"(Expected \d+ columns, got \d+):.*", r"\1", first_line(error))

    def ends_inside_quotes(self, table: pa.Table) -> bool:
        """Tell whether an unclosed quote has swallowed the end of the file, as readers let it."""
        if not table.num_rows or not table.num_columns:
            return False
        last = table.column(table.num_columns - 1)[-1].as_py()
        if not isinstance(last, str) or "\n" not in last:
            return False
        with self._stream() as stream:
            quotes: int = sum(
                part.count(b'"') for part in iter(lambda: stream.read(_HEAD_BYTES), b"")
            )
        return quotes % 2 == 1

    def _stream(self) -> pa.NativeFile:
        return pa.input_stream(str(self.path), compression=self.compression)

    def _decoded(self, head: bytes) -> str:
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InputError(_not_utf8(self.path, " but UTF-16"))
        if b"\0" in head:
            raise InputError(f"{self.path} is not a text file")
        try:
            # Not final: the head may end in the middle of a character.
            text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
        except UnicodeDecodeError:
            raise InputError(_not_utf8(self.path)) from None
        if not text.strip():
            raise InputError(f"{self.path} is empty: a header line and rows are needed")
        return text

    def _header(self, text: str) -> tuple[str, list[str]]:
        names: list[str] = []
        for delimiter in _DELIMITERS:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            try:
                found = next((row for row in rows if row), [])
            except csv.Error as error:
                raise InputError(f"cannot read the header of {self.path}: {error}") from None
            if len(found) > 1:
                return delimiter, found
            names = names or found
        return _DELIMITERS[0], names


def _narrowest(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a text column the narrowest type that holds all of it."""
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column))])
    trimmed = pc.utf8_trim_whitespace(column)
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return pc.cast(trimmed, kind)
        except pa.ArrowInvalid:
            continue
    return column


def _not_utf8(path: Path, detail: str = "") -> str:
    return f"{path} is not UTF-8{detail}: save it as UTF-8"
