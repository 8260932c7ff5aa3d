"""Tables to check, and questions to the API of a real Prefect server."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.events import emit_event

from mdba_checks.simulation import simulate

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Tables:
    """Four labelers: the gap of L1 is about -0.45, and the others have hardly any."""

    folder: Path

    @property
    def labels(self) -> str:
        return str(self.folder / "labels.parquet")

    @property
    def gold(self) -> str:
        return str(self.folder / "gold.parquet")


def make_tables(folder: Path, n_items: int = 4_000) -> Tables:
    made = simulate(n_items=n_items, n_labelers=4, tprs=[0.5, 0.94, 0.95, 0.93], seed=1)
    made.labels.to_parquet(folder / "labels.parquet")
    made.gold.to_parquet(folder / "gold.parquet")
    return Tables(folder)


def config(**policy: Any) -> dict[str, Any]:
    """Settings under which L1 is biased and all others are fair, if nothing else is said."""
    return {"reference": "men", "policy": {"max_gap": 0.2, **policy}}


# --- What the API knows ---------------------------------------------------------------------------


@task(name="sentinel")
def _sentinel() -> None:
    """Leave a mark: task runs reach the API in their order."""


@flow(name="sentinel")
def _leave_a_mark() -> None:
    _sentinel()


def settle() -> None:
    """Wait until the API knows of everything that has happened in this process."""
    mark = uuid4()
    state = _leave_a_mark(return_state=True)
    emit_event("sentinel", resource={"prefect.resource.id": f"sentinel.{mark}"})
    run_id = state.state_details.flow_run_id
    until(lambda: "sentinel" in _names_of(run_id))
    until(lambda: find_events({"resource": {"id": [f"sentinel.{mark}"]}}))


def until(condition: Any, seconds: float = 180) -> Any:
    """Return what `condition` returns once it is true."""
    end, pause = time.monotonic() + seconds, 0.1
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(pause)
        pause = min(1.0, 1.3 * pause)  # every question is work for the server, too
    msg = f"it did not become true within {seconds} seconds"
    raise AssertionError(msg)


def _names_of(*run_ids: UUID) -> dict[str, str]:
    with get_client(sync_client=True) as client:
        runs = client.read_task_runs(flow_run_filter=FlowRunFilter(id={"any_": list(run_ids)}))
    return {run.name.rpartition("-")[0]: run.state_name for run in runs}


def task_states(run_id: UUID) -> dict[str, str]:
    """Return the state of every task of a run, by the task's name."""
    settle()
    return _names_of(run_id)


def events(run_id: UUID) -> list[dict[str, Any]]:
    """Return the gate's events of a run."""
    settle()
    related = {"id": [f"prefect.flow-run.{run_id}"]}
    return find_events({"event": {"prefix": ["mdba.gate."]}, "related": related})


def find_events(wanted: dict[str, Any]) -> list[dict[str, Any]]:
    with get_client(sync_client=True) as client:
        answer = client.request("POST", "/events/filter", json={"filter": wanted}).json()
    found: list[dict[str, Any]] = answer["events"]
    return found


def artifacts(run_id: UUID) -> dict[str, Any]:
    """Return the content of the artifacts of a run, by their keys; the newest of each."""
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(flow_run_filter=FlowRunFilter(id={"any_": [run_id]}))
    found.sort(key=lambda each: each.created)
    return {each.key: each.data for each in found if each.key}


def children(run_id: UUID) -> list[Any]:
    """Return the runs that a run has started inside itself."""
    wanted = FlowRunFilter(parent_flow_run_id={"any_": [run_id]})
    with get_client(sync_client=True) as client:
        return client.read_flow_runs(flow_run_filter=wanted)
