"""The partitions of a Spark DataFrame: functions run on the executors, answers come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa
from threadpoolctl import threadpool_limits

from mdba_checks.errors import CheckError, InputError
from mdba_checks.tables.partitions.partitioned import BUCKET

C = TypeVar("C")
T = TypeVar("T")

_ANSWER = "part int, answer binary"


@dataclass(frozen=True)
class SparkPartitions:
    """A Spark DataFrame; it is never collected."""

    frame: Any

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.frame.limit(0).toArrow().schema

    def select(self, names: Sequence[str]) -> SparkPartitions:
        """Return the same partitions with some of the columns."""
        # Backticks, because a dot in a name would ask for a part of a struct.
        chosen = dict.fromkeys(names)
        return SparkPartitions(
            self.frame.select(*(f"`{name.replace('`', '``')}`" for name in chosen))
        )

    def map(
        self,
        function: Callable[[C, Any, pa.Table], T],
        common: C,
        each: Sequence[Any] | None = None,
    ) -> list[T]:
        """Return ``function(common, each[n], rows of part n)`` for all parts, in order."""
        schema, held = self.schema, self._held(common, each)

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            part, shared, own = _given(held)
            rows = _table(batches, schema)
            yield _answer(part, lambda: function(shared, own, rows))

        return list(_answers(self.frame.mapInArrow(run, _ANSWER), held))

    def map_buckets(
        self,
        split: Callable[[Any, Any, pa.Table], pa.Table],
        given: tuple[Any, Sequence[Any]],
        work: Callable[[C, pa.Table], T],
        common: C,
    ) -> Iterator[T]:
        """Yield ``work(common, rows)`` for the rows of every bucket, in any order."""
        from pyspark.sql.pandas.types import from_arrow_schema

        schema, held = self.schema, self._held(*given)
        empty = split(given[0], _no_rows(given[1][0]), schema.empty_table())
        buckets = 1 + max(int(each.values[BUCKET].max(initial=0)) for each in given[1])
        shared = self._context.broadcast(common)

        def cut(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            _, first, own = _given(held)
            rows = _table(batches, schema)
            yield from split(first, own, rows).to_batches(max_chunksize=10_000)

        def run(rows: pa.Table) -> pa.Table:
            bucket = rows.column(BUCKET)[0].as_py()
            return pa.Table.from_batches([_answer(bucket, lambda: work(shared.value, rows))])

        frame = self.frame.mapInArrow(cut, from_arrow_schema(empty.schema))
        # By the bucket, and so many partitions: else Spark puts buckets together as it likes.
        frame = frame.repartition(buckets, BUCKET).groupBy(BUCKET).applyInArrow(run, _ANSWER)
        try:
            yield from _answers(frame, held)
        finally:
            shared.unpersist()

    @property
    def _context(self) -> Any:
        return self.frame.sparkSession.sparkContext

    def _held(self, common: Any, each: Sequence[Any] | None) -> tuple[Any, list[Any] | None]:
        """Return what goes to the executors: a task reads what is meant for its own part."""
        parts = None if each is None else [self._context.broadcast(own) for own in each]
        return self._context.broadcast(common), parts


def _table(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return the rows of a part; executors may say otherwise which columns have no gaps."""
    held = list(batches)
    if not held:
        return schema.empty_table()
    return pa.Table.from_batches(held).select(schema.names).cast(schema)


def _no_rows(sent: Any) -> Any:
    from mdba_checks.tables.partitions.remote import nothing_sent

    return nothing_sent(sent)


def _given(held: tuple[Any, list[Any] | None]) -> tuple[int, Any, Any]:
    """Return the number of this task's part, what all share, and what is meant for the part."""
    from pyspark import TaskContext

    task: Any = TaskContext.get()
    part = int(task.partitionId())
    common, parts = held
    return part, common.value, None if parts is None else parts[part].value


def _answer(part: int, function: Callable[[], Any]) -> pa.RecordBatch:
    """Return what a function says; an error that is meant for the user travels as an answer."""
    try:
        # One thread: the last digits of a sum depend on how it is split up.
        with threadpool_limits(limits=1, user_api="blas"):
            told: Any = function()
    except CheckError as error:
        told = error
    answer = _serializer().dumps(told)
    return pa.RecordBatch.from_pydict(
        {"part": pa.array([part], pa.int32()), "answer": pa.array([answer], pa.binary())}
    )


def _answers(frame: Any, held: tuple[Any, list[Any] | None]) -> Iterator[Any]:
    try:
        rows = sorted(frame.collect(), key=lambda row: row["part"])
    except Exception as error:
        raise InputError(
            f"Spark did not finish the job: {_reason(error)}; nothing was decided or written"
        ) from error
    finally:
        for each in (held[0], *(held[1] or ())):
            each.unpersist()
    for place, row in enumerate(rows):
        told = _serializer().loads(row["answer"])
        rows[place] = None
        if isinstance(told, CheckError):
            raise told
        yield told


def _serializer() -> Any:
    """Return what Spark itself sends objects with, between the driver and its own executors."""
    from pyspark.serializers import CPickleSerializer

    return CPickleSerializer()


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    python = [line for line in lines if not line.startswith(("at ", "File ", "JVM stack", "..."))]
    told = [line for line in python if "Error" in line] or python[1:] or lines
    return (told[-1] if told else type(error).__name__)[:300]
