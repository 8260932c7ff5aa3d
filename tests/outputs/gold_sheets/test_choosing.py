"""Which items are chosen: by weights that stand for all items, where they help, without secrets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdba_checks.errors import InputError
from mdba_checks.outputs import choose_gold, read_answers


def test_the_sheet_shows_items_and_nothing_that_labelers_said(world, first_sheet):
    assert len(first_sheet) == first_sheet["item"].nunique() == 60
    assert not {"labeler", "label"} & set(first_sheet)
    assert first_sheet["gold"].isna().all()
    features = world.labels.drop_duplicates("item").set_index("item").loc[first_sheet["item"]]
    for name in ("group", "test_score", "field"):
        assert first_sheet[name].astype(str).tolist() == features[name].astype(str).tolist()
    assert set(first_sheet["gold_round"]) == {"1 of 3"}
    assert set(first_sheet["seed"]) == {0}


def test_weights_stand_for_all_items_of_their_group(world):
    """The sum of weights over many draws is the number of items, as it must be."""
    items = world.labels.drop_duplicates("item")["group"].value_counts()
    sums = [
        choose_gold(world.labels, 60, config=world.config, seed=seed)
        .sheet.groupby("group")["gold_weight"]
        .sum()
        for seed in range(12)
    ]
    mean, error = pd.concat(sums, axis=1).mean(axis=1), pd.concat(sums, axis=1).std(axis=1)
    assert (abs(mean - items) < 3.5 * error / np.sqrt(12)).all()


def test_the_same_seed_chooses_the_same_items_whatever_the_order_of_rows(world, first_sheet):
    shuffled = world.labels.sample(frac=1, random_state=1)
    again = choose_gold(shuffled, 60, config=world.config).sheet
    pd.testing.assert_frame_equal(again, first_sheet)
    other = choose_gold(world.labels, 60, config=world.config, seed=9).sheet
    assert set(other["item"]) != set(first_sheet["item"])


def test_open_items_are_drawn_more_often_than_at_random(world):
    """Labelers move the bar for women: those near it are few at random and many in the sheet."""
    women = world.labels.loc[world.labels["group"] == "women", "item"].unique()
    sheet = choose_gold(world.labels, 300, config=world.config).sheet
    chosen = sheet.loc[sheet["group"] == "women", "item"]
    assert len(chosen) > 150
    assert world.right[chosen].mean() > 1.3 * world.right[women].mean()


def test_a_second_round_draws_other_items_and_counts_on(world, judged):
    chosen = choose_gold(world.labels, 40, judged=[judged], config=world.config)
    assert not set(chosen.sheet["item"]) & set(judged["item"])
    assert set(chosen.sheet["gold_round"]) == {"2 of 3"}
    assert chosen.summary[0].startswith("round 2 of 3: 40 of 2,920 items to judge")
    assert "undecided" in chosen.summary[1]


def test_candidates_may_be_other_items_than_the_labeled_ones(world):
    others = world.labels.drop_duplicates("item").head(200).drop(columns=["labeler", "label"])
    others["item"] = "new-" + others["item"]
    sheet = choose_gold(world.labels, 30, items=others, config=world.config).sheet
    assert set(sheet["item"]) <= set(others["item"])
    assert sheet["gold_weight"].sum() == pytest.approx(200, rel=0.5)


def test_earlier_gold_is_not_chosen_again_and_counts_in_the_answers(world, judged):
    plain = judged[["item", "group", *world.labels.columns[2:-2], "gold"]].head(20)
    plain = plain.loc[:, ~plain.columns.duplicated()]
    sheet = choose_gold(world.labels, 30, gold=plain, config=world.config).sheet
    assert not set(sheet["item"]) & set(plain["item"])
    both = read_answers([world.judge(sheet)], gold=plain).gold
    assert len(both) == 50
    of_sheet = both["item"].isin(sheet["item"])
    share = (
        both[~of_sheet].groupby("group")["gold_weight"].sum()
        / both.groupby("group")["gold_weight"].sum()
    )
    counts = (~of_sheet).groupby(both["group"]).mean()
    assert share.to_numpy() == pytest.approx(counts.to_numpy(), abs=0.02)


def test_near_duplicates_of_judged_items_are_not_drawn(world, judged):
    copies = judged.drop(columns=["gold", "reason", "gold_weight", "gold_round", "seed", "code"])
    pool = [copies, copies.assign(item="copy-" + copies["item"])]
    fresh = world.labels.drop_duplicates("item").tail(100).drop(columns=["labeler", "label"])
    pool = pd.concat([*pool, fresh[~fresh["item"].isin(judged["item"])]])
    sheet = choose_gold(world.labels, 50, items=pool, judged=[judged], config=world.config).sheet
    assert not sheet["item"].str.startswith("copy-").any()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": 0}, "n is 0: ask for one item or more"),
        ({"rounds": 9}, "rounds is 9: plan for 1 to 5 looks"),
    ],
)
def test_what_cannot_be_asked_for_is_said(world, change, said):
    with pytest.raises(InputError, match=said):
        choose_gold(world.labels, **{"n": 10, "config": world.config, **change})


def test_items_without_names_are_refused(world):
    with pytest.raises(
        InputError, match=r"labels has no column 'item' for columns.item \(--item\)"
    ):
        choose_gold(world.labels.drop(columns="item"), 10, config=world.config)


def test_nothing_left_to_choose_is_said(world, judged):
    with pytest.raises(InputError, match="every item is judged already"):
        choose_gold(
            world.labels,
            10,
            items=judged[["item", "group", "test_score"]],
            judged=[judged],
            config=world.config,
        )


def test_of_other_and_labeled_items_the_labeled_ones_are_preferred(world):
    """The same items once under their own names and once under names that nobody labeled."""
    pool = world.labels.drop_duplicates("item").drop(columns=["labeler", "label"])
    # Few features changed a little, so that the two are not near copies.
    other = pool.assign(item="new-" + pool["item"], test_score=pool["test_score"] + 3)
    both = pd.concat([pool, other])
    sheet = choose_gold(world.labels, 400, items=both, config=world.config).sheet
    labeled = ~sheet["item"].str.startswith("new-")
    # One over the mean of weights is the mean chance of the items that they stand for.
    chance = 1 / sheet.groupby(["group", labeled])["gold_weight"].mean().unstack()
    assert (chance[True] > 1.05 * chance[False]).all()
    assert sheet["gold_weight"].sum() == pytest.approx(len(both), rel=0.25)


def test_sheets_of_other_items_than_those_to_choose_from_are_refused(world, judged):
    others = world.labels[~world.labels["item"].isin(judged["item"][:1])]
    with pytest.raises(InputError, match="of the sheets is not among the labeled items") as caught:
        choose_gold(others, 10, judged=[judged], config=world.config)
    assert judged["item"][0] in str(caught.value)
