"""Expectations about the data set as a whole and about cohorts; gold under the same condition."""

from __future__ import annotations

import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

from great_expectations.core import ExpectationSuite
from great_expectations.expectations.row_conditions import Column

from mdba_checks import CheckConfig, Columns, Policy, assess
from mdba_checks.gx import (
    ExpectCohortFprGapToBeWithin,
    ExpectCohortTprGapToBeWithin,
    ExpectOverallFprGapToBeWithin,
    ExpectOverallTprGapToBeWithin,
    estimates,
)

VENDORS = {"L1": "north", "L2": "south", "L3": "south"}


@pytest.fixture(scope="module")
def labels(made):
    return made.labels.assign(vendor=made.labels["labeler"].map(VENDORS))


@pytest.fixture(scope="module")
def direct(labels, made):
    """What the library says, with cohorts."""
    config = CheckConfig(reference="men", columns=Columns(cohort="vendor"))
    return assess(labels, made.gold, config)


@pytest.fixture
def with_vendors(frames, labels):
    return frames.get_batch({"dataframe": labels})


@pytest.fixture
def usual(folder):
    return {"gold": str(folder / "gold.csv"), "reference_group": "men"}


def test_the_whole_is_judged_alone_by_the_numbers_of_the_library(batch, usual, expected):
    (row,) = expected.overall.to_dict("records")
    width = max(abs(row["ci_low"]), abs(row["ci_high"]))
    # L1 alone is beyond every limit used here, and is not what the expectation is about.
    passed = batch.validate(ExpectOverallTprGapToBeWithin(max_gap=width + 0.01, **usual))
    assert passed.success is True
    assert passed.result["observed_value"] == pytest.approx(row["gap"], abs=1e-12)
    assert passed.result["details"]["verdict"] == "pass"
    failed = batch.validate(ExpectOverallTprGapToBeWithin(max_gap=0.01, margin=0, **usual))
    assert failed.success is False
    assert failed.result["details"]["verdict"] == "block"
    (reason,) = failed.result["details"]["reasons"]
    assert reason.startswith("all labels together: biased beyond ±0.01")


def test_an_undecided_whole_does_not_pass_unless_the_rule_says_so(batch, usual, expected):
    limit = abs(expected.overall["gap"].item())  # in the middle of its interval
    rule = {"max_gap": limit, "margin": 0, **usual}
    result = batch.validate(ExpectOverallTprGapToBeWithin(**rule))
    assert (result.success, result.result["details"]["verdict"]) == (False, "inconclusive")
    result = batch.validate(ExpectOverallTprGapToBeWithin(on_inconclusive="pass", **rule))
    assert (result.success, result.result["details"]["verdict"]) == (True, "pass")


def test_cohorts_are_judged_alone_by_the_numbers_of_the_library(with_vendors, usual, direct):
    rule = ExpectCohortTprGapToBeWithin(max_gap=0.2, cohort_column="vendor", **usual)
    result = with_vendors.validate(rule)
    assert result.success is False
    rows = result.result["details"]["cohorts"]
    assert [row["cohort"] for row in rows] == direct.cohorts["cohort"].tolist()
    assert [row["gap"] for row in rows] == direct.cohorts["gap"].tolist()
    (reason,) = result.result["details"]["reasons"]
    assert reason.startswith("1 cohort biased beyond ±0.2: north.")
    only = ExpectCohortTprGapToBeWithin(
        max_gap=0.2, cohort_column="vendor", row_condition=Column("vendor") == "south", **usual
    )
    assert with_vendors.validate(only).success is True


@pytest.mark.parametrize("kind", [ExpectOverallFprGapToBeWithin, ExpectCohortFprGapToBeWithin])
def test_false_positive_rates_have_their_own(with_vendors, labels, made, usual, kind):
    rule = kind(max_gap=0.1, cohort_column="vendor", **usual)
    details = with_vendors.validate(rule).result["details"]
    config = CheckConfig(reference="men", metric="fpr", columns=Columns(cohort="vendor"))
    found = assess(labels, made.gold, config)
    assert [row["gap"] for row in details["overall"]] == found.overall["gap"].tolist()
    assert [row["gap"] for row in details["cohorts"]] == found.cohorts["gap"].tolist()


def test_all_of_them_share_one_estimate(with_vendors, rule, usual, monkeypatch):
    estimates.forget()
    fitted = []
    real = estimates.assess_tables
    monkeypatch.setattr(estimates, "assess_tables", lambda *given: fitted.append(1) or real(*given))
    suite = ExpectationSuite(
        name="levels",
        expectations=[
            rule(cohort_column="vendor"),
            ExpectCohortTprGapToBeWithin(max_gap=0.2, cohort_column="vendor", **usual),
            ExpectOverallTprGapToBeWithin(max_gap=0.3, cohort_column="vendor", **usual),
        ],
    )
    results = with_vendors.validate(suite).results
    assert [each.success for each in results] == [False, False, True]
    assert len(fitted) == 1


def test_a_limit_that_would_have_no_effect_is_refused(usual):
    with pytest.raises(ValueError, match="max_gap_overall: it has no effect here"):
        ExpectOverallTprGapToBeWithin(max_gap=0.1, max_gap_overall=0.2, **usual)
    with pytest.raises(ValueError, match="cohort_column: name the column of the batch"):
        ExpectCohortTprGapToBeWithin(max_gap=0.1, **usual)


def test_the_limit_of_the_whole_goes_to_the_policy_of_the_whole(usual):
    rule = ExpectOverallTprGapToBeWithin(max_gap=0.03, **usual)
    assert rule.check_config().policy == Policy(max_gap_overall=0.03)


# --- Gold under the same condition ---------------------------------------------------------------


@pytest.fixture(scope="module")
def sites(made, folder):
    """Labels and gold of two sites; gold of the second is turned around."""
    labels = made.labels.assign(site=["a", "b"] * (len(made.labels) // 2))
    gold = made.gold.assign(site=["a", "a", "b", "b"] * (len(made.gold) // 4))
    gold["gold"] = gold["gold"].where(gold["site"] == "a", 1 - gold["gold"])
    gold.to_csv(folder / "sites.csv", index=False)
    return labels, gold


def test_gold_is_filtered_by_the_same_condition_where_asked(frames, folder, rule, sites):
    labels, gold = sites
    asked = {
        "gold": str(folder / "sites.csv"),
        "row_condition": Column("site") == "a",
        "features": [name for name in gold if name not in ("group", "gold", "site")],
    }
    batch = frames.get_batch({"dataframe": labels})
    details = batch.validate(rule(filter_gold=True, **asked)).result["details"]
    config = CheckConfig(reference="men", features=asked["features"])
    alone = assess(labels[labels["site"] == "a"], gold[gold["site"] == "a"], config)
    assert [row["gap"] for row in details["gaps"]] == alone.gaps["gap"].tolist()
    assert details["data"]["n_gold"] == len(gold) // 2
    whole = batch.validate(rule(**asked)).result["details"]
    assert whole["data"]["n_gold"] == len(gold)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (Column("labeler") == "L1", "gold cannot be filtered by the row_condition"),
        (Column("site") == "c", "no gold row meets the row_condition"),
    ],
)
def test_gold_that_cannot_be_filtered_is_one_line(frames, folder, rule, sites, condition, said):
    asked = rule(gold=str(folder / "sites.csv"), row_condition=condition, filter_gold=True)
    result = frames.get_batch({"dataframe": sites[0]}).validate(asked)
    assert result.success is False
    assert said in result.exception_info["exception_message"]
    assert "\n" not in result.exception_info["exception_message"]
