"""Labels in parts and gold, ready for the models: as `tables.loading`, but features stay away.

Three passes over the parts. The first summarises columns, from which features follow. The second
returns the columns with a role, a fingerprint of the features of every row, and sums; sorting,
items and codes then follow as for a table in memory. The third fetches a bounded sample of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from mdba_checks.config import CheckConfig
from mdba_checks.errors import NeedsAllRowsError
from mdba_checks.tables.answer_words import words_for
from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.clusters import assign_clusters
from mdba_checks.tables.columns import uses_of
from mdba_checks.tables.confusing_names import name_warnings
from mdba_checks.tables.data import Data, GoldRows, LabelRows
from mdba_checks.tables.decisions import decisions
from mdba_checks.tables.encoding import MOST_COMBINATIONS
from mdba_checks.tables.exact_sums import Moments
from mdba_checks.tables.hashing import (
    RowsTotal,
    combined,
    content,
    mixed_in,
    order_mark,
    row_fingerprints,
)
from mdba_checks.tables.loading import (
    cluster_columns,
    cohorts_of,
    drop_incomplete,
    item_codes,
    numbered,
    taken,
)
from mdba_checks.tables.partitions.partitioned import Partitions, PartsRead
from mdba_checks.tables.partitions.plan import Plan, PlannedNumber, candidates, make_plan, mixed
from mdba_checks.tables.partitions.remote import Remote, RemoteMatrix, check_of
from mdba_checks.tables.partitions.summaries import Names, added, summarise
from mdba_checks.tables.questions import EACH, Question, groups_of
from mdba_checks.tables.roles import (
    Roles,
    check_groups,
    find_roles,
    rounds_of,
    text_columns,
    weights,
)
from mdba_checks.tables.shared_items import refuse_unequal_items
from mdba_checks.tables.sources import Source, read_table
from mdba_checks.tables.text import as_names, unify

# Rows about gold items that are compared with gold, to see that they are the same items.
_MOST_COMPARED = 200_000


@dataclass(frozen=True)
class _Asked:
    """What the second pass should return."""

    plan: Plan
    roles: tuple[str, ...]
    whole: tuple[str, ...]
    group: str
    few_values: tuple[tuple[float, ...], ...] | None


@dataclass(frozen=True)
class _Found:
    """What the second pass returns of a part."""

    names: pa.Table  # the columns with a role
    state: IntArray  # fingerprints of features
    check: int
    sums: dict[str, Moments]
    combos: Counter[tuple[int, str]] | None
    total: RowsTotal
    mark: int  # depends on the rows and their order


def load_parts(parts: Partitions, gold: Source, config: CheckConfig) -> Data:
    """Validate and encode labels that stay in parts, and gold; see `load`."""
    messages: list[str] = []
    _refuse_settings(config)
    schema = parts.schema
    gold_table = read_table(
        gold,
        text_columns=text_columns(config),
        missing_values=config.missing_values,
        notes=messages,
    )
    gold_hash = content(gold_table).hash
    roles = find_roles(schema.empty_table(), gold_table, config)
    used = _role_columns(roles)
    names = candidates(schema, gold_table, roles.names, config)
    # The same columns in every pass: Spark may order rows by all that is asked for.
    parts = parts.select([name for name in schema.names if name in {*names, *used}])
    plan = _plan(parts, names, gold_table, roles, config)
    asked = _Asked(
        plan=plan,
        roles=tuple(used),
        whole=roles.in_labels,
        group=roles.group,
        few_values=plan.few_values,
    )
    found = parts.map(_second_pass, asked)
    whole = gold_table.select(list(dict.fromkeys([*plan.names, roles.group])))
    loader = _Loader(parts=parts, config=config, roles=roles, plan=plan, messages=messages)
    data = loader.loaded(found, gold_table, whole, gold_hash)
    uses = uses_of(schema.names, gold_table.column_names, roles, plan.looked)
    return replace(data, columns=uses)


def _refuse_settings(config: CheckConfig) -> None:
    if config.pseudonymize:
        raise NeedsAllRowsError(
            "pseudonymize works with the local engine only: check a Parquet file with engine local"
        )
    if len(config.columns.groups) > 1 or config.positive == EACH:
        raise NeedsAllRowsError(
            "labels that stay on a cluster are compared by one group column and one meaning of "
            "positive: name one of each, or check a Parquet file with engine local"
        )


def _plan(
    parts: Partitions, names: list[str], gold: pa.Table, roles: Roles, config: CheckConfig
) -> Plan:
    group = roles.group
    labels = added(parts.map(summarise, (names, group, roles.in_labels)))
    complete = (group, roles.columns.gold)
    own = summarise((names, group, complete), None, gold)
    return make_plan(parts.schema, gold, roles.names, config, (labels, own))


def _role_columns(roles: Roles) -> list[str]:
    columns = roles.columns
    used = (columns.labeler, columns.label, roles.group, roles.item, roles.cluster)
    return [name for name in (*used, columns.cohort) if name is not None]


def _second_pass(asked: _Asked, _: object, rows: pa.Table) -> _Found:
    names = {name: as_names(rows.column(name)) for name in asked.roles}
    complete = np.ones(rows.num_rows, dtype=bool)
    for name in asked.whole:
        complete &= names[name].is_valid().to_numpy(zero_copy_only=False)
    columns = asked.plan.read(rows)
    group = Names.of(rows.column(asked.group)).take(complete)
    inside = [column[complete] for column in columns]
    return _Found(
        names=pa.table(names),
        state=row_fingerprints(columns, rows.num_rows),
        check=check_of(columns, rows.num_rows),
        sums=_sums(asked.plan, inside),
        combos=_combos(asked.few_values, inside, group),
        total=RowsTotal.of(rows),
        mark=order_mark(rows),
    )


def _sums(plan: Plan, columns: Sequence[Any]) -> dict[str, Moments]:
    found = {}
    for feature, column in zip(plan.features, columns, strict=True):
        if isinstance(feature, PlannedNumber) and (unit := feature.unit) is not None:
            found[feature.name] = Moments.of(unit(column[~np.isnan(column)]))
    return found


def _combos(
    values: tuple[tuple[float, ...], ...] | None, columns: Sequence[Any], group: Names
) -> Counter[tuple[int, str]] | None:
    if values is None or not len(group.codes):
        return None if values is None else Counter()
    code = mixed(values, columns)
    distinct, place = np.unique(code, return_inverse=True)
    if len(distinct) > MOST_COMBINATIONS:
        return None
    cells, rows = np.unique(place * len(group.names) + group.codes, return_counts=True)
    found: Counter[tuple[int, str]] = Counter()
    for cell, n in zip(cells.tolist(), rows.tolist(), strict=True):
        combo, own = divmod(cell, len(group.names))
        found[(int(distinct[combo]), group.names[own])] = n
    return found


@dataclass(frozen=True)
class _Loader:
    parts: Partitions
    config: CheckConfig
    roles: Roles
    plan: Plan
    messages: list[str]

    def loaded(
        self, found: list[_Found], gold: pa.Table, gold_features: pa.Table, gold_hash: str
    ) -> Data:
        config, roles, messages = self.config, self.roles, self.messages
        columns = roles.columns
        ends = np.cumsum([len(part.state) for part in found])
        state = np.concatenate([part.state for part in found])
        names = pa.concat_tables([part.names for part in found], promote_options="permissive")
        names = names.unify_dictionaries()
        tables = [names, gold]
        kept, dropped = drop_incomplete(tables, roles, config)
        messages += dropped
        weight = weights(gold, columns.gold_weight)[kept[1]]
        n_label_rows = names.num_rows
        n_dropped = sum(t.num_rows - len(rows) for t, rows in zip(tables, kept, strict=True))
        tables = [taken(table, rows) for table, rows in zip(tables, kept, strict=True)]
        gold_features = taken(gold_features, kept[1])
        state = state[kept[0]]

        labeler_names, (labeler,) = unify(as_names(tables[0].column(columns.labeler)))
        labelers = labeler_names.to_pylist()
        question = Question((roles.group,))
        groups, group = groups_of(*([as_names(each.column(roles.group))] for each in tables))
        reference = check_groups(groups, group, question, config)
        decision, correct = decisions(
            as_names(tables[0].column(columns.label)),
            as_names(tables[1].column(columns.gold)),
            question,
            config,
            messages,
        )
        words = words_for(tables[0].column(columns.label), decision, question, config)
        for column, who in ((columns.labeler, labelers), (roles.group, groups)):
            messages += name_warnings(column, who, hide=config.pseudonymize)
        items = item_codes(tables, roles, messages)
        messages += self.plan.messages
        cohort, cohorts = cohorts_of(tables[0], columns.cohort, messages)
        clusters = cluster_columns(tables, roles)

        read = self.plan.read(gold_features)
        marks = (
            mixed_in(state, decision),
            row_fingerprints([*read, correct, weight], len(correct)),
        )
        orders = (
            np.lexsort((group[0], marks[0], items[0], labeler)),
            np.lexsort((marks[1], items[1], group[1])),
        )
        sums, combos = self._learned_from(found, gold_features)
        plan, learner = self.plan.learned(sums, combos, groups)
        messages += learner.messages
        recipes = learner.recipes
        position = kept[0][orders[0]]
        remote = Remote(
            parts=self.parts,
            plan=plan,
            recipes=recipes,
            position=position,
            ends=ends,
            checks=[f.check for f in found],
        )
        self._refuse_unequal(remote, orders, items, tables, gold_features)
        item = numbered(items, orders)
        cluster, about = assign_clusters(clusters, item, columns.cluster, orders=orders, hide=False)
        messages += about
        trees, linear = recipes.matrices(plan.columns(gold_features))
        none = np.empty(0, dtype=np.int64)
        nothing = recipes.matrices(plan.columns(gold_features.slice(0, 0)))
        return Data(
            labels=LabelRows(
                labeler=labeler[orders[0]].astype(np.int32),
                group=group[0][orders[0]].astype(np.int16),
                decision=decision[orders[0]],
                item=item[0],
                cluster=cluster[0],
                cohort=cohort[orders[0]],
                trees=RemoteMatrix.of(remote, nothing[0]),
                linear=RemoteMatrix.of(remote, nothing[1]),
                position=position,
                mark=marks[0][orders[0]],
            ),
            gold=GoldRows(
                group=group[1][orders[1]].astype(np.int16),
                correct=correct[orders[1]],
                item=item[1],
                cluster=cluster[1],
                weight=weight[orders[1]],
                trees=trees.take(orders[1])[:],
                linear=linear.take(orders[1])[:],
                position=kept[1][orders[1]],
                mark=marks[1][orders[1]],
            ),
            labelers=tuple(labelers),
            labeler_mark=combined(marks[0], labeler, len(labelers)),
            groups=tuple(groups),
            features=self.plan.names,
            tree_types=learner.tree_types,
            encoding=learner.encoding,
            messages=tuple(messages),
            labels_hash=sum((part.total for part in found), RowsTotal()).hash(
                self.parts.schema.names
            ),
            parts=PartsRead(
                columns=tuple(self.parts.schema.names),
                rows=tuple(part.total.rows for part in found),
                marks=tuple(part.mark for part in found),
            ),
            gold_hash=gold_hash,
            labels_order=none,
            n_label_rows=n_label_rows,
            n_dropped=n_dropped,
            question=question,
            words=words,
            reference=reference,
            has_items=roles.item is not None,
            has_clusters=columns.cluster is not None,
            cohorts=cohorts,
            rounds=rounds_of(gold),
            remote=remote,
        )

    def _learned_from(
        self, found: list[_Found], gold: pa.Table
    ) -> tuple[Mapping[str, Moments], Counter[tuple[int, str]] | None]:
        """Add up what the parts and gold say about features."""
        read = self.plan.read(gold)
        own = Names.of(gold.column(self.roles.group))
        values = self.plan.few_values
        sums = [*(part.sums for part in found), _sums(self.plan, read)]
        total = {name: sum((each[name] for each in sums), Moments()) for name in sums[0]}
        combos = [*(part.combos for part in found), _combos(values, read, own)]
        if any(each is None for each in combos):
            return total, None
        together: Counter[tuple[int, str]] = Counter()
        for each in combos:
            together.update(each or {})
        return total, together

    def _refuse_unequal(
        self,
        remote: Remote,
        orders: tuple[IntArray, IntArray],
        items: list[IntArray],
        tables: list[pa.Table],
        gold_features: pa.Table,
    ) -> None:
        """Refuse items that are something else in gold; a bounded number of rows is compared."""
        if not self.roles.item or not self.roles.gold_item:
            return
        known = np.unique(items[1][items[1] >= 0])
        rows = np.flatnonzero(np.isin(items[0][orders[0]], known))[:_MOST_COMPARED]
        if not len(rows):
            return
        columns = remote.fetch(rows)
        here = tables[0].take(pa.array(orders[0][rows]))
        for feature, column in zip(remote.plan.features, columns, strict=False):
            here = here.append_column(feature.name, _as_arrow(feature, column))
        gold = tables[1].select([self.roles.gold_item, self.roles.group])
        for feature, column in zip(
            remote.plan.features, remote.plan.read(gold_features), strict=True
        ):
            gold = gold.append_column(feature.name, _as_arrow(feature, column))
        own = [items[0][orders[0][rows]], items[1]]
        compared = [self.roles.group, *remote.plan.names]
        refuse_unequal_items([here, gold], own, compared, self.roles, hide=False)


def _as_arrow(feature: Any, column: Any) -> pa.Array:
    if isinstance(feature, PlannedNumber):
        return pa.array(column.astype(np.float64), from_pandas=True)
    levels = pa.array(feature.levels, pa.string())
    return pa.DictionaryArray.from_arrays(
        pa.array(column.astype(np.int32), mask=column < 0), levels
    )
