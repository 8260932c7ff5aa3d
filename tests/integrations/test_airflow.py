"""DAGs with our task and with the operator of Great Expectations, run by the real Airflow."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mdba_checks import read_released

ROOT = Path(__file__).parents[2]
AIRFLOW = Path(sys.executable).with_name("airflow")
RECIPES = (ROOT / "docs" / "other-tools.md").read_text(encoding="utf-8")


def recipe(first_line: str) -> str:
    """Return the code block of the docs page that begins with a line."""
    (found,) = (
        block.partition("\n")[2]
        for block in RECIPES.split("```")[1::2]
        if block.startswith(f"python\n{first_line}\n")
    )
    return found


@pytest.fixture(scope="module")
def airflow(tmp_path_factory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the airflow command in a home of its own."""
    home = tmp_path_factory.mktemp("airflow")
    (home / "dags").mkdir()
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONPATH": str(ROOT),
    }

    def run(
        *said: str, dag: str | None = None, **files: object
    ) -> subprocess.CompletedProcess[str]:
        if dag is not None:
            (home / "dags" / "dag.py").write_text(dag, encoding="utf-8")
        return subprocess.run(
            [str(AIRFLOW), *said],
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
            env={**env, **{name.upper(): str(value) for name, value in files.items()}},
        )

    done = run("db", "migrate")
    assert done.returncode == 0, done.stderr[-2_000:]
    return run


def run_of(airflow, dag: str, name: str, files, folder: Path) -> subprocess.CompletedProcess[str]:
    return airflow(
        "dags",
        "test",
        name,
        dag=dag,
        labels=files.labels,
        gold=files.gold,
        config=files.config,
        output=folder / "released.parquet",
        model=folder / "model",
    )


def test_training_gets_the_rows_that_stay(airflow, partly, tmp_path):
    done = run_of(airflow, recipe("# dags/gated_training.py"), "gated_training", partly, tmp_path)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    assert (tmp_path / "model").read_text() == "trained on the labels of L2, L3"
    assert read_released(tmp_path / "released.parquet").decision.verdict == "quarantine"


def test_stopped_labels_fail_the_task_at_once_and_train_nothing(airflow, biased, tmp_path):
    (tmp_path / "released.parquet").write_text("from an earlier run")
    done = run_of(airflow, recipe("# dags/gated_training.py"), "gated_training", biased, tmp_path)
    said = done.stdout + done.stderr
    assert "1 labeler biased beyond ±0.2: L1" in said
    assert "up_for_retry" not in said.lower()
    assert not (tmp_path / "model").exists()
    assert not (tmp_path / "released.parquet").exists()


@pytest.mark.parametrize(("which", "trains"), [("fair", True), ("biased", False)])
def test_the_operator_of_great_expectations_stops_at_biased_labels(
    airflow, which, trains, request, tmp_path
):
    files = request.getfixturevalue(which)
    done = run_of(airflow, recipe("# dags/gx_gate.py"), "gx_gate", files, tmp_path)
    assert (tmp_path / "model").exists() is trains, done.stdout[-3_000:] + done.stderr[-3_000:]
    if not trains:
        assert "L1" in done.stdout + done.stderr
