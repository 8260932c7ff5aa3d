"""The gate as a flow, against a real server: how it ends, and what it leaves behind."""

from __future__ import annotations

import json
import time

import pandas as pd
import pytest
from prefect import flow
from prefect.exceptions import FailedRun

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.outputs import verify
from mdba_checks.prefect import label_bias_gate
from mdba_checks.report import in_a_row
from mdba_checks.simulation import simulate
from tests.helpers import write_annotated
from tests.prefect.api import artifacts, config, events, make_tables, task_states

pytestmark = pytest.mark.usefixtures("server")


def run(tables, settings, output=None, **options):
    state = label_bias_gate(
        tables.labels, tables.gold, settings, output, return_state=True, **options
    )
    return state, state.state_details.flow_run_id


class TestEachPolicyEndsInItsState:
    def test_labels_within_the_tolerated_gap_pass(self, tables, tmp_path):
        state, run_id = run(tables, config(max_gap=0.9), str(tmp_path / "out.parquet"))
        assert (state.type.value, state.name) == ("COMPLETED", "Passed")
        assert "all 4 comparisons are within ±0.9" in state.message
        result = state.result()
        assert verify(result["released"]).ok
        (event,) = events(run_id)
        assert event["event"] == "mdba.gate.passed"
        assert event["payload"]["released"] == result["released"]

    def test_a_biased_labeler_blocks(self, tables, tmp_path):
        findings = tmp_path / "findings.csv"
        state, run_id = run(tables, config(), str(tmp_path / "out.parquet"), findings=str(findings))
        assert (state.type.value, state.name) == ("FAILED", "Blocked")
        assert "1 labeler biased beyond ±0.2: L1" in state.message
        assert list(tmp_path.iterdir()) == [findings]
        found = pd.read_csv(findings)
        assert found.loc[found["finding"] == "biased", "name"].tolist() == ["L1"]
        assert [event["event"] for event in events(run_id)] == ["mdba.gate.blocked"]

    def test_a_later_block_marks_the_release_before_it(self, tables, tmp_path):
        out = str(tmp_path / "out.parquet")
        assert run(tables, config(max_gap=0.9), out)[0].name == "Passed"
        assert verify(out).ok
        state, _ = run(tables, config(), out, force=True)
        assert state.name == "Blocked"
        assert "superseded" in verify(out).reason

    def test_annotate_lets_all_rows_through_with_their_findings(self, tables, tmp_path):
        state, run_id = run(tables, config(mode="annotate"), str(tmp_path / "out.parquet"))
        assert (state.type.value, state.name) == ("COMPLETED", "Annotated")
        out = pd.read_parquet(tmp_path / "out.parquet")
        assert len(out) == len(pd.read_parquet(tables.labels))
        assert set(out.loc[out["labeler"] == "L1", "mdba_finding"]) == {"biased"}
        assert [event["event"] for event in events(run_id)] == ["mdba.gate.annotated"]

    def test_quarantine_keeps_all_rows_but_those_of_the_biased(self, tables, tmp_path):
        state, run_id = run(tables, config(mode="quarantine"), str(tmp_path / "out.parquet"))
        assert (state.type.value, state.name) == ("COMPLETED", "Quarantined")
        labels = pd.read_parquet(tables.labels)
        kept = pd.read_parquet(tmp_path / "out.parquet")
        assert sorted(kept["labeler"].unique()) == ["L2", "L3", "L4"]
        removed = pd.read_parquet(state.result()["removed"])
        assert len(kept) + len(removed) == len(labels)
        assert [event["event"] for event in events(run_id)] == ["mdba.gate.quarantined"]

    def test_what_cannot_be_decided_has_a_state_and_an_event_of_its_own(
        self, tables, undecided_at, tmp_path
    ):
        settings = config(max_gap=undecided_at, margin=0)
        state, run_id = run(tables, settings, str(tmp_path / "out.parquet"))
        assert (state.type.value, state.name) == ("FAILED", "Undecided")
        assert "undecided" in state.message
        assert [event["event"] for event in events(run_id)] == ["mdba.gate.undecided"]

    def test_doubt_that_the_policy_accepts_passes(self, tables, undecided_at):
        state, _ = run(tables, config(max_gap=undecided_at, margin=0, on_inconclusive="pass"))
        assert state.name == "Passed"

    def test_a_rest_of_nobody_is_undecided_and_not_written(self, tmp_path):
        # Every labeler is biased: without them nothing is left.
        made = simulate(n_items=3_000, n_labelers=2, tprs=[0.5, 0.5], seed=3)
        made.labels.to_parquet(tmp_path / "labels.parquet")
        made.gold.to_parquet(tmp_path / "gold.parquet")
        out = tmp_path / "out.parquet"
        state = label_bias_gate(
            str(tmp_path / "labels.parquet"),
            str(tmp_path / "gold.parquet"),
            config(mode="quarantine"),
            str(out),
            return_state=True,
        )
        assert (state.type.value, state.name) == ("FAILED", "Undecided")
        assert "nothing is left" in state.message
        assert not out.exists()
        page = artifacts(state.state_details.flow_run_id)["mdba-verdict-labels"]
        assert page.startswith("# Undecided: ")
        assert "nothing is left" in page

    def test_buckets_on_dask_end_in_the_same_state(self, tables, tmp_path):
        pytest.importorskip("distributed", reason="needs mdba-checks[dask]")
        settings = {**config(), "seed": 77, "jobs": 2}  # not in the cache
        state, run_id = run(tables, settings, str(tmp_path / "out.parquet"), engine="dask")
        assert (state.type.value, state.name) == ("FAILED", "Blocked")
        assert "1 labeler biased beyond ±0.2: L1" in state.message
        assert task_states(run_id)["assess labels"] == "Completed"

    def test_a_cluster_without_an_engine_to_use_it_is_refused(self, tables):
        state, run_id = run(tables, config(), cluster="tcp://host:8786")
        assert (state.type.value, state.name) == ("FAILED", "Failed")
        assert "engine is 'local': say dask or spark" in state.message
        assert task_states(run_id) == {}

    def test_called_as_a_function_a_block_raises(self, tables):
        with pytest.raises(FailedRun, match="biased beyond"):
            label_bias_gate(tables.labels, tables.gold, config())


class TestWhatGoesWrongIsNeverAVerdict:
    def test_a_missing_file_fails_in_one_line(self, tables):
        state = label_bias_gate("nowhere.csv", tables.gold, config(), return_state=True)
        assert (state.type.value, state.name) == ("FAILED", "Failed")
        assert "no such file: 'nowhere.csv'" in state.message
        assert events(state.state_details.flow_run_id) == []

    def test_a_misspelt_threshold_stops_before_anything_is_read(self, tables):
        state, run_id = run(tables, {"policy": {"max_gp": 0.5}})
        assert "Did you mean 'max_gap'?" in state.message
        assert task_states(run_id) == {}

    def test_approval_without_an_output_is_refused(self, tables):
        state, _ = run(tables, config(on_block="approve"))
        assert "give an output" in state.message

    def test_another_file_in_the_place_of_the_output_is_not_replaced(self, tables, tmp_path):
        other = tmp_path / "out.parquet"
        pd.DataFrame({"mine": [1]}).to_parquet(other)
        state, _ = run(tables, config(max_gap=0.9), str(other))
        assert state.is_failed()
        assert "it exists" in state.message
        assert list(pd.read_parquet(other).columns) == ["mine"]
        state, _ = run(tables, config(max_gap=0.9), str(other), force=True)
        assert state.name == "Passed"


class TestWhatPeopleSee:
    def test_the_verdict_comes_with_plot_reasons_and_hashes(self, tables):
        _, run_id = run(tables, config())
        found = artifacts(run_id)
        page = found["mdba-verdict-labels"]
        assert page.startswith("# Blocked: 1 of 4 labelers treats women and men differently")
        assert "(data:image/png;base64," in page
        labels_hash = assess(
            tables.labels, tables.gold, CheckConfig(reference="men")
        ).data.labels_hash
        assert labels_hash in page

    def test_the_table_has_the_worst_labeler_first(self, tables):
        _, run_id = run(tables, config())
        rows = json.loads(artifacts(run_id)["mdba-labelers-labels"])
        assert rows[0]["labeler"] == "L1"
        assert len(rows) == 4

    def test_open_cases_come_with_a_plan(self, tables, undecided_at):
        _, run_id = run(tables, config(max_gap=undecided_at, margin=0))
        assert "What would settle" in artifacts(run_id)["mdba-plan-labels"]


class TestASecondRun:
    def test_takes_the_assessment_from_the_cache(self, tables):
        run(tables, config())
        _, run_id = run(tables, config(max_gap=0.9))  # another policy, the same numbers
        assert task_states(run_id)["assess labels"] == "Cached"

    def test_gives_the_verdict_that_a_fresh_check_gives(self, tables):
        settings = config(max_gap=0.3, min_gold_positives=200)
        state, _ = run(tables, settings)
        fresh = gate(assess(tables.labels, tables.gold, CheckConfig.from_mapping(settings)))
        assert state.message == in_a_row(fresh.reasons)

    def test_sees_that_one_label_was_changed(self, tables, tmp_path):
        labels = pd.read_parquet(tables.labels)
        labels.loc[0, "label"] = 1 - labels.loc[0, "label"]
        labels.to_parquet(tmp_path / "labels.parquet")
        state = label_bias_gate(
            str(tmp_path / "labels.parquet"), tables.gold, config(), return_state=True
        )
        assert task_states(state.state_details.flow_run_id)["assess labels"] == "Completed"

    def test_finds_its_output_written_and_leaves_it(self, tables, tmp_path):
        out = tmp_path / "out.parquet"
        run(tables, config(max_gap=0.9), str(out))
        before = out.stat().st_mtime_ns
        state, _ = run(tables, config(max_gap=0.9), str(out))
        assert state.name == "Passed"
        assert out.stat().st_mtime_ns == before


def test_a_retried_flow_emits_one_event(tables):
    """The gate has spoken, then something else fails, and the flow begins again."""
    attempts = []

    @flow(retries=1)
    def outer() -> str:
        state = label_bias_gate(tables.labels, tables.gold, config(max_gap=0.9), return_state=True)
        attempts.append(state.state_details.flow_run_id)
        if len(attempts) == 1:
            msg = "something else"
            raise RuntimeError(msg)
        return state.name

    assert outer() == "Passed"
    assert len(attempts) == 2
    found = [event["id"] for run_id in set(attempts) for event in events(run_id)]
    assert len(found) == 1


def test_the_flow_adds_at_most_five_seconds_of_work_to_the_plain_check(tmp_path):
    # Of this process alone: what else the machine does must not count.
    tables = make_tables(tmp_path, n_items=4_100)  # not in the cache

    def plain() -> float:
        begin = time.process_time()
        assessment = assess(tables.labels, tables.gold, CheckConfig(reference="men"))
        write_annotated(tables.labels, assessment, gate(assessment), tmp_path / "plain.parquet")
        return time.process_time() - begin

    alone = plain()
    begin = time.process_time()
    state, _ = run(tables, config(mode="annotate"), str(tmp_path / "out.parquet"))
    whole = time.process_time() - begin
    assert state.name == "Annotated"
    assert whole - alone <= 5
