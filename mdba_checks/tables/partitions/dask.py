"""Parts that the workers of a Dask cluster read: Parquet files, or a Dask DataFrame.

Every task carries what it needs, so that the scheduler can give it to another worker when one is
lost. Rows of a bucket meet through Dask's own transfers, as packed bytes that workers keep on disk
when they run short of memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from mdba_checks.errors import CheckError, InputError
from mdba_checks.tables.partitions.parquet import ParquetPart
from mdba_checks.tables.partitions.partitioned import BUCKET

C = TypeVar("C")
T = TypeVar("T")

# Lost workers are forgiven so often, per task.
_RETRIES = 3
# Buckets travel in at most so many lots: every part sends each of them a piece.
_MOST_LOTS = 64


@dataclass(frozen=True)
class DaskPartitions:
    """Parts that are read by the workers of the Dask client that is open.

    Attributes
    ----------
    parts
        Parts of Parquet files, or delayed pandas DataFrames.
    schema
        Names and types of the columns.
    """

    parts: tuple[Any, ...]
    schema: pa.Schema

    @classmethod
    def of_frame(cls, frame: Any) -> DaskPartitions:
        """Return the partitions of a Dask DataFrame."""
        known = pa.Schema.from_pandas(frame._meta, preserve_index=False)  # noqa: SLF001  no other way
        fields = [
            pa.field(each.name, pa.string() if pa.types.is_null(each.type) else each.type)
            for each in known
        ]
        return cls(tuple(frame.to_delayed()), pa.schema(fields))

    def select(self, names: Sequence[str]) -> DaskPartitions:
        """Return the same partitions with some of the columns."""
        schema = pa.schema([self.schema.field(name) for name in dict.fromkeys(names)])
        return DaskPartitions(self.parts, schema)

    def map(
        self,
        function: Callable[[C, Any, pa.Table], T],
        common: C,
        each: Sequence[Any] | None = None,
    ) -> list[T]:
        """Return ``function(common, each[n], rows of part n)`` for all parts, in order."""
        client = _client()
        shared = client.submit(_itself, common, pure=False, retries=_RETRIES)
        own = each if each is not None else [None] * len(self.parts)

        def start(part: Any, mine: Any) -> Any:
            return _submit(
                client, _mapped, function, shared, mine, _held(client, part), self.schema
            )

        return list(_in_order(start, zip(self.parts, own, strict=True), 2 * _threads(client)))

    def map_buckets(
        self,
        split: Callable[[Any, Any, pa.Table], pa.Table],
        given: tuple[Any, Sequence[Any]],
        work: Callable[[C, pa.Table], T],
        common: C,
    ) -> Iterator[T]:
        """Yield ``work(common, rows)`` for the rows of every bucket, in any order."""
        from distributed import as_completed

        client = _client()
        buckets = 1 + max(int(each.values[BUCKET].max(initial=0)) for each in given[1])
        lots = min(buckets, _MOST_LOTS)
        first, shared = (
            client.submit(_itself, one, pure=False, retries=_RETRIES) for one in (given[0], common)
        )
        cut = [
            _submit(client, _cut, split, first, mine, _held(client, part), (self.schema, lots))
            for part, mine in zip(self.parts, given[1], strict=True)
        ]
        tasks = []
        for lot in range(lots):
            pieces = [_submit(client, _piece, each, lot) for each in cut]
            tasks.append(_submit(client, _worked, work, shared, pieces))
        del cut
        waiting: Any = as_completed
        for task in waiting(tasks):
            found = _finished(task)
            tasks.remove(task)
            yield from found


def _client() -> Any:
    from distributed import default_client

    find: Any = default_client
    try:
        return find()
    except ValueError:
        raise InputError(
            "no Dask cluster is open for these labels: set engine to dask, or open a "
            "distributed.Client first"
        ) from None


def _threads(client: Any) -> int:
    return max(int(sum(client.nthreads().values())), 1)


def _held(client: Any, part: Any) -> Any:
    return part if isinstance(part, ParquetPart) else client.compute(part, retries=_RETRIES)


def _submit(client: Any, function: Callable[..., Any], *given: Any) -> Any:
    return client.submit(function, *given, pure=False, retries=_RETRIES)


def _itself(common: C) -> C:
    return common


def _in_order(
    start: Callable[[Any, Any], Any], over: Iterable[tuple[Any, Any]], most: int
) -> Iterator[Any]:
    under_way: deque[Any] = deque()
    for one, other in over:
        if len(under_way) == most:
            yield _finished(under_way.popleft())
        under_way.append(start(one, other))
    while under_way:
        yield _finished(under_way.popleft())


def _finished(task: Any) -> Any:
    try:
        told = task.result()
    except CheckError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = (lines[0] if lines else type(error).__name__)[:300]
        raise InputError(
            f"Dask did not finish the job: {reason}; nothing was decided or written"
        ) from error
    if isinstance(told, CheckError):  # it is meant for the user, and trying again changes nothing
        raise told
    return told


def _rows(part: Any, schema: pa.Schema) -> pa.Table:
    if isinstance(part, ParquetPart):
        return part.read(schema)
    chosen = part[list(schema.names)] if len(schema) else part.iloc[:, :0]
    table = pa.Table.from_pandas(chosen, schema=schema, preserve_index=False)
    return table.replace_schema_metadata()


def _told(function: Callable[[], T]) -> T | CheckError:
    """Return what a function says; an error that is meant for the user travels as an answer."""
    try:
        # One thread: the last digits of a sum depend on how it is split up.
        with threadpool_limits(limits=1, user_api="blas"):
            return function()
    except CheckError as error:
        return error


def _mapped(
    function: Callable[[Any, Any, pa.Table], T], common: Any, own: Any, part: Any, schema: pa.Schema
) -> T | CheckError:
    return _told(lambda: function(common, own, _rows(part, schema)))


def _cut(
    split: Callable[[Any, Any, pa.Table], pa.Table],
    common: Any,
    own: Any,
    part: Any,
    how: tuple[pa.Schema, int],
) -> dict[int, bytes] | CheckError:
    """Return the rows of a part in lots of buckets, packed."""
    schema, lots = how

    def packed() -> dict[int, bytes]:
        rows = split(common, own, _rows(part, schema))
        lot = rows.column(BUCKET).to_numpy() % lots
        order = np.argsort(lot, kind="stable")
        ends = np.searchsorted(lot[order], np.arange(lots + 1))
        found = {}
        for number in range(lots):
            here = order[ends[number] : ends[number + 1]]
            found[number] = _packed(rows.take(pa.array(here)))
        return found

    return _told(packed)


def _packed(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _piece(cut: dict[int, bytes] | CheckError, lot: int) -> bytes | CheckError:
    return cut if isinstance(cut, CheckError) else cut[lot]


def _worked(
    work: Callable[[Any, pa.Table], T], common: Any, pieces: list[bytes | CheckError]
) -> list[T] | CheckError:
    """Return what a function makes of every bucket of a lot."""
    known = []
    for piece in pieces:
        if isinstance(piece, CheckError):
            return piece
        known.append(pa.ipc.open_stream(piece).read_all())
    rows = pa.concat_tables(known)

    def worked() -> list[T]:
        bucket = rows.column(BUCKET).to_numpy()
        return [
            work(common, rows.take(pa.array(np.flatnonzero(bucket == number))))
            for number in np.unique(bucket).tolist()
        ]

    return _told(worked)
