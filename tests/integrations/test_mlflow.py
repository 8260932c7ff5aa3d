"""The run that trains carries the verdict, with a real MLflow and its own store."""

from __future__ import annotations

import json
from pathlib import Path

import mlflow
import pandas as pd
import pytest

from mdba_checks import Blocked, CheckConfig, assess, gate, release
from mdba_checks.errors import InputError
from mdba_checks.integrations import mlflow_release


@pytest.fixture(autouse=True)
def _store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    mlflow.set_experiment("labels")


def finished(run: mlflow.ActiveRun) -> mlflow.entities.Run:
    return mlflow.get_run(run.info.run_id)


def test_rows_that_pass_are_those_of_release_and_the_run_says_so(fair):
    with mlflow.start_run() as run:
        released = mlflow_release(fair.labels, fair.gold, fair.config)
    alone = release(fair.labels, fair.gold, CheckConfig.from_yaml(fair.config))
    pd.testing.assert_frame_equal(released.table, alone.table)
    data = finished(run).data
    assert data.tags["mdba.verdict"] == alone.decision.verdict == "pass"
    assert data.tags["mdba.labels_hash"] == alone.record.data.labels_hash
    assert data.metrics["mdba.labelers_biased"] == 0


def test_a_stop_is_logged_with_its_numbers_and_no_rows_are_returned(biased):
    with mlflow.start_run() as run, pytest.raises(Blocked, match="L1"):
        mlflow_release(biased.labels, biased.gold, biased.config)
    data = finished(run).data
    assessment = assess(biased.labels, biased.gold, CheckConfig.from_yaml(biased.config))
    assert data.tags["mdba.verdict"] == gate(assessment).verdict == "block"
    assert data.metrics["mdba.largest_gap"] == assessment.gaps["gap"].abs().max()
    assert data.metrics["mdba.overall_gap"] == assessment.overall["gap"].abs().max()
    assert data.metrics["mdba.labelers_biased"] == 1


def test_record_and_report_are_artifacts_of_the_run(partly, tmp_path):
    with mlflow.start_run() as run:
        released = mlflow_release(partly.labels, partly.gold, partly.config)
    assert sorted(released.table["labeler"].unique()) == ["L2", "L3"]
    folder = Path(
        mlflow.artifacts.download_artifacts(
            run_id=run.info.run_id, artifact_path="mdba", dst_path=str(tmp_path)
        )
    )
    record = json.loads((folder / "record.json").read_text())
    assert record["verdict"] == "quarantine"
    assert [row["labeler"] for row in record["gaps"] if row["finding"] == "biased"] == ["L1"]
    assert "QUARANTINE" in (folder / "report.html").read_text(encoding="utf-8").upper()


def test_without_a_run_nothing_is_checked_and_no_run_is_made(fair):
    with pytest.raises(InputError, match="no MLflow run is active"):
        mlflow_release(fair.labels, fair.gold, fair.config)
    assert len(mlflow.search_runs()) == 0


def test_a_check_that_fails_leaves_a_run_that_does_not_say_pass(fair):
    with mlflow.start_run() as run, pytest.raises(InputError, match="no such file"):
        mlflow_release("nowhere.csv", fair.gold, fair.config)
    assert finished(run).data.tags["mdba.verdict"] == "unknown"
