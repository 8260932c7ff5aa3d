"""Checkpoint, action and Data Docs in a real project, with this package and without it."""

from __future__ import annotations

import json
import pickle
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

import great_expectations as gx
from great_expectations.checkpoint import UpdateDataDocsAction

from mdba_checks import CheckConfig, assess
from mdba_checks.gx import BlockOnLabelerGap, ExpectLabelerFprGapToBeWithin, LabelerGapError
from mdba_checks.gx.base import RULE_FIELDS

# A name that would run in the reader's browser, and that string templates would take for theirs.
NASTY = "<img src=x onerror=alert(1)> $gap &amp;"


class Project:
    """A file context with labels and gold beside it, as a team would have it."""

    def __init__(self, root: Path, labels, gold) -> None:
        self.root = root
        labels.to_parquet(root / "labels.parquet")
        (root / "data").mkdir()
        gold.to_csv(root / "data" / "gold.csv", index=False)
        self.context = gx.get_context(mode="file", project_root_dir=root)
        self.context.variables.progress_bars = {"globally": False}
        files = self.context.data_sources.add_pandas_filesystem("files", base_directory=root)
        asset = files.add_parquet_asset("labels")
        self.labels = asset.add_batch_definition_path("all", "labels.parquet")

    def checkpoint(self, name: str, rules, *actions):
        suite = self.context.suites.add(gx.ExpectationSuite(name=name, expectations=list(rules)))
        validation = self.context.validation_definitions.add(
            gx.ValidationDefinition(name=name, data=self.labels, suite=suite)
        )
        return self.context.checkpoints.add(
            gx.Checkpoint(name=name, validation_definitions=[validation], actions=list(actions))
        )

    def stored_suite(self, name: str) -> Path:
        return self.root / "gx" / "expectations" / f"{name}.json"


@pytest.fixture(scope="module")
def project(made, tmp_path_factory):
    labels = made.labels.assign(labeler=made.labels["labeler"].replace("L1", NASTY))
    return Project(tmp_path_factory.mktemp("project"), labels, made.gold)


@pytest.fixture(scope="module")
def fpr():
    return lambda **changes: ExpectLabelerFprGapToBeWithin(
        **{"max_gap": 0.9, "gold": "data/gold.csv", "reference_group": "men", **changes}
    )


@pytest.fixture(scope="module")
def gate(project, rule, fpr):
    """The whole arrangement; gold by a path that is relative to the project."""
    return project.checkpoint(
        "gate",
        [rule(gold="data/gold.csv"), fpr(severity="info")],
        BlockOnLabelerGap(severity="critical", sidecar="labels.mdba.json", findings="findings.csv"),
        UpdateDataDocsAction(name="docs"),
    )


@pytest.fixture(scope="module")
def stopped(gate):
    with pytest.raises(LabelerGapError) as caught:
        gate.run()
    return caught.value


# --- The action ----------------------------------------------------------------------------------


def test_a_biased_labeler_stops_the_checkpoint_with_one_line(stopped):
    said = str(stopped)
    assert said.startswith(
        "checkpoint 'gate' blocked: expect_labeler_tpr_gap_to_be_within (critical)"
    )
    assert "biased beyond ±0.1" in said
    assert "\n" not in said
    travelled = pickle.loads(pickle.dumps(stopped))  # noqa: S301  it travels to workers
    assert (str(travelled), travelled.verdict) == (said, "block")


def test_the_sidecar_says_why_with_everything_it_rests_on(stopped, project):
    text = (project.root / "labels.mdba.json").read_text(encoding="ascii")
    note = json.loads(text)
    assert note["verdict"] == "block"
    assert note["reasons"][0] in str(stopped)
    tpr, fpr = sorted(note["checks"], key=lambda check: check["metric"], reverse=True)
    assert (tpr["success"], tpr["severity"], tpr["verdict"]) == (False, "critical", "block")
    assert (fpr["success"], fpr["severity"], fpr["verdict"]) == (True, "info", "pass")
    assert {row["labeler"] for row in tpr["gaps"]} == {NASTY, "L2", "L3"}
    assert tpr["policy"]["max_gap"] == 0.1
    assert len(tpr["data"]["labels_hash"]) == 32


def test_the_findings_are_a_csv_with_a_row_per_rule_and_comparison(stopped, project):
    found = pd.read_csv(project.root / "findings.csv")
    checks = json.loads((project.root / "labels.mdba.json").read_text())["checks"]
    wanted = {
        (check["expectation"], row["labeler"], row["group"]): row["finding"]
        for check in checks
        for row in check["gaps"]
    }
    mine = found[found["about"] == "labeler"]
    keys = zip(mine["expectation"], mine["name"], mine["group"], strict=True)
    assert dict(zip(keys, mine["finding"], strict=True)) == wanted
    assert len(mine) == 6  # three labelers, two rules


def test_a_milder_failure_is_noted_and_lets_the_run_go_on(project, rule, caplog):
    mild = project.checkpoint(
        "mild",
        [rule(gold="data/gold.csv", severity="warning")],
        BlockOnLabelerGap(sidecar="mild.mdba.json"),
    )
    result = mild.run()
    assert result.success is False  # Great Expectations does not know degrees of failure
    note = json.loads((project.root / "mild.mdba.json").read_text())
    assert note["verdict"] == "annotate"
    assert "biased beyond" in note["reasons"][0]
    (run,) = result.run_results.values()
    assert run.meta["label_bias"]["verdict"] == "annotate"
    assert "goes on in spite of expect_labeler_tpr_gap" in caplog.text
    strict = BlockOnLabelerGap(severity="warning", sidecar="mild.mdba.json")
    mild.actions = [strict]
    mild.save()
    with pytest.raises(LabelerGapError, match="warning"):
        mild.run()
    assert json.loads((project.root / "mild.mdba.json").read_text())["verdict"] == "block"


def test_what_is_undecided_is_not_called_blocked(project, made, rule):
    # A limit in the middle of somebody's interval, and no margin: nobody can say.
    gaps = assess(made.labels, made.gold, CheckConfig(reference="men")).gaps
    limit = float(gaps["gap"].abs().max())
    undecided = project.checkpoint(
        "undecided",
        [rule(gold="data/gold.csv", max_gap=limit, margin=0)],
        BlockOnLabelerGap(sidecar="undecided.mdba.json"),
    )
    with pytest.raises(LabelerGapError, match="checkpoint 'undecided' undecided: ") as caught:
        undecided.run()
    assert caught.value.verdict == "inconclusive"
    assert "biased" not in str(caught.value)
    note = json.loads((project.root / "undecided.mdba.json").read_text())
    assert note["verdict"] == "inconclusive"


def test_what_was_annotated_is_not_called_a_pass(project, rule):
    noted = project.checkpoint(
        "noted",
        [rule(gold="data/gold.csv", mode="annotate")],
        BlockOnLabelerGap(sidecar="noted.mdba.json"),
    )
    assert noted.run().success is True
    note = json.loads((project.root / "noted.mdba.json").read_text())
    assert note["verdict"] == "annotate"
    assert "biased beyond" in note["reasons"][0]


def test_what_holds_passes(project, fpr):
    fine = project.checkpoint("fine", [fpr()], BlockOnLabelerGap(sidecar="fine.mdba.json"))
    assert fine.run().success is True
    assert json.loads((project.root / "fine.mdba.json").read_text())["verdict"] == "pass"


def test_a_check_that_could_not_take_place_stops_the_run(project, rule):
    broken = project.checkpoint("broken", [rule(gold="data/gould.csv")], BlockOnLabelerGap())
    with pytest.raises(LabelerGapError, match="not checked: gold: no such file") as caught:
        broken.run()
    assert str(project.root / "data" / "gould.csv") in str(caught.value)


def test_so_does_one_that_only_informs(project, rule):
    quiet = project.checkpoint(
        "quiet",
        [rule(gold="data/gould.csv", severity="info")],
        BlockOnLabelerGap(sidecar="quiet.mdba.json"),
    )
    with pytest.raises(LabelerGapError, match=r"'quiet' stopped: .* not checked: gold"):
        quiet.run()
    assert json.loads((project.root / "quiet.mdba.json").read_text())["verdict"] == "error"


def test_a_run_without_any_expectation_about_labelers_is_stopped(project):
    other = gx.expectations.ExpectTableRowCountToBeBetween(min_value=1)
    empty = project.checkpoint("empty", [other], BlockOnLabelerGap())
    with pytest.raises(LabelerGapError, match="no expectation about labelers was evaluated"):
        empty.run()


def test_without_details_the_action_stops_all_the_same(project, rule):
    bare = project.checkpoint("bare", [rule(gold="data/gold.csv")], BlockOnLabelerGap())
    bare.result_format = "BOOLEAN_ONLY"
    bare.save()
    with pytest.raises(LabelerGapError, match="no details were kept"):
        bare.run()


def test_a_run_in_which_one_result_replaced_another_is_stopped(project, made, fpr):
    # Great Expectations names a batch by its asset and not by its file, so the second is kept only.
    made.labels.to_parquet(project.root / "more.parquet")
    suite = project.context.suites.add(gx.ExpectationSuite(name="twice", expectations=[fpr()]))
    other = project.labels.data_asset.add_batch_definition_path("more", "more.parquet")
    both = [
        project.context.validation_definitions.add(
            gx.ValidationDefinition(name=f"twice {data.name}", data=data, suite=suite)
        )
        for data in (project.labels, other)
    ]
    twice = project.context.checkpoints.add(
        gx.Checkpoint(name="twice", validation_definitions=both, actions=[BlockOnLabelerGap()])
    )
    with pytest.raises(LabelerGapError, match="2 validation definitions left 1 results"):
        twice.run()


def test_a_run_that_lost_an_expectation_on_the_way_is_stopped(project, fpr):
    project.checkpoint("lossy", [fpr()], BlockOnLabelerGap())
    path = project.stored_suite("lossy")
    stored = json.loads(path.read_text())
    unknown = {**stored["expectations"][0], "type": "expect_something_of_another_package"}
    unknown["id"] = "00000000-0000-0000-0000-000000000001"
    stored["expectations"].append(unknown)
    path.write_text(json.dumps(stored))
    checkpoint = project.context.checkpoints.get("lossy")
    with pytest.raises(LabelerGapError, match="'lossy' names 2 expectations but 1 were evaluated"):
        checkpoint.run()


# --- Data Docs -----------------------------------------------------------------------------------


class Seen(HTMLParser):
    """What a browser would make of a page: its elements, and the text that one reads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(stopped, project):
    site = project.root / "gx" / "uncommitted" / "data_docs" / "local_site"
    (found,) = (site / "validations" / "gate").rglob("*.html")
    return Seen(found.read_text(encoding="utf-8"))


def test_data_docs_state_the_rule_in_a_sentence(page):
    rule = "For every labeler, the true positive rate for each group must be within ±0.1"
    assert f"{rule} of that for men" in page.text
    assert "gold from data/gold.csv" in page.text
    assert "more than 10% undecided fails" in page.text


def test_data_docs_show_every_labeler_with_gap_interval_and_finding(page, expected):
    for row in expected.gaps.itertuples():
        for number in (row.gap, row.ci_low, row.ci_high):
            assert f"{number:+.3f}".replace("-", "−") in page.text
    assert "biased" in page.text
    assert "verdict: block" in page.text


def test_bars_are_drawn_without_any_network(page):
    drawn = [dict(attrs).get("style") or "" for tag, attrs in page.tags if tag == "span"]
    bars = [style for style in drawn if "position:relative" in style]
    assert len(bars) == 8  # three labelers and all labels together, two expectations
    assert not any("url(" in style for style in drawn)


def test_a_name_from_the_data_is_text_and_never_markup(page):
    assert NASTY in "".join(page.words)
    assert not any(attrs.get("onerror") for _, attrs in page.tags)


def test_the_sentence_is_there_for_other_front_ends_too(rule):
    asked = rule(gold={"$PARAMETER": "gold"}, reference_group=0)
    asked.render()
    (content,) = asked.rendered_content
    value = content.to_json_dict()["value"]
    assert value["template"].startswith("For every labeler, the $rate for each $group_column")
    assert value["params"]["reference"]["value"] == "0"
    assert value["params"]["gold"]["value"] == "the parameter gold"


def test_an_error_is_shown_without_a_traceback(project, rule):
    nasty = rule(gold="data/gold.csv", label_column="<script>alert(1)</script>")
    project.checkpoint("oops", [nasty], UpdateDataDocsAction(name="docs")).run()
    site = project.root / "gx" / "uncommitted" / "data_docs" / "local_site"
    (found,) = (site / "validations" / "oops").rglob("*.html")
    seen = Seen(found.read_text(encoding="utf-8"))
    assert "Not checked: the batch has no column" in seen.text
    assert "<script>alert(1)</script>" in seen.text
    assert "<script>alert(1)" not in found.read_text(encoding="utf-8")
    assert "Traceback" not in seen.text


# --- Fresh processes -----------------------------------------------------------------------------

WITHOUT = """
import sys
import great_expectations as gx

context = gx.get_context(mode="file", project_root_dir=sys.argv[1])
print(len(context.suites.get("gate").expectations))
try:
    context.checkpoints.get("gate").run()
except Exception as error:
    print(type(error).__name__, error)
else:
    print("SUCCESS")
assert not any(name.startswith("mdba_checks") for name in sys.modules)
"""

WITH = """
import json
import sys

import mdba_checks.gx
import great_expectations as gx

context = gx.get_context(mode="file", project_root_dir=sys.argv[1])
context.variables.progress_bars = {"globally": False}
suite = context.suites.get("gate")
result = context.validation_definitions.get("gate").run()
try:
    context.checkpoints.get("gate").run()
except mdba_checks.gx.LabelerGapError as error:
    said = str(error)
print(json.dumps({
    "kwargs": [rule.configuration.to_json_dict()["kwargs"] for rule in suite.expectations],
    "severity": [rule.severity.value for rule in suite.expectations],
    "observed": [each.result["observed_value"] for each in result.results],
    "said": said,
}))
"""


def test_without_this_package_the_suite_is_silently_empty_but_the_checkpoint_fails(
    stopped, project, run_fresh
):
    named, said = run_fresh(WITHOUT, project.root).strip().split("\n", 1)
    # This is what Great Expectations does, and why the action is needed.
    assert named == "0"
    assert "SUCCESS" not in said
    assert "block_on_labeler_gap" in said


def test_a_new_process_finds_the_same_rules_and_numbers_and_warns_of_nothing(
    stopped, project, run_fresh, expected
):
    told = json.loads(run_fresh(WITH, project.root, options=("-W", "error")).splitlines()[-1])
    stored = json.loads(project.stored_suite("gate").read_text())["expectations"]
    assert told["kwargs"] == [entry["kwargs"] for entry in stored]
    assert all(set(entry["kwargs"]) == set(RULE_FIELDS) for entry in stored)
    assert told["severity"] == ["critical", "info"]
    assert told["said"] == str(stopped)
    gaps = expected.gaps["gap"]
    assert told["observed"][0] == pytest.approx(gaps[gaps.abs().idxmax()], abs=1e-12)
