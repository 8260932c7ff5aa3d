from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mdba_checks.estimation.labelers import N_FOLDS, assign_folds


@st.composite
def items_and_strata(draw):
    """Some items judged once, some several times, in strata of any size."""
    item = draw(st.lists(st.integers(0, 40), min_size=1, max_size=120))
    stratum = draw(st.lists(st.integers(0, 5), min_size=len(item), max_size=len(item)))
    return np.array(item), np.array(stratum)


@given(items_and_strata(), st.integers(0, 2**32 - 1), st.integers(2, 10))
def test_all_rows_of_an_item_share_one_fold(table, seed, n_folds):
    item, stratum = table
    fold = assign_folds(item, stratum, n_folds=n_folds, seed=seed)
    assert fold.min() >= 0
    assert fold.max() < n_folds
    folds_of: dict[int, set[int]] = {}
    for one_item, one_fold in zip(item.tolist(), fold.tolist(), strict=True):
        folds_of.setdefault(one_item, set()).add(one_fold)
    assert all(len(folds) == 1 for folds in folds_of.values())


@given(items_and_strata(), st.integers(0, 1000), st.integers(2, 10))
def test_items_judged_once_are_dealt_evenly_within_their_stratum(table, seed, n_folds):
    item, stratum = table
    fold = assign_folds(item, stratum, n_folds=n_folds, seed=seed)
    times = {one: item.tolist().count(one) for one in item.tolist()}
    for code in set(stratum.tolist()):
        hands = [0] * n_folds
        for row in range(len(item)):
            if stratum[row] == code and times[int(item[row])] == 1:
                hands[fold[row]] += 1
        assert max(hands) - min(hands) <= 1


@given(items_and_strata(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(table, random):
    item, stratum = table
    order = list(range(len(item)))
    random.shuffle(order)
    fold = assign_folds(item, stratum)
    np.testing.assert_array_equal(assign_folds(item[order], stratum[order]), fold[order])


def test_another_seed_deals_other_folds_to_singles_and_to_shared_items():
    item, stratum = np.arange(3000), np.arange(3000) % 4
    for items in (item, np.repeat(item[:1500], 2)):
        one, other = (assign_folds(items, stratum, seed=seed) for seed in (1, 2))
        # Two independent deals agree on a third of the rows; the standard error is about 0.01.
        assert abs((one == other).mean() - 1 / N_FOLDS) < 0.05
        np.testing.assert_array_equal(one, assign_folds(items, stratum, seed=1))


def test_folds_are_of_similar_size_when_every_stratum_has_one_row():
    item = np.arange(3000)
    shares = np.bincount(assign_folds(item, item)) / len(item)
    assert np.abs(shares - 1 / N_FOLDS).max() < 0.04


def test_folds_of_shared_items_are_of_similar_size_too():
    item = np.repeat(np.arange(1000), 3)
    shares = np.bincount(assign_folds(item, np.arange(3000) % 6)) / len(item)
    assert np.abs(shares - 1 / N_FOLDS).max() < 0.06


def test_folds_do_not_follow_from_neighbouring_item_numbers():
    fold = assign_folds(np.arange(6000), np.zeros(6000, dtype=int))
    same_as_next = (fold[1:] == fold[:-1]).mean()
    assert abs(same_as_next - 1 / N_FOLDS) < 0.03
