"""Models of many labelers as one: what they get wrong by themselves averages out."""

from __future__ import annotations

import numpy as np
import pytest

from mdba_checks.estimation.bucket import CohortSums


def sums_of(by_fold: np.ndarray, n_labels: float) -> CohortSums:
    """Return the sums of labelers in one cohort; `by_fold` is (folds, labelers, gold items)."""
    n = np.full((1, by_fold.shape[2]), n_labels * by_fold.shape[1])
    total = n_labels * by_fold.sum(axis=1)[:, None]
    return CohortSums(total.mean(axis=0), total, n)


def test_errors_that_differ_between_labelers_average_out_and_shared_ones_stay():
    """Over many gold items the variance is that of the shared error, and 1/100 of the others'."""
    rng = np.random.default_rng(1)
    shared, own = rng.normal(0, 0.02, (5, 1, 4000)), rng.normal(0, 0.1, (5, 100, 4000))
    f, spread = sums_of(0.5 + shared + own, 10).means()
    assert spread.mean() == pytest.approx(0.02**2 + 0.1**2 / 100, rel=0.05)
    assert f.mean() == pytest.approx(0.5, abs=0.001)


def test_it_does_not_matter_in_which_parts_labelers_are_added():
    rng = np.random.default_rng(2)
    by_fold = rng.random((5, 6, 30))
    parts = [sums_of(by_fold[:, a:b], 7) for a, b in ((0, 2), (2, 6))]
    np.testing.assert_allclose((parts[0] + parts[1]).means(), sums_of(by_fold, 7).means())
    stacked = CohortSums(
        np.concatenate([each.f for each in parts]),
        np.concatenate([each.by_fold for each in parts], axis=1),
        np.concatenate([each.n_labels for each in parts]),
    )
    np.testing.assert_allclose(stacked.together().means(), sums_of(by_fold, 7).means())
