"""One exception type per way out, and a hint that names the nearest thing there is."""

from __future__ import annotations

import pickle

import pytest

from mdba_checks import CheckConfig, Policy
from mdba_checks.errors import (
    CheckError,
    InputError,
    MissingExtraError,
    Problem,
    SettingsError,
    did_you_mean,
)

ROLES = ["labeler", "label", "group", "gold", "item"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("goup", "group"),  # a letter missing
        ("itemm", "item"),  # a letter too many
        ("lable", "label"),  # two letters swapped: not "labeler", though that shares more of them
        ("labler", "labeler"),
        ("GROUP", "group"),  # only the case is different
        ("Label", "label"),
    ],
)
def test_a_slip_is_answered_with_the_name_that_was_meant(written, meant):
    assert did_you_mean(written, ROLES) == f" Did you mean {meant!r}?"


def test_the_hint_keeps_the_case_of_the_known_name():
    assert did_you_mean("worker_id", ["Worker_ID", "Age"]) == " Did you mean 'Worker_ID'?"


def test_a_name_unlike_all_others_is_answered_with_the_whole_list_in_order():
    assert did_you_mean("zzz", ROLES) == " Known: gold, group, item, label, labeler."


def test_a_long_list_is_cut_and_says_so():
    hint = did_you_mean("?", [f"feature_{number:03}" for number in range(500)])
    assert hint.startswith(" Known: feature_000, feature_001, ")
    assert hint.endswith(", …")
    assert len(hint) < 400


def test_nothing_known_means_no_hint():
    assert did_you_mean("label", []) == ""


def test_columns_that_are_numbers_can_be_named_too():
    assert did_you_mean("11", [1, "label"]) == " Did you mean '1'?"


def test_the_order_in_which_names_are_known_does_not_change_the_hint():
    assert did_you_mean("labe", ROLES) == did_you_mean("labe", reversed(ROLES))


def test_a_missing_extra_names_the_command_that_installs_it():
    error = MissingExtraError("the HTML report", "report")
    assert str(error) == "the HTML report needs an optional part: pip install 'mdba-checks[report]'"


@pytest.mark.parametrize(
    "error", [InputError("column 'a' is empty"), MissingExtraError("Spark", "spark")]
)
def test_errors_arrive_whole_from_another_process(error):
    arrived = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


def test_every_error_raised_on_purpose_can_be_caught_at_once():
    assert issubclass(InputError, CheckError)
    assert issubclass(MissingExtraError, CheckError)
    assert not issubclass(CheckError, ValueError)  # or pydantic would swallow it into its own


def test_every_kind_of_error_has_a_key_of_its_own():
    kinds = (CheckError, InputError, SettingsError, MissingExtraError)
    assert [each.key for each in kinds] == ["error", "input", "settings", "missing_extra"]


def test_settings_that_cannot_be_are_named_for_programs():
    with pytest.raises(SettingsError) as caught:
        CheckConfig.from_mapping({"sed": 1, "metric": "auc", "policy": {"max_gap": 3}})
    found = {each.key: each.kind for each in caught.value.problems}
    assert found == {"sed": "unknown", "metric": "value", "policy.max_gap": "value"}


def test_an_adapter_names_settings_its_own_way_whatever_the_values_hold():
    with pytest.raises(SettingsError) as caught:
        CheckConfig().updated({"metric": "'policy.max_gap' is", "policy.max_gap": 3})
    renamed = caught.value.named({"policy.max_gap": "--max-gap"}.get)
    assert "'metric' is \"'policy.max_gap' is\": must be" in str(renamed)
    assert "--max-gap is 3: must be less than or equal to 1" in str(renamed)
    assert renamed.key == "settings"


def test_an_error_about_settings_survives_a_process_boundary():
    with pytest.raises(SettingsError) as caught:
        Policy(max_gap=2)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)
    assert again.problems == (Problem("max_gap", "value", "2: must be less than or equal to 1"),)
