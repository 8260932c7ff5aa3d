"""The same item twice: rows that repeat, and gold items that were labeled too.

With an item column this is a matter of counting. Without one, equal features are the only trace,
and how much they prove depends on how often different items are alike. That can be seen: by items
with different names, or else by the rows of different labelers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from mdba_checks.tables import (
    BoolArray,
    Data,
    FloatArray,
    IntArray,
    Matrix,
    Remote,
    RemoteMatrix,
    RemoteRows,
    row_fingerprints,
)

# Up to this share of items that have a twin, rows of one labeler with equal features are the same
# item rather than twins.
_RARE = 0.1
_COINCIDENCES = 2  # so many equal rows of a labeler may still be twins
_SLICE_ROWS = 20_000
# Twins among the rows of a single labeler cannot be told from copies: most rows must be distinct.
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
    gold_twins
        How many of these coincidence would explain; infinite where it explains any number.
    """

    share: FloatArray
    by_item: bool
    comparable: bool
    gold_by_item: int
    gold_alike: int
    gold_twins: float


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
    labels, gold, n_labelers = data.labels, data.gold, len(data.labelers)
    mark, gold_mark = (
        feature_marks(labels.trees, labels.group),
        feature_marks(gold.trees, gold.group),
    )
    ordered = np.sort(mark)
    named, alike = _among(gold.item, np.sort(labels.item)), _among(gold_mark, ordered)
    repeated = _repeated(labels.labeler, labels.item if data.has_items else mark)
    if data.has_items:
        order = np.argsort(labels.item, kind="stable")
        twins = _twins(mark[order[_firsts(labels.item[order])]])
    else:
        twins = _twins(mark[~repeated])
    repeats = np.bincount(labels.labeler, repeated, minlength=n_labelers)
    comparable = True
    if not data.has_items:
        comparable = twins <= _RARE and float(alike.mean()) <= _RARE
        repeats[repeats <= _COINCIDENCES] = 0
    distinct = np.count_nonzero(_firsts(ordered)) / len(ordered)
    told_apart = data.has_items or distinct >= _MOSTLY_DISTINCT
    expected = twins * len(gold)
    return Repeats(
        share=comparable * repeats / np.bincount(labels.labeler, minlength=n_labelers),
        by_item=data.has_items,
        comparable=comparable,
        gold_by_item=int(named.sum()),
        gold_alike=int((alike & ~named).sum()),
        gold_twins=expected + 3 * np.sqrt(expected) if told_apart else np.inf,
    )


def feature_marks(features: FloatArray | Matrix, group: IntArray) -> IntArray:
    """Return one number per row that two rows share when features and group are equal."""
    if isinstance(features, RemoteMatrix):
        return _remote_marks(features.remote, group)
    marks = np.empty(len(group), dtype=np.uint64)
    for first in range(0, len(group), _SLICE_ROWS):
        rows = slice(first, first + _SLICE_ROWS)
        columns = features[rows].T.astype(np.float64)
        marks[rows] = row_fingerprints(chain(columns, [group[rows]]), columns.shape[1])
    return marks


def _remote_marks(remote: Remote, group: IntArray) -> IntArray:
    marks = np.empty(len(group), dtype=np.uint64)
    parts = remote.map_parts(_marks_of_part, None, {"group": group})
    marks[remote.by_position] = np.concatenate(parts)
    return marks


def _marks_of_part(_: None, rows: RemoteRows) -> IntArray:
    return feature_marks(rows.trees, rows.sent["group"])


def _firsts(ordered: IntArray) -> BoolArray:
    """Tell where a new value begins."""
    return np.append([True], ordered[1:] != ordered[:-1])


def _twins(marks: IntArray) -> float:
    """Return the share of different things that are equal to another one."""
    starts = np.flatnonzero(_firsts(np.sort(marks)))
    sizes = np.diff(np.append(starts, len(marks)))
    return float(sizes[sizes > 1].sum() / len(marks))


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
