"""Which columns of a table in parts are features, and how its rows become arrays.

The rules are those of `tables.features`, asked of summaries instead of rows. Columns that need all
rows in one place to be understood (free text, embeddings, numbers written for people) are refused
by name: they are read by the local engine only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError, NeedsAllRowsError
from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.columns import LookedAt, kind_in_words
from mdba_checks.tables.dates import holds_dates
from mdba_checks.tables.encoding import MOST_COMBINATIONS, EncodingLearner, Unit
from mdba_checks.tables.exact_sums import Moments
from mdba_checks.tables.feature import UnusableError
from mdba_checks.tables.features import (
    DATES,
    FEW_ROWS,
    INDEX_NAME,
    LONG_TEXT,
    MANY_LEVELS,
    named_columns,
    shared_columns,
)
from mdba_checks.tables.free_text import FEW_TEXTS, PHRASE_WORDS, VERY_FEW_TEXTS, count_words
from mdba_checks.tables.kinds import Kind, is_vector, kind_of, numbers
from mdba_checks.tables.matrix import Column, compact
from mdba_checks.tables.partitions.summaries import LevelSummary, NumberSummary, Summary
from mdba_checks.tables.sources import dates_in_text
from mdba_checks.tables.text import as_names
from mdba_checks.tables.vectors import families
from mdba_checks.tables.written_numbers import writing_of

_JUDGED_TEXTS = 1000
COMBINATION = "combination of all features"


@dataclass(frozen=True)
class PlannedNumber:
    """A column of numbers."""

    name: str
    summary: NumberSummary

    @property
    def unit(self) -> Unit | None:
        """The scale on which its sums are made; None where all numbers are the same."""
        low, high = self.summary.low, self.summary.high
        return None if low == high else Unit.between(low, high)

    def read(self, rows: pa.Table) -> Column:
        """Return the numbers of some rows, NaN missing."""
        column = rows.column(self.name)
        if pa.types.is_null(column.type):
            return np.full(len(column), np.nan)
        return compact(numbers(column))


@dataclass(frozen=True)
class PlannedCategory:
    """A column of names."""

    name: str
    summary: LevelSummary
    levels: tuple[str, ...]

    def read(self, rows: pa.Table) -> Column:
        """Return the codes of some rows, -1 missing."""
        column = rows.column(self.name)
        found = as_names(column)
        place = pc.index_in(found.dictionary, value_set=pa.array(self.levels, pa.string()))
        places = place.fill_null(-1).to_numpy(zero_copy_only=False)
        own = found.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return compact(np.append(places, -1).astype(np.int64)[own], n_levels=len(self.levels))


Planned = PlannedNumber | PlannedCategory


@dataclass(frozen=True)
class Combination:
    """All combinations of features' values that occur, as the codes of one more category."""

    values: tuple[tuple[float, ...], ...]  # per feature, ascending; missing is the first or last
    combos: tuple[int, ...]  # ascending

    def read(self, columns: Sequence[Column]) -> Column:
        """Return the codes of rows."""
        code = np.searchsorted(np.array(self.combos), mixed(self.values, columns))
        return compact(code, n_levels=len(self.combos))


def mixed(values: Sequence[Sequence[float]], columns: Sequence[Column]) -> IntArray:
    """Return one number per row for its combination of values, in their order."""
    code = np.zeros(len(columns[0]), dtype=object if _large(values) else np.int64)
    for known, column in zip(values, columns, strict=True):
        ranks = np.searchsorted(np.array(known), column.astype(np.float64))  # NaN comes last
        code = code * (len(known) + 1) + ranks
    return code


def _large(values: Sequence[Sequence[float]]) -> bool:
    return float(np.prod([len(known) + 1.0 for known in values])) > 2**62


@dataclass(frozen=True)
class Plan:
    """How the rows of a table become arrays."""

    features: tuple[Planned, ...]
    messages: tuple[str, ...]
    looked: Mapping[str, LookedAt]
    combination: Combination | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(feature.name for feature in self.features)

    def read(self, rows: pa.Table) -> list[Column]:
        """Return the features of some rows, without their combination."""
        return [feature.read(rows) for feature in self.features]

    def columns(self, rows: pa.Table) -> tuple[Column, ...]:
        """Return the features of some rows."""
        found = self.read(rows)
        return (*found, self.combination.read(found)) if self.combination else tuple(found)

    @property
    def few_values(self) -> tuple[tuple[float, ...], ...] | None:
        """The values of every feature, where all have few; None otherwise."""
        if len(self.features) == 1 and isinstance(self.features[0], PlannedCategory):
            return None
        found: list[tuple[float, ...]] = []
        for feature in self.features:
            if isinstance(feature, PlannedCategory):
                some = range(-1, len(feature.levels))
                if len(feature.levels) > MOST_COMBINATIONS:
                    return None
                found.append(tuple(map(float, some)))
            else:
                values = feature.summary.values
                if values is None:
                    return None
                found.append(tuple(sorted(values)))
        return tuple(found)

    def learned(
        self,
        sums: Mapping[str, Moments],
        combos: Mapping[tuple[int, str], int] | None,
        groups: Sequence[str],
    ) -> tuple[Plan, EncodingLearner]:
        """Return the plan with its combination, and what was learned about encoding."""
        learner = EncodingLearner()
        for feature in self.features:
            if isinstance(feature, PlannedCategory):
                seen = feature.summary.seen(feature.levels, groups)
                learner.category(feature.name, feature.levels, seen)
            else:
                known = replace(feature.summary, sums=sums.get(feature.name, Moments()))
                learner.number(feature.name, known)
        values = self.few_values
        found = tuple(sorted({combo for combo, _ in combos})) if combos is not None else ()
        if values is None or not 3 <= len(found) <= MOST_COMBINATIONS:
            return self, learner
        levels = tuple(map(str, range(len(found))))
        named = dict(zip(found, levels, strict=True))
        counts = LevelSummary.counted(
            {(named[combo], group): n for (combo, group), n in (combos or {}).items()}
        )
        learner.category(COMBINATION, levels, counts.seen(levels, groups))
        return replace(self, combination=Combination(values, found)), learner


def make_plan(
    schema: pa.Schema,
    gold: pa.Table,
    roles: set[str],
    config: CheckConfig,
    summaries: tuple[dict[str, Summary], dict[str, Summary]],
) -> Plan:
    """Choose the features of labels that are in parts, from summaries of labels and gold."""
    labels = schema.empty_table()
    named = config.features is not None
    if config.columns.text:
        raise _needs_all_rows(config.columns.text[0], "is named as free text")
    names = candidates(schema, gold, roles, config)
    chosen: list[Planned] = []
    messages: list[str] = []
    looked: dict[str, LookedAt] = {}
    for name in names:
        own = _Column(name, labels.column(name).type, gold.column(name), config)
        try:
            feature = own.plan(summaries[0][name], summaries[1][name], messages, named=named)
        except UnusableError as reason:
            if named:
                raise InputError(f"feature {name!r} {reason}: take it out of features") from None
            messages.append(f"column {name!r} is ignored: it {reason}")
            looked[name] = LookedAt((name,), used=False, holds=str(reason))
            continue
        looked[name] = _looked_at(name, feature)
        if feature is None:
            messages.append(f"column {name!r} is ignored: it has no values")
        elif not feature.summary.is_constant():
            chosen.append(feature)
        elif named:
            messages.append(f"column {name!r} is ignored: it has the same value everywhere")
    if not chosen:
        raise InputError(
            "labels and gold share no usable feature column"
            + (f" ({'; '.join(messages[:3])})" if messages else "")
            + ": both need the columns the decision may depend on, under the same names"
        )
    return Plan(tuple(chosen), tuple(messages), looked)


def _looked_at(name: str, feature: Planned | None) -> LookedAt:
    if feature is None:
        return LookedAt((name,), used=False, holds="has no values")
    if feature.summary.is_constant():
        return LookedAt((name,), used=False, holds="has the same value everywhere")
    levels = feature.levels if isinstance(feature, PlannedCategory) else None
    return LookedAt((name,), used=True, holds=kind_in_words(levels))


def candidates(
    schema: pa.Schema, gold: pa.Table, roles: set[str], config: CheckConfig
) -> list[str]:
    """Return the columns that could be features; refuse those that need all rows in one place."""
    labels = schema.empty_table()
    if config.features is not None:
        found = named_columns(labels, gold, roles, config.features, "features")
    else:
        found = shared_columns(labels, gold, roles)
    names = sorted(set(found))
    for family in families((labels, gold), names):
        raise _needs_all_rows(family, "is an embedding")
    for name in names:
        if is_vector(labels.column(name).type) or is_vector(gold.column(name).type):
            raise _needs_all_rows(name, "holds vectors")
    return names


def _needs_all_rows(name: str, reason: str) -> NeedsAllRowsError:
    return NeedsAllRowsError(
        f"column {name!r} {reason}, which only the local engine reads: name the features to use "
        "without it (features), or check a Parquet file with engine local"
    )


@dataclass(frozen=True)
class _Column:
    """One column that labels and gold share."""

    name: str
    kind: pa.DataType
    gold: pa.ChunkedArray
    config: CheckConfig

    def plan(
        self, labels: Summary, gold: Summary, messages: list[str], *, named: bool
    ) -> Planned | None:
        """Return what becomes of it; None if it holds nothing."""
        if INDEX_NAME.fullmatch(self.name):
            raise UnusableError("is an exported row index")
        if labels is None or gold is None:
            raise UnusableError(f"holds {Kind.OTHER.value}")
        empty = [_is_empty(each) for each in (labels, gold)]
        if all(empty):
            return None
        held = {type(each) for each, none in zip((labels, gold), empty, strict=True) if not none}
        if len(held) > 1:
            kinds = [kind_of(kind).value for kind in (self.kind, self.gold.type)]
            raise InputError(
                f"feature {self.name!r} is {kinds[0]} in labels but {kinds[1]} in gold: make them "
                "agree"
            )
        if held == {LevelSummary}:
            return self._category(_as_levels(labels), _as_levels(gold), named=named)
        return self._number(_as_numbers(labels), _as_numbers(gold), messages, named=named)

    def _number(
        self, labels: NumberSummary, gold: NumberSummary, messages: list[str], *, named: bool
    ) -> PlannedNumber:
        together = labels + gold
        if not named and together.dates:
            raise UnusableError(DATES)
        for each, where in ((labels, "labels"), (gold, "gold")):
            if each.infinite[0]:
                raise InputError(
                    f"feature {self.name!r} of {where} has {each.infinite[0]} infinite values "
                    f"(such as {each.infinite[1]:g}): replace them or leave them empty"
                )
        if Kind.TIME in (kind_of(self.kind), kind_of(self.gold.type)):
            messages.append(
                f"column {self.name!r} holds times or durations: used as a number of seconds"
            )
        whole = pa.types.is_integer(self.kind) and pa.types.is_integer(self.gold.type)
        if whole and any(each.counts_rows(FEW_ROWS) for each in (labels, gold, together)):
            raise UnusableError("numbers the rows")
        return PlannedNumber(self.name, together)

    def _category(
        self, labels: LevelSummary, gold: LevelSummary, *, named: bool
    ) -> PlannedCategory:
        together = labels + gold
        levels = together.levels
        texts = pa.chunked_array([pa.array(levels, pa.string())])
        dated = kind_of(dates_in_text(texts).type) is Kind.TIME
        if dated or holds_dates(self.name, texts, self.gold):
            if named:
                raise _needs_all_rows(self.name, "holds dates as text")
            raise UnusableError(DATES)
        distinct, present = len(levels), together.present
        if distinct > FEW_TEXTS or (distinct >= VERY_FEW_TEXTS and distinct > present / 2):
            words = sorted(map(count_words, levels[:: -(-distinct // _JUDGED_TEXTS)]))
            if words[len(words) // 2] >= PHRASE_WORDS:
                raise _needs_all_rows(self.name, "holds free text")
        if together.too_many:
            raise _needs_all_rows(self.name, f"holds more than {distinct:,} different texts")
        if writing_of([texts, self.gold]):
            raise _needs_all_rows(self.name, "holds numbers that are written for people")
        if distinct == present and present >= FEW_ROWS:
            raise UnusableError("holds a different text in every row")
        if distinct > max(MANY_LEVELS, present / 2):
            raise UnusableError(f"holds free text or names, {distinct} different in {present} rows")
        if distinct > MANY_LEVELS and together.mean_length > LONG_TEXT:
            raise UnusableError(f"holds long free text, {distinct} different in {present} rows")
        return PlannedCategory(self.name, together, levels)


def _is_empty(summary: Summary) -> bool:
    return summary is None or summary.present == 0


def _as_levels(summary: Summary) -> LevelSummary:
    if isinstance(summary, LevelSummary):
        return summary
    groups = summary.groups if summary else {}
    return LevelSummary.counted({(None, name): part.rows for name, part in groups.items()})


def _as_numbers(summary: Summary) -> NumberSummary:
    if isinstance(summary, NumberSummary):
        return summary
    rows = summary.rows_of_groups() if summary else {}
    return NumberSummary.empty(rows)
