"""Which columns a decision may depend on, and what each of them holds.

A feature must mean the same in both tables. Columns that cannot help any model, because they say
something else in every row (free text, row numbers) or the same in all of them, are left out with
a message, or refused when they were asked for by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.arrays import FloatArray
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.tables.kinds import Kind, all_missing, kind_of, numbers
from mdba_checks.tables.matrix import Column, compact
from mdba_checks.tables.parquet_files import LargeParquet
from mdba_checks.tables.text import as_names, is_number, unify

# More distinct texts than this, and than half of the rows, are free text or names, not categories.
MANY_LEVELS = 50
# Sentences rather than names, when there are many different ones.
LONG_TEXT = 60
# In a handful of rows everything is unique and consecutive by chance.
FEW_ROWS = 20

# What exports of a table's index are called.
_INDEX_NAME = re.compile(r"|Unnamed: \d+|__index_level_\d+__")

Table: TypeAlias = pa.Table | LargeParquet


@dataclass(frozen=True)
class Feature:
    """One usable column: numbers (NaN missing), or codes into `levels` (-1 missing)."""

    name: str
    labels: Column
    gold: Column
    levels: tuple[str, ...] | None = None


class _UnusableError(Exception):
    """Why a column is left out."""


def choose_features(
    labels: Table,
    gold: Table,
    roles: set[str],
    config: CheckConfig,
    keep: Callable[[Column], Column],
) -> tuple[list[Feature], list[str]]:
    """Return the usable features, sorted by name, and messages about the others.

    `keep` says where the columns of the labels are held.
    """
    named = config.features is not None
    names = _named(labels, gold, roles, config) if named else _shared(labels, gold, roles)
    features: list[Feature] = []
    messages: list[str] = []
    for name in names:
        try:
            feature = _feature(name, labels.column(name), gold.column(name), messages)
        except _UnusableError as reason:
            if named:
                raise InputError(f"feature {name!r} {reason}: take it out of features") from None
            messages.append(f"column {name!r} is ignored: it {reason}")
            continue
        if feature is None:
            messages.append(f"column {name!r} is ignored: it has no values")
        elif _is_constant(feature):
            if named:
                messages.append(f"column {name!r} is ignored: it has the same value everywhere")
        else:
            features.append(replace(feature, labels=keep(feature.labels)))
    if not features:
        raise InputError(
            "labels and gold share no usable feature column"
            + (f" ({'; '.join(messages[:3])})" if messages else "")
            + ": both need the columns the decision may depend on, under the same names"
        )
    return features, messages


def _shared(labels: Table, gold: Table, roles: set[str]) -> list[str]:
    return sorted((set(labels.column_names) & set(gold.column_names)) - roles)


def _named(labels: Table, gold: Table, roles: set[str], config: CheckConfig) -> list[str]:
    names = sorted(set(config.features or ()))
    for name in names:
        if name in roles:
            raise InputError(f"feature {name!r} already has another role: take it out of features")
        for table, where in ((labels, "labels"), (gold, "gold")):
            if name not in table.column_names:
                near = did_you_mean(name, set(table.column_names) - roles)
                raise InputError(f"{where} has no feature column {name!r}.{near}")
    return names


def _feature(
    name: str, labels: pa.ChunkedArray, gold: pa.ChunkedArray, messages: list[str]
) -> Feature | None:
    """Return a column as a feature, None if it holds nothing; raise if it is not usable."""
    if _INDEX_NAME.fullmatch(name):
        raise _UnusableError("is an exported row index")
    columns = (labels, gold)
    kinds = [Kind.MISSING if all_missing(column) else kind_of(column.type) for column in columns]
    if Kind.OTHER in kinds:
        raise _UnusableError(f"holds {Kind.OTHER.value}")
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
        messages.append(f"column {name!r} holds dates or times: used as a number of seconds")
    values = [
        np.full(len(column), np.nan)
        if kind is Kind.MISSING
        else _finite(name, numbers(column), where)
        for column, kind, where in zip(columns, kinds, ("labels", "gold"), strict=True)
    ]
    whole = all(pa.types.is_integer(column.type) for column in columns)
    if whole and (_counts_rows(values[0]) or _counts_rows(np.concatenate(values))):
        raise _UnusableError("numbers the rows")
    return Feature(name, compact(values[0]), compact(values[1]))


def _declared_category(column: pa.ChunkedArray) -> bool:
    """Tell whether numbers were declared to be categories; one table's word is enough."""
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
        raise _UnusableError("holds a different text in every row")
    if distinct > max(MANY_LEVELS, present / 2):
        raise _UnusableError(f"holds free text or names, {distinct} different in {present} rows")
    if distinct > MANY_LEVELS and _mean_length(encoded) > LONG_TEXT:
        raise _UnusableError(f"holds long free text, {distinct} different in {present} rows")
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


def _is_constant(feature: Feature) -> bool:
    # NaN differs from itself, so a number that is sometimes missing is no constant; that it is
    # missing may matter. For categories -1 stands for missing and counts as a value.
    first = feature.labels[0]
    return bool((feature.labels == first).all() and (feature.gold == first).all())
