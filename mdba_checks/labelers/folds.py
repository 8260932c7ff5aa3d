"""Which rows a model may not see: folds by item, stratified as far as the data allows.

Every prediction about a row has to come from a model that never saw the row's item. Items judged
once are dealt out evenly within (labeler, group, decision); an item judged by several labelers
must keep all its rows together, so it goes to a fold by a hash of its own, and stratification is
left to chance. The assignment depends on content and seed only, not on the order of rows.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.arrays import BoolArray, IntArray

N_FOLDS = 3


def assign_folds(
    item: IntArray, stratum: IntArray, *, n_folds: int = N_FOLDS, seed: int = 0
) -> IntArray:
    """Return the fold of every row; rows must already be in a reproducible order.

    Examples
    --------
    >>> folds = assign_folds(np.arange(6), np.array([0, 0, 0, 1, 1, 1]))
    >>> sorted(folds[:3].tolist()), sorted(folds[3:].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    key = scramble(item, seed)
    shared = _occurs_again(item)
    fold: IntArray = (key % np.uint64(n_folds)).astype(np.int64)
    alone = np.flatnonzero(~shared)
    order = alone[np.lexsort((key[alone], stratum[alone]))]
    first_of_stratum = np.flatnonzero(np.diff(stratum[order], prepend=-1))
    rank = np.arange(len(order))
    sizes = np.diff(np.append(first_of_stratum, len(order)))
    rank = rank - np.repeat(first_of_stratum, sizes)
    # A different fold starts in every stratum: otherwise fold 0 gets all strata of one row.
    start = scramble(stratum[order], seed + 1) % np.uint64(n_folds)
    fold[order] = (rank + start.astype(np.int64)) % n_folds
    return fold


def scramble(values: IntArray, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """Return a well-mixed 64-bit number per value (the splitmix64 finaliser)."""
    with np.errstate(over="ignore"):
        mixed = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(seed + 1)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def _occurs_again(item: IntArray) -> BoolArray:
    _, index, counts = np.unique(item, return_inverse=True, return_counts=True)
    repeated: BoolArray = counts[index] > 1
    return repeated
