"""A Prefect worker that is lost with everything it has started, as when its machine is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from mdba_checks.outputs import verify
from mdba_checks.simulation import simulate
from tests.reliability.faults.bench import Trial
from tests.reliability.load import kill_all, project, until

CONFIG = {"reference": "men", "jobs": 1, "policy": {"max_gap": 0.9, "on_inconclusive": "pass"}}


def worker_killed(folder: Path, runs: int) -> Iterator[Trial]:
    """Kill the worker and its runs at a random moment of a run that would train."""
    from prefect.client.orchestration import get_client

    dice, inputs = np.random.default_rng(0), folder / "in"
    inputs.mkdir()
    made = simulate(n_items=20_000, n_labelers=4, tprs=[0.5, 0.94, 0.95, 0.93], seed=1)
    made.labels.to_csv(inputs / "labels.csv", index=False)
    made.gold.to_csv(inputs / "gold.csv", index=False)
    before = {each: each.read_bytes() for each in inputs.iterdir()}
    place = folder / "project"
    place.mkdir()
    with project(place) as server, get_client(sync_client=True) as client:
        deployed = client.read_deployment_by_name("gated-training/gated-training")
        usual = 0.0
        for run in range(-1, runs):  # the first one is not disturbed
            out = folder / f"run{run}" / "released.parquet"
            out.parent.mkdir()
            worker = server.start("worker", "start", "--pool", "mdba")
            parameters = {
                "labels": str(inputs / "labels.csv"),
                "gold": str(inputs / "gold.csv"),
                "config": {**CONFIG, "seed": run + 1},  # nothing of it is in a cache
                "output": str(out),
            }
            number = client.create_flow_run_from_deployment(deployed.id, parameters=parameters).id
            until(lambda number=number: _state(client, number) == "RUNNING", 180)
            began = time.perf_counter()
            if run < 0:
                until(lambda number=number: _state(client, number) == "COMPLETED", 300)
                usual = time.perf_counter() - began
            else:
                time.sleep(float(dice.uniform(0, usual)))
            kill_all(worker)
            if run >= 0:
                time.sleep(3)  # whatever still lives would go on now
                lost = "" if {each: each.read_bytes() for each in before} == before else "an input"
                yield _judged(client, number, out, lost)
            client.delete_flow_run(number)


def _judged(client: Any, number: UUID, out: Path, lost: str) -> Trial:
    from prefect.client.schemas.filters import FlowRunFilter

    inside = client.read_flow_runs(
        flow_run_filter=FlowRunFilter(parent_flow_run_id={"any_": [number]})
    )
    passed = any(each.state and each.state.is_completed() for each in inside)
    wanted = FlowRunFilter(id={"any_": [number]})
    tasks = {each.name.rpartition("-")[0] for each in client.read_task_runs(flow_run_filter=wanted)}
    trained = "train model" in tasks or list(out.parent.glob("*.model*"))
    if out.exists() and not verify(out).ok:
        lost = f"{out.name} is not what its sidecar describes"
    let_through = "training began before the gate was done" if trained and not passed else ""
    what = "killed behind the gate" if passed else "killed before the gate was done"
    if _state(client, number) == "COMPLETED":
        what = "finished"
    return Trial(what, lost, let_through)


def _state(client: Any, number: UUID) -> str:
    state = client.read_flow_run(number).state
    return state.type.value if state else ""
