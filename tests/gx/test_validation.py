"""What an expectation says about a batch, and how it says that it could not say anything."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

from great_expectations.core import ExpectationSuite
from great_expectations.exceptions import SuiteParameterError
from great_expectations.expectations.row_conditions import Column

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.gx import ExpectLabelerFprGapToBeWithin, estimates


def problem(result) -> str:
    """Return the one line that says why nothing was checked."""
    assert result.success is False
    assert result.exception_info["raised_exception"] is True
    text = result.exception_info["exception_message"]
    assert text
    assert "\n" not in text
    assert "Traceback" not in text
    json.dumps(result.to_json_dict(), allow_nan=False)
    return text


def test_a_biased_labeler_fails_with_the_numbers_of_the_library(batch, rule, expected):
    result = batch.validate(rule())
    assert result.success is False
    details = result.result["details"]
    assert details["verdict"] == gate(expected).verdict == "block"
    gaps = expected.gaps
    assert result.result["observed_value"] == gaps.loc[gaps["gap"].abs().idxmax(), "gap"]
    assert [row["labeler"] for row in details["gaps"]] == gaps["labeler"].tolist()
    assert [row["gap"] for row in details["gaps"]] == gaps["gap"].tolist()
    assert [row["ci_low"] for row in details["gaps"]] == gaps["ci_low"].tolist()
    assert [row["finding"] for row in details["gaps"]] == gaps["finding"].tolist()
    assert details["data"]["n_labels"] == expected.data.n_labels


def test_labelers_within_the_limit_succeed_with_a_plain_bool(batch, rule):
    result = batch.validate(rule(max_gap=0.9))
    assert result.success is True
    assert result.result["details"]["verdict"] == "pass"


def test_false_positive_rates_have_their_own_expectation(batch, folder, made):
    result = batch.validate(
        ExpectLabelerFprGapToBeWithin(
            max_gap=0.1, gold=str(folder / "gold.csv"), reference_group="men"
        )
    )
    direct = assess(made.labels, made.gold, CheckConfig(reference="men", metric="fpr"))
    assert [row["gap"] for row in result.result["details"]["gaps"]] == direct.gaps["gap"].tolist()
    assert {row["metric"] for row in result.result["details"]["gaps"]} == {"fpr"}


def test_the_result_is_valid_json_in_every_result_format(batch, rule):
    for form in ("BOOLEAN_ONLY", "BASIC", "SUMMARY", "COMPLETE"):
        result = batch.validate(rule(), result_format=form)
        text = json.dumps(result.to_json_dict(), allow_nan=False)
        assert json.loads(text)["success"] is False
        assert bool(result.result) == (form != "BOOLEAN_ONLY")


# --- Undecided is not passed ---------------------------------------------------------------------


@pytest.fixture(scope="session")
def scarce(made, folder):
    """Gold so scarce that nothing can be decided about anybody."""
    made.gold_pool(20).to_csv(folder / "scarce.csv", index=False)
    return str(folder / "scarce.csv")


@pytest.mark.parametrize(
    ("on_inconclusive", "success", "verdict"),
    [("block", False, "inconclusive"), ("annotate", True, "annotate"), ("pass", True, "pass")],
)
def test_what_stays_undecided_passes_only_when_the_rule_says_so(
    batch, rule, scarce, on_inconclusive, success, verdict
):
    result = batch.validate(
        rule(gold=scarce, max_gap=0.45, on_inconclusive=on_inconclusive, estimator="mdba")
    )
    assert result.result["details"]["verdict"] == verdict
    assert result.success is success
    findings = {row["finding"] for row in result.result["details"]["gaps"]}
    assert "inconclusive" in findings
    assert "biased" not in findings


@pytest.mark.parametrize("on_inconclusive", ["block", "annotate", "pass"])
def test_no_estimate_at_all_never_passes(frames, made, rule, on_inconclusive):
    # Each labeler saw one group only, so there is no gap to be had.
    labels = made.labels[
        (made.labels["labeler"] == "L1") == (made.labels["group"] == "women")
    ].reset_index(drop=True)
    result = frames.get_batch({"dataframe": labels}).validate(
        rule(max_gap=1, on_inconclusive=on_inconclusive)
    )
    assert result.success is False
    assert result.result["observed_value"] is None
    assert result.result["details"]["verdict"] == "inconclusive"
    assert all(row["gap"] is None for row in result.result["details"]["gaps"])
    json.dumps(result.to_json_dict(), allow_nan=False)


# --- Rows and columns ----------------------------------------------------------------------------


def test_a_row_condition_chooses_labels_and_leaves_gold_whole(batch, rule, made):
    result = batch.validate(rule(row_condition=Column("labeler") == "L3"))
    kept = made.labels[made.labels["labeler"] == "L3"]
    direct = assess(kept, made.gold, CheckConfig(reference="men"))
    details = result.result["details"]
    assert {row["labeler"] for row in details["gaps"]} == {"L3"}
    assert result.result["observed_value"] == direct.gaps["gap"].item()
    assert details["data"]["n_gold"] == len(made.gold)


def test_columns_that_are_not_needed_are_not_looked_at(frames, made, rule, expected):
    odd = made.labels.assign(note=[{"any": object()} for _ in range(len(made.labels))])
    result = frames.get_batch({"dataframe": odd}).validate(rule())
    assert result.result["observed_value"] == pytest.approx(
        expected.gaps["gap"].iloc[expected.gaps["gap"].abs().argmax()], abs=0
    )
    assert result.result["details"]["data"]["labels_hash"] == expected.data.labels_hash


def test_columns_may_have_other_names_and_groups_may_be_numbers(frames, made, folder, rule):
    names = {"labeler": "rater", "label": "decision", "group": "sex"}
    codes = {"men": 0, "women": 1}
    labels = made.labels.rename(columns=names).assign(sex=made.labels["group"].map(codes))
    gold = made.gold.rename(columns={"group": "sex", "gold": "truth"})
    gold["sex"] = gold["sex"].map(codes)
    gold.to_parquet(folder / "coded.parquet")
    result = frames.get_batch({"dataframe": labels}).validate(
        rule(
            gold=str(folder / "coded.parquet"),
            labeler_column="rater",
            label_column="decision",
            group_column="sex",
            gold_column="truth",
            reference_group=0,
        )
    )
    rows = result.result["details"]["gaps"]
    assert {(row["group"], row["reference"]) for row in rows} == {("1", "0")}
    assert result.result["details"]["reference"] == 0


def test_pseudonyms_replace_the_names_in_everything_that_is_stored(batch, rule, monkeypatch):
    monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "a secret")
    result = batch.validate(rule(pseudonymize=True))
    text = json.dumps(result.to_json_dict()["result"])
    assert not any(f'"{name}"' in text or f" {name}" in text for name in ("L1", "L2", "L3"))
    first = result.result["details"]["gaps"][0]["labeler"]
    monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "another secret")
    other = batch.validate(rule(pseudonymize=True))
    assert first not in {row["labeler"] for row in other.result["details"]["gaps"]}


# --- Estimates are shared ------------------------------------------------------------------------


def test_expectations_that_differ_in_thresholds_only_share_one_estimate(batch, rule, monkeypatch):
    estimates.forget()
    fitted = []
    real = estimates.assess_tables
    monkeypatch.setattr(estimates, "assess_tables", lambda *given: fitted.append(1) or real(*given))
    suite = ExpectationSuite(
        name="thresholds",
        expectations=[
            rule(max_gap=0.05, severity="warning"),
            rule(max_gap=0.9, correction="none", on_inconclusive="pass"),
            rule(max_gap=0.1, confidence=0.8),
        ],
    )
    results = batch.validate(suite).results
    # The first two are one estimate; the third has other intervals.
    assert len(fitted) == 2
    assert [each.success for each in results] == [False, True, False]
    again = batch.validate(rule(max_gap=0.05))
    assert len(fitted) == 2
    assert again.result["details"]["gaps"] == results[0].result["details"]["gaps"]


def test_changed_labels_are_estimated_anew(frames, made, rule, batch):
    before = batch.validate(rule()).result["observed_value"]
    turned = made.labels.assign(label=made.labels["label"].where(made.labels.index % 2 == 0, 0))
    after = frames.get_batch({"dataframe": turned}).validate(rule()).result["observed_value"]
    assert before != after


def test_not_more_than_a_few_estimates_are_kept(made):
    estimates.forget()
    few = made.labels[made.labels["labeler"] == "L1"].head(300)
    for seed in range(10):
        estimates.estimate(few, made.gold, CheckConfig(estimator="selection_rate", seed=seed))
    assert len(estimates.finished) == 8


# --- One readable line ---------------------------------------------------------------------------


def test_a_missing_gold_file_is_named_with_the_nearest(batch, rule, folder):
    said = problem(batch.validate(rule(gold=str(folder / "gould.csv"))))
    assert "no such file" in said
    assert str(folder / "gould.csv") in said
    assert "Did you mean 'gold.csv'" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label_column": "lable"}, "'lable' (label_column). Did you mean 'label'"),
        ({"features": ["test_scores"]}, "'test_scores' (features). Did you mean 'test_score'"),
        ({"gold_column": "golden"}, "gold has no column 'golden' (gold_column)"),
        ({"reference_group": "man"}, "reference 'man' is not a group"),
        ({"positive_label": "yes"}, "positive='yes'"),
        (
            {"gold": {"data_source": "x", "asset": "y", "batch_definition": "z"}},
            "data source 'x', asset 'y', batch definition 'z'",
        ),
        ({"row_condition": Column("labler") == "L1"}, "the batch cannot be read"),
        ({"row_condition": Column("labeler") == "nobody"}, "labels has no rows"),
    ],
)
def test_a_wrong_name_is_one_line_that_names_it(batch, rule, change, said):
    assert said in problem(batch.validate(rule(**change)))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (7, "'max_gap' is 7: must be less than or equal to 1"),
        ("0.1", "'max_gap' is '0.1': value is not a valid integer, value is not a valid float"),
        (math.inf, "'max_gap' is inf"),
        (None, "'max_gap' is None"),
    ],
)
def test_a_bad_parameter_is_one_line_in_the_result_and_harms_nobody_else(batch, rule, value, said):
    suite = ExpectationSuite(
        name="parameters", expectations=[rule(max_gap={"$PARAMETER": "limit"}), rule(max_gap=0.9)]
    )
    results = batch.validate(suite, expectation_parameters={"limit": value}).results
    bad = next(each for each in results if each.exception_info["raised_exception"])
    good = next(each for each in results if each is not bad)
    assert said in problem(bad)
    assert good.success is True


@pytest.mark.parametrize(
    "form",
    [lambda gold: gold, lambda gold: gold.to_dict("list"), lambda gold: gold.to_dict("records")],
)
def test_gold_rows_that_a_parameter_brings_do_not_reach_the_result(batch, rule, made, form):
    given = form(made.gold)
    result = batch.validate(
        rule(gold={"$PARAMETER": "gold"}), expectation_parameters={"gold": given}
    )
    assert problem(result)
    assert result.expectation_config.kwargs["gold"] == f"a {type(given).__name__}"


def test_a_parameter_brings_a_path_a_reference_or_a_threshold(batch, rule, folder):
    result = batch.validate(
        rule(gold={"$PARAMETER": "gold"}, max_gap={"$PARAMETER": "limit"}),
        expectation_parameters={"gold": str(folder / "gold.csv"), "limit": 0.9},
    )
    assert result.success is True


def test_a_parameter_without_a_value_stops_everything(batch, rule):
    with pytest.raises(SuiteParameterError, match="gold"):
        batch.validate(rule(gold={"$PARAMETER": "gold"}))


def test_labels_that_cannot_be_understood_are_one_line(frames, made, rule):
    odd = made.labels.assign(label=np.arange(len(made.labels)) % 3)
    assert "must hold two values but has 3" in problem(
        frames.get_batch({"dataframe": odd}).validate(rule())
    )
    gaps = made.labels.assign(labeler=made.labels["labeler"].where(made.labels.index > 5))
    batch = frames.get_batch({"dataframe": gaps})
    assert "6 missing in column 'labeler'" in problem(batch.validate(rule()))
    dropped = batch.validate(rule(drop_missing=True)).result["details"]
    assert dropped["data"]["n_dropped"] == 6
    assert any("dropped 6" in said for said in dropped["messages"])


def test_an_empty_batch_is_not_a_clean_one(frames, made, rule):
    empty = frames.get_batch({"dataframe": made.labels.head(0)})
    assert problem(empty.validate(rule()))
    assert problem(frames.get_batch({"dataframe": pd.DataFrame()}).validate(rule()))
