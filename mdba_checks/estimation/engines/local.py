"""Threads of this process: numpy and XGBoost let go of Python's lock while they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from threadpoolctl import threadpool_limits

C = TypeVar("C")
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class LocalEngine:
    """So many threads."""

    jobs: int = 1

    def map(self, function: Callable[[C, S], T], common: C, over: Iterable[S]) -> Iterator[T]:
        """Yield ``function(common, each)`` for each of `over`, in order."""
        if self.jobs == 1:
            for each in over:
                yield function(common, each)
            return
        from joblib import Parallel, delayed

        workers = Parallel(n_jobs=self.jobs, prefer="threads", return_as="generator")
        yield from workers(delayed(function)(common, each) for each in over)


def with_one_thread(function: Callable[[C, S], T], common: C, each: S) -> T:
    """Call a function with linear algebra on one thread, as the caller's own process does.

    The last digits of a sum depend on how it is split up.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        return function(common, each)
