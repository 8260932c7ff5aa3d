"""A table in parts gives what the same table gives in one piece, however it is cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mdba_checks import CheckConfig, Columns, assess
from mdba_checks.errors import InputError
from mdba_checks.simulation import simulate
from mdba_checks.tables import LocalPartitions, load

NUMBERS = ["gap", "std_error", "ci_low", "ci_high", "p_value", "rate", "table_gap"]


def in_parts(labels: pd.DataFrame, *cuts: int) -> LocalPartitions:
    table = pa.Table.from_pandas(labels, preserve_index=False)
    ends = [0, *cuts, table.num_rows]
    return LocalPartitions([table.slice(begin, end - begin) for begin, end in pairwise(ends)])


def plain():
    made = simulate(n_items=2500, n_labelers=4, gold_per_group=60, seed=5)
    return made.labels, made.gold, CheckConfig(reference="men")


def shared_items_gaps_and_cohorts():
    """Items that three people judged, some of them gold; missing features; rows to drop."""
    made = simulate(n_items=900, n_labelers=3, gold_per_group=60, seed=6)
    one = made.labels.drop(columns="item").reset_index(drop=True)
    labels = pd.concat([one.assign(item=one.index, labeler=f"L{k}") for k in range(3)])
    labels = labels.reset_index(drop=True)
    rng = np.random.default_rng(1)
    gold = pd.concat(
        [
            made.gold.drop(columns="item"),
            one.drop(columns=["labeler", "label"]).head(40).assign(gold=one["label"].head(40)),
        ]
    )
    gold["item"] = [f"g{k}" for k in range(len(made.gold))] + [str(k) for k in range(40)]
    labels["cohort"] = np.where(rng.random(len(labels)) < 0.3, None, "first")
    labels.loc[rng.random(len(labels)) < 0.1, "salary_expected"] = np.nan
    labels.loc[rng.random(len(labels)) < 0.1, "region"] = None
    labels.loc[[5, 700], "group"] = None
    labels["item"] = labels["item"].astype(str)
    columns = Columns(cohort="cohort")
    return labels, gold, CheckConfig(reference="men", drop_missing=True, columns=columns)


def few_values_without_items():
    """So few combinations of values that each is a category of its own."""
    rng = np.random.default_rng(3)

    def made(n):
        frame = pd.DataFrame(
            {
                "group": rng.choice(["a", "b", "c"], n),
                "school": rng.choice(["x", "y", None], n),
                "grade": rng.choice([1.0, 2.0, np.nan], n),
                "constant": 1,
            }
        )
        chance = 0.3 + 0.3 * (frame["school"] == "x") + 0.2 * (frame["grade"] == 2)
        return frame, (rng.random(n) < chance).astype(int)

    labels, decision = made(3000)
    gold, right = made(300)
    labels = labels.assign(label=decision, labeler=rng.choice(["ann", "bob", "cid"], 3000))
    return labels, gold.assign(gold=right), CheckConfig()


def crowd():
    made = simulate(n_items=2400, n_labelers=30, gold_per_group=80, seed=8)
    return made.labels, made.gold, CheckConfig(reference="men")


@pytest.mark.parametrize(
    "case", [plain, shared_items_gaps_and_cohorts, few_values_without_items, crowd]
)
def test_parts_in_any_order_give_the_numbers_findings_and_checks_of_the_whole(case):
    labels, gold, config = case()
    mixed = labels.sample(frac=1, random_state=1)
    whole = assess(mixed, gold, config)
    parts = assess(in_parts(mixed, 400, 400, 1100), gold, config)
    assert parts.gaps["finding"].tolist() == whole.gaps["finding"].tolist()
    np.testing.assert_allclose(parts.gaps[NUMBERS], whole.gaps[NUMBERS], atol=1e-9)
    said, expected = ([d.sentence for d in each.diagnostics] for each in (parts, whole))
    assert said == expected
    for name in ("overall", "cohorts", "crowd"):
        one, other = getattr(parts, name), getattr(whole, name)
        assert (one is None) == (other is None)
        if one is not None:
            pd.testing.assert_frame_equal(one, other, rtol=0, atol=1e-9)
    assert sorted(parts.messages) == sorted(whole.messages)
    np.testing.assert_allclose(parts.p_right, whole.p_right, atol=1e-9)
    assert (parts.decision == whole.decision).all()


def test_the_hash_of_parts_follows_the_rows_and_not_their_order_or_the_cuts():
    labels, gold, config = plain()
    one = load(in_parts(labels, 100), gold, config).labels_hash
    mixed = in_parts(labels.sample(frac=1, random_state=2), 7, 2000)
    assert load(mixed, gold, config).labels_hash == one
    changed = labels.assign(label=np.where(labels.index == labels.index[3], 1, labels["label"]))
    changed.loc[labels.index[3], "label"] = 1 - labels["label"].iloc[3]
    assert load(in_parts(changed, 100), gold, config).labels_hash != one


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("a long answer", "holds free text"),
        ("vector", "holds vectors"),
        ("written", "numbers that are written for people"),
    ],
)
def test_columns_that_need_all_rows_in_one_place_are_refused_by_name(column, reason):
    labels, gold, config = plain()
    for table in (labels, gold):
        words = [f"they said number {k} was quite good" for k in range(len(table))]
        table[column] = {
            "a long answer": words,
            "vector": [[float(k), 1.0] for k in range(len(table))],
            "written": [f"{k % 7},5" for k in range(len(table))],
        }[column]
    with pytest.raises(InputError, match=f"{column}.*{reason}.*features") as refused:
        load(in_parts(labels, 100), gold, config)
    assert "\n" not in str(refused.value)


def test_dates_row_numbers_and_single_values_are_left_out_as_in_a_whole_table():
    labels, gold, config = plain()
    for table in (labels, gold):
        table["seen"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(len(table)), "h")
        table["day"] = table["seen"].dt.strftime("%d/%m/%Y")
        table["created_at"] = 1_700_000_000 + np.arange(len(table))
        table["number"] = np.arange(len(table))
        table["essay"] = np.arange(len(table)) // (3 if table is labels else 1)
        table["code"] = [f"x{k}-{k}" for k in range(len(table))]
        table["same"] = "one"
    whole = load(labels, gold, config)
    parts = load(in_parts(labels, 100, 999), gold, config)
    assert parts.features == whole.features
    assert sorted(parts.messages) == sorted(whole.messages)


def test_rows_that_change_between_two_passes_are_an_error():
    labels, gold, config = plain()
    data = load(in_parts(labels, 100), gold, config)
    turned = in_parts(labels.iloc[::-1], 100)
    object.__setattr__(data.remote, "parts", turned)
    with pytest.raises(InputError, match="another order"):
        data.remote.fetch(np.arange(10))
