"""CONTRIBUTING says which files a new metric and a new estimator touch: done here, in a copy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mdba_checks.simulation import simulate

ROOT = Path(__file__).parents[1]

ESTIMATOR = '''"""The share of positive decisions, with one yes and one no more than there were."""

import numpy as np

from mdba_checks.estimation.estimators.evidence import Evidence, Rates


def estimate(evidence: Evidence) -> Rates:
    """Return the smoothed share of positive decisions per labeler and group."""
    n = evidence.n_labels
    rate = (evidence.cell_sum(evidence.decision) + 1) / (n + 2)
    nothing = np.zeros((evidence.n_labelers, len(evidence.gold.group)))
    zero = np.zeros_like(rate)
    return Rates(rate, rate * (1 - rate) / (n + 2), nothing, n, zero, zero)
'''
OBJECT = """        Estimator(
            "smoothed_rate",
            smoothed_rate.estimate,
            "How often a labeler says yes, moved a little towards one half.",
            needs_gold_positives=False,
            ignores_right_answers=True,
        ),
"""


class Copy:
    """The package in a folder of its own, with the files that were changed in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changed: set[str] = set()
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "mdba_checks", folder / "mdba_checks", ignore=skipped)

    def write(self, path: str, text: str) -> None:
        (self.folder / "mdba_checks" / path).write_text(text, encoding="utf-8")
        self.changed.add(path)

    def insert(self, path: str, before: str, text: str) -> None:
        old = (self.folder / "mdba_checks" / path).read_text(encoding="utf-8")
        assert old.count(before) == 1, (path, before)
        self.write(path, old.replace(before, text + before))

    def mdba(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mdba_checks", *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture
def copied(tmp_path) -> Copy:
    made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    made.labels.to_csv(tmp_path / "labels.csv", index=False)
    made.gold.to_csv(tmp_path / "gold.csv", index=False)
    return Copy(tmp_path)


def check(copy: Copy, *flags: str) -> tuple[dict, str]:
    """Return the record and the report of a check with the changed package."""
    run = copy.mdba(
        *("check", "labels.csv", "--gold", "gold.csv", "--reference", "men", *flags),
        *("--json", "r.json", "--report", "r.html", "--force"),
    )
    assert run.returncode in (0, 1, 3), run.stderr
    record = json.loads((copy.folder / "r.json").read_text())
    return record, (copy.folder / "r.html").read_text(encoding="utf-8")


def test_a_new_estimator_takes_three_files(copied):
    init = "estimation/estimators/__init__.py"
    copied.write("estimation/estimators/smoothed_rate.py", ESTIMATOR)
    copied.insert(init, '        Estimator(\n            "gold_model",', OBJECT)
    copied.insert(
        init,
        "from mdba_checks.tables import FloatArray",
        "from mdba_checks.estimation.estimators import smoothed_rate\n",
    )
    copied.insert("config.py", '"confident_learning"', '"smoothed_rate", ')
    assert len(copied.changed) == 3

    record, report = check(copied, "--estimator", "smoothed_rate")
    assert record["estimator"] == "smoothed_rate"
    rows = record["gaps"]
    assert all(
        row["rate"] is not None and row["reason"].startswith(("says", "the")) for row in rows
    )
    assert "moved a little towards one half" in report
    assert "smoothed_rate" in copied.mdba("check", "--help").stdout
    plain, _ = check(copied, "--estimator", "selection_rate")
    moved = [abs(a["gap"] - b["gap"]) for a, b in zip(rows, plain["gaps"], strict=True)]
    assert 0 < max(moved) < 0.01


def test_a_new_metric_takes_one_file(copied):
    copied.insert("metrics.py", '"tnr", "fnr"]', '"recall", ')
    copied.insert(
        "metrics.py",
        '        Metric("fnr"',
        '        Metric("recall", "share of the suitable found", said="yes", right="yes"),\n',
    )
    assert copied.changed == {"metrics.py"}

    record, report = check(copied, "--metric", "recall", "--estimator", "gold_model")
    known, _ = check(copied, "--metric", "tpr", "--estimator", "gold_model")
    assert [row["gap"] for row in record["gaps"]] == [row["gap"] for row in known["gaps"]]
    assert {row["metric"] for row in record["gaps"]} == {"recall"}
    assert "share of the suitable found" in report
    assert "recall" in copied.mdba("check", "--help").stdout


def test_the_files_that_contributing_names_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## How to add something")[2].partition("## What a change needs")[0]
    named = {
        word
        for line in table.splitlines()
        for word in line.split("`")[1::2]
        if "/" in word and word.endswith(".py") and "NAME" not in word
    }
    assert named
    inside = {each for each in named if not each.startswith("tests/")}
    missing = [each for each in inside if not (ROOT / "mdba_checks" / each).is_file()]
    assert missing == []
