"""`simulate`: from covariates to labels, gold and the truth about every labeler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.simulation.covariates import Covariates, make_covariates
from mdba_checks.simulation.design import (
    Floats,
    fit_logit,
    interaction_column,
    linear_design,
    logits,
)
from mdba_checks.simulation.families import (
    SHARPNESS,
    Bools,
    Deal,
    Ints,
    Items,
    decide_correct,
    decide_inconsistent,
    decide_incorrect,
    rank_within,
    shifts_to_rate,
)

Family = Literal["correct", "incorrect", "inconsistent"]

DEFAULT_ITEMS = 20_000
_TPR_RANGE = {"correct": (0.54, 0.90), "incorrect": (0.50, 0.90), "inconsistent": (0.54, 0.90)}
_TPR_OF_A_SINGLE_LABELER = 0.7


@dataclass(frozen=True, eq=False)
class Simulation:
    """Labels and gold as a check would get them, and the truth that it should find.

    Attributes
    ----------
    labels
        ``item, labeler``, the features, ``group, label``; sorted by labeler, then item.
    gold
        ``item``, the features, ``group, gold``. The first m rows of every group are stratified by
        gold as nearly as m rows can be, so smaller gold sets are nested in larger ones.
    truth
        Per labeler and group (other than the reference), measured on the labeler's own items:
        ``labeler, group, reference, tpr, tpr_reference, gap, fpr, fpr_reference, fpr_gap``.
        A rate without items is missing.
    answers
        ``item, gold``: the correct decision of every item, labeled or not. A check never sees it;
        it is there to judge what was made of the labels.
    """

    labels: pd.DataFrame
    gold: pd.DataFrame
    truth: pd.DataFrame
    answers: pd.DataFrame

    def gold_pool(self, per_group: int) -> pd.DataFrame:
        """Return the first `per_group` gold rows of each group.

        Examples
        --------
        >>> simulation = simulate(n_items=3_000, n_labelers=2, gold_per_group=100)
        >>> pool = simulation.gold_pool(50)
        >>> len(pool), int(pool["gold"].sum())
        (100, 20)
        """
        smallest = int(self.gold["group"].value_counts().min())
        if not 1 <= per_group <= smallest:
            raise InputError(
                f"gold_pool: per_group is {per_group}; there are {smallest} gold items per group"
            )
        kept = self.gold.groupby("group", observed=True).cumcount() < per_group
        return self.gold[kept].reset_index(drop=True)


def simulate(
    *,
    family: Family = "correct",
    covariates: Covariates | None = None,
    n_items: int | None = None,
    n_labelers: int = 10,
    prevalence: float = 0.2,
    gold_per_group: int = 400,
    tprs: Sequence[float] | None = None,
    tpr_reference: float = 0.95,
    items_per_labeler: int | None = None,
    overlap: int = 1,
    seed: int = 0,
) -> Simulation:
    """Simulate labelers whose bias against one group is known.

    The correct decision of every item comes from a logistic regression on the covariates' outcome:
    the top `prevalence` of its scores within each group are positive (family "inconsistent": drawn,
    with that expected prevalence). Some items of each group, stratified by the correct decision,
    are set aside as gold; the others are dealt, stratified by group and correct decision, to the
    labelers.

    Parameters
    ----------
    family
        "correct": the biased group is ranked rightly, but the bar is moved until the labeler has
        the wanted true positive rate. Each labeler has a model of the gold on their own items.
        "incorrect": the weight of the feature `covariates.interaction` is lowered for the biased
        group until the rate is reached; where it cannot be, the nearest reachable rate is taken.
        "inconsistent": labelers and gold are both drawn from chances given the features, and the
        wanted rates hold in expectation, in the reference groups too.
        In the first two, other groups get the gold with random misses, and no false positives.
        Labelers with fewer than 200 items cannot have all this on their own: they share one model
        of the gold ("correct") or get the coefficient and shift that give the wanted rate over
        everybody's items; their true rates then scatter round the wanted ones.
    covariates
        The items; default: `make_covariates`.
    n_items
        How many items; default 20,000, or all of the given covariates (else a random part).
    n_labelers
        How many labelers; 100,000 work.
    prevalence
        Share of correct positives within each group.
    gold_per_group
        Items set aside as gold in each group.
    tprs
        The true positive rate of each labeler in the biased group; default: equal steps over the
        published range, 0.54-0.90 (family "incorrect": 0.50-0.90), and 0.7 for a single labeler.
    tpr_reference
        The true positive rate of every labeler in all other groups.
    items_per_labeler
        At most this many items for each labeler; default: all items are dealt.
    overlap
        How many labelers judge each item.
    seed
        Same seed, same tables.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> simulation = simulate(n_items=4_000, n_labelers=2, gold_per_group=100, tprs=[0.6, 0.9])
    >>> simulation.truth[["labeler", "group", "tpr", "tpr_reference"]].round(2)
      labeler  group  tpr  tpr_reference
    0      L1  women  0.6           0.95
    1      L2  women  0.9           0.95
    """
    _require(family in get_args(Family), "family", family, did_you_mean(family, get_args(Family)))
    _check_shares(prevalence, tpr_reference)
    _check_counts(n_labelers, gold_per_group, items_per_labeler, overlap)
    targets = _targets(family, tprs, n_labelers)
    rng = np.random.default_rng([seed, 1])
    covariates = _items_to_use(covariates, n_items, seed, rng)

    # Threads of the linear algebra spin against each other when anything else runs.
    with threadpool_limits(limits=1):
        group, names = pd.factorize(covariates.group, sort=True)
        group = group.astype(np.intp)
        design = linear_design(covariates.frame, covariates.group)
        score = logits(design, fit_logit(design, covariates.outcome == 1, rng))
        gold, chance = _gold(family, score, group, prevalence, rng)
        items = Items(
            design=design,
            group=group,
            biased=(covariates.group == covariates.biased_group).to_numpy(),
            gold=gold,
            chance=chance,
        )

        aside = _set_aside(items, gold_per_group, names, rng)
        deal = _deal(items, aside, n_labelers, items_per_labeler, overlap, rng)
        if family == "correct":
            decision = decide_correct(items, deal, targets, tpr_reference, rng)
        elif family == "incorrect":
            misused = interaction_column(covariates.frame[covariates.interaction], score)
            decision = decide_incorrect(
                items, deal, targets, tpr_reference, rng, misused=misused, prevalence=prevalence
            )
        else:
            decision = decide_inconsistent(items, deal, targets, tpr_reference, rng)

    width = len(str(n_labelers))
    people = np.array([f"L{k + 1:0{width}d}" for k in range(n_labelers)], object)
    known = covariates.frame.assign(group=covariates.group.to_numpy())
    known.insert(0, "item", np.arange(len(known)))
    labels = known.iloc[deal.item].reset_index(drop=True)
    labels.insert(1, "labeler", people[deal.labeler])
    labels["label"] = decision.astype(int)
    answers = pd.DataFrame({"item": known["item"], "gold": gold.astype(int)})
    gold_table = known.iloc[aside].reset_index(drop=True).assign(gold=gold[aside].astype(int))
    truth = _truth(items, deal, decision, people, names, covariates.reference)
    return Simulation(labels=labels, gold=gold_table, truth=truth, answers=answers)


def _check_shares(prevalence: float, tpr_reference: float) -> None:
    _require(0 < prevalence < 1, "prevalence", prevalence, " Give a share between 0 and 1.")
    _require(0 <= tpr_reference <= 1, "tpr_reference", tpr_reference, " Give a rate in [0, 1].")


def _check_counts(
    n_labelers: int, gold_per_group: int, items_per_labeler: int | None, overlap: int
) -> None:
    _require(n_labelers >= 1, "n_labelers", n_labelers, " At least one is needed.")
    _require(gold_per_group >= 1, "gold_per_group", gold_per_group, " At least 1 is needed.")
    _require(
        items_per_labeler is None or items_per_labeler >= 1,
        "items_per_labeler",
        items_per_labeler,
        " Give at least 1, or leave it out.",
    )
    _require(1 <= overlap <= n_labelers, "overlap", overlap, f" Give 1 to n_labelers={n_labelers}.")


def _require(fine: bool, name: str, value: object, way_out: str) -> None:
    if not fine:
        raise InputError(f"simulate: {name} is {value!r}.{way_out}")


def _targets(family: str, tprs: Sequence[float] | None, n_labelers: int) -> Floats:
    if tprs is None:
        if n_labelers == 1:
            return np.array([_TPR_OF_A_SINGLE_LABELER])
        return np.linspace(*_TPR_RANGE[family], n_labelers)
    targets = np.asarray(tprs, float)
    _require(
        targets.shape == (n_labelers,), "tprs", len(tprs), f" Give one for each of {n_labelers}."
    )
    _require(
        bool(np.all((targets >= 0) & (targets <= 1))), "tprs", list(tprs), " Give rates in [0, 1]."
    )
    return targets


def _items_to_use(
    covariates: Covariates | None, n_items: int | None, seed: int, rng: np.random.Generator
) -> Covariates:
    if covariates is None:
        return make_covariates(DEFAULT_ITEMS if n_items is None else n_items, seed)
    if n_items is None:
        return covariates.take(np.arange(len(covariates)))
    _require(
        1 <= n_items <= len(covariates), "n_items", n_items, f" There are {len(covariates)} items."
    )
    return covariates.take(np.sort(rng.choice(len(covariates), n_items, replace=False)))


def _gold(
    family: str, score: Floats, group: Ints, prevalence: float, rng: np.random.Generator
) -> tuple[Bools, Floats]:
    """Return the correct decision of every item and the chance that it was drawn from."""
    n_groups = int(group.max()) + 1
    if family == "inconsistent":
        low, middle, high = np.quantile(score, [0.25, 0.5, 0.75])
        # By quartiles and clipped: one very long tail must not make all other items alike.
        unit = (high - low) / 1.349 or score.std() or 1.0
        logit = SHARPNESS * np.clip((score - middle) / unit, -4, 4)
        shift = shifts_to_rate(logit, np.ones(len(logit)), group, np.full(n_groups, prevalence))
        chance = np.clip(0.5 + 0.5 * np.tanh((logit + shift[group]) / 2), 1e-9, 1 - 1e-9)
        return rng.random(len(score)) < chance, chance
    # Items with the same features have the same score; chance decides between them.
    order = np.lexsort((rng.random(len(score)), -score, group))
    n_positive = np.floor(prevalence * np.bincount(group) + 0.5)
    gold = np.empty(len(score), bool)
    gold[order] = rank_within(group[order]) < n_positive[group[order]]
    return gold, gold.astype(float)


def _set_aside(
    items: Items, per_group: int, names: pd.Index[Any], rng: np.random.Generator
) -> Ints:
    """Return the gold items; every beginning of a group's gold is stratified by the gold."""
    chosen, rank = [], []
    for code, name in enumerate(names):
        members = rng.permutation(np.flatnonzero(items.group == code))
        if len(members) <= per_group:
            raise InputError(
                f"simulate: group {name!r} has {len(members)} items, gold_per_group is "
                f"{per_group}; lower it or give more items"
            )
        gold = items.gold[members]
        n_positive = int(np.floor(per_group * gold.mean() + 0.5))
        positive, negative = members[gold][:n_positive], members[~gold][: per_group - n_positive]
        # Spread both kinds evenly over the unit interval and merge.
        place = np.r_[_even_places(len(positive)), _even_places(len(negative))]
        chosen.append(np.r_[positive, negative][np.argsort(place, kind="stable")])
        rank.append(np.arange(len(place)))
    codes = np.repeat(np.arange(len(names)), [len(c) for c in chosen])
    result: Ints = np.concatenate(chosen)[np.lexsort((codes, np.concatenate(rank)))]
    return result


def _even_places(count: int) -> Floats:
    return (np.arange(count) + 0.5) / max(count, 1)


def _deal(
    items: Items,
    aside: Ints,
    n_labelers: int,
    items_per_labeler: int | None,
    overlap: int,
    rng: np.random.Generator,
) -> Deal:
    """Deal the items that are left: equal hands, stratified by group and gold."""
    left = np.setdiff1d(np.arange(len(items.gold)), aside)
    stratum = items.group[left] * 2 + items.gold[left]
    if items_per_labeler is not None and n_labelers * items_per_labeler // overlap < len(left):
        # Even places within strata, cut at one height: a stratified part of exactly this size.
        order = np.lexsort((rng.random(len(left)), stratum))
        sizes = np.bincount(stratum)
        place = (rank_within(stratum[order]) + rng.random()) / sizes[stratum[order]]
        wanted = n_labelers * items_per_labeler // overlap
        kept = order[np.argsort(place, kind="stable")[:wanted]]
        left, stratum = left[kept], stratum[kept]
    if len(left) * overlap < n_labelers:
        raise InputError(
            f"simulate: {len(left)} items are left for n_labelers={n_labelers}; "
            "give more items, fewer labelers or more overlap"
        )
    left = left[np.lexsort((rng.random(len(left)), stratum))]
    # One round is n_labelers items, in a fresh order of the labelers; item i of a round goes to
    # the next `overlap` of them, so hands never differ by more than one item.
    n_rounds = -(-len(left) // n_labelers)
    people = rng.permuted(np.tile(np.arange(n_labelers), (n_rounds, 1)), axis=1)
    number = np.arange(len(left))[:, None]
    turn = (number % n_labelers) * overlap + np.arange(overlap)
    labeler = people[number // n_labelers, turn % n_labelers].ravel()
    item = np.repeat(left, overlap)
    order = np.lexsort((item, labeler))
    return Deal(labeler[order], item[order], n_labelers)


def _truth(
    items: Items,
    deal: Deal,
    decision: Bools,
    people: np.ndarray[Any, Any],
    names: pd.Index[Any],
    reference: Any,
) -> pd.DataFrame:
    shape = deal.n_labelers, len(names)
    cell = deal.labeler * len(names) + items.group[deal.item]
    gold = items.gold[deal.item]

    def rate(rows: Bools) -> Floats:
        count = np.bincount(cell[rows], minlength=shape[0] * shape[1])
        yes = np.bincount(cell[rows & decision], minlength=shape[0] * shape[1])
        return np.where(count > 0, yes / np.maximum(count, 1), np.nan).reshape(shape)

    tpr, fpr = rate(gold), rate(~gold)
    base = names.get_loc(reference)
    tables = [
        pd.DataFrame(
            {
                "labeler": people,
                "group": name,
                "reference": reference,
                "tpr": tpr[:, code],
                "tpr_reference": tpr[:, base],
                "gap": tpr[:, code] - tpr[:, base],
                "fpr": fpr[:, code],
                "fpr_reference": fpr[:, base],
                "fpr_gap": fpr[:, code] - fpr[:, base],
            }
        )
        for code, name in enumerate(names)
        if name != reference
    ]
    return pd.concat(tables).sort_values(["labeler", "group"], ignore_index=True)
