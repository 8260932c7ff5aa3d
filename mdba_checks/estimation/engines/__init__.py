"""Where buckets of labelers are worked on: threads here, or the processes of a cluster.

An engine applies one function to every bucket, beside what all buckets share, and returns the
answers in order. What is computed, and on which rows, is decided before an engine sees it, so all
engines give the same numbers; a bucket that is lost with its machine is done again by another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from mdba_checks.config import CheckConfig, EngineName
from mdba_checks.estimation.engines.local import LocalEngine
from mdba_checks.tables import needs_dask

__all__ = ["Engine", "LocalEngine", "jobs_of", "open_engine", "open_workers"]

C = TypeVar("C")
S = TypeVar("S")
T = TypeVar("T")


class Engine(Protocol):
    """Something that works on buckets."""

    def map(self, function: Callable[[C, S], T], common: C, over: Iterable[S]) -> Iterator[T]:
        """Yield ``function(common, each)`` for each of `over`, in order.

        Buckets are taken from `over` as hands come free, never all at once.
        """


@contextmanager
def open_engine(name: EngineName, cluster: str | None, jobs: int) -> Iterator[Engine]:
    """Open an engine; what it started is stopped at the end.

    Parameters
    ----------
    name
        ``local``, ``dask`` or ``spark``.
    cluster
        The address of a Dask scheduler or a Spark master; None starts one on this machine.
    jobs
        How many buckets are worked on at a time on this machine.

    Examples
    --------
    >>> with open_engine("local", None, jobs=2) as engine:
    ...     list(engine.map(pow, 2, [1, 2, 3]))
    [2, 4, 8]
    """
    if name == "dask":
        from mdba_checks.estimation.engines.dask import dask_engine

        with dask_engine(cluster, jobs) as engine:
            yield engine
    elif name == "spark":
        from mdba_checks.estimation.engines.spark import spark_engine

        with spark_engine(cluster, jobs) as engine:
            yield engine
    else:
        yield LocalEngine(jobs)


def jobs_of(config: CheckConfig) -> int:
    """Return how many buckets are worked on at a time on this machine."""
    return config.jobs or os.cpu_count() or 1


@contextmanager
def open_workers(labels: object, config: CheckConfig) -> Iterator[None]:
    """Open the cluster whose workers read the labels, where they do; it is closed at the end."""
    if not needs_dask(labels, config):
        yield
        return
    with open_engine("dask", config.cluster, jobs_of(config)):
        yield
