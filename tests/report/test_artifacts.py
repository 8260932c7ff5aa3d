"""Pages and tables for Prefect, without Prefect."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.report.artifacts import (
    artifact_key,
    labeler_rows,
    plain,
    plan_page,
    training_page,
    verdict_page,
)
from tests.helpers import selection_table, some_gold

# Names that would be an image, a link, a cell, a heading or a script if they were markdown.
NASTY = [
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/x.png)",
    "[click](javascript:alert(1))",
    "a|b",
    "# top",
    "`code`",
    "**loud**",
    "https://evil.example/?q",
    "two\nlines",
    "back\\slash",
    "&lt;",
]


@pytest.fixture(scope="module")
def nasty():
    shares = {name: {"men": (30, 60), "women": (5, 60)} for name in NASTY}
    config = CheckConfig(estimator="selection_rate", reference="men")
    return assess(selection_table(shares), some_gold(), config)


@pytest.fixture(scope="module")
def undecided():
    shares = {f"L{n:02}": {"men": (8, 20), "women": (9, 20)} for n in range(40)}
    config = CheckConfig(estimator="selection_rate", reference="men")
    return assess(selection_table(shares), some_gold(), config)


class Found(HTMLParser):
    """What a browser would make of a page: its elements, and its text."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        # As lenient as Prefect's own renderer: markup in markdown counts.
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


class TestNamesAreTextAndNothingElse:
    def test_on_the_page_of_a_verdict(self, nasty):
        page = Found(verdict_page(nasty, gate(nasty), source="<b>labels</b>.csv"))
        images = [attributes["src"] for tag, attributes in page.tags if tag == "img"]
        assert len(images) == 1
        assert images[0].startswith("data:image/png;base64,")
        assert not {tag for tag, _ in page.tags} & {"a", "script", "b", "code"}
        for name in NASTY:
            assert unescape(name.replace("\n", "\\n")) in unescape(page.text), name

    def test_on_the_plan(self, nasty):
        wide = nasty.with_policy(Policy(max_gap=float(nasty.gaps["gap"].abs().max())))
        page = Found(plan_page(wide))
        assert not {tag for tag, _ in page.tags} & {"a", "img", "script", "code"}

    def test_in_what_a_person_typed(self, nasty):
        said = {"decision": "release", "name": NASTY[0], "reason": NASTY[1], "decided_at": "now"}
        page = Found(verdict_page(nasty, gate(nasty), approval=said))
        assert sum(tag == "img" for tag, _ in page.tags) == 1
        assert NASTY[0] in page.text

    def test_in_the_page_of_a_model(self):
        rates = [{"group": name, "tpr": 0.5, "fpr": None, "n_gold": 3} for name in NASTY]
        page = Found(training_page(rates, source=NASTY[0], target="raw", model="m.ubj"))
        assert not {tag for tag, _ in page.tags} & {"a", "img", "script", "code"}
        assert sum(tag == "tr" for tag, _ in page.tags) == 1 + len(NASTY)

    @pytest.mark.parametrize("name", NASTY)
    def test_alone_in_a_table(self, name):
        page = Found(f"| x |\n| --- |\n| {plain(name)} |")
        assert [tag for tag, _ in page.tags if tag in ("td", "img", "a")] == ["td"]

    def test_in_table_artifacts_nothing_invisible_is_left(self, nasty):
        rows = labeler_rows(nasty, gate(nasty))
        assert r"two\nlines" in {row["labeler"] for row in rows}


class TestAPageOfAVerdict:
    def test_says_first_what_was_decided_and_why(self, nasty):
        lines = verdict_page(nasty, gate(nasty)).splitlines()
        assert lines[0].startswith("# Blocked: 11 of 11 labelers treat women and men differently")
        assert lines[2] == "These labels must not train a model as they are."

    def test_names_the_hashes_of_what_was_checked(self, nasty):
        page = verdict_page(nasty, gate(nasty), outputs={"released": "out.csv"})
        assert nasty.data.labels_hash in page
        assert nasty.data.gold_hash in page
        assert "| released | out.csv |" in page

    def test_says_how_long_a_person_can_decide_only_while_they_can(self, nasty):
        assert "for 24 hours from now" in verdict_page(nasty, gate(nasty), waiting="24 hours")
        assert "from now" not in verdict_page(nasty, gate(nasty))

    def test_shows_the_worst_rows_and_says_how_many_more_there_are(self, undecided):
        page = verdict_page(undecided, gate(undecided))
        assert len(re.findall(r"^\| L\d\d ", page, re.MULTILINE)) == 15
        assert "25 more are in the table of labelers." in page
        assert len(labeler_rows(undecided, gate(undecided))) == 40

    def test_is_judged_by_the_policy_of_the_decision(self, nasty):
        lenient = Policy(max_gap=1.0)
        assert verdict_page(nasty, gate(nasty, lenient)).startswith("# Passed")


def test_without_matplotlib_the_table_has_bars_of_letters():
    code = """
import sys
sys.modules["matplotlib"] = None  # what Python does for a package that cannot be imported
from mdba_checks import CheckConfig, assess, gate
from mdba_checks.report import verdict_page
from tests.helpers import selection_table, some_gold
labels = selection_table({"Ann": {"men": (300, 600), "women": (60, 600)}})
found = assess(labels, some_gold(), CheckConfig(estimator="selection_rate", reference="men"))
print(verdict_page(found, gate(found)))
"""
    page = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120
    ).stdout
    assert "data:image" not in page
    (row,) = (line for line in page.splitlines() if line.startswith("| Ann"))
    bar = row.split("`")[1]
    # A gap of -0.4 lies left of the tolerated range, which is in the middle.
    assert len(bar) == 25
    assert bar.index("●") < bar.index("├") < bar.index("┼") < bar.index("┤")


def test_nothing_open_needs_no_plan(nasty):
    assert plan_page(nasty) == ""


class TestKeys:
    @pytest.mark.parametrize(
        "source",
        [
            "a/B c.parquet",
            "sqlite:///x.db::Labels 2",
            "",
            "ünï.csv.gz",
            "the DataFrame",
            "..",
            "a/",
        ],
    )
    def test_are_what_prefect_takes(self, source):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", artifact_key("verdict", source))

    def test_stay_the_same_for_one_data_set(self):
        assert artifact_key("verdict", "x/labels.csv") == artifact_key(
            "verdict", "y/labels.parquet"
        )


def test_a_rate_that_does_not_exist_is_a_dash():
    rates = [{"group": "men", "tpr": None, "fpr": float("nan"), "n_gold": 0}]
    page = training_page(rates, source="x", target="raw")
    assert page.splitlines()[-1] == "| men | – | – | 0 |"
