"""The fields of an expectation: strict, complete in the suite file, and never holding data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

from great_expectations.compatibility import pydantic
from great_expectations.core import ExpectationSuite
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

from mdba_checks.config import CheckConfig
from mdba_checks.gx import ExpectLabelerFprGapToBeWithin, ExpectLabelerTprGapToBeWithin
from mdba_checks.gx.base import CONFIG_KEYS, RULE_FIELDS

BOTH = [ExpectLabelerTprGapToBeWithin, ExpectLabelerFprGapToBeWithin]


def loaded_again(rule):
    """Through JSON and back, as a store does it."""
    text = json.dumps(rule.configuration.to_json_dict())
    return ExpectationConfiguration(**json.loads(text)).to_domain_obj()


@pytest.mark.parametrize("kind", BOTH)
def test_every_field_of_the_rule_is_written_though_it_has_its_default_value(kind):
    written = kind(max_gap=0.1, gold="gold.csv").configuration.to_json_dict()["kwargs"]
    assert set(written) == set(RULE_FIELDS)
    assert written["max_gap"] == 0.1
    assert written["confidence"] == 0.9
    assert (written["mode"], written["on_inconclusive"]) == ("block", None)
    assert written["max_undecided"] == 0.1
    assert written["correction"] == "auto"
    assert written["estimator"] == "mdba_dr"
    assert written["seed"] == 0


def test_the_fields_default_to_what_the_library_defaults_to():
    ours = ExpectLabelerTprGapToBeWithin(max_gap=0.1, gold="gold.csv").check_config()
    assert ours == CheckConfig()
    assert ExpectLabelerFprGapToBeWithin(max_gap=0.1, gold="g").check_config().metric == "fpr"


@pytest.mark.parametrize("group", [0, "0", 1, "1", False, True, "", "men", None])
def test_a_reference_group_keeps_its_type_through_a_suite_file(group):
    rule = ExpectLabelerTprGapToBeWithin(max_gap=0.1, gold="g", reference_group=group)
    for each in (rule, loaded_again(rule)):
        assert each.reference_group == group
        assert type(each.reference_group) is type(group)
    assert type(rule.check_config().reference) is type(group)


def test_all_fields_survive_a_suite_file():
    changed = {
        "labeler_column": "rater",
        "label_column": "decision",
        "group_column": ["sex", "age_band"],
        "gold_column": "truth",
        "gold_weight_column": "weight",
        "item_column": "case",
        "features": ["age", "score"],
        "reference_group": {"sex": 0, "age_band": "under 50"},
        "intersections": True,
        "positive_label": ["yes", "maybe"],
        "gold_positive_label": 1,
        "max_gap": 0.25,
        "margin": 0.01,
        "max_gap_overall": 0.2,
        "max_undecided": 0.3,
        "mode": "quarantine",
        "confidence": 0.95,
        "estimator": "mdba",
        "correction": "bh",
        "decide_on": "estimate",
        "on_inconclusive": "annotate",
        "min_gold_positives": 7,
        "on_serious": "report",
        "drop_missing": True,
        "pseudonymize": True,
        "seed": 5,
        "cohort_column": "vendor",
        "cluster_column": "family",
        "text_columns": ["essay"],
        "text_model": "models/small",
        "c": [0.8, 1.2],
        "missing_values": ["", "?"],
        "positive_verb": "invites",
        "negative_verb": "rejects",
        "positive_adjective": "suitable",
        "negative_adjective": "unsuitable",
    }
    assert set(changed) == set(CONFIG_KEYS)
    gold = {"data_source": "files", "asset": "gold", "batch_definition": "all"}
    rule = ExpectLabelerTprGapToBeWithin(**changed, gold=gold, severity="warning")
    again = loaded_again(rule)
    assert again == rule
    assert {name: getattr(again, name) for name in changed} == changed
    assert again.gold == gold
    assert again.severity == "warning"
    config = again.check_config()
    assert config.columns.gold_weight == "weight"
    assert config.features == ("age", "score")
    assert config.policy.min_gold_positives == 7


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_gap": 7}, "'max_gap' is 7"),
        ({"max_gap": -0.1}, "'max_gap' is -0.1"),
        ({"max_gap": float("nan")}, "'max_gap' is nan"),
        ({"max_gap": float("inf")}, "'max_gap' is inf"),
        ({"max_gap": "0.1"}, "max_gap"),
        ({"max_gap": True}, "max_gap"),
        ({"max_gap": {"PARAMETER": "x"}}, "max_gap"),
        ({"confidence": 1.0}, "'confidence' is 1.0"),
        ({"mostly": 0.9}, "mostly"),
        ({"estimator": "mdba_rd"}, "estimator"),
        ({"features": "a,b"}, "features"),
        ({"features": []}, "features"),
        ({"reference_group": 0.5}, "reference_group"),
        ({"labeler_column": 7}, "labeler_column"),
        ({"labeler_column": ""}, "labeler_column"),
        ({"labeler_column": "group"}, "cannot be both"),
        ({"seed": -1}, "'seed' is -1"),
        ({"severity": "high"}, "severity"),
    ],
)
def test_a_value_that_cannot_be_is_refused_on_construction(wrong, said):
    with pytest.raises(pydantic.ValidationError, match=said):
        ExpectLabelerTprGapToBeWithin(**{"max_gap": 0.1, "gold": "gold.csv", **wrong})


@pytest.mark.parametrize("missing", ["max_gap", "gold"])
def test_the_threshold_and_gold_have_no_default(missing):
    given = {"max_gap": 0.1, "gold": "gold.csv"}
    del given[missing]
    with pytest.raises(pydantic.ValidationError, match=missing):
        ExpectLabelerTprGapToBeWithin(**given)


def test_gold_as_a_dataframe_is_refused_with_the_reason(made):
    with pytest.raises(
        pydantic.ValidationError, match=r"stores the arguments .* with every result"
    ):
        ExpectLabelerTprGapToBeWithin(max_gap=0.1, gold=made.gold)


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("postgresql://ann:secret@host/db::gold", "would be stored with its password"),
        ("  ", "the path is empty"),
        ({"data_source": "a", "asset": "b"}, "needs 'batch_definition' as well"),
        ({"data_sorce": "a"}, "Did you mean 'data_source'"),
        ({"data_source": "a", "asset": "b", "batch_definition": 3}, "'batch_definition' is 3"),
        ([1, 2], "not a list"),
    ],
)
def test_gold_in_any_other_form_is_refused_with_the_way_out(gold, said):
    with pytest.raises(pydantic.ValidationError, match=said) as caught:
        ExpectLabelerTprGapToBeWithin(max_gap=0.1, gold=gold)
    assert "secret" not in str(caught.value)


def test_gold_may_be_a_path_object_or_a_parameter():
    assert ExpectLabelerTprGapToBeWithin(max_gap=0.1, gold=Path("a") / "b.csv").gold == "a/b.csv"
    rule = ExpectLabelerTprGapToBeWithin(max_gap={"$PARAMETER": "limit"}, gold={"$PARAMETER": "g"})
    assert rule.suite_parameter_options == ("g", "limit")
    assert loaded_again(rule) == rule


def test_two_thresholds_make_two_expectations_of_a_suite_and_equal_ones_make_one():
    suite = ExpectationSuite(name="s")
    for gap in (0.1, 0.2, 0.1):
        suite.expectations.append(ExpectLabelerTprGapToBeWithin(max_gap=gap, gold="gold.csv"))
    first, second, third = suite.expectations
    assert first == third
    assert first != second


@pytest.mark.parametrize("kind", BOTH)
def test_great_expectations_can_describe_the_class_as_json_schema(kind):
    schema = json.loads(kind.schema_json())
    assert schema["title"] == kind.Config.title
    assert set(RULE_FIELDS) <= set(schema["properties"])
    described = schema["properties"]["metadata"]["properties"]
    assert described["expectation_type"]["const"] == kind.expectation_type
    assert described["short_description"]["const"] == kind.__doc__.partition("\n")[0]
    assert "gap" not in schema["properties"]["max_gap"].get("default", "")


def test_the_common_part_is_not_an_expectation_by_itself():
    from great_expectations.expectations.registry import list_registered_expectation_implementations

    known = list_registered_expectation_implementations()
    assert {kind.expectation_type for kind in BOTH} <= set(known)
    assert not [name for name in known if "labeler_gap" in name]
