"""One rule: every policy gives the same verdict, rows, files and exit meaning, whoever asks.

`tests/test_every_policy.py` compares what Python decides with the documents, in every combination.
Here the command line, Prefect and Great Expectations are compared with Python, in a part of the
combinations in which every two settings meet with every pair of their values.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from mdba_checks import Blocked, read_released, release
from mdba_checks.cli import main
from tests.situations import (
    COVERING,
    EXIT,
    FACTORS,
    SIMULATED,
    Case,
    by_the_book,
    in_python,
    people,
    settings,
    tables,
)

OUTCOME = {0: "ok", 1: "block", 3: "inconclusive"}
every_pair = pytest.mark.parametrize("case", COVERING, ids=lambda case: "-".join(map(str, case)))


def test_every_two_settings_meet_in_what_is_asked_of_everybody():
    met = {
        (one, other, case[one], case[other])
        for case in COVERING
        for one, other in combinations(range(len(FACTORS)), 2)
    }
    sizes = [len(values) for values in FACTORS.values()]
    assert len(met) == sum(a * b for a, b in combinations(sizes, 2))
    assert {in_python(case).decision.verdict for case in COVERING} == set(EXIT)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    made = {}
    for situation in FACTORS["situation"]:
        made[situation] = tmp_path_factory.mktemp(situation.replace(" ", "-"))
        for name, table in zip(("labels.csv", "gold.csv"), tables(situation), strict=True):
            table.to_csv(made[situation] / name, index=False)
    return made


def written(case: Case) -> set[str]:
    """Return the files that should be there; rows can leave only where a quarantine is possible."""
    if in_python(case).decision.stops:
        return set()
    names = {"out.csv", "out.csv.mdba.json"}
    if "quarantine" in case:
        names.add("out.removed.csv")
    return names


def same_rows(out: Path, case: Case) -> bool:
    """Return whether the files hold what Python says, all of it and nothing else."""
    found = in_python(case)
    if not found.decision.stops:
        released = read_released(out / "out.csv")
        assert released.decision.verdict == found.decision.verdict
        assert set(released.table["labeler"]) == people(found)
        assert len(released.table) == len(found.table(tables(case[0])[0]))
    return {each.name for each in out.iterdir()} == written(case)


@every_pair
def test_in_python(case):
    found = in_python(case)
    verdict, gone = by_the_book(case, found.judged)
    # What stays after a quarantine is checked again, and may be stopped then.
    assert found.decision.verdict == verdict or (verdict == "quarantine" and found.decision.stops)
    if found.parts is not None:
        assert gone <= set(found.parts.labelers)
    if case[0] in SIMULATED:  # they would be estimated once more
        return
    if found.decision.stops:
        with pytest.raises(Blocked) as caught:
            release(*tables(case[0]), settings(case))
        assert caught.value.decision == found.decision
        return
    released = release(*tables(case[0]), settings(case))
    assert released.decision == found.decision
    assert set(released.table["labeler"]) == people(found)


@every_pair
def test_on_the_command_line(folders, tmp_path, capsys, case):
    config, out = tmp_path / "mdba.yaml", tmp_path / "out"
    settings(case).to_yaml(config)
    out.mkdir()
    decision = in_python(case).decision
    command = ["check", str(folders[case[0]] / "labels.csv"), "--config", str(config)]
    command += ["--gold", str(folders[case[0]] / "gold.csv")]
    result = ["--json", str(tmp_path / "result.json"), "--output", str(out / "out.csv")]
    assert main([*command, *result, "--quiet"]) == EXIT[decision.verdict]
    told = json.loads((tmp_path / "result.json").read_text())
    assert (told["verdict"], tuple(told["reasons"])) == (decision.verdict, decision.reasons)
    assert same_rows(out, case)
    if case[0] in ("undecided", "biased"):  # without an output it says what would happen
        assert main(command) == EXIT[decision.verdict]
        said = " ".join(capsys.readouterr().out.split())
        assert f"Verdict: {decision.verdict.upper()}" in said
        assert ("would be taken out" in said) == (decision.verdict == "quarantine")


@pytest.fixture(scope="module")
def kept(folders, tmp_path_factory) -> Any:
    """Return what the tasks of Prefect keep of a situation, estimated once."""
    pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")
    from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

    from mdba_checks.prefect import assess_labels, fingerprint

    @cache
    def once(situation: str) -> tuple[list[str], dict[str, Any]]:
        first = (situation, *(values[0] for values in list(FACTORS.values())[1:]))
        config = settings(first).model_dump(mode="json")
        files = [str(folders[situation] / name) for name in ("labels.csv", "gold.csv")]
        return files, assess_labels.fn(*files, config, fingerprint.fn(*files, config))

    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: tmp_path_factory.mktemp("storage")}):
        yield once


@every_pair
def test_in_prefect(kept, tmp_path, case):
    from mdba_checks.prefect import OUTCOMES, STOPPED_STATES, write_outputs

    files, found = kept(case[0])
    policy = settings(case).policy.model_dump(mode="json")
    out = tmp_path / "out"
    out.mkdir()
    ended = write_outputs.fn(*files, found, policy, str(out / "out.csv"))
    decision = in_python(case).decision
    assert (ended["verdict"], tuple(ended["reasons"])) == (decision.verdict, decision.reasons)
    assert (OUTCOMES[ended["verdict"]] in STOPPED_STATES) == (EXIT[decision.verdict] != 0)
    assert {Path(each).name for each in ended["files"].values()} == written(case)
    assert same_rows(out, case)


@pytest.mark.parametrize("situation", FACTORS["situation"])
def test_in_great_expectations(folders, tmp_path, capsys, situation):
    """A suite with a rule per policy estimates once; a batch is used whole afterwards."""
    pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
    cases = [case for case in COVERING if case[0] == situation]
    rules = []
    for case in cases:
        config = settings(case)
        policy = {name: getattr(config.policy, name) for name in list(FACTORS)[1:]}
        named = {"gold": str(folders[situation] / "gold.csv"), "reference_group": "men"}
        named |= {"max_gap": config.policy.max_gap, "estimator": config.estimator}
        kwargs = {**policy, **named}
        rules.append({"type": "expect_labeler_tpr_gap_to_be_within", "kwargs": kwargs})
    command = ["validate", "--labels", str(folders[situation] / "labels.csv"), "--suite"]
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({"name": "s", "expectations": rules}))
    code = main([*command, str(suite), "--json", "-"])
    results = json.loads(capsys.readouterr().out)["rules"]
    codes = []
    for case, result in zip(cases, results, strict=True):
        decision, details = in_python(case).decision, result["details"]
        assert details["verdict"] == decision.verdict, case
        assert tuple(details["reasons"]) == decision.reasons, case
        # Rows that would have to go are still in the batch, which is used whole afterwards.
        codes.append(1 if decision.verdict == "quarantine" else EXIT[decision.verdict])
        assert result["outcome"] == OUTCOME[codes[-1]], case
    assert code == (1 if 1 in codes else max(codes))
