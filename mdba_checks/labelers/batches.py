"""Rows of many labelers as a few dense blocks, so that numpy works on all of them at once.

Labelers of similar size share a block; short ones are padded with rows of weight zero. A block
holds a bounded number of cells, so memory does not grow with the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mdba_checks.arrays import BoolArray, FloatArray, IntArray

# Cells of one block's design: 32 MB as float64, which stays near the processor's caches.
_CELLS = 4_000_000


@dataclass(frozen=True)
class Batch:
    """The rows of some labelers, by (labeler, group, place)."""

    labelers: IntArray  # (labelers,) codes
    index: IntArray  # (labelers, groups, places): row numbers, 0 where there is none
    filled: BoolArray  # (labelers, groups, places)

    def gather(self, columns: FloatArray) -> FloatArray:
        """Return the rows' design, (labelers, groups, places, 1 + columns), intercept first."""
        design = np.empty((*self.index.shape, columns.shape[1] + 1))
        design[..., 0] = 1.0
        design[..., 1:] = columns[self.index]
        return design

    @property
    def rows(self) -> IntArray:
        """Row numbers of the filled places, in the order of a boolean selection by `filled`."""
        return self.index[self.filled]


def make_batches(
    labeler: IntArray, group: IntArray, *, n_groups: int, n_columns: int
) -> Iterator[Batch]:
    """Yield batches that together hold every row once.

    Examples
    --------
    >>> labeler, group = np.array([0, 0, 0, 7]), np.array([0, 1, 1, 0])
    >>> [batch.labelers.tolist() for batch in make_batches(labeler, group, n_groups=2, n_columns=3)]
    [[7, 0]]
    """
    codes, compact = np.unique(labeler, return_inverse=True)
    cell = compact * n_groups + group
    order = np.argsort(cell, kind="stable")
    sizes = np.bincount(cell, minlength=len(codes) * n_groups)
    starts = np.cumsum(sizes) - sizes
    sizes, starts = sizes.reshape(-1, n_groups), starts.reshape(-1, n_groups)
    longest = np.maximum(sizes.max(axis=1), 1)
    by_size = np.argsort(longest, kind="stable")
    begin = 0
    while begin < len(by_size):
        end = begin + 1
        while end < len(by_size) and _fits(longest[by_size[end]], longest[by_size[begin]]):
            cells = (end + 1 - begin) * n_groups * longest[by_size[end]] * (n_columns + 1)
            if cells > _CELLS:
                break
            end += 1
        members = by_size[begin:end]
        places = np.arange(longest[members[-1]])
        filled = places < sizes[members][..., None]
        index = order[np.where(filled, starts[members][..., None] + places, 0)]
        yield Batch(codes[members], index, filled)
        begin = end


def _fits(size: int, smallest: int) -> bool:
    # Padding a row costs as much as fitting it: mates may be at most half as long again.
    return size <= 1.5 * smallest + 4
