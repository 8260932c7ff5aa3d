"""What an item is worth: how much the right answer to it would narrow undecided comparisons.

The gold items' part of the variance of a gap is a mean of ``(f - rate)² (Y - g)²`` over the items
of each group, where f is the chance that the labeler says yes, g the chance that yes is right, and
``(Y - g)²`` is ``g (1 - g)`` on average. Its root, added up over comparisons, is an item's worth:
drawing in proportion to it makes the sum of the variances smallest.

Before there is any gold, labelers stand in for g: where they disagree, or where what they agree on
changes from no to yes, the right answer is least known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mdba_checks.tables import FloatArray, IntArray

# A model that is certain is not believed beyond this: some answer would come as a surprise.
_LEAST_CHANCE = 0.02
# Logits of labelers are taken for less than they say: what they agree on need not be right.
_DOUBT = 2.0


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


def worth_of(wanted: Wanted, g: FloatArray, group: IntArray) -> FloatArray:
    """Return what every item is worth, (items,).

    `f` and `g` are about the decisions and right answers that the metric counts: for the false
    positive rate, g is the chance that *no* is right.

    Examples
    --------
    An item whose right answer is open is worth more than one where it is known, unless the labeler
    says yes to it as often as to all items:

    >>> f = np.array([[0.9, 0.9, 0.5, 0.1]])
    >>> g = np.array([0.5, 0.98, 0.5, 0.5])
    >>> worth = worth_of(Wanted(f, np.ones((1, 1))), g, np.zeros(4, dtype=int))
    >>> (worth / worth.max()).round(2).tolist()
    [0.43, 0.12, 0.28, 1.0]
    """
    n_groups = wanted.sides.shape[1]
    g = np.clip(g, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    positives = np.bincount(group, g, minlength=n_groups)
    found = np.stack([np.bincount(group, g * each, minlength=n_groups) for each in wanted.f])
    rate = found / np.maximum(positives, 1e-12)
    moved = np.zeros(len(g))
    for f, own_rate, sides in zip(wanted.f, rate, wanted.sides, strict=True):
        moved += (sides[group] * (f - own_rate[group])) ** 2
    worth: FloatArray = np.sqrt(moved * g * (1 - g)) / positives[group]
    return worth


def chance_by_labels(f: FloatArray, scores: FloatArray) -> FloatArray:
    """Return what stands in for g before there is gold, (items,).

    Parameters
    ----------
    f
        (labelers, items): chance of a yes.
    scores
        (items, scores): logits by which all labelers together judge, in several ways.

    Examples
    --------
    Two labelers who agree, and two who do not:

    >>> f, scores = np.array([[0.9, 0.9], [0.9, 0.1]]), np.array([[4.0], [0.0]])
    >>> chance_by_labels(f, scores).round(2)
    array([0.89, 0.5 ])
    """
    together = expit(scores / _DOUBT).mean(axis=1)
    chance: FloatArray = (f.mean(axis=0) + together) / 2
    return chance
