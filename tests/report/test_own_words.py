"""Everything that people read says what was decided in the words of the table, or of the user."""

from __future__ import annotations

import html
import re

import pytest

from mdba_checks import Assessment, CheckConfig, Words, assess, gate
from mdba_checks.outputs import to_record
from mdba_checks.report import github_annotations, junit, labeler_rows, render, verdict_page
from mdba_checks.simulation import simulate

ADA = "Lovelace, Ada"
SAID = (
    r'says "invite" for 4\d(\.\d)?% of women and 9\d(\.\d)?% of men where "invite" is right: a gap'
)


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    made = simulate(n_items=2500, n_labelers=2, tprs=[0.4, 0.94], gold_per_group=200, seed=1)
    words = {0: "reject", 1: "invite"}
    labels = made.labels.assign(
        label=made.labels["label"].map(words),
        labeler=made.labels["labeler"].map({"L1": ADA, "L2": "Bo"}),
    )
    gold = made.gold.assign(gold=made.gold["gold"].map(words))
    return assess(labels, gold, CheckConfig(reference="men", positive="invite"))


def test_one_sentence_is_shown_in_every_form(assessment):
    decision = gate(assessment)
    shown = {
        "reasons": " ".join(decision.reasons),
        "record": str(to_record(assessment, decision).reasons),
        "report": html.unescape(render(assessment, decision)),
        "github": " ".join(github_annotations(assessment, decision)).replace("%25", "%"),
        "junit": html.unescape(junit(assessment, decision)),
        "prefect": re.sub(r"\\(.)", r"\1", verdict_page(assessment, decision)),
    }
    for form, text in shown.items():
        assert re.search(f'"Lovelace, Ada" {SAID}', text), form
        assert not re.search(r"\b(says?|where) (yes|no)\b", text), form
    row = labeler_rows(assessment, decision)[0]
    assert row["labeler"] == ADA
    assert re.match(SAID, row["reason"])


def test_a_verb_and_an_adjective_take_the_place_of_the_label():
    made = simulate(n_items=2500, n_labelers=2, tprs=[0.4, 0.94], gold_per_group=200, seed=1)
    words = Words(positive_verb="invites", positive_adjective="suitable")
    found = assess(made.labels, made.gold, CheckConfig(reference="men", words=words))
    reasons = " ".join(gate(found).reasons)
    assert re.search(r"\. L1 invites 4\d(\.\d)?% of suitable women and 9\d(\.\d)?% of su", reasons)
    assert found.wording.meaning() == "invites suitable items"


def test_under_pseudonyms_only_what_was_typed_is_shown(monkeypatch):
    """The label column may be confused with one that holds names."""
    monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "k" * 32)
    made = simulate(n_items=600, n_labelers=2, gold_per_group=60, seed=1)
    words = {0: "Bo", 1: "Ada"}
    config = CheckConfig(positive="Ada", pseudonymize=True, estimator="gold_model")
    found = assess(
        made.labels.assign(label=made.labels["label"].map(words)),
        made.gold.assign(gold=made.gold["gold"].map(words)),
        config,
    )
    assert (found.data.words.positive, found.data.words.negative) == ('"Ada"', "")
