"""Numbers that were written for people: ``3,5``, ``1.234,50``, ``1,234.5``, ``1'234``, ``1 234``.

Readers take them for text, and a model would take them for categories. A column is read as numbers
when every value of both tables fits one way of writing. ``1,234`` fits two; then the other columns
decide, and without them it is a thousand, because a column of decimals nearly always has a value
with fewer than three digits behind the comma.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.tables.kinds import Kind, all_missing, kind_of


@dataclass(frozen=True)
class Writing:
    """One way of writing numbers.

    Attributes
    ----------
    name
        How messages call it.
    fits
        What every number looks like.
    special
        What only numbers of this way have, and at least one must.
    grouping
        What stands between thousands and says nothing.
    mark
        What stands before the decimals.
    """

    name: str
    fits: str
    special: str
    grouping: str
    mark: str

    def of(self, texts: pa.Array) -> bool:
        """Return whether all texts, of which there are some, are written so."""
        return len(texts) > 0 and bool(pc.all(pc.match_substring_regex(texts, self.fits)).as_py())

    def is_special(self, texts: pa.Array) -> bool:
        """Return whether some text cannot be a plain number."""
        return bool(pc.any(pc.match_substring_regex(texts, self.special)).as_py())

    def numbers(self, texts: pa.Array) -> pa.Array:
        """Return what the texts stand for."""
        plain = pc.replace_substring_regex(texts, self.grouping, "")
        plain = pc.replace_substring(pc.replace_substring(plain, "−", "-"), self.mark, ".")
        return pc.cast(plain, pa.float64())


_SPACES = " \u00a0\u202f'’"
COMMA = Writing(
    name="decimal commas",
    fits=rf"^[-+−]?([1-9]\d{{0,2}}([.{_SPACES}]\d{{3}})+|\d+)(,\d+)?$",
    special=rf"[,{_SPACES}]|\..*\.",
    grouping=rf"[.{_SPACES}]",
    mark=",",
)
POINT = Writing(
    name="thousands separators",
    fits=rf"^[-+−]?([1-9]\d{{0,2}}([,{_SPACES}]\d{{3}})+|\d{{1,3}})(\.\d+)?$",
    special=rf"[,{_SPACES}]",
    grouping=rf"[,{_SPACES}]",
    mark=".",
)
_DOTTED = r"^[-+−]?([1-9]\d{0,2}(\.\d{3})+|\d{1,3})$"


def writing_of(columns: Iterable[pa.ChunkedArray]) -> tuple[Writing, ...]:
    """Return the ways in which all values of some columns may be written; none for other texts.

    Examples
    --------
    >>> def ways(*texts):
    ...     return [way.name for way in writing_of([pa.chunked_array([list(texts)])])]
    >>> ways("3,5", "1.200"), ways("1,200", "17"), ways("12,500.5"), ways("3.5", "a")
    (['decimal commas'], ['decimal commas', 'thousands separators'], ['thousands separators'], [])
    """
    parts = [texts for column in columns if len(texts := _texts(column))]
    if not parts:
        return ()
    texts = pa.concat_arrays(parts).unique()
    return tuple(
        way for way in (COMMA, POINT) if way.of(texts[:100]) and way.of(texts) and _special(texts)
    )


def chosen_writing(
    columns: Iterable[pa.ChunkedArray], others: Iterable[Iterable[pa.ChunkedArray]]
) -> Writing | None:
    """Return how the numbers in some columns are written, None if they are not such numbers.

    `others` are the other columns, each of both tables; they decide where it could be either.
    """
    ways = writing_of(columns)
    if len(ways) < 2:
        return ways[0] if ways else None
    clear = (found[0] for each in others if len(found := writing_of(each)) == 1)
    return next(clear, POINT)


def read_written(column: pa.ChunkedArray, way: Writing) -> pa.ChunkedArray:
    """Return a column as numbers; one that has numbers already stays as it is."""
    if kind_of(column.type) is not Kind.TEXT or all_missing(column):
        return column
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    trimmed = pc.utf8_trim_whitespace(encoded.dictionary)
    filled = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    return pa.chunked_array([way.numbers(filled).take(encoded.indices)])


def example(columns: Iterable[pa.ChunkedArray], way: Writing) -> str:
    """Return one of the numbers as it is written and as it is read, for a message."""
    for column in columns:
        texts = _texts(column)
        found = texts.filter(pc.match_substring_regex(texts, way.special))
        if len(found):
            return f"{found[0].as_py()!r} is {way.numbers(found[:1])[0].as_py():g}"
    return ""


def in_two_ways(columns: Iterable[pa.ChunkedArray]) -> bool:
    """Return whether all values are numbers, but written in ways that do not go together.

    Examples
    --------
    >>> in_two_ways([pa.chunked_array([["1,5", "2.5"]])])
    True
    """
    parts = [texts for column in columns if len(texts := _texts(column))]
    if not parts:
        return False
    texts = pa.concat_arrays(parts).unique()
    each = f"({COMMA.fits})|({POINT.fits})"
    return bool(pc.all(pc.match_substring_regex(texts, each)).as_py()) and _special(texts)


def with_dotted_thousands(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return texts such as ``1.250`` and ``950`` as whole numbers; None if there are others.

    Only for files that use decimal commas: elsewhere the point stands before decimals.
    """
    texts = pc.drop_null(column.unique())
    dotted = pc.match_substring(texts, ".")
    if not len(texts) or not pc.any(dotted).as_py():
        return None
    if not pc.all(pc.match_substring_regex(texts, _DOTTED)).as_py():
        return None
    return pc.cast(pc.replace_substring(column, ".", ""), pa.int64())


def _special(texts: pa.Array) -> bool:
    return COMMA.is_special(texts)


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """Return the different texts of a column; none for columns of another kind."""
    if kind_of(column.type) is not Kind.TEXT:
        return pa.array([], pa.string())
    values = column.unique()
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    trimmed = pc.utf8_trim_whitespace(pc.drop_null(values.cast(pa.string())))
    return trimmed.filter(pc.not_equal(trimmed, ""))
