"""`mdba demo` and `mdba simulate`: data whose bias is known, from the command line."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from mdba_checks import CheckConfig, assess, read_released
from mdba_checks.cli import demo as demo_module
from mdba_checks.cli.simulate import simulate as simulate_command
from mdba_checks.simulation import simulate

NAMES = ["gold.csv", "labels.csv", "mdba.yaml", "report.html", "truth.csv"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def demo(mdba, tmp_path, monkeypatch):
    """Run the demo in an empty folder, on fewer items than a user gets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo_module, "_ITEMS", 4_000)
    return lambda *flags, **environment: mdba("demo", *flags, **environment)


def test_the_demo_shows_the_truth_beside_the_estimate_and_ends_well(demo, tmp_path, monkeypatch):
    monkeypatch.setattr(demo_module, "_ITEMS", 16_000)
    run = demo(COLUMNS="80")
    assert run.code == 0
    assert "Verdict: BLOCK" in run.out
    assert "This is a demo and ends with exit code 0; the same mdba check has 1." in run.out
    assert names(tmp_path / "mdba-demo") == NAMES
    assert "nothing was written: these labels are stopped" in run.out
    truth = pd.read_csv("mdba-demo/truth.csv").set_index("labeler")["gap"]
    shown = re.findall(
        r"^(\w+) +women +([+-]?[\d.]+) +([+-]?[\d.]+) .* (\w+)$", run.out, re.MULTILINE
    )
    assert sorted(name for name, *_ in shown) == sorted(truth.index)
    for name, gap, known, finding in shown:
        assert float(known) == pytest.approx(truth[name], abs=0.0051)
        assert float(gap) == pytest.approx(truth[name], abs=0.12)
        # A verdict about a person must not be the opposite of the truth.
        assert finding != ("fair" if abs(truth[name]) > 0.1 else "biased")
    assert {"biased", "fair"} <= {finding for *_, finding in shown}


@pytest.mark.parametrize("mode", ["annotate", "quarantine"])
def test_the_demo_releases_what_a_mode_lets_out(demo, tmp_path, monkeypatch, mode):
    monkeypatch.setattr(demo_module, "_ITEMS", 16_000)
    run = demo("--mode", mode)
    assert run.code == 0
    assert "the same mdba check has 0" in run.out
    released = read_released("mdba-demo/released.csv")
    assert released.decision.verdict == mode
    assert released.config.policy.mode == mode
    assert ("Ada" in set(released.table["labeler"])) == (mode == "annotate")
    # Of a demo in another mode nothing is left over.
    assert demo().code == 0
    assert names(tmp_path / "mdba-demo") == NAMES


def test_a_mode_that_does_not_exist_is_refused_before_anything_is_written(demo, tmp_path):
    run = demo("--mode", "blok")
    assert run.code == 2
    assert "--mode is 'blok'" in run.err
    assert not (tmp_path / "mdba-demo").exists()


def test_the_commands_that_the_demo_prints_can_be_typed(demo, mdba, monkeypatch):
    monkeypatch.setattr(demo_module, "_ITEMS", 16_000)
    out = demo().out
    block = out.split("Try it yourself")[1].split("This is a demo")[0].replace("\\\n", "")
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    commands = [words for words in commands if words]
    assert [words.pop(0) for words in commands] == ["mdba"] * 4 + ["cat"]
    codes = [mdba(*words).code for words in commands[:4]]
    assert codes == [1, 0, 0, 1]
    assert Path(commands[4][0]).is_file()


def test_the_demo_replaces_its_own_files_only(demo, tmp_path):
    folder = tmp_path / "mdba-demo"
    demo("--seed", "1")
    first = (folder / "labels.csv").read_text()
    (folder / "notes.txt").write_text("mine")
    assert demo("--seed", "2").code == 0
    assert (folder / "labels.csv").read_text() != first
    assert names(folder) == sorted([*NAMES, "notes.txt"])
    (folder / "mdba.yaml").write_text("reference: men\n")
    before = {path: path.read_text() for path in folder.iterdir()}
    run = demo()
    assert run.code == 2
    assert "was not written by the demo: choose another --folder" in run.err
    assert before == {path: path.read_text() for path in folder.iterdir()}


def test_simulate_writes_three_tables_that_can_be_checked(mdba, tmp_path):
    folder = tmp_path / "deep" / "trial"
    size = ["--items", "2000", "--labelers", "2", "--gold-per-group", "100"]
    run = mdba("simulate", folder, *size)
    assert (run.code, run.err) == (0, "")
    assert names(folder) == ["gold.csv", "labels.csv", "truth.csv"]
    assert len(pd.read_csv(folder / "labels.csv")) == 1_800
    assert len(pd.read_csv(folder / "gold.csv")) == 200
    command = shlex.split(run.out.split("Next: ")[1])
    assert command[0] == "mdba"
    assert mdba(*command[1:], "--estimator", "selection_rate").code in (0, 1, 3)


def test_simulate_is_the_function_of_the_same_name(mdba, tmp_path):
    flags = [
        "--family",
        "inconsistent",
        "--labelers",
        "3",
        "--items",
        "1500",
        "--prevalence",
        "0.3",
    ]
    mdba("simulate", tmp_path, *flags, "--gold-per-group", "50", "--seed", "9", "--quiet")
    made = simulate(
        family="inconsistent",
        n_labelers=3,
        n_items=1_500,
        prevalence=0.3,
        gold_per_group=50,
        seed=9,
    )
    truth = pd.read_csv(tmp_path / "truth.csv")
    pd.testing.assert_frame_equal(truth, made.truth, check_dtype=False)


def test_the_defaults_of_the_command_are_those_of_the_function():
    ours = inspect.signature(simulate_command).parameters
    theirs = inspect.signature(simulate).parameters
    for command, function in {
        "family": "family",
        "labelers": "n_labelers",
        "prevalence": "prevalence",
        "gold_per_group": "gold_per_group",
        "seed": "seed",
    }.items():
        assert ours[command].default == theirs[function].default


def test_simulate_keeps_existing_files_unless_forced(mdba, tmp_path):
    (tmp_path / "gold.csv").write_text("precious")
    size = ["--items", "500", "--labelers", "2", "--gold-per-group", "50", "--quiet"]
    run = mdba("simulate", tmp_path, *size)
    assert run.code == 2
    assert names(tmp_path) == ["gold.csv"]
    run = mdba("simulate", tmp_path, *size, "--force")
    assert (run.code, run.out) == (0, "")
    assert len(pd.read_csv(tmp_path / "gold.csv")) == 100


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--family", "corect"], "Did you mean 'correct'?"),
        (["--prevalence", "2"], "prevalence is 2.0"),
        (["--labelers", "0"], "n_labelers is 0"),
        (["--seed", "-3"], "--seed is -3"),
        (["--gold-per-group", "999999"], "lower it or give more items"),
    ],
)
def test_what_cannot_be_simulated_is_one_line(mdba, tmp_path, flags, said):
    run = mdba("simulate", tmp_path, "--items", "500", *flags)
    assert run.code == 2
    assert said in run.err
    assert run.err.count("\n") == 1
    assert names(tmp_path) == []


# Labeler, gap and finding, by the version before a check could ask several
# questions.
BEFORE = (
    ("Ada", -0.4052859358000568, "biased"),
    ("Ben", 0.0016821402617498427, "fair"),
    ("Cleo", -0.24802432965167187, "biased"),
    ("Dev", -0.028192325321157563, "fair"),
    ("Eli", -0.33678920741930396, "biased"),
    ("Fay", 0.00881395729325829, "fair"),
    ("Gus", -0.09987664554054276, "borderline"),
    ("Hana", -0.03132261116028112, "fair"),
)


def test_one_group_column_and_two_labels_give_the_numbers_they_gave_before(tmp_path):
    demo_module.write_demo(tmp_path, 0, "block")
    config = CheckConfig.from_yaml(tmp_path / "mdba.yaml")
    found = assess(tmp_path / "labels.csv", tmp_path / "gold.csv", config)
    gaps = found.gaps
    assert list(zip(gaps["labeler"], gaps["finding"], strict=True)) == [
        (name, finding) for name, _, finding in BEFORE
    ]
    assert gaps["gap"].tolist() == pytest.approx([each[1] for each in BEFORE], rel=1e-5)
    assert set(gaps["attribute"]) == {"group"}
    assert gaps["class"].tolist() == [None] * len(BEFORE)
    assert found.data.labels_hash == "f3996fab421c24ca93d51abd997dbcce"
    assert found.data.gold_hash == "97d7439ac28e9ed9f754e423665b1ae6"
