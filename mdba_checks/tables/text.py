"""Names as text: one spelling for a value, whatever file or type it came from.

Labelers, groups, labels, items and categories are names, not quantities. A labeler stored as the
integer 7 in Parquet, as 7.0 in a DataFrame with a gap and as "7" in a CSV file is one person, while
"007" is another. Every name therefore passes through one canonical spelling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.tables.arrays import IntArray

# Integers are exact in a double up to here; beyond it "1e300" is more honest than 301 digits.
_EXACT = 2**53


def canonical(value: object) -> str:
    """Return the one spelling of a name.

    Booleans become ``true`` and ``false``, whole numbers lose their ``.0``, text stays as it is.

    Examples
    --------
    >>> canonical(1), canonical(1.0), canonical("1.0"), canonical("007"), canonical(True)
    ('1', '1', '1.0', '007', 'true')
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating, Decimal)):
        number = float(value)
        whole = math.isfinite(number) and number == int(number) and abs(number) < _EXACT
        return str(int(number)) if whole else repr(number)
    return str(value)


def match_name(value: object, names: Iterable[str]) -> str | None:
    """Find a configured value among the names of a column; None if it is not there.

    Booleans typed on a command line arrive as text in any case, so ``True`` finds ``true``.

    Examples
    --------
    >>> match_name(1, ["0", "1"]), match_name("True", ["false", "true"]), match_name("x", ["X"])
    ('1', 'true', None)
    """
    known = set(names)
    text = canonical(value)
    if text in known:
        return text
    if text.lower() in {"true", "false"}:
        return next((name for name in sorted(known) if name.lower() == text.lower()), None)
    return None


def is_number(text: str) -> bool:
    """Return whether a text is written like a number.

    Examples
    --------
    >>> [is_number(text) for text in ("-1", "+2.5e3", "=1", "one")]
    [True, True, False, False]
    """
    return re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", text) is not None


def as_names(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Encode a column as names: canonical spelling, only levels in use, blank text is missing."""
    encoded = _encoded(column)
    spelled = _spelled(encoded.dictionary).dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    # Appending -1 lets a missing code (-1) find it as the last entry.
    mapping = np.append(
        spelled.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), -1
    )
    codes = mapping[codes]
    used = np.bincount(codes[codes >= 0], minlength=len(spelled.dictionary)) > 0
    renumbered = np.append(np.cumsum(used) - 1, -1).astype(np.int32)[codes]
    return pa.DictionaryArray.from_arrays(
        pa.array(renumbered, mask=renumbered < 0), spelled.dictionary.filter(pa.array(used))
    )


def unify(*columns: pa.DictionaryArray) -> tuple[pa.StringArray, list[IntArray]]:
    """Return the sorted names of several columns and each column's codes into them (-1 missing)."""
    names = pa.concat_arrays([column.dictionary for column in columns]).unique()
    names = names.take(pc.sort_indices(names))
    codes = []
    for column in columns:
        ranks = pc.index_in(column.dictionary, value_set=names).to_numpy(zero_copy_only=False)
        own = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        codes.append(np.append(ranks, -1).astype(np.int32)[own])
    return names, codes


def retype_untyped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Spell names read from a file without types as if they had been typed.

    A CSV file writes the integer 7 of a column with gaps as ``7.0`` and a boolean as ``True``.
    Where *every* name of the column has that form, it is taken for what it was.
    """
    encoded = _encoded(column)
    names = encoded.dictionary
    if len(names) == 0:
        return column
    if pc.all(pc.match_substring_regex(names, r"^-?\d+\.0+$")).as_py():
        names = pc.replace_substring_regex(names, r"\.0+$", "")
    elif pc.all(pc.match_substring_regex(names, r"^(?i:true|false)$")).as_py():
        names = pc.utf8_lower(names)
    else:
        return column
    return pa.chunked_array([pa.DictionaryArray.from_arrays(encoded.indices, names)])


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if column.num_chunks == 0:
        return pa.DictionaryArray.from_arrays(
            pa.array([], pa.int32()), pa.array([], column.type.value_type)
        )
    return pa.concat_arrays(column.unify_dictionaries().chunks)


def _spelled(values: pa.Array) -> pa.Array:
    """Spell distinct values; blank text and NaN become null."""
    kind = values.type
    if pa.types.is_integer(kind):
        return values.cast(pa.string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        blank = pc.equal(pc.utf8_trim_whitespace(values), "")
        return pc.if_else(blank, pa.scalar(None, pa.string()), values.cast(pa.string()))
    gaps = values.is_null(nan_is_null=True).to_pylist()
    spelled = [
        None if gap else canonical(value)
        for value, gap in zip(values.to_pylist(), gaps, strict=True)
    ]
    return pa.array(spelled, pa.string())
