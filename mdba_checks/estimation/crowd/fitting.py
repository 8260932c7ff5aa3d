"""From labels and gold to the gap of every labeler of a crowd, for one contrast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdba_checks.estimation.crowd.effects import (
    N_SIDES,
    PER_SIDE,
    Nodes,
    Response,
    Rows,
    learn,
    posterior,
    vague,
)
from mdba_checks.estimation.crowd.gaps import CrowdGaps
from mdba_checks.estimation.crowd.surfaces import (
    GoldSide,
    Population,
    Surface,
    histogram,
    rate_surface,
)
from mdba_checks.estimation.crowd.uncertainty import CrowdUncertainty
from mdba_checks.tables import BoolArray, Data, FloatArray, IntArray

LEARN_ROWS = 50_000  # more rows than this hardly change what is learned about people in general
_BLOCK_ROWS = 20_000
# From so many labelers on there is a crowd to learn from.
LEAST_LABELERS = 20
# With more labels than this somebody's own models say more than the crowd does
# (benchmarks/crowds.py).
MOST_LABELS = 1000


def is_crowd(data: Data) -> bool:
    """Return whether there are enough people, and somebody with few labels among them."""
    if len(data.labelers) < LEAST_LABELERS:
        return False
    return bool((np.bincount(data.labels.labeler) <= MOST_LABELS).any())


@dataclass(frozen=True)
class CrowdLabels:
    """Label rows, sorted by labeler; arrays have one entry per row."""

    labeler: IntArray  # codes from zero
    group: IntArray
    item: IntArray
    decision: IntArray
    scores: FloatArray  # (rows, scores): consensus scores by models that never saw the item
    g: FloatArray  # the probability that yes is right, by the model of the row's fold


@dataclass(frozen=True)
class CrowdGold:
    """Gold items; scores by every fold's models."""

    group: IntArray
    item: IntArray
    correct: IntArray
    weight: FloatArray
    scores: FloatArray  # (folds, gold items, scores), NaN where a fold's models have seen the item
    g: FloatArray  # out of fold


@dataclass(frozen=True)
class Crowd:
    """What was learned about the people of a crowd under one contrast."""

    gaps: CrowdGaps
    response: Response
    surfaces: tuple[Surface, Surface]


def fit_crowd(
    labels: CrowdLabels,
    gold: CrowdGold,
    contrast: tuple[int, int | None],
    *,
    n_labelers: int,
    n_groups: int,
    order: IntArray | None = None,
    model_error: float = 0.0,
    says_no: bool = False,
) -> Crowd:
    """Estimate how every labeler decides about one group compared with a reference.

    Parameters
    ----------
    labels, gold
        All label rows and all gold items; those of groups outside the contrast are left out.
    contrast
        The codes of the group and its reference; without one all other groups are one side.
    n_labelers, n_groups
        How many codes there are.
    order
        Labelers in the order in which they are chosen to learn from, where there are more rows
        than `LEARN_ROWS`; it must not follow from names. Default: by number.
    model_error
        Standard error of a gap that remains however much data there is.
    says_no
        Whether the rate counts decisions that are no. For metrics about items where no is right,
        turn `correct` and `g` of both tables.

    Examples
    --------
    Twenty people label 100 items each; the last one never says yes to group 0.

    >>> rng = np.random.default_rng(1)
    >>> labeler, group = np.repeat(np.arange(20), 100), np.tile([0, 1], 1000)
    >>> score, gold_score = rng.normal(0, 2, 2000), rng.normal(0, 2, 200)
    >>> g, gold_g = 1 / (1 + np.exp(-score)), 1 / (1 + np.exp(-gold_score))
    >>> yes = (rng.random(2000) < g) & ~((labeler == 19) & (group == 0))
    >>> right = rng.random(200) < gold_g
    >>> labels = CrowdLabels(labeler, group, np.arange(2000), yes * 1, score[:, None], g)
    >>> gold_scores = gold_score[None, :, None]
    >>> gold = CrowdGold(
    ...     np.tile([0, 1], 100),
    ...     np.arange(2000, 2200),
    ...     right * 1,
    ...     np.ones(200),
    ...     gold_scores,
    ...     gold_g,
    ... )
    >>> crowd = fit_crowd(labels, gold, (0, 1), n_labelers=20, n_groups=2)
    >>> crowd.gaps.estimate[[0, 19]].round(1) + 0
    array([ 0. , -0.6])
    """
    used, side = _sides(labels.group, contrast)
    rows = Rows(
        labeler=labels.labeler[used].astype(np.int64, copy=False),
        side=side,
        group=labels.group[used].astype(np.int64, copy=False),
        decision=labels.decision[used],
        scores=labels.scores[used],
        g=labels.g[used],
        n_labelers=n_labelers,
    )
    learned_from = _sample(rows, order)
    response = learn(learned_from, n_groups)
    surfaces = _surfaces(rows, labels.item[used], gold, contrast, response, says_no=says_no)
    gaps = _gaps(rows, response, surfaces, model_error, learned_from.n_labelers)
    return Crowd(gaps, response, surfaces)


def _sides(group: IntArray, contrast: tuple[int, int | None]) -> tuple[BoolArray | slice, IntArray]:
    """Return which rows take part, and the side of those."""
    first = group == contrast[0]
    second = ~first if contrast[1] is None else group == contrast[1]
    used = first | second
    if used.all():  # nothing needs to be copied
        return slice(None), second.astype(np.int64)
    return used, second[used].astype(np.int64)


def _sample(rows: Rows, order: IntArray | None) -> Rows:
    """Return the rows of so many whole labelers as are worth learning from."""
    count = np.bincount(rows.labeler, minlength=rows.n_labelers)
    order = np.arange(rows.n_labelers) if order is None else order
    order = order[count[order] > 0]
    few = np.cumsum(count[order]) <= LEARN_ROWS
    few[:1] = True
    chosen = np.zeros(rows.n_labelers, dtype=bool)
    chosen[order[few]] = True
    kept = chosen[rows.labeler]
    number = np.cumsum(chosen) - 1
    return Rows(
        labeler=number[rows.labeler[kept]],
        side=rows.side[kept],
        group=rows.group[kept],
        decision=rows.decision[kept],
        scores=rows.scores[kept],
        g=rows.g[kept],
        n_labelers=int(chosen.sum()),
    )


def _surfaces(
    rows: Rows,
    item: IntArray,
    gold: CrowdGold,
    contrast: tuple[int, int | None],
    response: Response,
    *,
    says_no: bool,
) -> tuple[Surface, Surface]:
    _, first = np.unique(item, return_index=True)  # an item counts once, whoever labeled it
    score = response.score(rows.scores[first], rows.group[first])
    ours, gold_side = _sides(gold.group, contrast)
    gold_score = response.score(gold.scores[:, ours], gold.group[ours])
    made = []
    for side in range(N_SIDES):
        here, there = rows.side[first] == side, gold_side == side
        made.append(
            rate_surface(
                Population(rows.group[first][here], score[here], rows.g[first][here]),
                GoldSide(
                    group=gold.group[ours][there],
                    score=gold_score[:, there],
                    correct=gold.correct[ours][there].astype(float),
                    g=gold.g[ours][there],
                    weight=gold.weight[ours][there],
                    item=gold.item[ours][there],
                ),
                says_no=says_no,
            )
        )
    return made[0], made[1]


def _gaps(
    rows: Rows,
    response: Response,
    surfaces: tuple[Surface, Surface],
    model_error: float,
    n_learned: int,
) -> CrowdGaps:
    """Return the gaps, block by block: what is kept are a few numbers per labeler."""
    parts: list[dict[str, FloatArray]] = []
    n_labels = _counts(rows)
    uncertainty = CrowdUncertainty(response.prior)
    spots = [np.zeros(surface.rate.size) for surface in surfaces]
    for here, labelers in rows.blocks(_BLOCK_ROWS):
        block = rows.part(here, labelers)
        nodes = posterior(block, response)
        found = _moments(nodes, surfaces)
        uncertainty.add(nodes, found.pop("gap"), n_labels[labelers].sum(axis=1))
        for side in range(N_SIDES):
            effects = nodes.effects[..., side * PER_SIDE : (side + 1) * PER_SIDE]
            spots[side] += histogram(effects, nodes.weight)
        own = _moments(posterior(block, response, vague()), surfaces)
        found["own"] = own["mean"][:, 0]
        found["own_variance"] = (own["variance"] + own["gold_variance"])[:, 0]
        parts.append(found)
    together: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts]) for name in parts[0]
    }
    mean_influence = [
        spot / rows.n_labelers @ surface.influence
        for spot, surface in zip(spots, surfaces, strict=True)
    ]
    item_part = sum(
        float(spot / rows.n_labelers @ surface.item_variance)
        for spot, surface in zip(spots, surfaces, strict=True)
    )
    covariance, step = uncertainty.errors(n_learned)
    shared = sum(float((each**2).sum()) for each in mean_influence) + item_part
    return CrowdGaps(
        **together,
        n_labels=n_labels,
        prior_covariance=covariance,
        prior_step=step,
        shared_variance=shared + model_error**2,
        model_error=model_error,
    )


def _moments(nodes: Nodes, surfaces: tuple[Surface, Surface]) -> dict[str, FloatArray]:
    """Return the mean and variance of the gap for every kind of people, and both rates."""
    rates, gold_variance = [], []
    for side, surface in enumerate(surfaces):
        rate, variance = surface.at(nodes.effects[..., side * PER_SIDE : (side + 1) * PER_SIDE])
        rates.append(rate)
        gold_variance.append(variance)
    weight = nodes.weight.sum(axis=2)
    within = nodes.weight / np.maximum(weight, 1e-300)[..., None]
    gap = rates[0] - rates[1]
    mean = (gap * within).sum(axis=2)
    expected = [(each * nodes.weight).sum(axis=(1, 2)) for each in rates]
    around = (rates[0] - expected[0][:, None, None]) ** 2 + gold_variance[0]
    return {
        "gap": gap,
        "weight": weight,
        "mean": mean,
        "variance": ((gap - mean[..., None]) ** 2 * within).sum(axis=2),
        "gold_variance": ((gold_variance[0] + gold_variance[1]) * within).sum(axis=2),
        "rate": expected[0],
        "rate_error": np.sqrt((around * nodes.weight).sum(axis=(1, 2))),
        "rate_reference": expected[1],
    }


def _counts(rows: Rows) -> IntArray:
    cell = rows.labeler * N_SIDES + rows.side
    return np.bincount(cell, minlength=rows.n_labelers * N_SIDES).reshape(-1, N_SIDES)
