"""`read_answers`: from sheets that experts filled in to one gold table with weights.

Sheets may be of several rounds, and of several experts in one round. Items without an answer, or
with "cannot tell", are left out, and the other items of their round and group stand for them. An
item that was judged more than once has a row per answer; they share its weight, so that experts who
disagree make it half a yes and half a no, and the item is one piece of evidence still.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.findings import combined_weights
from mdba_checks.outputs.gold_sheets.reading import CANNOT_TELL, read_frame, read_sheet
from mdba_checks.outputs.gold_sheets.sheet import SEED, TURN, WEIGHT
from mdba_checks.tables import FloatArray, Source, canonical, text_columns

_TURN = re.compile(r"(\d+) of (\d+)")


@dataclass(frozen=True, eq=False)
class Answers:
    """What experts answered.

    Attributes
    ----------
    gold
        A gold table: items, groups and features, answers, ``gold_weight`` and ``gold_round``.
    rounds, planned
        How many rounds there were, and after how many somebody meant to look.
    summary
        What is in it, in sentences.
    disputed
        Items that experts disagree on.
    """

    gold: pd.DataFrame
    rounds: int
    planned: int
    summary: tuple[str, ...]
    disputed: tuple[str, ...]


def read_answers(
    sheets: Sequence[Source], *, config: CheckConfig | None = None, gold: Source | None = None
) -> Answers:
    """Read sheets that `choose_gold` made and experts filled in.

    Parameters
    ----------
    sheets
        Files (.csv, .xlsx, Label Studio's .json) or tables: of any number of rounds and experts.
    config
        Which columns play which role.
    gold
        Items that were judged before, drawn at random or with weights; they are put beside.

    Raises
    ------
    InputError
        When a sheet was changed in more than its answers, or has none.

    Examples
    --------
    >>> from mdba_checks.outputs import choose_gold
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=2000, n_labelers=3, gold_per_group=50, seed=1)
    >>> sheet = choose_gold(made.labels, 20).sheet
    >>> right = made.answers.set_index("item")["gold"]
    >>> sheet["gold"] = [str(right[int(item)]) for item in sheet["item"]]
    >>> sheet.loc[0, "gold"] = "cannot tell"
    >>> answers = read_answers([sheet])
    >>> len(answers.gold), answers.summary[0]
    (19, '19 of 20 items have an answer; 1 cannot be told')
    """
    config = config or CheckConfig()
    if not sheets:
        raise InputError("no sheet to read: name one or more")
    columns = config.columns
    item = columns.item or "item"
    every = pd.concat([read_sheet(source, config) for source in sheets], ignore_index=True)
    every[item] = every[item].map(canonical)
    turn, planned = _turns(every[TURN])
    answer, unsure = _cleaned(every[columns.gold])
    given = answer.notna()
    if not given.any():
        raise InputError(f"no item has an answer yet: fill in column {columns.gold!r} of the sheet")
    _refuse_other_answers(answer, columns.gold)
    _refuse_twice_drawn(every, turn, item)
    one = pd.DataFrame(
        {
            "item": every[item],
            "turn": turn,
            "group": every[columns.only_group].map(canonical),
            "inverse": every[WEIGHT],
            "given": given,
        }
    )
    drawn = one.groupby("item", sort=False).agg(
        turn=("turn", "first"),
        group=("group", "first"),
        inverse=("inverse", "first"),
        given=("given", "any"),
    )
    weight = _weights(drawn, gold=None)
    table = every[given].drop(columns=[SEED]).reset_index(drop=True)
    table[columns.gold] = answer[given].to_numpy()
    before = None if gold is None else _before(gold, config)
    if before is not None:
        weight = _weights(drawn, gold=before)
    times = table.groupby(item)[columns.gold].transform("size")
    table[WEIGHT] = table[item].map(weight).to_numpy() / times.to_numpy()
    if before is not None:
        table = pd.concat([table, _beside(before, drawn, table, config)], ignore_index=True)
    distinct = table.groupby(item)[columns.gold].nunique()
    disputed = tuple(sorted(distinct.index[distinct > 1]))
    return Answers(
        table,
        rounds=int(turn.max()),
        planned=planned,
        summary=_summary(drawn, every.loc[unsure, item].nunique(), times, table[item], disputed),
        disputed=disputed,
    )


def _turns(column: pd.Series) -> tuple[np.ndarray, int]:
    found = [_TURN.fullmatch(str(each)) for each in column]
    numbers = [(int(each[1]), int(each[2])) for each in found if each]
    if len(numbers) < len(found):
        wrong = next(str(value) for value, each in zip(column, found, strict=True) if not each)
        raise InputError(f"column {TURN!r} holds {wrong[:40]!r}: it should be like '1 of 3'")
    return np.array([number for number, _ in numbers]), max(planned for _, planned in numbers)


def _cleaned(column: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return the answers as names, and where experts could not tell."""
    said = ["" if pd.isna(value) else canonical(value).strip() for value in column]
    unsure = pd.Series([value.lower() in CANNOT_TELL for value in said], index=column.index)
    text = pd.Series(said, index=column.index, dtype=object)
    return text.where((text != "") & ~unsure, None), unsure


def _refuse_other_answers(answer: pd.Series, name: str) -> None:
    counts = answer.dropna().value_counts()
    if len(counts) > 2:
        rare = counts.index[-1]
        raise InputError(
            f"column {name!r} of the sheet holds {len(counts)} different answers, such as "
            f"{rare[:40]!r} in row {int((answer == rare).to_numpy().argmax()) + 1}: give one of "
            f"two, or {CANNOT_TELL[0]!r}"
        )


def _refuse_twice_drawn(every: pd.DataFrame, turn: np.ndarray, item: str) -> None:
    """Refuse an item with two weights: two draws of the same round do not add up."""
    weights = every.assign(turn=turn).groupby(item)[[WEIGHT, "turn"]].nunique().max(axis=1)
    if (weights > 1).any():
        name = weights.index[weights > 1][0]
        raise InputError(
            f"item {name!r} stands in two sheets with different weights or rounds: give the "
            "sheets of one draw, and pass earlier ones to mdba choose as --judged"
        )


def _weights(drawn: pd.DataFrame, gold: pd.DataFrame | None) -> pd.Series:
    """Return the weights of the items that were judged, over all rounds."""
    cell = [drawn["turn"], drawn["group"]]
    total = drawn["inverse"].groupby(cell).transform("sum")
    judged = drawn["inverse"].where(drawn["given"]).groupby(cell).transform("sum")
    scaled = (drawn["inverse"] * total / judged)[drawn["given"]]
    kept = drawn[drawn["given"]]
    inverse, turn, group = scaled.to_numpy(), kept["turn"].to_numpy(), kept["group"].to_numpy()
    if gold is not None:
        inverse = np.append(inverse, np.zeros(len(gold)))
        turn, group = np.append(turn, np.zeros(len(gold))), np.append(group, gold["_group"])
    weight = combined_weights(inverse, turn, group)
    return pd.Series(weight[: len(kept)], index=kept.index)


def _before(gold: Source, config: CheckConfig) -> pd.DataFrame:
    table = read_frame(gold, text_columns(config), config)
    columns = config.columns
    for name in (columns.only_group, columns.gold):
        if name not in table:
            raise InputError(f"gold has no column {name!r}")
    table = table[table[columns.gold].notna()].reset_index(drop=True)
    table["_group"] = table[columns.only_group].map(canonical)
    weight = columns.gold_weight or WEIGHT
    table["_weight"] = table.get(weight, 1.0)
    return table


def _beside(
    before: pd.DataFrame, drawn: pd.DataFrame, table: pd.DataFrame, config: CheckConfig
) -> pd.DataFrame:
    """Return earlier gold with weights of the same scale: together they stand for all items."""
    first = drawn[drawn["turn"] == drawn["turn"].min()]
    population = first["inverse"].groupby(first["group"]).sum()
    judged = drawn[drawn["given"]].groupby("group").size()
    total = before.groupby("_group")["_weight"].sum()
    count = before.groupby("_group").size()
    group = before["_group"]
    size = group.map(population).fillna(group.map(count)).to_numpy(dtype=float)
    share: FloatArray = (
        group.map(count) / (group.map(count) + group.map(judged).fillna(0))
    ).to_numpy()
    weight = before["_weight"].to_numpy(dtype=float) / group.map(total).to_numpy(dtype=float)
    known = [name for name in table.columns if name in before and name not in (WEIGHT, TURN)]
    item = config.columns.item or "item"
    beside = before[known].assign(**{WEIGHT: weight * size * share})
    if item in beside:
        beside[item] = beside[item].map(canonical)
        both = sorted(set(beside[item]) & set(drawn.index[drawn["given"]]))
        if both:
            raise InputError(f"item {both[0]!r} stands in gold and in a sheet: leave it out of one")
    return beside


def _summary(
    drawn: pd.DataFrame,
    unsure: int,
    times: pd.Series,
    item: pd.Series,
    disputed: tuple[str, ...],
) -> tuple[str, ...]:
    n_given, n = int(drawn["given"].sum()), len(drawn)
    said = [f"{n_given} of {n} items have an answer"]
    if unsure:
        said[0] += f"; {unsure} cannot be told"
    twice = item.iloc[: len(times)][times.to_numpy() > 1].nunique()
    if twice:
        said.append(
            f"{twice} items were judged more than once; experts disagree on {len(disputed)} of "
            f"them ({len(disputed) / twice:.0%})"
        )
    return tuple(said)
