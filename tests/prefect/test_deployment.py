"""As in production: a server, a worker, deployments from prefect.yaml, and events between them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest
import yaml
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter
from prefect.events.schemas.automations import AutomationCore
from prefect.flow_runs import resume_flow_run
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Scheduled

from mdba_checks.outputs import verify
from tests.prefect.api import ROOT, artifacts, config, find_events, make_tables, until

pytestmark = pytest.mark.slow

PREFECT = [sys.executable, "-m", "prefect"]
ANN = {"name": "Ann", "reason": "the pilot needs them"}


class Project:
    """A user's project: a copy of the flows and of prefect.yaml, with tables of its own."""

    def __init__(self, folder: Path, api: str) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PREFECT_API_URL": api,
            "PREFECT_HOME": str(folder / "home"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder}/server.db",
            "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "0.2",
            "PREFECT_SERVER_SERVICES_PAUSE_EXPIRATIONS_LOOP_SECONDS": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PYTHONPATH": str(ROOT),
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def command(self, *words: str) -> None:
        subprocess.run(
            [*PREFECT, "--no-prompt", *words],
            check=True,
            cwd=self.folder,
            env=self.environment,
            timeout=300,
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{words[0]}.log").open("wb") as log:
            process = subprocess.Popen(
                [*PREFECT, *words],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that it can be ended with all that it starts
            )
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait(15)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "flows", folder / "flows", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "prefect.yaml", folder)
    data = folder / "mdba-demo"  # where prefect.yaml looks
    data.mkdir()
    tables = make_tables(data)
    for name in ("labels", "gold"):
        pd.read_parquet(data / f"{name}.parquet").to_csv(data / f"{name}.csv", index=False)
    (data / "mdba.yaml").write_text(yaml.safe_dump(config(max_gap=0.9)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    api = f"http://127.0.0.1:{port}/api"
    made = Project(folder, api)
    made.tables = tables
    try:
        made.start("server", "start", "--port", str(port), "--no-ui")
        with temporary_settings({PREFECT_API_URL: api}):
            until(_healthy, 180)
            made.command("work-pool", "create", "--type", "process", "mdba")
            made.command("deploy", "--all")
            made.start("worker", "start", "--pool", "mdba")
            yield made
    finally:
        made.stop()


def _healthy() -> bool:
    with get_client(sync_client=True) as client:
        return client.api_healthcheck() is None


def start(deployment: str, **parameters: Any) -> UUID:
    with get_client(sync_client=True) as client:
        found = client.read_deployment_by_name(deployment)
        return client.create_flow_run_from_deployment(found.id, parameters=parameters).id


def state_of(run_id: UUID) -> Any:
    with get_client(sync_client=True) as client:
        return client.read_flow_run(run_id).state


def final(run_id: UUID, seconds: float = 120) -> Any:
    return until(lambda: (s := state_of(run_id)).is_final() and s, seconds)


def suspended(run_id: UUID, *, after: Any = None) -> Any:
    """Return the state in which a run waits for a person, another one than `after`."""

    def look() -> Any:
        state = state_of(run_id)
        assert not state.is_final(), state.message
        return state if state.name == "Suspended" and state.id != after else None

    return until(look, 120)


def task_names(run_id: UUID) -> set[str]:
    with get_client(sync_client=True) as client:
        runs = client.read_task_runs(flow_run_filter=FlowRunFilter(id={"any_": [run_id]}))
    return {run.name.rpartition("-")[0] for run in runs}


def training_runs() -> list[Any]:
    with get_client(sync_client=True) as client:
        return client.read_flow_runs(
            deployment_filter=DeploymentFilter(name={"any_": ["gated-training"]})
        )


def gate_events(run_id: UUID) -> list[str]:
    related = {"id": [f"prefect.flow-run.{run_id}"]}
    found = find_events({"event": {"prefix": ["mdba.gate."]}, "related": related})
    return [event["event"] for event in found]


def test_the_event_of_a_passed_gate_starts_training_on_what_it_released(project):
    run_id = start("label-bias-gate/label-bias-gate")
    assert final(run_id).name == "Passed"
    released = project.folder / "mdba-demo" / "released.parquet"
    assert verify(released).ok
    (training,) = until(training_runs)
    assert training.parameters["released"] == str(released)
    assert final(training.id).name == "Trained"
    assert "train model" in task_names(training.id)
    # A run that is started again says nothing new, and starts nothing.
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run_id, Scheduled(name="AwaitingRetry"), force=True)
    until(lambda: not state_of(run_id).is_final())
    assert final(run_id).name == "Passed"
    with get_client(sync_client=True) as client:
        assert client.read_flow_run(run_id).run_count == 2
    assert gate_events(run_id) == ["mdba.gate.passed"]
    assert len(training_runs()) == 1


def test_the_automations_are_taken_and_a_blocked_gate_sets_one_off(project):
    made = {}
    for name in ("blocked", "stuck"):
        values = yaml.safe_load((project.folder / f"flows/automations/{name}.yaml").read_text())
        assert [action["type"] for action in values["actions"]] == ["send-notification"]
        # Without a notification block on this server, what it does is left out.
        automation = AutomationCore.model_validate({**values, "actions": [{"type": "do-nothing"}]})
        with get_client(sync_client=True) as client:
            made[name] = client.request(
                "POST", "/automations/", json=automation.model_dump(mode="json")
            ).json()["id"]
    # In a process of its own: one that sent events before may still be connected to another server.
    subprocess.run(
        [sys.executable, "-c", ANNOUNCED],
        check=True,
        cwd=project.folder,
        env=project.environment,
        timeout=120,
    )
    until(lambda: _triggered(made["blocked"]))
    assert not _triggered(made["stuck"])


ANNOUNCED = """\
from mdba_checks.prefect import announce

announce.fn("blocked", "1" * 32, {"outcome": "blocked", "message": "1 labeler is biased"})
"""


def _triggered(automation: str) -> list[Any]:
    resource = {"id": [f"prefect.automation.{automation}"]}
    return find_events({"event": {"name": ["prefect.automation.triggered"]}, "resource": resource})


def test_a_suspended_run_goes_on_when_a_person_releases_the_data_it_saw(project):
    before = len(training_runs())
    labels = project.folder / "changing.parquet"
    frame = pd.read_parquet(project.tables.labels)
    frame.to_parquet(labels)
    out = project.folder / "approved.parquet"
    settings = config(on_block="approve", approval_timeout=300)
    run_id = start(
        "label-bias-gate/label-bias-gate", labels=str(labels), config=settings, output=str(out)
    )
    first = suspended(run_id)
    assert "for 5 minutes from now" in artifacts(run_id)["mdba-verdict-changing"]
    # The labels change while the person looks at the verdict about the old ones.
    frame.iloc[:-100].to_parquet(labels)
    resume_flow_run(run_id, run_input={"decision": "release", **ANN})
    suspended(run_id, after=first.id)
    assert not out.exists()
    # Asked again, the person decides about the new ones.
    resume_flow_run(run_id, run_input={"decision": "release", **ANN})
    assert final(run_id).name == "Annotated"
    assert len(pd.read_parquet(out)) == len(frame) - 100
    assert "**release**, by Ann" in artifacts(run_id)["mdba-verdict-changing"]
    record = json.loads(Path(f"{out}.mdba.json").read_text())
    assert record["approval"]["name"] == "Ann"
    assert until(lambda: gate_events(run_id)) == ["mdba.gate.annotated"]
    until(lambda: len(training_runs()) == before + 1)
    assert [each.parameters["target"] for each in training_runs()].count("corrected") == 1


def test_a_suspended_run_that_nobody_decides_fails(project):
    before = len(training_runs())
    settings = config(on_block="approve", approval_timeout=3)
    out = project.folder / "forgotten.parquet"
    run_id = start("label-bias-gate/label-bias-gate", config=settings, output=str(out))
    state = final(run_id)
    assert (state.type.value, state.name) == ("FAILED", "Failed")
    assert "never resumed" in state.message
    assert not out.exists()
    assert len(training_runs()) == before


def test_training_does_not_start_when_the_process_of_the_run_is_lost(project):
    # Large enough that the process can be killed while it estimates.
    folder = project.folder / "large"
    folder.mkdir()
    tables = make_tables(folder, n_items=30_000)
    run_id = start(
        "gated-training/gated-training",
        labels=tables.labels,
        gold=tables.gold,
        config=config(max_gap=0.9),
        output=str(folder / "released.parquet"),
    )

    def estimating() -> Any:
        with get_client(sync_client=True) as client:
            wanted = FlowRunFilter(parent_flow_run_id={"any_": [run_id]})
            for gate in client.read_flow_runs(flow_run_filter=wanted):
                if "fingerprint tables" in task_names(gate.id):
                    return gate
        return None

    until(estimating, 120)
    os.kill(_process_of(run_id), signal.SIGKILL)
    state = final(run_id)
    assert state.type.value == "CRASHED"
    assert "train model" not in task_names(run_id)
    assert not (folder / "released.parquet").exists()


def _process_of(run_id: UUID) -> int:
    with get_client(sync_client=True) as client:
        return int(client.read_flow_run(run_id).infrastructure_pid.rpartition(":")[2])
