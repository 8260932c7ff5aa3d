"""Fingerprints of content: one hash for the same table in any format, and one number per row.

The table's hash tells whether data is still the data a verdict speaks of, so it must not depend on
the file format, the order of columns or the type a value happens to be stored in; it does depend
on the order of rows. The row fingerprint gives rows an order that comes from what they hold, which
makes results independent of the order in which they arrived.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.blocks import Table, blocks, type_of
from mdba_checks.tables.kinds import Kind, all_missing, is_vector, kind_of, numbers

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def content_hash(table: Table) -> str:
    """Return the hash of a table that came from `read_table` or `open_table`.

    Examples
    --------
    >>> whole = pa.table({"x": [1, 2], "y": ["a", None]})
    >>> content_hash(whole) == content_hash(pa.table({"y": ["a", None], "x": [1.0, 2.0]}))
    True
    >>> content_hash(whole) == content_hash(whole.slice(0, 1))
    False
    """
    total = hashlib.blake2b(digest_size=16)
    total.update(f"rows {table.num_rows}".encode())
    for name in sorted(table.column_names):
        total.update(hashlib.blake2b(name.encode(), digest_size=16).digest())
        column = hashlib.blake2b(digest_size=16)
        if is_vector(type_of(table, name)):
            _add_vectors(column, table, name)
        else:
            _add(column, table.column(name))
        total.update(column.digest())
    return total.hexdigest()


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


def combined(fingerprints: IntArray, owner: IntArray, n_owners: int) -> IntArray:
    """Return one number per owner of rows that depends on which rows they own, in any order."""
    found = np.zeros(n_owners, dtype=np.uint64)
    np.add.at(found, owner, fingerprints)  # modulo 2**64
    return found


def _add(digest: hashlib.blake2b, column: pa.ChunkedArray) -> None:
    if all_missing(column):
        digest.update(b"missing")
        return
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = kind_of(column.type)
    if kind in (Kind.NUMBER, Kind.TIME):
        digest.update(b"number")
        values = numbers(column)
        digest.update((values + 0.0).data)  # -0.0 becomes 0.0
        if pa.types.is_integer(column.type) and np.abs(values).max(initial=0) >= 2**53:
            digest.update(column.fill_null(0).to_numpy().data)
    elif kind is Kind.TEXT:
        digest.update(b"text")
        _add_text(digest, column)
    elif pa.types.is_struct(column.type):
        digest.update(b"struct")
        digest.update(_mask(column).data)
        for field, part in zip(column.type, column.flatten(), strict=True):
            digest.update(field.name.encode())
            _add(digest, part)
    elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        digest.update(b"list")
        lengths = pc.fill_null(pc.list_value_length(column), -1).cast(pa.int64())
        digest.update(lengths.to_numpy().data)
        _add(digest, pc.list_flatten(column))
    else:
        digest.update(b"other")
        for value in column.to_pylist():
            digest.update(repr(value).encode())


def _add_vectors(digest: hashlib.blake2b, table: Table, name: str) -> None:
    """Add lists of numbers block by block: they may be the largest column by far."""
    digest.update(b"vectors")
    for block in blocks(table, [name]):
        column = block.column(0).combine_chunks()
        lengths = pc.fill_null(pc.list_value_length(column), -1).cast(pa.int64())
        digest.update(lengths.to_numpy(zero_copy_only=False).data)
        values = numbers(pa.chunked_array([pc.list_flatten(column)]))
        digest.update((values + 0.0).data)


def _add_text(digest: hashlib.blake2b, column: pa.ChunkedArray) -> None:
    digest.update(_mask(column).data)
    filled = column.cast(pa.large_string()).fill_null("")
    digest.update(pc.binary_length(filled).to_numpy().data)
    for chunk in filled.chunks:
        _, offsets, data = chunk.buffers()
        bounds = np.frombuffer(offsets, dtype=np.int64)[
            chunk.offset : chunk.offset + len(chunk) + 1
        ]
        if data is not None and len(chunk):
            digest.update(memoryview(data)[bounds[0] : bounds[-1]])


def _mask(column: pa.ChunkedArray) -> IntArray:
    return np.packbits(column.is_null().to_numpy())
