from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mdba_checks.estimation.labelers.batches import make_batches, one_batch

# `n_columns` only tells how much memory a row costs; a huge one forces many small batches.
HUGE = 10_000_000
WIDTHS = st.sampled_from([1, 20, 300, HUGE])


@st.composite
def people(draw):
    """Labelers of any sizes, in any order of rows, with groups and parts that may be empty."""
    n_groups, n_parts = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 30), min_size=1, max_size=12))
    codes = draw(
        st.lists(st.integers(0, 99), min_size=len(sizes), max_size=len(sizes), unique=True)
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    labeler = rng.permutation(np.repeat(codes, sizes))
    group = rng.integers(n_groups, size=len(labeler))
    part = rng.integers(n_parts, size=len(labeler))
    return (labeler, group, part), {"n_groups": n_groups, "n_parts": n_parts}


@settings(max_examples=60)
@given(people(), WIDTHS)
def test_every_row_is_in_one_batch_exactly_once_and_in_its_place(table, width):
    (labeler, group, part), shape = table
    seen: list[int] = []
    for batch in make_batches(labeler, group, part, **shape, n_columns=width):
        assert batch.index.shape == batch.weight.shape
        assert batch.index.shape[:3] == (len(batch.labelers), shape["n_groups"], shape["n_parts"])
        assert set(np.unique(batch.weight)) <= {0.0, 1.0}
        for *cell, place in np.argwhere(batch.weight > 0).tolist():
            row = batch.index[*cell, place]
            found = [int(labeler[row]), int(group[row]), int(part[row])]
            assert found == [int(batch.labelers[cell[0]]), *cell[1:]]
            seen.append(int(row))
    assert sorted(seen) == list(range(len(labeler)))


@settings(max_examples=60)
@given(people(), WIDTHS)
def test_a_labeler_is_never_split_between_batches(table, width):
    (labeler, group, part), shape = table
    batches = list(make_batches(labeler, group, part, **shape, n_columns=width))
    codes = [code for batch in batches for code in batch.labelers.tolist()]
    assert sorted(codes) == sorted(set(labeler.tolist()))
    if width == HUGE:
        assert all(len(batch.labelers) == 1 for batch in batches)


@settings(max_examples=60)
@given(people())
def test_weighted_sums_over_places_are_the_sums_over_rows(table):
    """So padding is never counted."""
    (labeler, group, part), shape = table
    values = np.arange(1.0, len(labeler) + 1)[:, None]
    expected: dict[tuple[int, int, int], float] = {}
    for row in range(len(labeler)):
        cell = int(labeler[row]), int(group[row]), int(part[row])
        expected[cell] = expected.get(cell, 0.0) + values[row, 0]
    for batch in make_batches(labeler, group, part, **shape, n_columns=1):
        design = batch.gather(values)
        assert (design[..., 0] == 1).all()
        totals = (design[..., 1] * batch.weight).sum(axis=-1)
        for number, *cell in np.ndindex(totals.shape):
            key = int(batch.labelers[number]), *cell
            assert totals[number, *cell] == expected.get(key, 0.0)


def test_everybody_is_one_batch_of_one():
    rng = np.random.default_rng(1)
    group, part = rng.integers(3, size=500), rng.integers(2, size=500)
    batch = one_batch(group, part, n_groups=3, n_parts=2)
    assert batch.weight.shape[:3] == (1, 3, 2)
    assert sorted(batch.index[batch.weight > 0].tolist()) == list(range(500))


def test_memory_is_bounded_and_little_of_it_is_padding():
    rng = np.random.default_rng(1)
    sizes = rng.lognormal(4, 1.5, 400).astype(int) + 1
    labeler = np.repeat(np.arange(400), sizes)
    shape = {"n_groups": 2, "n_parts": 1, "n_columns": 30}
    group = rng.integers(2, size=len(labeler))
    batches = list(make_batches(labeler, group, np.zeros_like(group), **shape))
    megabytes = [8 * batch.gather(np.zeros((len(labeler), 30))).size / 1e6 for batch in batches]
    assert max(megabytes) < 40
    assert sum(batch.weight.size for batch in batches) < 2 * len(labeler)
    assert len(batches) < 40
