"""Dates and times: when something happened is not what a decision depends on.

Gold is usually judged at another time than the labels, so a date tells the two tables apart and
little else. Columns of dates and times are therefore features only where the user names them.
Durations are quantities and stay. So do years, which are ages more often than dates, and numbers,
unless both their name and all their values say that they are points in time.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa

from mdba_checks.tables.arrays import FloatArray
from mdba_checks.tables.kinds import Kind, kind_of, numbers
from mdba_checks.tables.text import as_names

# A few cells of a column of dates may hold a remark instead.
_NEARLY_ALL = 0.95
# So many rows, and so many different texts among them, show what a column holds.
_ENOUGH_ROWS, _ENOUGH_TEXTS = 20_000, 1000
_FORMATS = (
    *(
        f"%{first} %{second} %{third}".replace(" ", between)
        for between in "-/. "
        for first, second, third in ("Ymd", "dmY", "mdY", "dbY", "bdY", "dBY", "BdY")
    ),
    *("%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%d-%b-%y", "%d %b %y", "%Y%m%d"),
)
# What has fewer digits or other signs is not worth reading as a date.
_PERHAPS = re.compile(r"(?=(\D*\d){3})[\w\s.,/:+-]{4,40}")
_CLOCK = r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?\s*([AaPp]\.?[Mm]\.?)?"
_CLOCK_ALONE = re.compile(_CLOCK)
_CLOCK_BEHIND = re.compile(rf"(T|,?\s+){_CLOCK}\s*(Z|UTC|GMT|[-+]\d\d(:?\d\d)?)?$")
_NAME_OF_A_TIME = re.compile(r"time|date|stamp|epoch|(_|^)(at|ts)$", re.IGNORECASE)
_YEARS_2000_TO_2100 = (946_684_800, 4_102_444_800)  # in seconds since 1970


def holds_dates(name: str, labels: pa.ChunkedArray, gold: pa.ChunkedArray) -> bool:
    """Return whether a column holds dates or times, as far as its tables have values at all.

    Dates are columns of that type, text that nearly always reads as a date or a time of day, and
    whole numbers whose name says that they are times (it holds "time", "date", "stamp" or "epoch",
    or ends in "_at" or "_ts") and that all are dates such as 20240131, or all lie between the years
    2000 and 2100 as seconds, milliseconds, microseconds or nanoseconds since 1970.

    Examples
    --------
    >>> def one(*values):
    ...     return pa.chunked_array([pa.array(values)])
    >>> holds_dates("seen", one("3 Jan 2024", "14 Feb 2024"), one("1 Mar 2024"))
    True
    >>> holds_dates("created_at", one(1_700_000_000), one(1_700_086_400))
    True
    >>> holds_dates("year", one(2001, 2002), one(2003))
    False
    """
    found = [_are_dates(name, column) for column in (labels, gold)]
    return any(found) and all(each is not False for each in found)


def _are_dates(name: str, column: pa.ChunkedArray) -> bool | None:
    """Return whether the values of one table are dates; None where it has no values."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    held = kind_of(kind)
    if column.null_count == len(column) or held is Kind.MISSING:
        return None
    if held is Kind.TIME:
        return not pa.types.is_duration(kind)
    if held is Kind.TEXT:
        spread = np.arange(0, len(column), -(-len(column) // _ENOUGH_ROWS))
        return _texts_are_dates(as_names(column.take(pa.array(spread))))
    if held is not Kind.NUMBER:
        return False
    return numbers_as_dates(name, column.cast(kind))


def numbers_as_dates(name: str, column: pa.ChunkedArray) -> bool | None:
    """Return whether numbers are points in time, by their name and values; None without values."""
    if kind_of(column.type) is Kind.TIME:
        return not pa.types.is_duration(column.type)
    if pa.types.is_boolean(column.type) or not _NAME_OF_A_TIME.search(name):
        return False
    values = numbers(column)
    values = values[~np.isnan(values)]
    return _numbers_are_dates(values) if len(values) else None


def _texts_are_dates(column: pa.DictionaryArray) -> bool | None:
    codes = column.indices.drop_null().to_numpy(zero_copy_only=False)
    if not len(codes):
        return None
    rows = np.bincount(codes)[:_ENOUGH_TEXTS]
    texts = [text.strip() for text in column.dictionary.to_pylist()[:_ENOUGH_TEXTS]]
    least = _NEARLY_ALL * rows.sum()
    if rows @ np.array([_PERHAPS.fullmatch(text) is not None for text in texts]) < least:
        return False
    read = np.array([_CLOCK_ALONE.fullmatch(text) is not None for text in texts])
    days = np.array([_CLOCK_BEHIND.sub("", text).replace(",", "") for text in texts])
    for one in _FORMATS:
        left = np.flatnonzero(~read)
        if len(left):
            read[left] = pd.to_datetime(days[left], format=one, errors="coerce").notna()
    return bool(rows @ read >= least)


def _numbers_are_dates(values: FloatArray) -> bool:
    if not (values == np.floor(values)).all():
        return False
    first, last = _YEARS_2000_TO_2100
    for per_second in (1, 10**3, 10**6, 10**9):
        if (values >= first * per_second).all() and (values < last * per_second).all():
            return True
    day, month, year = values % 100, values // 100 % 100, values // 10_000
    real = (day >= 1) & (day <= 31) & (month >= 1) & (month <= 12) & (year > 1600) & (year < 2200)
    return bool(real.all())
