"""The columns with a role: who decided, what, about which group, and what was right.

These are validated strictly, because a wrong reading of them is a wrong verdict about a person:
a value that cannot be understood stops the check, and the message says where it is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mdba_checks.config import CheckConfig, Columns
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.metrics import METRICS
from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.kinds import Kind, kind_of, numbers
from mdba_checks.tables.text import as_names, canonical, match_name
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
_BINARY = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_ORDER = re.compile(rf"\s*(>=|<=|>|<)\s*({_NUMBER.pattern})\s*")
_COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_SHOWN = 5
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
    def in_labels(self) -> tuple[str, ...]:
        """Columns of the labels table that may have no gaps."""
        return (self.columns.labeler, self.columns.label, self.columns.group)

    @property
    def in_gold(self) -> tuple[str, ...]:
        """Columns of the gold table that may have no gaps."""
        weight = self.columns.gold_weight
        return (self.columns.group, self.columns.gold, *([weight] if weight else []))

    @property
    def names(self) -> set[str]:
        """Every column name that has a role and therefore is not a feature."""
        others = (self.item, self.columns.cluster, self.columns.cohort)
        return {*self.in_labels, *self.in_gold, *(name for name in others if name)}


def text_columns(config: CheckConfig) -> set[str]:
    """Return the columns that hold names in either table."""
    columns = config.columns
    names = {columns.labeler, columns.label, columns.group, columns.gold}
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
    wanted_labels = {
        "labeler": columns.labeler,
        "label": columns.label,
        "group": columns.group,
        "item": roles.item,
        "cluster": roles.cluster,
        "cohort": columns.cohort,
    }
    wanted_gold = {
        "group": columns.group,
        "gold": columns.gold,
        "item": roles.gold_item,
        "cluster": columns.cluster,
        "gold_weight": columns.gold_weight,
    }
    for table, where, wanted in ((labels, "labels", wanted_labels), (gold, "gold", wanted_gold)):
        taken: dict[str, str] = {}
        for role, name in wanted.items():
            if name is None:
                continue
            if name not in table.column_names:
                raise InputError(
                    f"{where} has no column {name!r} for columns.{role}{_FLAGS.get(role, '')}."
                    f"{did_you_mean(name, table.column_names)}"
                )
            if name in taken:
                raise InputError(
                    f"column {name!r} of {where} cannot be both {taken[name]} and {role}"
                )
            taken[name] = role
    return roles


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


def binary(
    labels: pa.DictionaryArray,
    gold: pa.DictionaryArray,
    config: CheckConfig,
    messages: list[str],
) -> tuple[IntArray, IntArray]:
    """Return both tables' decisions as 0/1, each table by its own values.

    Where a column holds more than two values, those that are not positive count as negative; what
    counts as what is added to `messages`.
    """
    positive = config.positive
    parts = (
        (labels, f"column {config.columns.label!r} of labels"),
        (gold, f"column {config.columns.gold!r} of gold"),
    )
    values = [sorted(column.dictionary.to_pylist()) for column, _ in parts]
    if positive is not None and not any(_names_one(positive, found) for found in values):
        raise InputError(
            f"positive={canonical(positive)!r} is not a value of {parts[0][1]} "
            f"({_some(values[0], config)}) nor of {parts[1][1]} ({_some(values[1], config)})"
        )
    decisions = []
    for (column, where), found in zip(parts, values, strict=True):
        meaning = _meaning(found, positive)
        if meaning is None:
            raise InputError(_not_binary(where, found, config))
        if len(found) > 2 and not _all_binary(found):
            yes = [value for value in found if meaning[value]]
            no = [value for value in found if not meaning[value]]
            messages.append(
                f"{where} holds {len(found)} values: {_some(yes, config)} counts as positive, "
                f"{_some(no, config)} as negative"
            )
        lookup = [meaning[value] for value in column.dictionary.to_pylist()]
        decisions.append(np.array(lookup, dtype=np.int8)[column.indices.to_numpy()])
    return decisions[0], decisions[1]


def _names_one(positive: object, values: list[str]) -> bool:
    """Return whether `positive` is one of the values, if perhaps as 1 where they say true."""
    if _as_binary(canonical(positive)) is not None and _all_binary(values):
        return True
    return match_name(positive, values) is not None or _by_order(positive, values) is not None


def _meaning(values: list[str], positive: object) -> dict[str, int] | None:
    """Map each value of a column to 0 or 1; None if that cannot be told."""
    if _all_binary(values):
        # positive=0 turns the meaning of 0/1 and of false/true alike.
        turned = positive is not None and _as_binary(canonical(positive)) == 0
        return {value: int(_as_binary(value) != turned) for value in values}
    if positive is None:
        return None
    chosen = match_name(positive, values)
    if chosen is None and (ordered := _by_order(positive, values)) is not None:
        return ordered
    if chosen is None and len(values) >= 2:
        return None
    if len({value.strip().casefold() for value in values}) < len(values):
        return None  # "Yes" beside "yes" would count as no
    return {value: int(value == chosen) for value in values}


def _by_order(positive: object, values: list[str]) -> dict[str, int] | None:
    """Map numbers to 1 where they are on the positive side of an order such as ``>= 4``."""
    order = _ORDER.fullmatch(str(positive))
    if order is None or not all(_NUMBER.fullmatch(value.strip()) for value in values):
        return None
    limit, compare = float(order[2]), _COMPARISONS[order[1]]
    return {value: int(compare(float(value), limit)) for value in values}


def _not_binary(where: str, values: list[str], config: CheckConfig) -> str:
    held = _some(values, config)
    if config.positive is None and len(values) > 2:
        return (
            f"{where} must hold two values but has {len(values)}: {held}; or say which of them is "
            "positive (--positive VALUE, or --positive '>= 4' on a scale): the others count as "
            "negative"
        )
    if config.positive is not None and match_name(config.positive, values) is not None:
        return f"{where} holds one value in two spellings: {held}; spell it in one way"
    if config.positive is None:
        example = f", such as positive={values[-1]!r} (--positive {values[-1]})"
        return (
            f"{where} holds {held}: say which value counts as positive"
            f"{' (--positive)' if config.pseudonymize else example}"
        )
    return f"{where} holds {held}: positive={canonical(config.positive)!r} is not among them"


def _as_binary(value: str) -> int | None:
    return _BINARY.get(value.strip().lower())


def _all_binary(values: list[str]) -> bool:
    return all(_as_binary(value) is not None for value in values)


def check_gold(correct: IntArray, config: CheckConfig) -> None:
    """Refuse gold without a single item of the kind the metric is about."""
    metric = METRICS[config.metric]
    if not (correct == metric.right_code).any():
        raise InputError(
            f"column {config.columns.gold!r} of gold has no {metric.kind} at all, and metric "
            f"{config.metric!r} is a rate among {metric.kind}s: add gold items"
        )


def check_groups(
    names: list[str], labels: IntArray, gold: IntArray, config: CheckConfig
) -> str | None:
    """Refuse groups that cannot be compared; return the name of the reference group."""
    column = config.columns.group
    if len(names) > MAX_GROUPS:
        raise InputError(
            f"column {column!r} holds {len(names)} groups, such as {_some(names, config)}: it "
            f"looks like a measurement or a name; at most {MAX_GROUPS} groups are compared"
        )
    present = {"labels": set(labels.tolist()), "gold": set(gold.tolist())}
    for where, elsewhere in (("labels", "gold"), ("gold", "labels")):
        only = sorted(present[where] - present[elsewhere])
        if only:
            raise InputError(
                f"column {column!r} of {where} has groups that {elsewhere} does not have: "
                f"{_some([names[code] for code in only], config)}; add such rows to {elsewhere} or "
                f"take them out of {where}"
            )
    if len(names) < 2:
        raise InputError(f"column {column!r} holds one group only, {names[0]!r}: two are needed")
    if config.reference is None:
        return None
    reference = match_name(config.reference, names)
    if reference is None:
        wanted = canonical(config.reference)
        raise InputError(
            f"reference {wanted!r} is not a group in column {column!r}."
            f"{did_you_mean(wanted, names)}"
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


def _some(values: Sequence[str], config: CheckConfig) -> str:
    if config.pseudonymize:  # the wrong column may have been named, and it may be that of labelers
        return "values that are not shown, as they could be names"
    shown = ", ".join(repr(value[:40]) for value in values[:_SHOWN])
    return f"{shown}, …" if len(values) > _SHOWN else shown
