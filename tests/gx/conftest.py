"""One simulated data set, and one context for all tests that need none of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# L1 is strongly biased, L3 is fair; men are the reference.
TPRS = [0.4, 0.8, 0.94]
REFERENCE = "men"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "spark: needs Java (leave out with -m 'not spark')")


@pytest.fixture(scope="session")
def made() -> Any:
    from mdba_checks.simulation import simulate

    return simulate(n_items=3_000, n_labelers=3, gold_per_group=150, tprs=TPRS, seed=1)


@pytest.fixture(scope="session")
def folder(made, tmp_path_factory) -> Path:
    """Holds gold.csv and labels.parquet."""
    folder = tmp_path_factory.mktemp("labels")
    made.gold.to_csv(folder / "gold.csv", index=False)
    made.labels.to_parquet(folder / "labels.parquet")
    return folder


@pytest.fixture(scope="session")
def expected(made) -> Any:
    """What the library says about the data set without Great Expectations."""
    from mdba_checks import CheckConfig, assess

    return assess(made.labels, made.gold, CheckConfig(reference=REFERENCE))


@pytest.fixture(scope="session")
def context() -> Any:
    import great_expectations as gx

    import mdba_checks.gx  # noqa: F401

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    return context


@pytest.fixture(autouse=True)
def _current_context(request) -> None:
    """Before 1.24, what belongs to one context is looked up in the one that was made last."""
    if "context" in request.fixturenames:
        from great_expectations.data_context.data_context.context_factory import set_context

        set_context(request.getfixturevalue("context"))


@pytest.fixture(scope="session")
def frames(context) -> Any:
    """A batch definition to which a test gives its own DataFrame."""
    asset = context.data_sources.add_pandas("frames").add_dataframe_asset("labels")
    return asset.add_batch_definition_whole_dataframe("all")


@pytest.fixture
def batch(frames, made) -> Any:
    return frames.get_batch({"dataframe": made.labels})


@pytest.fixture(scope="session")
def rule(folder) -> Callable[..., Any]:
    """Make the expectation about true positive rates, with gold from the file."""
    from mdba_checks.gx import ExpectLabelerTprGapToBeWithin

    def make(**changes: Any) -> Any:
        usual = {
            "max_gap": 0.1,
            "gold": str(folder / "gold.csv"),
            "reference_group": REFERENCE,
        }
        return ExpectLabelerTprGapToBeWithin(**{**usual, **changes})

    return make


@pytest.fixture
def run_fresh(tmp_path) -> Callable[..., str]:
    """Run a script in a new process and return what it prints; it must end well."""

    def run(script: str, *arguments: object, options: tuple[str, ...] = ()) -> str:
        # From a file: without grpcio, pyspark takes `python -c` for a test run of its own.
        path = tmp_path / "script.py"
        path.write_text(script, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, *options, str(path), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr[-3_000:]
        return done.stdout

    return run
