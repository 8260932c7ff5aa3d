"""A flow in a shell ends with the exit codes of the command line; states name what happened."""

from __future__ import annotations

import json
import pickle
import runpy
from pathlib import Path

import pytest
from prefect import flow

from mdba_checks import CheckConfig
from mdba_checks.prefect import RulesBrokenError, validate_rules
from tests.prefect.api import ROOT, config

pytestmark = pytest.mark.usefixtures("server")

ENDS = {"passes": 0, "biased": 1, "no such file": 2, "undecided": 3}


@pytest.fixture
def given(tables, undecided_at, tmp_path, monkeypatch):
    """Return the arguments of a flow for each way to end."""
    monkeypatch.chdir(tmp_path)
    policies = {"passes": {"max_gap": 0.9}, "undecided": {"max_gap": undecided_at, "margin": 0}}

    def arguments(ending: str) -> list[str]:
        CheckConfig.from_mapping(config(**policies.get(ending, {}))).to_yaml("mdba.yaml")
        gold = "nowhere.csv" if ending == "no such file" else tables.gold
        return [tables.labels, gold, "mdba.yaml", str(tmp_path / "out.parquet")]

    return arguments


def exit_of(name: str, arguments: list[str], monkeypatch) -> int:
    """Run a file of flows/ as a shell does, and return its exit code."""
    path = ROOT / "flows" / name
    monkeypatch.setattr("sys.argv", [str(path), *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    return ended.value.code


@pytest.mark.parametrize("name", ["label_bias_gate.py", "gated_training.py"])
@pytest.mark.parametrize(("ending", "code"), ENDS.items())
def test_every_ending_has_its_own_exit_code(given, monkeypatch, name, ending, code):
    assert exit_of(name, given(ending), monkeypatch) == code
    written = {each.name for each in Path().iterdir()} - {"mdba.yaml"}
    assert ("out.parquet" in written) == (code == 0)
    assert ("out.parquet.model.ubj" in written) == (code == 0 and name == "gated_training.py")


def test_bad_usage_is_no_verdict(monkeypatch, capsys):
    assert exit_of("label_bias_gate.py", [], monkeypatch) == 2
    assert "labels" in capsys.readouterr().err


def test_a_defect_is_no_verdict(given, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("mdba_checks.prefect.gate.in_a_row", broken)
    assert exit_of("label_bias_gate.py", given("passes"), monkeypatch) == 70


@pytest.mark.parametrize(
    ("ending", "word"), [("passes", ""), ("biased", "blocked"), ("undecided", "undecided")]
)
def test_rules_that_are_broken_and_rules_that_are_undecided_say_so(
    tables, undecided_at, tmp_path, ending, word
):
    pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
    limits = {"passes": 0.9, "biased": 0.2, "undecided": undecided_at}
    rule = {"max_gap": limits[ending], "gold": tables.gold, "reference_group": "men", "margin": 0}
    kind = "expect_labeler_tpr_gap_to_be_within"
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({"name": "s", "expectations": [{"type": kind, "kwargs": rule}]}))
    reached = []

    @flow
    def nightly() -> None:
        validate_rules(tables.labels, suite=str(suite))
        reached.append("training")

    state = nightly(return_state=True)
    assert state.is_completed() == bool(reached) == (ending == "passes")
    assert f"RulesBrokenError: {word}" in f"{state.message} RulesBrokenError: "
    if word:
        with pytest.raises(RulesBrokenError) as caught:
            state.result()
        said = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  it travels to workers
        assert said.verdict == {"blocked": "block", "undecided": "inconclusive"}[word]
        assert str(said).startswith(f"{word}: s: 0 of 1 expectations hold")
