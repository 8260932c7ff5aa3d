"""What a policy makes of findings: the whole truth table, on real assessments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdba_checks import Assessment, CheckConfig, Policy, assess, gate
from mdba_checks.findings import BIASED, FAIR, INCONCLUSIVE
from tests.helpers import selection_table, some_gold

# Selection rates are counted, so the findings of these labelers follow from the counts.
PEOPLE = {
    "fair": {"men": (1000, 2000), "women": (1000, 2000)},
    "biased": {"men": (1600, 2000), "women": (400, 2000)},
    "open": {"men": (5, 10), "women": (6, 10)},
}
FINDINGS = {"fair": FAIR, "biased": BIASED, "open": INCONCLUSIVE}


def assessed(*names: str, policy: Policy | None = None) -> Assessment:
    config = CheckConfig(
        estimator="selection_rate", reference="men", jobs=1, policy=policy or Policy()
    )
    return assess(selection_table({name: PEOPLE[name] for name in names}), some_gold(), config)


@pytest.fixture(scope="module")
def mixtures() -> dict[tuple[bool, bool], Assessment]:
    """Assessments by (somebody is biased, somebody is undecided); somebody is always fair."""
    return {
        (biased, undecided): assessed("fair", *["biased"] * biased, *["open"] * undecided)
        for biased in (False, True)
        for undecided in (False, True)
    }


def test_the_people_are_what_they_are_called():
    gaps = assessed(*PEOPLE).gaps
    assert dict(zip(gaps["labeler"], gaps["finding"], strict=True)) == FINDINGS


# (biased, undecided), mode, on_inconclusive -> verdict; written out, so that no rule is copied.
TRUTH = {
    ((False, False), "block", "pass"): "pass",
    ((False, False), "block", "annotate"): "pass",
    ((False, False), "block", "block"): "pass",
    ((False, False), "annotate", "pass"): "pass",
    ((False, False), "annotate", "annotate"): "pass",
    ((False, False), "annotate", "block"): "pass",
    ((False, False), "quarantine", "pass"): "pass",
    ((False, False), "quarantine", "annotate"): "pass",
    ((False, False), "quarantine", "block"): "pass",
    ((False, True), "block", "pass"): "pass",
    ((False, True), "block", "annotate"): "annotate",
    ((False, True), "block", "block"): "inconclusive",
    ((False, True), "annotate", "pass"): "pass",
    ((False, True), "annotate", "annotate"): "annotate",
    ((False, True), "annotate", "block"): "inconclusive",
    ((False, True), "quarantine", "pass"): "pass",
    ((False, True), "quarantine", "annotate"): "annotate",
    ((False, True), "quarantine", "block"): "inconclusive",
    ((True, False), "block", "pass"): "block",
    ((True, False), "block", "annotate"): "block",
    ((True, False), "block", "block"): "block",
    ((True, False), "annotate", "pass"): "annotate",
    ((True, False), "annotate", "annotate"): "annotate",
    ((True, False), "annotate", "block"): "annotate",
    ((True, False), "quarantine", "pass"): "quarantine",
    ((True, False), "quarantine", "annotate"): "quarantine",
    ((True, False), "quarantine", "block"): "quarantine",
    ((True, True), "block", "pass"): "block",
    ((True, True), "block", "annotate"): "block",
    ((True, True), "block", "block"): "block",
    ((True, True), "annotate", "pass"): "annotate",
    ((True, True), "annotate", "annotate"): "annotate",
    ((True, True), "annotate", "block"): "inconclusive",
    ((True, True), "quarantine", "pass"): "quarantine",
    ((True, True), "quarantine", "annotate"): "quarantine",
    ((True, True), "quarantine", "block"): "inconclusive",
}


@pytest.mark.parametrize(("found", "mode", "on_inconclusive"), TRUTH)
def test_the_verdict_is_that_of_the_truth_table(mixtures, found, mode, on_inconclusive):
    policy = Policy(mode=mode, on_inconclusive=on_inconclusive)
    decision = gate(mixtures[found], policy)
    expected = TRUTH[found, mode, on_inconclusive]
    assert decision.verdict == expected
    assert decision.lets_through == (expected in ("pass", "annotate", "quarantine"))
    assert decision.policy == policy
    assert decision.reasons


def test_without_a_policy_the_one_it_was_assessed_with_decides():
    lenient = assessed("biased", policy=Policy(max_gap=0.9))
    assert gate(lenient).verdict == "pass"
    assert gate(lenient, Policy()).verdict == "block"


def test_no_comparison_at_all_is_no_clean_bill_of_health(mixtures):
    clean = mixtures[False, False]
    empty = replace(clean, _table=clean._table.iloc[:0])
    for on_inconclusive in ("pass", "annotate", "block"):
        policy = Policy(on_inconclusive=on_inconclusive)
        decision = gate(replace(empty, config=clean.config.model_copy(update={"policy": policy})))
        assert decision.verdict == "inconclusive"
        assert not decision.lets_through


def test_a_gap_that_is_not_a_number_never_passes_by_itself():
    seen = {"men": (5, 10), "women": (5, 10)}
    labels = selection_table({"ann": seen, "one_sided": {"men": (50, 100), "women": (0, 0)}})
    config = CheckConfig(estimator="selection_rate", reference="men", jobs=1)
    assessment = assess(labels, some_gold(), config)
    row = assessment.gaps.set_index("labeler").loc["one_sided"]
    assert np.isnan(row["gap"])
    for decide_on in ("confident", "estimate"):
        policy = Policy(max_gap=1, decide_on=decide_on)
        assert gate(assessment, policy).verdict == "inconclusive"


def test_reasons_name_the_worst_first_and_say_how_many_more():
    people = {f"worse_{n}": {"men": (900, 1000), "women": (500 - 50 * n, 1000)} for n in range(5)}
    config = CheckConfig(estimator="selection_rate", reference="men", jobs=1)
    (reason,) = gate(assess(selection_table(people), some_gold(), config)).reasons
    assert reason.startswith("5 labelers biased beyond ±0.1: worse_4, worse_3, worse_2 and 2 more")
    assert "worse_4, women: says yes" in reason


def test_a_clean_data_set_says_how_many_comparisons_were_made(mixtures):
    assert gate(mixtures[False, False]).reasons == ("all 1 comparisons are within ±0.1",)


def test_both_the_biased_and_the_undecided_are_named(mixtures):
    biased, undecided = gate(mixtures[True, True]).reasons
    assert "biased" in biased
    assert "open" in undecided


@settings(max_examples=40)
@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from(["pass", "annotate", "block"]))
def test_tolerating_more_never_makes_the_verdict_stricter(one, other, on_inconclusive):
    severity = ["pass", "annotate", "inconclusive", "block"]
    strict, lenient = (
        severity.index(
            gate(EVERYBODY, Policy(max_gap=limit, on_inconclusive=on_inconclusive)).verdict
        )
        for limit in sorted((one, other))
    )
    assert lenient <= strict


EVERYBODY = assessed(*PEOPLE)
