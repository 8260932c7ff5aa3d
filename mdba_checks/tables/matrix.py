"""Encoded features that stay small: rows are put together when somebody asks for them.

One-hot columns in double precision take ten times the room of the table they come from. So the
features are kept as compact as they were, codes in a byte or two and numbers in the smallest type
that holds them all, and only the rows of one bucket at a time become a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from mdba_checks.tables.arrays import FloatArray, IntArray

Column: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Chosen: TypeAlias = slice | IntArray

# One whole column after the other would touch every cache line of the result once each.
_BLOCK_ROWS = 2048
_FLOAT32 = float(np.finfo(np.float32).max)


class Recipe(Protocol):
    """How some columns of a matrix follow from the values of one feature."""

    @property
    def width(self) -> int:
        """How many columns."""

    def fill(self, block: FloatArray, values: Column) -> None:
        """Write the columns; `block` is (rows, width) and zero."""


@dataclass(frozen=True)
class Standard:
    """A number, standardised; missing ones become the mean.

    The values are scaled by a power of two first, so that neither sums nor squares overflow.
    """

    exponent: int
    centres: tuple[float, ...]  # taken off one after the other
    scale: float
    width = 1

    def fill(self, block: FloatArray, values: Column) -> None:
        """Write one column."""
        scaled = np.ldexp(values.astype(np.float64), -self.exponent)
        for centre in self.centres:
            scaled -= centre
        scaled /= self.scale
        scaled[np.isnan(values)] = 0.0
        block[:, 0] = scaled


@dataclass(frozen=True)
class Missing:
    """Whether a number is missing."""

    width = 1

    def fill(self, block: FloatArray, values: Column) -> None:
        """Write one column of zeros and ones."""
        block[:, 0] = np.isnan(values)


@dataclass(frozen=True)
class OneHot:
    """A column per level; `column` is -1 for levels without one, its last entry is for missing."""

    column: IntArray
    width: int

    def fill(self, block: FloatArray, values: Column) -> None:
        """Write one 1 per row, or none."""
        place = self.column[values]
        shown = np.flatnonzero(place >= 0)
        block[shown, place[shown]] = 1.0


@dataclass(frozen=True)
class Plain:
    """A number as it is; what is too large for single precision becomes the largest."""

    width = 1

    def fill(self, block: FloatArray, values: Column) -> None:
        """Write one column."""
        block[:, 0] = np.clip(values, -_FLOAT32, _FLOAT32)


@dataclass(frozen=True)
class Codes:
    """A category as a code; `code` is NaN in its last entry, which is for missing."""

    code: FloatArray
    width = 1

    def fill(self, block: FloatArray, values: Column) -> None:
        """Write one column."""
        block[:, 0] = self.code[values]


@dataclass(frozen=True)
class Matrix:
    """A matrix of encoded rows; indexing it makes an array.

    Examples
    --------
    >>> ages = np.array([20, 40, 30], dtype=np.float32)
    >>> Matrix((ages,), ((0, Standard(0, (30.0,), 10.0)),), np.float64)[1:]
    array([[1.],
           [0.]])
    """

    columns: tuple[Column, ...]  # one per feature
    recipes: tuple[tuple[int, Recipe], ...]  # which feature, and what becomes of it
    dtype: DTypeLike

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), sum(recipe.width for _, recipe in self.recipes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0])

    def __getitem__(self, rows: Chosen) -> FloatArray:
        """Return some rows, encoded."""
        columns = [column[rows] for column in self.columns]
        n_rows = len(columns[0])
        matrix = np.zeros((n_rows, self.shape[1]), dtype=self.dtype)
        for first in range(0, n_rows, _BLOCK_ROWS):
            block = matrix[first : first + _BLOCK_ROWS]
            begin = 0
            for feature, recipe in self.recipes:
                end = begin + recipe.width
                recipe.fill(block[:, begin:end], columns[feature][first : first + len(block)])
                begin = end
        return matrix

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> FloatArray:
        """Return all rows, encoded; always a new array."""
        return self[:].astype(dtype or self.dtype, copy=False)

    def take(self, rows: Chosen) -> Matrix:
        """Return some rows without encoding them."""
        return replace(self, columns=tuple(column[rows] for column in self.columns))


def compact(values: Column, n_levels: int | None = None) -> Column:
    """Return the same values in the smallest type that holds them.

    Parameters
    ----------
    values
        Numbers, or codes from -1 to `n_levels` - 1.

    Examples
    --------
    >>> compact(np.array([0.5, np.nan])).dtype, compact(np.array([0.1])).dtype
    (dtype('float32'), dtype('float64'))
    >>> compact(np.array([3, -1]), n_levels=4).dtype
    dtype('int8')
    """
    if n_levels is not None:
        return values.astype(np.min_scalar_type(-max(n_levels, 1)), copy=False)
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
    return small if np.array_equal(small, values, equal_nan=True) else values
