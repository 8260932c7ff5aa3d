"""A small data set on disk, and ways to run `mdba` on it: in this process, and as users do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from mdba_checks.cli import main
from mdba_checks.simulation import simulate


@dataclass(frozen=True)
class Run:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Files:
    """Labels and gold: L1 is far too hard on women, L2 somewhat, L3 not at all."""

    folder: Path

    @property
    def labels(self) -> Path:
        return self.folder / "labels.csv"

    @property
    def gold(self) -> Path:
        return self.folder / "gold.csv"

    @property
    def check(self) -> list[str]:
        """The arguments of a plain check."""
        return ["check", str(self.labels), "--gold", str(self.gold), "--reference", "men"]

    @property
    def quick(self) -> list[str]:
        """The arguments of a check without models that blocks, where that is not the point."""
        return [*self.check, "--estimator", "selection_rate", "--max-gap", "0.05"]


@pytest.fixture(scope="session")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    made = simulate(n_items=3_000, n_labelers=3, gold_per_group=200, tprs=[0.3, 0.7, 0.95], seed=1)
    return made.labels, made.gold


@pytest.fixture
def files(tmp_path: Path, tables: tuple[pd.DataFrame, pd.DataFrame]) -> Files:
    folder = tmp_path / "data"
    folder.mkdir()
    made = Files(folder)
    tables[0].to_csv(made.labels, index=False)
    tables[1].to_csv(made.gold, index=False)
    return made


@pytest.fixture
def mdba(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Run the command in this process: all but the interpreter's start is the real thing."""

    def run(*arguments: object, **environment: str) -> Run:
        with monkeypatch.context() as patched:
            for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"):
                patched.delenv(name, raising=False)
            for name, value in environment.items():
                patched.setenv(name, value)
            capsys.readouterr()
            code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    return run


@pytest.fixture
def process() -> Callable[..., Run]:
    """Run the command in a process of its own."""

    def run(*arguments: object, cwd: Path | None = None, **environment: str) -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "mdba_checks", *map(str, arguments)],
            capture_output=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
            timeout=120,
            check=False,
        )
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
