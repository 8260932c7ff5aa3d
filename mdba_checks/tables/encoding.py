"""Features as the models want them: one matrix for trees, one for linear models.

Trees take numbers as they are, gaps as gaps and categories as codes. Linear models take
standardised numbers, an indicator where values are missing, and one column per frequent category.
Everything is learned once over labels and gold together, so that both tables speak one language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.exact_sums import Moments
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
    feature: tuple[str, ...]  # per linear column: what it was made of


@dataclass(frozen=True)
class Encoded:
    """Both tables encoded, rows in the order asked for."""

    trees: tuple[Matrix, Matrix]
    tree_types: tuple[str, ...]
    linear: tuple[Matrix, Matrix]
    encoding: Encoding
    messages: list[str]


class SeenNumbers(Protocol):
    """What a number is like in labels and gold together."""

    @property
    def low(self) -> float:
        """The smallest."""

    @property
    def high(self) -> float:
        """The largest."""

    @property
    def some_missing(self) -> bool:
        """Whether some are missing."""

    def moments(self, scale: Unit) -> Moments:
        """Return the sums of the numbers that are there, on a scale from 0 to 1."""

    def tells(self, recipe: Standard | Missing) -> Told:
        """Return what a column that is made of the numbers says."""


class SeenLevels(Protocol):
    """What a category is like in labels and gold together."""

    @property
    def counts(self) -> IntArray:
        """Rows of every level."""

    def by_group(self, code: IntArray, n_codes: int) -> IntArray:
        """Return rows by (code, group); the last entry of `code` is for missing."""


@dataclass(frozen=True)
class Told:
    """Whether a column differs between rows at all, and within some group."""

    varied: bool
    useful: bool  # what is the same in every row of a group is known from the group


@dataclass(frozen=True)
class Unit:
    """A scale from 0 to 1 for numbers between two ends; neither sums nor squares overflow."""

    exponent: int  # a power of two brings the largest value to about 1, without rounding any
    low: float
    width: int  # and another one the distance between the ends

    @classmethod
    def between(cls, low: float, high: float) -> Unit:
        """Return the scale for numbers between two ends that differ."""
        exponent = int(np.frexp(max(abs(low), abs(high)))[1])
        ends = np.ldexp(np.array([low, high]), -exponent)
        return cls(exponent, float(ends[0]), int(np.frexp(ends[1] - ends[0])[1]))

    def __call__(self, values: Column) -> FloatArray:
        """Return numbers on the scale."""
        scaled = np.ldexp(values.astype(np.float64), -self.exponent) - self.low
        on_scale: FloatArray = np.ldexp(scaled, -self.width)
        return on_scale


@dataclass(frozen=True)
class _Linear:
    """Columns for linear models, and what they stand for."""

    recipe: Recipe
    names: tuple[str, ...]
    centre: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class Recipes:
    """How columns follow from the values of features: which feature, and what becomes of it."""

    trees: tuple[tuple[int, Recipe], ...]
    linear: tuple[tuple[int, Recipe], ...]

    def matrices(self, columns: tuple[Column, ...]) -> tuple[Matrix, Matrix]:
        """Return the matrices for trees and for linear models, of one column per feature."""
        return (
            Matrix(columns, self.trees, np.float32),
            Matrix(columns, self.linear, np.float64),
        )


class EncodingLearner:
    """Learns how features become columns, one feature after the other.

    What it needs to know about a feature are a few numbers, which can be added up over parts of a
    table; so the same is learned whether the rows are in one place or not.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._trees: list[tuple[int, Recipe]] = []
        self._linear: list[tuple[int, _Linear]] = []
        self._types: list[str] = []
        self._names: list[str] = []
        self._key = hashlib.blake2b(digest_size=16)

    def number(self, name: str, seen: SeenNumbers, basis: str = "") -> None:
        """Learn what becomes of a number."""
        made, varied = [], False
        recipe, centre, scale = _standard(seen)
        told = seen.tells(recipe)
        varied |= told.varied
        made += [_Linear(recipe, ("number",), centre, scale)] if told.useful else []
        if seen.some_missing:
            told = seen.tells(Missing())
            varied |= told.varied
            made += [_Linear(Missing(), ("missing",))] if told.useful else []
        self._add(name, None, basis, Plain(), made, varied=varied)

    def category(self, name: str, levels: tuple[str, ...], seen: SeenLevels) -> None:
        """Learn what becomes of a category."""
        counts = seen.counts
        codes, _ = _frequent(counts, TREE_LEVELS, 1, self._key)
        tree = Codes(np.append(codes, np.nan).astype(np.float32))
        mapping, width = _frequent(counts, LINEAR_LEVELS, LINEAR_MIN_ROWS, self._key)
        mapping = np.append(mapping, -1)
        rows = seen.by_group(mapping + 1, width + 1)  # the first one is for missing
        shown = [code for code in range(-1, width) if rows[code + 1].any()]
        own: list[int] = []
        anything = False
        # Of two columns one says it all, as the other is its complement.
        for code in shown[1:] if len(shown) == 2 else shown:
            told = told_by_counts(rows[code + 1], rows.sum(axis=0))
            anything |= told.varied
            own += [code] if told.useful else []
        place = np.full(width + 1, -1)  # the last one is for missing
        place[own] = np.arange(len(own))
        names = tuple(f"{code} of {shown}" for code in own)
        made = [_Linear(OneHot(place[mapping], len(own)), names)] if own else []
        self._add(name, levels, "", tree, made, varied=anything)

    def _add(
        self,
        name: str,
        levels: tuple[str, ...] | None,
        basis: str,
        tree: Recipe,
        made: list[_Linear],
        *,
        varied: bool,
    ) -> None:
        place = len(self._trees)
        self._trees.append((place, tree))
        self._types.append("q" if levels is None else "c")
        self._names.append(name)
        names = [each for one in made for each in one.names]
        self._key.update(repr((name, levels, basis, names)).encode())
        self._linear += [(place, one) for one in made]
        if not made:
            reason = (
                "says no more than the group does"
                if varied
                else f"has no value that {LINEAR_MIN_ROWS} rows share"
            )
            self.messages.append(f"column {name!r} {reason}: linear models leave it out")

    @property
    def tree_types(self) -> tuple[str, ...]:
        """What the columns for trees hold."""
        return tuple(self._types)

    @property
    def encoding(self) -> Encoding:
        """How features became columns."""
        spread = [(place, one) for place, one in self._linear for _ in one.names]
        return Encoding(
            key=self._key.hexdigest(),
            centre=tuple(one.centre for _, one in spread),
            scale=tuple(one.scale for _, one in spread),
            feature=tuple(self._names[place] for place, _ in spread),
        )

    @property
    def recipes(self) -> Recipes:
        """How columns follow from the values of features."""
        linear = tuple((place, one.recipe) for place, one in self._linear)
        return Recipes(tuple(self._trees), linear)


def told_by_counts(rows: IntArray, of_group: IntArray) -> Told:
    """Return what a column of zeros and ones says that is one in so many rows of every group."""
    varied = bool(0 < rows.sum() < of_group.sum())
    return Told(varied, varied and bool(((rows > 0) & (rows < of_group)).any()))


@dataclass(frozen=True)
class _Values:
    """The rows of one feature, those of the labels first."""

    values: Column
    group: IntArray
    n_levels: int = 0

    @property
    def low(self) -> float:
        return float(np.nanmin(self.values))

    @property
    def high(self) -> float:
        return float(np.nanmax(self.values))

    @property
    def some_missing(self) -> bool:
        return bool(np.isnan(self.values).any())

    def moments(self, scale: Unit) -> Moments:
        present = self.values[~np.isnan(self.values)] if self.some_missing else self.values
        return Moments.of(scale(present))

    def tells(self, recipe: Standard | Missing) -> Told:
        block = np.zeros((len(self.values), 1))
        recipe.fill(block, self.values)
        column = block[:, 0]
        varied = not (column == column[0]).all()
        return Told(varied, varied and not _repeats(column, self.group))

    @property
    def counts(self) -> IntArray:
        return np.bincount(self.values[self.values >= 0], minlength=self.n_levels)

    def by_group(self, code: IntArray, n_codes: int) -> IntArray:
        n_groups = int(self.group.max()) + 1
        cell = code[self.values].astype(np.int64) * n_groups + self.group
        return np.bincount(cell, minlength=n_codes * n_groups).reshape(n_codes, n_groups)


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
    learner = EncodingLearner()
    combination = combine(features)
    if combination is not None:
        features.append(combination)
    while features:
        feature = features.pop(0)
        values = np.concatenate([feature.labels[orders[0]], feature.gold[orders[1]]])
        columns[0].append(keep(values[:rows]))
        columns[1].append(values[rows:].copy())
        if feature.levels is None:
            learner.number(feature.name, _Values(values, group), feature.basis)
        else:
            seen = _Values(values, group, len(feature.levels))
            learner.category(feature.name, feature.levels, seen)
    recipes = learner.recipes
    labels, gold = (recipes.matrices(tuple(held)) for held in columns)
    return Encoded(
        trees=(labels[0], gold[0]),
        tree_types=learner.tree_types,
        linear=(labels[1], gold[1]),
        encoding=learner.encoding,
        messages=learner.messages,
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


def _frequent(counts: IntArray, most: int, rows: int, key: hashlib.blake2b) -> tuple[IntArray, int]:
    """Return new codes for levels: only frequent ones get their own, the rest share the last."""
    # Levels are sorted by name, and a stable sort breaks ties by that order.
    ranked = np.argsort(-counts, kind="stable")[:most]
    own = np.zeros(len(counts), dtype=bool)
    own[ranked[counts[ranked] >= rows]] = True
    mapping = np.where(own, np.cumsum(own) - 1, own.sum())
    key.update(mapping.astype(np.int64).tobytes())
    return mapping, int(own.sum()) + 1


def _standard(seen: SeenNumbers) -> tuple[Standard, float, float]:
    """Return how to standardise numbers, their centre and their scale."""
    low, high = seen.low, seen.high
    if low == high:
        return Standard(0, (low,), 1.0), low, 1.0
    unit = Unit.between(low, high)
    moments = seen.moments(unit)
    # The low end first: the mean of numbers far from zero would itself be rounded.
    centres = unit.low, float(np.ldexp(moments.mean, unit.width))
    scale = float(np.ldexp(moments.spread, unit.width))
    recipe = Standard(unit.exponent, centres, scale)
    ends = np.ldexp(np.array([sum(centres), scale]), unit.exponent)
    return recipe, float(ends[0]), float(ends[1])


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
