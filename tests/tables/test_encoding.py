"""The numbers that models get, against simple computations of the same with pandas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.tables import canonical, load, match_name

CONFIG = CheckConfig()
EVERYTHING = CheckConfig(features=("age", "applied", "job", "remote", "score"))


def test_a_name_has_one_spelling() -> None:
    assert [canonical(v) for v in (1, 1.0, np.float32(1), np.int8(1), "1")] == ["1"] * 5
    assert [canonical(v) for v in (True, np.bool_(False), "True")] == ["true", "false", "True"]
    assert [canonical(v) for v in ("007", 0.5, 1e300, -0.0)] == ["007", "0.5", "1e+300", "0"]


def test_a_configured_value_is_found_among_names() -> None:
    assert match_name(0, ["0", "1"]) == "0"
    assert match_name("TRUE", ["True", "False"]) == "True"
    assert match_name("Men", ["men"]) is None


def test_linear_columns_are_standardised_numbers_indicators_and_one_hot_levels(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = load(labels, gold, EVERYTHING)
    people = pd.concat([labels, gold], ignore_index=True)

    def z(values: pd.Series) -> pd.Series:
        values = values.astype(float)
        return ((values - values.mean()) / values.std(ddof=0)).fillna(0)

    seconds = (people["applied"] - pd.Timestamp(0)).dt.total_seconds()
    expected = pd.concat(
        [
            z(people["age"]),
            z(seconds),
            people["job"].isna().astype(float),
            pd.get_dummies(people["job"]).astype(float),
            z(people["remote"]),
            z(people["score"]),
            people["score"].isna().astype(float),
        ],
        axis=1,
    ).to_numpy()
    for rows, start in ((data.labels, 0), (data.gold, 240)):
        np.testing.assert_allclose(rows.linear, expected[start + rows.position], atol=1e-12)
        assert rows.linear.dtype == np.float64
        assert np.asarray(rows.linear).flags.c_contiguous


def test_tree_columns_are_the_values_with_categories_as_codes(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = load(labels, gold, EVERYTHING)
    assert data.features == ("age", "applied", "job", "remote", "score")
    for rows, frame in ((data.labels, labels), (data.gold, gold)):
        here = frame.iloc[rows.position]
        codes = pd.Categorical(here["job"], ["clerk", "cook", "nurse"]).codes.astype(np.float32)
        codes[codes < 0] = np.nan
        trees = np.asarray(rows.trees)
        np.testing.assert_array_equal(trees[:, 0], here["age"].to_numpy(np.float32))
        np.testing.assert_array_equal(trees[:, 2], codes)
        np.testing.assert_array_equal(trees[:, 3], here["remote"].to_numpy(np.float32))
        np.testing.assert_array_equal(trees[:, 4], here["score"].to_numpy(np.float32))
        assert rows.trees.dtype == np.float32


def test_roles_follow_their_rows(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    data = load(labels, gold, CONFIG)
    here = labels.iloc[data.labels.position]
    assert [data.labelers[code] for code in data.labels.labeler] == here["labeler"].tolist()
    assert [data.groups[code] for code in data.labels.group] == here["group"].tolist()
    assert data.labels.decision.tolist() == here["label"].tolist()
    there = gold.iloc[data.gold.position]
    assert [data.groups[code] for code in data.gold.group] == there["group"].tolist()
    assert data.gold.correct.tolist() == there["gold"].tolist()
    kinds = {name: getattr(data.labels, name).dtype for name in ("labeler", "group", "decision")}
    assert kinds == {"labeler": np.int32, "group": np.int16, "decision": np.int8}
    assert data.labels.item.dtype == data.labels.position.dtype == np.int64


def test_a_level_that_only_gold_has_is_a_level(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    gold.loc[:14, "job"] = "baker"
    data = load(labels, gold, CheckConfig(features=("job",)))
    baker = gold["job"].iloc[data.gold.position] == "baker"
    np.testing.assert_array_equal(data.gold.trees[baker.to_numpy(), 0], 0.0)
    assert np.nanmin(data.labels.trees) == 1
    assert data.gold.linear.sum(axis=1).tolist() == [1.0] * 80


def test_of_two_levels_one_column_is_enough(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    for frame in (labels, gold):
        frame["job"] = np.where(frame["age"] > 40, "senior", "junior")
    data = load(labels, gold, CheckConfig(features=("job",)))
    senior = (labels["job"].iloc[data.labels.position] == "senior").to_numpy(float)
    np.testing.assert_array_equal(data.labels.linear, senior[:, None])


def test_few_combinations_of_values_are_a_category_of_their_own() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "labeler": "a",
            "label": rng.integers(0, 2, 4000),
            "group": rng.choice(["x", "y"], 4000),
            "colour": rng.choice(["red", "blue"], 4000),
            "size": rng.choice([1.0, 2.0, 3.0], 4000),
        }
    )
    gold = frame.iloc[:200].rename(columns={"label": "gold"})
    few = load(frame, gold, CONFIG)
    assert few.labels.trees.shape[1] == 3
    cells = frame.iloc[few.labels.position].groupby(["colour", "size"]).ngroup()
    np.testing.assert_array_equal(few.labels.trees[:][:, 2], cells)
    many = load(frame.assign(size=rng.random(4000)), gold.assign(size=rng.random(200)), CONFIG)
    assert many.labels.trees.shape[1] == 2


def test_rare_levels_share_one_column_and_the_frequent_keep_theirs() -> None:
    rng = np.random.default_rng(0)
    rows = 30_000
    level = np.minimum(rng.geometric(0.01, rows), 900)
    frame = pd.DataFrame(
        {
            "labeler": "a",
            "label": rng.integers(0, 2, rows),
            "group": rng.choice(["x", "y"], rows),
            "town": [f"t{value:03d}" for value in level],
        }
    )
    gold = frame.iloc[:200].rename(columns={"label": "gold"})
    data = load(frame, gold, CONFIG)
    counts = pd.concat([frame["town"], gold["town"]]).value_counts()
    ranked = sorted(counts.index, key=lambda town: (-counts[town], town))
    towns = frame["town"].iloc[data.labels.position]
    own = sorted(ranked[:40])
    expected = np.column_stack([*(towns == town for town in own), ~towns.isin(own)]).astype(float)
    np.testing.assert_array_equal(data.labels.linear, expected)
    kept = {town: code for code, town in enumerate(sorted(ranked[:255]))}
    np.testing.assert_array_equal(
        data.labels.trees[:][:, 0], [kept.get(town, 255) for town in towns]
    )


def test_a_level_of_nine_rows_is_rare_for_linear_models_and_one_of_ten_is_not(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    towns = np.array(["big"] * 221 + ["nine"] * 9 + ["ten"] * 10)
    labels["town"], gold["town"] = towns, "big"
    data = load(labels, gold, CheckConfig(features=("town",)))
    here = towns[data.labels.position]
    expected = np.column_stack([here == "big", here == "ten", here == "nine"]).astype(float)
    np.testing.assert_array_equal(data.labels.linear, expected)


@pytest.mark.parametrize(
    "values",
    [
        [1e300, -1e308, 5.0, 7.0],
        [1.7e308, 1.7e308, -1.7e308, 0.0],
        [5e-324, 0.0, 1e-320, 0.0],
        [1e15 + 1, 1e15 + 2, 1e15 + 3, 1e15 + 4],
        [2.0**62, 2.0**62 + 1024, 2.0**62, 2.0**62 + 1024],
    ],
)
def test_extreme_numbers_stay_finite_and_standardised(
    values: list[float], labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = load(
        labels.assign(extra=values * 60),
        gold.assign(extra=values * 20),
        CheckConfig(features=("extra",)),
    )
    both = np.concatenate([data.labels.linear, data.gold.linear])
    assert np.isfinite(both).all()
    assert np.isfinite(data.labels.trees).all()
    both = both[:, 0]  # the others are indicators: so few numbers are a category as well
    np.testing.assert_allclose([both.mean(), both.std()], [0, 1], atol=1e-9)


# --- Order ---------------------------------------------------------------------------------------


def test_results_do_not_depend_on_the_order_of_rows(
    labels: pd.DataFrame, gold: pd.DataFrame, same: Callable[..., None]
) -> None:
    rng = np.random.default_rng(4)
    labels = pd.concat([labels, labels.iloc[:40]], ignore_index=True)  # duplicated rows
    gold["item"] = gold["item"].where(gold.index % 3 > 0)
    other_labels = labels.iloc[rng.permutation(len(labels))]
    other_gold = gold.iloc[rng.permutation(len(gold))]
    differ = ("position", "labels_order")
    for drop in ([], ["item"]):
        one = load(labels.drop(columns=drop), gold.drop(columns=drop), CONFIG)
        other = load(other_labels.drop(columns=drop), other_gold.drop(columns=drop), CONFIG)
        same(one, other, but=differ)


def test_rows_are_sorted_by_labeler_and_gold_by_group(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    data = load(labels, gold, CONFIG)
    assert (np.diff(data.labels.labeler) >= 0).all()
    assert (np.diff(data.gold.group) >= 0).all()
    for code in range(len(data.labelers)):
        assert (np.diff(data.labels.item[data.labels.labeler == code]) >= 0).all()


cells = st.one_of(
    st.none(), st.text(max_size=3), st.integers(-3, 3), st.floats(width=32), st.booleans()
)


@settings(max_examples=50, deadline=None)
@given(column=st.lists(cells, min_size=8, max_size=8), order=st.permutations(range(8)))
def test_any_mixture_of_values_loads_or_is_refused_whatever_the_order(
    column: list[object], order: list[int]
) -> None:
    frame = pd.DataFrame(
        {
            "labeler": list("aabbaabb"),
            "label": [0, 1] * 4,
            "group": list("xyyxxyyx"),
            "age": [1.0, 4.0, 2.0, 8.0, 5.0, 7.0, 9.0, 3.0],
            "odd": pd.Series(column, dtype=object),
        }
    )
    gold = frame.rename(columns={"label": "gold"})

    def outcome(rows: pd.DataFrame) -> tuple[object, ...]:
        try:
            data = load(rows, gold, CONFIG)
        except InputError as error:
            return ("refused", str(error).split("(")[0])
        assert np.isfinite(data.labels.linear).all()
        return (data.features, data.labels.trees[:].tobytes(), data.labels.linear[:].tobytes())

    assert outcome(frame) == outcome(frame.iloc[order])
