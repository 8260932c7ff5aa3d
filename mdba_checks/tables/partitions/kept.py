"""Parts without the rows of some labelers: rows go where they are, nobody else sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mdba_checks.tables.arrays import BoolArray, IntArray
from mdba_checks.tables.partitions.partitioned import Partitions
from mdba_checks.tables.text import as_names

C = TypeVar("C")
T = TypeVar("T")


@dataclass(frozen=True)
class TakenOut:
    """Rows of some labelers, or of labelers about a group.

    Attributes
    ----------
    labeler, group
        The columns.
    labelers
        Whose rows go; none where only their rows about a group do.
    pairs
        Labelers and the groups their rows about which go.
    """

    labeler: str
    group: str
    labelers: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()

    def goes(self, rows: pa.Table) -> BoolArray:
        """Return which rows go.

        Examples
        --------
        >>> rows = pa.table({"who": ["ann", "bob", None], "of": ["w", "w", "m"]})
        >>> TakenOut("who", "of", labelers=frozenset({"bob"})).goes(rows).tolist()
        [False, True, False]
        >>> TakenOut("who", "of", pairs=frozenset({("ann", "w")})).goes(rows).tolist()
        [True, False, False]
        """
        names, labeler = _coded(rows, self.labeler)
        goes = np.array([name in self.labelers for name in names] + [False])[labeler]
        if not self.pairs:
            return goes
        of_group, group = _coded(rows, self.group)
        wanted = np.zeros((len(names) + 1, len(of_group) + 1), dtype=bool)
        places = [{name: place for place, name in enumerate(each)} for each in (names, of_group)]
        for who, what in self.pairs:
            if who in places[0] and what in places[1]:
                wanted[places[0][who], places[1][what]] = True
        found: BoolArray = goes | wanted[labeler, group]
        return found


def _coded(rows: pa.Table, name: str) -> tuple[list[str], IntArray]:
    """Return the names of a column and their places; -1, the last place, where one is missing."""
    column = as_names(rows.column(name))
    codes: IntArray = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return column.dictionary.to_pylist(), codes


@dataclass(frozen=True)
class KeptRows:
    """The parts of a table without rows that were taken out, one lot after the other.

    Examples
    --------
    >>> from mdba_checks.tables.partitions.partitioned import LocalPartitions
    >>> parts = LocalPartitions([pa.table({"who": ["ann", "bob"], "of": ["w", "m"]})])
    >>> kept = KeptRows(parts, TakenOut("who", "of", labelers=frozenset({"ann"})))
    >>> kept.select(["of"]).map(lambda _, __, rows: rows.to_pydict(), None)
    [{'of': ['m']}]
    """

    parts: Partitions
    out: TakenOut
    names: tuple[str, ...] | None = None

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        whole = self.parts.schema
        return whole if self.names is None else pa.schema([whole.field(n) for n in self.names])

    def select(self, names: Sequence[str]) -> KeptRows:
        """Return the same parts with some of the columns."""
        needed = dict.fromkeys([*names, self.out.labeler, self.out.group])
        return replace(self, parts=self.parts.select(list(needed)), names=tuple(names))

    def map(
        self,
        function: Callable[[C, Any, pa.Table], T],
        common: C,
        each: Sequence[Any] | None = None,
    ) -> list[T]:
        """Return ``function(common, each[n], rows of part n)`` for all parts, in order."""
        return self.parts.map(_kept, (function, common, self.out, self.names), each)

    def map_buckets(
        self,
        split: Callable[[Any, Any, pa.Table], pa.Table],
        given: tuple[Any, Sequence[Any]],
        work: Callable[[C, pa.Table], T],
        common: C,
    ) -> Iterator[T]:
        """Yield ``work(common, rows)`` for the rows of every bucket, in any order."""
        shared = split, given[0], self.out, self.names
        return self.parts.map_buckets(_kept, (shared, given[1]), work, common)


def _kept(shared: tuple[Any, Any, TakenOut, tuple[str, ...] | None], own: Any, rows: Any) -> Any:
    function, common, out, names = shared
    rows = rows.filter(pa.array(~out.goes(rows)))
    return function(common, own, rows if names is None else rows.select(list(names)))
