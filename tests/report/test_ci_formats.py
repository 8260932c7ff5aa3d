from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.report.ci_formats import MOST_OF_A_LEVEL, github_annotations, junit
from tests.helpers import selection_table, some_gold

NASTY = "::error::x\r\n%0A<b>\x1b[31m\x00\u2028,a:b"


def checked(shares: dict[str, tuple[int, int]], **policy):
    """Check labelers by how many of 2,000 women and of 2,000 men they say yes to."""
    labels = selection_table(
        {name: {"women": (w, 2_000), "men": (m, 2_000)} for name, (w, m) in shares.items()}
    )
    config = CheckConfig(
        reference="men", estimator="selection_rate", policy=Policy(max_gap=0.1, margin=0, **policy)
    )
    assessment = assess(labels, some_gold(), config)
    return assessment, gate(assessment)


@pytest.fixture(scope="module")
def three():
    """One labeler is biased, one is undecided, one is fair."""
    return checked({"hard": (400, 1_000), "near": (800, 1_000), "even": (1_000, 1_000)})


def suite_of(assessment, decision) -> ET.Element:
    suite = ET.fromstring(junit(assessment, decision)).find("testsuite")  # noqa: S314  our own
    assert suite is not None
    return suite


def parts(line: str) -> tuple[str, str, str]:
    """Read a line as GitHub's runner does: level, title, message."""
    found = re.fullmatch(r"::(\w+) (?:file=[^,:]*,)?title=([^,:]*)::(.*)", line)
    assert found, line
    return found[1], unquote(found[2]), unquote(found[3])


def test_the_verdict_comes_first_then_who_is_biased_then_who_is_undecided(three):
    read = [parts(line) for line in github_annotations(*three)]
    assert [(level, title) for level, title, _ in read] == [
        ("error", "mdba: block"),
        ("error", "hard, women: biased"),
        ("warning", "near, women: inconclusive"),
    ]
    assert read[0][2] == "\n".join(three[1].reasons)


def test_what_is_let_through_is_no_error():
    made = checked({"hard": (400, 1_000), "even": (1_000, 1_000)}, mode="annotate")
    levels = {parts(line)[0] for line in github_annotations(*made)}
    assert levels == {"warning"}


def test_a_pass_is_one_notice():
    (line,) = github_annotations(*checked({"even": (1_000, 1_000)}))
    assert parts(line)[:2] == ("notice", "mdba: pass")


def test_a_name_cannot_become_a_command_or_another_line():
    made = checked({NASTY: (400, 1_000), "even": (1_000, 1_000)})
    lines = github_annotations(*made, file="a,b:c.csv")
    assert len(lines) == 2
    for line in lines:
        assert line.splitlines() == [line]
        assert line.startswith("::error file=a%2Cb%3Ac.csv,title=")
    assert parts(lines[1].replace("file=a%2Cb%3Ac.csv,", ""))[1] == (
        NASTY.replace("\u2028", " ") + ", women: biased"
    )


def test_github_gets_no_more_annotations_than_it_shows():
    made = checked({f"L{number}": (400, 1_000) for number in range(15)})
    assert len(github_annotations(*made)) == 1 + MOST_OF_A_LEVEL


def test_junit_has_a_case_per_labeler_and_group(three):
    suite = suite_of(*three)
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {
        "hard: women vs men": ["failure"],
        "near: women vs men": ["skipped"],
        "even: women vs men": [],
    }
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    assert suite.find("properties/property[@name='verdict']").get("value") == "block"


def test_undecided_is_an_error_where_it_stops_the_labels():
    suite = suite_of(*checked({"near": (800, 1_000)}))
    assert (suite.get("errors"), suite.get("skipped")) == ("1", "0")


def test_undecided_is_skipped_where_the_policy_does_not_stop_on_it():
    made = checked({"near": (800, 1_000)}, on_inconclusive="pass")
    suite = suite_of(*made)
    assert (suite.get("errors"), suite.get("skipped")) == ("0", "1")


def test_a_stopped_check_is_never_a_green_report():
    assessment, decision = checked({"even": (1_000, 1_000)})
    stopped = replace(decision, verdict="block", reasons=("what stays does not pass",))
    suite = suite_of(assessment, stopped)
    assert suite.get("failures") == "1"
    assert suite.find("testcase[@name='verdict']/failure").get("message") == stopped.reasons[0]


def test_junit_is_valid_whatever_a_labeler_is_called():
    made = checked({NASTY: (400, 1_000), "even": (1_000, 1_000)})
    names = [case.get("name") for case in suite_of(*made).iter("testcase")]
    cleaned = NASTY.replace("\x00", "").replace("\x1b", "")
    assert f"{cleaned}: women vs men" in names
