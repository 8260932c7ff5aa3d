"""Embeddings: columns whose cells are vectors, and families of numbered columns.

Narrow vectors are used as they are, each number a feature. Wide ones are reduced to few directions
(see `reduction`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.errors import InputError
from mdba_checks.tables.arrays import BoolArray, FloatArray, IntArray
from mdba_checks.tables.blocks import Table, blocks, type_of
from mdba_checks.tables.components import MISSING, MOST_COMPONENTS, Distinct, spread
from mdba_checks.tables.feature import Keep, ReadColumn, UnusableError
from mdba_checks.tables.hashing import row_fingerprints
from mdba_checks.tables.kinds import numbers
from mdba_checks.tables.reduction import Answers, Reduction

# Numbered columns with such names are an embedding; others only where there are so many that nobody
# made them by hand.
_EMBEDDING_NAME = re.compile(r"(?i)(.*[^a-z])?(emb|vec|dim|latent|bert|clip)[a-z]*[^a-z]*")
MANY_NUMBERED = 100
_NUMBERED = re.compile(r"(.*?)(\d+)")
_SAMPLE_ROWS, _SAMPLE_CELLS = 20_000, 16_000_000
VECTORS_PER_COMPONENT = 10


def families(tables: Sequence[Table], names: Iterable[str]) -> dict[str, list[str]]:
    """Return wide families of numbered columns among the names, each under a name of its own.

    Examples
    --------
    >>> table = pa.table({f"emb_{number}": [0.5] for number in range(300)})
    >>> [(name, len(columns)) for name, columns in families([table], table.column_names).items()]
    [('emb_0 … emb_299', 300)]
    """
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for name in names:
        if (parts := _NUMBERED.fullmatch(name)) is None:
            continue
        if all(pa.types.is_floating(type_of(table, name)) for table in tables):
            found[parts[1]].setdefault(int(parts[2]), name)
    wide = {}
    for stem, columns in found.items():
        least = MOST_COMPONENTS + 1 if _EMBEDDING_NAME.fullmatch(stem) else MANY_NUMBERED
        ordered = [columns[number] for number in sorted(columns)]
        gapless = max(columns) - min(columns) == len(columns) - 1 and min(columns) <= 1
        if len(columns) >= least and gapless:
            wide[f"{ordered[0]} … {ordered[-1]}"] = ordered
    return wide


def read_vectors(
    name: str, columns: Sequence[str], labels: Table, gold: Table, answers: Answers, keep: Keep
) -> ReadColumn | None:
    """Return a column of vectors, or a family of columns, as features; None if all are the same.

    `answers` are what was decided about the rows of the labels.
    """
    vectors = (_Vectors(name, columns, labels, "labels"), _Vectors(name, columns, gold, "gold"))
    prints = [each.fingerprints() for each in vectors]
    widths = [each.width for each in vectors if each.width is not None]
    if not widths:
        return None
    if widths[0] != widths[-1]:
        raise InputError(
            f"feature {name!r} holds vectors of {widths[0]} numbers in labels and of {widths[1]} "
            "in gold: use the same model for both"
        )
    distinct = Distinct.of(prints[0], prints[1])
    if len(distinct) < 2:
        return None
    n_components = min(MOST_COMPONENTS, max(1, len(distinct) // VECTORS_PER_COMPONENT))
    parts: list[FloatArray]
    if widths[0] <= n_components:
        parts = [keep(block.T) for each in vectors for block in each]
        how, basis = "used as they are", ""
    else:
        most = max(1, min(_SAMPLE_ROWS, _SAMPLE_CELLS // widths[0]))
        sample = _chosen(vectors, distinct.sample(most))
        reduction = Reduction.fitted(sample, n_components, answers.of(distinct, most))
        parts = [keep(_reduced(reduction, block)) for each in vectors for block in each]
        how, basis = reduction.how, f"{reduction.how} {distinct.basis(most)}"
    begins = (0, len(prints[0]))
    code = [
        np.where(each == MISSING, -1, np.arange(begin, begin + len(each)))
        for begin, each in zip(begins, prints, strict=True)
    ]
    return ReadColumn(
        tuple(spread(name, parts, (code[0], code[1]), keep, basis)),
        (prints[0], prints[1]),
        f"{'column' if len(columns) == 1 else 'columns'} {name!r} "
        f"{'holds' if len(columns) == 1 else 'are'} vectors of {widths[0]} numbers: {how}",
        f"vectors of {widths[0]} numbers, {how}",
    )


@dataclass
class _Vectors:
    """The vectors of one table; going through them yields blocks (rows, width), NaN missing."""

    name: str
    columns: Sequence[str]
    table: Table
    where: str
    width: int | None = None  # known once a vector was seen

    def __iter__(self) -> Iterator[FloatArray]:
        first_row = 0
        for block in blocks(self.table, self.columns):
            yield self._matrix(block, first_row)
            first_row += block.num_rows

    def fingerprints(self) -> IntArray:
        """Return a number per row that depends on its vector only; refuse what is not whole."""
        found: list[IntArray] = [np.empty(0, dtype=np.uint64)]
        first_row = 0
        for vectors in self:
            missing = self._missing(vectors, first_row)
            prints = row_fingerprints(vectors.T, len(vectors))
            found.append(np.where(missing, np.uint64(MISSING), prints))
            first_row += len(vectors)
        return np.concatenate(found)

    def _matrix(self, block: pa.Table, first_row: int) -> FloatArray:
        if len(self.columns) > 1:
            self.width = len(self.columns)
            return np.column_stack([numbers(column) for column in block.columns])
        column = block.column(0).combine_chunks()
        if pa.types.is_null(column.type):
            return np.full((len(column), self.width or 1), np.nan)
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        present = lengths > 0
        if self.width is None and present.any():
            self.width = int(lengths[present.argmax()])
        odd = np.flatnonzero(present & (lengths != self.width))
        if len(odd):
            raise UnusableError(
                f"holds vectors of different lengths in {self.where} ({self.width} numbers, and "
                f"{lengths[odd[0]]} in row {first_row + odd[0] + 1}), which can only be used when "
                "they are equally long"
            )
        vectors = np.full((len(column), self.width or 1), np.nan)
        flat = numbers(pa.chunked_array([pc.list_flatten(column)]))
        vectors[present] = flat.reshape(int(present.sum()), -1)
        return vectors

    def _missing(self, vectors: FloatArray, first_row: int) -> BoolArray:
        """Return which vectors are missing; a vector with gaps of its own is refused."""
        whole: BoolArray = np.asarray(np.isfinite(vectors).all(axis=1))
        missing: BoolArray = np.asarray(np.isnan(vectors).all(axis=1))
        odd = np.flatnonzero(~whole & ~missing)
        if len(odd):
            bad = vectors[odd[0]]
            value = bad[~np.isfinite(bad)][0]
            raise InputError(
                f"feature {self.name!r} of {self.where} has vectors with {value:g} among their "
                f"numbers (first in row {first_row + odd[0] + 1}): compute them again, or leave "
                "the whole vector empty"
            )
        return missing


def _chosen(vectors: Iterable[_Vectors], rows: IntArray) -> FloatArray:
    """Return the vectors of some rows, counted through both tables, in the order asked for."""
    ascending = np.sort(rows)
    found, begin = [], 0
    for block in (block for each in vectors for block in each):
        end = begin + len(block)
        here = slice(*np.searchsorted(ascending, (begin, end)))
        found.append(block[ascending[here] - begin])
        begin = end
    return np.concatenate([each for each in found if len(each)])[np.searchsorted(ascending, rows)]


def _reduced(reduction: Reduction, block: FloatArray) -> FloatArray:
    """Return components (components, rows); missing vectors stay missing."""
    found = np.full((len(reduction), len(block)), np.nan, dtype=np.float32)
    present = np.flatnonzero(~np.isnan(block[:, 0]))
    if len(present):
        found[:, present] = reduction(block[present]).T
    return found
