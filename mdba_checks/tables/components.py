"""A column that becomes several features, one per component of its texts or vectors.

Rows are told apart by a fingerprint of what the column holds. What is learned is learned from the
different values with the smallest fingerprints: a random choice that depends on what both tables
hold, and not on the order of rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.feature import Feature, Keep
from mdba_checks.tables.matrix import Column, compact

MOST_COMPONENTS = 40
MISSING = 0  # the fingerprint of nothing


@dataclass(frozen=True)
class Distinct:
    """The different values of a column in both tables.

    Attributes
    ----------
    fingerprints
        Ascending, without that of missing values.
    first
        Where each of them stands first, counting the rows of the labels and then those of gold.
    code
        Per row of labels and gold: which of them, -1 where missing.
    """

    fingerprints: IntArray
    first: IntArray
    code: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, labels: IntArray, gold: IntArray) -> Distinct:
        """Tell the rows of both tables apart by their fingerprints."""
        found, first, code = np.unique(
            np.concatenate([labels, gold]), return_index=True, return_inverse=True
        )
        if len(found) and found[0] == MISSING:
            found, first, code = found[1:], first[1:], code - 1
        return cls(found, first, (code[: len(labels)], code[len(labels) :]))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.fingerprints)

    @property
    def n_present(self) -> int:
        """In how many rows there is a value."""
        return sum(int((code >= 0).sum()) for code in self.code)

    def sample(self, most: int) -> IntArray:
        """Return where a random choice of different values stands, by their fingerprints."""
        return self.first[:most]

    def basis(self, most: int) -> str:
        """Return a text that is the same where the same choice is made."""
        chosen = np.ascontiguousarray(self.fingerprints[:most])
        return hashlib.blake2b(chosen.tobytes(), digest_size=16).hexdigest()


def spread(
    name: str, parts: list[FloatArray], code: tuple[IntArray, IntArray], keep: Keep, basis: str
) -> Iterator[Feature]:
    """Yield one feature per component, and one that says where the column is missing.

    Parameters
    ----------
    parts
        Components of the different values, each (components, values).
    code
        Per row of labels and gold: which of the values, -1 where missing. Missing ones get the mean
        of the others.
    """
    for place in range(len(parts[0])):
        values = np.concatenate([part[place] for part in parts])
        values = np.append(values, np.nanmean(values, dtype=np.float64)).astype(values.dtype)
        labels, gold = (compact(values[rows]) for rows in code)
        yield Feature(f"{name} {place + 1}", keep(labels), gold, source=name, basis=basis)
    missing: list[Column] = [(rows < 0).astype(np.float32) for rows in code]
    if any(each.any() for each in missing):
        yield Feature(f"{name} missing", keep(missing[0]), missing[1], source=name)
