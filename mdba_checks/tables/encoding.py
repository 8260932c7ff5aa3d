"""Features as the models want them: one matrix for trees, one for linear models.

Trees take numbers as they are, gaps as gaps and categories as codes. Linear models take
standardised numbers, an indicator where values are missing, and one column per frequent category.
Everything is learned once over labels and gold together, so that both tables speak one language.
"""

from __future__ import annotations

import hashlib
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
class Encoding:
    """How features became columns: data with the same one speak the same language."""

    key: str  # of everything but numbers: features, levels, which column stands for what
    centre: tuple[float, ...]  # per linear column: what was taken from the values,
    scale: tuple[float, ...]  # and what they were divided by afterwards


@dataclass(frozen=True)
class Encoded:
    """Both tables encoded, rows in the order asked for."""

    trees: tuple[FloatArray, FloatArray]
    tree_types: tuple[str, ...]
    linear: tuple[FloatArray, FloatArray]
    encoding: Encoding
    messages: list[str]


@dataclass(frozen=True)
class _Linear:
    """A column for linear models, and what it stands for."""

    values: Column
    name: str
    centre: float = 0.0
    scale: float = 1.0


def encode(
    features: list[Feature],
    groups: tuple[IntArray, IntArray],
    orders: tuple[IntArray, IntArray],
) -> Encoded:
    """Encode the features; `groups` are in the features' order, rows come out in `orders`."""
    group = np.concatenate([g[order] for g, order in zip(groups, orders, strict=True)])
    trees: list[Column] = []
    linear: list[_Linear] = []
    messages = []
    key = hashlib.blake2b(digest_size=16)
    for feature in features:
        values = np.concatenate([feature.labels[orders[0]], feature.gold[orders[1]]])
        trees.append(_tree_column(feature, values, key))
        made = _linear_columns(feature, values, key)
        varied = [c for c in made if not (c.values == c.values[0]).all()]
        columns = [c for c in varied if not _repeats(c.values, group)]
        key.update(repr((feature.name, feature.levels, [c.name for c in columns])).encode())
        if not columns:
            reason = (
                "says no more than the group does"
                if varied
                else f"has no value that {LINEAR_MIN_ROWS} rows share"
            )
            messages.append(f"column {feature.name!r} {reason}: linear models leave it out")
        linear.extend(columns)
    rows = len(orders[0])
    columns_only = [column.values for column in linear]
    return Encoded(
        (_matrix(trees, np.float32, 0, rows), _matrix(trees, np.float32, rows, len(group))),
        tuple("q" if feature.levels is None else "c" for feature in features),
        (
            _matrix(columns_only, np.float64, 0, rows),
            _matrix(columns_only, np.float64, rows, len(group)),
        ),
        Encoding(
            key.hexdigest(),
            tuple(column.centre for column in linear),
            tuple(column.scale for column in linear),
        ),
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


def _tree_column(feature: Feature, values: Column, key: hashlib.blake2b) -> FloatArray:
    if feature.levels is None:
        return np.clip(values, -_FLOAT32, _FLOAT32).astype(np.float32)
    codes, _ = _frequent(values, len(feature.levels), TREE_LEVELS, 1, key)
    return np.where(codes < 0, np.nan, codes).astype(np.float32)


def _linear_columns(feature: Feature, values: Column, key: hashlib.blake2b) -> Iterator[_Linear]:
    """Yield the columns of a feature for linear models; small types where they suffice."""
    if feature.levels is None:
        missing = np.isnan(values)
        standard, centre, scale = _standard(values)
        yield _Linear(standard, "number", centre, scale)
        if missing.any():
            yield _Linear(missing, "missing")
        return
    codes, width = _frequent(values, len(feature.levels), LINEAR_LEVELS, LINEAR_MIN_ROWS, key)
    shown = [code for code in range(-1, width) if (codes == code).any()]
    # Of two columns one says it all, as the other is its complement.
    for code in shown[1:] if len(shown) == 2 else shown:
        yield _Linear(codes == code, f"{code} of {shown}")


def _frequent(
    codes: IntArray, levels: int, most: int, rows: int, key: hashlib.blake2b
) -> tuple[IntArray, int]:
    """Renumber codes so that only frequent levels keep their own; the rest share the last one."""
    counts = np.bincount(codes[codes >= 0], minlength=levels)
    # Levels are sorted by name, and a stable sort breaks ties by that order.
    ranked = np.argsort(-counts, kind="stable")[:most]
    own = np.zeros(levels, dtype=bool)
    own[ranked[counts[ranked] >= rows]] = True
    mapping = np.where(own, np.cumsum(own) - 1, own.sum())
    key.update(mapping.astype(np.int64).tobytes())
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
    return _standard(values)[0]


def _standard(values: FloatArray) -> tuple[FloatArray, float, float]:
    """Return standardised numbers, their centre and their scale."""
    low, high = np.nanmin(values), np.nanmax(values)
    if low == high:
        return np.zeros_like(values), float(low), 1.0
    # A power of two brings the largest value to about 1 without rounding any other.
    _, exponent = np.frexp(max(abs(low), abs(high)))
    scaled = np.ldexp(values, -int(exponent))
    missing = np.isnan(values)
    present = ~missing if missing.any() else slice(None)
    # Twice: the first mean of numbers far from zero is itself rounded.
    centre = 0.0
    for _ in range(2):
        mean = scaled[present].mean()
        scaled -= mean
        centre += float(mean)
    scale = np.sqrt(np.square(scaled[present]).mean())
    scaled /= scale
    scaled[missing] = 0.0
    return scaled, float(np.ldexp(centre, exponent)), float(np.ldexp(scale, exponent))


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
