"""A metric is a pair of answers, and nothing but `metrics.py` and the settings know its name."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest

from mdba_checks.config import EstimatorName
from mdba_checks.estimation import ESTIMATORS
from mdba_checks.metrics import (
    EVERYONE_ELSE,
    METRICS,
    AnswerWords,
    MetricName,
    Wording,
    answers_in_words,
)

PACKAGE = Path(__file__).parents[1] / "mdba_checks"


def test_every_name_of_a_metric_has_its_object_and_every_pair_of_answers_its_metric():
    assert tuple(METRICS) == get_args(MetricName)
    assert {(each.said, each.right) for each in METRICS.values()} == {
        (said, right) for said in ("yes", "no") for right in ("yes", "no")
    }


INVITE = AnswerWords('"invite"', '"reject"')
OTHERS = AnswerWords('"invite"', "")  # the others are several values
RECRUITING = AnswerWords("yes", "no", "invites", "rejects", "suitable", "unsuitable")


@pytest.mark.parametrize(
    ("name", "words", "sentence"),
    [
        ("tpr", AnswerWords(), "says yes for 55% of women and 95% of men where yes is right"),
        ("fpr", INVITE, 'says "invite" for 55% of women and 95% of men where "reject" is right'),
        ("tnr", INVITE, 'says "reject" for 55% of women and 95% of men where "reject" is right'),
        (
            "fnr",
            OTHERS,
            'does not say "invite" for 55% of women and 95% of men where "invite" is right',
        ),
        ("fpr", OTHERS, 'says "invite" for 55% of women and 95% of men where "invite" is wrong'),
        ("tpr", RECRUITING, "invites 55% of suitable women and 95% of suitable men"),
        ("fpr", RECRUITING, "invites 55% of unsuitable women and 95% of unsuitable men"),
        ("tnr", RECRUITING, "rejects 55% of unsuitable women and 95% of unsuitable men"),
        ("fnr", RECRUITING, "rejects 55% of suitable women and 95% of suitable men"),
    ],
)
def test_every_metric_has_a_sentence_in_the_words_of_the_user(name, words, sentence):
    said = Wording(METRICS[name], words).sentence(
        ("women", 0.55), ("men", 0.95), gap=-0.4, limit=0.125
    )
    assert said == f"{sentence}: a gap of 40 points (limit 12.5)"


def test_numbers_in_a_sentence_fit_together():
    """54.6% and 94.4% are 55% and 94%, and 39.8 points are 40: that would look like an error."""
    tpr = Wording(METRICS["tpr"])
    said = tpr.sentence(("women", 0.546), ("men", 0.944), gap=-0.398, limit=0.1)
    assert "54.6% of women and 94.4% of men" in said
    assert "39.8 points" in said
    # With a crowd the gap allows for what the two rates do not show.
    said = tpr.sentence(("women", 0.55), ("men", 0.95), gap=-0.43, limit=0.1)
    assert "55% of women and 95% of men" in said
    assert "a gap estimated at 43 points" in said


def test_names_with_commas_and_everyone_else_read_as_one():
    sides = ("women, old", 0.5), (EVERYONE_ELSE, 0.9)
    assert '50% of "women, old" and 90% of everyone else where' in Wording().rates(*sides, gap=-0.4)
    said = Wording(METRICS["tpr"], RECRUITING).rates(*sides, gap=-0.4)
    assert said == 'invites 50% of suitable "women, old" and 90% of suitable others'


@pytest.mark.parametrize(
    ("positive", "negative", "named"),
    [
        (["1"], ["0"], ("yes", "no")),
        (["True"], ["False"], ("yes", "no")),
        (["Yes"], ["No"], ("yes", "no")),
        (["0"], ["1"], ('"0"', '"1"')),
        (["invite"], ["reject"], ('"invite"', '"reject"')),
        (["4", "5"], ["1", "2", "3"], ('"4" or "5"', "")),
        (["6", "7", "8", "9"], ["1", "2"], ('not "1" or "2"', "")),
        (["1"], [], ("yes", "no")),
    ],
)
def test_answers_are_called_what_the_label_column_calls_them(positive, negative, named):
    assert answers_in_words(positive, negative) == named


@pytest.mark.parametrize(
    ("name", "right", "kind"), [("tpr", 1, "positive"), ("fpr", 0, "negative")]
)
def test_the_gold_items_of_a_metric(name, right, kind):
    assert (METRICS[name].right_code, METRICS[name].kind) == (right, kind)


def test_every_name_of_an_estimator_has_its_object_with_a_description():
    assert tuple(ESTIMATORS) == get_args(EstimatorName)
    assert all(each.description.endswith(".") for each in ESTIMATORS.values())


def compared_with(path: Path, names: set[str]) -> list[str]:
    """Return comparisons (==, in, …) of a file in which one of the names stands as text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for inside in ast.walk(node)
        if isinstance(inside, ast.Constant) and inside.value in names
    ]


def test_no_module_decides_by_the_name_of_a_metric_or_an_estimator():
    names = set(METRICS) | set(ESTIMATORS)
    found = [each for path in PACKAGE.rglob("*.py") for each in compared_with(path, names)]
    # The command line compares with its own name, which an estimator shares.
    assert [each for each in found if not each.startswith("cli/demo.py")] == []


def test_no_module_has_a_table_by_the_names_of_metrics_or_estimators():
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                keys = {each.value for each in node.keys if isinstance(each, ast.Constant)}
                if keys >= set(METRICS) or len(keys & (set(ESTIMATORS) - {"mdba"})) > 1:
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert found == []
