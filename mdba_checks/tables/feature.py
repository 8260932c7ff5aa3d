"""One column of numbers or codes, as encoders take it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.matrix import Column

Keep: TypeAlias = Callable[[Column], Column]  # where a column of the labels is held


@dataclass(frozen=True)
class Feature:
    """One usable column: numbers (NaN missing), or codes into `levels` (-1 missing).

    Attributes
    ----------
    source
        The user's column that it comes from, where that is not the name itself: a text becomes
        several features.
    basis
        What the numbers depend on beyond the column's own values in the row.
    """

    name: str
    labels: Column
    gold: Column
    levels: tuple[str, ...] | None = None
    source: str | None = None
    basis: str = ""

    @property
    def column(self) -> str:
        """The user's column."""
        return self.source or self.name

    def is_constant(self) -> bool:
        """Return whether both tables hold the same value everywhere."""
        # NaN differs from itself, so a number that is sometimes missing is not a constant; that it
        # is missing may matter. For categories -1 stands for missing and counts as a value.
        first = self.labels[0]
        return bool((self.labels == first).all() and (self.gold == first).all())


@dataclass(frozen=True)
class ReadColumn:
    """What one column of both tables became.

    Attributes
    ----------
    features
        One or several.
    identity
        Arrays for labels and gold in which rows are equal where the column is.
    said
        What the user should know about it.
    holds
        What it holds and how it was read, where that is more than numbers or categories.
    """

    features: tuple[Feature, ...]
    identity: tuple[Column, Column] | tuple[IntArray, IntArray]
    said: str | None = None
    holds: str = ""


class UnusableError(Exception):
    """Why a column is left out."""
