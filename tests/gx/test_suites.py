"""Suites and contracts from files: all that the file names, or an error that names the lost one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

import great_expectations as gx

from mdba_checks.errors import InputError
from mdba_checks.gx import load_suite, suite_from_contract
from mdba_checks.gx.base import RULE_FIELDS

ROOT = Path(__file__).parents[2]
READY = ROOT / "expectations"
TPR = {
    "type": "expect_labeler_tpr_gap_to_be_within",
    "kwargs": {"max_gap": 0.1, "gold": "data/gold.csv"},
}


def write(folder: Path, document: object, name: str = "suite.json") -> Path:
    path = folder / name
    text = json.dumps(document) if name.endswith(".json") else yaml.safe_dump(document)
    path.write_text(text, encoding="utf-8")
    return path


# --- Suites --------------------------------------------------------------------------------------


def test_the_ready_suite_is_what_a_file_context_stores(tmp_path):
    ready = READY / "label_bias.json"
    folder = tmp_path / "gx" / "expectations"
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    folder.joinpath("label_bias.json").write_bytes(ready.read_bytes())
    suite = context.suites.get("label_bias")
    assert [rule.severity.value for rule in suite.expectations] == ["critical", "warning"]
    suite.save()
    assert folder.joinpath("label_bias.json").read_text() == ready.read_text().rstrip("\n")


def test_the_ready_suite_holds_every_field():
    stored = json.loads((READY / "label_bias.json").read_text())
    assert [set(entry["kwargs"]) for entry in stored["expectations"]] == [set(RULE_FIELDS)] * 2


@pytest.mark.parametrize("name", ["suite.json", "suite.yaml"])
def test_a_suite_is_loaded_from_json_and_from_yaml(tmp_path, name):
    core = {"type": "expect_column_to_exist", "kwargs": {"column": "labeler"}}
    entries = [{**TPR, "severity": "warning", "notes": "agreed in May"}, core]
    suite = load_suite(write(tmp_path, {"name": "s", "expectations": entries}, name))
    first, second = suite.expectations
    assert (first.severity.value, first.notes, first.max_gap) == ("warning", "agreed in May", 0.1)
    assert second.column == "labeler"


def test_a_relative_path_to_gold_starts_at_the_file_of_the_suite(tmp_path, monkeypatch):
    path = write(tmp_path, {"name": "s", "expectations": [TPR]})
    monkeypatch.chdir(tmp_path.parent)
    (rule,) = load_suite(path.relative_to(Path.cwd())).expectations
    assert rule.gold == str(tmp_path / "data" / "gold.csv")


def test_a_suite_that_datacontract_exported_keeps_its_severities(tmp_path):
    entries = [
        {**TPR, "description": "d", "meta": {"severity": written, "dimension": "accuracy"}}
        for written in ("error", "warning", "something else")
    ]
    suite = load_suite(write(tmp_path, {"name": "s", "meta": {}, "expectations": entries}))
    found = [rule.severity.value for rule in suite.expectations]
    assert found == ["critical", "warning", "critical"]


def test_values_can_be_given_for_what_a_file_leaves_open(tmp_path):
    where = {"data_source": "files", "asset": "gold", "batch_definition": "all"}
    ready = load_suite(READY / "label_bias.json", parameters={"gold": where})
    assert [rule.gold for rule in ready.expectations] == [where, where]
    assert ready.suite_parameter_options == ()
    by_contract = suite_from_contract(READY / "labels.odcs.yaml", parameters={"gold": "g.csv"})
    assert [rule.gold for rule in by_contract.expectations] == ["g.csv", "g.csv"]
    with pytest.raises(InputError, match="has no parameter 'limit': it would not be used"):
        load_suite(READY / "label_bias.json", parameters={"limit": 0.1})


def test_a_loaded_suite_can_be_added_to_any_context(context):
    suite = load_suite(READY / "label_bias.json")
    suite.name = "added"
    assert len(context.suites.add(suite).expectations) == 2


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            {"name": "s", "expectations": [TPR, {**TPR, "type": "expect_labler_tpr_gap"}]},
            "expectation 2: 'expect_labler_tpr_gap' is not known here. Did you mean",
        ),
        ({"name": "s", "expectations": [{**TPR, "type": "expect_nothing_known"}]}, "Import the"),
        ({"name": "s", "expectations": [TPR, "text"]}, "expectation 2 has no type"),
        ({"name": "s", "expectations": [{**TPR, "kwarg": {}}]}, "kwarg"),
        (
            {"name": "s", "expectations": [{**TPR, "kwargs": {"max_gap": 0.1, "gould": "g"}}]},
            "field 'gold' is missing; unknown field 'gould'. Did you mean 'gold'?",
        ),
        (
            {"name": "s", "expectations": [{**TPR, "kwargs": {"max_gap": 7, "gold": "g"}}]},
            "'max_gap' is 7: must be less than or equal to 1",
        ),
        ({"name": "s", "expectations": [{**TPR, "severity": "high"}]}, "Invalid severity 'high'"),
        ({"name": "s", "expectations": []}, "names no expectation"),
        ({"name": "s"}, "no list of expectations"),
        ({"expectations": [TPR]}, "has no name"),
        ([TPR], "must hold keys and values"),
    ],
)
def test_a_suite_that_would_arrive_incomplete_does_not_arrive_at_all(tmp_path, document, said):
    with pytest.raises(InputError) as caught:
        load_suite(write(tmp_path, document))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_suite_is_one_line(tmp_path):
    (tmp_path / "broken.json").write_text('{"name": ')
    (tmp_path / "broken.yaml").write_text("a: [1,\nb: {")
    for name in ("broken.json", "broken.yaml"):
        with pytest.raises(InputError, match="is not valid: ") as caught:
            load_suite(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"cannot read suite .*No such file"):
        load_suite(tmp_path / "absent.json")


@pytest.mark.parametrize("name", ["twice.json", "twice.yaml"])
def test_a_list_of_expectations_is_not_replaced_by_a_second_one(tmp_path, name):
    one = json.dumps([TPR])
    path = tmp_path / name
    path.write_text(f'{{"name": "s", "expectations": {one}, "expectations": {one}}}')
    with pytest.raises(InputError, match="the key 'expectations' is there twice"):
        load_suite(path)


def test_a_group_called_no_stays_a_word_in_yaml(tmp_path):
    path = tmp_path / "no.yaml"
    path.write_text(
        "name: s\nexpectations:\n- type: expect_labeler_tpr_gap_to_be_within\n"
        "  kwargs: {max_gap: 0.1, gold: g.csv, reference_group: no}\n"
    )
    (rule,) = load_suite(path).expectations
    assert rule.reference_group == "no"


# --- Contracts -----------------------------------------------------------------------------------


def contract(*rules: object, tables: tuple[str, ...] = ("labels",), **changes: object) -> dict:
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "c",
        "version": "1.0.0",
        "status": "active",
        "schema": [{"name": name, "quality": list(rules)} for name in tables],
        **changes,
    }


def custom(implementation: object = TPR, **changes: object) -> dict:
    return {
        "type": "custom",
        "engine": "greatExpectations",
        "implementation": implementation,
        **changes,
    }


def test_the_ready_contract_and_the_ready_suite_hold_the_same_rules():
    suite, by_contract = (
        load_suite(READY / "label_bias.json"),
        suite_from_contract(READY / "labels.odcs.yaml", "labels"),
    )
    told = [
        [(rule.configuration.type, rule.configuration.kwargs, rule.severity) for rule in each]
        for each in (suite.expectations, by_contract.expectations)
    ]
    assert told[0] == told[1]


@pytest.fixture(scope="module")
def datacontract() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the real datacontract command, which has an environment of its own."""
    own = ROOT / ".venv-datacontract/bin/datacontract"
    found = os.environ.get("MDBA_DATACONTRACT") or (
        str(own) if own.exists() else shutil.which("datacontract")
    )
    if found is None:
        pytest.skip(
            "NO DATACONTRACT TESTS: run scripts/install-datacontract.sh, or set "
            "MDBA_DATACONTRACT to the path of the command"
        )
    return lambda *said: subprocess.run(
        [found, *map(str, said)],
        capture_output=True,
        text=True,
        check=False,
        # A library path of ours would bring our packages into its environment.
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )


def test_datacontract_lint_accepts_the_ready_contract(datacontract):
    done = datacontract("lint", READY / "labels.odcs.yaml")
    assert done.returncode == 0, done.stdout


def test_datacontract_test_is_green_where_mdba_validate_stops(datacontract, made, folder, tmp_path):
    """The docs warn of it: rules of the type custom are not run there."""
    labels, gold = tmp_path / "labels.csv", folder / "gold.csv"
    made.labels.to_csv(labels, index=False)
    server = {"server": "here", "type": "local", "path": str(labels), "format": "csv"}
    document = yaml.safe_load((READY / "labels.odcs.yaml").read_text(encoding="utf-8"))
    path = write(tmp_path, {**document, "servers": [server]}, "labels.odcs.yaml")
    done = datacontract("test", path)
    assert done.returncode == 0, done.stdout
    assert "labeler" in done.stdout
    assert "tpr_gap" not in done.stdout
    arguments = ["validate", "--contract", path, "--labels", labels, "--gold", gold]
    ours = subprocess.run(
        [sys.executable, "-m", "mdba_checks", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert ours.returncode == 1, ours.stdout + ours.stderr


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("error", "critical"),
        ("warning", "warning"),
        ("info", "info"),
        ("ERROR", "critical"),
        (None, "critical"),
    ],
)
def test_the_severity_of_the_contract_becomes_that_of_the_expectation(tmp_path, written, meant):
    path = write(tmp_path, contract(custom(severity=written)), "c.yaml")
    (rule,) = suite_from_contract(path, "labels").expectations
    assert rule.severity.value == meant
    assert rule.gold == str(tmp_path / "data" / "gold.csv")


def test_an_implementation_may_be_text_and_the_engine_spelt_as_elsewhere(tmp_path):
    rule = custom(yaml.safe_dump(TPR), engine="great-expectations")
    (made,) = suite_from_contract(write(tmp_path, contract(rule), "c.yaml")).expectations
    assert made.max_gap == 0.1


def test_rules_of_a_property_are_about_its_column_and_rules_for_others_are_left(tmp_path):
    document = contract(custom(), {"type": "text", "description": "be fair"})
    exists = {"type": "expect_column_values_to_not_be_null"}
    document["schema"][0]["properties"] = [
        {"name": "labeler", "quality": [custom(exists), {"type": "sql", "query": "select 1"}]}
    ]
    suite = suite_from_contract(write(tmp_path, document, "c.yaml"))
    assert [rule.expectation_type for rule in suite.expectations] == [TPR["type"], exists["type"]]
    assert suite.expectations[1].column == "labeler"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (contract(custom({**TPR, "type": "expect_labeler_tpr_gab"})), "is not known here"),
        (contract(custom(), custom({"kwargs": {}})), "has no type"),
        (contract(custom("just: [text")), "implementation is not YAML"),
        (contract(custom({**TPR, "kwarg": {}})), "unknown key 'kwarg' in implementation"),
        (contract(custom(None)), "has no implementation"),
        (contract(custom(severity="fatal")), "severity 'fatal'"),
        (contract({"type": "custom", "implementation": TPR}), "names no engine"),
        (contract(custom(engine="soda")), "no quality rule with engine greatExpectations"),
        (contract(), "no quality rule with engine greatExpectations"),
        (contract(custom(), tables=("a", "b")), "several tables, 'a', 'b': choose a schema"),
        (contract(custom(), schema=[]), "describes no table"),
        (contract(custom(), apiVersion="v2.2.2"), "not of the Open Data Contract Standard 3"),
        ({"dataContractSpecification": "1.1.0"}, "not of the Open Data Contract Standard 3"),
    ],
)
def test_a_contract_whose_rules_would_get_lost_is_refused(tmp_path, document, said):
    with pytest.raises(InputError) as caught:
        suite_from_contract(write(tmp_path, document, "c.yaml"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_schema_that_the_contract_does_not_have_is_named_with_the_nearest(tmp_path):
    with pytest.raises(InputError, match=r"no schema 'lables'\. Did you mean 'labels'"):
        suite_from_contract(write(tmp_path, contract(custom()), "c.yaml"), "lables")
