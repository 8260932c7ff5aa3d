"""From two tables to arrays: everything the models need, checked, encoded and in one order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mdba_checks.config import CheckConfig
from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.blocks import Table
from mdba_checks.tables.clusters import assign_clusters
from mdba_checks.tables.encoding import Encoding, encode
from mdba_checks.tables.features import choose_features
from mdba_checks.tables.hashing import combined, content, row_fingerprints
from mdba_checks.tables.matrix import Matrix
from mdba_checks.tables.partitions import Remote, load_parts, parts_of
from mdba_checks.tables.reduction import Answers
from mdba_checks.tables.roles import (
    Roles,
    binary,
    check_gold,
    check_groups,
    complete_rows,
    find_roles,
    rounds_of,
    text_columns,
    weights,
)
from mdba_checks.tables.scratch import on_disk
from mdba_checks.tables.shared_items import refuse_unequal_items
from mdba_checks.tables.sources import LargeParquet, Source, open_table, read_table
from mdba_checks.tables.spelling import remarks
from mdba_checks.tables.text import as_names, unify
from mdba_checks.tables.text_models import TextModel, open_text_model

NO_COHORT = "(no cohort)"  # of rows whose cohort is missing


@dataclass(frozen=True)
class LabelRows:
    """The decisions, sorted by labeler, item and content.

    Attributes
    ----------
    labeler, group
        Codes into `Data.labelers` and `Data.groups`.
    decision
        What the labeler decided, 0 or 1.
    item
        Codes of items, shared with gold; every row is its own item when there is no item column.
    cluster
        Codes of families of items, shared with gold; every item is its own when there is no cluster
        column.
    cohort
        Codes into `Data.cohorts`; all zero without a cohort column.
    trees
        float32 (rows, features): numbers as they are, categories as codes, NaN missing.
    linear
        float64 (rows, columns): standardised numbers, missing indicators, one-hot categories.
        Both share their memory, and rows become arrays when they are asked for.
    position
        Where the row stands in the input table.
    mark
        A fingerprint of the columns behind the features, and the decision; the same in every table
        with the same `Data.encoding.key`.
    """

    labeler: IntArray
    group: IntArray
    decision: IntArray
    item: IntArray
    cluster: IntArray
    cohort: IntArray
    trees: Matrix
    linear: Matrix
    position: IntArray
    mark: IntArray

    def __len__(self) -> int:
        return len(self.decision)

    def take(self, rows: IntArray) -> LabelRows:
        """Return some of the rows."""
        return LabelRows(**{name: values.take(rows) for name, values in vars(self).items()})


@dataclass(frozen=True)
class GoldRows:
    """The items whose right decision is known, sorted by group, item and content.

    Attributes
    ----------
    correct
        The right decision, 0 or 1.
    weight
        How many items of the population the row stands for.
    mark
        A fingerprint of features, right decision and weight.
    """

    group: IntArray
    correct: IntArray
    item: IntArray
    cluster: IntArray
    weight: FloatArray
    trees: FloatArray
    linear: FloatArray
    position: IntArray
    mark: IntArray

    def __len__(self) -> int:
        return len(self.correct)


@dataclass(frozen=True)
class Data:
    """Labels and gold, ready for the models.

    Attributes
    ----------
    labelers, groups, features, cohorts
        Names, sorted; codes in `labels` and `gold` point into them.
    labeler_mark
        Per labeler, a fingerprint of their rows: where chance decides, it goes by this and not by
        the name.
    tree_types
        ``"q"`` or ``"c"`` per column of `trees`, as XGBoost's ``feature_types`` wants it.
    encoding
        How features became columns.
    messages
        What the user should know: columns left out and why, rows dropped.
    labels_hash, gold_hash
        Fingerprints of the two input tables (see `tables.hashing`).
    labels_order
        Where the rows of the labels table are, in an order that comes from what they hold.
    n_label_rows
        Rows of the labels table as it was read, dropped ones included.
    n_dropped
        Rows dropped from both tables together.
    reference
        The name of the reference group, None for "everyone else".
    has_items
        Whether an item column tells which rows are about the same thing.
    has_clusters
        Whether a cluster column tells which items of gold are alike.
    rounds
        In how many rounds gold was judged, and how many were planned; None without rounds.
    remote
        Where features of labels are, if not here: then `trees` and `linear` of the labels fetch
        what is asked for.
    """

    labels: LabelRows
    gold: GoldRows
    labelers: tuple[str, ...]
    labeler_mark: IntArray
    groups: tuple[str, ...]
    features: tuple[str, ...]
    tree_types: tuple[str, ...]
    encoding: Encoding
    messages: tuple[str, ...]
    labels_hash: str
    gold_hash: str
    labels_order: IntArray
    n_label_rows: int
    n_dropped: int
    reference: str | None = None
    has_items: bool = False
    has_clusters: bool = False
    cohorts: tuple[str, ...] = ()
    rounds: tuple[int, int] | None = None
    remote: Remote | None = None


def load(
    labels: Source, gold: Source, config: CheckConfig, *, text_model: TextModel | None = None
) -> Data:
    """Read, validate and encode labels and gold.

    Parameters
    ----------
    labels, gold
        As for `read_table`.
    config
        Which columns play which role.
    text_model
        A function from texts to vectors, for free text; in place of `config.text_model`.

    Raises
    ------
    InputError
        When something cannot be used as it is; the text names the column and the way out.

    Examples
    --------
    >>> import pandas as pd
    >>> labels = pd.DataFrame(
    ...     {
    ...         "labeler": ["ann", "ann", "bob"],
    ...         "label": [1, 0, 1],
    ...         "group": list("wmw"),
    ...         "age": [3, 4, 5],
    ...     }
    ... )
    >>> gold = pd.DataFrame({"gold": [1, 0], "group": ["w", "m"], "age": [4, 5]})
    >>> data = load(labels, gold, CheckConfig())
    >>> data.labelers, data.groups, data.features, data.labels.trees.shape
    (('ann', 'bob'), ('m', 'w'), ('age',), (3, 2))
    """
    parts = parts_of(labels)
    if parts is not None:
        return load_parts(parts, gold, config)
    if text_model is None and config.text_model is not None:
        text_model = open_text_model(config.text_model)
    names = text_columns(config)
    how: dict[str, Any] = {"text_columns": names, "missing_values": config.missing_values}
    how["notes"] = messages = []
    tables = [open_table(labels, **how), read_table(gold, **how)]
    # What does not fit into memory as a table does not fit as arrays either.
    keep = on_disk if isinstance(tables[0], LargeParquet) else np.ascontiguousarray
    held = [content(table) for table in tables]
    roles = find_roles(tables[0], tables[1], config)
    columns = roles.columns
    kept, dropped = drop_incomplete(tables, roles, config)
    messages += dropped
    weight = weights(tables[1], columns.gold_weight)[kept[1]]
    n_label_rows = tables[0].num_rows
    rounds = rounds_of(tables[1])
    n_dropped = sum(table.num_rows - len(rows) for table, rows in zip(tables, kept, strict=True))
    tables = [taken(table, rows) for table, rows in zip(tables, kept, strict=True)]

    labeler_names, (labeler,) = unify(_names(tables[0], columns.labeler))
    labelers = labeler_names.to_pylist()
    group_names, group = unify(*(_names(table, columns.group) for table in tables))
    groups = group_names.to_pylist()
    reference = check_groups(groups, group[0], group[1], config)
    decision, correct = binary(
        _names(tables[0], columns.label), _names(tables[1], columns.gold), config, messages
    )
    check_gold(correct, config)
    for column, who in ((columns.labeler, labelers), (columns.group, groups)):
        messages += remarks(column, who, hide=config.pseudonymize)
    items = item_codes(tables, roles, messages)
    chosen = choose_features(
        tables[0], tables[1], roles.names, config, Answers(decision, group[0]), keep, text_model
    )
    messages += chosen.messages
    refuse_unequal_items(
        tables,
        items,
        list(dict.fromkeys(feature.column for feature in chosen.features)),
        roles,
        hide=config.pseudonymize,
    )
    families = cluster_columns(tables, roles)
    cohort, cohorts = cohorts_of(tables[0], columns.cohort)
    tables.clear()  # all that is needed is in arrays now, and the tables are large
    pa.default_memory_pool().release_unused()

    marks = (
        row_fingerprints([*(one for one, _ in chosen.identity), decision], len(decision)),
        row_fingerprints([*(one for _, one in chosen.identity), correct, weight], len(correct)),
    )
    orders = (
        np.lexsort((group[0], marks[0], items[0], labeler)),
        np.lexsort((marks[1], items[1], group[1])),
    )
    feature_names = tuple(dict.fromkeys(feature.column for feature in chosen.features))
    chosen.identity.clear()
    encoded = encode(chosen.features, (group[0], group[1]), orders, keep)
    messages += encoded.messages
    item = numbered(items, orders)
    cluster = item
    if columns.cluster is not None:
        ordered = [
            None if column is None else column.take(pa.array(order))
            for column, order in zip(families, orders, strict=True)
        ]
        cluster, about = assign_clusters(ordered, item, columns.cluster, hide=config.pseudonymize)
        messages += about
    return Data(
        labels=LabelRows(
            labeler=labeler[orders[0]].astype(np.int32),
            group=group[0][orders[0]].astype(np.int16),
            decision=decision[orders[0]],
            item=item[0],
            cluster=cluster[0],
            cohort=cohort[orders[0]],
            trees=encoded.trees[0],
            linear=encoded.linear[0],
            position=kept[0][orders[0]],
            mark=marks[0][orders[0]],
        ),
        gold=GoldRows(
            group=group[1][orders[1]].astype(np.int16),
            correct=correct[orders[1]],
            item=item[1],
            cluster=cluster[1],
            weight=weight[orders[1]],
            trees=encoded.trees[1][:],
            linear=encoded.linear[1][:],
            position=kept[1][orders[1]],
            mark=marks[1][orders[1]],
        ),
        labelers=tuple(labelers),
        labeler_mark=combined(marks[0], labeler, len(labelers)),
        groups=tuple(groups),
        features=feature_names,
        tree_types=encoded.tree_types,
        encoding=encoded.encoding,
        messages=tuple(messages),
        labels_hash=held[0].hash,
        gold_hash=held[1].hash,
        labels_order=held[0].order,
        n_label_rows=n_label_rows,
        n_dropped=n_dropped,
        reference=reference,
        has_items=roles.item is not None,
        has_clusters=columns.cluster is not None,
        cohorts=cohorts,
        rounds=rounds,
    )


def drop_incomplete(
    tables: list[Table], roles: Roles, config: CheckConfig
) -> tuple[list[IntArray], list[str]]:
    """Return the rows of both tables that have what they need, and what was dropped."""
    kept, messages = [], []
    for table, where, names in zip(
        tables, ("labels", "gold"), (roles.in_labels, roles.in_gold), strict=True
    ):
        rows, message = complete_rows(table, where, names, drop=config.drop_missing)
        kept.append(rows)
        messages += [message] if message else []
    return kept, messages


def taken(table: Table, rows: IntArray) -> Table:
    """Return some rows of a table."""
    return table if len(rows) == table.num_rows else table.take(pa.array(rows))


def _names(table: Table, name: str) -> pa.DictionaryArray:
    # Encoded again, because a name may have been in dropped rows only.
    return as_names(table.column(name))


def cohorts_of(labels: Table, name: str | None) -> tuple[IntArray, tuple[str, ...]]:
    """Return the cohorts of the rows and their names; rows without one are a cohort too."""
    if name is None:
        return np.zeros(labels.num_rows, dtype=np.int32), ()
    names, (codes,) = unify(_names(labels, name))
    cohorts = tuple(names.to_pylist())
    if (codes < 0).any():
        cohorts += (NO_COHORT,)
    return np.where(codes < 0, len(cohorts) - 1, codes).astype(np.int32), cohorts


def cluster_columns(tables: list[Table], roles: Roles) -> list[pa.ChunkedArray | None]:
    """Return the families of items in both tables; None where a table does not say."""
    named = (roles.cluster, roles.columns.cluster)
    return [table.column(name) if name else None for table, name in zip(tables, named, strict=True)]


def item_codes(tables: list[Table], roles: Roles, messages: list[str]) -> list[IntArray]:
    """Return item codes in row order, shared by the tables; -1 where there is no item."""
    codes: list[IntArray] = [np.full(table.num_rows, -1, dtype=np.int64) for table in tables]
    known = [(0, roles.item, "labels"), (1, roles.gold_item, "gold")]
    used = [(place, name, where) for place, name, where in known if name is not None]
    if not used:
        return codes
    _, unified = unify(*(_names(tables[place], name) for place, name, _ in used))
    for (place, name, where), own in zip(used, unified, strict=True):
        codes[place] = own.astype(np.int64)
        alone = int((own < 0).sum())
        if alone:
            messages.append(
                f"{where}: {alone} rows have no value in column {name!r}: each counts as an item "
                "of its own"
            )
    return codes


def numbered(items: list[IntArray], orders: tuple[IntArray, IntArray]) -> list[IntArray]:
    """Put item codes in order; rows without an item get numbers of their own behind the others."""
    free = max(int(codes.max(initial=-1)) for codes in items) + 1
    numbered = []
    for codes, order in zip(items, orders, strict=True):
        sorted_codes = codes[order]
        alone = np.flatnonzero(sorted_codes < 0)
        sorted_codes[alone] = np.arange(free, free + len(alone))
        free += len(alone)
        numbered.append(sorted_codes)
    return numbered
