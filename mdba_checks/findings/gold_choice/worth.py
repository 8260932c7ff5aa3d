"""What an item is worth: how much the right answer to it would narrow undecided comparisons.

The gold items' part of the variance of a gap is a mean of ``(f - rate)² (Y - g)²`` over the items
of each group, where f is the chance that the labeler says yes, g the chance that yes is right, and
``(Y - g)²`` is ``g (1 - g)`` on average. Its root, added up over comparisons, is an item's worth:
drawing in proportion to it makes the sum of the variances smallest. The rate is not known when
items are drawn, only estimated afterwards from the positives among them, so ``(f - rate)²`` is
taken with the variance of such an estimate added: items that labelers accept as often as any other
still tell how many positives there are.

Before there is gold, and while there is little, labelers stand in for g (`chance_of_right`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdba_checks.tables import FloatArray, IntArray

# A model that is certain is not believed beyond this. Not more: most items are certain, and all of
# them together must not outweigh the few that are open.
_LEAST_CHANCE = 0.001
_GOLD_COUNT = 200.0  # gold items from which on g is believed more than the labelers' mean


@dataclass(frozen=True)
class Wanted:
    """The comparisons that gold is to serve.

    Attributes
    ----------
    f
        (comparisons, items): chance of a yes, by the labeler or the labelers compared.
    sides
        (comparisons, groups): weight of each group in the gap; 0 where a group does not count.
    """

    f: FloatArray
    sides: FloatArray


@dataclass(frozen=True)
class Worth:
    """What items are worth; arrays are (items,).

    Attributes
    ----------
    believed
        If right answers are as open as models and labelers say.
    blind
        If they have nothing to do with that: all items of a group are equally open.
    """

    believed: FloatArray
    blind: FloatArray

    def take(self, items: IntArray) -> Worth:
        """Return the worth of some items."""
        return Worth(self.believed[items], self.blind[items])


def worth_of(wanted: Wanted, g: FloatArray, group: IntArray, n_judged: int) -> Worth:
    """Return what every item is worth.

    `f` and `g` are about the decisions and right answers that the metric counts: for the false
    positive rate, g is the chance that *no* is right. `n_judged` is how many items will be judged
    in all, shared equally between groups: it says how well rates will be known.

    Examples
    --------
    An item whose right answer is open is worth more than one where it is known, and more where the
    labeler says yes to it less or more often than to others:

    >>> f = np.array([[0.9, 0.9, 0.5, 0.1]])
    >>> g = np.array([0.5, 0.98, 0.5, 0.5])
    >>> worth = worth_of(Wanted(f, np.ones((1, 1))), g, np.zeros(4, dtype=int), n_judged=20)
    >>> (worth.believed / worth.believed.max()).round(2).tolist()
    [0.48, 0.13, 0.36, 1.0]
    """
    n_groups = wanted.sides.shape[1]
    g = np.clip(g, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    sizes = np.maximum(np.bincount(group, minlength=n_groups), 1)
    positives = np.bincount(group, g, minlength=n_groups)
    prevalence = positives / sizes
    moved = np.zeros(len(g))
    for f, sides in zip(wanted.f, wanted.sides, strict=True):
        rate = np.bincount(group, g * f, minlength=n_groups) / np.maximum(positives, 1e-12)
        variance = rate * (1 - rate) / (1 + n_judged / n_groups * prevalence)
        moved += sides[group] ** 2 * ((f - rate[group]) ** 2 + variance[group])
    scale = np.sqrt(moved) / positives[group]
    return Worth(
        believed=scale * np.sqrt(g * (1 - g)),
        blind=scale * np.sqrt(prevalence * (1 - prevalence))[group],
    )


def chance_of_right(f: FloatArray, g: FloatArray | None, n_gold: int) -> FloatArray:
    """Return the chance that yes is right, as far as it is known before items are judged, (items,).

    Where labelers disagree, or where what they agree on changes from no to yes, the mean of their
    chances is near one half. With few gold items that says more about which answers are open than a
    g that was fitted to them; the more gold there is, the more g counts.

    Parameters
    ----------
    f
        (labelers, items): chance of a yes.
    g
        (items,): the chance that yes is right, as fitted to gold; None before there is any.
    n_gold
        How many gold items g was fitted to.

    Examples
    --------
    Two labelers who agree about the first item and not about the second:

    >>> f = np.array([[0.9, 0.9], [0.9, 0.1]])
    >>> chance_of_right(f, None, 0)
    array([0.9, 0.5])
    >>> chance_of_right(f, np.array([0.9, 0.9]), 200)
    array([0.9, 0.7])
    """
    by_labels: FloatArray = f.mean(axis=0)
    if g is None:
        return by_labels
    share = n_gold / (n_gold + _GOLD_COUNT)
    mixed: FloatArray = share * g + (1 - share) * by_labels
    return mixed
