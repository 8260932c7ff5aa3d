"""`config="mdba.yaml"`: the file is read once, and what it says is what the suite holds."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

from great_expectations.core import ExpectationSuite
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

from mdba_checks import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.gx import (
    ExpectCohortTprGapToBeWithin,
    ExpectLabelerFprGapToBeWithin,
    ExpectLabelerTprGapToBeWithin,
    ExpectOverallTprGapToBeWithin,
    load_suite,
)

SETTINGS = """\
columns: {labeler: rater, cohort: vendor, text: essay}
reference: men
confidence: 0.8
c: [0.9, 1.1]
missing_values: ["", "?"]
policy: {max_gap: 0.2, max_gap_overall: 0.05, mode: annotate}
"""


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "mdba.yaml"
    path.write_text(SETTINGS, encoding="utf-8")
    return path


def written(rule):
    return json.loads(json.dumps(rule.configuration.to_json_dict()))["kwargs"]


def test_every_setting_of_the_file_is_a_setting_of_the_check(settings):
    rule = ExpectLabelerTprGapToBeWithin(config=settings, gold="gold.csv")
    whole = CheckConfig.from_yaml(settings)
    explicit = whole.model_copy(update={"policy": whole.policy.resolved()})
    assert rule.check_config() == explicit


def test_thresholds_that_follow_others_are_written_out_and_the_name_of_the_file_is_not(settings):
    kept = written(ExpectLabelerTprGapToBeWithin(config=str(settings), gold="gold.csv"))
    assert (kept["max_gap"], kept["max_gap_overall"], kept["margin"]) == (0.2, 0.05, 0.1)
    assert (kept["mode"], kept["on_inconclusive"]) == ("annotate", "annotate")
    assert "config" not in kept


def test_a_later_change_of_the_file_does_not_change_a_stored_suite(settings):
    rule = ExpectLabelerTprGapToBeWithin(config=settings, gold="gold.csv")
    suite = ExpectationSuite(name="agreed", expectations=[rule])
    (stored,) = json.loads(json.dumps(suite.to_json_dict()))["expectations"]
    settings.write_text("policy: {max_gap: 1}", encoding="utf-8")
    again = ExpectationConfiguration(type=stored["type"], kwargs=stored["kwargs"]).to_domain_obj()
    assert again.max_gap == 0.2
    settings.unlink()
    assert ExpectationConfiguration(**stored).to_domain_obj().check_config() == rule.check_config()


def test_a_single_field_counts_more_than_the_file(settings):
    rule = ExpectLabelerTprGapToBeWithin(config=settings, gold="gold.csv", max_gap=0.3)
    assert (rule.max_gap, rule.labeler_column) == (0.3, "rater")


def test_the_limit_of_the_whole_is_that_of_the_file_for_the_whole(settings):
    rule = ExpectOverallTprGapToBeWithin(config=settings, gold="gold.csv")
    assert rule.max_gap == 0.05
    assert rule.check_config().policy.max_gap_overall == 0.05
    assert ExpectCohortTprGapToBeWithin(config=settings, gold="gold.csv").max_gap == 0.2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metric: fpr", "says metric 'fpr', and this expectation is about the true positive rate"),
        ("policy: {max_gpa: 0.2}", "unknown key 'policy.max_gpa'. Did you mean 'max_gap'?"),
        ("policy: {max_gap: 3}", "'policy.max_gap' is 3"),
        ("columns: [", "is not valid YAML at line 1"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_it(tmp_path, text, said):
    path = tmp_path / "mdba.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        ExpectLabelerTprGapToBeWithin(config=path, gold="gold.csv")
    assert said in str(raised.value)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_metric_of_the_file_may_be_that_of_the_class(tmp_path):
    path = tmp_path / "mdba.yaml"
    path.write_text("metric: fpr", encoding="utf-8")
    rule = ExpectLabelerFprGapToBeWithin(config=path, gold="gold.csv")
    assert rule.check_config().metric == "fpr"


@pytest.mark.parametrize("config", [{"$PARAMETER": "settings"}, {"policy": {"max_gap": 0.1}}, 3])
def test_only_a_path_is_a_config(config):
    with pytest.raises(InputError, match=r"the path of an mdba\.yaml is needed"):
        ExpectLabelerTprGapToBeWithin(config=config, gold="gold.csv")


def test_without_a_file_the_limit_has_to_be_said():
    with pytest.raises(Exception, match="max_gap"):
        ExpectLabelerTprGapToBeWithin(gold="gold.csv")


def test_in_a_suite_file_the_path_starts_at_the_suite(settings, tmp_path, monkeypatch):
    entry = {
        "type": "expect_labeler_tpr_gap_to_be_within",
        "kwargs": {"config": "mdba.yaml", "gold": "gold.csv"},
    }
    (tmp_path / "suite.json").write_text(
        json.dumps({"name": "short", "expectations": [entry]}), encoding="utf-8"
    )
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    (rule,) = load_suite(tmp_path / "suite.json").expectations
    assert (rule.max_gap, rule.gold) == (0.2, str(tmp_path / "gold.csv"))
    settings.unlink()
    with pytest.raises(InputError, match=r"cannot read config .*mdba\.yaml: No such file"):
        load_suite(tmp_path / "suite.json")
