"""Decisions with more than two values: one of them, or one side of a scale, means yes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, assess
from mdba_checks.errors import InputError
from mdba_checks.tables import load


def tables(values: list[object]) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = 4 * len(values)
    about = {"group": ["men", "women"] * (rows // 2), "x": np.arange(rows) % 3}
    labels = pd.DataFrame({"labeler": "ann", "label": values * 4, **about})
    return labels, pd.DataFrame({"gold": values * 4, **about})


def decided(values: list[object], positive: str) -> dict[object, int]:
    labels, gold = tables(values)
    data = load(labels, gold, CheckConfig(positive=positive))
    found = dict(zip(labels["label"].iloc[data.labels.position], data.labels.decision, strict=True))
    assert found == dict(zip(gold["gold"].iloc[data.gold.position], data.gold.correct, strict=True))
    return {value: int(found[value]) for value in values}


@pytest.mark.parametrize(
    ("positive", "expected"),
    [
        (">= 4", [0, 0, 0, 1, 1]),
        ("> 4", [0, 0, 0, 0, 1]),
        ("<2", [1, 0, 0, 0, 0]),
        ("<= 2.5", [1, 1, 0, 0, 0]),
        ("3", [0, 0, 1, 0, 0]),
    ],
)
def test_one_side_of_a_scale_means_yes(positive, expected):
    assert decided([1, 2, 3, 4, 5], positive) == dict(zip([1, 2, 3, 4, 5], expected, strict=True))


def test_one_of_three_names_means_yes_and_it_is_said():
    labels, gold = tables(["invite", "maybe", "decline"])
    data = load(labels, gold, CheckConfig(positive="invite"))
    assert data.labels.decision.mean() == pytest.approx(1 / 3)
    assert (
        "column 'label' of labels holds 3 values: 'invite' counts as positive, 'decline', 'maybe' "
        "as negative" in data.messages
    )


@pytest.mark.parametrize(
    ("answers", "right", "positive", "gold_positive", "expected", "expected_right"),
    [
        (["a", "b", "c"], ["a", "b", "c"], ["a", "b"], None, [1, 1, 0], [1, 1, 0]),
        ([1, 2, 5], [1, 2, 5], [1, ">= 5"], None, [1, 0, 1], [1, 0, 1]),
        (["a", "b", "c"], [0, 1, 1], ["a", "b"], None, [1, 1, 0], [0, 1, 1]),
        (["a", "b", "c"], ["good", "fine", "bad"], "a", ["good", "fine"], [1, 0, 0], [1, 1, 0]),
        ([0, 1, 1], ["good", "bad", "bad"], None, "good", [0, 1, 1], [1, 0, 0]),
        ([1, 2, 5], ["low", "low", "high"], ">= 2", "high", [0, 1, 1], [0, 0, 1]),
        ([0, 1, 1], [True, False, False], 1, False, [0, 1, 1], [0, 1, 1]),
    ],
    ids=[
        "several",
        "value and order",
        "gold says 0 and 1",
        "other words",
        "words in gold alone",
        "a scale and words",
        "gold the other way round",
    ],
)
def test_several_values_mean_yes_and_gold_may_use_other_words(
    answers, right, positive, gold_positive, expected, expected_right
):
    labels, gold = tables(answers)[0], tables(right)[1]
    data = load(labels, gold, CheckConfig(positive=positive, gold_positive=gold_positive))
    assert data.labels.decision[np.argsort(data.labels.position)].tolist() == expected * 4
    assert data.gold.correct[np.argsort(data.gold.position)].tolist() == expected_right * 4


def test_what_counts_as_what_is_said_for_several_values():
    labels, gold = tables(["invite", "maybe", "decline"])
    data = load(labels, gold, CheckConfig(positive=["invite", "maybe"]))
    assert (
        "column 'label' of labels holds 3 values: 'invite', 'maybe' count as positive, 'decline' "
        "as negative" in data.messages
    )


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"positive": ["a", "x"]}, "positive='x' is not a value of column 'label' of labels"),
        ({"positive": "a", "gold_positive": ["g", "x"]}, "gold_positive='x' is not a value of"),
        ({"positive": "a"}, "set gold_positive (--gold-positive)"),
        ({"positive": "g"}, "positive='g' is not among them"),
    ],
)
def test_a_word_that_no_column_holds_is_refused_with_the_way_out(settings, part):
    labels, gold = tables(["a", "b", "c"])[0], tables(["g", "h", "i"])[1]
    with pytest.raises(InputError) as caught:
        load(labels, gold, CheckConfig(**settings))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("values", "positive", "part"),
    [
        (["a", "b", "c"], None, "say which of them is positive (--positive VALUE"),
        (["a", "b", "c"], "d", "positive='d' is not a value of column 'label' of labels"),
        (["no", "yes", "Yes "], "yes", "column 'label' of labels holds one value in two spellings"),
        (["1", "2", "x"], ">= 2", "positive='>= 2' is not a value of column 'label' of labels"),
    ],
)
def test_what_cannot_be_told_is_refused(values, positive, part):
    with pytest.raises(InputError) as caught:
        load(*tables(values), CheckConfig(positive=positive))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("words", "positive"),
    [(("decline", "maybe", "invite"), "invite"), ((1, 3, 5), ">= 4")],
    ids=["three classes", "a scale"],
)
def test_the_labeler_who_is_harder_on_women_is_found(words, positive):
    """Ann gives half of the women who deserve the highest answer the one below it."""
    rng = np.random.default_rng(5)
    rows = 1500
    score, group = rng.normal(size=rows), rng.choice(["men", "women"], rows)
    right = np.digitize(score + rng.normal(scale=0.3, size=rows), [-0.6, 0.2])
    parts = []
    for labeler in ("ann", "bob", "cy"):
        given = np.where(rng.random(rows) < 0.95, right, 1)
        if labeler == "ann":
            given = np.where((group == "women") & (right == 2) & (rng.random(rows) < 0.5), 1, given)
        about = {"item": np.arange(rows), "group": group, "score": score}
        label = np.array(words, dtype=object)[given]
        parts.append(pd.DataFrame({"labeler": labeler, "label": label, **about}))
    gold = parts[0].drop(columns=["labeler", "label"])
    gold = gold.assign(gold=np.array(words, dtype=object)[right]).sample(400, random_state=1)
    config = CheckConfig(positive=positive, reference="men")
    gaps = assess(pd.concat(parts, ignore_index=True), gold, config).gaps.set_index("labeler")
    assert gaps["finding"].to_dict() == {"ann": "biased", "bob": "fair", "cy": "fair"}
    assert gaps.loc["ann", "gap"] == pytest.approx(-0.475, abs=0.08)
