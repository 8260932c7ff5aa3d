"""A person decides about labels that the policy stops: in a script, the run waits where it is."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from uuid import UUID

import pandas as pd
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.flow_runs import resume_flow_run

from mdba_checks.prefect import gated_training, label_bias_gate
from tests.prefect.api import artifacts, config, events, task_states, until

pytestmark = pytest.mark.usefixtures("server")

ANN = {"name": "Ann", "reason": "the pilot needs them"}


def waiting() -> UUID:
    """Return the run that waits for a person."""
    wanted = FlowRunFilter(state={"type": {"any_": ["PAUSED"]}})

    def find():
        with get_client(sync_client=True) as client:
            found = client.read_flow_runs(flow_run_filter=wanted)
        return found[0].id if found else None

    return until(find)


@contextmanager
def started(flow, *arguments):
    """Run a flow while the test goes on; yields what gives its final state."""
    inherited = copy_context()  # the settings that lead to the server are in it
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(inherited.run, lambda: flow(*arguments, return_state=True))
        yield lambda: future.result(120)


def approve(settings, tables, folder, decision):
    out = folder / "out.parquet"
    with started(label_bias_gate, tables.labels, tables.gold, settings, str(out)) as finished:
        run_id = waiting()
        page = artifacts(run_id)["mdba-verdict-labels"]
        resume_flow_run(run_id, run_input={"decision": decision, **ANN})
        return finished(), run_id, out, page


class TestAPersonDecides:
    def test_release_lets_all_rows_through_and_is_recorded(self, tables, tmp_path):
        state, run_id, out, before = approve(
            config(on_block="approve", approval_timeout=120), tables, tmp_path, "release"
        )
        assert (state.type.value, state.name) == ("COMPLETED", "Annotated")
        assert state.message.startswith("release by Ann, ")
        assert "for 2 minutes from now" in before
        page = artifacts(run_id)["mdba-verdict-labels"]
        assert "**release**, by Ann: the pilot needs them" in page
        assert "from now" not in page
        record = json.loads((tmp_path / "out.parquet.mdba.json").read_text())
        assert "release by Ann" in record["reasons"][0]
        assert "the verdict was block" in record["reasons"][0]
        # What a person released never looks like a pass.
        assert record["verdict"] == "annotate"
        said = {key: record["approval"][key] for key in ("decision", "name", "reason", "verdict")}
        assert said == {"decision": "release", **ANN, "verdict": "block"}
        assert len(pd.read_parquet(out)) == len(pd.read_parquet(tables.labels))
        (event,) = events(run_id)
        assert event["event"] == "mdba.gate.annotated"
        assert event["payload"]["approval"]["name"] == "Ann"

    def test_quarantine_removes_the_biased_labeler(self, tables, tmp_path):
        state, _, out, _ = approve(
            config(on_block="approve", approval_timeout=120), tables, tmp_path, "quarantine"
        )
        assert state.name == "Quarantined"
        assert sorted(pd.read_parquet(out)["labeler"].unique()) == ["L2", "L3", "L4"]

    def test_block_blocks(self, tables, tmp_path):
        state, run_id, out, _ = approve(
            config(on_block="approve", approval_timeout=120), tables, tmp_path, "block"
        )
        assert (state.type.value, state.name) == ("FAILED", "Blocked")
        assert state.message.startswith("block by Ann")
        assert not out.exists()
        assert "**block**, by Ann" in artifacts(run_id)["mdba-verdict-labels"]

    def test_an_answer_without_name_or_reason_is_not_taken(self, tables, tmp_path):
        settings = config(on_block="approve", approval_timeout=120)
        out = str(tmp_path / "out.parquet")
        with started(label_bias_gate, tables.labels, tables.gold, settings, out) as finished:
            run_id = waiting()
            for answer in (
                {"decision": "release"},
                {"decision": "release", "name": " ", "reason": "x"},
                {"decision": "let it through", **ANN},
            ):
                with pytest.raises(RuntimeError, match="Cannot resume"):
                    resume_flow_run(run_id, run_input=answer)
            resume_flow_run(run_id, run_input={"decision": "block", **ANN})
            assert finished().name == "Blocked"

    def test_nobody_in_time_means_blocked(self, tables, tmp_path):
        state = label_bias_gate(
            tables.labels,
            tables.gold,
            config(on_block="approve", approval_timeout=2),
            str(tmp_path / "out.parquet"),
            return_state=True,
        )
        assert (state.type.value, state.name) == ("FAILED", "Blocked")
        assert state.message.startswith("nobody decided within 2 seconds.")
        assert not list(tmp_path.iterdir())
        run_id = state.state_details.flow_run_id
        with get_client(sync_client=True) as client:
            assert client.read_flow_run(run_id).state_name == "Blocked"
        assert [event["event"] for event in events(run_id)] == ["mdba.gate.blocked"]

    def test_training_waits_for_the_person_too(self, tables, tmp_path):
        settings = config(on_block="approve", approval_timeout=120)
        out = str(tmp_path / "out.parquet")
        with started(gated_training, tables.labels, tables.gold, settings, out) as finished:
            gate = waiting()
            resume_flow_run(gate, run_input={"decision": "block", **ANN})
            state = finished()
        assert state.name == "Blocked"
        assert "train model" not in task_states(state.state_details.flow_run_id)
