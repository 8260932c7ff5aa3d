"""What the README shows is what happens.

`python tests/cli/test_readme.py` runs the commands of the README again and writes their output
into it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from mdba_checks import Blocked
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError

PATH = Path(__file__).parents[2] / "README.md"
README = PATH.read_text(encoding="utf-8")
TYPED = re.compile(r"(?<=^```text\n)\$ (.*?)\n.*?(?=^```)", re.MULTILINE | re.DOTALL)


def block(language: str, holding: str) -> str:
    """Return the fenced block in a language that holds a text."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (found,) = (each for each in blocks if holding in each)
    return found


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory) -> Path:
    """Return a folder in which the demo was made, as big as a user gets it."""
    from mdba_checks.cli import demo

    folder = tmp_path_factory.mktemp("readme")
    (folder / "mdba-demo").mkdir()
    demo.write_demo(folder / "mdba-demo", seed=0, mode="block")
    return folder


def findings(text: str) -> dict[str, str]:
    found = re.findall(
        r"^(\w+) +women .*?(biased|inconclusive|borderline|fair)$", text, re.MULTILINE
    )
    return dict(found)


def test_the_python_example_runs_and_stops_training(demo_folder, monkeypatch, capsys):
    monkeypatch.chdir(demo_folder)
    code = compile(block("python", "assess("), "README.md", "exec")
    with pytest.raises(SystemExit, match="3 labelers biased beyond"):
        exec(code, {})  # noqa: S102  our own README
    assert "Ada" in capsys.readouterr().out


# Whose decisions the README's own example may train on, by the mode in the demo's settings.
TRAINED_ON = {
    "block": None,
    "annotate": {"Ada", "Ben", "Cleo", "Dev", "Eli", "Fay", "Gus", "Hana"},
    "quarantine": {"Ben", "Dev", "Fay", "Gus", "Hana"},
}


@pytest.mark.parametrize("mode", TRAINED_ON)
def test_the_gate_of_the_readme_trains_on_the_rows_it_may(demo_folder, monkeypatch, mode):
    monkeypatch.chdir(demo_folder)
    settings = Path("mdba-demo/mdba.yaml")
    before = settings.read_text(encoding="utf-8")
    settings.write_text(re.sub(r"mode: \w+", f"mode: {mode}", before), encoding="utf-8")
    trained: list[pd.DataFrame] = []
    code = compile(block("python", "train("), "README.md", "exec")
    try:
        if TRAINED_ON[mode] is None:
            with pytest.raises(Blocked, match="3 labelers biased beyond"):
                exec(code, {"train": trained.append})  # noqa: S102  our own README
            assert trained == []
            return
        exec(code, {"train": trained.append})  # noqa: S102  our own README
    finally:
        settings.write_text(before, encoding="utf-8")
    labels = pd.read_csv("mdba-demo/labels.csv")
    (table,) = trained
    assert set(table["labeler"]) == TRAINED_ON[mode]
    assert len(table) == labels["labeler"].isin(TRAINED_ON[mode]).sum()


@pytest.mark.parametrize("mode", TRAINED_ON)
def test_the_other_gate_of_the_readme_lets_no_mode_train_on_all_rows(
    demo_folder, monkeypatch, capsys, mode
):
    monkeypatch.chdir(demo_folder)
    example = block("python", "lets_through")
    wanted = example.replace("Policy(max_gap=0.1)", f'Policy(max_gap=0.1, mode="{mode}")')
    assert wanted != example
    trained: list[object] = []
    code = compile(f"{wanted}\ntrain('mdba-demo/labels.csv')\n", "README.md", "exec")
    with pytest.raises(SystemExit):
        exec(code, {"train": trained.append})  # noqa: S102  our own README
    assert trained == []
    assert "Ada" in capsys.readouterr().out


@pytest.mark.parametrize("mode", TRAINED_ON)
def test_what_the_readme_reads_after_a_check_are_the_rows_that_may_be_trained_on(
    demo_folder, mdba, monkeypatch, mode
):
    """`mdba check … --mode … --output`, and in the training code `read_released`."""
    monkeypatch.chdir(demo_folder)
    (typed,) = re.findall(r"`mdba check … (--mode quarantine --output kept\.parquet)`", README)
    (reads,) = re.findall(r"`(read_released\(\"kept\.parquet\"\)\.table)`", README)
    tables = ("mdba-demo/labels.csv", "--gold", "mdba-demo/gold.csv", "--reference", "men")
    asked = typed.replace("quarantine", mode).replace("kept", f"kept-{mode}").split()
    run = mdba("check", *tables, *asked, "--quiet")
    code = f"from mdba_checks import read_released\ntrain({reads.replace('kept', f'kept-{mode}')})"
    trained: list[pd.DataFrame] = []
    if TRAINED_ON[mode] is None:
        assert run.code == 1
        with pytest.raises(InputError, match="kept-block"):
            exec(code, {"train": trained.append})  # noqa: S102  our own README
        assert trained == []
        return
    assert run.code == 0
    exec(code, {"train": trained.append})  # noqa: S102  our own README
    labels = pd.read_csv("mdba-demo/labels.csv")
    (table,) = trained
    assert set(table["labeler"]) == TRAINED_ON[mode]
    assert len(table) == labels["labeler"].isin(TRAINED_ON[mode]).sum()


def test_the_demo_in_the_readme_is_the_demo(demo_folder, mdba, monkeypatch):
    monkeypatch.chdir(demo_folder)
    shown = block("text", "$ make demo")
    run = mdba("demo", COLUMNS="80")
    assert findings(run.out) == findings(shown)
    assert len(findings(shown)) == 8
    sections = ("Verdict: BLOCK", "What to do next", "Try it yourself", "exit code 0")
    for text in (run.out, shown):
        assert all(section in text for section in sections)


def test_the_error_in_the_readme_is_the_error(demo_folder, mdba, monkeypatch):
    monkeypatch.chdir(demo_folder)
    command, said = block("text", "--label lable").strip().splitlines()
    assert mdba(*shlex.split(command)[2:]).err == said + "\n"


def test_the_json_in_the_readme_has_the_keys_it_has(demo_folder, mdba, monkeypatch):
    monkeypatch.chdir(demo_folder)
    command, *shown = block("text", "--json - | head").strip().splitlines()
    run = mdba(*shlex.split(command.split("|")[0])[2:])
    keys = [re.sub(r":.*", "", line) for line in shown[:-1]]
    assert keys == [re.sub(r":.*", "", line) for line in run.out.splitlines()[: len(keys)]]


def test_the_settings_in_the_readme_are_valid(tmp_path):
    (tmp_path / "mdba.yaml").write_text(block("yaml", "columns:"), encoding="utf-8")
    config = CheckConfig.from_yaml(tmp_path / "mdba.yaml")
    assert config.columns.labeler == "recruiter"


def test_every_flag_in_the_readme_exists(mdba):
    commands = ("check", "import", "init", "plan", "simulate", "validate", "verify")
    known = "".join(mdba(command, "--help").out for command in commands)
    for flag in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)):
        assert f"{flag} " in known, flag


def renew() -> None:
    """Write what the commands print today into the README."""

    def again(match: re.Match[str]) -> str:
        command, _, head = match[1].partition(" | head -")
        program = shlex.split(command.replace("make demo", "mdba demo"))[1:]
        done = subprocess.run(
            [sys.executable, "-c", "from mdba_checks.cli import main; main()", *program],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(PATH.parent), "COLUMNS": "80"},
            check=True,
        )
        lines = (done.stdout or done.stderr).splitlines()
        shown = [*lines[: int(head)], "…"] if head else lines
        return "\n".join([f"$ {match[1]}", *shown, ""])

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        PATH.write_text(TYPED.sub(again, README), encoding="utf-8")


if __name__ == "__main__":
    renew()
