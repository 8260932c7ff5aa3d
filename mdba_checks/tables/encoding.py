"""Features as the models want them: one matrix for trees, one for linear models.

Trees take numbers as they are, gaps as gaps and categories as codes. Linear models take
standardised numbers, an indicator where values are missing, and one column per frequent category.
Everything is learned once over labels and gold together, so that both tables speak one language.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.tables.features import Column, Feature

# A level seen in fewer rows than this teaches a linear model noise, and each column costs its
# square in every Newton step: rare levels share the column "other".
LINEAR_LEVELS = 40
LINEAR_MIN_ROWS = 10
# One byte of codes per category; XGBoost partitions so many levels without trouble.
TREE_LEVELS = 255

_BLOCK_ROWS = 2048
_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Encoded:
    """Both tables encoded, rows in the order asked for."""

    trees: tuple[FloatArray, FloatArray]
    tree_types: tuple[str, ...]
    linear: tuple[FloatArray, FloatArray]
    messages: list[str]


def encode(
    features: list[Feature],
    groups: tuple[IntArray, IntArray],
    orders: tuple[IntArray, IntArray],
) -> Encoded:
    """Encode the features; `groups` are in the features' order, rows come out in `orders`."""
    group = np.concatenate([g[order] for g, order in zip(groups, orders, strict=True)])
    trees: list[Column] = []
    linear: list[Column] = []
    messages = []
    for feature in features:
        values = np.concatenate([feature.labels[orders[0]], feature.gold[orders[1]]])
        trees.append(_tree_column(feature, values))
        varied = [c for c in _linear_columns(feature, values) if not (c == c[0]).all()]
        columns = [c for c in varied if not _repeats(c, group)]
        if not columns:
            reason = (
                "says no more than the group does"
                if varied
                else f"has no value that {LINEAR_MIN_ROWS} rows share"
            )
            messages.append(f"column {feature.name!r} {reason}: linear models leave it out")
        linear.extend(columns)
    rows = len(orders[0])
    return Encoded(
        (_matrix(trees, np.float32, 0, rows), _matrix(trees, np.float32, rows, len(group))),
        tuple("q" if feature.levels is None else "c" for feature in features),
        (_matrix(linear, np.float64, 0, rows), _matrix(linear, np.float64, rows, len(group))),
        messages,
    )


def _matrix(columns: list[Column], dtype: DTypeLike, start: int, stop: int) -> FloatArray:
    """Put columns side by side, rows contiguous."""
    matrix = np.empty((stop - start, len(columns)), dtype=dtype)
    # Block by block: one whole column after the other would touch every cache line once each.
    for first in range(0, len(matrix), _BLOCK_ROWS):
        block = matrix[first : first + _BLOCK_ROWS]
        for place, column in enumerate(columns):
            block[:, place] = column[start + first : start + first + len(block)]
    return matrix


def _tree_column(feature: Feature, values: Column) -> FloatArray:
    if feature.levels is None:
        return np.clip(values, -_FLOAT32, _FLOAT32).astype(np.float32)
    codes, _ = _frequent(values, len(feature.levels), TREE_LEVELS, 1)
    return np.where(codes < 0, np.nan, codes).astype(np.float32)


def _linear_columns(feature: Feature, values: Column) -> Iterator[Column]:
    """Yield the columns of a feature for linear models; small types where they suffice."""
    if feature.levels is None:
        missing = np.isnan(values)
        yield standardised(values)
        if missing.any():
            yield missing
        return
    codes, width = _frequent(values, len(feature.levels), LINEAR_LEVELS, LINEAR_MIN_ROWS)
    shown = [code for code in range(-1, width) if (codes == code).any()]
    # Of two columns one says it all, as the other is its complement.
    for code in shown[1:] if len(shown) == 2 else shown:
        yield codes == code


def _frequent(codes: IntArray, levels: int, most: int, rows: int) -> tuple[IntArray, int]:
    """Renumber codes so that only frequent levels keep their own; the rest share the last one."""
    counts = np.bincount(codes[codes >= 0], minlength=levels)
    # Levels are sorted by name, and a stable sort breaks ties by that order.
    ranked = np.argsort(-counts, kind="stable")[:most]
    own = np.zeros(levels, dtype=bool)
    own[ranked[counts[ranked] >= rows]] = True
    mapping = np.where(own, np.cumsum(own) - 1, own.sum())
    return np.append(mapping, -1)[codes], int(own.sum()) + 1


def standardised(values: FloatArray) -> FloatArray:
    """Return numbers with mean 0 and standard deviation 1; missing ones become the mean.

    Examples
    --------
    >>> standardised(np.array([1.0, 3.0, np.nan])).tolist()
    [-1.0, 1.0, 0.0]
    >>> bool(np.isfinite(standardised(np.array([1e300, -1e308, 3.0]))).all())
    True
    """
    low, high = np.nanmin(values), np.nanmax(values)
    if low == high:
        return np.zeros_like(values)
    # A power of two brings the largest value to about 1 without rounding any other.
    _, exponent = np.frexp(max(abs(low), abs(high)))
    scaled = np.ldexp(values, -int(exponent))
    missing = np.isnan(values)
    present = ~missing if missing.any() else slice(None)
    # Twice: the first mean of numbers far from zero is itself rounded.
    for _ in range(2):
        scaled -= scaled[present].mean()
    scaled /= np.sqrt(np.square(scaled[present]).mean())
    scaled[missing] = 0.0
    return scaled


def _repeats(column: Column, group: IntArray) -> bool:
    """Tell whether a column is constant within every group: then the group says it already."""
    # Most columns differ early on.
    for rows in (min(1000, len(column)), len(column)):
        some, codes = column[:rows], group[:rows]
        first = np.zeros(int(group.max()) + 1, dtype=column.dtype)
        first[codes[::-1]] = some[::-1]
        if not (some == first[codes]).all():
            return False
    return True
