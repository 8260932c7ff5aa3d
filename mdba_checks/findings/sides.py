"""Which comparisons a table of gaps holds, and what each is called where people read it.

A comparison is a group with its reference. Where several group columns have groups of one name, or
several classes are compared, the name says which; otherwise it is the group alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

_KEYS = ("attribute", "class", "group", "reference")


def with_sides(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return gaps with a column `side`: the group, as far as needed with its column and class.

    Examples
    --------
    >>> groups = {"group": ["women", "yes", "yes"], "attribute": ["gender", "veteran", "parent"]}
    >>> rows = pd.DataFrame(groups)
    >>> with_sides(rows)["side"].tolist()
    ['women', 'veteran: yes', 'parent: yes']
    >>> with_sides(rows.head(2))["side"].tolist()
    ['women', 'yes']
    """
    names = gaps["group"].astype(str)
    if _varies(gaps, "attribute"):
        shared = gaps.groupby(gaps["group"])["attribute"].transform("nunique") > 1
        names = names.where(~shared, gaps["attribute"].astype(str) + ": " + names)
    if _varies(gaps, "class"):
        names = names + " (" + gaps["class"].astype(str) + ")"
    return gaps.assign(side=names)


def comparisons(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return one row per comparison, in the order of the table."""
    sided = gaps if "side" in gaps else with_sides(gaps)
    keys = [key for key in _KEYS if key in sided]
    return sided[[*keys, "side"]].drop_duplicates()


def each(gaps: pd.DataFrame) -> Sequence[Any]:
    """Return the rows as tuples with named fields; ``class`` is ``class_``, as Python needs it."""
    return list(gaps.rename(columns={"class": "class_"}).itertuples(index=False))


def _varies(gaps: pd.DataFrame, column: str) -> bool:
    return column in gaps and gaps[column].nunique() > 1
