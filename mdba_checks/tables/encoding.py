"""Features as the models want them: one matrix for trees, one for linear models.

Trees take numbers as they are, gaps as gaps and categories as codes. Linear models take
standardised numbers, an indicator where values are missing, and one column per frequent category.
Everything is learned once over labels and gold together, so that both tables speak one language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.feature import Feature
from mdba_checks.tables.matrix import (
    Codes,
    Column,
    Matrix,
    Missing,
    OneHot,
    Plain,
    Recipe,
    Standard,
    compact,
)

# A level seen in fewer rows than this teaches a linear model noise, and each column costs its
# square in every Newton step: rare levels share the column "other".
LINEAR_LEVELS = 40
LINEAR_MIN_ROWS = 10
# With so few combinations of all features' values, each of them is a category of its own: models
# then fit any interaction.
MOST_COMBINATIONS = 64
# One byte of codes per category; XGBoost partitions so many levels without trouble.
TREE_LEVELS = 255


@dataclass(frozen=True)
class Encoding:
    """How features became columns: data with the same one speak the same language."""

    key: str  # of everything but numbers: features, levels, which column stands for what
    centre: tuple[float, ...]  # per linear column: what was taken from the values,
    scale: tuple[float, ...]  # and what they were divided by afterwards


@dataclass(frozen=True)
class Encoded:
    """Both tables encoded, rows in the order asked for."""

    trees: tuple[Matrix, Matrix]
    tree_types: tuple[str, ...]
    linear: tuple[Matrix, Matrix]
    encoding: Encoding
    messages: list[str]


@dataclass(frozen=True)
class _Linear:
    """Columns for linear models, and what they stand for."""

    recipe: Recipe
    names: tuple[str, ...]
    centre: float = 0.0
    scale: float = 1.0


def encode(
    features: list[Feature],
    groups: tuple[IntArray, IntArray],
    orders: tuple[IntArray, IntArray],
    keep: Callable[[Column], Column],
) -> Encoded:
    """Encode the features; `groups` are in the features' order, rows come out in `orders`.

    The list of features is emptied on the way, so that columns are not held twice; `keep` says
    where the sorted ones of the labels are held.
    """
    group = np.concatenate([g[order] for g, order in zip(groups, orders, strict=True)])
    rows = len(orders[0])
    columns: tuple[list[Column], list[Column]] = ([], [])
    trees: list[tuple[int, Recipe]] = []
    linear: list[tuple[int, _Linear]] = []
    types, messages = [], []
    key = hashlib.blake2b(digest_size=16)
    combination = combine(features)
    if combination is not None:
        features.append(combination)
    for place in range(len(features)):
        feature = features.pop(0)
        values = np.concatenate([feature.labels[orders[0]], feature.gold[orders[1]]])
        columns[0].append(keep(values[:rows]))
        columns[1].append(values[rows:].copy())
        types.append("q" if feature.levels is None else "c")
        trees.append((place, _tree_recipe(feature, values, key)))
        made, varied = [], False
        for one, told in _linear_columns(feature, values, group, key):
            varied |= told
            made += [one] if one else []
        names = [name for one in made for name in one.names]
        key.update(repr((feature.name, feature.levels, feature.basis, names)).encode())
        if not made:
            reason = (
                "says no more than the group does"
                if varied
                else f"has no value that {LINEAR_MIN_ROWS} rows share"
            )
            messages.append(f"column {feature.name!r} {reason}: linear models leave it out")
        linear += [(place, one) for one in made]
    recipes = tuple((place, one.recipe) for place, one in linear)
    spread = [one for _, one in linear for _ in one.names]
    labels, gold = (tuple(held) for held in columns)
    return Encoded(
        (Matrix(labels, tuple(trees), np.float32), Matrix(gold, tuple(trees), np.float32)),
        tuple(types),
        (Matrix(labels, recipes, np.float64), Matrix(gold, recipes, np.float64)),
        Encoding(
            key.hexdigest(),
            tuple(one.centre for one in spread),
            tuple(one.scale for one in spread),
        ),
        messages,
    )


def combine(features: list[Feature]) -> Feature | None:
    """Return the combination of all features' values as one more feature, if there are few.

    Examples
    --------
    >>> colour = Feature("colour", np.array([0, 1, 1]), np.array([0]), levels=("blue", "red"))
    >>> size = Feature("size", np.array([3.0, 3.0, 4.0]), np.array([4.0]))
    >>> combine([colour, size]).labels
    array([0, 2, 3], dtype=int8)
    """
    if not features or (len(features) == 1 and features[0].levels is not None):
        return None
    n_rows = len(features[0].labels)
    code = np.zeros(n_rows + len(features[0].gold), dtype=np.int64)
    for feature in features:
        if len(np.unique(feature.labels[: 10 * MOST_COMBINATIONS])) > MOST_COMBINATIONS:
            return None  # most tables end here, before whole columns are sorted
        values, own = np.unique(np.concatenate([feature.labels, feature.gold]), return_inverse=True)
        if len(values) > MOST_COMBINATIONS:
            return None
        _, code = np.unique(code * len(values) + own, return_inverse=True)
        if code.max() >= MOST_COMBINATIONS:
            return None
    n_levels = int(code.max()) + 1
    if n_levels < 3:  # two values: the feature itself says it all
        return None
    small = compact(code, n_levels)
    levels = tuple(str(level) for level in range(n_levels))
    return Feature("combination of all features", small[:n_rows], small[n_rows:], levels)


def _tree_recipe(feature: Feature, values: Column, key: hashlib.blake2b) -> Recipe:
    if feature.levels is None:
        return Plain()
    mapping, _ = _frequent(values, len(feature.levels), TREE_LEVELS, 1, key)
    return Codes(np.append(mapping, np.nan).astype(np.float32))


def _linear_columns(
    feature: Feature, values: Column, group: IntArray, key: hashlib.blake2b
) -> Iterator[tuple[_Linear | None, bool]]:
    """Yield the columns that linear models get, and whether there was anything to tell at all.

    Columns that are the same everywhere, or everywhere in a group, tell nothing that is not known.
    """

    def tells(column: Column) -> tuple[bool, bool]:
        varied = not (column == column[0]).all()
        return varied and not _repeats(column, group), varied

    if feature.levels is None:
        standard, recipe, centre, scale = _standard(values)
        useful, varied = tells(standard)
        yield _Linear(recipe, ("number",), centre, scale) if useful else None, varied
        missing = np.isnan(values)
        if missing.any():
            useful, varied = tells(missing)
            yield _Linear(Missing(), ("missing",)) if useful else None, varied
        return
    mapping, width = _frequent(values, len(feature.levels), LINEAR_LEVELS, LINEAR_MIN_ROWS, key)
    mapping = np.append(mapping, -1)
    codes = mapping[values]
    shown = [code for code in range(-1, width) if (codes == code).any()]
    own: list[int] = []
    anything = False
    # Of two columns one says it all, as the other is its complement.
    for code in shown[1:] if len(shown) == 2 else shown:
        useful, varied = tells(codes == code)
        anything |= varied
        own += [code] if useful else []
    place = np.full(width + 1, -1)  # the last one is for missing
    place[own] = np.arange(len(own))
    names = tuple(f"{code} of {shown}" for code in own)
    yield _Linear(OneHot(place[mapping], len(own)), names) if own else None, anything


def _frequent(
    codes: IntArray, levels: int, most: int, rows: int, key: hashlib.blake2b
) -> tuple[IntArray, int]:
    """Return new codes for levels: only frequent ones get their own, the rest share the last."""
    counts = np.bincount(codes[codes >= 0], minlength=levels)
    # Levels are sorted by name, and a stable sort breaks ties by that order.
    ranked = np.argsort(-counts, kind="stable")[:most]
    own = np.zeros(levels, dtype=bool)
    own[ranked[counts[ranked] >= rows]] = True
    mapping = np.where(own, np.cumsum(own) - 1, own.sum())
    key.update(mapping.astype(np.int64).tobytes())
    return mapping, int(own.sum()) + 1


def _standard(values: Column) -> tuple[FloatArray, Standard, float, float]:
    """Return standardised numbers, how to get them, their centre and their scale."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low == high:
        return np.zeros(len(values)), Standard(0, (low,), 1.0), low, 1.0
    # A power of two brings the largest value to about 1 without rounding any other.
    exponent = int(np.frexp(max(abs(low), abs(high)))[1])
    scaled = np.ldexp(values.astype(np.float64), -exponent)
    missing = np.isnan(values)
    present = ~missing if missing.any() else slice(None)
    # Twice: the first mean of numbers far from zero is itself rounded.
    centres = []
    for _ in range(2):
        centres.append(float(scaled[present].mean()))
        scaled -= centres[-1]
    scale = float(np.sqrt(np.square(scaled[present]).mean()))
    scaled /= scale
    scaled[missing] = 0.0
    recipe = Standard(exponent, tuple(centres), scale)
    return scaled, recipe, float(np.ldexp(sum(centres), exponent)), float(np.ldexp(scale, exponent))


def _repeats(column: Column, group: IntArray) -> bool:
    """Return whether a column is constant within every group: then the group says it already."""
    # Most columns differ early on.
    for rows in (min(1000, len(column)), len(column)):
        some, codes = column[:rows], group[:rows]
        first = np.zeros(int(group.max()) + 1, dtype=column.dtype)
        first[codes[::-1]] = some[::-1]
        if not (some == first[codes]).all():
            return False
    return True
