"""The check of whether items look like gold names the column that differs most."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, assess
from mdba_checks.findings.diagnostics.shift import measure_shift
from mdba_checks.tables import load


def tables(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return labels of two people, and gold, about items that are alike."""
    labels = pd.DataFrame({"labeler": np.repeat(["ann", "bob"], 1000)})
    gold = pd.DataFrame(index=range(600))
    for table in (labels, gold):
        table["group"] = rng.choice(["men", "women"], len(table))
        table["merit"], table["age"] = rng.normal(size=(2, len(table)))
        table["branch"] = rng.choice(["north", "south", "west"], len(table))
    labels["label"] = (labels["merit"] + rng.normal(size=len(labels)) > 0).astype(int)
    gold["gold"] = (gold["merit"] > 0).astype(int)
    return labels, gold


@pytest.mark.parametrize("column", ["age", "branch"])
def test_the_column_that_differs_most_is_named(column):
    labels, gold = tables(np.random.default_rng(0))
    labels["merit"] += 0.2
    if column == "age":
        labels["age"] += 3.0
    else:  # one feature, three columns for linear models
        labels["branch"] = "west"
        labels.loc[:20, "branch"] = "north"
    found = measure_shift(load(labels, gold, CheckConfig()))
    assert {found.features[most] for most in found.most_of_all} == {column}
    assert {found.features[most] for most in found.most.ravel()} == {column}
    checked = assess(labels, gold, CheckConfig()).diagnostics
    said = [each.sentence for each in checked if each.check == "covariate_shift"]
    assert any(f"most in column {column!r}" in each for each in said)


def test_a_column_that_follows_another_one_is_not_blamed():
    """Given y, x differs by nothing: x is y with noise, and only y was moved."""
    labels, gold = tables(np.random.default_rng(1))
    rng = np.random.default_rng(2)
    for table, by in ((labels, 2.0), (gold, 0.0)):
        table["age"] += by
        table["merit"] = 0.5 * table["age"] + rng.normal(size=len(table))
    found = measure_shift(load(labels, gold, CheckConfig()))
    assert {found.features[most] for most in found.most_of_all} == {"age"}
