"""How much labelers would have to know beyond the features to overturn a finding.

`theta` is 0 where labelers know nothing about right answers beyond the features, and 1 where they
tell right from wrong among items with equal features as well as among all items
(`estimation/hidden.py`). Where it could not be measured, a finding stands only if the other end of
that range does not clearly contradict it.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from mdba_checks.estimation import STEPS
from mdba_checks.findings.diagnostics import Measures
from mdba_checks.findings.inference import Gaps
from mdba_checks.tables import FloatArray

_CLEAR = float(norm.ppf(0.95))  # as clear as the end of a 90% interval


def overturned(numbers: Gaps, measures: Measures, max_gap: float) -> list[str]:
    """Return, row by row of a table of gaps, why its finding cannot stand; empty where it can.

    It cannot where some theta puts the gap on the other side of the limit, clearly elsewhere than
    it is without hidden information. Where the table describes the groups unequally well, it need
    not be clear, and theta may differ between groups. Where theta was measured, the interval allows
    for it.
    """
    texts = np.full(numbers.gap.shape, "", dtype=object)
    if numbers.path is None or numbers.path_error is None:
        return list(texts.ravel())
    unequal = measures.unequally_described
    with np.errstate(invalid="ignore"):
        moved = np.abs(numbers.path - numbers.path[..., :1])
        beyond = np.abs(numbers.path) > max_gap
        clear = (moved > _CLEAR * numbers.path_error) | unequal[:, None]
    other_side = (beyond != beyond[..., :1]) & clear
    doubtful = other_side.any(axis=-1) & ~measures.theta_measured
    step = np.argmax(other_side, axis=-1)
    elsewhere = _elsewhere(numbers, max_gap)
    alone = unequal & ~measures.theta_measured & ((np.abs(elsewhere) > max_gap) != beyond[..., 0])
    for row, column in np.argwhere(doubtful | alone):
        there = numbers.path[row, column, step[row, column]]
        if not doubtful[row, column]:
            there = elsewhere[row, column]
        why = (
            "the features describe the groups unequally well"
            if unequal[column]
            else "the features leave much open"
        )
        texts[row, column] = (
            f"{why}: the gap would be {there:+.2f} instead of {numbers.gap[row, column]:+.2f} if "
            "labelers know more about what is right than the features say. Have some gold items "
            "labeled, or several labels per item, to see how much they know"
        )
    return list(texts.ravel())


def _elsewhere(numbers: Gaps, max_gap: float) -> FloatArray:
    """Return the gap that contradicts the estimate most, if labelers know more in some groups.

    Of an estimate beyond the limit it is the one nearest to none, of one within it the largest.
    """
    if numbers.apart is None:
        return numbers.gap
    low, high = numbers.apart[..., 0], numbers.apart[..., 1]
    largest = np.where(-low > high, low, high)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(numbers.gap) > max_gap, np.clip(0.0, low, high), largest)


def robustness(numbers: Gaps, low: FloatArray, high: FloatArray, max_gap: float) -> FloatArray:
    """Return the smallest theta at which the finding would be another one, 1 where none is.

    A gap that is shown to be beyond the limit, or within it, is followed with its interval; NaN
    where neither is shown.
    """
    biased = (low > max_gap) | (high < -max_gap)
    fair = (low >= -max_gap) & (high <= max_gap)
    result = np.where(biased | fair, 1.0, np.nan)
    if numbers.path is None:
        return np.full(numbers.gap.shape, np.nan)
    for step in range(len(STEPS) - 1, -1, -1):
        moved = numbers.path[..., step] - numbers.path[..., 0]
        with np.errstate(invalid="ignore"):
            beyond = (low + moved > max_gap) | (high + moved < -max_gap)
            within = (low + moved >= -max_gap) & (high + moved <= max_gap)
        other = (biased & ~beyond) | (fair & ~within)
        result = np.where(other, STEPS[step], result)
    return result
