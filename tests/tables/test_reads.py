"""How often a command parses its tables: a large one takes longer to parse than to judge."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mdba_checks.cli import main
from mdba_checks.simulation import simulate
from mdba_checks.tables.sources import csv_files


@pytest.fixture
def parsed(tmp_path, monkeypatch) -> Counter[str]:
    """Count how often each CSV file is parsed, in a folder with labels and gold."""
    made = simulate(n_items=900, n_labelers=2, gold_per_group=80, tprs=[0.3, 0.95], seed=1)
    monkeypatch.chdir(tmp_path)
    made.labels.to_csv("labels.csv", index=False)
    made.gold.to_csv("gold.csv", index=False)
    count: Counter[str] = Counter()
    read_csv = csv_files._File.parse

    def counted(self, *arguments, **options):
        count[Path(self.path).name] += 1
        return read_csv(self, *arguments, **options)

    monkeypatch.setattr(csv_files._File, "parse", counted)
    return count


CHECK = [*("check", "labels.csv", "--gold", "gold.csv", "--reference", "men", "--quiet")]
QUICK = [*CHECK, "--estimator", "selection_rate", "--max-gap", "0.9"]


def test_a_check_parses_both_tables_once(parsed):
    assert main([*QUICK, "--json", "check.json", "--report", "report.html"]) == 0
    assert parsed == {"labels.csv": 1, "gold.csv": 1}
    parsed.clear()
    assert main(["rerun", "check.json"]) == 0
    assert parsed == {"labels.csv": 1, "gold.csv": 1}


@pytest.mark.parametrize("mode", ["annotate", "quarantine"])
def test_rows_that_leave_are_compared_with_the_file_once_more(parsed, mode):
    assert main([*QUICK, "--mode", mode, "--output", "out.csv"]) == 0
    assert (parsed["labels.csv"], parsed["gold.csv"]) == (2, 1)


def test_the_gate_of_prefect_parses_once_per_task(parsed, tmp_path):
    pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")
    from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

    from mdba_checks.prefect import assess_labels, fingerprint, write_outputs

    policy = {"mode": "annotate", "max_gap": 0.9}
    settings = {"reference": "men", "estimator": "selection_rate", "policy": policy}
    files = ("labels.csv", "gold.csv")
    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: tmp_path / "storage"}):
        prints = fingerprint.fn(*files, settings)
        found = assess_labels.fn(*files, settings, prints)
        write_outputs.fn(*files, found, policy, "out.csv")
    assert (parsed["labels.csv"], parsed["gold.csv"]) == (3, 2)
