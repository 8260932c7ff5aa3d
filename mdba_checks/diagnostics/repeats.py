"""The same item twice: rows that repeat, and gold items that were labeled too.

With an item column this is a matter of counting. Without one, equal features are the only trace,
and they are one only where features are rich enough that two items are hardly ever alike. Whether
they are is seen between people: where rows of different labelers coincide, rows of one labeler may
do so naturally as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from mdba_checks.arrays import BoolArray, FloatArray, IntArray
from mdba_checks.tables import Data
from mdba_checks.tables.hashing import row_fingerprints

# Where at most this share of rows coincides between people, those of one person do not by accident.
_RARE = 0.1
# A single labeler's rows cannot coincide with those of others: then their own have to be distinct.
_MOSTLY_DISTINCT = 0.5


@dataclass(frozen=True)
class Repeats:
    """What stands in the data more than once.

    Attributes
    ----------
    share
        (labelers,): the share of rows that repeat an earlier row of the same labeler.
    by_item
        Whether repeats were found by item; else by features and group.
    comparable
        Whether items can be told apart at all, by their name or by their features.
    gold_by_item
        Gold rows whose item was labeled too.
    gold_alike
        Gold rows that equal a labeled row in features and group without a shared item name.
    gold_comparable
        Whether features are rich enough for `gold_alike` to mean anything.
    """

    share: FloatArray
    by_item: bool
    comparable: bool
    gold_by_item: int
    gold_alike: int
    gold_comparable: bool


def find_repeats(data: Data) -> Repeats:
    """Count repeated rows per labeler, and gold items among the labeled ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from mdba_checks.config import CheckConfig
    >>> from mdba_checks.tables import load
    >>> labels = pd.DataFrame({"item": [1, 2, 2, 3], "labeler": ["ann"] * 3 + ["bob"]})
    >>> labels = labels.assign(group=list("abba"), label=[0, 1, 1, 0], x=[0.1, 0.2, 0.2, 0.3])
    >>> gold = pd.DataFrame({"item": [3, 9], "group": list("ab"), "gold": [0, 1], "x": [0.3, 0.4]})
    >>> found = find_repeats(load(labels, gold, CheckConfig()))
    >>> found.share.round(2).tolist(), found.gold_by_item
    ([0.33, 0.0], 1)
    """
    labels, gold = data.labels, data.gold
    mark, gold_mark = _marks(labels.trees, labels.group), _marks(gold.trees, gold.group)
    marks = _distinct(mark)
    items = _distinct(labels.item)
    named, alike = _among(gold.item, items), _among(gold_mark, marks)
    repeated = _repeated(labels.labeler, labels.item if data.has_items else mark)
    # How many different things there are; more than there are marks means that marks coincide.
    n_things = len(items) if data.has_items else np.count_nonzero(~repeated)
    rich = 1 - len(marks) / n_things <= _RARE
    comparable = data.has_items or (rich and float(alike.mean()) <= _RARE)
    if not data.has_items and len(marks) < _MOSTLY_DISTINCT * len(labels):
        rich = False
    n_labelers = len(data.labelers)
    share = np.bincount(labels.labeler, repeated, minlength=n_labelers) / np.bincount(
        labels.labeler, minlength=n_labelers
    )
    return Repeats(
        share=share if comparable else np.zeros_like(share),
        by_item=data.has_items,
        comparable=comparable,
        gold_by_item=int(named.sum()),
        gold_alike=int((alike & ~named).sum()),
        gold_comparable=rich,
    )


def _marks(features: FloatArray, group: IntArray) -> IntArray:
    """Return one number per row that two rows share when features and group are equal."""
    columns = (features[:, place].astype(np.float64) for place in range(features.shape[1]))
    return row_fingerprints(chain(columns, [group]), len(group))


def _distinct(values: IntArray) -> IntArray:
    """Return the distinct values, sorted; for millions of them faster than `np.unique`."""
    ordered = np.sort(values)
    distinct: IntArray = ordered[np.append(ordered[1:] != ordered[:-1], [True])]
    return distinct


def _among(values: IntArray, ordered: IntArray) -> BoolArray:
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    among: BoolArray = ordered[place] == values
    return among


def _repeated(labeler: IntArray, thing: IntArray) -> BoolArray:
    """Tell which rows are about something that the same labeler has in an earlier row."""
    order = np.lexsort((thing, labeler))  # stable: among equals, the first row stays first
    same = np.zeros(len(order), dtype=bool)
    same[order[1:]] = (np.diff(labeler[order]) == 0) & (thing[order[1:]] == thing[order[:-1]])
    return same
