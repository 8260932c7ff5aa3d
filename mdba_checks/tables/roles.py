"""The columns with a role: who decided, what, about which group, and what was right.

These are validated strictly, because a wrong reading of them is a wrong verdict about a person:
a value that cannot be understood stops the check, and the message says where it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mdba_checks.config import CheckConfig, Columns
from mdba_checks.errors import MOST_SHOWN, InputError, did_you_mean, listed
from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.decisions import some_values
from mdba_checks.tables.kinds import Kind, kind_of, numbers
from mdba_checks.tables.questions import Question, reference_of, wanted_reference
from mdba_checks.tables.text import as_names, canonical
from mdba_checks.tables.written_numbers import chosen_writing, read_written

# Columns of gold that say by themselves how it was drawn.
GOLD_WEIGHT, GOLD_ROUND = "gold_weight", "gold_round"
# Beyond this the column is a measurement or a name, not a group anybody compares.
MAX_GROUPS = 1000

_FLAGS = {
    "labeler": " (--labeler)",
    "label": " (--label)",
    "group": " (--group)",
    "gold": " (--gold-label)",
    "item": " (--item)",
    "cluster": " (--cluster-column)",
    "cohort": " (--cohort)",
}
# A row that stands for more than anybody can count, or for next to nothing, is a slip; and beyond
# this, sums of squares lose all but the largest weight.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-9, 1e12


@dataclass(frozen=True)
class Roles:
    """The names of the columns with a role, in the two tables as they are."""

    columns: Columns
    item: str | None
    gold_item: str | None
    cluster: str | None = None  # in the labels; gold has the column whenever one is named

    @property
    def group(self) -> str:
        """The first group column; the only one unless several are compared."""
        return self.columns.groups[0]

    @property
    def in_labels(self) -> tuple[str, ...]:
        """Columns of the labels table that may have no gaps."""
        return (self.columns.labeler, self.columns.label, *self.columns.groups)

    @property
    def in_gold(self) -> tuple[str, ...]:
        """Columns of the gold table that may have no gaps."""
        weight = self.columns.gold_weight
        return (*self.columns.groups, self.columns.gold, *([weight] if weight else []))

    @property
    def names(self) -> set[str]:
        """Every column name that has a role and therefore is not a feature."""
        others = (self.item, self.columns.cluster, self.columns.cohort)
        return {*self.in_labels, *self.in_gold, *(name for name in others if name)}

    def not_features(self, question: Question) -> set[str]:
        """Return the columns that are not features of a question.

        The groups that it compares are not. Those of other group columns are, as they are when a
        check names one group column alone.
        """
        return self.names - (set(self.columns.groups) - set(question.columns))


def text_columns(config: CheckConfig) -> set[str]:
    """Return the columns that hold names in either table."""
    columns = config.columns
    names = {columns.labeler, columns.label, *columns.groups, columns.gold}
    others = {_item_name(config), columns.cluster or "", columns.cohort or ""}
    return names | others - {""}


def _item_name(config: CheckConfig) -> str:
    """Return the item column, if there is one; a feature may be called 'item' too."""
    return config.columns.item or ("" if "item" in (config.features or ()) else "item")


def find_roles(labels: pa.Table, gold: pa.Table, config: CheckConfig) -> Roles:
    """Find the columns with a role; a missing one is an error that names the nearest column."""
    columns = config.columns
    if columns.gold_weight is None and _has_weights(gold, config):
        columns = columns.model_copy(update={"gold_weight": GOLD_WEIGHT})
    item = _item_name(config)
    in_use = item if columns.item or item in labels.column_names else None
    cluster = columns.cluster if columns.cluster in labels.column_names else None
    roles = Roles(columns, in_use, in_use if in_use in gold.column_names else None, cluster)
    groups = [("group", name) for name in columns.groups]
    wanted_labels = [
        ("labeler", columns.labeler),
        ("label", columns.label),
        *groups,
        ("item", roles.item),
        ("cluster", roles.cluster),
        ("cohort", columns.cohort),
    ]
    wanted_gold = [
        *groups,
        ("gold", columns.gold),
        ("item", roles.gold_item),
        ("cluster", columns.cluster),
        ("gold_weight", columns.gold_weight),
    ]
    both = ((labels, "labels", wanted_labels), (gold, "gold", wanted_gold))
    _refuse_missing(both)
    for _, where, wanted in both:
        taken: dict[str, str] = {}
        for role, name in wanted:
            if name is None:
                continue
            if name in taken:
                raise InputError(
                    f"column {name!r} of {where} cannot be both {taken[name]} and {role}"
                )
            taken[name] = role
    return roles


def _refuse_missing(
    both: Sequence[tuple[pa.Table, str, Sequence[tuple[str, str | None]]]],
) -> None:
    """Refuse columns that a table does not have, all of them in one line."""
    missing = [
        (table, where, f"{name!r} for columns.{role}{_FLAGS.get(role, '')}", name)
        for table, where, wanted in both
        for role, name in wanted
        if name is not None and name not in table.column_names
    ]
    if not missing:
        return
    if len(missing) == 1:
        ((table, where, said, name),) = missing
        raise InputError(f"{where} has no column {said}.{did_you_mean(name, table.column_names)}")
    lacking: dict[str, list[str]] = {}
    for _, where, said, _ in missing:
        lacking.setdefault(where, []).append(said)
    lacks = [f"{where} has no column {', no '.join(said)}" for where, said in lacking.items()]
    known = [f"{where}: {listed(table.column_names, MOST_SHOWN)}" for table, where, _ in both]
    raise InputError(
        f"{'; '.join(lacks)}. Known in {'; in '.join(known)}. mdba init proposes which is which"
    )


def _has_weights(gold: pa.Table, config: CheckConfig) -> bool:
    """Return whether gold says by itself what its rows stand for, as `mdba answers` writes it."""
    return GOLD_WEIGHT in gold.column_names and GOLD_WEIGHT not in (config.features or ())


def rounds_of(gold: pa.Table) -> tuple[int, int] | None:
    """Return in how many rounds gold was judged, and how many were planned; None without any."""
    if GOLD_ROUND not in gold.column_names:
        return None
    values = as_names(gold.column(GOLD_ROUND)).dictionary.to_pylist()
    found = [(value, re.fullmatch(r"([1-9]\d?) of ([1-9])", value)) for value in values]
    for value, match in found:
        if match is None:
            raise InputError(
                f"column {GOLD_ROUND!r} of gold holds {value[:40]!r}: it should be like '1 of 3', "
                "as mdba answers writes it; rename the column if it means something else"
            )
    numbers = [(int(match[1]), int(match[2])) for _, match in found if match]
    if not numbers:
        return None
    return max(number for number, _ in numbers), max(planned for _, planned in numbers)


def complete_rows(
    table: pa.Table, where: str, names: Sequence[str], *, drop: bool
) -> tuple[IntArray, str | None]:
    """Return the positions of rows without gaps in `names`, and a message if some are dropped."""
    if table.num_rows == 0:
        raise InputError(f"{where} has no rows")
    complete = np.ones(table.num_rows, dtype=bool)
    gaps = []
    for name in names:
        missing = table.column(name).is_null(nan_is_null=True).to_numpy()
        if missing.any():
            count, row = int(missing.sum()), int(missing.argmax()) + 1
            gaps.append(f"{count} missing in column {name!r} (first in row {row})")
            complete &= ~missing
    if not gaps:
        return np.arange(table.num_rows), None
    if not drop:
        raise InputError(
            f"{where} has values missing: {', '.join(gaps)}; fill them in, or drop such rows with "
            "--drop-missing (drop_missing=True)"
        )
    kept = np.flatnonzero(complete)
    dropped = f"{table.num_rows - len(kept)} of {table.num_rows} rows: {', '.join(gaps)}"
    if not len(kept):
        raise InputError(f"{where} has no rows left after dropping {dropped}")
    return kept, f"{where}: dropped {dropped}"


def check_groups(
    names: list[str], codes: Sequence[IntArray], question: Question, config: CheckConfig
) -> str | None:
    """Refuse groups that cannot be compared; return the name of the reference group."""
    column = question.attribute
    if len(names) > MAX_GROUPS:
        raise InputError(
            f"column {column!r} holds {len(names)} groups, such as {some_values(names, config)}: "
            f"it looks like a measurement or a name; at most {MAX_GROUPS} groups are compared"
        )
    present = {"labels": set(codes[0].tolist()), "gold": set(codes[1].tolist())}
    for where, elsewhere in (("labels", "gold"), ("gold", "labels")):
        only = sorted(present[where] - present[elsewhere])
        if only and not question.crosses:
            shown = some_values([names[code] for code in only], config)
            raise InputError(
                f"column {column!r} of {where} has groups that {elsewhere} does not have: {shown}; "
                f"add such rows to {elsewhere} or take them out of {where}"
            )
    if len(names) < 2:
        raise InputError(f"column {column!r} holds one group only, {names[0]!r}: two are needed")
    reference = reference_of(question, names, config)
    wanted = wanted_reference(column, config)
    if reference is None and wanted is not None:
        raise InputError(
            f"reference {canonical(wanted)!r} is not a group in column {column!r}."
            f"{did_you_mean(canonical(wanted), names)}"
        )
    return reference


def weights(gold: pa.Table, name: str | None) -> FloatArray:
    """Return what each gold row stands for; one each unless a column says otherwise."""
    if name is None:
        return np.ones(gold.num_rows)
    column = gold.column(name)
    if way := chosen_writing([column], ()):
        column = read_written(column, way)
    kind = kind_of(column.type)
    if kind is not Kind.NUMBER:
        raise InputError(f"column {name!r} of gold must hold weights but holds {kind.value}")
    values = numbers(column)
    wrong = np.flatnonzero((values < _LEAST_WEIGHT) | (values > _MOST_WEIGHT))
    if len(wrong):
        row = wrong[0]
        raise InputError(
            f"column {name!r} of gold must hold positive weights ({_LEAST_WEIGHT:g} to "
            f"{_MOST_WEIGHT:g}) but row {row + 1} has {values[row]:g}"
        )
    return values
