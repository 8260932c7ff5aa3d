from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from mdba_checks import CheckConfig, Policy, __version__, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import to_record, trend
from mdba_checks.report import html, labelers, render, write_report
from mdba_checks.simulation import simulate
from tests.report.builders import NASTY, SHARES, check, many

VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """A page as a reader sees it: texts by element, and every attribute."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def of(self, tag: str) -> list[str]:
        return [text for where, text in self.texts if where == tag]

    @property
    def words(self) -> str:
        shown = (text for where, text in self.texts if where not in {"script", "style"})
        return " ".join(" ".join(shown).split())


def page(*args, **settings) -> Page:
    return Page(render(*check(*args, **settings)))


def test_the_report_opens_with_the_verdict_in_one_sentence():
    # Ada's gap is 80/400 - 240/400 = -0.4; Ben's -0.01; Cleo's 40 items decide nothing.
    (title,) = page().of("h1")
    assert title == (
        "Blocked: 1 of 3 labelers treats women and men differently by more than 10 percentage "
        "points."
    )


OPEN_ANNOTATED = {"max_undecided": 0, "on_inconclusive": "annotate"}


@pytest.mark.parametrize(
    ("names", "policy", "begins"),
    [
        (["Ben"], {}, "Passed: the labeler treats women and men alike, within 10 percentage"),
        (["Cleo"], {}, "Undecided: no labeler is shown to be biased, but 1 of 1 labeler cannot"),
        (["Cleo"], {"on_inconclusive": "pass"}, "Passed: no labeler is shown to be biased, but"),
        (
            ["Cleo", "Ben"],
            {"max_undecided": 0, "on_inconclusive": "annotate"},
            "Annotated: no labeler is shown",
        ),
        (["Ada"], {"mode": "quarantine"}, "Quarantined: 1 of 1 labeler treats women and men"),
        (["Ada", "Ben"], {"max_gap": 0.5}, "Passed: all 2 labelers treat women and men alike"),
    ],
)
def test_every_verdict_has_its_sentence(names, policy, begins):
    shown = page({name: SHARES[name] for name in names}, policy=policy)
    assert shown.of("h1")[0].startswith(begins)


@pytest.fixture(scope="module")
def biased_as_a_whole():
    """Two labelers find 20% and 94% of suitable women: together 57%, and 95% of suitable men."""
    made = simulate(n_items=3_000, n_labelers=2, tprs=[0.2, 0.94], seed=1)
    return assess(made.labels, made.gold, CheckConfig(reference="men"))


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({}, "10 percentage points, and so does 1 of 2 labelers."),
        (
            {"max_gap_overall": 0.05},
            "5 percentage points, and 1 of 2 labelers by more than 10 percentage points.",
        ),
        (
            {"max_gap": 0.9, "max_gap_overall": 0.1},
            "10 percentage points; no single labeler is shown to be biased.",
        ),
    ],
)
def test_a_data_set_that_is_biased_as_a_whole_is_said_first(biased_as_a_whole, policy, why):
    decision = gate(biased_as_a_whole, Policy(**policy))
    (title,) = Page(render(biased_as_a_whole, decision)).of("h1")
    whole = "Blocked: the labels as a whole treat women and men differently by more than "
    assert title == whole + why


def test_why_has_the_reasons_of_the_decision():
    assessment, decision = check()
    words = Page(render(assessment, decision)).words
    for reason in decision.reasons:
        assert reason.replace("-0.", "−0.") in words


def test_rates_and_gaps_are_the_shares_of_yes_that_were_put_in():
    words = page({"Ada": SHARES["Ada"]}).words
    assert "−0.40" in words
    assert "women 20% men 60%" in words
    assert "selection rate" in words


def test_findings_follow_the_policy_of_the_decision_not_that_of_the_assessment():
    assessment, _ = check()
    lenient = gate(assessment, Policy(max_gap=0.9))
    shown = Page(render(assessment, lenient))
    assert shown.of("h1")[0].startswith("Passed: all 3 labelers")
    assert "±0.9" in shown.words


def test_the_same_check_gives_the_same_file():
    assert render(*check()) == render(*check())


def test_the_time_is_shown_when_it_is_given():
    when = datetime(2024, 2, 29, 23, 30, tzinfo=UTC)
    assert "2024-02-29 23:30 UTC" in Page(render(*check(), made=when)).words


def test_settings_hashes_and_versions_are_in_the_report():
    assessment, decision = check(seed=41)
    words = Page(render(assessment, decision)).words
    for known in (
        assessment.data.labels_hash,
        assessment.data.gold_hash,
        f"mdba-checks {__version__}",
        "policy.max_gap 0.1",
        "seed 41",
        "estimator selection_rate",
    ):
        assert known in words


def test_what_it_does_not_say_is_said():
    words = page().words
    assert "It is about labels, not about intent." in words
    assert "Inconclusive is not fair, and it is not biased." in words
    assert "Gold defines what right means here." in words


def test_names_are_shown_as_they_are():
    names = [*NASTY, "Zoë 李 🙂", "0", "None", "x" * 500]
    shown = page(dict.fromkeys(names, SHARES["Ada"]))
    assert set(names) <= set(shown.of("bdi"))


def test_groups_and_columns_are_shown_as_they_are():
    shares = {"Ada": {name: (100 + 30 * number, 400) for number, name in enumerate(NASTY)}}
    shown = page(shares, reference=None, rename={"x": NASTY[0]})
    assert set(NASTY) <= set(shown.of("bdi"))
    assert {f"{name} compared with everyone else" for name in NASTY} <= set(shown.of("figcaption"))
    assert f"features {NASTY[0]}" in shown.words


def test_nothing_in_the_data_becomes_an_element_or_an_attribute():
    plain = page({"a": SHARES["Ada"], "b": SHARES["Ben"]})
    nasty = page({NASTY[1]: SHARES["Ada"], NASTY[0]: SHARES["Ben"]})
    assert [each[:2] for each in nasty.attributes] == [each[:2] for each in plain.attributes]


def test_characters_that_cannot_be_seen_are_shown_as_escapes():
    shown = page({"anna\u202egnp.exe\x00\u200b": SHARES["Ada"], "b\u2066": SHARES["Ben"]})
    assert "anna\\u202egnp.exe\\x00\\u200b" in shown.of("bdi")
    assert "b\\u2066" in shown.of("bdi")


def test_the_page_refers_to_nothing_outside_of_it():
    for tag, name, value in page().attributes:
        assert name not in {"src", "srcset", "data", "action", "background", "poster", "style"}
        assert not name.startswith("on")
        if name in {"href", "xlink:href"}:
            assert (tag, value[:1]) == ("a", "#")


def test_the_security_policy_allows_the_style_and_the_script_of_the_page_only():
    text = render(*check())
    policy = next(
        v
        for t, n, v in Page(text).attributes
        if t == "meta" and n == "content" and v[:7] == "default"
    )
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        inside = re.findall(rf"<{element}>(.*?)</{element}>", text, flags=re.DOTALL)
        assert len(inside) == 1
        digest = base64.b64encode(hashlib.sha256(inside[0].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_ids_are_unique_and_what_refers_to_them_finds_them():
    shown = page()
    ids = [value for _, name, value in shown.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for _, name, value in shown.attributes:
        if name in {"aria-controls", "aria-labelledby"}:
            assert set(value.split()) <= set(ids)
        if name == "href":
            assert value[1:] in ids


def test_many_labelers_are_listed_and_the_worst_60_are_drawn():
    assessment, decision = many(70)
    text = render(assessment, decision)
    assert text.count("<tbody class=") == 70
    assert text.count('<g class="row') == 60
    assert "The worst 60 of 70 are drawn." in Page(text).words


def test_everybody_is_listed_and_the_worst_can_be_opened(monkeypatch):
    monkeypatch.setattr(labelers, "FULL", 10)
    text = render(*many(30))
    assert text.count("<tbody class=") == 30
    assert text.count('<tr class="more"') == 10
    assert "The worst 10 can be opened" in Page(text).words


def test_what_is_too_much_for_a_browser_is_left_out_and_said(monkeypatch):
    monkeypatch.setattr(labelers, "MAX_ROWS", 10)
    text = render(*many(30))
    assert text.count("<tbody class=") == 10
    assert "The worst 10 of 30 comparisons are listed" in Page(text).words


def test_the_worst_stand_first():
    shown = [name for name in page().of("bdi") if name in SHARES]
    assert shown[:3] == ["Ada", "Cleo", "Ben"]


def test_several_groups_are_compared_each_with_everyone_else():
    shares = {"Ada": {"a": (30, 100), "b": (60, 100), "c": (60, 100)}}
    shown = page(shares, reference=None)
    headings = shown.of("figcaption")
    assert sorted(headings) == [f"{each} compared with everyone else" for each in "abc"]


def test_a_labeler_without_an_estimate_is_shown_with_the_reason():
    shown = page({"Ada": SHARES["Ada"], "Eve": {"women": (5, 40)}})
    assert "no estimate" in shown.words
    assert "Has no labels for men." in shown.words


@pytest.mark.parametrize("metric", ["tpr", "fpr", "tnr", "fnr"])
def test_a_check_with_models_has_every_section(metric):
    made = simulate(n_items=2_500, n_labelers=3, tprs=[0.4, 0.7, 0.95], gold_per_group=120, seed=2)
    assessment = assess(made.labels, made.gold, CheckConfig(reference="men", metric=metric))
    shown = Page(render(assessment, gate(assessment)))
    titles = [value for tag, name, value in shown.attributes if tag == "section" and name == "id"]
    wanted = ["whole", "gaps", "labelers", "plan", "judging", "assumptions"]
    wanted += ["columns", "reading", "record"]
    if not (assessment.gaps["finding"] == "inconclusive").any():
        wanted.remove("plan")
    if not (assessment.gaps["cause"] == "evidence").any():
        wanted.remove("judging")
    assert titles == wanted
    for diagnostic in assessment.diagnostics:
        if diagnostic.labeler is None and diagnostic.group is None:
            assert diagnostic.sentence[1:] in shown.words


def test_earlier_checks_are_shown_with_the_labeler():
    before, after = check({"Ada": SHARES["Ben"]}), check({"Ada": SHARES["Ada"]})
    records = [
        {**to_record(*each).values(), "created": f"2026-0{month}-01T10:00:00+00:00"}
        for month, each in enumerate((before, after), start=1)
    ]
    words = Page(render(*after, history=trend(records))).words
    # 200/400 - 204/400, then 80/400 - 240/400: eleven standard errors of about 0.035 apart.
    assert (
        "Checks so far: 2026-01-01 −0.01 fair; 2026-02-01 −0.40 biased (a change beyond chance)."
    ) in words


def test_a_report_is_written_whole_and_replaces_nothing_unasked(tmp_path):
    target = tmp_path / "report.html"
    assessment, decision = check()
    write_report(target, assessment, decision)
    first = target.read_text(encoding="utf-8")
    assert first.startswith("<!doctype html>")
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", first)
    with pytest.raises(InputError, match="it exists"):
        write_report(target, assessment, decision)
    write_report(target, assessment, decision, force=True, title="Second & last")
    assert "Second &amp; last" in target.read_text(encoding="utf-8")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_to_html_is_the_report_of_the_configured_policy(tmp_path):
    assessment, decision = check()
    text = assessment.to_html(tmp_path / "out.html")
    assert text == render(assessment, decision)
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == text


def test_a_notebook_shows_the_headline_and_the_plot():
    assessment, decision = check({NASTY[0]: SHARES["Ada"], "Ben": SHARES["Ben"]})
    shown = Page(assessment._repr_html_())
    assert shown.of("strong")[0].startswith("Blocked: 1 of 2 labelers")
    assert ("svg", "role", "img") in shown.attributes
    assert not any(name.startswith("on") for _, name, _ in shown.attributes)
    assert shown.attributes == Page(html.fragment(assessment, decision)).attributes
