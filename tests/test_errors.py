"""One exception type per way out, and a hint that names the nearest thing there is."""

from __future__ import annotations

import pickle

import pytest

from mdba_checks.errors import CheckError, InputError, MissingExtraError, did_you_mean

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
