"""What a server learns of a run: states, logs, artifacts, events and results hold no password."""

from __future__ import annotations

import inspect
import json
import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, LogFilter
from prefect.settings import PREFECT_LOCAL_STORAGE_PATH

from mdba_checks.prefect import gated_training, label_bias_gate, validate_rules
from tests.prefect import api

pytestmark = pytest.mark.usefixtures("server")

SECRET = "31337.25"  # noqa: S105  of a kind that SQLite takes: how long to wait for a lock
WRONG = f"postgresql+nodriver://ann:{SECRET}@localhost/db::labels"


def known(state: Any) -> str:
    """Return all that the server and the storage of results know of a run but its parameters."""
    api.settle()
    run_id = state.state_details.flow_run_id
    of_run = FlowRunFilter(id={"any_": [run_id]})
    with get_client(sync_client=True) as client:
        runs = client.read_task_runs(flow_run_filter=of_run)
        logs = client.read_logs(LogFilter(flow_run_id={"any_": [run_id]}), limit=200)
        states = [client.read_flow_run(run_id).state, *(run.state for run in runs)]
    storage = Path(PREFECT_LOCAL_STORAGE_PATH.value())
    results = [path.read_bytes().decode("latin-1") for path in storage.rglob("*") if path.is_file()]
    told = [each.model_dump_json() for each in states if each is not None]
    told += [log.message for log in logs]
    return "\n".join([*told, json.dumps(api.artifacts(run_id)), str(api.events(run_id)), *results])


@pytest.fixture
def database(tables, tmp_path) -> str:
    with sqlite3.connect(tmp_path / "jobs.db") as connection:
        for name in ("labels", "gold"):
            frame = pd.read_parquet(getattr(tables, name))
            frame.to_sql(name, connection, index=False)
    return f"sqlite:///{tmp_path}/jobs.db?timeout={SECRET}"


def test_a_gate_on_a_database_leaves_it_nowhere(database, tmp_path):
    given = (f"{database}::labels", f"{database}::gold", api.config(mode="quarantine"))
    out = tmp_path / "out.parquet"
    state = label_bias_gate(*given, str(out), return_state=True)
    assert state.name == "Quarantined"
    said = known(state)
    assert "jobs.db" in said
    assert SECRET not in said
    assert SECRET.encode() not in out.read_bytes()
    assert SECRET not in Path(f"{out}.mdba.json").read_text()


# Every parameter of a flow that may name a table or a file; the others are switches and names.
NOT_NAMES = {"force", "target", "fail_on", "engine"}
PLACES = [
    (run, place)
    for run in (label_bias_gate, gated_training)
    for place in inspect.signature(run.fn).parameters
    if place not in NOT_NAMES
]


@pytest.mark.parametrize(("run", "place"), PLACES, ids=lambda each: getattr(each, "name", each))
def test_a_run_that_fails_does_not_say_it(run, place, tables, tmp_path):
    given: dict[str, Any] = {
        "labels": tables.labels,
        "gold": tables.gold,
        "config": api.config(),
        "output": str(tmp_path / "out.csv"),
        place: WRONG,
    }
    state = run(**given, return_state=True)
    assert state.is_failed()
    assert SECRET not in f"{state.message} {known(state)}"


def test_rules_that_cannot_be_checked_do_not_say_it(tables):
    @flow
    def nightly(gold: str) -> None:
        validate_rules(tables.labels, suite="expectations/label_bias.json", gold=gold)

    state = nightly(WRONG, return_state=True)
    assert state.is_failed()
    assert SECRET not in f"{state.message} {known(state)}"
