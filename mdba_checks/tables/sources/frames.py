"""DataFrames, whose columns may hold anything."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import infer_dtype

from mdba_checks.tables.sources.values import spelled


def from_pandas(frame: pd.DataFrame) -> pa.Table:
    """Return a DataFrame as a table; a column of mixed kinds is spelled as text."""
    names = [str(name) for name in frame.columns]
    columns = [_from_series(frame.iloc[:, place]) for place in range(len(names))]
    return pa.table(columns, names=names)


def _from_series(series: pd.Series[Any]) -> pa.ChunkedArray:
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.astype(series.dtype.subtype)
    try:
        column = _spelled(series) if _is_mixed(series) else pa.array(series, from_pandas=True)
    except OverflowError:  # integers beyond 64 bits
        column = pa.array(series.astype("float64"), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):  # a type that Arrow has no name for
        column = _vectors(series)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _is_mixed(series: pd.Series[Any]) -> bool:
    """Return whether a column mixes kinds of values: the first would decide for Arrow."""
    if series.dtype != object or infer_dtype(series) not in ("mixed", "mixed-integer"):
        return False
    kinds = {type(value) for value in series if value is not None}
    if kinds & {list, tuple, dict, set, np.ndarray}:
        return False
    return bool in kinds or not all(issubclass(kind, Number) for kind in kinds)


def _vectors(series: pd.Series[Any]) -> pa.Array:
    """Return arrays of several types as lists, and everything else spelled out."""
    if not any(isinstance(value, np.ndarray) for value in series):
        return _spelled(series)
    lists = [value.tolist() if isinstance(value, np.ndarray) else value for value in series]
    try:
        return pa.array(lists, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return _spelled(series)


def _spelled(series: pd.Series[Any]) -> pa.Array:
    return spelled(None if pd.isna(value) is True else value for value in series)
