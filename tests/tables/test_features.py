"""Which columns become features, and what is said about the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mdba_checks.config import CheckConfig, Columns
from mdba_checks.errors import InputError
from mdba_checks.tables import Data, load

CONFIG = CheckConfig()
ALL = ("age", "job", "remote", "score")  # a date is not a feature unless it is named


def both(
    labels: pd.DataFrame,
    gold: pd.DataFrame,
    make: Callable[[int], object],
    config: CheckConfig = CONFIG,
) -> Data:
    return load(labels.assign(extra=make(len(labels))), gold.assign(extra=make(len(gold))), config)


def test_every_shared_column_without_a_role_is_a_feature(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    labels["only_here"], gold["only_there"] = 1.5, 2.5
    gold["labeler"] = "the expert"
    labels["gold"] = 1
    data = load(labels, gold, CONFIG)
    assert data.features == ALL
    assert data.tree_types == ("q", "c", "q", "q")


def test_named_features_are_the_only_ones(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    data = load(labels, gold, CheckConfig(features=("score", "age", "age")))
    assert data.features == ("age", "score")


def test_a_feature_may_be_called_item(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    labels["item"] %= 10
    gold["item"] %= 10
    data = load(labels, gold, CheckConfig(features=("item", "age")))
    assert data.features == ("age", "item")
    assert not data.has_items


def test_dates_that_are_named_are_numbers_of_seconds_and_it_is_said(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = load(labels, gold, CheckConfig(features=(*ALL, "applied")))
    place = data.features.index("applied")
    seconds = labels["applied"].to_numpy().astype("datetime64[s]").astype(np.float32)
    np.testing.assert_array_equal(data.labels.trees[:][:, place], seconds[data.labels.position])
    assert any("'applied'" in m and "seconds" in m for m in data.messages)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda n: [f"comment {n} {i}" for i in range(n)], "different text in every row"),
        (lambda n: [f"words {n} {i * 2 // 3}" for i in range(n)], "free text"),
        (lambda n: np.random.default_rng(3).permutation(n) + 5, "numbers the rows"),
        (lambda n: [{"a": 1}] * n, "nested or binary"),
        (lambda n: [b"x"] * n, "nested or binary"),
    ],
)
def test_a_column_no_model_can_use_is_ignored_aloud_but_refused_by_name(
    make: Callable[[int], object], said: str, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = both(labels, gold, make)
    assert data.features == ALL
    assert any("'extra' is ignored" in m and said in m for m in data.messages), data.messages
    with pytest.raises(InputError, match=r"'extra'.*take it out of features") as caught:
        both(labels, gold, make, CheckConfig(features=("age", "extra")))
    assert said in str(caught.value)


def test_row_numbers_split_over_the_two_tables_are_row_numbers(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    numbers = np.random.default_rng(0).permutation(320)
    data = load(labels.assign(n=numbers[:240]), gold.assign(n=numbers[240:]), CONFIG)
    assert data.features == ALL


def test_a_number_of_the_item_that_three_people_judged_is_not_a_feature(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    """Otherwise gold, whose items are numbered on from there, would seem to be of another kind."""
    data = load(
        labels.assign(essay=np.arange(240) // 3), gold.assign(essay=80 + np.arange(80)), CONFIG
    )
    assert data.features == ALL
    assert any("'essay' is ignored: it numbers the rows" in each for each in data.messages)


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_an_exported_index_is_not_a_feature(
    name: str, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    odd = np.arange(1000) * 7
    data = load(labels.assign(**{name: odd[:240]}), gold.assign(**{name: odd[900:980]}), CONFIG)
    assert data.features == ALL
    assert any("row index" in message for message in data.messages)


def test_constant_columns_go_quietly_unless_named(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    data = both(labels, gold, lambda n: [4] * n)
    assert data.features == ALL
    assert not any("extra" in message for message in data.messages)
    data = both(labels, gold, lambda n: ["x"] * n, CheckConfig(features=("age", "extra")))
    assert data.features == ("age",)
    assert any("'extra'" in m and "same value" in m for m in data.messages)


def test_a_value_that_is_constant_but_sometimes_missing_is_kept(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = both(labels, gold, lambda n: [4.0, np.nan] * (n // 2))
    assert "extra" in data.features
    linear = load(
        labels.assign(extra=[4.0, np.nan] * 120),
        gold.assign(extra=4.0),
        CheckConfig(features=("extra",)),
    )
    np.testing.assert_array_equal(linear.labels.linear[:][:, 0], linear.labels.position % 2)


@pytest.mark.parametrize("empty", [None, np.nan, "", pd.NaT])
def test_a_column_without_values_is_ignored_aloud(
    empty: object, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = both(labels, gold, lambda n: [empty] * n)
    assert data.features == ALL
    assert any("'extra'" in m and "no values" in m for m in data.messages)


@pytest.mark.parametrize("empty", [None, np.nan, ""])
def test_a_column_empty_in_one_table_takes_its_kind_from_the_other(
    empty: object, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    gold["age"], gold["job"] = empty, empty
    data = load(labels, gold, CONFIG)
    assert data.features == ALL
    for name in ("age", "job"):
        assert np.isnan(data.gold.trees[:, data.features.index(name)]).all()


def test_numbers_declared_as_categories_in_one_table_are_categories_in_both(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    labels["code"] = pd.Categorical(np.arange(240) % 3)
    gold["code"] = np.arange(80) % 3
    data = load(labels, gold, CONFIG)
    assert data.tree_types[data.features.index("code")] == "c"
    place = data.features.index("code")
    np.testing.assert_array_equal(data.gold.trees[:, place], data.gold.position % 3)


def test_a_feature_that_repeats_the_group_stays_with_trees_only(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    plain = load(labels, gold, CONFIG)
    for recode in ({"men": "m", "women": "w"}, {"men": 3, "women": 9}):
        data = load(
            labels.assign(extra=labels["group"].map(recode)),
            gold.assign(extra=gold["group"].map(recode)),
            CONFIG,
        )
        assert "extra" in data.features
        assert data.labels.linear.shape[1] == plain.labels.linear.shape[1]
        assert any("'extra'" in m and "group" in m for m in data.messages)


def labeled_too(labels: pd.DataFrame, gold: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return gold whose first items are labeled ones, with all that labels say about them."""
    shared = ["item", "group", "applied", *ALL]
    gold = gold.astype(labels.dtypes[["score", "job"]].to_dict())
    gold.loc[gold.index[:n], shared] = labels[shared].iloc[:n].to_numpy()
    return gold.infer_objects()


def test_items_are_shared_between_the_tables(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    labels = labels.drop_duplicates("item")
    gold = labeled_too(labels, gold, 40)
    data = load(labels, gold, CONFIG)
    assert data.has_items
    name_of = {}
    for rows, frame in ((data.labels, labels), (data.gold, gold)):
        for code, name in zip(rows.item, frame["item"].iloc[rows.position], strict=True):
            assert name_of.setdefault(code, name) == name
    assert len(name_of) == len(set(name_of.values())) == 160


def test_without_an_item_column_every_row_is_an_item_of_its_own(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = load(labels.drop(columns="item"), gold, CONFIG)
    assert not data.has_items
    np.testing.assert_array_equal(data.labels.item, np.arange(240))
    np.testing.assert_array_equal(data.gold.item, np.arange(240, 320))


def test_gold_without_the_item_column_has_items_of_its_own(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    config = CheckConfig(columns=Columns(item="case"))
    data = load(labels.rename(columns={"item": "case"}), gold.drop(columns="item"), config)
    assert data.has_items
    np.testing.assert_array_equal(data.gold.item, np.arange(120, 200))


def test_rows_without_an_item_are_items_of_their_own_and_it_is_said(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    labels = labels.drop_duplicates("item")
    gold = labeled_too(labels, gold, 2)
    gold["item"] = gold["item"].where(gold.index < 3)
    data = load(labels, gold, CONFIG)
    assert len(set(data.gold.item)) == 80
    assert len(set(data.gold.item) & set(data.labels.item)) == 2
    assert any("gold: 77 rows" in m and "'item'" in m for m in data.messages)


def test_three_groups_and_unicode_names_work(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "labeler": rng.choice(["Žofie", "李雷"], 90),
            "label": rng.integers(0, 2, 90),
            "group": rng.choice(["α", "β", "γ"], 90),
            "größe": rng.normal(size=90),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = load(tmp_path / "t.csv", frame.rename(columns={"label": "gold"}), CONFIG)
    assert data.groups == ("α", "β", "γ")
    assert data.labelers == ("Žofie", "李雷")
