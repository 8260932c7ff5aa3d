"""The items that could be judged, beside what is judged already, encoded for the models.

Large tables are not modelled whole: which items are worth judging is seen as well on a random part
of the labels, and from a random part of the items. Chances of both steps multiply, so the weights
stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.tables import (
    GOLD_ROUND,
    BoolArray,
    Data,
    FloatArray,
    GoldRows,
    IntArray,
    Source,
    as_names,
    load,
    read_table,
    text_columns,
)

MOST_LABELS = 100_000
LEAST_ITEMS, PER_DRAW = 10_000, 50  # so many items are looked at, and so many per item to draw
_MANY_LABELERS = 200  # from here on some labelers are left out, below it some of everybody's rows


@dataclass(frozen=True)
class Candidates:
    """Items to choose from.

    Attributes
    ----------
    data
        Labels, and as gold what is judged already; without any, its gold has no rows.
    items
        The candidates, encoded like gold; what stands for their answers means nothing.
    table
        The candidates as they were read, in the order of `items`.
    first_chance
        (items,): the chance to be among the candidates that are looked at.
    labeled
        (items,): whether labelers judged the item.
    population
        How many items could be drawn, by the names of their groups.
    """

    data: Data
    items: GoldRows
    table: pa.Table
    first_chance: FloatArray
    labeled: BoolArray
    population: dict[str, int]


def read_candidates(
    labels: Source,
    items: Source | None,
    known: pa.Table | None,
    config: CheckConfig,
    *,
    n: int,
    seed: tuple[int, ...],
) -> Candidates:
    """Read the items that could be judged.

    Parameters
    ----------
    labels
        The labels; their items are the candidates unless `items` are given.
    items
        Other candidates with the same columns.
    known
        What is judged already, as a gold table.
    n
        How many items will be drawn.
    seed
        What the random part of the items depends on.
    """
    columns, item = config.columns, config.columns.item or "item"
    names = text_columns(config) | {item}
    rng = np.random.default_rng(seed)
    table = read_table(labels, text_columns=names, missing_values=config.missing_values)
    require(table, {"item": item, "group": columns.only_group}, "labels")
    pool = table
    if items is not None:
        pool = read_table(items, text_columns=names, missing_values=config.missing_values)
        require(pool, {"item": item, "group": columns.only_group}, "items")
    _refuse_new_groups(pool, table, columns.only_group)
    # Rows, not tables: a copy of all of them would be as large as the labels.
    group = as_names(pool.column(columns.only_group))
    codes = group.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    names_of_items = as_names(pool.column(item))
    rows = _one_row_each(names_of_items, codes)
    if known is not None and item in known.column_names:
        _refuse_strangers(known, item, names_of_items.dictionary, items)
        judged = as_names(known.column(item)).dictionary
        candidates = names_of_items.take(pa.array(rows)).cast(pa.string())
        rows = rows[~pc.is_in(candidates, judged).to_numpy(zero_copy_only=False)]
    if not len(rows):
        raise InputError("every item is judged already: there is nothing left to choose from")
    names_of_groups = group.dictionary.to_pylist()
    sizes = np.bincount(codes[rows], minlength=len(names_of_groups)).tolist()
    place, first_chance = _some_of_each(codes[rows], n, rng)
    taken = pool.take(pa.array(rows[place]))
    hidden = {columns.labeler, columns.label, columns.cohort, columns.gold, columns.gold_weight}
    shown = [name for name in taken.column_names if name not in hidden - {columns.only_group}]
    taken = taken.select(shown)
    few = _fewer_labels(table, columns.labeler, rng)
    del table, pool, group, codes, rows, names_of_items
    pa.default_memory_pool().release_unused()
    gold = _beside(known, taken, _placeholder(few, known, config), config)
    n_known = 0 if known is None else known.num_rows
    asked = config.model_copy(update={"pseudonymize": False, "drop_missing": True})
    data = load(few, gold, asked)
    judged_rows = np.flatnonzero(data.gold.position < n_known)
    candidate_rows = np.flatnonzero(data.gold.position >= n_known)
    place = data.gold.position[candidate_rows] - n_known
    return Candidates(
        data=replace(data, gold=_rows_of(data.gold, judged_rows)),
        items=_rows_of(data.gold, candidate_rows),
        table=taken.take(pa.array(place)),
        first_chance=first_chance[place],
        labeled=np.isin(data.gold.item[candidate_rows], data.labels.item),
        population=dict(zip(names_of_groups, sizes, strict=True)),
    )


def require(table: pa.Table, wanted: dict[str, str], where: str) -> None:
    """Refuse a table that lacks a column; items must have names to be found again."""
    for role, name in wanted.items():
        if name not in table.column_names:
            raise InputError(
                f"{where} has no column {name!r} for columns.{role} (--{role})."
                f"{did_you_mean(name, table.column_names)}"
            )


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _one_row_each(item: pa.DictionaryArray, group: IntArray) -> IntArray:
    """Return the first row about every item that has a name and a group."""
    names = item.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero((names >= 0) & (group >= 0))
    first = np.full(int(names.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[names[rows[::-1]]] = rows[::-1]  # the last to be written is the first row
    return np.sort(first[first >= 0])


def _refuse_strangers(
    known: pa.Table, item: str, names: pa.StringArray, items: Source | None
) -> None:
    """Refuse sheets of items that are not among the candidates: their weights stand for others."""
    if GOLD_ROUND not in known.column_names:
        return
    drawn = as_names(known.filter(pc.is_valid(known.column(GOLD_ROUND))).column(item)).dictionary
    unknown = drawn.filter(pc.invert(pc.is_in(drawn, names)))
    if len(unknown):
        raise InputError(
            f"item {unknown[0].as_py()[:40]!r} of the sheets is not among the "
            f"{'labeled items' if items is None else 'items to choose from'}: pass the same labels "
            "as in the first round, and the same --items"
        )


def _refuse_new_groups(pool: pa.Table, labels: pa.Table, group: str) -> None:
    mine, theirs = (
        set(as_names(each.column(group)).dictionary.to_pylist()) for each in (pool, labels)
    )
    only = sorted(mine - theirs)
    if only:
        raise InputError(
            f"column {group!r} of items has groups that labels does not have, such as "
            f"{only[0]!r}: leave such items out"
        )


def _some_of_each(codes: IntArray, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return places at random, as many of every group as there are or are needed, and chances."""
    sizes = np.bincount(codes)
    enough = -(-max(LEAST_ITEMS, PER_DRAW * n) // max(len(sizes), 1))
    chosen, chance = [], []
    for code, size in enumerate(sizes):
        rows = np.flatnonzero(codes == code)
        if size > enough:
            rows = np.sort(rng.choice(rows, enough, replace=False))
        chosen.append(rows)
        chance.append(np.full(len(rows), len(rows) / max(size, 1)))
    return np.concatenate(chosen), np.concatenate(chance)


def _fewer_labels(labels: pa.Table, labeler: str, rng: np.random.Generator) -> pa.Table:
    """Return all labels, or a random part of them that is enough to see what items are worth."""
    if labels.num_rows <= MOST_LABELS or labeler not in labels.column_names:
        return labels
    codes = as_names(labels.column(labeler)).indices.to_numpy(zero_copy_only=False)
    n_labelers = int(codes.max()) + 1
    share = MOST_LABELS / labels.num_rows
    if n_labelers < _MANY_LABELERS:
        kept = rng.random(labels.num_rows) < share
    else:
        kept = (rng.random(n_labelers) < share)[codes]
    return labels.take(pa.array(np.flatnonzero(kept)))


def _placeholder(labels: pa.Table, known: pa.Table | None, config: CheckConfig) -> list[str]:
    """Return values that stand where the candidates' answers will be; nobody reads them."""
    name = config.columns.label if known is None else config.columns.gold
    table, where = (labels, "labels") if known is None else (known, "gold")
    require(table, {"label" if known is None else "gold": name}, where)
    values: list[str] = as_names(table.column(name)).dictionary.to_pylist()
    return values


def _beside(
    known: pa.Table | None, items: pa.Table, values: list[str], config: CheckConfig
) -> pa.Table:
    """Return known gold and candidates as one table, known rows first."""
    columns = config.columns
    answers = pa.array([values[row % len(values)] for row in range(items.num_rows)])
    candidates = items.append_column(columns.gold, answers)
    if columns.gold_weight:
        candidates = candidates.append_column(columns.gold_weight, pa.array([1.0] * len(answers)))
    if known is None:
        return candidates
    shared = [name for name in known.column_names if name in candidates.column_names]
    plain = [_plain(each.select(shared)) for each in (known, candidates)]
    try:
        return pa.concat_tables(plain, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        wrong = next(
            name for name in shared if plain[0].column(name).type != plain[1].column(name).type
        )
        raise InputError(
            f"column {wrong!r} holds {plain[0].column(wrong).type} in gold and "
            f"{plain[1].column(wrong).type} among the items: make it the same kind in both"
        ) from None


def _plain(table: pa.Table) -> pa.Table:
    """Return a table whose names are text, so that it can be put beside another one."""
    arrays = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(arrays, names=table.column_names)


def _rows_of(gold: GoldRows, rows: IntArray) -> GoldRows:
    return GoldRows(**{name: values[rows] for name, values in vars(gold).items()})
