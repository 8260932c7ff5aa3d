"""The command as a process: what it imports, what it prints where, how it ends."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def imported_by(program: str) -> set[str]:
    """Return the packages that a program has imported when it ends."""
    program += "\nimport sys; print('modules', *{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=ENVIRONMENT, check=True
    )
    return set(done.stdout.decode().rpartition("modules ")[2].split())


def test_help_and_version_import_nothing_heavy():
    heavy = {"numpy", "pandas", "pyarrow", "sklearn", "xgboost", "great_expectations", "prefect"}
    program = "from mdba_checks.cli import main; [main(a) for a in {}]"
    modules = imported_by(program.format([["--help"], ["check", "--help"], ["--version"]]))
    assert "typer" in modules
    assert not modules & {*heavy, "matplotlib", "scipy"}


def test_the_package_imports_no_adapter():
    adapters = {"great_expectations", "prefect", "matplotlib"}
    assert not imported_by("import mdba_checks") & {*adapters, "numpy"}
    assert not imported_by("from mdba_checks import assess, gate") & adapters


def test_ascii_output_holds_together(process, files, tables):
    labels = tables[0].assign(labeler=tables[0]["labeler"].replace({"L1": "Zoë"}))
    labels.to_csv(files.labels, index=False)
    run = process(*files.quick, PYTHONIOENCODING="ascii", COLUMNS="80")
    assert run.code == 1
    assert run.err == ""
    assert run.out.isascii()
    assert "Zo\\xeb" in run.out
    assert "+/-0.05" in run.out


def test_errors_in_ascii_hold_together(process):
    run = process("check", "l.csv", "--gold", "g.csv", "--metric", "Zoë", PYTHONIOENCODING="ascii")
    assert run.code == 2
    assert run.err.startswith("mdba: --metric is 'Zo\\xeb'")


def test_a_reader_who_leaves_does_not_change_the_verdict(files):
    check = [sys.executable, "-m", "mdba_checks", *files.quick]
    reading, writing = os.pipe()
    os.close(reading)
    started = [
        subprocess.Popen([*check, *extra], stdout=writing, stderr=subprocess.PIPE, env=ENVIRONMENT)
        for extra in ([], ["--json", "-"])
    ]
    os.close(writing)
    for process in started:
        _, said = process.communicate(timeout=120)
        assert (process.returncode, said) == (1, b"")


def test_help_that_nobody_reads_is_no_verdict():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "mdba_checks", "--help"]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False
    )
    os.close(writing)
    assert done.returncode not in (0, 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_json_that_does_not_fit_on_the_disk_is_no_verdict(files):
    command = [sys.executable, "-m", "mdba_checks", *files.quick, "--json", "-"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False
        )
    assert done.returncode not in (0, 1, 3)
    assert done.stderr.startswith(b"mdba: ")
    assert b"No space left on device" in done.stderr


def test_a_terminal_gets_colour_and_signs_of_life(files):
    screen, terminal = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "mdba_checks", *files.quick]
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        seen = read_all(screen)
    assert process.returncode == 1
    assert "starting" in seen
    assert re.search(r"\x1b\[1;31m *biased", seen)


def read_all(descriptor: int) -> str:
    parts = []
    while True:
        try:
            part = os.read(descriptor, 65_536)
        except OSError:  # the way a closed terminal says that it is closed
            part = b""
        if not part:
            os.close(descriptor)
            return b"".join(parts).decode()
        parts.append(part)
