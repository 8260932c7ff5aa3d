"""Crowds with a known truth: people who label few items each, some of them biased.

A person's decision depends on the features, on a taste and a level of their own, and, for some
people, on the group. *Consistent* people decide by a threshold, *inconsistent* ones draw every
decision; both lapse now and then. Biased people either hold one group to another level, or weigh
two features differently for it. The truth about a person is their true positive rate over the
whole population of items (`gap`) and over the items that they labeled (`table_gap`).

It shares no code with `mdba_checks.simulation` nor with the estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POPULATION = 6_000  # items by which people are made
# Items over which the truth about people is computed: a gap over 6,000 items is off by 0.01 for
# everybody together, as much as the intervals of large crowds allow.
EXACT = 60_000
SHARPNESS = 2.0  # logits per standard deviation of the score
LAPSES = 0.02  # decisions that are a coin


@dataclass(frozen=True)
class Shape:
    """What a crowd is like."""

    labelers: int = 200
    labels_each: int = 50
    people: Literal["consistent", "inconsistent"] = "consistent"
    bias: Literal["level", "feature"] = "level"
    counts: Literal["equal", "zipf"] = "equal"
    overlap: int = 1  # how many people label each item
    gold_per_group: int = 300
    share_biased: float = 0.15
    prevalence: float = 0.3


@dataclass(frozen=True)
class Crowd:
    """The two tables of a check, and the truth about every labeler."""

    labels: pd.DataFrame  # item, labeler, features, group, label
    gold: pd.DataFrame  # item, features, group, gold
    truth: pd.DataFrame  # labeler, gap, table_gap, biased
    overall: float  # the true gap of all labels in the table together


@dataclass(frozen=True)
class _Scale:
    """What turns raw scores into scores: the same for all items that belong together."""

    mean: float
    deviation: float
    level: dict[bool, float]  # of both groups, so that the same share of each is right


@dataclass(frozen=True)
class _Items:
    frame: pd.DataFrame
    standard: Floats  # (items, numbers): what tastes are about
    score: Floats
    women: NDArray[np.bool_]
    chance: Floats  # that yes is right
    right: Ints


@dataclass(frozen=True)
class _People:
    taste: Floats  # (people, numbers)
    level: Floats
    shift: Floats  # for women
    turn: Floats  # how much less two features weigh for women
    draws: bool

    def chance(self, items: _Items, person: Ints, item: Ints) -> Floats:
        """Return the probability of a yes, person by person and item by item."""
        x, women = items.standard[item], items.women[item]
        score = items.score[item] + (x * self.taste[person]).sum(1)
        logit = SHARPNESS * score + self.level[person]
        misused = SHARPNESS * (x[:, 0] + 0.8 * x[:, 1]) / _SCALE
        logit += women * (self.shift[person] - self.turn[person] * misused)
        yes = expit(logit) if self.draws else (logit > 0).astype(float)
        return (1 - LAPSES) * yes + LAPSES / 2


_SCALE = 1.7  # standard deviation of the raw score below, about


def simulate_crowd(shape: Shape, seed: int) -> Crowd:
    """Return a crowd.

    Examples
    --------
    >>> crowd = simulate_crowd(Shape(labelers=20, labels_each=30), seed=1)
    >>> len(crowd.labels), len(crowd.gold), int(crowd.truth["biased"].sum())
    (600, 600, 3)
    """
    rng = np.random.default_rng([seed, 17])
    counts = _counts(shape, rng)
    person = np.repeat(np.arange(shape.labelers), counts)
    if shape.overlap > 1:
        person = rng.permutation(person)
    item = np.arange(len(person)) // shape.overlap
    n_labeled = int(item.max()) + 1
    n_gold = 3 * shape.gold_per_group
    every, scale = _items(n_labeled + n_gold + POPULATION, shape, rng)
    people = _people(shape, _part(every, slice(-POPULATION, None)), rng)
    aside = np.arange(n_labeled, n_labeled + n_gold)
    aside = np.concatenate(
        [aside[every.women[aside] == side][: shape.gold_per_group] for side in (True, False)]
    )
    if shape.overlap > 1:  # nobody labels an item twice
        _, first = np.unique(person * (n_labeled + 1) + item, return_index=True)
        person, item = person[first], item[first]
    label = (rng.random(len(item)) < people.chance(every, person, item)).astype(int)
    names = np.array([f"p{number:05d}" for number in rng.permutation(shape.labelers)])
    labels = every.frame.iloc[item].reset_index(drop=True)
    labels.insert(0, "labeler", names[person])
    labels["label"] = label
    gold = every.frame.iloc[aside].assign(gold=every.right[aside]).reset_index(drop=True)
    cell = person * 2 + every.women[item]
    right = every.right[item]
    found = np.bincount(cell, right * label, minlength=2 * shape.labelers).reshape(-1, 2)
    there = np.bincount(cell, right, minlength=2 * shape.labelers).reshape(-1, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = found / there
    population, _ = _items(EXACT, shape, np.random.default_rng([seed, 18]), scale)
    truth = pd.DataFrame(
        {
            "labeler": names,
            "gap": _gaps(people, population, np.arange(shape.labelers)),
            "table_gap": rate[:, 1] - rate[:, 0],
            "biased": (people.shift != 0) & (np.arange(shape.labelers) < _n_biased(shape)),
        }
    )
    whole = found.sum(0) / there.sum(0)
    return Crowd(labels, gold, truth, float(whole[1] - whole[0]))


def _n_biased(shape: Shape) -> int:
    return round(shape.share_biased * shape.labelers)


def _counts(shape: Shape, rng: np.random.Generator) -> Ints:
    if shape.counts == "equal":
        return np.full(shape.labelers, shape.labels_each)
    share = 1 / np.arange(1, shape.labelers + 1) ** 0.8
    counts = np.maximum(10, share / share.sum() * shape.labelers * shape.labels_each)
    return rng.permutation(counts.astype(int))


def _items(
    n: int, shape: Shape, rng: np.random.Generator, scale: _Scale | None = None
) -> tuple[_Items, _Scale]:
    """Return items, and their scale where none is given."""
    women = rng.random(n) < 0.45
    x = rng.standard_normal((n, 3))
    x[:, 2] += 0.4 * women
    waiting = rng.exponential(1.0, n)
    kind = rng.integers(0, 4, n)
    certificate = rng.random(n) < np.where(women, 0.5, 0.4)
    raw = x[:, 0] + 0.8 * x[:, 1] - 0.5 * x[:, 2] + 0.7 * np.log1p(waiting)
    raw += np.array([-0.5, 0.0, 0.3, 0.6])[kind] + 0.5 * certificate * (1 + x[:, 0])
    if scale is None:
        mean, deviation = float(raw.mean()), float(raw.std())
        score = (raw - mean) / deviation
        level = {
            side: float(np.quantile(score[women == side], 1 - shape.prevalence))
            for side in (True, False)
        }
        scale = _Scale(mean, deviation, level)
    score = (raw - scale.mean) / scale.deviation
    score -= np.where(women, scale.level[True], scale.level[False])
    if shape.people == "inconsistent":
        chance = expit(SHARPNESS * score)
    else:
        chance = (score > 0).astype(float)
    frame = pd.DataFrame(
        {
            "item": [f"i{number}" for number in rng.permutation(n)],
            "test": x[:, 0].round(3),
            "interview": x[:, 1].round(3),
            "distance": x[:, 2].round(3),
            "waiting": waiting.round(3),
            "kind": np.array(["ash", "birch", "cedar", "oak"])[kind],
            "certificate": np.where(certificate, "yes", "no"),
            "group": np.where(women, "women", "men"),
        }
    )
    standard = np.column_stack([x, (waiting - 1), certificate - certificate.mean()])
    right = (rng.random(n) < chance).astype(np.int64)
    return _Items(frame, standard, score, women, chance, right), scale


def _part(items: _Items, where: slice) -> _Items:
    return _Items(**{name: values[where] for name, values in vars(items).items()})


def _people(shape: Shape, population: _Items, rng: np.random.Generator) -> _People:
    n, biased = shape.labelers, _n_biased(shape)
    people = _People(
        taste=0.12 * rng.standard_normal((n, population.standard.shape[1])),
        level=0.2 + 0.5 * rng.standard_normal(n),
        shift=0.2 * rng.standard_normal(n),
        turn=np.zeros(n),
        draws=shape.people == "inconsistent",
    )
    target = np.where(rng.random(biased) < 0.8, -1, 1) * rng.uniform(0.2, 0.5, biased)
    first = np.arange(biased)
    if shape.bias == "feature":
        # Only a loss can be had from two features: who favours women does it by level.
        against = target < 0
        people.shift[:biased] = np.where(against, -0.1, people.shift[:biased])
        _solve(people, population, people.turn, first[against], target[against], (3.0, 0.0))
        first, target = first[~against], target[~against]
    _solve(people, population, people.shift, first, target, (-12.0, 12.0))
    return people


def _solve(
    people: _People,
    population: _Items,
    parameter: Floats,
    who: Ints,
    target: Floats,
    ends: tuple[float, float],
) -> None:
    """Move a parameter until the gap of some people is the wanted one, or as near as it gets."""
    low, high = (np.full(len(who), end) for end in ends)
    for _ in range(25):
        parameter[who] = (low + high) / 2
        below = _gaps(people, population, who) < target
        low, high = np.where(below, parameter[who], low), np.where(below, high, parameter[who])


def _gaps(people: _People, population: _Items, who: Ints) -> Floats:
    gaps = np.empty(len(who))
    for place, person in enumerate(who):
        every = np.arange(len(population.score))
        yes = people.chance(population, np.full(len(every), person), every)
        women, men = (
            (population.chance * yes)[population.women == side].sum()
            / population.chance[population.women == side].sum()
            for side in (True, False)
        )
        gaps[place] = women - men
    return gaps
