"""CSV files, which say nothing about encoding, delimiter or types: all three are found out.

What is not UTF-8 is UTF-16 when it begins with that mark, and otherwise Windows-1252, as Excel
saves it in western Europe, unless parts of it are UTF-8. Both are said aloud.

Types are guessed from the beginning of the file, in parallel and fast. Where a later value
contradicts the guess, everything is read again as text and each column gets the narrowest type
that holds all of its values.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from mdba_checks.errors import InputError
from mdba_checks.tables.sources.database import first_line
from mdba_checks.tables.text import retype_untyped
from mdba_checks.tables.written_numbers import COMMA, with_dotted_thousands, writing_of

# Types are guessed from the first block and blocks are parsed in parallel: large enough for a
# sound guess, small enough to keep all cores busy on an ordinary file.
_BLOCK_BYTES = 8 << 20
_HEAD_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_DELIMITERS = (",", ";", "\t")
_UTF8, _UTF16, _CP1252 = "utf-8", "utf-16", "cp1252"
_ENCODINGS = {_UTF16: "UTF-16", _CP1252: "Windows-1252"}
_REPLACED = "\ufffd"  # what Python puts in the place of bytes that are not UTF-8
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f\ufffd]")
# Bytes that Windows-1252 does not use.
_UNUSED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_NAMES = pa.dictionary(pa.int32(), pa.string())


def read_csv(
    path: Path,
    *,
    text_columns: Collection[str],
    missing_values: Collection[str],
    notes: list[str] | None = None,
) -> pa.Table:
    """Read a CSV file, compressed or not; `text_columns` are text whatever they look like.

    What the user should know about the file is added to `notes`.
    """
    file = _File(path, missing_values)
    file.tell_encoding(notes)
    roles = {name: _NAMES for name in file.names if name in text_columns}
    try:
        table = file.parse(roles)
    except pa.ArrowInvalid as error:
        problem = str(error)
        if "Empty CSV file" in problem:  # how Arrow calls a header without a line end
            raise InputError(f"{path} has no rows: a header line and rows are needed") from None
        if "conversion error" not in problem:
            raise InputError(f"cannot read {path}: {file.explain(error)}") from None
        table = file.parse({name: roles.get(name, pa.string()) for name in file.names})
        for place, name in enumerate(file.names):
            if name not in roles:
                table = table.set_column(place, name, _narrowest(table.column(place)))
    for place, name in enumerate(table.column_names):
        if name in roles:
            table = table.set_column(place, name, retype_untyped(table.column(place)))
    if file.delimiter != "," and _has_decimal_commas(table):
        table = file.with_dotted_thousands(table, [] if notes is None else notes)
    if file.ends_inside_quotes(table):
        raise InputError(f'cannot read {path}: a quoted value is never closed; add the missing "')
    return table


Understood = Callable[[str, pa.ChunkedArray], pa.ChunkedArray]


def csv_to_parquet(
    path: Path,
    target: Path,
    *,
    text_columns: Collection[str],
    missing_values: Collection[str],
    notes: list[str] | None = None,
) -> Understood | None:
    """Write a CSV file of any size to Parquet, a few rows at a time.

    Returns what has to be done to a whole column of it to have the column of `read_csv`; None where
    that needs all columns at once, or where `read_csv` has something to complain about.
    """
    file = _File(path, missing_values)
    roles = {name: _NAMES for name in file.names if name in text_columns}
    for types in (roles, {name: roles.get(name, pa.string()) for name in file.names}):
        try:
            last = file.write_parquet(types, target)
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                return None
            continue
        as_text = len(types) == len(file.names)
        if last is None or file.ends_inside_quotes(last):
            return None
        if file.delimiter != ",":
            texts = (
                n
                for n, kind in zip(last.schema.names, last.schema.types, strict=True)
                if pa.types.is_string(kind)
            )
            columns = (pq.read_table(target, columns=[name]) for name in texts)
            if any(map(_has_decimal_commas, columns)):
                return None
        file.tell_encoding(notes)

        def understood(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
            if name in roles:
                return retype_untyped(column)
            return _narrowest(column) if as_text else column  # noqa: B023  returned at once

        return understood
    return None


class _File:
    """A CSV file whose header was looked at."""

    def __init__(self, path: Path, missing_values: Collection[str]) -> None:
        self.path = path
        self.missing_values = list(missing_values)
        with path.open("rb") as file:
            # By content rather than by name: people rename files.
            self.compression = "gzip" if file.read(2) == _GZIP else None
        self.encoding = self._encoding()
        with self._stream() as stream:
            head = stream.read(_HEAD_BYTES)
        self.delimiter, self.names = self._header(self._decoded(head))
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            raise InputError(f"{path} has two columns called {twice[0]!r}: rename one of them")

    def tell_encoding(self, notes: list[str] | None) -> None:
        """Add a note about an encoding that is not the usual one."""
        if self.encoding != _UTF8 and notes is not None:
            notes.append(
                f"{self.path} is not UTF-8: it is read as {_ENCODINGS[self.encoding]}; where "
                "letters look wrong, save it as UTF-8"
            )

    def parse(self, types: dict[str, pa.DataType], *, threads: bool = True) -> pa.Table:
        with self._stream() as stream:
            return pyarrow.csv.read_csv(stream, **self._options(types, threads=threads))

    def write_parquet(self, types: dict[str, pa.DataType], target: Path) -> pa.Table | None:
        """Write the rows to Parquet, a few at a time; return the last ones."""
        last = None
        with (
            self._stream() as stream,
            pyarrow.csv.open_csv(stream, **self._options(types, threads=True)) as reader,
            pq.ParquetWriter(target, reader.schema) as writer,
        ):
            for batch in reader:
                last = pa.Table.from_batches([batch])
                writer.write_table(last)
        return last

    def _options(self, types: dict[str, pa.DataType], *, threads: bool) -> dict[str, Any]:
        return {
            "read_options": pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=threads),
            "parse_options": pyarrow.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True
            ),
            "convert_options": pyarrow.csv.ConvertOptions(
                column_types=types, null_values=self.missing_values, strings_can_be_null=True
            ),
        }

    def with_dotted_thousands(self, table: pa.Table, notes: list[str]) -> pa.Table:
        """Read `1.250` as 1250 where the file uses commas before decimals."""
        places = [
            place for place, kind in enumerate(table.schema.types) if pa.types.is_floating(kind)
        ]
        if not places:
            return table
        texts = self.parse(dict.fromkeys(self.names, pa.string()))
        for place in places:
            column, name = texts.column(place), self.names[place]
            if (numbers := with_dotted_thousands(column)) is not None:
                table = table.set_column(place, name, numbers)
                notes.append(
                    f"column {name!r} of {self.path} is read with points between thousands, as "
                    "other columns have commas before decimals"
                )
        return table

    def explain(self, error: Exception) -> str:
        """Return the reader's complaint, with the row number that only one thread can tell."""
        try:
            self.parse({}, threads=False)
        except pa.ArrowInvalid as again:
            error = again
        # Arrow quotes the whole row, and a row may name somebody who is to stay unnamed.
        return re.sub(r"(Expected \d+ columns, got \d+):.*", r"\1", first_line(error))

    def ends_inside_quotes(self, table: pa.Table) -> bool:
        """Return whether an unclosed quote has swallowed the end of the file, as readers let it."""
        if not table.num_rows or not table.num_columns:
            return False
        last = table.column(table.num_columns - 1)[-1].as_py()
        if not isinstance(last, str) or "\n" not in last:
            return False
        return sum(part.count(b'"') for part in self._parts()) % 2 == 1

    def _encoding(self) -> str:
        """Return the encoding, from all of the file: the first odd letter may come late."""
        with self._bytes() as stream:
            head = stream.read(_HEAD_BYTES)
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return _UTF16
        if b"\0" in head:
            raise InputError(f"{self.path} is not a text file")
        try:
            for _ in self._texts("strict"):
                pass
        except UnicodeDecodeError:
            pass
        else:
            return _UTF8
        odd = whole = 0
        for text in self._texts("replace"):
            odd += text.count(_REPLACED)
            whole += len(_BEYOND_ASCII.findall(text))
        # A damaged UTF-8 file has more letters that are in order than others. Read as something
        # else, it would have other names in it.
        if whole >= odd or any(_UNUSED.search(part) for part in self._parts()):
            raise InputError(
                f"{self.path} is not UTF-8 throughout, and nothing else that is known: save it as "
                "UTF-8"
            )
        return _CP1252

    def _texts(self, errors: str) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors)
        yield from map(decoder.decode, self._parts())
        yield decoder.decode(b"", final=True)

    def _parts(self) -> Iterator[bytes]:
        with self._bytes() as stream:
            yield from iter(lambda: stream.read(_HEAD_BYTES), b"")

    def _bytes(self) -> pa.NativeFile:
        return pa.input_stream(str(self.path), compression=self.compression)

    def _stream(self) -> pa.NativeFile:
        plain = self._bytes()
        if self.encoding == _UTF8:
            return plain
        return pa.transcoding_input_stream(plain, self.encoding, _UTF8)

    def _decoded(self, head: bytes) -> str:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
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


def _has_decimal_commas(table: pa.Table) -> bool:
    texts = (column for column in table.columns if pa.types.is_string(column.type))
    return any(writing_of([column]) == (COMMA,) for column in texts)


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
