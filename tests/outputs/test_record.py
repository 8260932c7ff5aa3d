"""The record of a check: complete, plain, and valid JSON whatever was found."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mdba_checks import Assessment, CheckConfig, Policy, __version__, assess, gate
from mdba_checks.outputs import Record, to_json, to_plain_value, to_record
from mdba_checks.simulation import simulate

KEYS = [
    "verdict",
    "reasons",
    "policy",
    "estimator",
    "metric",
    "confidence",
    "reference",
    "seed",
    "version",
    "gaps",
    "cohorts",
    "overall",
    "crowd",
    "diagnostics",
    "data",
    "messages",
    "config",
    "origin",
    "versions",
]


def strict(text: str) -> object:
    """Parse JSON as the standard has it, without Python's NaN and Infinity."""

    def refuse(name: str) -> None:
        pytest.fail(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    """Two ordinary labelers, one who always says yes, and one with labels for men alone."""
    made = simulate(n_items=2_000, n_labelers=4, gold_per_group=100, tprs=[0.5, 0.9, 0.9, 0.9])
    labels = made.labels
    labels.loc[labels["labeler"] == "L3", "label"] = 1
    labels = labels[(labels["labeler"] != "L4") | (labels["group"] == "men")]
    return assess(labels, made.gold, CheckConfig(reference="men", seed=5, jobs=1))


def test_the_record_holds_what_the_contract_names_in_that_order(assessment):
    decision = gate(assessment)
    record = to_record(assessment, decision).values()
    assert list(record) == KEYS
    assert record["verdict"] == decision.verdict
    assert record["reasons"] == list(decision.reasons)
    assert record["policy"] == Policy().resolved().model_dump()
    assert (record["estimator"], record["metric"]) == ("mdba_dr", "tpr")
    assert (record["confidence"], record["reference"], record["seed"]) == (0.9, "men", 5)
    assert record["version"] == __version__
    assert CheckConfig.from_mapping(record["config"]) == assessment.config


def test_the_gaps_of_the_record_are_those_of_the_assessment(assessment):
    record = to_record(assessment, gate(assessment)).values()
    back = pd.DataFrame(record["gaps"])
    assert list(back.columns) == list(assessment.gaps.columns)
    pd.testing.assert_frame_equal(
        back.astype(assessment.gaps.dtypes.to_dict()), assessment.gaps, check_exact=True
    )


def test_the_record_counts_and_fingerprints_the_data(assessment):
    data = to_record(assessment, gate(assessment)).values()["data"]
    assert data["n_labelers"] == 4
    assert data["n_gold"] == 200
    assert data["groups"] == ["men", "women"]
    assert data["labels_hash"] == assessment.data.labels_hash != data["gold_hash"]


def test_every_assumption_check_has_a_number_a_level_and_a_sentence(assessment):
    diagnostics = to_record(assessment, gate(assessment)).values()["diagnostics"]
    assert {each["level"] for each in diagnostics} <= {"ok", "look", "serious"}
    (positives,) = (
        each
        for each in diagnostics
        if (each["check"], each["labeler"], each["group"]) == ("gold_positives", None, None)
    )
    assert positives["value"] == 20
    assert "women 20" in positives["sentence"]


def test_numbers_that_do_not_exist_are_null_and_the_json_is_valid(assessment):
    record = to_record(assessment, gate(assessment)).values()
    by_labeler = {row["labeler"]: row for row in record["gaps"]}
    assert by_labeler["L3"]["p_value"] is None
    assert by_labeler["L4"]["gap"] is None
    assert "no labels for women" in by_labeler["L4"]["reason"]
    assert strict(to_json(record)) == record


def test_infinite_numbers_are_null_too():
    odd = {"a": [np.inf, -np.inf, np.float32("nan")], "b": (np.int64(3), np.bool_(True), None)}
    assert strict(to_json(to_plain_value(odd))) == {"a": [None, None, None], "b": [3, True, None]}


def test_findings_are_those_of_the_policy_that_decided(assessment):
    lenient = Policy(max_gap=1.0, on_inconclusive="pass")
    record = to_record(assessment, gate(assessment, lenient)).values()
    assert record["verdict"] == "pass"
    assert record["policy"]["max_gap"] == record["config"]["policy"]["max_gap"] == 1.0
    assert record["gaps"][0]["finding"] == "fair"


def test_names_cannot_carry_control_characters_into_the_text():
    text = to_json({"labeler": "a\x1b[2J\u009b\u202eb\nc", "name": "Zoë 李"})
    assert text.isascii()
    assert all(character.isprintable() or character == "\n" for character in text)
    assert strict(text) == {"labeler": "a\x1b[2J\u009b\u202eb\nc", "name": "Zoë 李"}


def test_what_is_written_is_read_by_the_same_class_and_other_versions_keys_survive(assessment):
    record = to_record(assessment, gate(assessment))
    assert Record.parse(record.to_json().encode()) == record
    newer = {**record.values(), "later": {"a": 1}}
    newer["gaps"] = [{**row, "more": 2} for row in newer["gaps"]]
    again = Record.parse(to_json(newer).encode())
    assert again.values() == newer
    assert again.with_values(created="today").values() == {**newer, "created": "today"}


def test_a_sealed_record_shows_every_change(assessment):
    record = to_record(assessment, gate(assessment))
    sealed = json.loads(record.sealed().to_json())
    assert Record.parse(json.dumps(sealed).encode()).seal == sealed["seal"]
    sealed["gaps"][0]["gap"] += 1e-9
    with pytest.raises(ValueError, match="it is not what was written"):
        Record.parse(json.dumps(sealed).encode())
