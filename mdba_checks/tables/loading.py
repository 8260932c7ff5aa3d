"""From two tables to arrays: everything the models need, checked, encoded and in one order."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.tables.answer_words import words_for
from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.blocks import Table
from mdba_checks.tables.clusters import assign_clusters
from mdba_checks.tables.columns import uses_of
from mdba_checks.tables.columns_on_disk import on_disk
from mdba_checks.tables.confusing_names import name_warnings
from mdba_checks.tables.data import Data, GoldRows, LabelRows
from mdba_checks.tables.decisions import decisions
from mdba_checks.tables.encoding import encode
from mdba_checks.tables.features import choose_features
from mdba_checks.tables.hashing import combined, content, row_fingerprints
from mdba_checks.tables.partitions import Partitions, load_parts, parts_of
from mdba_checks.tables.questions import EACH, Question, groups_of, questions_of
from mdba_checks.tables.reduction import Answers
from mdba_checks.tables.roles import (
    Roles,
    check_groups,
    complete_rows,
    find_roles,
    rounds_of,
    text_columns,
    weights,
)
from mdba_checks.tables.shared_items import refuse_unequal_items
from mdba_checks.tables.sources import LargeParquet, Source, open_table, read_table
from mdba_checks.tables.text import as_names, unify
from mdba_checks.tables.text_models import TextModel, open_text_model

MOST_COHORTS = 500
NO_COHORT = "(no cohort)"  # of rows whose cohort is missing


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
    opened = open_tables(labels, gold, config, text_model=text_model)
    if len(opened.questions) > 1:
        raise InputError(
            f"this check asks {len(opened.questions)} questions (several group columns, or every "
            "class), and one can be answered here: name one group column and the values that "
            "count as positive"
        )
    return opened.load(opened.questions[0])


class OpenedTables:
    """Both tables, read and complete, before features and groups are taken from them.

    Attributes
    ----------
    questions
        What is asked about them.
    labels_hash, gold_hash
        Fingerprints of the tables as they were read.
    """

    def __init__(
        self,
        tables: list[Table],
        config: CheckConfig,
        messages: list[str],
        text_model: TextModel | None,
    ) -> None:
        # What does not fit into memory as a table does not fit as arrays either.
        self._keep = on_disk if isinstance(tables[0], LargeParquet) else np.ascontiguousarray
        self._held = [content(table) for table in tables]
        self._config, self._messages, self._text_model = config, messages, text_model
        self._roles = roles = find_roles(tables[0], tables[1], config)
        self._kept, dropped = drop_incomplete(tables, roles, config)
        self._messages += dropped
        self._weight = weights(tables[1], roles.columns.gold_weight)[self._kept[1]]
        self._n_label_rows = tables[0].num_rows
        self._rounds = rounds_of(tables[1])
        self._n_dropped = sum(
            table.num_rows - len(rows) for table, rows in zip(tables, self._kept, strict=True)
        )
        self._tables = [taken(table, rows) for table, rows in zip(tables, self._kept, strict=True)]
        self._left = self.questions = questions_of(config, *self._decisions())

    @property
    def labels_hash(self) -> str:
        """The fingerprint of the labels."""
        return self._held[0].hash

    @property
    def gold_hash(self) -> str:
        """The fingerprint of gold."""
        return self._held[1].hash

    def _decisions(self) -> list[list[str]]:
        """Return the values of the columns with decisions; read only if it depends on them."""
        if self._config.positive != EACH:
            return [[], []]
        names = (self._roles.columns.label, self._roles.columns.gold)
        pairs = zip(self._tables, names, strict=True)
        return [_names(table, name).dictionary.to_pylist() for table, name in pairs]

    def load(self, question: Question) -> Data:
        """Return the data of one question; after the last one the tables are gone."""
        self._left = [each for each in self._left if each != question]
        roles, config, weight = self._roles, self._config, self._weight
        columns, tables, messages = roles.columns, self._tables, list(self._messages)
        labeler_names, (labeler,) = unify(_names(tables[0], columns.labeler))
        labelers = labeler_names.to_pylist()
        groups, group = groups_of(
            *([_names(table, name) for name in question.columns] for table in tables)
        )
        reference = check_groups(groups, group, question, config)
        decision, correct = decisions(
            _names(tables[0], columns.label),
            _names(tables[1], columns.gold),
            question,
            config,
            messages,
        )
        words = words_for(tables[0].column(columns.label), decision, question, config)
        for column, who in ((columns.labeler, labelers), (question.attribute, groups)):
            messages += name_warnings(column, who, hide=config.pseudonymize)
        items = item_codes(tables, roles, messages)
        chosen = choose_features(
            tables[0],
            tables[1],
            roles.not_features(question),
            config,
            Answers(decision, group[0]),
            self._keep,
            self._text_model,
        )
        messages += chosen.messages
        uses = uses_of(tables[0].column_names, tables[1].column_names, roles, chosen.looked)
        feature_names = tuple(dict.fromkeys(feature.column for feature in chosen.features))
        refuse_unequal_items(
            tables, items, [*question.columns, *feature_names], roles, hide=config.pseudonymize
        )
        families = cluster_columns(tables, roles)
        cohort, cohorts = cohorts_of(tables[0], columns.cohort, messages)
        if not self._left:
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
        chosen.identity.clear()
        encoded = encode(chosen.features, (group[0], group[1]), orders, self._keep)
        pa.default_memory_pool().release_unused()  # the columns that were encoded just now
        messages += encoded.messages
        item = numbered(items, orders)
        cluster, about = assign_clusters(
            families, item, columns.cluster, orders=orders, hide=config.pseudonymize
        )
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
                position=self._kept[0][orders[0]],
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
                position=self._kept[1][orders[1]],
                mark=marks[1][orders[1]],
            ),
            labelers=tuple(labelers),
            labeler_mark=combined(marks[0], labeler, len(labelers)),
            groups=tuple(groups),
            features=feature_names,
            tree_types=encoded.tree_types,
            encoding=encoded.encoding,
            messages=tuple(messages),
            labels_hash=self._held[0].hash,
            gold_hash=self._held[1].hash,
            labels_order=self._held[0].order,
            n_label_rows=self._n_label_rows,
            n_dropped=self._n_dropped,
            question=question,
            columns=uses,
            words=words,
            reference=reference,
            has_items=roles.item is not None,
            has_clusters=columns.cluster is not None,
            cohorts=cohorts,
            rounds=self._rounds,
        )


class OpenedParts:
    """Labels that stay in parts where they are; there is one question about them."""

    def __init__(self, parts: Partitions, gold: Source, config: CheckConfig) -> None:
        self._data = load_parts(parts, gold, config)
        self.questions = [self._data.question]
        self.labels_hash, self.gold_hash = self._data.labels_hash, self._data.gold_hash

    def load(self, _question: Question) -> Data:
        """Return the data of the question."""
        return self._data


Opened: TypeAlias = OpenedTables | OpenedParts


def open_tables(
    labels: Source,
    gold: Source,
    config: CheckConfig,
    *,
    text_model: TextModel | None = None,
    in_parts: bool = True,
) -> Opened:
    """Read both tables, once for all questions; parameters as for `load`.

    Labels stay in parts where they can, unless `in_parts` is false.
    """
    parts = parts_of(labels, config) if in_parts else None
    if parts is not None:
        return OpenedParts(parts, gold, config)
    if text_model is None and config.text_model is not None:
        text_model = open_text_model(config.text_model)
    messages: list[str] = []
    how: dict[str, Any] = {
        "text_columns": text_columns(config),
        "missing_values": config.missing_values,
        "notes": messages,
    }
    tables = [open_table(labels, **how), read_table(gold, **how)]
    return OpenedTables(tables, config, messages, text_model)


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


def cohorts_of(
    labels: Table, name: str | None, messages: list[str]
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the cohorts of the rows and their names; rows without one are a cohort too."""
    if name is None:
        return np.zeros(labels.num_rows, dtype=np.int32), ()
    names, (codes,) = unify(_names(labels, name))
    cohorts = tuple(names.to_pylist())
    if len(cohorts) > MOST_COHORTS:
        raise InputError(
            f"cohort column {name!r} has {len(cohorts):,} different values, and {MOST_COHORTS} at "
            "most are compared: name a column such as vendor, team or region"
        )
    missing = codes < 0
    if missing.any():
        if NO_COHORT not in cohorts:
            cohorts += (NO_COHORT,)
        messages.append(
            f"{int(missing.sum()):,} of {len(codes):,} labels have no value in cohort column "
            f"{name!r}: together they are the cohort {NO_COHORT!r}"
        )
        codes = np.where(missing, cohorts.index(NO_COHORT), codes)
    if len(cohorts) == 1:
        messages.append(
            f"all labels are of one cohort, {cohorts[0]!r}: there is nothing to compare it with, "
            "and its row is that of all labels together"
        )
    return codes.astype(np.int32), cohorts


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
