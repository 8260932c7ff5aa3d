from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mdba_checks.labelers.batches import make_batches

# `n_columns` only tells how much memory a row costs; a huge one forces many small batches.
WIDTHS = st.sampled_from([1, 20, 50_000, 10_000_000])


@st.composite
def people(draw):
    n_groups = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 30), min_size=1, max_size=12))
    codes = draw(st.lists(st.integers(0, 99), min_size=len(sizes), max_size=len(sizes), unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    labeler = rng.permutation(np.repeat(codes, sizes))
    return labeler, rng.integers(n_groups, size=len(labeler)), n_groups


@given(people(), WIDTHS)
def test_every_row_is_in_one_batch_exactly_once_with_its_labeler_and_group(table, width):
    labeler, group, n_groups = table
    seen: list[int] = []
    for batch in make_batches(labeler, group, n_groups=n_groups, n_columns=width):
        assert batch.index.shape == batch.filled.shape
        assert batch.index.shape[:2] == (len(batch.labelers), n_groups)
        for number, code in enumerate(batch.labelers):
            for one_group in range(n_groups):
                rows = batch.index[number, one_group][batch.filled[number, one_group]]
                assert (labeler[rows] == code).all()
                assert (group[rows] == one_group).all()
                seen += rows.tolist()
    assert sorted(seen) == list(range(len(labeler)))


@given(people(), WIDTHS)
def test_a_labeler_is_never_split_between_batches(table, width):
    labeler, group, n_groups = table
    batches = list(make_batches(labeler, group, n_groups=n_groups, n_columns=width))
    codes = [code for batch in batches for code in batch.labelers.tolist()]
    assert sorted(codes) == sorted(set(labeler.tolist()))
    if width == 10_000_000:
        assert all(len(batch.labelers) == 1 for batch in batches)


@given(people())
def test_sums_over_filled_places_are_the_sums_over_rows(table):
    labeler, group, n_groups = table
    values = np.arange(1.0, len(labeler) + 1)[:, None]
    for batch in make_batches(labeler, group, n_groups=n_groups, n_columns=1):
        design = batch.gather(values)
        assert (design[..., 0] == 1).all()
        for number, code in enumerate(batch.labelers):
            for one_group in range(n_groups):
                total = sum(
                    values[row, 0]
                    for row in range(len(labeler))
                    if labeler[row] == code and group[row] == one_group
                )
                assert (design[..., 1] * batch.filled)[number, one_group].sum() == total
        np.testing.assert_array_equal(values[batch.rows, 0], design[..., 1][batch.filled])


def test_memory_is_bounded_and_little_of_it_is_padding():
    rng = np.random.default_rng(1)
    sizes = rng.lognormal(3, 1.5, 400).astype(int) + 1
    labeler = np.repeat(np.arange(400), sizes)
    group = rng.integers(2, size=len(labeler))
    batches = list(make_batches(labeler, group, n_groups=2, n_columns=30))
    cells = [batch.filled.size * 31 for batch in batches]
    assert max(cells) <= max(4_100_000, 2 * 31 * sizes.max())
    assert sum(batch.filled.size for batch in batches) < 3 * len(labeler)
    assert len(batches) < 40
