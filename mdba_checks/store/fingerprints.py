"""What was asked and about what: the names under which finished work is found again.

A *question* is everything a number depends on besides the labels: gold, settings, how features
became columns, the versions of the code. A labeler's *content* is what their rows hold, in an order
that comes from the rows themselves. Names appear as hashes only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from mdba_checks import __version__
from mdba_checks.arrays import IntArray
from mdba_checks.config import CheckConfig
from mdba_checks.labelers.folds import scramble
from mdba_checks.tables import Data

_FORMAT = 2  # of the entries: raised when they come to mean something else
# None of them changes a number: what is decided afterwards, and where the work is done.
_NO_MATTER = {"policy", "jobs", "engine", "cluster"}

Hashes: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def question(data: Data, config: CheckConfig, estimators: Sequence[str]) -> str:
    """Return the name of a question; with another one nothing is shared."""
    import xgboost

    asked = {
        "format": _FORMAT,
        "versions": [__version__, xgboost.__version__, np.__version__],
        "config": config.model_dump(mode="json", exclude=_NO_MATTER),
        "estimators": list(estimators),
        "gold": data.gold_hash,
        "encoding": data.encoding.key,
        "groups": data.groups,
    }
    return _hash(json.dumps(asked, sort_keys=True).encode())


@dataclass(frozen=True)
class Contents:
    """The labelers of a data set, in the order of their codes, and the items they decided on."""

    who: Hashes  # (labelers,): of the name
    what: Hashes  # (labelers,): of the rows
    n_rows: IntArray  # (labelers,)
    item: IntArray  # (label rows,): the item, as a number that means the same in every run
    gold_item: IntArray  # (gold rows,)

    def same(self, who: Hashes, what: Hashes) -> dict[int, int]:
        """Return which labelers have the same rows here and there, code by code."""
        there = {pair: n for n, pair in enumerate(_pairs(who, what))}
        here = enumerate(_pairs(self.who, self.what))
        return {n: there[pair] for n, pair in here if pair in there}

    def changed_share(self, before: Contents) -> float:
        """Return the share of rows that belong to labelers who came, went or changed."""
        same = self.same(before.who, before.what)
        came = self.n_rows.sum() - self.n_rows[list(same)].sum()
        went = before.n_rows.sum() - before.n_rows[list(same.values())].sum()
        return float(max(came, went) / before.n_rows.sum())


def contents(data: Data) -> Contents:
    """Return what the labelers' rows hold."""
    labels = data.labels
    n_rows = np.bincount(labels.labeler, minlength=len(data.labelers))
    who = [_hash(name.encode(errors="surrogateescape")) for name in data.labelers]
    named = np.zeros(0, dtype=np.uint64)
    if data.item_names is not None and len(data.item_names):
        names = np.array(data.item_names.to_pylist(), dtype=object)
        named = pd.util.hash_array(names, categorize=False)
    item = _lookup(named, labels.item)
    what = []
    begin = 0
    for end in np.cumsum(n_rows):
        rows = slice(begin, end)
        held = (labels.mark, labels.group, item)
        what.append(_hash(b"".join(each[rows].tobytes() for each in held)))
        begin = end
    alone = np.flatnonzero(labels.item >= len(named))
    owner = np.array([int(each[:16], 16) for each in who], dtype=np.uint64)
    item[alone] = _own_numbers(labels.mark[alone] ^ owner[labels.labeler[alone]])
    return Contents(np.array(who), np.array(what), n_rows, item, _lookup(named, data.gold.item))


def _pairs(who: Hashes, what: Hashes) -> Iterator[tuple[str, str]]:
    return zip(who.tolist(), what.tolist(), strict=True)


def _lookup(named: IntArray, code: IntArray) -> IntArray:
    """Return the numbers of named items; 0 for rows that are items of their own."""
    return np.append(named, np.uint64(0))[np.minimum(code, len(named))]


def _own_numbers(mark: IntArray) -> IntArray:
    """Return a number per row; the first, second … of equal rows get different ones."""
    order = np.argsort(mark, kind="stable")
    starts = np.flatnonzero(np.diff(mark[order], prepend=~mark[order[:1]]) != 0)
    sizes = np.diff(np.append(starts, len(mark)))
    number = np.empty_like(mark)
    number[order] = np.arange(len(mark)) - np.repeat(starts, sizes)
    return scramble(scramble(mark, 0) + number, 1)


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
