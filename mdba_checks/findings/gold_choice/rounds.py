"""Rounds: how draws of several rounds add up, and what looking after each of them costs.

**Weights.** A round is drawn from the items that nobody has judged yet, with chances that may rest
on all answers so far. Given these answers, the items judged before, each counted once, plus those
of the round, each counted one over its chance, stand for all items; whatever the earlier rounds
were, that is right on average. So is every mean of such sums whose shares do not depend on the
round's own answers: rounds count by how many items they hold.

**Looks.** Somebody who checks after every round and stops as soon as all is settled gives chance
several opportunities. The error that an interval may make, 1 - confidence, is therefore shared
between the looks: a tenth of it at every look before the last one planned, what is left at that
one but for another tenth, and that last tenth, halved every time, for looks beyond the plan. As the
shares add up to one, intervals hold at *all* looks together with the confidence promised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdba_checks.config import CheckConfig
from mdba_checks.tables import FloatArray, IntArray

MOST_ROUNDS = 5  # the last planned look keeps at least half of the error
_EARLY_SHARE = 0.1


@dataclass(frozen=True)
class Look:
    """Which look at the gold this is: the first of three, and so on."""

    number: int = 1
    planned: int = 1

    def confidence(self, promised: float) -> float:
        """Return the confidence of intervals at this look.

        Examples
        --------
        >>> [round(Look(number, 3).confidence(0.9), 4) for number in (1, 2, 3, 4)]
        [0.99, 0.99, 0.93, 0.995]
        """
        if self.number < self.planned:
            share = _EARLY_SHARE
        elif self.number == self.planned:
            share = 1 - _EARLY_SHARE * self.planned
        else:
            share = _EARLY_SHARE / 2.0 ** (self.number - self.planned)
        return 1 - share * (1 - promised)


def at_look(config: CheckConfig, rounds: tuple[int, int] | None) -> CheckConfig:
    """Return the settings with the confidence that intervals need at this look at the gold.

    Examples
    --------
    >>> at_look(CheckConfig(confidence=0.9), None).confidence
    0.9
    >>> round(at_look(CheckConfig(confidence=0.9), (1, 3)).confidence, 4)
    0.99
    """
    if rounds is None:
        return config
    confidence = Look(*rounds).confidence(config.confidence)
    return config.model_copy(update={"confidence": confidence})


def about_rounds(config: CheckConfig, rounds: tuple[int, int] | None) -> tuple[str, ...]:
    """Return what somebody should know who looks at gold that is judged in rounds."""
    if rounds is None:
        return ()
    sentence = (
        f"gold: judged in rounds, this is look {rounds[0]} of {rounds[1]}. Intervals are "
        f"{at_look(config, rounds).confidence:.1%} ones, so that over all looks they hold with "
        f"{config.confidence:.0%}"
    )
    return (sentence,)


def combined_weights(inverse: FloatArray, turn: IntArray, group: IntArray) -> FloatArray:
    """Return how many items each judged item stands for, over all rounds.

    Parameters
    ----------
    inverse
        (items,): one over the chance in the round in which the item was drawn.
    turn
        (items,): the number of that round.
    group
        (items,): rounds are put together group by group.

    Examples
    --------
    Two rounds of two items each, drawn from 10 items and from the 8 that were left:

    >>> combined_weights(np.array([5.0, 5, 4, 4]), np.array([1, 1, 2, 2]), np.zeros(4, dtype=int))
    array([3., 3., 2., 2.])
    """
    weight = np.empty(len(inverse))
    for code in np.unique(group):
        here = np.flatnonzero(group == code)
        _, own, count = np.unique(turn[here], return_inverse=True, return_counts=True)
        share = count / count.sum()
        later = share[::-1].cumsum()[::-1] - share  # of the rounds after one's own
        weight[here] = share[own] * inverse[here] + later[own]
    return weight
