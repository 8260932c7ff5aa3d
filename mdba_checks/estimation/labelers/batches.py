"""Rows of many labelers as a few dense blocks, so that numpy works on all of them at once.

A block has the axes (labeler, group, part, place). Parts are folds: sums over a part are then sums
over an axis, and "all folds but one" costs nothing extra. Labelers of similar size share a block;
short cells are padded with rows of weight zero. A block is bounded, so memory does not grow with
the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mdba_checks.tables import FloatArray, IntArray

# Cells of one block's design and curvature: 32 MB as float64, which stays near the caches.
_CELLS = 4_000_000


@dataclass(frozen=True)
class Batch:
    """The rows of some labelers, by (labeler, group, part, place)."""

    labelers: IntArray  # (labelers,) codes
    index: IntArray  # (labelers, groups, parts, places): row numbers, 0 where there is none
    weight: FloatArray  # the same shape: 1.0, or 0.0 where there is no row

    def gather(self, columns: FloatArray) -> FloatArray:
        """Return the rows' design, (labelers, groups, parts, places, 1 + columns)."""
        design = np.empty((*self.index.shape, columns.shape[1] + 1))
        design[..., 0] = 1.0
        design[..., 1:] = columns[self.index]
        return design


def make_batches(
    labeler: IntArray,
    group: IntArray,
    part: IntArray,
    *,
    n_groups: int,
    n_parts: int,
    n_columns: int,
) -> Iterator[Batch]:
    """Yield batches that together hold every row once.

    Examples
    --------
    >>> labeler, group, part = np.array([0, 0, 0, 7]), np.array([0, 1, 1, 0]), np.zeros(4, int)
    >>> batches = make_batches(labeler, group, part, n_groups=2, n_parts=1, n_columns=3)
    >>> [batch.labelers.tolist() for batch in batches]
    [[7, 0]]
    """
    codes, compact = np.unique(labeler, return_inverse=True)
    cell = (compact * n_groups + group) * n_parts + part
    order = np.argsort(cell, kind="stable")
    sizes = np.bincount(cell, minlength=len(codes) * n_groups * n_parts)
    starts = np.cumsum(sizes) - sizes
    sizes = sizes.reshape(-1, n_groups, n_parts)
    starts = starts.reshape(-1, n_groups, n_parts)
    longest = np.maximum(sizes.max(axis=(1, 2)), 1)
    by_size = np.argsort(longest, kind="stable")
    width = n_columns + 1
    begin = 0
    while begin < len(by_size):
        # Padding a row costs as much as fitting it: mates may be at most half as long again.
        limit = 1.5 * longest[by_size[begin]] + 4
        mates = int(np.searchsorted(longest[by_size[begin:]], limit, side="right"))
        places = longest[by_size[begin + mates - 1]]
        each = n_groups * n_parts * places * width + n_parts * (n_groups * width) ** 2
        end = begin + max(1, min(mates, int(_CELLS // each)))
        members = by_size[begin:end]
        place = np.arange(longest[members[-1]])
        filled = place < sizes[members][..., None]
        index = order[np.where(filled, starts[members][..., None] + place, 0)]
        yield Batch(codes[members], index, filled.astype(float))
        begin = end


def one_batch(group: IntArray, part: IntArray, *, n_groups: int, n_parts: int) -> Batch:
    """Return all rows as the batch of a single labeler: everybody."""
    everybody = np.zeros(len(group), dtype=np.int64)
    (batch,) = make_batches(everybody, group, part, n_groups=n_groups, n_parts=n_parts, n_columns=0)
    return batch
