"""`choose_gold`: from labels, and gold as far as there is any, to the items to judge next."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import expit

from mdba_checks.assessment import Assessment, assess_data
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.estimation import ItemModels, Pooled, describe_items, fit_pooled
from mdba_checks.findings import (
    INCONCLUSIVE,
    MOST_ROUNDS,
    Wanted,
    Worth,
    chance_of_right,
    chances,
    contrasts,
    draw,
    find_families,
    sides_of,
    worth_of,
)
from mdba_checks.metrics import METRICS
from mdba_checks.outputs.gold_sheets.answers import Answers, read_answers
from mdba_checks.outputs.gold_sheets.candidates import Candidates, read_candidates
from mdba_checks.outputs.gold_sheets.sheet import make_sheet
from mdba_checks.tables import FloatArray, IntArray, Source, read_table, text_columns

DEFAULT_ROUNDS = 3
# More comparisons than this hardly change which items are worth judging.
_MOST_LABELERS = 30
# An item that labelers judged counts twice: it tells what is right, and whether they were right.
_LABELED = 2.0


@dataclass(frozen=True, eq=False)
class GoldChoice:
    """Items for experts to judge.

    Attributes
    ----------
    sheet
        One row per item: its name, group and features, an empty column for the answer, the reason,
        ``gold_weight``, ``gold_round``, ``seed`` and ``code``. What labelers said is not in it.
    summary
        What was drawn and why, in sentences.
    """

    sheet: pd.DataFrame
    summary: tuple[str, ...]


@dataclass(frozen=True)
class _Aim:
    """What the items are to settle."""

    labelers: IntArray  # codes of the labelers whose comparisons count, ascending
    contrasts: tuple[tuple[int, ...], ...]  # per labeler, the numbers of these comparisons
    whole: bool
    sentence: str


def choose_gold(
    labels: Source,
    n: int = 200,
    *,
    items: Source | None = None,
    gold: Source | None = None,
    judged: Sequence[Source] = (),
    config: CheckConfig | None = None,
    rounds: int = DEFAULT_ROUNDS,
    seed: int | None = None,
) -> GoldChoice:
    """Choose the items that experts should judge next.

    Parameters
    ----------
    labels
        The labels, as for `assess`; they must have an item column.
    n
        How many items.
    items
        A table of candidates with the same columns; default: the labeled items.
    gold
        Items that were judged before, drawn at random or with weights.
    judged
        Sheets of earlier rounds with their answers. The next round goes where comparisons are still
        undecided.
    config
        Columns, method and policy, as for `assess`.
    rounds
        After how many rounds, at most, somebody means to look at the result; 1 to 5. It counts in
        the first round.
    seed
        Same tables and seed, same items; default: that of `config`.

    Raises
    ------
    InputError
        When items have no names, nothing is left to choose from, or a sheet was changed.

    Examples
    --------
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=2000, n_labelers=3, gold_per_group=50, seed=1)
    >>> chosen = choose_gold(made.labels, 20, config=CheckConfig(reference="men"))
    >>> len(chosen.sheet), chosen.sheet["gold"].isna().all(), "label" in chosen.sheet
    (20, np.True_, False)
    """
    config = config or CheckConfig()
    seed = config.seed if seed is None else seed
    if n < 1:
        raise InputError(f"n is {n}: ask for one item or more")
    if not 1 <= rounds <= MOST_ROUNDS:
        raise InputError(f"rounds is {rounds}: plan for 1 to {MOST_ROUNDS} looks at the result")
    answers = read_answers(judged, config=config, gold=gold) if judged else None
    turn, planned = (1, rounds) if answers is None else (answers.rounds + 1, answers.planned)
    known, config = _known(gold, answers, config)
    candidates = read_candidates(labels, items, known, config, n=n, seed=(seed, turn))
    jobs = config.jobs or os.cpu_count() or 1
    pooled = fit_pooled(candidates.data, jobs=jobs, seed=config.seed)
    aim = _aim(candidates, config, pooled, seed)
    described = describe_items(
        candidates.data,
        pooled,
        candidates.items,
        aim.labelers,
        with_gold=len(candidates.data.gold) > 0,
        jobs=jobs,
        seed=config.seed,
    )
    worth = _worth(candidates, aim, described, config, n)
    family, free = _free_families(candidates)
    group = candidates.items.group
    found = chances(worth.take(free), group[free], family, n)
    drawn = draw(found.probability, group[free], family, seed * 64 + turn)
    rows = free[drawn]
    chance = found.probability[drawn] * candidates.first_chance[rows]
    sheet = make_sheet(
        candidates.table.take(pa.array(rows)),
        weight=1 / chance,
        by_worth=found.by_worth[drawn],
        features=candidates.data.features,
        turn=turn,
        planned=planned,
        seed=seed,
        config=config,
    )
    return GoldChoice(sheet, _summary(sheet, candidates, aim, turn, planned, config))


def _known(
    gold: Source | None, answers: Answers | None, config: CheckConfig
) -> tuple[pa.Table | None, CheckConfig]:
    """Return what is judged already, and the configuration that reads its weights."""
    if answers is not None:
        table = pa.Table.from_pandas(answers.gold, preserve_index=False)
        weighted = config.updated({"columns.gold_weight": "gold_weight"})
    elif gold is not None:
        names = text_columns(config)
        table = read_table(gold, text_columns=names, missing_values=config.missing_values)
        weighted = config
        if config.columns.gold_weight is None and "gold_weight" in table.column_names:
            weighted = config.updated({"columns.gold_weight": "gold_weight"})
    else:
        return None, config
    names = text_columns(config)
    missing = config.missing_values
    return read_table(table, text_columns=names, missing_values=missing), weighted


def _aim(candidates: Candidates, config: CheckConfig, pooled: Pooled, seed: int) -> _Aim:
    data = candidates.data
    everybody = np.arange(len(data.labelers))
    every = tuple(range(len(_contrasts(candidates))))
    if not len(data.gold):
        some = _sample(everybody, seed)
        sentence = "there is no gold yet: items where labelers disagree or change their answer"
        return _Aim(some, (every,) * len(some), whole=True, sentence=sentence)
    asked = config.model_copy(update={"estimator": "mdba_dr", "pseudonymize": False})
    found = assess_data(data, asked, ["mdba_dr"], pooled=pooled)["mdba_dr"]
    undecided = (found.gaps["finding"] == INCONCLUSIVE).to_numpy().reshape(-1, len(every))
    whole = _whole_is_open(found)
    if not undecided.any() and not whole:
        some = _sample(everybody, seed)
        sentence = "nothing is undecided: more gold is not needed, items serve all comparisons"
        return _Aim(some, (every,) * len(some), whole=True, sentence=sentence)
    some = _sample(np.flatnonzero(undecided.any(axis=1)), seed)
    if not len(some):
        some = _sample(everybody, seed)
        undecided = np.zeros_like(undecided)
    open_ones = tuple(tuple(np.flatnonzero(undecided[code]).tolist()) for code in some)
    n_open = int(undecided.sum())
    parts = [f"{n_open} undecided comparison{'s' if n_open != 1 else ''}"] if n_open else []
    parts += ["all labels together"] if whole else []
    return _Aim(some, open_ones, whole, f"items serve {' and '.join(parts)}")


def _whole_is_open(found: Assessment) -> bool:
    tables = [each for each in (found.overall, found.cohorts) if each is not None]
    return any(bool((each["finding"] == INCONCLUSIVE).any()) for each in tables)


def _sample(codes: IntArray, seed: int) -> IntArray:
    if len(codes) <= _MOST_LABELERS:
        return codes
    return np.sort(np.random.default_rng([seed, 3]).choice(codes, _MOST_LABELERS, replace=False))


def _contrasts(candidates: Candidates) -> list[FloatArray]:
    """Return the weight of every group in each comparison."""
    data = candidates.data
    sizes = np.bincount(data.labels.group, minlength=len(data.groups))
    reference = None if data.reference is None else data.groups.index(data.reference)
    wanted = contrasts(len(data.groups), reference, sizes)
    mass = sizes[None].astype(float)
    return [sides_of(each, mass, len(data.groups))[0] for each in wanted]


def _worth(
    candidates: Candidates, aim: _Aim, described: ItemModels, config: CheckConfig, n: int
) -> Worth:
    metric = METRICS[config.metric]
    n_gold = len(candidates.data.gold)
    g = chance_of_right(described.f, described.g, n_gold)
    sides = _contrasts(candidates)
    f = [
        each for each, open_ones in zip(described.f, aim.contrasts, strict=True) for _ in open_ones
    ]
    used = [sides[number] for open_ones in aim.contrasts for number in open_ones]
    if aim.whole:
        f += [expit(described.scores[:, 0])] * len(sides)
        used += sides
    said = np.stack(f)
    wanted = Wanted(1 - said if metric.turns_decisions else said, np.stack(used))
    right = 1 - g if metric.turns_gold else g
    worth = worth_of(wanted, right, candidates.items.group, n_judged=n_gold + n)
    direct = np.where(candidates.labeled, _LABELED, 1.0)
    return replace(worth, believed=worth.believed * direct)


def _free_families(candidates: Candidates) -> tuple[IntArray, IntArray]:
    """Return the families of candidates that are not copies of judged items, and these rows."""
    data, items = candidates.data, candidates.items
    named = np.concatenate([data.gold.cluster, items.cluster]) if data.has_clusters else None
    family = find_families(
        np.concatenate([data.gold.linear, items.linear]),
        np.concatenate([data.gold.group, items.group]).astype(np.int64),
        named,
    )
    taken, own = family[: len(data.gold)], family[len(data.gold) :]
    free = np.flatnonzero(~np.isin(own, taken))
    if not len(free):
        raise InputError("every item is like one that is judged: there is nothing left to choose")
    numbered: IntArray = np.unique(own[free], return_inverse=True)[1]
    return numbered, free


def _summary(
    sheet: pd.DataFrame,
    candidates: Candidates,
    aim: _Aim,
    turn: int,
    planned: int,
    config: CheckConfig,
) -> tuple[str, ...]:
    counts = sheet[config.columns.only_group].value_counts()
    of_groups = ", ".join(f"{count} of {name}" for name, count in counts.items())
    total = sum(candidates.population.values())
    return (
        f"round {turn} of {planned}: {len(sheet)} of {total:,} items to judge ({of_groups})",
        aim.sentence,
    )
