"""Covariate shift: do the items a labeler judged look like the gold items?

What gold shows about right and wrong is carried over to the labelers' items, which is fair as far
as the two are alike. The usual test trains a classifier to tell them apart and looks at its AUC:
0.5 means that it cannot. Here that classifier is linear discriminant analysis, whose AUC has a
closed form, so that 100,000 labelers cost one pass over the rows: with the covariance of the
features, two samples whose means lie D apart are told apart with AUC = Phi(D / sqrt(2)).

Samples always differ somewhat in their means; what chance alone would give is subtracted, and a
p-value says whether the rest could still be chance. Everything is done within groups, because gold
is often drawn evenly from groups of different size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import chi2, norm

from mdba_checks.tables import Data, FloatArray, IntArray, RemoteRows

# Numbers have variance 1, a category that one row in twenty has about 0.05. Below that, a single
# unusual row would make the few items of a labeler look like another population.
_RIDGE = 0.05
# The same for numbers with long tails: beyond these quantiles far is far.
_TAIL = 0.025
# Fewer items than this, on either side, and the p-value is not to be trusted.
_LEAST_ITEMS = 20
# The spread of items does not become better known by more than these.
_SPREAD_ROWS, _SPREAD_LABELERS = 20_000, 1_000
_SLICE_ROWS = 20_000


@dataclass(frozen=True)
class Shift:
    """How well items are told apart from the gold items of their group; NaN with too few items.

    Attributes
    ----------
    auc, p_value
        (labelers, groups): each labeler's items against gold.
    auc_of_all, p_value_of_all
        (groups,): everybody's items against gold.
    features
        The columns that were compared.
    most, most_of_all
        Shaped as the AUC: which of `features` the difference is mostly in.
    """

    auc: FloatArray
    p_value: FloatArray
    auc_of_all: FloatArray
    p_value_of_all: FloatArray
    features: tuple[str, ...]
    most: IntArray
    most_of_all: IntArray


def measure_shift(data: Data) -> Shift:
    """Compare the items of every labeler with the gold items of the same group.

    Examples
    --------
    >>> import pandas as pd
    >>> from mdba_checks.config import CheckConfig
    >>> from mdba_checks.tables import load
    >>> rng = np.random.default_rng(0)
    >>> labels = pd.DataFrame({"group": ["a", "b"] * 500, "label": [0, 0, 1, 1] * 250})
    >>> labels["labeler"] = ["ann"] * 500 + ["bob"] * 500
    >>> labels["x"] = rng.normal(size=1000) + 2 * (labels["labeler"] == "bob")
    >>> gold = pd.DataFrame({"group": ["a", "b"] * 200, "gold": [0, 0, 1, 1] * 100})
    >>> gold["x"] = rng.normal(size=400)
    >>> measure_shift(load(labels, gold, CheckConfig())).auc.round(1)
    array([[0.5, 0.5],
           [0.9, 0.9]])
    """
    labels, gold = data.labels, data.gold
    n_groups = len(data.groups)
    seen = shift_rows(data)
    scale = _Scale.of(np.concatenate([labels.linear[seen], gold.linear]))
    gold_features = scale(gold.linear)
    gold_mean, gold_size = _means(gold_features, gold.group, gold.weight, n_groups)
    sample, sample_group = scale(labels.linear[seen]), labels.group[seen]
    sample_cell = labels.labeler[seen].astype(np.int64) * n_groups + sample_group
    gold_spread = _covariance(gold_features, gold.group, gold.weight)
    features = tuple(dict.fromkeys(data.encoding.feature))
    feature = np.array([features.index(name) for name in data.encoding.feature], dtype=np.int64)
    metric, metric_of_all = (
        _Metric.between(_covariance(sample, cell, np.ones(len(sample))), gold_spread, feature)
        for cell in (sample_cell, sample_group)
    )
    shape = len(data.labelers), n_groups
    auc, p_value = np.full(shape, np.nan), np.full(shape, np.nan)
    most = np.zeros(shape, dtype=np.int64)
    total, count = np.zeros_like(gold_mean), np.zeros(n_groups)
    sums = _sums_elsewhere if data.remote is not None else _sums_here
    for first, last, summed, size in sums(data, scale):
        here = slice(first, last)
        auc[here], p_value[here], most[here] = metric.compare(summed, size, gold_mean, gold_size)
        total += summed.sum(axis=0)
        count += size.sum(axis=0)
    of_all = metric_of_all.compare(total[None], count[None], gold_mean, gold_size)
    return Shift(
        auc=auc,
        p_value=p_value,
        auc_of_all=of_all[0][0],
        p_value_of_all=of_all[1][0],
        features=features,
        most=most,
        most_of_all=of_all[2][0],
    )


_Sums: TypeAlias = Iterator[tuple[int, int, FloatArray, FloatArray]]


def _sums_here(data: Data, scale: _Scale) -> _Sums:
    """Yield ranges of labelers with the sums of their features and their rows, in every group."""
    labels, n_groups = data.labels, len(data.groups)
    for rows in _whole_labelers(labels.labeler, len(data.labelers)):
        first, last = int(labels.labeler[rows.start]), int(labels.labeler[rows.stop - 1]) + 1
        cell = (labels.labeler[rows] - first).astype(np.int64) * n_groups + labels.group[rows]
        n_cells = (last - first) * n_groups
        features = scale(labels.linear[rows])
        summed = _sums(features, cell, np.ones(len(cell)), n_cells)
        size = np.bincount(cell, minlength=n_cells).reshape(-1, n_groups).astype(float)
        yield first, last, summed.reshape(last - first, n_groups, features.shape[1]), size


def _sums_elsewhere(data: Data, scale: _Scale) -> _Sums:
    """Yield the sums of all labelers, added up over the parts of the table."""
    labels, shape = data.labels, (len(data.labelers), len(data.groups))
    if data.remote is None:
        return
    cell = labels.labeler.astype(np.int64) * shape[1] + labels.group
    n_cells = shape[0] * shape[1]
    summed = np.zeros((n_cells, labels.linear.shape[1]))
    for cells, sums in data.remote.map_parts(_sums_of_part, scale, {"cell": cell}):
        summed[cells] += sums
    size = np.bincount(cell, minlength=n_cells).reshape(shape).astype(float)
    yield 0, shape[0], summed.reshape(*shape, -1), size


def _sums_of_part(scale: _Scale, rows: RemoteRows) -> tuple[IntArray, FloatArray]:
    cells, place = np.unique(rows.sent["cell"], return_inverse=True)
    total = np.zeros((len(cells), rows.linear.shape[1]))
    for begin in range(0, len(rows), _SLICE_ROWS):
        here = slice(begin, begin + _SLICE_ROWS)
        features = scale(rows.linear[here])
        total += _sums(features, place[here], np.ones(len(features)), len(cells))
    return cells, total


@dataclass(frozen=True)
class _Scale:
    """Features without long tails, of comparable spread."""

    low: FloatArray
    high: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, sample: FloatArray) -> _Scale:
        binary = ((sample == 0) | (sample == 1)).all(axis=0)
        low, high = np.quantile(sample, [_TAIL, 1 - _TAIL], axis=0)
        spread = np.clip(sample, low, high).std(axis=0)
        # What varies in the tails alone says nothing about most items; its spread is rounding.
        factor = np.where(spread > 1e-6, 1 / np.maximum(spread, 1e-6), 0.0)
        return cls(
            np.where(binary, 0.0, low), np.where(binary, 1.0, high), np.where(binary, 1.0, factor)
        )

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return the features on this scale."""
        scaled: FloatArray = np.clip(features, self.low, self.high)
        scaled *= self.factor
        return scaled


@dataclass(frozen=True)
class _Metric:
    """Distances between means, in units of the spread of single items."""

    root: FloatArray  # its square is the (regularised) inverse of the covariance
    weights: FloatArray  # of the chi-square variables that make up a distance under chance
    feature: IntArray  # which feature each column was made of

    @classmethod
    def between(cls, one: FloatArray, other: FloatArray, feature: IntArray) -> _Metric:
        """Measure in the mean of two covariances, as discriminant analysis does."""
        values, vectors = np.linalg.eigh((one + other) / 2)
        values = np.maximum(values, 0.0)
        return cls(vectors / np.sqrt(values + _RIDGE), values / (values + _RIDGE), feature)

    def compare(
        self, total: FloatArray, size: FloatArray, gold_mean: FloatArray, gold_size: FloatArray
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return AUC, p-value and the feature that differs most, for sums over `size` items.

        `total` is (…, groups, columns).
        """
        enough = (size >= _LEAST_ITEMS) & (gold_size >= _LEAST_ITEMS)
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = total / size[..., None] - gold_mean
            difference = apart @ self.root
            distance = np.where(enough, (difference**2).sum(axis=-1), np.nan)
            chance = 1 / size + 1 / gold_size
            mean, square = self.weights.sum(), (self.weights**2).sum()
            auc = norm.cdf(np.sqrt(np.maximum(distance - mean * chance, 0.0) / 2))
            # A weighted sum of chi-squares, by a single one with the same mean and variance.
            p_value = chi2.sf(distance / chance * mean / square, mean**2 / square)
        # The distance is the sum of what the columns add to it.
        added = np.nan_to_num(apart * (difference @ self.root.T))
        columns = np.arange(len(self.feature))
        n_features = int(self.feature.max(initial=0)) + 1
        of_feature = csr_array((np.ones(len(columns)), (columns, self.feature)))
        of_feature.resize((len(columns), n_features))
        most = (added.reshape(-1, len(columns)) @ of_feature).argmax(axis=1).reshape(size.shape)
        return auc, np.where(enough & (square == 0), 1.0, p_value), most


def shift_rows(data: Data) -> IntArray:
    """Return rows to learn the spread of items from: not too many, but enough of each labeler."""
    labeler = data.labels.labeler
    labelers = -(-(int(labeler[-1]) + 1) // _SPREAD_LABELERS)
    rows = np.flatnonzero(labeler % labelers == 0)
    return rows[:: -(-len(rows) // _SPREAD_ROWS)]


def _covariance(features: FloatArray, cell: IntArray, weight: FloatArray) -> FloatArray:
    """Return the covariance within cells; where cells hold a row or two each, that of all rows."""
    _, cell = np.unique(cell, return_inverse=True)
    if cell.max() + 1 > len(cell) / 2:
        cell = np.zeros_like(cell)
    mean, size = _means(features, cell, weight, int(cell.max()) + 1)
    centred = features - mean[cell]
    # Each cell's own mean takes one of its rows.
    freedom = np.maximum(1 - len(size) / max(size.sum(), 1.0), 0.5)
    covariance: FloatArray = (centred.T * weight) @ centred / weight.sum() / freedom
    return covariance


def _means(
    features: FloatArray, group: IntArray, weight: FloatArray, n_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Return weighted means per group, and how many even rows would say as much; 0 for none."""
    mass = np.bincount(group, weight, minlength=n_groups)
    squares = np.bincount(group, weight**2, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _sums(features, group, weight, n_groups) / mass[:, None]
        size = np.where(squares > 0, mass**2 / squares, 0.0)
    return mean, size


def _sums(features: FloatArray, cell: IntArray, weight: FloatArray, n_cells: int) -> FloatArray:
    rows = np.arange(len(cell))
    sums: FloatArray = csr_array((weight, (cell, rows)), (n_cells, len(cell))) @ features
    return sums


def _whole_labelers(labeler: IntArray, n_labelers: int) -> Iterator[slice]:
    """Yield ranges of rows that hold whole labelers, to bound the memory that means take."""
    ends = np.cumsum(np.bincount(labeler, minlength=n_labelers))
    begin = 0
    while begin < len(labeler):
        place = int(np.searchsorted(ends, begin + _SLICE_ROWS, side="right"))
        end = int(ends[place - 1]) if place and ends[place - 1] > begin else int(ends[place])
        yield slice(begin, end)
        begin = end
