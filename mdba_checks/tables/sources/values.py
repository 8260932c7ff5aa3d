"""Rows of Python values, as drivers and parsers hand them over, as typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from mdba_checks.tables.kinds import Kind, kind_of, numbers
from mdba_checks.tables.text import canonical

ROWS_AT_ONCE = 50_000


def typed(values: Sequence[Any]) -> pa.Array:
    """Return values as an array of the type they share, or spelled as text.

    Examples
    --------
    >>> typed([1, None, 2.5]).to_pylist(), typed([7, "A7", True]).to_pylist()
    ([1.0, None, 2.5], ['7', 'A7', 'true'])
    """
    try:
        return pa.array(values)
    except OverflowError:  # integers beyond 64 bits
        return pa.array([None if value is None else float(value) for value in values])
    except (pa.ArrowException, TypeError, ValueError):
        return spelled(values)


def spelled(values: Iterable[Any]) -> pa.Array:
    """Return values as text, each name in its one spelling."""
    return pa.array([None if value is None else canonical(value) for value in values], pa.string())


def joined(parts: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Return the parts of a column as one, whose type holds them all."""
    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if not kinds:
        return pa.chunked_array(list(parts) or [pa.nulls(0)])
    if len(kinds) == 1:
        return pa.chunked_array([part.cast(*kinds) for part in parts])
    if all(kind_of(kind) is Kind.NUMBER and not pa.types.is_boolean(kind) for kind in kinds):
        # Decimals have as many digits as the part of the table that they were fetched with.
        whole = [pa.array(numbers(pa.chunked_array([part])), from_pandas=True) for part in parts]
        return pa.chunked_array(whole)
    return pa.chunked_array([spelled(part.to_pylist()) for part in parts])
