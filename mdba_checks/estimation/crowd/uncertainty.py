"""How well the crowd itself is known: what errors of the learned prior do to statements about it.

What is said about single people leans on the prior, and so does what is said about all of them:
with few labels each, how much people differ is known far less well than a sum over independent
people suggests. The prior is a maximum of a likelihood, so its errors follow from the curvature
there. By Louis' identity that is the curvature if everybody's effects were known, less the part
that is not known: the spread of the complete-data score over each labeler's posterior.

Learning stops after so many rounds, and starts with a few people made up in advance. How far a
further step, by the labels alone, would move a statistic is said, too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mdba_checks.estimation.crowd.effects import (
    N_SIDES,
    PER_SIDE,
    PSEUDO_PEOPLE,
    PSEUDO_SHARES,
    SIZE,
    Nodes,
    Prior,
)
from mdba_checks.tables import FloatArray, IntArray

GRID: FloatArray = np.linspace(-1.0, 1.0, 81)  # where the distribution of gaps is looked at
_MOST_MISSING = 0.97  # of what could be known: beyond it, curvatures are rounding
_MOST_PEOPLE = 5_000  # more hardly change the curvature


class CrowdUncertainty:
    """Adds up what is needed to say how well statistics of a crowd are known.

    The statistics are the means of gaps and of their squares, every labeler counting once, and the
    shares of labelers, and of labels, with a gap up to every point of `GRID`.
    """

    def __init__(self, prior: Prior) -> None:
        self.prior = prior
        self.precision = np.linalg.inv(prior.cov)
        self.shapes = [_shapes(alike=c == 0) for c in range(len(prior.share))]
        sizes = [SIZE + len(each) for each in self.shapes]
        ends = np.cumsum([len(prior.share) - 1, *sizes])
        self.blocks = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        n = int(ends[-1])
        self.second, self.outer = np.zeros((n, n)), np.zeros((n, n))
        self.kinds = np.zeros(len(prior.share))
        self.moved = np.zeros((2 + 2 * len(GRID), n))
        self.score = np.zeros(n)
        self.people = self.labels = 0.0

    def add(self, nodes: Nodes, gap: FloatArray, n_labels: IntArray) -> None:
        """Count some labelers; `gap` is (labelers, components, nodes)."""
        if self.people >= _MOST_PEOPLE:
            return
        seen = n_labels > 0
        weight, gap, labels = nodes.weight[seen], gap[seen], n_labels[seen].astype(float)
        self.people += len(labels)
        self.labels += labels.sum()
        chance = weight.sum(axis=2)
        self.kinds += chance.sum(axis=0)
        mean = np.zeros((len(labels), len(self.second)))
        n_shares = len(self.prior.share) - 1
        shares = slice(0, n_shares)
        mean[:, shares] = chance[:, 1:] - self.prior.share[1:]
        place = np.clip(np.searchsorted(GRID, gap), 0, len(GRID) - 1)
        below = np.zeros((len(labels), len(GRID)))
        rows = np.arange(len(labels))[:, None] * len(GRID)
        for c, block in enumerate(self.blocks):
            score = self._score(nodes.effects[seen, c], c)
            own = weight[:, c]
            mean[:, block] = np.einsum("kn,knp->kp", own, score)
            weighted = score * own[..., None]
            self.second[block, block] += np.einsum("knp,knq->pq", weighted, score, optimize=True)
            indicator = (np.arange(1, n_shares + 1) == c) - self.prior.share[1:]
            self.second[shares, shares] += chance[:, c].sum() * np.outer(indicator, indicator)
            crossed = np.outer(indicator, mean[:, block].sum(axis=0))
            self.second[shares, block] += crossed
            self.second[block, shares] += crossed.T
            below += np.bincount((rows + place[:, c]).ravel(), own.ravel(), below.size).reshape(
                below.shape
            )
            self._add_moved(c, own, gap[:, c], place[:, c], (weighted, labels))
        self.outer += mean.T @ mean
        self.score += mean.sum(axis=0)
        below = np.cumsum(below, axis=1)
        first, square = ((weight * gap**power).sum(axis=(1, 2)) for power in (1, 2))
        expected = np.column_stack([first, square, below, below * labels[:, None]])
        self.moved -= expected.T @ mean

    def _score(self, effects: FloatArray, c: int) -> FloatArray:
        """Return the score of one component's mean and covariance, (labelers, nodes, numbers)."""
        away = (effects - self.prior.mean[c]) @ self.precision[c]
        expected = np.einsum("pst,ts->p", self.shapes[c], self.precision[c])
        bent = np.einsum("kns,pst,knt->knp", away, self.shapes[c], away, optimize=True)
        return np.concatenate([away, 0.5 * (bent - expected)], axis=2)

    def _add_moved(
        self,
        c: int,
        own: FloatArray,
        gap: FloatArray,
        place: IntArray,
        rest: tuple[FloatArray, FloatArray],
    ) -> None:
        """Add the products of the statistics with the score of one component's nodes."""
        weighted, labels = rest
        n_shares, size = len(self.prior.share) - 1, len(GRID)
        indicator = (np.arange(1, n_shares + 1) == c) - self.prior.share[1:]
        by_shares = own[..., None] * indicator
        for columns, score in ((slice(0, n_shares), by_shares), (self.blocks[c], weighted)):
            self.moved[0, columns] += np.einsum("kn,knp->p", gap, score)
            self.moved[1, columns] += np.einsum("kn,knp->p", gap**2, score)
            for number in range(score.shape[2]):
                for begin, times in ((2, 1.0), (2 + size, labels[:, None])):
                    values = (score[..., number] * times).ravel()
                    up_to = np.cumsum(np.bincount(place.ravel(), values, size))
                    self.moved[begin : begin + size, columns.start + number] += up_to

    def errors(self, n_learned: int) -> tuple[FloatArray, FloatArray]:
        """Return the covariance of the statistics that comes from errors of the prior, and a step.

        The step is how far further learning by the labels alone would move them. `n_learned` is the
        number of people the prior was learned from.
        """
        if not self.people:
            return np.zeros((len(self.moved),) * 2), np.zeros(len(self.moved))
        more = n_learned / self.people
        complete = self._complete(more * self.kinds)
        missing = more * (self.second - self.outer)
        root = np.linalg.inv(np.linalg.cholesky(complete))
        share, directions = np.linalg.eigh(root @ missing @ root.T)
        known = 1 - np.clip(share, 0.0, _MOST_MISSING)
        each = (self.moved @ root.T @ directions) / np.sqrt(known)
        scale = np.full(len(each), 1 / self.people)
        scale[2 + len(GRID) :] = 1 / self.labels
        each *= scale[:, None]
        step = each @ (directions.T @ (root @ (more * self.score)) / np.sqrt(known))
        return each @ each.T, step

    def _complete(self, kinds: FloatArray) -> FloatArray:
        """Return the curvature if the effects of everybody were known."""
        complete = np.zeros(self.second.shape)
        n_shares = len(self.prior.share) - 1
        share = self.prior.share[1:]
        total = kinds.sum() + sum(PSEUDO_SHARES)
        complete[:n_shares, :n_shares] = total * (np.diag(share) - np.outer(share, share))
        for c, block in enumerate(self.blocks):
            precision, shapes = self.precision[c], self.shapes[c]
            turned = np.einsum("st,ptu->psu", precision, shapes)
            own = np.zeros((SIZE + len(shapes),) * 2)
            own[:SIZE, :SIZE] = precision
            own[SIZE:, SIZE:] = 0.5 * np.einsum("pst,qts->pq", turned, turned)
            complete[block, block] = (kinds[c] + PSEUDO_PEOPLE) * own
        return complete


def _shapes(*, alike: bool) -> FloatArray:
    """Return the directions in which a covariance may move, (directions, effects, effects).

    That of people who treat both sides alike stays the same when the sides are swapped.
    """
    shapes = []
    for i in range(SIZE):
        for j in range(i, SIZE):
            shape = np.zeros((SIZE, SIZE))
            shape[i, j] = shape[j, i] = 1.0
            shapes.append(shape)
    if not alike:
        return np.stack(shapes)
    swap = np.kron(np.eye(N_SIDES)[::-1], np.eye(PER_SIDE))
    both = np.stack([shape + swap @ shape @ swap for shape in shapes])
    _, first = np.unique(both.reshape(len(both), -1), axis=0, return_index=True)
    return both[np.sort(first)]
