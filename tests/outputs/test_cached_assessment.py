"""An assessment that went through JSON says what it said before."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import to_record
from mdba_checks.outputs.cached_assessment import from_cache, row_arrays, to_cache
from mdba_checks.simulation import simulate
from mdba_checks.tables import KEY_VARIABLE


@pytest.fixture(scope="module")
def made():
    return simulate(n_items=2_500, n_labelers=3, gold_per_group=100, seed=1)


def again(assessment):
    text = json.dumps(to_cache(assessment), allow_nan=False)
    return from_cache(json.loads(text))


@pytest.mark.parametrize("estimator", ["mdba_dr", "mdba", "selection_rate"])
def test_every_number_and_word_is_the_same(made, estimator):
    before = assess(made.labels, made.gold, CheckConfig(reference="men", estimator=estimator))
    after = again(before)
    assert to_record(after, gate(after)) == to_record(before, gate(before))
    pd.testing.assert_frame_equal(after.gaps, before.gaps)
    with pytest.raises(InputError, match=r"a cached assessment .* call assess"):
        after.joint_intervals()
    pd.testing.assert_frame_equal(after.plan().table, before.plan().table)


def test_another_policy_finds_the_same_as_before(made):
    before = assess(made.labels, made.gold, CheckConfig(reference="men"))
    policy = Policy(max_gap=0.3, min_gold_positives=200, correction="bh", on_serious="report")
    expected = assess(made.labels, made.gold, CheckConfig(reference="men", policy=policy))
    pd.testing.assert_frame_equal(again(before).with_policy(policy).gaps, expected.gaps)


def test_a_gap_that_does_not_exist_stays_missing(made):
    labels = made.labels[(made.labels["labeler"] != "L2") | (made.labels["group"] == "men")]
    before = assess(labels, made.gold, CheckConfig(reference="men", policy=Policy(max_gap=1.0)))
    assert before.gaps["gap"].isna().sum() == 1
    after = again(before)
    pd.testing.assert_frame_equal(after.gaps, before.gaps)
    assert gate(after).verdict == "inconclusive"


def test_infinite_numbers_survive(made):
    before = assess(made.labels, made.gold, CheckConfig(estimator="selection_rate"))
    plain = to_cache(before)
    plain["estimated"][0]["basis"]["numbers"]["std_error"]["values"][0] = "inf"
    numbers = from_cache(json.loads(json.dumps(plain))).estimated[0].numbers
    assert np.isinf(numbers.std_error.ravel()[0])


def test_rows_and_names_behind_pseudonyms_stay_out(made, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "a secret")
    assessment = assess(made.labels, made.gold, CheckConfig(reference="men", pseudonymize=True))
    text = json.dumps(to_cache(assessment))
    assert not any(f'"{name}"' in text for name in made.labels["labeler"].unique())
    assert "a secret" not in text
    assert {len(rows) for rows in row_arrays(assessment).values()} == {len(made.labels)}
    assert {len(rows) for rows in row_arrays(again(assessment)).values()} == {0}
