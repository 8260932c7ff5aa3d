"""A metric is a pair of answers, and nothing but `metrics.py` and the settings know its name."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest

from mdba_checks.config import EstimatorName
from mdba_checks.estimation import ESTIMATORS
from mdba_checks.metrics import METRICS, MetricName

PACKAGE = Path(__file__).parents[1] / "mdba_checks"


def test_every_name_of_a_metric_has_its_object_and_every_pair_of_answers_its_metric():
    assert tuple(METRICS) == get_args(MetricName)
    assert {(each.said, each.right) for each in METRICS.values()} == {
        (said, right) for said in ("yes", "no") for right in ("yes", "no")
    }


@pytest.mark.parametrize(
    ("name", "title", "meaning", "question", "code", "kind"),
    [
        (
            "tpr",
            "true positive rate",
            "says yes where yes is right",
            "of 100 items where yes is right, how many get a yes",
            1,
            "positive",
        ),
        (
            "fpr",
            "false positive rate",
            "says yes where no is right",
            "of 100 items where no is right, how many get a yes",
            0,
            "negative",
        ),
        (
            "tnr",
            "true negative rate",
            "says no where no is right",
            "of 100 items where no is right, how many get a no",
            0,
            "negative",
        ),
        (
            "fnr",
            "false negative rate",
            "says no where yes is right",
            "of 100 items where yes is right, how many get a no",
            1,
            "positive",
        ),
    ],
)
def test_the_words_and_the_gold_items_of_a_metric(name, title, meaning, question, code, kind):
    metric = METRICS[name]
    assert (metric.title, metric.meaning(), metric.question()) == (title, meaning, question)
    assert (metric.right_code, metric.kind) == (code, kind)
    assert metric.meaning(of_all=True) == meaning.partition(" where")[0]
    assert metric.question(of_all=True).startswith("of 100 items, how many get a ")


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
