"""Rows of a CSV file, copied as bytes: a row is what stands between two line ends.

Rows are not parsed: reading and writing again turns `007` into 7, `1.0` into 1 and "NA" into
nothing. Columns are added behind the bytes of a row. The file is read in pieces, so that its size
does not matter.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from mdba_checks.errors import InputError
from mdba_checks.tables import BoolArray, first_line

_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_HEAD_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20
_DELIMITERS = (b",", b";", b"\t")

Record = tuple[int, int, int]  # where a row begins, where its values end, where the next one begins


@dataclass(frozen=True)
class _Piece:
    """Some of a file's bytes, with the rows in them."""

    content: bytes
    records: list[Record]


@dataclass(frozen=True)
class CsvRows:
    """The rows of a CSV file, packed or not.

    Attributes
    ----------
    path
        The file.
    delimiter
        What stands between values.
    """

    path: Path
    delimiter: bytes

    @classmethod
    def open(cls, path: Path) -> CsvRows:
        """Look at the header of a file, by the rules of the reader that the check uses."""
        return cls(path, _delimiter(_head(path)))

    def header(self) -> list[str]:
        """Return the names of the columns."""
        content = _head(self.path)
        header = next((each[1] for each in _line(self.delimiter).finditer(content) if each[1]), b"")
        text = io.StringIO(header.decode(errors="replace"), newline="")
        try:
            return next(csv.reader(text, delimiter=self.delimiter.decode()), [])
        except csv.Error as error:
            raise InputError(f"cannot read the header of {self.path}: {error}") from None

    def write(self, file: IO[bytes], *, extra: pd.DataFrame, keep: BoolArray | None = None) -> int:
        """Write the header and the rows to keep, each with its extra values behind it.

        Returns how many rows the file has; those that `extra` does not know are not written.
        """
        begin = -1  # the header is the record before the first row
        for piece in self._pieces():
            records = piece.records
            if begin < 0 and records:
                start, end, after = records.pop(0)
                names = self._behind([[str(name)] for name in extra])[0]
                # What stands before the header, such as a mark of the encoding, stays.
                file.write(piece.content[:end] + names + piece.content[end:after])
                begin = 0
            rows = np.arange(begin, min(begin + len(records), len(extra)))
            rows = rows if keep is None else rows[keep[rows]]
            values = self._behind([_texts(extra[name].iloc[rows]) for name in extra])
            lines = []
            for row, value in zip((rows - begin).tolist(), values, strict=True):
                start, end, after = records[row]
                lines += [piece.content[start:end], value, piece.content[end:after]]
            file.write(b"".join(lines))
            begin += len(records)
        return begin

    def _behind(self, columns: list[list[str]]) -> list[bytes]:
        mark = self.delimiter.decode()
        return [(mark + mark.join(row)).encode() for row in zip(*columns, strict=True)]

    def _pieces(self) -> Iterator[_Piece]:
        """Yield the file in pieces that end where rows end."""
        line, held, start = _line(self.delimiter), b"", 0
        with _unpacked(self.path) as stream:
            more = stream.read(_PIECE_BYTES)
            start = len(_BOM) if more.startswith(_BOM) else 0
            while more:
                content = held + more
                # As much again as is held: else a row of many pieces would be looked at as often.
                more = stream.read(max(_PIECE_BYTES, len(held)))
                records, held = [], b""
                for each in line.finditer(content, start):
                    if more and each.end() == len(content):  # the row may go on in the next piece
                        held = content[each.start() :]
                    elif each[1]:  # a line without any character is not a row
                        records.append((each.start(), each.end(1), each.end()))
                if not records:  # what stands before the header belongs to it
                    held = content
                    continue
                start = 0
                if not more:
                    self._refuse_open_quote(line, content[records[-1][0] : records[-1][1]])
                yield _Piece(content, records)

    def _refuse_open_quote(self, line: re.Pattern[bytes], last: bytes) -> None:
        closed = line.match(last + b"\n")
        if closed and closed.end(1) > len(last):
            raise InputError(
                f'cannot read {self.path}: a quoted value is never closed; add the missing "'
            )


def _head(path: Path) -> bytes:
    with _unpacked(path) as stream:
        head: bytes = stream.read(_HEAD_BYTES)
    return head.removeprefix(_BOM)


@contextmanager
def _unpacked(path: Path) -> Iterator[Any]:
    """Open a file for reading its bytes as UTF-8, whether it is packed or not."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        with gzip.open(path) if packed else path.open("rb") as stream:
            wide = stream.read(2) in _UTF16
            stream.seek(0)
            # Its line ends and delimiters are not single bytes.
            yield _Utf8(stream) if wide else stream
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {first_line(error)}") from None


class _Utf8:
    """The bytes of a UTF-16 file as UTF-8."""

    def __init__(self, stream: Any) -> None:
        self._text = io.TextIOWrapper(stream, encoding="utf-16", newline="")

    def read(self, size: int) -> bytes:
        return self._text.read(size).encode()


def _delimiter(content: bytes) -> bytes:
    """Return the first delimiter that gives the header two names."""
    for delimiter in _DELIMITERS:
        header = next((each for each in _line(delimiter).finditer(content) if each[1]), None)
        if header and header[2]:
            return delimiter
    return _DELIMITERS[0]


def _line(delimiter: bytes) -> re.Pattern[bytes]:
    """Return what a row looks like; a quote opens a value only where the value begins."""
    mark = re.escape(delimiter)
    plain = rb"[^" + mark + rb"\r\n]*+"
    value = rb'(?:"(?:[^"]|"")*+(?:"' + plain + rb"|\Z)|" + plain + rb")"
    return re.compile(rb"(?!\Z)(" + value + rb"(" + mark + value + rb")*+" + rb")(?:\r\n|\r|\n|\Z)")


def _texts(column: pd.Series[Any]) -> list[str]:
    """Return one of our columns as text; what does not exist is empty."""
    return ["" if gap else str(v) for v, gap in zip(column.tolist(), column.isna(), strict=True)]
