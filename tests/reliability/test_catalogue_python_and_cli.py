"""Every entry of the catalogue through Python and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.errors import InputError
from tests.reliability.base import Ends, Entry, Refused, Unaffected, at_most, run_mdba, snapshot
from tests.reliability.catalogue import ENTRIES

ROOT = Path(__file__).parents[2]
CODES = {"pass": 0, "block": 1, "inconclusive": 3}
# As processes: what could hang, and what depends on how a process is started.
AS_PROCESS = ("a pipe called Parquet", "a labeler who steers a terminal")

every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=str)


def one_line(text: str, entry: Entry) -> None:
    assert len(text.splitlines()) == 1, text
    assert "Traceback" not in text
    assert text.isprintable(), text
    for part in entry.outcome.parts:
        assert part in text


def test_the_catalogue_is_long_and_its_names_are_its_own():
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    assert sum(isinstance(entry.outcome, Refused) for entry in ENTRIES) >= 60


@pytest.mark.parametrize("entry", [ENTRIES[0]], ids=str)
def test_the_plain_tables_would_pass_where_spoilt_ones_are_refused(entry, tmp_path):
    case = entry.build(tmp_path)
    settings = CheckConfig.from_mapping(case.settings | {"policy": {"max_gap": 0.99}})
    assert gate(assess(case.labels, case.gold, settings)).verdict == "pass"


@every_entry
def test_python(entry, tmp_path):
    case = entry.build(tmp_path)
    before = snapshot(tmp_path)
    with at_most(120, tmp_path):
        if isinstance(entry.outcome, Refused):
            with pytest.raises(InputError) as caught:
                assess(case.labels, case.gold, CheckConfig.from_mapping(case.settings))
            one_line(str(caught.value), entry)
        else:
            assessment = assess(case.labels, case.gold, CheckConfig.from_mapping(case.settings))
            decision = gate(assessment)
            gaps = assessment.gaps
            if isinstance(entry.outcome, Unaffected):
                found = dict(zip(gaps["labeler"], gaps["finding"], strict=True))
                assert found == entry.outcome.findings()
                assert entry.outcome.note in " ".join(assessment.messages)
                assert decision.verdict == "block"
            else:
                assert decision.verdict == entry.outcome.verdict
                assert entry.outcome.part in " ".join((*decision.reasons, *assessment.messages))
    assert snapshot(tmp_path) == before


@every_entry
def test_the_command_line(entry, tmp_path, capsys):
    inputs, outputs = tmp_path / "in", tmp_path / "out"
    inputs.mkdir()
    outputs.mkdir()
    arguments = command(entry, inputs, outputs)
    before = snapshot(inputs)
    capsys.readouterr()
    with at_most(120, tmp_path):
        code = run_mdba(arguments)
    shown = capsys.readouterr()
    ended_well(entry, code, shown.out, shown.err, outputs)
    assert snapshot(inputs) == before


def command(entry: Entry, inputs: Path, outputs: Path) -> list[str]:
    case = entry.build(inputs, counted=True)
    settings = inputs / "mdba.yaml"
    settings.write_text(yaml.safe_dump(case.settings), encoding="utf-8")
    return [
        "check",
        case.labels,
        *("--gold", case.gold),
        *("--config", str(settings)),
        *("--output", str(outputs / "labels.csv")),
        *("--json", str(outputs / "result.json")),
        # Drawing takes longer than checking: where a report is written, for the names' sake only.
        *(("--report", str(outputs / "report.html")) if reported(entry) else ()),
    ]


def reported(entry: Entry) -> bool:
    outcome = entry.outcome
    return isinstance(outcome, Refused) or bool(isinstance(outcome, Unaffected) and outcome.names)


def ended_well(entry: Entry, code: int, out: str, err: str, outputs: Path) -> None:
    """Assert that a run ended as the entry promises, and wrote what belongs to such an end."""
    written = {path.name for path in outputs.iterdir()}
    if isinstance(entry.outcome, Refused):
        assert code == 2, err
        assert out == ""
        assert err.startswith("mdba: ")
        one_line(err.removesuffix("\n"), entry)
        assert written == set()
        return
    verdict = entry.outcome.verdict if isinstance(entry.outcome, Ends) else "block"
    assert code == CODES[verdict], err
    assert "\x1b" not in out + err
    assert "Traceback" not in out + err
    record = json.loads((outputs / "result.json").read_text(encoding="utf-8"))
    assert record["verdict"] == verdict
    report = {"report.html"} if reported(entry) else set()
    for name in report:
        assert "<script>alert" not in (outputs / name).read_text(encoding="utf-8")
    released = {"labels.csv", "labels.csv.mdba.json"} if verdict == "pass" else set()
    assert written == {"result.json"} | report | released


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.name in AS_PROCESS], ids=str)
def test_as_a_process(entry, tmp_path):
    inputs, outputs = tmp_path / "in", tmp_path / "out"
    inputs.mkdir()
    outputs.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "mdba_checks", *command(entry, inputs, outputs)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    ended_well(entry, done.returncode, done.stdout.decode(), done.stderr.decode(), outputs)
