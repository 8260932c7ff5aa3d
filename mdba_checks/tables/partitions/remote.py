"""Label rows whose features stay where they are: what the deciding process knows, and how it asks.

The deciding process holds a few numbers per row (who, which group, what was decided, which item);
features become arrays on the workers. It asks for a bounded sample of them, for the rows of buckets
of labelers, or for sums over parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mdba_checks.errors import InputError
from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.encoding import Recipes
from mdba_checks.tables.hashing import row_fingerprints
from mdba_checks.tables.matrix import Chosen, Column, Matrix
from mdba_checks.tables.partitions.partitioned import BUCKET, ROWS_CHANGED, Partitions
from mdba_checks.tables.partitions.plan import Plan

C = TypeVar("C")
T = TypeVar("T")

_RANK, _COLUMN = "mdba_rank", "mdba_column_"


@dataclass(frozen=True)
class RemoteRows:
    """Some rows on a worker: what was sent along, and their features."""

    sent: Mapping[str, IntArray]
    trees: Matrix
    linear: Matrix

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.trees)


@dataclass(frozen=True)
class _Encoder:
    """What a worker needs to turn rows into arrays."""

    plan: Plan
    recipes: Recipes

    def rows(self, sent: Mapping[str, IntArray], columns: tuple[Column, ...]) -> RemoteRows:
        return RemoteRows(sent, *self.recipes.matrices(columns))


@dataclass(frozen=True)
class Sent:
    """What goes to one part: which of its rows are used, numbers for them, and how to know them."""

    rows: IntArray
    values: Mapping[str, IntArray]
    check: int  # depends on the rows and their order


@dataclass(frozen=True)
class _Sample:
    """The features of some rows that were fetched."""

    rows: IntArray  # ascending
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Remote:
    """The parts of the labels, and where the rows of `LabelRows` are in them."""

    parts: Partitions
    plan: Plan
    recipes: Recipes
    position: IntArray  # of the sorted rows, counting through all parts
    ends: IntArray  # (parts,): where each part ends
    checks: Sequence[int]
    _order: list[IntArray] = field(default_factory=list)
    _sample: list[_Sample] = field(default_factory=list)

    @property
    def by_position(self) -> IntArray:
        """The sorted rows in the order of the parts."""
        if not self._order:
            self._order.append(np.argsort(self.position))
        return self._order[0]

    def sent(self, values: Mapping[str, IntArray], rows: IntArray | None = None) -> list[Sent]:
        """Return for every part what goes there; `values` and `rows` are about sorted rows."""
        chosen = self.by_position
        if rows is not None:
            chosen = rows[np.argsort(self.position[rows])]
        position = self.position[chosen]
        cuts = np.searchsorted(position, self.ends)
        begin, found = 0, []
        starts = [0, *self.ends.tolist()]
        for part, cut in enumerate(cuts.tolist()):
            here, start = chosen[begin:cut], starts[part]
            found.append(
                Sent(
                    position[begin:cut] - start,
                    {name: each[here] for name, each in values.items()},
                    self.checks[part],
                )
            )
            begin = cut
        return found

    def keep(self, rows: IntArray) -> None:
        """Fetch the features of rows that will be asked for, all at once."""
        held = np.unique(rows)
        self._sample[:] = [_Sample(held, self.fetch(held))]

    def columns(self, rows: IntArray) -> tuple[Column, ...]:
        """Return the features of some sorted rows, from the sample if they are all in it."""
        for sample in self._sample:
            place = np.minimum(np.searchsorted(sample.rows, rows), len(sample.rows) - 1)
            if np.array_equal(sample.rows[place], rows):
                return tuple(column[place] for column in sample.columns)
        every, back = np.unique(rows, return_inverse=True)
        return tuple(column[back] for column in self.fetch(every))

    def fetch(self, rows: IntArray) -> tuple[Column, ...]:
        """Return the features of some sorted rows."""
        parts = self.parts.map(_columns, self.plan, self.sent({}, rows))
        back = np.argsort(np.argsort(self.position[rows]))
        return tuple(
            np.concatenate([part[place] for part in parts])[back] for place in range(len(parts[0]))
        )

    def map_parts(
        self,
        function: Callable[[C, RemoteRows], T],
        common: C,
        values: Mapping[str, IntArray],
    ) -> list[T]:
        """Return what a function makes of the rows of every part."""
        encoder = _Encoder(self.plan, self.recipes)
        return self.parts.map(_mapped, (function, common, encoder), self.sent(values))

    def map_buckets(
        self,
        function: Callable[[C, RemoteRows], T],
        common: C,
        bucket: IntArray,
        values: Mapping[str, IntArray],
    ) -> Iterator[T]:
        """Yield what a function makes of the rows of every bucket, in any order of buckets.

        Rows of a bucket are in their sorted order.
        """
        rank = np.arange(len(bucket))
        sent = self.sent({**values, BUCKET: bucket.astype(np.int32), _RANK: rank})
        encoder = _Encoder(self.plan, self.recipes)
        shared = function, common, encoder
        return self.parts.map_buckets(_split, (self.plan, sent), _worked, shared)


def check_of(columns: Sequence[Column], rows: int) -> int:
    """Return a number that depends on rows and their order."""
    marks = row_fingerprints(columns, rows)
    place = np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.add.reduce((marks ^ place) * np.uint64(0xBF58476D1CE4E5B9)))


def _columns(plan: Plan, sent: Sent, rows: pa.Table) -> tuple[Column, ...]:
    columns = plan.columns(rows)
    if check_of(columns[: len(plan.features)], rows.num_rows) != sent.check:
        raise InputError(ROWS_CHANGED)
    return tuple(column[sent.rows] for column in columns)


def _mapped(
    shared: tuple[Callable[[Any, RemoteRows], T], Any, _Encoder], sent: Sent, rows: pa.Table
) -> T:
    function, common, encoder = shared
    return function(common, encoder.rows(sent.values, _columns(encoder.plan, sent, rows)))


def _split(plan: Plan, sent: Sent, rows: pa.Table) -> pa.Table:
    columns = _columns(plan, sent, rows)
    encoded = {f"{_COLUMN}{place}": column for place, column in enumerate(columns)}
    types = {name: _wide(column) for name, column in {**sent.values, **encoded}.items()}
    return pa.table({name: pa.array(column) for name, column in types.items()})


def _wide(column: Column) -> Column:
    """Return a column in a type that is the same in every part, and that every engine knows."""
    if column.dtype.kind == "f":
        return column.astype(np.float64)
    return column.astype(np.int64 if column.dtype.itemsize == 8 else np.int32)


def _worked(shared: tuple[Callable[[Any, RemoteRows], T], Any, _Encoder], rows: pa.Table) -> T:
    function, common, encoder = shared
    order = np.argsort(rows.column(_RANK).to_numpy())
    held = {name: rows.column(name).to_numpy()[order] for name in rows.column_names}
    columns = tuple(held[f"{_COLUMN}{place}"] for place in range(_n_columns(rows)))
    sent = {name: values for name, values in held.items() if not name.startswith(_COLUMN)}
    return function(common, encoder.rows(sent, columns))


def _n_columns(rows: pa.Table) -> int:
    return sum(name.startswith(_COLUMN) for name in rows.column_names)


class RemoteMatrix(Matrix):
    """A matrix of rows that are elsewhere; rows that are asked for are fetched."""

    remote: Remote

    @classmethod
    def of(cls, remote: Remote, matrix: Matrix) -> RemoteMatrix:
        """Return a matrix like another one, of rows that are elsewhere."""
        made = cls(matrix.columns, matrix.recipes, matrix.dtype)
        object.__setattr__(made, "remote", remote)
        return made

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.remote.position)

    def __getitem__(self, rows: Chosen) -> FloatArray:
        """Return some rows, encoded."""
        return self.take(rows)[:]

    def take(self, rows: Chosen) -> Matrix:
        """Return some rows without encoding them."""
        wanted = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows)
        return Matrix(self.remote.columns(wanted), self.recipes, self.dtype)


def nothing_sent(sent: Sent) -> Sent:
    """Return what would go to a part without rows."""
    none = np.empty(0, dtype=np.int64)
    return Sent(none, {name: each[:0] for name, each in sent.values.items()}, check_of([], 0))
