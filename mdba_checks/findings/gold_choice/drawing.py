"""Drawing with known probabilities: half by worth, half at random within groups.

An item's chance to be drawn is the mean of two: one in proportion to its worth, over all groups,
and one that is equal within a group and shares the draws equally between groups. The second half
bounds the harm of a wrong worth: no weight is more than twice what it would be under random draws.

Families of items that are nearly equal are drawn as one, and then one member of each: a second copy
would tell nothing. Draws are systematic, in a random order of families, so that the number of items
per group is fixed and every chance is exactly what the weight says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdba_checks.tables import BoolArray, FloatArray, IntArray

RANDOM_SHARE = 0.5


@dataclass(frozen=True)
class Chances:
    """The probability of every item to be drawn, and where it comes from.

    Attributes
    ----------
    probability
        (items,): their sum is the number of items to draw, or all families there are.
    by_worth
        (items,): whether most of it comes from the item's worth.
    """

    probability: FloatArray
    by_worth: BoolArray


def chances(
    worth: FloatArray,
    group: IntArray,
    family: IntArray,
    n: int,
    *,
    random_share: float = RANDOM_SHARE,
) -> Chances:
    """Return the probabilities under which `n` items are drawn.

    Parameters
    ----------
    worth
        (items,): zero or more; what counts is how much larger one is than another.
    group, family
        (items,): codes from zero. At most one member of a family is drawn.
    n
        How many items to draw; fewer where there are fewer families.
    random_share
        The share of draws that ignores worth.

    Examples
    --------
    Four items, of which the last is worth as much as all others together:

    >>> one = np.zeros(4, dtype=int)
    >>> chances(np.array([1.0, 1, 1, 3]), one, np.arange(4), 1).probability.round(3)
    array([0.208, 0.208, 0.208, 0.375])
    """
    sizes = np.bincount(group)
    present = sizes > 0
    even = np.where(present, 1 / np.maximum(sizes, 1) / present.sum(), 0.0)[group]
    total = worth.sum()
    if not total > 0:
        worth, total = even, 1.0
    random_part = random_share * even
    worth_part = (1 - random_share) * worth / total
    wanted = random_part + worth_part
    n = min(n, int(family.max(initial=-1)) + 1)
    return Chances(_at_most_one(wanted, family, n), worth_part > random_part)


def _at_most_one(wanted: FloatArray, family: IntArray, n: int) -> FloatArray:
    """Scale probabilities to the sum `n` so that no family has more than one."""
    of_family = np.bincount(family, wanted)
    full = np.zeros(len(of_family), dtype=bool)
    scale = np.full(len(of_family), float(n))
    while (over := ~full & (of_family * scale >= 1)).any():
        full |= over
        rest = of_family[~full].sum()
        others = (n - full.sum()) / rest if rest > 0 else 0.0
        scale = np.where(full, 1 / np.where(full, of_family, 1.0), others)
    probability: FloatArray = np.minimum(wanted * scale[family], 1.0)
    return probability


def draw(probability: FloatArray, group: IntArray, family: IntArray, seed: int) -> IntArray:
    """Return the items that are drawn, in a random order; the same ones for the same seed.

    Examples
    --------
    Every item has the chance it was given, also in families:

    >>> probability = np.array([0.5, 0.25, 0.25, 1.0])
    >>> group, family = np.zeros(4, dtype=int), np.array([0, 1, 1, 2])
    >>> drawn = [draw(probability, group, family, seed) for seed in range(2000)]
    >>> (np.bincount(np.concatenate(drawn)) / 2000).round(1).tolist()
    [0.5, 0.2, 0.3, 1.0]
    """
    rng = np.random.default_rng([seed, 19])
    n_families = int(family.max(initial=-1)) + 1
    of_family = np.bincount(family, probability, minlength=n_families)
    group_of_family = np.zeros(n_families, dtype=np.int64)
    group_of_family[family] = group
    order = np.lexsort((rng.random(n_families), group_of_family))
    place = np.concatenate([[0.0], np.cumsum(of_family[order])]) + rng.random()
    # A last digit lost in adding up must not make a certain family miss its draw.
    steps = np.floor(place + 1e-9)
    taken = order[np.diff(steps) > 0]
    return rng.permutation(_one_member(probability, family, taken, rng))


def _one_member(
    probability: FloatArray, family: IntArray, taken: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return one member of every family taken, in proportion to probabilities."""
    chosen = np.zeros(int(family.max(initial=-1)) + 1, dtype=bool)
    chosen[taken] = True
    items = np.flatnonzero(chosen[family])
    # The largest of log(u) / p: a member wins with a chance in proportion to its p.
    with np.errstate(divide="ignore"):
        key = np.log(rng.random(len(items))) / probability[items]
    order = np.lexsort((-key, family[items]))
    sorted_families = family[items][order]
    first = np.append(True, sorted_families[1:] != sorted_families[:-1])
    members: IntArray = items[order[first]]
    return members
