"""What is known about the columns of a table from its parts: a few numbers each, which add up.

Of a number: its ends, what is missing and whether it is the row's own number, in every group. Of
a category: how often each level occurs in every group. Which columns are features, and what becomes
of them, follows from that and not from the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from mdba_checks.tables.arrays import BoolArray, FloatArray, IntArray
from mdba_checks.tables.dates import numbers_as_dates
from mdba_checks.tables.encoding import MOST_COMBINATIONS, Told, Unit
from mdba_checks.tables.exact_sums import Moments
from mdba_checks.tables.kinds import Kind, kind_of, numbers
from mdba_checks.tables.matrix import Missing, Standard
from mdba_checks.tables.text import as_names

# A column with more different texts than this is not a category that can be carried around.
MOST_LEVELS = 50_000


@dataclass(frozen=True)
class Part:
    """The numbers of one group."""

    rows: int
    present: int
    low: float
    high: float

    def __add__(self, other: Part) -> Part:
        return Part(
            self.rows + other.rows,
            self.present + other.present,
            min(self.low, other.low),
            max(self.high, other.high),
        )


@dataclass(frozen=True)
class NumberSummary:
    """A number in every group, by the group's name.

    Attributes
    ----------
    infinite
        How many are infinite, and one of them.
    values
        The different ones, while they are few; else None.
    code
        A sum that shows whether whole numbers are all the numbers between their ends.
    dates
        Whether they are points in time by their name and values; None without values.
    """

    groups: Mapping[str, Part]
    infinite: tuple[int, float] = (0, 0.0)
    values: frozenset[float] | None = frozenset()
    code: int = 0
    dates: bool | None = None
    sums: Moments = field(default_factory=Moments)

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray, group: Names) -> NumberSummary:
        """Summarise some rows."""
        values = numbers(column)
        missing = np.isnan(values)
        endless = np.isinf(values)
        wrong = values[endless]
        found = {}
        for code, own in enumerate(group.names):
            here = group.codes == code
            there = values[here & ~missing]
            found[own] = Part(
                int(here.sum()),
                len(there),
                float(there.min(initial=np.inf)),
                float(there.max(initial=-np.inf)),
            )
        few = np.unique(values[: 10 * MOST_COMBINATIONS])
        if len(few) <= MOST_COMBINATIONS:
            few = np.unique(values)
        few = few[~np.isnan(few)]
        return cls(
            found,
            (len(wrong), float(wrong[0]) if len(wrong) else 0.0),
            frozenset(few.tolist()) if len(few) <= MOST_COMBINATIONS else None,
            _code(values) if pa.types.is_integer(column.type) and not missing.any() else 0,
            numbers_as_dates(name, column),
        )

    @classmethod
    def empty(cls, rows: Mapping[str, int]) -> NumberSummary:
        """Return so many rows of groups in which nothing stands."""
        return cls({name: Part(n, 0, np.inf, -np.inf) for name, n in rows.items()})

    def __add__(self, other: NumberSummary) -> NumberSummary:
        groups = dict(self.groups)
        for name, part in other.groups.items():
            groups[name] = groups[name] + part if name in groups else part
        values = None
        if self.values is not None and other.values is not None:
            values = self.values | other.values
        many = values is None or len(values) > MOST_COMBINATIONS
        known = [each for each in (self.dates, other.dates) if each is not None]
        return replace(
            self,
            groups=groups,
            infinite=(
                self.infinite[0] + other.infinite[0],
                self.infinite[1] or other.infinite[1],
            ),
            values=None if many else values,
            code=(self.code + other.code) % 2**64,
            dates=all(known) if known else None,
        )

    @property
    def low(self) -> float:
        """The smallest."""
        return min(part.low for part in self.groups.values())

    @property
    def high(self) -> float:
        """The largest."""
        return max(part.high for part in self.groups.values())

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(part.rows for part in self.groups.values())

    @property
    def present(self) -> int:
        """In how many of them there is a number."""
        return sum(part.present for part in self.groups.values())

    @property
    def some_missing(self) -> bool:
        """Whether some are missing."""
        return self.present < self.rows

    def is_constant(self) -> bool:
        """Return whether all rows hold the same number."""
        return not self.some_missing and self.low == self.high

    def counts_rows(self, least: int) -> bool:
        """Return whether whole numbers, at least so many, number the rows."""
        if self.rows < least or self.some_missing or self.high - self.low != self.rows - 1:
            return False
        expected = 0
        for begin in range(0, self.rows, 1_000_000):
            end = min(begin + 1_000_000, self.rows)
            expected += _code(self.low + np.arange(begin, end, dtype=np.float64))
        return expected % 2**64 == self.code

    def moments(self, scale: Unit) -> Moments:  # noqa: ARG002  the sums were made on this scale
        """Return the sums of the numbers that are there."""
        return self.sums

    def tells(self, recipe: Standard | Missing) -> Told:
        """Return what a column that is made of the numbers says."""
        every: list[set[float]] = []
        for part in self.groups.values():
            ends = [part.low, part.high] if part.present else []
            points = np.array(ends + [np.nan] * (part.present < part.rows))
            block = np.zeros((len(points), 1))
            recipe.fill(block, points)
            every.append(set(block[:, 0].tolist()))
        varied = len(set().union(*every)) > 1
        return Told(varied, varied and any(len(each) > 1 for each in every))


@dataclass(frozen=True)
class Names:
    """Names and, per row, the place of its own; -1 where it has none."""

    names: tuple[str, ...]
    codes: IntArray

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Names:
        """Read a column of names."""
        found = as_names(column)
        codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(tuple(found.dictionary.to_pylist()), codes)

    def take(self, rows: IntArray | BoolArray) -> Names:
        """Return some rows; names that nobody has any more are left out."""
        codes = self.codes[rows]
        used = np.bincount(codes[codes >= 0], minlength=len(self.names)) > 0
        place = np.append(np.cumsum(used) - 1, -1)
        names = tuple(name for name, there in zip(self.names, used, strict=True) if there)
        return Names(names, place[codes])


@dataclass(frozen=True)
class LevelSummary:
    """How often every level of a category occurs in every group; None is missing.

    Attributes
    ----------
    counts
        Rows by (level, group).
    too_many
        Whether there are more than `MOST_LEVELS`; then the counts are not complete.
    """

    counts: Counter[tuple[str | None, str]]
    too_many: bool = False

    @classmethod
    def of(cls, column: pa.ChunkedArray, group: Names) -> LevelSummary:
        """Summarise some rows."""
        own = Names.of(column)
        n_groups = max(len(group.names), 1)
        cells, rows = np.unique(own.codes * n_groups + group.codes, return_counts=True)
        found: Counter[tuple[str | None, str]] = Counter()
        for cell, n in zip(cells.tolist(), rows.tolist(), strict=True):
            level, at = divmod(cell, n_groups)
            found[(None if level < 0 else own.names[level], group.names[at])] = n
            if len(found) > 2 * MOST_LEVELS:
                break
        return cls(found, len(own.names) > MOST_LEVELS)

    @classmethod
    def counted(cls, counts: Mapping[tuple[str | None, str], int]) -> LevelSummary:
        """Return rows that were counted already."""
        return cls(Counter(dict(counts)))

    def __add__(self, other: LevelSummary) -> LevelSummary:
        if self.too_many:
            return self
        if other.too_many:
            return other
        together = Counter(self.counts)
        together.update(other.counts)
        return LevelSummary(together, len({level for level, _ in together}) > MOST_LEVELS)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels, sorted."""
        return tuple(sorted({level for level, _ in self.counts if level is not None}))

    @property
    def present(self) -> int:
        """How many rows have a level."""
        return sum(n for (level, _), n in self.counts.items() if level is not None)

    @property
    def mean_length(self) -> float:
        """The mean length of the texts that are there."""
        letters = sum(len(level) * n for (level, _), n in self.counts.items() if level is not None)
        return letters / self.present if self.present else 0.0

    def rows_of_groups(self) -> dict[str, int]:
        """Return the rows of every group."""
        total: Counter[str] = Counter()
        for (_, group), n in self.counts.items():
            total[group] += n
        return dict(total)

    def is_constant(self) -> bool:
        """Return whether all rows hold the same; missing counts as a value."""
        return len({level for level, _ in self.counts}) < 2

    def seen(self, levels: tuple[str, ...], groups: Sequence[str]) -> CountedLevels:
        """Return the counts as arrays, levels and groups in order."""
        at = {level: place for place, level in enumerate(levels)}
        of_group = {name: place for place, name in enumerate(groups)}
        cells = [
            (len(levels) if level is None else at[level], of_group[group], n)
            for (level, group), n in self.counts.items()
        ]
        level, group, rows = np.array(cells, dtype=np.int64).reshape(-1, 3).T
        return CountedLevels(
            n_levels=len(levels), n_groups=len(groups), level=level, group=group, rows=rows
        )


@dataclass(frozen=True)
class CountedLevels:
    """Rows by level and group; the level after the last is for missing."""

    n_levels: int
    n_groups: int
    level: IntArray
    group: IntArray
    rows: IntArray

    @property
    def counts(self) -> IntArray:
        """Rows of every level."""
        found = np.bincount(self.level, self.rows, minlength=self.n_levels + 1)
        return found[:-1].astype(np.int64)

    def by_group(self, code: IntArray, n_codes: int) -> IntArray:
        """Return rows by (code, group); the last entry of `code` is for missing."""
        cell = code[self.level] * self.n_groups + self.group
        found = np.bincount(cell, self.rows, minlength=n_codes * self.n_groups)
        return found.astype(np.int64).reshape(n_codes, self.n_groups)


Summary = NumberSummary | LevelSummary | None  # None: a column that cannot be a feature


def summarise(
    asked: tuple[Sequence[str], str, Sequence[str]], _: object, rows: pa.Table
) -> dict[str, Summary]:
    """Summarise some columns of a part, as far as its rows are complete.

    `asked` are the columns, that of groups, and those that may not have gaps.
    """
    names, group_column, whole = asked
    complete = np.ones(rows.num_rows, dtype=bool)
    for name in whole:
        complete &= Names.of(rows.column(name)).codes >= 0
    if not complete.all():
        rows = rows.filter(pa.array(complete))
    group = Names.of(rows.column(group_column))
    return {name: _summary(name, rows.column(name), group) for name in names}


def _summary(name: str, column: pa.ChunkedArray, group: Names) -> Summary:
    kind = kind_of(column.type)
    if kind is Kind.TEXT:
        return LevelSummary.of(column, group)
    return None if kind is Kind.OTHER else _number(name, column, group)


def _number(name: str, column: pa.ChunkedArray, group: Names) -> NumberSummary:
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    return NumberSummary.of(name, column, group)


def added(parts: Iterable[dict[str, Summary]]) -> dict[str, Summary]:
    """Add up the summaries of parts."""
    total: dict[str, Summary] = {}
    for part in parts:
        for name, own in part.items():
            known = total.get(name)
            total[name] = known + own if known is not None and own is not None else own  # type: ignore[operator]
    return total


def _code(values: FloatArray) -> int:
    mixed = values.astype(np.float64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return int(np.add.reduce(mixed * np.uint64(0xBF58476D1CE4E5B9)))
