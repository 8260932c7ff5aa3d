"""People follow a rule but sometimes lapse: the lapse logistic regression, for one or for many.

A decision is yes with probability ``(1 - miss) * s + slip * (1 - s)``, where
``s = sigmoid(x @ coef)`` is a rule per group and `miss` and `slip` are how often somebody says no
where the rule says yes, and the reverse. Plain logistic regression is the case without lapses.

Everything is batched over labelers, and over *variants*, which differ in the parts of the data
they may see: fits without each fold in turn are found together, from one pass over the rows. The
groups share strength through the prior ``coef_group ~ centre + shared + own``, which treats all
groups alike, so that renaming or swapping groups changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mdba_checks.tables import FloatArray

LAPSE_RANGE = (1e-4, 0.3)
_MOST_HALVINGS = 4


@dataclass(frozen=True)
class Rules:
    """A batch of rules; the last axis counts variants."""

    coef: FloatArray  # (labelers, groups, columns, variants)
    miss: FloatArray  # (labelers, groups, variants)
    slip: FloatArray  # (labelers, groups, variants)

    def score(self, design: FloatArray) -> FloatArray:
        """Return the rules' logits, (labelers, groups, parts, variants, places)."""
        coef = self.coef.swapaxes(-1, -2)[:, :, None]
        score: FloatArray = np.matmul(coef, design.swapaxes(-1, -2))
        return score

    def repeated(self, times: int) -> Rules:
        """Return a batch of one as a batch of many."""
        arrays = (self.coef, self.miss, self.slip)
        return Rules(*(np.repeat(array, times, axis=0) for array in arrays))


def without_lapses(coef: FloatArray) -> Rules:
    """Return plain logistic rules with these coefficients."""
    none = np.zeros((*coef.shape[:2], coef.shape[3]))
    return Rules(coef, none, none)


def lapsed_logit(score: FloatArray, miss: FloatArray, slip: FloatArray) -> FloatArray:
    """Return the logit of the probability of a yes, lapses included."""
    s = expit(score)
    # Without lapses the bounds keep later logits finite; with them they never bind.
    p = np.clip((1 - miss) * s + slip * (1 - s), 1e-9, 1 - 1e-9)
    logit: FloatArray = np.log(p) - np.log1p(-p)
    return logit


@dataclass(frozen=True)
class Sample:
    """Decisions to learn rules from.

    Attributes
    ----------
    design
        Shape (labelers, groups, parts, places, columns); the first column is the intercept.
    decision, weight
        Shape (labelers, groups, parts, places); weight zero marks padding.
    sees
        Shape (variants, parts): 1.0 where a variant may learn from a part.
    """

    design: FloatArray
    decision: FloatArray
    weight: FloatArray
    sees: FloatArray


def fit_rules(
    sample: Sample,
    start: Rules,
    *,
    towards: FloatArray,
    ridge: float,
    rounds: int,
    steps: int = 3,
    learn_lapses: bool = False,
    one_curvature: bool = False,
) -> Rules:
    """Fit rules by expectation-maximisation with safeguarded Newton steps.

    Parameters
    ----------
    sample
        What to learn from.
    start
        Where to begin.
    towards, ridge
        Centre, shaped as the coefficients, and precision of the prior on them.
    rounds, steps
        How often the curvature is computed, which is the costly part, and how many steps are taken
        with each. The variants share the curvature at their mean.
    learn_lapses
        Whether `miss` and `slip` are estimated or stay as in `start`.
    one_curvature
        Whether all variants go by the curvature of all parts, which costs one inverse instead of
        one per variant. Where each variant lacks little, a few more steps make up for it.
    """
    design, sees = sample.design, sample.sees
    bends = np.ones((1, sees.shape[1])) if one_curvature else sees
    prior = ridge * _group_precision(design.shape[1])
    # Places come last: then the inner loops are long, and what a variant has of its own is constant
    # in them.
    decision, weight = sample.decision[..., None, :], sample.weight[..., None, :]
    seen = weight * sees.T[..., None]  # (labelers, groups, parts, variants, places)
    coef, miss, slip = start.coef, start.miss, start.slip
    at = _Score.of(start.score(design))
    for _ in range(rounds):
        curvature = _curvature(at.score.mean(axis=-2)) * weight[..., 0, :]
        inverse = _inverse_curvature(design, curvature, bends, prior)
        for _ in range(steps):
            yes = _responsibility(at.chance, decision, miss, slip)
            seen_yes = seen * yes
            residual = seen_yes - seen * at.chance
            pull = np.einsum("ab,kbpv->kapv", prior, coef - towards)
            upwards = np.matmul(residual, design).sum(axis=2).swapaxes(-1, -2)
            change = _solve(inverse, upwards - pull)
            step = Rules(change, miss, slip).score(design)
            size, at = _go(at, step, seen, seen_yes, (coef - towards, change, prior))
            coef = coef + size[:, None, None] * change
            if learn_lapses:
                miss, slip = _lapse_rates(seen_yes, decision, seen)
    return Rules(coef, miss, slip)


@dataclass(frozen=True)
class _Score:
    """Scores and what follows from them; kept together because a step needs all three twice."""

    score: FloatArray
    chance: FloatArray  # of a yes
    softplus: FloatArray

    @classmethod
    def of(cls, score: FloatArray) -> _Score:
        # One exponential for both, and only functions that numpy computes several at a time.
        small = np.exp(-np.abs(score))
        below = 1 + small
        softplus = np.log(below)
        softplus += np.maximum(score, 0)
        return cls(score, np.where(score >= 0, 1.0, small) / below, softplus)


def _inverse_curvature(
    design: FloatArray, curvature: FloatArray, sees: FloatArray, prior: FloatArray
) -> FloatArray:
    """Return the inverse Hessian, (labelers, variants, groups × columns, groups × columns)."""
    n_labelers, n_groups, n_parts, _, n_columns = design.shape
    root = np.sqrt(curvature)
    seen = np.zeros((n_labelers, len(sees), n_groups, n_columns, n_columns))
    for part in range(n_parts):  # one at a time, because each is as large as its part of the design
        weighted = design[:, :, part] * root[:, :, part, :, None]
        of_part = np.matmul(weighted.swapaxes(-1, -2), weighted)
        seen += sees[:, part, None, None, None] * of_part[:, None]
    hessian = np.zeros((n_labelers, len(sees), n_groups, n_columns, n_groups, n_columns))
    columns = np.arange(n_columns)
    hessian[:, :, :, columns, :, columns] = prior
    for group in range(n_groups):
        hessian[:, :, group, :, group, :] += seen[:, :, group]
    size = n_groups * n_columns
    inverse: FloatArray = np.linalg.inv(hessian.reshape(n_labelers, len(sees), size, size))
    return inverse


def _solve(inverse: FloatArray, gradient: FloatArray) -> FloatArray:
    n_labelers, n_groups, n_columns, n_variants = gradient.shape
    flat = gradient.transpose(0, 3, 1, 2).reshape(n_labelers, n_variants, -1)
    change: FloatArray
    if inverse.shape[1] == 1:  # of all variants: the inverse is symmetric
        change = np.matmul(flat, inverse[:, 0])
    else:
        change = np.matmul(inverse, flat[..., None])
    return change.reshape(n_labelers, n_variants, n_groups, n_columns).transpose(0, 2, 3, 1)


def _go(
    at: _Score,
    step: FloatArray,
    seen: FloatArray,
    seen_yes: FloatArray,
    prior: tuple[FloatArray, FloatArray, FloatArray],
) -> tuple[FloatArray, _Score]:
    """Go so far, (labelers, variants), that no surrogate likelihood gets worse.

    A full step overshoots where nearly everything is sorted out already; it is halved there.
    """
    moved, change, precision = prior
    rise = _over_rows(seen_yes, step)
    before = _over_rows(seen, at.softplus)
    pulled = np.tensordot(precision, change, axes=(1, 1)).swapaxes(0, 1)
    slope, bend = ((one * pulled).sum(axis=(1, 2)) for one in (moved, change))
    size = np.ones(rise.shape)
    then = _Score.of(at.score + step)
    for _ in range(_MOST_HALVINGS):
        gain = size * rise + before - _over_rows(seen, then.softplus)
        worse = gain < size * slope + size**2 * bend / 2
        if not worse.any():
            break
        size[worse] /= 2
        then = _Score.of(at.score + size[:, None, None, :, None] * step)
    return size, then


def _over_rows(one: FloatArray, other: FloatArray) -> FloatArray:
    total: FloatArray = np.einsum("kafvn,kafvn->kv", one, other)
    return total


def _curvature(score: FloatArray) -> FloatArray:
    chance = expit(score)
    curvature: FloatArray = np.maximum(chance * (1 - chance), 1e-6)
    return curvature


def _responsibility(
    s: FloatArray, decision: FloatArray, miss: FloatArray, slip: FloatArray
) -> FloatArray:
    """Return the probability that the rule said yes, given the decision."""
    if not (miss.any() or slip.any()):
        return np.broadcast_to(decision, s.shape)
    miss, slip = miss[:, :, None, :, None], slip[:, :, None, :, None]
    said_yes = decision > 0
    if_yes = s * np.where(said_yes, 1 - miss, miss)
    if_no = (1 - s) * np.where(said_yes, slip, 1 - slip)
    result: FloatArray = if_yes / np.maximum(if_yes + if_no, 1e-300)
    return result


def _lapse_rates(
    seen_yes: FloatArray, decision: FloatArray, seen: FloatArray
) -> tuple[FloatArray, FloatArray]:
    seen_no = seen - seen_yes
    axes = (2, 4)
    miss = (seen_yes * (1 - decision)).sum(axes) / np.maximum(seen_yes.sum(axes), 1e-9)
    slip = (seen_no * decision).sum(axes) / np.maximum(seen_no.sum(axes), 1e-9)
    return np.clip(miss, *LAPSE_RANGE), np.clip(slip, *LAPSE_RANGE)


def _group_precision(n_groups: int) -> FloatArray:
    """Return the inverse covariance of ``shared + own`` over groups, both of unit variance."""
    precision: FloatArray = np.linalg.inv(np.ones((n_groups, n_groups)) + np.eye(n_groups))
    return precision
