"""Which rows a model may not see: folds by item, stratified as far as the data allows.

Every prediction about a row has to come from a model that never saw the row's item. Items judged
once are dealt out evenly within (labeler, group, decision); an item judged by several labelers
must keep all its rows together, so it goes to a fold by a hash of its own, and stratification is
left to chance. The assignment depends on content and seed only: not on the order of rows, nor on
what anybody is called.
"""

from __future__ import annotations

import numpy as np

from mdba_checks.tables import BoolArray, IntArray

N_FOLDS = 3


def assign_folds(
    item: IntArray,
    stratum: IntArray,
    *,
    mark: IntArray | None = None,
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> IntArray:
    """Return the fold of every row; rows must already be in a reproducible order.

    `mark` is what tells rows apart within a stratum; by default their item does.

    Examples
    --------
    >>> folds = assign_folds(np.arange(6), np.array([0, 0, 0, 1, 1, 1]))
    >>> sorted(folds[:3].tolist()), sorted(folds[3:].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    shared = _occurs_again(item)
    fold: IntArray = (scramble(item, seed) % np.uint64(n_folds)).astype(np.int64)
    alone = np.flatnonzero(~shared)
    key = scramble((item if mark is None else mark)[alone], seed)
    dealt = np.lexsort((key, stratum[alone]))
    of_stratum = stratum[alone[dealt]]
    first = np.flatnonzero(np.diff(of_stratum, prepend=-1))
    sizes = np.diff(np.append(first, len(dealt)))
    # A different fold starts in every stratum: otherwise fold 0 gets all strata of one row.
    start = (scramble(key[dealt[first]], seed + 1) % np.uint64(n_folds)).astype(np.int64)
    fold[alone[dealt]] = (np.arange(len(dealt)) + np.repeat(start - first, sizes)) % n_folds
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
