"""Names that are not what they seem: to people, or to a spreadsheet."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from mdba_checks.tables.text import is_number

_BEGINS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_SHOWN = 40  # letters


def name_warnings(column: str, names: Iterable[str], *, hide: bool) -> list[str]:
    """Say what is odd about the names in a column; `hide` leaves out the names themselves.

    Examples
    --------
    >>> name_warnings("labeler", ["ann", "bob"], hide=False)
    []
    >>> for text in name_warnings("labeler", ["ann", "Ann ", "=1+1"], hide=False):
    ...     print(text)
    column 'labeler' has names that look alike, such as 'ann' and 'Ann ': each spelling ...
    column 'labeler' has names that a spreadsheet takes for formulas, such as '=1+1': they ...
    """
    names = list(names)
    found = []
    if alike := _look_alikes(names):
        example = "" if hide else f", such as {_shown(alike[0])} and {_shown(alike[1])}"
        found.append(
            f"column {column!r} has names that look alike{example}: each spelling counts by "
            "itself; where the same is meant, spell it in one way"
        )
    formula = next(
        (name for name in names if name.startswith(_BEGINS_A_FORMULA) and not is_number(name)), None
    )
    if formula is not None:
        example = "" if hide else f", such as {_shown(formula)}"
        found.append(
            f"column {column!r} has names that a spreadsheet takes for formulas{example}: they are "
            "written as they came; import CSV files as text"
        )
    return found


def _look_alikes(names: list[str]) -> list[str]:
    """Return the first names that differ in case, spaces or encoding only."""
    alike = defaultdict(list)
    for name in names:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        alike["".join(folded.split())].append(name)
    return next((each for each in alike.values() if len(each) > 1), [])


def _shown(name: str) -> str:
    return repr(name[:_SHOWN])
