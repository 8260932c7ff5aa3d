"""Wide vectors in few numbers: directions that stand out from noise, and numbers that matter.

Embeddings hold their content in directions in which many of their numbers vary together (principal
components). How much numbers without any connection seem to vary together is known (Marchenko and
Pastur), and only directions beyond that are kept. Where fewer than wanted stand out, single numbers
follow that are clearly related to the decisions: so vectors whose numbers are independent keep what
matters, and those that are nothing but noise are left out.
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
    def fitted(
        cls, vectors: FloatArray, n_components: int, answers: Answers | None = None
    ) -> Reduction:
        """Learn directions; without answers, the leading principal components are kept."""
        centre, spread = vectors.mean(axis=0), vectors.std(axis=0)
        scale = np.maximum(spread, _LEAST_SPREAD * max(float(np.median(spread)), 1e-300))
        standard = (vectors - centre) / scale
        with threadpool_limits(limits=1, user_api="blas"):  # more threads sum in another order
            fitted = PCA(min(n_components, *vectors.shape), random_state=0).fit(standard)
        directions, share = fitted.components_, fitted.explained_variance_ratio_
        if answers is not None:
            limit = _BEYOND_NOISE * (1 + np.sqrt(vectors.shape[1] / len(vectors))) ** 2
            stand_out = int((fitted.explained_variance_ > limit).sum())
            directions, share = directions[:stand_out], share[:stand_out]
            related = _related(standard, directions, answers)[: n_components - stand_out]
            directions = np.concatenate([directions, np.eye(vectors.shape[1])[related]])
            return cls(centre, scale, directions, stand_out, float(share.sum()))
        return cls(centre, scale, directions, len(directions), float(np.nansum(share)))

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


def _related(standard: FloatArray, directions: FloatArray, answers: Answers) -> IntArray:
    """Return which numbers of the vectors are related to decisions, the closest first.

    Differences between groups are taken out, and so is what the directions say already.
    """
    decided = np.flatnonzero(~np.isnan(answers.decision))
    if len(decided) < 3:
        return np.empty(0, dtype=np.int64)
    rest = standard[decided] - (standard[decided] @ directions.T) @ directions
    decision = answers.decision[decided].astype(float)
    for code in np.unique(answers.group[decided]):
        here = answers.group[decided] == code
        rest[here] -= rest[here].mean(axis=0)
        decision[here] -= decision[here].mean()
    length = np.linalg.norm(rest, axis=0) * np.linalg.norm(decision)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.abs(decision @ rest) / length
    related = np.where(length > 1e-9, correlation * np.sqrt(len(decided)), 0.0)
    order = np.argsort(-related, kind="stable")
    return order[related[order] > _RELATED]
