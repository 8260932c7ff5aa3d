"""Fingerprints of content: one hash for the same table in any format, and one number per row.

The table's hash shows whether data is still the data that a verdict describes. It depends neither
on the file format, nor on the order of columns or rows, nor on the type that a value happens to be
stored in: databases have no order of rows, and 1, 1.0 and a decimal 1.00 are one value. Rows are
put into an order that comes from what they hold (`content`) and hashed in that order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.blocks import Table, blocks, type_of
from mdba_checks.tables.kinds import Kind, all_missing, is_vector, kind_of, numbers

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_EXACT = 2**53  # integers up to here, and decimals of 15 digits, are told apart by a double
_DIGITS = 15
_BYTES = 16
ROWS_HASH = "rows-"  # how the hash of a table in parts begins: it is a sum over rows


@dataclass(frozen=True)
class Content:
    """What a table holds.

    Attributes
    ----------
    hash
        The same for the same rows in any order.
    order
        Where in the table the rows are, in an order that comes from what they hold. Two tables with
        the same hash have the same row at the same place of it.
    """

    hash: str
    order: IntArray


def content(table: Table) -> Content:
    """Return hash and order of a table that came from `read_table` or `open_table`.

    Examples
    --------
    >>> one, other = pa.table({"x": [1, 2, 3]}), pa.table({"x": [3.0, 1.0, 2.0]})
    >>> content(one).hash == content(other).hash
    True
    >>> one["x"].take(content(one).order) == other["x"].cast("int64").take(content(other).order)
    True
    """
    names = sorted(table.column_names)
    cells = (each for name in names for each in _cells(table, name)[1])
    order = np.argsort(row_fingerprints(cells, table.num_rows), kind="stable")
    total = hashlib.blake2b(digest_size=_BYTES)
    total.update(f"rows {table.num_rows}".encode())
    for name in names:
        total.update(hashlib.blake2b(name.encode(), digest_size=_BYTES).digest())
        kind, parts = _cells(table, name)
        column = hashlib.blake2b(kind.encode(), digest_size=_BYTES)
        for part in parts:
            column.update(part[order].data)
        total.update(column.digest())
    return Content(total.hexdigest(), order)


def content_hash(table: Table) -> str:
    """Return the hash of a table that came from `read_table` or `open_table`.

    Examples
    --------
    >>> whole = pa.table({"x": [1, 2], "y": ["a", None]})
    >>> content_hash(whole) == content_hash(pa.table({"y": [None, "a"], "x": [2.0, 1.0]}))
    True
    >>> content_hash(whole) == content_hash(pa.table({"x": [1, 2], "y": [None, "a"]}))
    False
    """
    return content(table).hash


def row_fingerprints(columns: Iterable[FloatArray | IntArray], rows: int) -> IntArray:
    """Return one 64-bit number per row that depends on its values only."""
    state = np.full(rows, 1, dtype=np.uint64)
    for column in columns:
        # Adding zero makes -0.0 and 0.0 one value; small types are widened.
        real = column.dtype.kind == "f"
        wide = column.astype(np.float64) + 0.0 if real else column.astype(np.int64)
        state ^= wide.view(np.uint64)
        state *= _MULTIPLIER
        state ^= state >> _SHIFT
    return state


def part_fingerprints(rows: pa.Table) -> IntArray:
    """Return one 64-bit number per row of a part of a table; columns in any order.

    Unlike in `content`, what stands for a value depends on nothing but the value and the type of
    its column, so that it does not matter how a table is cut into parts.
    """
    cells: list[IntArray] = []
    for name in sorted(rows.column_names):
        column = rows.column(name)
        kind = kind_of(column.type)
        if not len(column) or kind is Kind.MISSING:
            continue
        if kind is Kind.TEXT:
            cells += _distinct_values(column)
        elif kind in (Kind.NUMBER, Kind.TIME):
            cells.append((numbers(column) + 0.0).view(np.uint64))
        else:
            cells += _halves((_digest(_canonical(v)) for v in column.to_pylist()), len(column))
    return row_fingerprints(cells, rows.num_rows)


def order_mark(rows: pa.Table) -> int:
    """Return a number that depends on the rows of a part and their order."""
    place = np.arange(1, rows.num_rows + 1, dtype=np.uint64) * _MULTIPLIER
    return _total((part_fingerprints(rows) ^ place) * np.uint64(0xBF58476D1CE4E5B9))


@dataclass(frozen=True)
class RowsTotal:
    """What some rows hold, as sums over rows: parts of a table can be added up in any order.

    Examples
    --------
    >>> one, two = pa.table({"x": [1, 2]}), pa.table({"x": [3]})
    >>> whole = RowsTotal.of(pa.table({"x": [3, 1, 2]}))
    >>> RowsTotal.of(one) + RowsTotal.of(two) == whole, whole.rows
    (True, 3)
    """

    rows: int = 0
    one: int = 0
    other: int = 0

    @classmethod
    def of(cls, rows: pa.Table) -> RowsTotal:
        """Return what a part of a table holds."""
        marks = part_fingerprints(rows)
        mixed = mixed_in(marks, np.zeros(len(marks), dtype=np.int64))
        return cls(rows.num_rows, _total(marks), _total(mixed))

    def __add__(self, more: RowsTotal) -> RowsTotal:
        """Return what both hold."""
        one, other = (self.one + more.one) % 2**64, (self.other + more.other) % 2**64
        return RowsTotal(self.rows + more.rows, one, other)

    def hash(self, names: Iterable[str]) -> str:
        """Return a hash of rows with these columns; it depends neither on order nor on parts."""
        told = repr((sorted(names), self.rows, [self.one, self.other])).encode()
        return ROWS_HASH + hashlib.blake2b(told, digest_size=_BYTES).hexdigest()


def _total(marks: IntArray) -> int:
    return int(np.add.reduce(marks)) if len(marks) else 0


def mixed_in(state: IntArray, column: IntArray) -> IntArray:
    """Return fingerprints of rows with one more column of whole numbers."""
    found = state ^ column.astype(np.int64).view(np.uint64)
    found *= _MULTIPLIER
    found ^= found >> _SHIFT
    return found


def combined(fingerprints: IntArray, owner: IntArray, n_owners: int) -> IntArray:
    """Return one number per owner of rows that depends on which rows they own, in any order."""
    found = np.zeros(n_owners, dtype=np.uint64)
    np.add.at(found, owner, fingerprints)  # modulo 2**64
    return found


def _cells(table: Table, name: str) -> tuple[str, list[IntArray]]:
    """Return what kind of column it is, and arrays of 64-bit numbers that stand for its values."""
    if is_vector(type_of(table, name)):
        return "vectors", _halves(_vectors(table, name), table.num_rows)
    column = table.column(name)
    if all_missing(column):
        return "missing", []
    if pa.types.is_dictionary(column.type) and kind_of(column.type.value_type) is not Kind.TEXT:
        column = column.cast(column.type.value_type)
    kind = kind_of(column.type)
    if kind is Kind.TEXT:
        return "text", _distinct_values(column)
    if kind in (Kind.NUMBER, Kind.TIME):
        return "number", _numbers(column)
    return "other", _halves((_digest(_canonical(v)) for v in column.to_pylist()), len(column))


def _numbers(column: pa.ChunkedArray) -> list[IntArray]:
    """Return the bits of the doubles, and what doubles leave out where that is anything."""
    values = numbers(column) + 0.0  # -0.0 becomes 0.0
    cells: list[IntArray] = [values.view(np.uint64)]
    rest: IntArray | None = None
    if pa.types.is_integer(column.type) and np.abs(values).max(initial=0) >= _EXACT:
        rest = _beyond_doubles(column.fill_null(0).to_numpy(), np.nan_to_num(values))
    elif pa.types.is_decimal(column.type) and column.type.precision > _DIGITS:
        rest = _beyond_digits(column)
    return [*cells, rest] if rest is not None and rest.any() else cells


def _beyond_doubles(whole: IntArray, values: FloatArray) -> IntArray:
    """Return how far integers are from the doubles next to them."""
    kind = np.uint64 if whole.dtype == np.uint64 else np.int64
    limit = 2.0**64 if kind is np.uint64 else 2.0**63
    fits = values < limit
    nearest = np.where(fits, values, 0.0).astype(kind).view(np.uint64)
    # The limit itself does not fit; modulo 2**64 it is this.
    nearest[~fits] = np.uint64(0 if kind is np.uint64 else 2**63)
    rest: IntArray = whole.astype(kind).view(np.uint64) - nearest
    return rest


def _beyond_digits(column: pa.ChunkedArray) -> IntArray:
    """Return a number for every decimal that is not what its double is written as."""
    encoded = _encoded(column)
    rests = [_rest(value) for value in encoded.dictionary.to_pylist()]
    places = encoded.indices.fill_null(len(rests)).to_numpy(zero_copy_only=False)
    found: IntArray = np.array([*rests, 0], dtype=np.uint64)[places]
    return found


def _rest(value: Decimal) -> int:
    near = float(value)
    if value == value.to_integral_value():
        return int(value - int(near)) % 2**64
    if Decimal(repr(near)) == value:
        return 0
    return int.from_bytes(_digest(format(value.normalize(), "f"))[:8], "little")


def _distinct_values(column: pa.ChunkedArray) -> list[IntArray]:
    """Return a digest of every text, made once for those that are alike."""
    encoded = _encoded(column)
    texts = encoded.dictionary.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
    digests = b"".join([_digest(text) for text in texts]) + bytes(_BYTES)  # the last: missing
    halves = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
    places = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return [np.ascontiguousarray(halves[:, half])[places] for half in (0, 1)]


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    encoded = pa.concat_arrays(column.unify_dictionaries().chunks)
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(pa.int64()), encoded.dictionary)


def _vectors(table: Table, name: str) -> Iterable[bytes]:
    """Yield a digest per list of numbers, block by block: it may be the largest column by far."""
    for block in blocks(table, [name]):
        column = block.column(0).combine_chunks()
        lengths = pc.list_value_length(column).to_pylist()
        values = numbers(pa.chunked_array([pc.list_flatten(column)])) + 0.0
        start = 0
        for length in lengths:
            if length is None:
                yield bytes(_BYTES)
                continue
            yield _digest(values[start : start + length].tobytes())
            start += length


def _halves(digests: Iterable[bytes], rows: int) -> list[IntArray]:
    found = np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(rows, 2)
    return [np.ascontiguousarray(found[:, half]) for half in (0, 1)]


def _digest(value: str | bytes) -> bytes:
    told = value.encode() if isinstance(value, str) else value
    return hashlib.blake2b(told, digest_size=_BYTES).digest()


def _canonical(value: Any) -> str:
    """Return the text of a nested value, the same for numbers of equal value."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key!r}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_canonical, value)) + "]"
    if isinstance(value, (int, float, Decimal)) and float(value) == value:
        return repr(float(value) + 0.0)
    return repr(value)
