"""Dask: the workers of a scheduler somewhere, or a cluster of processes on this machine.

Everything a bucket needs travels with its task, so that the scheduler can give the task to another
worker when one is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from mdba_checks.errors import InputError, MissingExtraError
from mdba_checks.estimation.engines.local import with_one_thread
from mdba_checks.estimation.engines.window import in_order

C = TypeVar("C")
S = TypeVar("S")
T = TypeVar("T")

# Lost workers and a scheduler that is short of memory are forgiven so often, per bucket.
_RETRIES = 3
_CONNECT_SECONDS = 20


@dataclass(frozen=True)
class DaskEngine:
    """A client of a Dask cluster."""

    client: Any

    def map(self, function: Callable[[C, S], T], common: C, over: Iterable[S]) -> Iterator[T]:
        """Yield ``function(common, each)`` for each of `over`, in order."""
        # A task rather than scattered data: it can be made again when its worker is lost.
        held = self.client.submit(_itself, common, pure=False, retries=_RETRIES)

        def start(each: S) -> Any:
            return self.client.submit(
                with_one_thread, function, held, each, pure=False, retries=_RETRIES
            )

        hands = sum(self.client.nthreads().values())
        yield from in_order(start, lambda task: task.result(), over, most=2 * max(hands, 1))


@contextmanager
def dask_engine(address: str | None, jobs: int) -> Iterator[DaskEngine]:
    """Connect to a scheduler, or start a cluster of `jobs` processes on this machine."""
    try:
        import dask
        from distributed import Client, LocalCluster, default_client
    except ImportError:
        raise MissingExtraError("engine: dask", "dask") from None
    cluster_of: Any = LocalCluster  # Dask's classes have no types
    client_of: Any = Client
    current: Any = default_client
    there = None
    with suppress(ValueError):  # nobody has opened one
        there = current()
    if there is not None and address in (None, there.scheduler.address):
        yield DaskEngine(there)
        return
    # Tasks carry the rows of their bucket, which is their purpose.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
        if address is None:
            with (
                cluster_of(
                    n_workers=jobs,
                    threads_per_worker=1,
                    processes=True,
                    # Any free port: the usual one may be that of another cluster.
                    dashboard_address="127.0.0.1:0",
                ) as cluster,
                client_of(cluster) as client,
            ):
                yield DaskEngine(client)
            return
        try:
            client = client_of(address, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"no Dask scheduler answers at cluster={address!r}: {reason}; start one with "
                "'dask scheduler', or leave --cluster out for one on this machine"
            ) from None
        with client:
            yield DaskEngine(client)


def _itself(common: C) -> C:
    return common
