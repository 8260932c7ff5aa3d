"""Which columns a decision may depend on, and what each of them holds.

A feature must mean the same in both tables. A column of numbers or categories is one feature; free
text and vectors become several. Columns that cannot help any model, because they say something else
in every row (names, row numbers) or the same in all of them, are left out with a message, or
refused when they were asked for by name. Dates and times are used only if named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.tables.arrays import FloatArray
from mdba_checks.tables.blocks import Table, type_of
from mdba_checks.tables.columns import LookedAt, described
from mdba_checks.tables.dates import holds_dates
from mdba_checks.tables.feature import Feature, Keep, ReadColumn, UnusableError
from mdba_checks.tables.free_text import Texts
from mdba_checks.tables.kinds import Kind, all_missing, is_vector, kind_of, numbers
from mdba_checks.tables.matrix import Column, compact
from mdba_checks.tables.reduction import Answers
from mdba_checks.tables.text import as_names, is_number, unify
from mdba_checks.tables.text_models import TextModel
from mdba_checks.tables.vectors import families, read_vectors
from mdba_checks.tables.written_numbers import (
    Writing,
    chosen_writing,
    example,
    in_two_ways,
    read_written,
)

DATES = "holds dates or times, which are features only if named"
# More distinct texts than this, and than half of the rows, are free text or names, not categories.
MANY_LEVELS = 50
# Sentences rather than names, when there are many different ones.
LONG_TEXT = 60
# In a handful of rows everything is unique and consecutive by chance.
FEW_ROWS = 20

# What exports of a table's index are called.
INDEX_NAME = re.compile(r"|Unnamed: \d+|__index_level_\d+__")


@dataclass(frozen=True)
class Chosen:
    """The features of both tables.

    Attributes
    ----------
    features
        Sorted by the columns they come from.
    identity
        Per such column, arrays for labels and gold in which rows are equal where the column is.
    messages
        What the user should know about the columns.
    looked
        What was found in every column that was looked at.
    """

    features: list[Feature] = field(default_factory=list)
    identity: list[tuple[Column, Column]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    looked: dict[str, LookedAt] = field(default_factory=dict)


def choose_features(
    labels: Table,
    gold: Table,
    roles: set[str],
    config: CheckConfig,
    answers: Answers,
    keep: Keep,
    text_model: TextModel | None = None,
) -> Chosen:
    """Return the usable features, and messages about the other columns.

    `answers` are what was decided about the rows of the labels; `keep` says where their columns are
    held.
    """
    named = config.features is not None
    texts = named_columns(labels, gold, roles, config.columns.text, "columns.text")
    names = (
        named_columns(labels, gold, roles, config.features or (), "features")
        if named
        else shared_columns(labels, gold, roles)
    )
    names = sorted({*names, *texts})
    wide = families((labels, gold), (name for name in names if name not in texts))
    grouped = {name: family for family, columns in wide.items() for name in columns}
    reader = _Reader(
        labels=labels,
        gold=gold,
        answers=answers,
        keep=keep,
        text_model=text_model,
        texts=frozenset(texts),
    )
    chosen = Chosen()
    for name in sorted(dict.fromkeys(grouped.get(name, name) for name in names)):
        members = tuple(wide.get(name, [name]))
        try:
            if (
                not named
                and name not in wide
                and holds_dates(name, labels.column(name), gold.column(name))
            ):
                raise UnusableError(DATES)
            read = reader.read(name, list(members), chosen.messages)
        except UnusableError as reason:
            if named or name in texts:
                key = "columns.text" if name in texts else "features"
                raise InputError(f"feature {name!r} {reason}: take it out of {key}") from None
            chosen.messages.append(f"column {name!r} is ignored: it {reason}")
            chosen.looked[name] = LookedAt(members, used=False, holds=str(reason))
            continue
        if read is None:
            chosen.messages.append(f"column {name!r} is ignored: it has no values")
            chosen.looked[name] = LookedAt(members, used=False, holds="has no values")
            continue
        useful = [feature for feature in read.features if not feature.is_constant()]
        holds = described(read) if useful or not read.features else "has the same value everywhere"
        chosen.looked[name] = LookedAt(members, bool(useful), holds)
        if useful:
            chosen.features.extend(useful)
            chosen.identity.append(read.identity)
            chosen.messages.extend([read.said] if read.said else [])
        elif not read.features:
            chosen.messages.append(str(read.said))
        elif named or name in texts:
            chosen.messages.append(f"column {name!r} is ignored: it has the same value everywhere")
    if not chosen.features:
        messages = chosen.messages
        raise InputError(
            "labels and gold share no usable feature column"
            + (f" ({'; '.join(messages[:3])})" if messages else "")
            + ": both need the columns the decision may depend on, under the same names"
        )
    return chosen


@dataclass(frozen=True)
class _Reader:
    """Reads columns of both tables, each in the way that fits what it holds."""

    labels: Table
    gold: Table
    answers: Answers
    keep: Keep
    text_model: TextModel | None
    texts: frozenset[str]  # named by the user

    def read(self, name: str, columns: list[str], messages: list[str]) -> ReadColumn | None:
        """Return a column, or a family of columns, as features; None if it holds nothing."""
        tables = (self.labels, self.gold)
        kinds = [type_of(table, each) for table in tables for each in columns]
        if len(columns) > 1 or self._are_vectors(kinds):
            return read_vectors(name, columns, *tables, self.answers, self.keep)
        labels, gold = (table.column(name) for table in tables)
        if name in self.texts:
            self._refuse_other_than_text(name, (labels, gold))
            return Texts(name, labels, gold).read(self.keep, self.text_model, self.answers)
        if all(kind_of(kind) in (Kind.TEXT, Kind.MISSING) for kind in kinds) and not any(
            _declared_category(column) for column in (labels, gold)
        ):
            texts = Texts(name, labels, gold)
            if texts.are_free():
                return texts.read(self.keep, self.text_model, self.answers)
        said, holds = None, ""
        if way := self._writing(name, (labels, gold)):
            said = f"column {name!r} is read with {way.name}: {example((labels, gold), way)}"
            holds = f"numbers, written with {way.name}"
            labels, gold = (read_written(column, way) for column in (labels, gold))
        elif in_two_ways((labels, gold)):
            messages.append(
                f"column {name!r} holds numbers that are written in several ways: it is used as "
                "categories; write them in one way"
            )
        feature = _feature(name, labels, gold, messages)
        if feature is None:
            return None
        kept = replace(feature, labels=self.keep(feature.labels))
        if kind_of(labels.type) is Kind.TIME:
            holds = "dates or times, as a number of seconds"
        return ReadColumn((kept,), (kept.labels, kept.gold), said, holds)

    def _writing(
        self, name: str, columns: tuple[pa.ChunkedArray, pa.ChunkedArray]
    ) -> Writing | None:
        """Return how numbers in text are written; None for other texts."""
        others = (
            (self.labels.column(each), self.gold.column(each))
            for each in shared_columns(self.labels, self.gold, {name})
        )
        return chosen_writing(columns, others)

    @staticmethod
    def _are_vectors(kinds: list[pa.DataType]) -> bool:
        return any(map(is_vector, kinds)) and all(
            is_vector(kind) or pa.types.is_null(kind) for kind in kinds
        )

    @staticmethod
    def _refuse_other_than_text(name: str, columns: tuple[pa.ChunkedArray, ...]) -> None:
        for column, where in zip(columns, ("labels", "gold"), strict=True):
            kind = Kind.MISSING if all_missing(column) else kind_of(column.type)
            if kind not in (Kind.TEXT, Kind.MISSING) or _declared_category(column):
                raise InputError(
                    f"column {name!r} of {where} holds {kind.value}, not text: take it out of "
                    "columns.text"
                )


def shared_columns(labels: Table, gold: Table, roles: set[str]) -> list[str]:
    """Return the columns that both tables have and that have no role."""
    return sorted((set(labels.column_names) & set(gold.column_names)) - roles)


def named_columns(
    labels: Table, gold: Table, roles: set[str], names: Sequence[str], key: str
) -> Sequence[str]:
    """Return the names; refuse those that have a role or that a table does not have."""
    for name in names:
        if name in roles:
            raise InputError(f"feature {name!r} already has another role: take it out of {key}")
        for table, where in ((labels, "labels"), (gold, "gold")):
            if name not in table.column_names:
                near = did_you_mean(name, set(table.column_names) - roles)
                raise InputError(f"{where} has no feature column {name!r}.{near}")
    return names


def _feature(
    name: str, labels: pa.ChunkedArray, gold: pa.ChunkedArray, messages: list[str]
) -> Feature | None:
    """Return a column as a feature, None if it holds nothing; raise if it is not usable."""
    if INDEX_NAME.fullmatch(name):
        raise UnusableError("is an exported row index")
    columns = (labels, gold)
    kinds = [Kind.MISSING if all_missing(column) else kind_of(column.type) for column in columns]
    if Kind.OTHER in kinds:
        raise UnusableError(f"holds {Kind.OTHER.value}")
    declared = any(_declared_category(column) for column in columns)
    if Kind.TEXT in kinds or declared:
        encoded = [as_names(column) for column in columns]
        empty = [column.null_count == len(column) for column in encoded]
        kinds = [Kind.MISSING if e else k for e, k in zip(empty, kinds, strict=True)]
    held = {Kind.TEXT if declared else kind for kind in kinds if kind is not Kind.MISSING}
    if not held:
        return None
    if len(held) > 1:
        raise InputError(_mismatch(name, kinds, encoded if Kind.TEXT in held else []))
    if Kind.TEXT in held:
        return _category(name, encoded)
    if Kind.TIME in held:
        messages.append(f"column {name!r} holds times or durations: used as a number of seconds")
    values = [
        np.full(len(column), np.nan)
        if kind is Kind.MISSING
        else _finite(name, numbers(column), where)
        for column, kind, where in zip(columns, kinds, ("labels", "gold"), strict=True)
    ]
    whole = all(pa.types.is_integer(column.type) for column in columns)
    # Of the labels, several rows may be about one item; of gold, each is about another one.
    if whole and any(map(_counts_rows, (*values, np.concatenate(values)))):
        raise UnusableError("numbers the rows")
    return Feature(name, compact(values[0]), compact(values[1]))


def _declared_category(column: pa.ChunkedArray) -> bool:
    """Return whether numbers were declared to be categories; one table's word is enough."""
    kind = column.type
    return pa.types.is_dictionary(kind) and kind_of(kind.value_type) is Kind.NUMBER


def _mismatch(name: str, kinds: list[Kind], encoded: list[pa.DictionaryArray]) -> str:
    example = ""
    if encoded:
        texts = encoded[kinds.index(Kind.TEXT)].dictionary.to_pylist()
        # The most telling example is one that is not a number.
        odd = min(texts, key=is_number)
        example = f" such as {odd[:40]!r}"
    return (
        f"feature {name!r} is {kinds[0].value} in labels but {kinds[1].value} in gold{example}: "
        "make them agree; a text that stands for a gap can be added to missing_values"
    )


def _finite(name: str, values: FloatArray, where: str) -> FloatArray:
    wrong = np.flatnonzero(np.isinf(values))
    if len(wrong):
        row = wrong[0]
        raise InputError(
            f"feature {name!r} of {where} has {len(wrong)} infinite values (first in row "
            f"{row + 1}: {values[row]:g}): replace them or leave them empty"
        )
    return values


def _counts_rows(values: FloatArray) -> bool:
    rows = len(values)
    if rows < FEW_ROWS or np.isnan(values).any() or values.max() - values.min() != rows - 1:
        return False
    return len(np.unique(values)) == rows


def _category(name: str, encoded: list[pa.DictionaryArray]) -> Feature:
    distinct = len(pa.concat_arrays([column.dictionary for column in encoded]).unique())
    present = sum(len(column) - column.null_count for column in encoded)
    if distinct == present and present >= FEW_ROWS:
        raise UnusableError("holds a different text in every row")
    if distinct > max(MANY_LEVELS, present / 2):
        raise UnusableError(f"holds free text or names, {distinct} different in {present} rows")
    if distinct > MANY_LEVELS and _mean_length(encoded) > LONG_TEXT:
        raise UnusableError(f"holds long free text, {distinct} different in {present} rows")
    levels, codes = unify(*encoded)
    small = [compact(own, n_levels=len(levels)) for own in codes]
    return Feature(name, small[0], small[1], tuple(levels.to_pylist()))


def _mean_length(encoded: list[pa.DictionaryArray]) -> float:
    total = rows = 0
    for column in encoded:
        lengths = pc.utf8_length(column.dictionary).to_numpy(zero_copy_only=False)
        used = column.indices.drop_null().to_numpy()
        total += int(lengths[used].sum()) if len(used) else 0
        rows += len(used)
    return total / rows if rows else 0.0
