"""Items with a merit, and labelers who judge by it: the material of `shapes`.

Gold and labelers judge an item by its *merit*. Whether yes is right is drawn from a steep function
of merit, and labelers decide by chance too, with a bar per group that is placed so that they reach
the wanted rate among the items where yes is right. Given the merit, decisions and right answers are
independent; so they are given the features, if the features tell the merit (assumption 1). A
shape that hides part of the merit from the tables breaks that.

Men are the reference; labelers say yes to 75% of the men for whom yes is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from benchmarks.scoring import MAX_GAP, Made, gaps_in_table

Rng = np.random.Generator
Array = np.ndarray

GROUPS = ("men", "women")
REFERENCE, REFERENCE_RATE = "men", 0.75
# Two labelers beyond the limit, one in the other direction, one at it, four within.
GAPS = (-0.3, -0.2, 0.2, -MAX_GAP, -0.05, 0.0, 0.0, 0.05)
LABELS_EACH, GOLD_PER_GROUP, PREVALENCE = 1500, 200, 0.3
# The logit of a chance is merit divided by this; merit has a standard deviation of about one.
GOLD_BLUR, LABELER_BLUR = 0.2, 0.4
# How much each of six features adds to merit.
WEIGHTS = np.array([1.0, 0.8, 0.6, 0.4, 0.2, 0.0]) / np.sqrt(2.2)


@dataclass(frozen=True)
class Items:
    """Things to decide on; all arrays have one entry per item.

    Attributes
    ----------
    name
        What the item column says.
    shown
        The features that the tables hold.
    group, merit, right
        Whose item it is, how good it is, and whether yes is right.
    """

    name: Array
    shown: pd.DataFrame
    group: Array
    merit: Array
    right: Array

    def __len__(self) -> int:
        return len(self.group)

    def take(self, rows: Array) -> Items:
        """Return some of the items, by number or by mask."""
        shown = self.shown.loc[rows].reset_index(drop=True)
        arrays = (self.name, self.group, self.merit, self.right)
        name, group, merit, right = (each[rows] for each in arrays)
        return Items(name, shown, group, merit, right)

    def showing(self, shown: pd.DataFrame) -> Items:
        """Return the same items with other features in the tables."""
        return replace(self, shown=shown)

    def and_also(self, others: Items) -> Items:
        """Return these items followed by others."""
        arrays = ("name", "group", "merit", "right")
        joined = {
            each: np.concatenate([getattr(self, each), getattr(others, each)]) for each in arrays
        }
        return Items(shown=pd.concat([self.shown, others.shown], ignore_index=True), **joined)


def columns(values: Array) -> pd.DataFrame:
    """Return features called x1, x2, ..."""
    return pd.DataFrame(values, columns=[f"x{n + 1}" for n in range(values.shape[1])])


def in_turn(n: int, names: Sequence[str] = GROUPS) -> Array:
    """Return groups of equal size."""
    return np.array(names, dtype=object)[np.arange(n) % len(names)]


def normal_features(rng: Rng, group: Array) -> Array:
    """Return six independent features; women are a little higher in the first."""
    features = rng.standard_normal((len(group), len(WEIGHTS)))
    features[:, 0] += 0.3 * (group == "women")
    return features


def shift_to(wanted: float, score: Array) -> float:
    """Return what has to be added to scores so that the mean of their chances is as wanted.

    Examples
    --------
    >>> round(shift_to(0.5, np.array([1.0, 3.0])), 6)
    -2.0
    """
    return float(brentq(lambda shift: expit(score + shift).mean() - wanted, -200.0, 200.0))


def judged(
    rng: Rng,
    shown: pd.DataFrame,
    group: Array,
    merit: Array,
    prevalence: float | Mapping[str, float] = PREVALENCE,
) -> Items:
    """Return items whose right answers are drawn by merit, with a given share of yes by group."""
    chance = np.empty(len(group))
    for each in np.unique(group):
        here = group == each
        wanted = prevalence[each] if isinstance(prevalence, Mapping) else prevalence
        score = merit[here] / GOLD_BLUR
        chance[here] = expit(score + shift_to(wanted, score))
    right = (rng.random(len(group)) < chance).astype(int)
    return Items(np.arange(len(group)).astype(str), shown, group, merit, right)


def plain_items(rng: Rng, n: int, prevalence: float | Mapping[str, float] = PREVALENCE) -> Items:
    """Return items whose six features tell the whole merit."""
    group = in_turn(n)
    features = normal_features(rng, group)
    return judged(rng, columns(features), group, features @ WEIGHTS, prevalence)


def partly_hidden_items(rng: Rng, n: int, hidden: Mapping[str, float]) -> Items:
    """Return items of whose merit a share of the variance is in no table, by group."""
    group = in_turn(n)
    features = normal_features(rng, group)
    share = np.array([hidden[each] for each in group])
    unseen = rng.standard_normal(n)
    merit = np.sqrt(1 - share) * (features @ WEIGHTS) + np.sqrt(share) * unseen
    return judged(rng, columns(features), group, merit)


def needed(
    labelers: int = len(GAPS), each: int = LABELS_EACH, gold: int = 2 * GOLD_PER_GROUP
) -> int:
    """Return how many items labelers and gold need together."""
    return labelers * each + gold


def split(rng: Rng, items: Items, per_group: int = GOLD_PER_GROUP) -> tuple[Items, Items]:
    """Return items to label and items for gold, the latter drawn at random in every group."""
    order = rng.permutation(len(items))
    rank = pd.Series(order).groupby(items.group[order]).cumcount().to_numpy()
    return items.take(order[rank >= per_group]), items.take(order[rank < per_group])


def deal(items: Items, labelers: int = len(GAPS), *, overlap: int = 1) -> list[Items]:
    """Return the items of every labeler; `overlap` labelers share theirs."""
    shares = np.array_split(np.arange(len(items)), -(-labelers // overlap))
    return [items.take(shares[number // overlap]) for number in range(labelers)]


def decided(
    rng: Rng,
    parts: Sequence[Items],
    gaps: Sequence[float | Mapping[str, float]] = GAPS,
    *,
    population: Items | None = None,
    blur: float = LABELER_BLUR,
) -> tuple[pd.DataFrame, Array, pd.DataFrame]:
    """Return the labels table, the right answer of every row, and the truth.

    `parts` has the items of every labeler. A gap that is a number is about women; a mapping names
    groups. The gap is that of the chances to say yes in the `population`, by default all items of
    all labelers; the labels that are drawn from them differ from it by chance.
    """
    if population is None:
        population = parts[0]
        for part in parts[1:]:
            population = population.and_also(part)
    groups = np.unique(population.group)
    tables, tendencies = [], []
    for number, (part, gap) in enumerate(zip(parts, gaps, strict=True), start=1):
        gap_of: Mapping[str, float] = gap if isinstance(gap, Mapping) else {"women": gap}
        score = part.merit / blur
        for group in groups:
            typical = (population.group == group) & (population.right == 1)
            wanted = REFERENCE_RATE + gap_of.get(group, 0.0)
            shift = shift_to(wanted, population.merit[typical] / blur)
            score[part.group == group] += shift
        label = (rng.random(len(part)) < expit(score)).astype(int)
        tables.append(
            part.shown.assign(item=part.name, group=part.group, labeler=f"L{number}", label=label)
        )
        tendencies += [
            (f"L{number}", group, gap_of.get(group, 0.0)) for group in groups if group != REFERENCE
        ]
    labels = pd.concat(tables, ignore_index=True)
    right = np.concatenate([part.right for part in parts])
    tendency = pd.DataFrame(tendencies, columns=["labeler", "group", "tendency"])
    truth = gaps_in_table(labels, right, REFERENCE).merge(tendency, on=["labeler", "group"])
    return labels, right, truth


def gold_of(items: Items) -> pd.DataFrame:
    """Return items with their right answers as a gold table."""
    return items.shown.assign(item=items.name, group=items.group, gold=items.right)


def made_from(
    rng: Rng,
    items: Items,
    gaps: Sequence[float | Mapping[str, float]] = GAPS,
    *,
    per_group: int = GOLD_PER_GROUP,
    overlap: int = 1,
    blur: float = LABELER_BLUR,
) -> Made:
    """Return tables from items: gold at random, the rest for the labelers."""
    to_label, for_gold = split(rng, items, per_group)
    parts = deal(to_label, len(gaps), overlap=overlap)
    labels, right, truth = decided(rng, parts, gaps, blur=blur)
    return Made(labels, gold_of(for_gold), right, truth)
