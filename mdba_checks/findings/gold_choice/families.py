"""Families of items that are nearly equal, found in one pass over a few sorted projections.

Copies with a word or a digit changed lie close together in every direction. Items are sorted along
a few random directions and compared with their next neighbours there, so the work grows with the
number of items and not with its square.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mdba_checks.tables import FloatArray, IntArray

_DIRECTIONS, _NEIGHBOURS = 4, 5
_NEAR = 0.05  # of the usual distance between two items of a group
# More members than this are not copies: features hold few values, or do not tell items apart.
_MOST_MEMBERS = 20


def find_families(features: FloatArray, group: IntArray, cluster: IntArray | None) -> IntArray:
    """Return the family of every item, numbered from zero.

    Parameters
    ----------
    features
        (items, columns): numbers of comparable spread.
    group
        (items,): items of different groups are never of one family.
    cluster
        (items,): families that the user has named; they are kept as they are.

    Examples
    --------
    >>> features = np.array([[0.0, 1.0], [3.0, -1.0], [0.001, 1.0], [-2.0, 5.0]])
    >>> find_families(features, np.zeros(4, dtype=int), None).tolist()
    [0, 1, 0, 2]
    """
    n = len(group)
    if cluster is not None:
        named: IntArray = np.unique(np.stack([group, cluster]), axis=1, return_inverse=True)[1]
        return named.ravel()
    if n < 2 or not features.shape[1]:
        return np.arange(n)
    rng = np.random.default_rng(0)  # which pairs are compared must not depend on the draw's seed
    limit = _NEAR * _usual_distance(features, rng)
    pairs = []
    for direction in rng.standard_normal((_DIRECTIONS, features.shape[1])):
        order = np.lexsort((features @ direction, group))
        for step in range(1, min(_NEIGHBOURS, n - 1) + 1):
            one, other = order[:-step], order[step:]
            near = _distance(features, one, other) <= limit
            near &= group[one] == group[other]
            pairs.append(np.stack([one[near], other[near]]))
    one, other = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(len(one), dtype=bool), (one, other)), shape=(n, n))
    family: IntArray = connected_components(graph, directed=False)[1]
    alone = np.bincount(family)[family] > _MOST_MEMBERS
    family = np.where(alone, n + np.arange(n), family)
    numbered: IntArray = np.unique(family, return_inverse=True)[1]
    return numbered


def _usual_distance(features: FloatArray, rng: np.random.Generator) -> float:
    one, other = rng.integers(len(features), size=(2, 1000))
    return float(np.median(_distance(features, one[one != other], other[one != other])))


def _distance(features: FloatArray, one: IntArray, other: IntArray) -> FloatArray:
    distance: FloatArray = np.sqrt(((features[one] - features[other]) ** 2).sum(axis=1))
    return distance
