"""Drawing with known probabilities, by what items are worth, and safely where that is wrong.

Drawing in proportion to the believed worth makes gold's part of the variance smallest, if right
answers are as open as models and labelers say. If they are not, items that seemed certain are drawn
too rarely. So an item's chance is in proportion to the root of its believed worth squared plus
`doubt` times its blind worth squared, and a quarter of draws is at random within groups. `doubt`
is the smallest with which gold's part of the variance, should right answers have nothing to do with
what models and labelers say, is at most a tenth larger than under random draws within groups, as
many from each.

Families of items that are nearly equal are drawn as one, and then one member of each: a second copy
would tell nothing. Draws are systematic, in a random order of families, so that the number of items
per group is fixed and every chance is exactly what the weight says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdba_checks.findings.gold_choice.worth import Worth
from mdba_checks.tables import BoolArray, FloatArray, IntArray

RANDOM_SHARE = 0.25  # of the draws: no weight is more than four times that of random draws
MOST_LOSS = 1.1  # of the variance under random draws
_DOUBTS = np.concatenate([[0.0], np.logspace(-4, 4, 81), [np.inf]])


@dataclass(frozen=True)
class Chances:
    """The probability of every item to be drawn, and where it comes from.

    Attributes
    ----------
    probability
        (items,): their sum is the number of items to draw, or all families there are.
    by_worth
        (items,): whether it is larger than under random draws within groups.
    doubt
        How far the believed worth is not believed.
    """

    probability: FloatArray
    by_worth: BoolArray
    doubt: float


def chances(worth: Worth, group: IntArray, family: IntArray, n: int) -> Chances:
    """Return the probabilities under which `n` items are drawn.

    Parameters
    ----------
    worth
        Zero or more; what counts is how much larger one is than another.
    group, family
        (items,): codes from zero. At most one member of a family is drawn.
    n
        How many items to draw; fewer where there are fewer families.

    Examples
    --------
    Four items, of which the last is believed to be worth as much as all others together:

    >>> one, worth = np.zeros(4, dtype=int), Worth(np.array([1.0, 1, 1, 3]), np.ones(4))
    >>> chances(worth, one, np.arange(4), 1).probability.round(3)
    array([0.198, 0.198, 0.198, 0.405])
    """
    sizes = np.bincount(group)
    present = sizes > 0
    even = np.where(present, 1 / np.maximum(sizes, 1) / present.sum(), 0.0)[group]
    most = MOST_LOSS * (worth.blind**2 / even).sum()
    low, high = 0, len(_DOUBTS) - 1
    # The more doubt, the smaller the variance should models be worthless.
    while low < high:
        middle = (low + high) // 2
        if (worth.blind**2 / _mixed(worth, even, _DOUBTS[middle])).sum() <= most:
            high = middle
        else:
            low = middle + 1
    mixed = _mixed(worth, even, _DOUBTS[high])
    n = min(n, int(family.max(initial=-1)) + 1)
    return Chances(_at_most_one(mixed, family, n), mixed > even, float(_DOUBTS[high]))


def _mixed(worth: Worth, even: FloatArray, doubt: float) -> FloatArray:
    """Return chances that add up to one."""
    root = worth.blind
    if np.isfinite(doubt):
        root = np.sqrt(worth.believed**2 + doubt * worth.blind**2)
    total = root.sum()
    by_worth = root / total if total > 0 else even
    mixed: FloatArray = RANDOM_SHARE * even + (1 - RANDOM_SHARE) * by_worth
    return mixed


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
