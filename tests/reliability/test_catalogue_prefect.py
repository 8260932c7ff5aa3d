"""Every entry of the catalogue through Prefect: one server.

A flow run costs more than a check, so all entries go through the tasks of the gate in one run, and
a few through the gate itself.
"""

from __future__ import annotations

import pytest

pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.states import State

from mdba_checks.prefect import assess_labels, decide, fingerprint, label_bias_gate
from tests.reliability.base import Case, Entry, Refused, Unaffected, at_most, snapshot
from tests.reliability.catalogue import ENTRIES

THROUGH_THE_GATE = (
    "half a gzip file",
    "a pipe called Parquet",
    "a name with a line break",
    "a table that SQLite does not have",
    "a folder with one part cut short",
    "a column name with a line break and none for the group",
    "three labels",
    "a negative weight",
    "settings with a limit that is not a number",
)


@task(cache_policy=NO_CACHE)
def check(case: Case) -> dict:
    """Do what the gate does up to its verdict."""
    prints = fingerprint.fn(case.labels, case.gold, case.settings)
    kept = assess_labels.fn(case.labels, case.gold, case.settings, prints)
    return decide.fn(kept, case.settings["policy"])


@flow
def check_all(cases: list[Case]) -> list[State]:
    return [check(case, return_state=True) for case in cases]


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_the_tasks_of_the_gate(tmp_path):
    cases = []
    for number, entry in enumerate(ENTRIES):
        (tmp_path / f"{number}").mkdir()
        cases.append(entry.build(tmp_path / f"{number}", counted=True))
    before = snapshot(tmp_path)
    with at_most(600, tmp_path):
        states = check_all(cases, return_state=True).result(raise_on_failure=False)
    wrong = {
        entry.name: (state.name, state.message)
        for entry, state in zip(ENTRIES, states, strict=True)
        if not as_promised(entry, state)
    }
    assert wrong == {}
    assert snapshot(tmp_path) == before


def as_promised(entry: Entry, state: State) -> bool:
    outcome = entry.outcome
    if isinstance(outcome, Refused):
        return is_refusal(state, outcome)
    if not state.is_completed():
        return False
    record = state.result()
    if isinstance(outcome, Unaffected):
        return {row["labeler"]: row["finding"] for row in record["gaps"]} == outcome.findings()
    return record["verdict"] == outcome.verdict


def is_refusal(state: State, outcome: Refused) -> bool:
    message = state.message or ""
    return (
        state.is_failed()
        and state.name == "Failed"
        and all(part in message for part in outcome.parts)
        and len(message.splitlines()) == 1
    )


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if entry.name in THROUGH_THE_GATE], ids=str
)
def test_the_gate_never_ends_completed_nor_blocked_on_what_is_refused(entry, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "in").mkdir()
    case = entry.build(tmp_path / "in")
    before = snapshot(tmp_path)
    output = str(tmp_path / "out" / "released.csv")
    with at_most(120, tmp_path):
        state = label_bias_gate(case.labels, case.gold, case.settings, output, return_state=True)
    assert is_refusal(state, entry.outcome), state.message
    assert snapshot(tmp_path) == before


def test_every_name_above_is_one_of_the_catalogue():
    assert set(THROUGH_THE_GATE) <= {entry.name for entry in ENTRIES}
