"""How people differ from the average labeler: random effects with a prior learned from the crowd.

A contrast has two sides: 0, the group, and 1, the reference. For labeler k and an item of side a::

    logit P(yes) = score + right_ka * g + wrong_ka * (1 - g)

`score` is the average labeler's logit, a combination of consensus scores; `right` and `wrong` say
how much more readily k says yes where yes is right and where it is not. Rates depend on k through
them: with `right` fitted freely the mean of ``g (decision - f)`` over k's rows is zero, and that
is the correction which the doubly robust formula would add.

The prior over the four effects is a mixture of three normals: people who treat both sides alike,
people who are harder on side 0, and people who are harder on side 1. It is learned by
expectation-maximisation. Integrals are sums over quasi-random nodes, placed by the mode and the
curvature of a labeler's posterior and weighted by its exact density.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import norm, qmc

from mdba_checks.tables import FloatArray, IntArray

N_SIDES = 2
PER_SIDE = 2  # right, wrong
SIZE = N_SIDES * PER_SIDE

_CELLS = 250_000  # rows × nodes at once: 2 MB, which stays near the caches
_LEARN_NODES, _NODES = 32, 64
_FACTORS = 512  # numbers between 1 and 2 whose product is finite
_ROUNDS = 30
_NEAR_STEPS, _FAR_STEPS = 2, 8  # Newton steps from the last mode, and from the prior's mean
_FAR = 6.0  # logits: nobody is surer than that of what others will say, because people lapse
_RIDGE = 1.0  # on the weights of the scores: decisions may be sorted out by them completely
# Before any evidence: as if so many people of each kind had been seen. What they are like matters
# in small crowds only; people who treat both sides alike differ between sides by 0.3 logits.
PSEUDO_PEOPLE = 6.0
PSEUDO_SHARES = (8.0, 1.0, 1.0)
_SIDES_ALIKE, _SIDES_APART = ((1.0, 0.9), (0.9, 1.0)), ((1.0, 0.2), (0.2, 1.0))
_USUAL = np.kron(_SIDES_ALIKE, ((0.4, 0.2), (0.2, 0.4)))
_UNUSUAL = np.kron(_SIDES_APART, ((1.5, 0.3), (0.3, 1.5)))
_HARDER = 1.5


@dataclass(frozen=True)
class Rows:
    """Label rows of one contrast, sorted by labeler; labelers are numbered from zero.

    Some of the numbers may have no rows.
    """

    labeler: IntArray
    side: IntArray
    group: IntArray
    decision: IntArray
    scores: FloatArray  # (rows, scores): consensus scores, out of fold
    g: FloatArray
    n_labelers: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.labeler)

    def blocks(self, most_rows: int) -> Iterator[tuple[slice, slice]]:
        """Yield the rows and the numbers of some labelers at a time, all rows of each."""
        ends = np.searchsorted(self.labeler, np.arange(1, self.n_labelers + 1))
        first = begin = 0
        while first < self.n_labelers:
            last = int(np.searchsorted(ends, begin + most_rows, side="right"))
            last = min(max(last, first + 1), first + most_rows)
            yield slice(begin, int(ends[last - 1])), slice(first, last)
            first, begin = last, int(ends[last - 1])

    def part(self, rows: slice, labelers: slice) -> Rows:
        """Return what a block holds, with its labelers numbered from zero."""
        return Rows(
            labeler=self.labeler[rows] - labelers.start,
            side=self.side[rows],
            group=self.group[rows],
            decision=self.decision[rows],
            scores=self.scores[rows],
            g=self.g[rows],
            n_labelers=labelers.stop - labelers.start,
        )


@dataclass(frozen=True)
class Prior:
    """A mixture of normals over the effects (right, wrong) on side 0 and on side 1."""

    share: FloatArray  # (components,)
    mean: FloatArray  # (components, effects)
    cov: FloatArray  # (components, effects, effects)


@dataclass(frozen=True)
class Response:
    """How the average labeler decides, and how people are spread around it."""

    weights: FloatArray  # (groups, 1 + scores)
    prior: Prior

    def score(self, scores: FloatArray, group: IntArray) -> FloatArray:
        """Return the average labeler's logit; `scores` may have leading axes."""
        own = self.weights[group]
        score: FloatArray = own[:, 0] + np.einsum("...np,np->...n", scores, own[:, 1:])
        return score.clip(-_FAR, _FAR)


@dataclass(frozen=True)
class Nodes:
    """What is known about the effects of every labeler: weighted points."""

    effects: FloatArray  # (labelers, components, nodes, effects)
    weight: FloatArray  # (labelers, components, nodes), adding up to one per labeler
    log_evidence: FloatArray  # (labelers,)


def learn(rows: Rows, n_groups: int, *, rounds: int = _ROUNDS) -> Response:
    """Learn from a crowd how people respond."""
    design = np.column_stack([np.ones(len(rows)), rows.scores])
    weights = _without_people(design, rows, n_groups)
    prior = first = _first_prior()
    z = _normal_nodes(_LEARN_NODES)
    modes = None
    for _ in range(rounds):
        linear = np.einsum("np,np->n", design, weights[rows.group])
        base = np.clip(linear, -_FAR, _FAR)
        modes, inverse = _modes(rows, base, prior, modes)
        nodes = _integrate(rows, base, prior, modes, inverse, z)
        chance, curvature = _expected(rows, base, nodes)
        prior = _maximised(nodes, first)
        moves = np.abs(linear) < _FAR  # beyond it, weights change nothing
        step = moves * (rows.decision - chance), moves * curvature
        weights = weights + _newton(design, rows.group, *step, weights)
    return Response(weights, prior)


def posterior(
    rows: Rows, response: Response, prior: Prior | None = None, *, n_nodes: int = _NODES
) -> Nodes:
    """Return what is known about the labelers in `rows`; by another prior if one is given."""
    prior = prior or response.prior
    base = response.score(rows.scores, rows.group)
    modes, inverse = _modes(rows, base, prior, None)
    return _integrate(rows, base, prior, modes, inverse, _normal_nodes(n_nodes))


def vague() -> Prior:
    """Return a prior that leaves the word to the labeler's own decisions.

    Both sides are independent, and a standard deviation of 2.4 logits is nearly flat over all
    rates that a person can have; it keeps people finite who always decide the same.
    """
    return Prior(
        np.ones(1), np.zeros((1, SIZE)), np.kron(np.eye(2), ((6.0, 2.0), (2.0, 6.0)))[None]
    )


def _first_prior() -> Prior:
    share = np.array(PSEUDO_SHARES) / sum(PSEUDO_SHARES)
    mean = -_HARDER * np.array([[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]])
    return Prior(share, mean, np.stack([_USUAL, _UNUSUAL, _UNUSUAL]))


def _normal_nodes(n: int) -> FloatArray:
    """Return points spread like a normal, with their mirror images, (nodes, effects)."""
    uniform = qmc.Sobol(SIZE, seed=np.random.default_rng(7)).random(n // 2)
    half = norm.ppf(np.clip(uniform, 1e-6, 1 - 1e-6))
    z = np.concatenate([half, -half])
    root = np.linalg.cholesky(z.T @ z / len(z))
    nodes: FloatArray = np.linalg.solve(root, z.T).T  # exactly unit covariance
    return nodes


def _without_people(design: FloatArray, rows: Rows, n_groups: int) -> FloatArray:
    weights = np.zeros((n_groups, design.shape[1]))
    for _ in range(6):
        p = expit(np.einsum("np,np->n", design, weights[rows.group]))
        step = _newton(design, rows.group, rows.decision - p, p * (1 - p), weights)
        weights = weights + step
    return weights


def _newton(
    design: FloatArray,
    group: IntArray,
    residual: FloatArray,
    curvature: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """Return one bounded Newton step of every group's weights."""
    step = np.zeros(weights.shape)
    for code in range(len(weights)):
        rows = group == code
        if rows.any():
            x = design[rows]
            hessian = (x * curvature[rows][:, None]).T @ x
            hessian += _RIDGE * np.eye(len(hessian))
            up = x.T @ residual[rows] - _RIDGE * weights[code]
            step[code] = np.clip(np.linalg.solve(hessian, up), -2, 2)
    return step


def _modes(
    rows: Rows, base: FloatArray, prior: Prior, start: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the mode under every component, (labelers, components, effects), and its covariance.

    The posterior is log-concave; steps are bounded, and far fewer are needed from a near start.
    """
    cell = rows.labeler.astype(np.int64) * N_SIDES + rows.side
    n_cells = rows.n_labelers * N_SIDES
    z = np.stack([rows.g, 1 - rows.g])
    products = {(i, j): z[i] * z[j] for i in range(PER_SIDE) for j in range(i, PER_SIDE)}
    precision = np.linalg.inv(prior.cov)
    steps = _FAR_STEPS if start is None else _NEAR_STEPS
    if start is None:
        start = np.broadcast_to(prior.mean, (rows.n_labelers, *prior.mean.shape))
    modes, inverse = start.copy(), np.empty((*start.shape, SIZE))
    for c in range(len(prior.share)):
        mode = modes[:, c]
        for step in range(steps + 1):
            own = mode.reshape(n_cells, PER_SIDE)[cell]
            p = expit(base + own[:, 0] * z[0] + own[:, 1] * z[1])
            bend = p * (1 - p)
            hessian = np.broadcast_to(precision[c], (rows.n_labelers, SIZE, SIZE)).copy()
            for (i, j), product in products.items():
                total = np.bincount(cell, bend * product, n_cells).reshape(-1, N_SIDES)
                for side in range(N_SIDES):
                    a, b = side * PER_SIDE + i, side * PER_SIDE + j
                    hessian[:, a, b] += total[:, side]
                    if a != b:
                        hessian[:, b, a] += total[:, side]
            if step == steps:
                break
            residual = rows.decision - p
            up = np.stack([np.bincount(cell, residual * each, n_cells) for each in z], axis=-1)
            gradient = up.reshape(-1, SIZE) - (mode - prior.mean[c]) @ precision[c]
            mode = mode + np.clip(np.linalg.solve(hessian, gradient[..., None])[..., 0], -2, 2)
        modes[:, c], inverse[:, c] = mode, np.linalg.inv(hessian)
    return modes, inverse


def _integrate(
    rows: Rows,
    base: FloatArray,
    prior: Prior,
    modes: FloatArray,
    inverse: FloatArray,
    z: FloatArray,
) -> Nodes:
    """Return the nodes with their weights."""
    root = np.linalg.cholesky(inverse)
    effects = modes[:, :, None] + np.einsum("kcst,nt->kcns", root, z)
    away = effects - prior.mean[:, None]
    precision = np.linalg.inv(prior.cov)
    log = -0.5 * np.einsum("kcns,cst,kcnt->kcn", away, precision, away, optimize=True)
    log += (np.log(prior.share) - 0.5 * np.log(np.linalg.det(prior.cov)))[:, None]
    # Nodes stand for equal parts of their normal: its density is divided out.
    log += 0.5 * (z**2).sum(axis=1) + np.log(np.linalg.det(root))[..., None] - np.log(len(z))
    by_cell = _by_cell(effects)
    log = log.reshape(rows.n_labelers, -1)
    weight = np.empty(log.shape)
    evidence = np.empty(rows.n_labelers)
    for own, labelers in rows.blocks(max(1, _CELLS // log.shape[1])):
        who = rows.labeler[own]
        logit = _logits(rows, base, by_cell, own)
        np.negative(logit, out=logit, where=(rows.decision[own] <= 0)[:, None])
        total = log[labelers]
        if len(who):
            # Of p = exp(min(x, 0)) / (1 + exp(-|x|)), sums and products are taken before the
            # logarithm, which costs more than all the rest; products of so many are finite.
            first = _stretches(who, _FACTORS)
            likelihood = np.add.reduceat(np.minimum(logit, 0), first)
            np.exp(np.negative(np.abs(logit, out=logit), out=logit), out=logit)
            logit += 1
            likelihood -= np.log(np.multiply.reduceat(logit, first))
            starts = np.flatnonzero(np.diff(who[first], prepend=-1))
            total[who[first][starts] - labelers.start] += np.add.reduceat(likelihood, starts)
        top = total.max(axis=1, keepdims=True)
        part = np.exp(total - top)
        whole = part.sum(axis=1, keepdims=True)
        weight[labelers] = part / whole
        evidence[labelers] = (np.log(whole) + top)[:, 0]
    return Nodes(effects, weight.reshape(effects.shape[:3]), evidence)


def _expected(rows: Rows, base: FloatArray, nodes: Nodes) -> tuple[FloatArray, FloatArray]:
    """Return per row the posterior mean of the chance of a yes, and of its curvature."""
    by_cell = _by_cell(nodes.effects)
    weight = nodes.weight.reshape(rows.n_labelers, -1)
    chance, curvature = np.empty(len(rows)), np.empty(len(rows))
    for own, _ in rows.blocks(max(1, _CELLS // weight.shape[1])):
        p = _logits(rows, base, by_cell, own)
        expit(p, out=p)
        own_weight = weight[rows.labeler[own]]
        chance[own] = np.einsum("rn,rn->r", p, own_weight)
        curvature[own] = chance[own] - np.einsum("rn,rn,rn->r", p, p, own_weight)
    return chance, curvature


def _by_cell(effects: FloatArray) -> FloatArray:
    """Return effects of (labelers, components, nodes, effects) as (2, labelers × sides, nodes)."""
    shape = len(effects), -1, N_SIDES, PER_SIDE
    by_cell: FloatArray = effects.reshape(shape).transpose(3, 0, 2, 1)
    return np.ascontiguousarray(by_cell).reshape(PER_SIDE, len(effects) * N_SIDES, -1)


def _logits(rows: Rows, base: FloatArray, by_cell: FloatArray, own: slice) -> FloatArray:
    """Return the logit of a yes of some rows at every node, (rows, nodes)."""
    cell = rows.labeler[own] * N_SIDES + rows.side[own]
    g = rows.g[own][:, None]
    logit: FloatArray = by_cell[0].take(cell, axis=0)
    logit *= g
    wrong = by_cell[1].take(cell, axis=0)
    wrong *= 1 - g
    logit += wrong
    logit += base[own][:, None]
    return logit


def _stretches(who: IntArray, most: int) -> IntArray:
    """Return where stretches of at most so many rows of one labeler begin."""
    first = np.flatnonzero(np.diff(who, prepend=-1))
    inside = np.arange(len(who)) - np.repeat(first, np.diff(np.append(first, len(who))))
    return np.flatnonzero(inside % most == 0)


def _maximised(nodes: Nodes, first: Prior) -> Prior:
    """Return the prior that fits what is known best, held near the first one by a few people."""
    people = nodes.weight.sum(axis=(0, 2))
    total = people + PSEUDO_PEOPLE
    seen = np.einsum("kcn,kcns->cs", nodes.weight, nodes.effects)
    mean = (seen + PSEUDO_PEOPLE * first.mean) / total[:, None]
    away = nodes.effects - mean[:, None]
    second = np.einsum("kcn,kcns,kcnt->cst", nodes.weight, away, away, optimize=True)
    moved = first.mean - mean
    cov = second + PSEUDO_PEOPLE * (first.cov + moved[:, :, None] * moved[:, None, :])
    cov /= total[:, None, None]
    cov[0] = _alike(cov[0])
    shares = people + np.array(PSEUDO_SHARES)
    return Prior(shares / shares.sum(), mean, cov)


def _alike(cov: FloatArray) -> FloatArray:
    """Return the nearest covariance in which swapping the sides changes nothing."""
    blocks = cov.reshape(N_SIDES, PER_SIDE, N_SIDES, PER_SIDE)
    within = (blocks[0, :, 0] + blocks[1, :, 1]) / 2
    across = (blocks[0, :, 1] + blocks[1, :, 0]) / 2
    across = (across + across.T) / 2
    return np.block([[within, across], [across, within]])
