"""Wide vectors in few numbers: directions that stand out from noise, and those that matter.

Embeddings hold their content in directions in which many of their numbers vary together (principal
components). How much numbers without any connection seem to vary together is known (Marchenko and
Pastur), and only directions beyond that are kept. Where more than wanted stand out, those that are
related to the decisions are taken, beside the few largest: what texts differ in most is often not
what is decided about. Where fewer than wanted stand out, single numbers follow that are clearly
related to the decisions: so vectors whose numbers are independent keep what matters, and those that
are nothing but noise are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.components import Distinct

# A number of the vectors that varies less than this, compared with the typical one, hardly varies.
_LEAST_SPREAD = 0.01
# The largest of noise exceeds its limit a little, in samples of any size.
_BEYOND_NOISE = 1.05
# Standard errors. Of 1,000 unrelated numbers, one in sixteen times one seems related.
_RELATED = 4.0
# Directions that are looked at. These many are kept for their size alone: decisions may depend on
# two of them together and on neither alone.
MOST_CANDIDATES = 300
_LARGEST_KEPT = 10


@dataclass(frozen=True)
class Answers:
    """What was decided about the rows of the labels, and the group that each is about."""

    decision: IntArray | FloatArray
    group: IntArray

    def of(self, distinct: Distinct, most: int) -> Answers:
        """Return the mean decision about some different values, NaN where nobody decided.

        Counted once each, as several decisions about one thing are not independent.
        """
        code = distinct.code[0]
        rows = np.flatnonzero(code >= 0)
        code, n = code[rows], len(distinct)
        with np.errstate(invalid="ignore"):
            mean = np.bincount(code, self.decision[rows], minlength=n) / np.bincount(
                code, minlength=n
            )
        group = np.zeros(n, dtype=np.int64)
        group[code[::-1]] = self.group[rows][::-1]
        return Answers(mean[:most], group[:most])

    def take(self, rows: IntArray) -> Answers:
        """Return those of some rows."""
        return Answers(self.decision[rows], self.group[rows])


@dataclass(frozen=True)
class Reduction:
    """Directions in the space of standardised vectors.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 60))
    >>> vectors += rng.normal(size=(1000, 60))
    >>> answers = Answers(rng.integers(2, size=1000), np.zeros(1000, dtype=int))
    >>> Reduction.fitted(vectors, 40, answers).how
    'reduced to 3 components with 69% of the variance'
    """

    centre: FloatArray
    scale: FloatArray
    directions: FloatArray  # (components, numbers)
    n_principal: int  # of these are principal components; the others are single numbers
    variance: float  # their share of the variance

    @classmethod
    def fitted(cls, vectors: FloatArray, n_components: int, answers: Answers) -> Reduction:
        """Learn directions from some vectors, and what was decided about them."""
        centre, spread = vectors.mean(axis=0), vectors.std(axis=0)
        scale = np.maximum(spread, _LEAST_SPREAD * max(float(np.median(spread)), 1e-300))
        standard = (vectors - centre) / scale
        most = min(max(n_components, MOST_CANDIDATES), *vectors.shape)
        with threadpool_limits(limits=1, user_api="blas"):  # more threads sum in another order
            fitted = PCA(most, random_state=0).fit(standard)
        limit = _BEYOND_NOISE * (1 + np.sqrt(vectors.shape[1] / len(vectors))) ** 2
        stand_out = np.flatnonzero(fitted.explained_variance_ > limit)
        directions = fitted.components_[stand_out]
        chosen = choose_components(standard @ directions.T, answers, n_components)
        directions = directions[chosen]
        share = float(fitted.explained_variance_ratio_[stand_out[chosen]].sum())
        n_principal = len(chosen)
        if n_principal < n_components:
            related = _related(standard, directions, answers)[: n_components - n_principal]
            directions = np.concatenate([directions, np.eye(vectors.shape[1])[related]])
        return cls(centre, scale, directions, n_principal, share)

    def __len__(self) -> int:
        """Return how many directions there are."""
        return len(self.directions)

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the components of some vectors, (vectors, components)."""
        with threadpool_limits(limits=1, user_api="blas"):
            found: FloatArray = ((vectors - self.centre) / self.scale) @ self.directions.T
        return found

    @property
    def how(self) -> str:
        """What became of the vectors."""
        single = len(self) - self.n_principal
        parts = [f"{self.n_principal} components with {self.variance:.0%} of the variance"]
        parts = parts if self.n_principal else []
        parts += [f"{single} of the numbers, which decisions depend on"] if single else []
        if not parts:
            return "left out, as they are like noise and decisions do not depend on them"
        return f"reduced to {' and '.join(parts)}"


def choose_components(components: FloatArray, answers: Answers, most: int) -> IntArray:
    """Return which of many components to use, ascending: the largest, and those that matter.

    Parameters
    ----------
    components
        (values, components), the largest first.
    answers
        What was decided about these values.
    most
        How many may be chosen; with no more components than that, all are.

    Examples
    --------
    Of 60 directions, decisions depend on the last one.

    >>> components = np.random.default_rng(0).normal(size=(500, 60))
    >>> answers = Answers((components[:, 59] > 0).astype(int), np.zeros(500, dtype=int))
    >>> choose_components(components, answers, 12)
    array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 59])
    """
    n = components.shape[1]
    if n <= most:
        return np.arange(n)
    size = _relatedness(components, answers)
    order = np.argsort(-size, kind="stable")
    related = order[size[order] > _RELATED]
    related = related[related >= _LARGEST_KEPT][: max(most - _LARGEST_KEPT, 0)]
    others = np.setdiff1d(np.arange(n), related)[: most - len(related)]
    return np.sort(np.concatenate([related, others]))


def _related(standard: FloatArray, directions: FloatArray, answers: Answers) -> IntArray:
    """Return which numbers of the vectors are related to decisions, the closest first.

    What the directions say already is taken out.
    """
    size = _relatedness(standard - (standard @ directions.T) @ directions, answers)
    order = np.argsort(-size, kind="stable")
    return order[size[order] > _RELATED]


def _relatedness(columns: FloatArray, answers: Answers) -> FloatArray:
    """Return how clearly decisions depend on each column, in standard errors.

    Differences between groups are taken out.
    """
    decided = np.flatnonzero(~np.isnan(answers.decision))
    if len(decided) < 3:
        return np.zeros(columns.shape[1])
    rest, decision = columns[decided].astype(float), answers.decision[decided].astype(float)
    for code in np.unique(answers.group[decided]):
        here = answers.group[decided] == code
        rest[here] -= rest[here].mean(axis=0)
        decision[here] -= decision[here].mean()
    length = np.linalg.norm(rest, axis=0) * np.linalg.norm(decision)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.abs(decision @ rest) / length
    return np.where(length > 1e-9, correlation * np.sqrt(len(decided)), 0.0)
