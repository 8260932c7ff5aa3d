"""Spark: the executors of a master somewhere, or of a session on this machine.

A wave of buckets at a time becomes a small job, so that the driver never holds them all and can say
how far it is. Spark gives a task that was lost to another executor.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from mdba_checks.errors import InputError, MissingExtraError
from mdba_checks.estimation.engines.local import with_one_thread

C = TypeVar("C")
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class SparkEngine:
    """The driver of a Spark application."""

    context: Any

    def map(self, function: Callable[[C, S], T], common: C, over: Iterable[S]) -> Iterator[T]:
        """Yield ``function(common, each)`` for each of `over`, in order."""
        held = self.context.broadcast(common)

        def work(each: S) -> T:
            return with_one_thread(function, held.value, each)

        left = iter(over)
        try:
            while wave := list(islice(left, max(self.context.defaultParallelism, 1))):
                yield from self.context.parallelize(wave, len(wave)).map(work).collect()
        finally:
            held.destroy()


@contextmanager
def spark_engine(master: str | None, jobs: int) -> Iterator[SparkEngine]:
    """Use the session that is there, or start one with this master or on this machine."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("engine: spark", "spark") from None
    there = SparkSession.getActiveSession()
    if there is not None and master in (None, there.sparkContext.master):
        yield SparkEngine(there.sparkContext)
        return
    if there is not None:
        raise InputError(
            f"cluster={master!r}, but a Spark session with master {there.sparkContext.master!r} is "
            "running: stop it, or leave cluster out to use it"
        )
    # Executors on this machine need the Python that has mdba-checks, not the first one on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master or f"local[{jobs}]").appName("mdba-checks")
    try:
        session = builder.config("spark.ui.enabled", "false").getOrCreate()
    except Exception as error:  # noqa: BLE001 (of many kinds, with messages that fill a screen)
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"cannot start Spark with master {master or 'local'!r}: {reason}; it needs Java, and "
            "a master such as spark://host:7077 in cluster"
        ) from None
    try:
        yield SparkEngine(session.sparkContext)
    finally:
        session.stop()
