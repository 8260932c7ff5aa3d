"""Training behind the gate: the API knows of no training task after anything but a release."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import xgboost
from prefect import flow

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import decide_release, sidecar_path, write_release
from mdba_checks.prefect import gated_training, train_model
from tests.helpers import write_annotated
from tests.prefect.api import Tables, artifacts, children, config, task_states

pytestmark = pytest.mark.usefixtures("server")


def run(tables, settings, folder, **options):
    state = gated_training(
        tables.labels,
        options.pop("gold", tables.gold),
        settings,
        str(folder / "released.parquet"),
        return_state=True,
        **options,
    )
    return state, state.state_details.flow_run_id


def training_ran(run_id) -> bool:
    return "train model" in task_states(run_id)


class TestTrainingRuns:
    def test_on_what_passed_and_judges_the_model_by_group(self, tables, tmp_path):
        state, run_id = run(tables, config(max_gap=0.9), tmp_path)
        assert (state.type.value, state.name) == ("COMPLETED", "Trained")
        assert task_states(run_id)["train model"] == "Completed"
        rates = {rate["group"]: rate for rate in state.result()["rates"]}
        assert set(rates) == {"men", "women"}
        # 400 gold items per group, of which one in five is positive.
        assert rates["men"]["n_gold"] == 400
        assert rates["men"]["tpr"] > 0.5 > rates["men"]["fpr"]
        assert "| women |" in artifacts(run_id)["mdba-training-released"]
        assert xgboost.Booster(model_file=state.result()["model"]).num_features() > 0

    def test_on_corrected_labels_where_they_were_annotated(self, tables, tmp_path):
        raw, _ = run(tables, config(max_gap=0.9), tmp_path)
        corrected, _ = run(
            tables,
            config(mode="annotate"),
            tmp_path,
            target="corrected",
            force=True,
            model=str(tmp_path / "corrected.json"),
        )
        gap = {
            name: {rate["group"]: rate["tpr"] for rate in state.result()["rates"]}
            for name, state in (("raw", raw), ("corrected", corrected))
        }
        # L1 misses half of the suitable women; who trains on that misses more of them.
        assert gap["corrected"]["women"] >= gap["raw"]["women"]

    def test_and_says_how_far_the_model_itself_is_from_fair(self, tables, tmp_path):
        state, run_id = run(tables, config(max_gap=0.9), tmp_path)
        (gap,) = state.result()["gaps"]
        rates = {rate["group"]: rate["tpr"] for rate in state.result()["rates"]}
        assert gap["gap"] == pytest.approx(rates["women"] - rates["men"])
        assert gap["ci_low"] < gap["gap"] < gap["ci_high"]
        assert gap["finding"] == "fair"  # any gap is within ±0.9
        assert "the model: tpr of women compared with men: gap" in state.message
        assert "| women | men |" in artifacts(run_id)["mdba-training-released"]

    def test_on_the_rest_after_a_quarantine(self, tables, tmp_path):
        state, run_id = run(tables, config(mode="quarantine"), tmp_path)
        assert state.name == "Trained"
        assert [child.state_name for child in children(run_id)] == ["Quarantined"]

    def test_again_after_a_failure_of_its_own(self, tables, tmp_path):
        folder = tmp_path / "models"
        calls = []

        @flow(retries=1)
        def outer():
            calls.append(1)
            if len(calls) == 2:
                folder.mkdir()
            return gated_training(
                tables.labels,
                tables.gold,
                config(max_gap=0.9),
                str(tmp_path / "released.parquet"),
                model=str(folder / "model.ubj"),
            )

        assert outer()["model"].endswith("model.ubj")


class TestTheModelsOwnGap:
    """A model that never says yes to women: its gap is that of the reference's rate."""

    @pytest.fixture
    def one_sided(self, tmp_path) -> Tables:
        from mdba_checks.simulation import simulate

        made = simulate(n_items=4_000, n_labelers=2, tprs=[0.94, 0.94], seed=1)
        labels = made.labels.assign(
            label=made.labels["label"].where(made.labels["group"] == "men", 0)
        )
        labels.to_parquet(tmp_path / "labels.parquet")
        made.gold.to_parquet(tmp_path / "gold.parquet")
        return Tables(tmp_path)

    @pytest.mark.parametrize(
        ("fail_on", "name"),
        [("nothing", "Trained"), ("biased", "ModelBiased"), ("undecided", "ModelBiased")],
    )
    def test_can_fail_the_run(self, one_sided, tmp_path, fail_on, name):
        settings = {"reference": "men", "policy": {"mode": "annotate", "on_block": "fail"}}
        assessment = assess(one_sided.labels, one_sided.gold, CheckConfig.from_mapping(settings))
        approval = {"decision": "release", "name": "Kim", "reason": "a test", "decided_at": "now"}
        found = decide_release(one_sided.labels, one_sided.gold, assessment, approval=approval)
        path = tmp_path / "released.parquet"
        write_release(one_sided.labels, found, path)
        state, _ = train_on(path, one_sided, fail_on=fail_on)
        assert state.name == name
        assert state.is_failed() == (name != "Trained")
        assert "biased at ±0.1" in state.message


class TestTrainingDoesNotRun:
    def test_on_raw_labels_that_were_annotated(self, tables, tmp_path):
        state, run_id = run(tables, config(mode="annotate"), tmp_path)
        assert state.is_failed()
        assert "raw labels of biased labelers must not be trained on" in state.message
        assert not (tmp_path / "released.parquet.model.ubj").exists()
        assert task_states(run_id)["train model"] == "Failed"

    def test_after_a_block(self, tables, tmp_path):
        state, run_id = run(tables, config(), tmp_path)
        assert (state.type.value, state.name) == ("FAILED", "Blocked")
        assert "biased" in state.message
        assert not training_ran(run_id)

    def test_after_an_inconclusive_verdict(self, tables, undecided_at, tmp_path):
        state, run_id = run(tables, config(max_gap=undecided_at, margin=0), tmp_path)
        assert (state.type.value, state.name) == ("FAILED", "Undecided")
        assert not training_ran(run_id)

    def test_when_an_estimate_is_nan(self, tables, tmp_path):
        # L4 has seen no women: there is no rate, and no gap. Any number would be within ±1.
        labels = pd.read_parquet(tables.labels)
        labels = labels[(labels["labeler"] != "L4") | (labels["group"] == "men")]
        labels.to_parquet(tmp_path / "labels.parquet")
        gold = pd.read_parquet(tables.gold)
        settings = CheckConfig.from_mapping(config(max_gap=1.0))
        assert assess(labels, gold, settings).gaps["gap"].isna().sum() == 1
        state, run_id = run(Tables(tmp_path), config(max_gap=1.0), tmp_path, gold=tables.gold)
        assert (state.type.value, state.name) == ("FAILED", "Undecided")
        assert "1 labeler undecided" in state.message
        assert not training_ran(run_id)

    def test_after_a_crash_in_a_task_of_the_gate(self, tables, tmp_path):
        (tmp_path / "gold.parquet").write_bytes(b"PAR1 and then nothing")
        state, run_id = run(
            tables, config(max_gap=0.9), tmp_path, gold=str(tmp_path / "gold.parquet")
        )
        assert (state.type.value, state.name) == ("FAILED", "Failed")
        assert not training_ran(run_id)
        (gate,) = children(run_id)
        assert task_states(gate.id) == {"fingerprint tables": "Failed"}

    def test_when_the_output_cannot_be_written(self, tables, tmp_path):
        state = gated_training(
            tables.labels,
            tables.gold,
            config(max_gap=0.9),
            str(tmp_path / "no-such-folder" / "released.parquet"),
            return_state=True,
        )
        assert state.is_failed()
        assert not training_ran(state.state_details.flow_run_id)


@pytest.fixture
def released(tables, tmp_path) -> Path:
    assessment = assess(tables.labels, tables.gold, CheckConfig.from_mapping(config(max_gap=0.9)))
    path = tmp_path / "released.parquet"
    write_annotated(tables.labels, assessment, gate(assessment), path)
    return path


def train_on(path, tables, **options):
    state = gated_training(gold=tables.gold, released=str(path), return_state=True, **options)
    return state, state.state_details.flow_run_id


class TestOnlyTheGateReleases:
    def test_what_it_released_is_trained_on(self, released, tables):
        state, _ = train_on(released, tables)
        assert state.name == "Trained"

    def test_another_value_in_one_cell_is_refused(self, released, tables):
        frame = pd.read_parquet(released)
        frame.loc[0, "label"] = 1 - frame.loc[0, "label"]
        frame.to_parquet(released)
        state, run_id = train_on(released, tables)
        assert state.is_failed()
        assert "was not released by the gate as it is" in state.message
        assert task_states(run_id) == {"verify released": "Failed"}

    def test_a_file_without_a_sidecar_is_refused(self, tables):
        state, run_id = train_on(tables.labels, tables)
        assert "there is no labels.parquet.mdba.json beside it" in state.message
        assert not training_ran(run_id)

    def test_a_verdict_rewritten_by_hand_is_refused(self, tables, tmp_path):
        settings = CheckConfig.from_mapping(config())
        assessment = assess(tables.labels, tables.gold, settings)
        path = tmp_path / "annotated.csv"
        write_annotated(tables.labels, assessment, gate(assessment), path)
        record = json.loads(sidecar_path(path).read_text())
        assert record["verdict"] == "annotate"
        sidecar_path(path).write_text(json.dumps({**record, "verdict": "pass"}))
        state, run_id = train_on(path, tables)
        assert state.is_failed()
        assert not training_ran(run_id)

    def test_nothing_released_is_nothing_to_train_on(self, tables):
        state, run_id = train_on("", tables)
        assert "give the gate an output" in state.message
        assert not training_ran(run_id)

    def test_the_training_task_looks_for_itself(self, tables, tmp_path):
        with pytest.raises(InputError, match="was not released"):
            train_model.fn(
                tables.labels, tables.gold, "raw", str(tmp_path / "model.ubj"), force=False
            )
        assert not list(tmp_path.iterdir())
