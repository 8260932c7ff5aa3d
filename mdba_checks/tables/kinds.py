"""What a column holds: a quantity, a point in time, names, nothing, or something unusable."""

from __future__ import annotations

from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.tables.arrays import FloatArray


class Kind(Enum):
    """The kinds of column that matter here; the value is the word used in messages."""

    NUMBER = "a number"
    TIME = "a date or time"
    TEXT = "text"
    MISSING = "missing"
    OTHER = "nested or binary data"


def kind_of(kind: pa.DataType) -> Kind:
    """Tell what a column of an Arrow type holds; a dictionary holds names whatever its values."""
    types = pa.types
    if types.is_null(kind):
        return Kind.MISSING
    if types.is_dictionary(kind):
        return Kind.TEXT if kind_of(kind.value_type) is not Kind.OTHER else Kind.OTHER
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return Kind.NUMBER
    if types.is_decimal(kind):
        return Kind.NUMBER
    if types.is_temporal(kind) and not types.is_interval(kind):
        return Kind.TIME
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return Kind.TEXT
    return Kind.OTHER


def is_vector(kind: pa.DataType) -> bool:
    """Return whether the cells of a column are lists of numbers.

    Examples
    --------
    >>> is_vector(pa.list_(pa.float32(), 384)), is_vector(pa.list_(pa.string()))
    (True, False)
    """
    types = pa.types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    return bool(types.is_integer(kind.value_type) or types.is_floating(kind.value_type))


def all_missing(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds no value at all; NaN is none."""
    if column.null_count == len(column):
        return True
    return pa.types.is_floating(column.type) and bool(np.isnan(numbers(column)).all())


def numbers(column: pa.ChunkedArray) -> FloatArray:
    """Return a number or time column as float64, NaN where missing; times in seconds."""
    timed = kind_of(column.type) is Kind.TIME
    plain = _microseconds(column) if timed else column
    if pa.types.is_decimal(column.type):
        # Arrow's own way from a decimal to a double is off by the last bit for every third value.
        plain = pc.cast(column, pa.string())
    values: FloatArray = pc.cast(plain, pa.float64(), safe=False).to_numpy()
    missing = np.isnan(values)
    if missing.any():
        # Not in place, as the array may be the caller's own; one bit pattern for every NaN.
        values = np.where(missing, np.nan, values)
    return values / 1e6 if timed else values


def _microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_time(kind):
        unit = pa.time64("us")
    elif pa.types.is_duration(kind):
        unit = pa.duration("us")
    else:
        unit = pa.timestamp("us", getattr(kind, "tz", None))
    return pc.cast(pc.cast(column, unit, safe=False), pa.int64())
