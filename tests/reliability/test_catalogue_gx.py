"""Every entry of the catalogue through an expectation of Great Expectations.

The labels are a batch that Great Expectations has read. Where it is the file that is spoilt, gold
is the spoilt one, because gold is read by our reader there too.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

import great_expectations as gx

from mdba_checks.gx import ExpectLabelerTprGapToBeWithin, estimates
from mdba_checks.gx.base import CONFIG_KEYS
from tests.reliability.base import Case, Entry, Refused, Unaffected, at_most, snapshot
from tests.reliability.catalogue import ENTRIES

# Settings without a field of their own: missing_values is for CSV files that we read, the others
# are refused by the command line and Python before there is a rule.
FIELDS = {key: name for name, key in CONFIG_KEYS.items()}
# Texts that mean something in a CSV file are texts like others in a DataFrame.
NOT_HERE = (
    "a label that is",
    "a gap written as a text",
    "groups called no and null",
    "a number beyond doubles",
    # An expectation does not take a URL for gold, be it a good one.
    "a table of SQLite",
)


def expressible(entry: Entry) -> bool:
    if entry.name.startswith(NOT_HERE):
        return False
    return set(entry.settings) <= set(FIELDS)


@pytest.fixture(scope="module")
def frames() -> Any:
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("reliability").add_dataframe_asset("labels")
    return asset.add_batch_definition_whole_dataframe("all")


def rule(entry: Entry, case: Case) -> ExpectLabelerTprGapToBeWithin:
    flat = {
        "reference": case.settings["reference"],
        "policy.max_gap": case.settings["policy"]["max_gap"],
        "estimator": case.settings.get("estimator", "mdba_dr"),
    }
    given = {FIELDS[key]: value for key, value in (flat | dict(entry.settings)).items()}
    return ExpectLabelerTprGapToBeWithin(gold=case.gold, **given)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if expressible(e)], ids=str)
def test_an_expectation(entry, frames, tmp_path):
    case = entry.build(tmp_path, spoil="gold", counted=True)
    before = snapshot(tmp_path)
    estimates.forget()
    refused = isinstance(entry.outcome, Refused)
    with at_most(120, tmp_path):
        try:
            expectation = rule(entry, case)
        except ValueError as error:  # pydantic refuses fields before there is a rule
            text = str(error)
            expectation = None
        if expectation is None:
            assert refused
            assert any(part in text for part in (*entry.outcome.parts, "URL"))
            return
        result = frames.get_batch({"dataframe": case.frame}).validate(expectation)
    assert snapshot(tmp_path) == before
    said = result.exception_info["exception_message"] if refused else ""
    assert result.exception_info["raised_exception"] is refused
    if refused:
        assert result.success is False
        assert len(said.splitlines()) == 1
        assert said.isprintable()
        assert "Traceback" not in said
        return
    details = result.result["details"]
    if isinstance(entry.outcome, Unaffected):
        found = {row["labeler"]: row["finding"] for row in details["gaps"]}
        assert found == entry.outcome.findings()
        assert result.success is False
    else:
        assert details["verdict"] == entry.outcome.verdict
        assert result.success is (entry.outcome.verdict == "pass")


def test_the_plain_tables_succeed_where_spoilt_ones_are_refused(frames, tmp_path):
    case = ENTRIES[0].build(tmp_path, spoil="gold")
    lenient = ExpectLabelerTprGapToBeWithin(gold=case.gold, max_gap=0.99, reference_group="men")
    assert frames.get_batch({"dataframe": case.frame}).validate(lenient).success is True
