"""A short run of the fuzzer, and that it notices what it is there to notice."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.reliability import fuzz as fuzzer
from tests.reliability.fuzz import CODES, fuzz, main, replay
from tests.reliability.mutations import KINDS, Case, make_case


def test_damaged_input_ends_as_promised(tmp_path):
    rows, problems = fuzz(150, 0, failures=tmp_path)
    assert problems == []
    assert {row["kind"] for row in rows} == set(KINDS)
    assert sum(row[f"exit_{code}"] for row in rows for code in CODES) == 150
    # Not everything is refused at the door.
    assert sum(row["exit_2"] for row in rows) < 135


def test_a_number_and_a_seed_make_the_same_case_again(tmp_path):
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        case = make_case(tmp_path / name, np.random.default_rng([3, 14]))
        made.append([each.replace(name, "") for each in case.arguments])
        files = [path for path in case.folder.rglob("*") if path.is_file()]
        made.append([(path.name, path.read_bytes()) for path in sorted(files)])
    assert made[:2] == made[2:]


def ends_with_70(_: list[str]) -> int:
    return 70


def shows_a_traceback(_: list[str]) -> int:
    sys.stderr.write("Traceback (most recent call last)\n")
    return 0


def says_nothing(_: list[str]) -> int:
    return 2


def raises(_: list[str]) -> int:
    raise KeyError


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (ends_with_70, "exit code 70"),
        (shows_a_traceback, "a traceback"),
        (says_nothing, "not one line"),
        (raises, "KeyError escaped"),
    ],
)
def test_a_broken_promise_is_noticed_and_kept_for_another_run(
    command, problem, tmp_path, monkeypatch
):
    monkeypatch.setattr(fuzzer, "run_mdba", command)
    _, problems = fuzz(1, 0, failures=tmp_path)
    assert len(problems) == 1
    assert problem in problems[0]
    kept = tmp_path / "0-0" / "case.json"
    assert problem in replay(kept).problem
    monkeypatch.undo()
    assert replay(kept).problem == ""
    assert json.loads(kept.read_text())["arguments"][0] == "check"


def test_somebody_who_does_not_come_back_is_stopped(tmp_path, monkeypatch):
    def turn_in_circles(arguments):
        while True:
            pass

    monkeypatch.setattr(fuzzer, "SECONDS", 0.2)
    monkeypatch.setattr(fuzzer, "run_mdba", turn_in_circles)
    (tmp_path / "out").mkdir()
    assert "no end" in fuzzer.run(Case("rows", tmp_path, ())).problem


def test_a_file_that_is_left_behind_by_an_error_is_noticed(tmp_path, monkeypatch):
    def leave_something(arguments):
        (tmp_path / "out" / "half.csv").touch()

        sys.stderr.write("mdba: no\n")
        return 2

    monkeypatch.setattr(fuzzer, "run_mdba", leave_something)
    (tmp_path / "out").mkdir()
    assert "half.csv" in fuzzer.run(Case("rows", tmp_path, ())).problem


def test_the_summary_begins_with_the_command(tmp_path, capsys):
    target = tmp_path / "fuzz.csv"
    assert main(["--runs", "2", "--output", str(target), "--failures", str(tmp_path)]) == 0
    first, header, *_ = target.read_text().splitlines()
    assert first.startswith("# python -m tests.reliability.fuzz --runs 2 --output ")
    assert header.split(",")[:2] == ["kind", "runs"]
    assert Path(target).read_text() == capsys.readouterr().out
