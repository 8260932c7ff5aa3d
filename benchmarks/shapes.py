"""Shapes of label sets with a known truth: where the assumptions hold, and where they do not.

Each shape is a function of a random generator; `SHAPES` has them by name. How items are judged is
told in `simulated_items`. Where assumptions hold, right answers and decisions are independent given
the features and the group, gold is a random sample of the labeled population (or weighted to be
one), its items are independent, and its answers are right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from benchmarks.scoring import Made
from benchmarks.simulated_items import (
    GAPS,
    GOLD_PER_GROUP,
    LABELER_BLUR,
    WEIGHTS,
    Items,
    Rng,
    columns,
    deal,
    decided,
    gold_of,
    in_turn,
    judged,
    made_from,
    needed,
    normal_features,
    partly_hidden_items,
    plain_items,
    split,
)
from mdba_checks.simulation import Family, simulate

# How much of the merit's variance the tables do not hold.
EQUAL = {"men": 0.5, "women": 0.5}
UNEQUAL = {"men": 0.1, "women": 0.6}


@dataclass(frozen=True)
class Shape:
    """A shape by its name: how to draw one, whether assumptions hold in it, and what it is."""

    name: str
    make: Callable[[Rng], Made]
    holds: bool
    what: str


SHAPES: dict[str, Shape] = {}


def shape(*, holds: bool) -> Callable[[Callable[[Rng], Made]], Callable[[Rng], Made]]:
    """Enter a function as a shape, under its own name and with its docstring as description."""

    def entered(make: Callable[[Rng], Made]) -> Callable[[Rng], Made]:
        what = " ".join((make.__doc__ or "").split()).rstrip(".")
        SHAPES[make.__name__] = Shape(make.__name__, make, holds, what)
        return make

    return entered


# --- the paper's kind: many features, each labeler with a model of their own


def _simulated(rng: Rng, family: Family) -> Made:
    gaps = np.array([-0.3, -0.2, -0.2, -0.1, -0.05, 0.0, 0.0, 0.0])
    made = simulate(
        family=family,
        n_items=needed(),
        n_labelers=len(gaps),
        tprs=list(0.95 + gaps),
        prevalence=0.3,
        gold_per_group=GOLD_PER_GROUP,
        seed=int(rng.integers(2**32)),
    )
    right = made.answers.set_index("item")["gold"].loc[made.labels["item"]].to_numpy()
    truth = made.truth[["labeler", "group", "gap"]]
    tendency = dict(zip([f"L{n + 1}" for n in range(len(gaps))], gaps, strict=True))
    return Made(
        made.labels, made.gold, right, truth.assign(tendency=truth["labeler"].map(tendency))
    )


@shape(holds=True)
def consistent(rng: Rng) -> Made:
    """Consistent labelers: the paper's, with the bar moved for women."""
    return _simulated(rng, "correct")


@shape(holds=True)
def misordered(rng: Rng) -> Made:
    """Consistent labelers who misuse a feature of women: the paper's second kind."""
    return _simulated(rng, "incorrect")


@shape(holds=True)
def inconsistent(rng: Rng) -> Made:
    """Many features; labelers and gold are drawn from chances."""
    return _simulated(rng, "inconsistent")


@shape(holds=True)
def plain(rng: Rng) -> Made:
    """Six features that tell everything, in a line."""
    return made_from(rng, plain_items(rng, needed()))


# --- what the tables do not hold


@shape(holds=False)
def hidden_equal(rng: Rng) -> Made:
    """Half of the merit is in no table, in both groups."""
    return made_from(rng, partly_hidden_items(rng, needed(), EQUAL))


@shape(holds=False)
def hidden_unequal(rng: Rng) -> Made:
    """60% of women's merit and 10% of men's is in no table."""
    return made_from(rng, partly_hidden_items(rng, needed(), UNEQUAL))


@shape(holds=False)
def hidden_unequal_shared_items(rng: Rng) -> Made:
    """As hidden_unequal, and four labelers decide on every item."""
    return made_from(rng, partly_hidden_items(rng, needed(labelers=2), UNEQUAL), overlap=4)


@shape(holds=False)
def missing_columns(rng: Rng) -> Made:
    """Two columns are missing for 35% of women and 5% of men; labelers knew them."""
    items = plain_items(rng, needed())
    share = np.where(items.group == "women", 0.35, 0.05)
    shown = items.shown.copy()
    shown.loc[rng.random(len(items)) < share, ["x1", "x2"]] = np.nan
    return made_from(rng, items.showing(shown))


@shape(holds=False)
def features_say_nothing(rng: Rng) -> Made:
    """The tables hold six columns of noise, and nothing of the merit."""
    items = plain_items(rng, needed())
    return made_from(rng, items.showing(columns(rng.standard_normal((len(items), 6)))))


# --- odd features


@shape(holds=True)
def xor(rng: Rng) -> Made:
    """Merit is whether two features have the same sign: no main effects."""
    group = in_turn(needed())
    features = rng.standard_normal((len(group), 6))
    merit = 0.9 * np.sign(features[:, 0] * features[:, 1]) + 0.45 * features[:, 2]
    return made_from(rng, judged(rng, columns(features), group, merit))


@shape(holds=True)
def complex_for_women(rng: Rng) -> Made:
    """Men's merit is a line in the features, women's is waves and products."""
    group = in_turn(needed())
    x = normal_features(rng, group)
    odd = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 1.5 * (np.abs(x[:, 3]) > 1)
    odd = (odd - odd.mean()) / odd.std()
    merit = np.where(group == "women", odd, x @ WEIGHTS)
    return made_from(rng, judged(rng, columns(x), group, merit))


@shape(holds=True)
def few_discrete(rng: Rng) -> Made:
    """Three features of two values each; all their combinations matter."""
    group = in_turn(needed())
    bits = rng.integers(2, size=(len(group), 3))
    merit = np.array([-1.2, -0.4, 0.3, 0.6, -0.8, 0.9, -0.2, 1.4])[bits @ [4, 2, 1]]
    return made_from(rng, judged(rng, columns(bits), group, merit))


@shape(holds=True)
def discrete_xor(rng: Rng) -> Made:
    """Two features of two values; yes is right, mostly, where they differ."""
    group = in_turn(needed())
    bits = rng.integers(2, size=(len(group), 2))
    merit = np.where(bits[:, 0] != bits[:, 1], 0.5, -0.5)
    return made_from(rng, judged(rng, columns(bits), group, merit, 0.5))


@shape(holds=True)
def noise_columns(rng: Rng) -> Made:
    """Sixty columns of noise beside six that tell everything."""
    items = plain_items(rng, needed())
    noise = columns(rng.standard_normal((len(items), 60))).add_prefix("noise_")
    return made_from(rng, items.showing(pd.concat([items.shown, noise], axis=1)))


@shape(holds=True)
def date_column(rng: Rng) -> Made:
    """A date, of no importance, that is later in gold than in the labels."""
    made = made_from(rng, plain_items(rng, needed()))

    def days(begin: str, n: int) -> pd.Series:
        return pd.Timestamp(begin) + pd.Series(pd.to_timedelta(rng.integers(180, size=n), "D"))

    labels = made.labels.assign(decided=days("2024-01-01", len(made.labels)))
    gold = made.gold.assign(decided=days("2024-07-01", len(made.gold)))
    return replace(made, labels=labels, gold=gold)


# --- how gold came about


@shape(holds=False)
def families(rng: Rng) -> Made:
    """Gold is 25 families per group, each of eight near copies with one answer."""
    made, _ = _with_families(rng)
    return made


@shape(holds=False)
def families_named(rng: Rng) -> Made:
    """As families, and a column `cluster` of gold names them."""
    made, family = _with_families(rng)
    return replace(made, gold=made.gold.assign(cluster=family))


def _with_families(rng: Rng, size: int = 8) -> tuple[Made, np.ndarray]:
    to_label, heads = split(rng, plain_items(rng, needed()), GOLD_PER_GROUP // size)
    family = np.repeat(np.arange(len(heads)), size)
    gold = heads.take(family)
    shown = gold.shown + 0.03 * rng.standard_normal(gold.shown.shape)
    table = gold_of(gold.showing(shown)).assign(item=[f"g{n}" for n in range(len(gold))])
    labels, right, truth = decided(rng, deal(to_label))
    return Made(labels, table, right, truth), family


@shape(holds=False)
def gold_of_positives(rng: Rng) -> Made:
    """All gold items are such that yes is right."""
    return _with_chosen_gold(rng, 1.0)


@shape(holds=False)
def gold_mostly_positives(rng: Rng) -> Made:
    """Yes is right for 70% of gold and for 30% of the labeled items."""
    return _with_chosen_gold(rng, 0.7)


@shape(holds=True)
def gold_mostly_positives_weighted(rng: Rng) -> Made:
    """As gold_mostly_positives, and weights say so."""
    made = _with_chosen_gold(rng, 0.7)
    share = pd.Series(made.right).groupby(made.labels["group"].to_numpy()).mean()
    known = made.gold["group"].map(share).to_numpy()
    weight = np.where(made.gold["gold"] == 1, known / 0.7, (1 - known) / 0.3)
    return replace(made, gold=made.gold.assign(gold_weight=weight))


def _with_chosen_gold(rng: Rng, positives: float) -> Made:
    to_label, pool = split(rng, plain_items(rng, needed(gold=3000)), 1500)
    kind = pd.Series(pool.group).str.cat(pool.right.astype(str)).to_numpy()
    rank = pd.Series(kind).groupby(kind).cumcount().to_numpy()
    wanted = np.where(pool.right == 1, positives, 1 - positives) * GOLD_PER_GROUP
    labels, right, truth = decided(rng, deal(to_label))
    return Made(labels, gold_of(pool.take(rank < wanted.round())), right, truth)


@shape(holds=False)
def noisy_gold(rng: Rng) -> Made:
    """One in ten gold answers is wrong, in both groups."""
    return _with_wrong_gold(rng, {"men": 0.1, "women": 0.1})


@shape(holds=False)
def noisy_gold_for_women(rng: Rng) -> Made:
    """One in six gold answers about women is wrong, none about men."""
    return _with_wrong_gold(rng, {"men": 0.0, "women": 1 / 6})


def _with_wrong_gold(rng: Rng, share: dict[str, float]) -> Made:
    made = made_from(rng, plain_items(rng, needed()))
    wrong = rng.random(len(made.gold)) < made.gold["group"].map(share)
    answer = made.gold["gold"].where(~wrong, 1 - made.gold["gold"])
    return replace(made, gold=made.gold.assign(gold=answer))


@shape(holds=True)
def few_gold(rng: Rng) -> Made:
    """Gold has twenty items per group."""
    return made_from(rng, plain_items(rng, needed(gold=40)), per_group=20)


@shape(holds=True)
def heavy_weights(rng: Rng) -> Made:
    """Gold has 60 items per group, drawn by a feature, with weights from 0.1 to 10 or so."""
    to_label, pool = split(rng, plain_items(rng, needed(gold=6000)), 3000)
    pull = 1.2 * pool.shown["x3"].to_numpy()
    # The highest of log chance + Gumbel are a draw without replacement by these chances.
    order = np.argsort(pull - rng.gumbel(size=len(pool)))
    rank = pd.Series(order).groupby(pool.group[order]).cumcount().to_numpy()
    chosen = order[rank < 60]
    labels, right, truth = decided(rng, deal(to_label))
    gold = gold_of(pool.take(chosen)).assign(gold_weight=np.exp(pull[chosen]))
    return Made(labels, gold, right, truth)


@shape(holds=False)
def mild_shift(rng: Rng) -> Made:
    """Labeled items lie 0.4 standard deviations above gold in two features that matter."""
    return _shifted(rng, 0.4)


@shape(holds=False)
def covariate_shift(rng: Rng) -> Made:
    """Labeled items lie 1.2 standard deviations above gold in two features that matter."""
    return _shifted(rng, 1.2)


def _shifted(rng: Rng, distance: float) -> Made:
    n = needed()
    group = in_turn(n)
    features = normal_features(rng, group)
    features[2 * GOLD_PER_GROUP :, :2] += distance
    items = judged(rng, columns(features), group, features @ WEIGHTS)
    gold = np.arange(n) < 2 * GOLD_PER_GROUP
    labels, right, truth = decided(rng, deal(items.take(~gold)))
    return Made(labels, gold_of(items.take(gold)), right, truth)


# --- gold items among the labels


@shape(holds=False)
def honeypots_tenth(rng: Rng) -> Made:
    """As hidden_unequal; every labeler also decides on a tenth of gold."""
    return _with_honeypots(rng, partly_hidden_items(rng, needed(), UNEQUAL), 0.1)


@shape(holds=False)
def honeypots_third(rng: Rng) -> Made:
    """As hidden_unequal; every labeler also decides on a third of gold."""
    return _with_honeypots(rng, partly_hidden_items(rng, needed(), UNEQUAL), 1 / 3)


@shape(holds=False)
def honeypots_half(rng: Rng) -> Made:
    """As hidden_unequal; every labeler also decides on half of gold."""
    return _with_honeypots(rng, partly_hidden_items(rng, needed(), UNEQUAL), 0.5)


@shape(holds=False)
def honeypots_third_unnamed(rng: Rng) -> Made:
    """As honeypots_third, without an item column."""
    return _unnamed(honeypots_third(rng))


@shape(holds=True)
def honeypots_half_plain(rng: Rng) -> Made:
    """Features tell everything; every labeler also decides on half of gold."""
    return _with_honeypots(rng, plain_items(rng, needed()), 0.5)


@shape(holds=True)
def honeypots_half_plain_unnamed(rng: Rng) -> Made:
    """As honeypots_half_plain, without an item column."""
    return _unnamed(honeypots_half_plain(rng))


def _with_honeypots(rng: Rng, items: Items, share: float) -> Made:
    to_label, gold = split(rng, items)
    parts = [
        part.and_also(gold.take(rng.permutation(len(gold))[: round(share * len(gold))]))
        for part in deal(to_label)
    ]
    labels, right, truth = decided(rng, parts, population=items)
    return Made(labels, gold_of(gold), right, truth)


def _unnamed(made: Made) -> Made:
    labels, gold = (table.drop(columns="item") for table in (made.labels, made.gold))
    return replace(made, labels=labels, gold=gold)


@shape(holds=False)
def unrelated_item_names(rng: Rng) -> Made:
    """Both tables number their rows from 0 in the item column."""
    made = made_from(rng, plain_items(rng, needed()))
    labels = made.labels.assign(item=np.arange(len(made.labels)))
    return replace(made, labels=labels, gold=made.gold.assign(item=np.arange(len(made.gold))))


# --- groups, shares of yes, labelers


@shape(holds=True)
def rare_yes(rng: Rng) -> Made:
    """Yes is right for 3% of the items; four labelers of 3,000 labels, 400 gold per group."""
    items = plain_items(rng, needed(4, 3000, 800), 0.03)
    return made_from(rng, items, _some_gaps(rng, 4), per_group=400)


@shape(holds=True)
def frequent_yes(rng: Rng) -> Made:
    """Yes is right for 90% of the items."""
    return made_from(rng, plain_items(rng, needed(), 0.9))


@shape(holds=True)
def unequal_yes(rng: Rng) -> Made:
    """Yes is right for 15% of women and 45% of men."""
    return made_from(rng, plain_items(rng, needed(), {"women": 0.15, "men": 0.45}))


@shape(holds=True)
def five_groups(rng: Rng) -> Made:
    """Five groups, 100 gold items each; two of them are treated differently."""
    names = ("men", "women", "b", "c", "d")
    group = in_turn(needed(8, 3000, 500), names)
    features = normal_features(rng, group)
    items = judged(rng, columns(features), group, features @ WEIGHTS)
    gaps = [{"women": gap, "b": gap, "c": 0.0, "d": 0.05} for gap in GAPS]
    return made_from(rng, items, gaps, per_group=100)


@shape(holds=True)
def careless_labelers(rng: Rng) -> Made:
    """Labelers look at merit only roughly: their decisions are hard to predict."""
    return made_from(rng, plain_items(rng, needed()), blur=2.5 * LABELER_BLUR)


@shape(holds=True)
def one_labeler(rng: Rng) -> Made:
    """A single labeler of 3,000 labels."""
    return _few_labelers(rng, 1)


@shape(holds=True)
def two_labelers(rng: Rng) -> Made:
    """Two labelers of 3,000 labels."""
    return _few_labelers(rng, 2)


@shape(holds=True)
def three_labelers(rng: Rng) -> Made:
    """Three labelers of 3,000 labels."""
    return _few_labelers(rng, 3)


def _few_labelers(rng: Rng, number: int) -> Made:
    items = plain_items(rng, needed(number, 3000))
    return made_from(rng, items, _some_gaps(rng, number))


def _some_gaps(rng: Rng, number: int) -> Sequence[float]:
    gaps: list[float] = rng.permutation(GAPS)[:number].tolist()
    return gaps
