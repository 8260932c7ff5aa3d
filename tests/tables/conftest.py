"""Two small tables with every kind of feature, and the comparison of what was loaded from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from mdba_checks.tables import Data


def _people(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "group": rng.choice(["men", "women"], rows),
            "age": rng.integers(18, 70, rows),
            # Rounded, because writers of Excel files keep 16 digits.
            "score": rng.normal(50, 10, rows).round(9),
            "job": rng.choice(["clerk", "cook", "nurse"], rows),
            "remote": rng.random(rows) < 0.4,
            "applied": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, rows), "D"),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "score"] = np.nan
    frame.loc[rng.random(rows) < 0.1, "job"] = None
    return frame


@pytest.fixture
def labels() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = _people(rng, 240)
    frame.insert(0, "labeler", rng.choice(["007", "7", "ann", "O'Neil, Zoë"], 240))
    frame.insert(1, "label", rng.integers(0, 2, 240))
    frame.insert(2, "item", rng.permutation(240) // 2)
    return frame


@pytest.fixture
def gold() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = _people(rng, 80)
    frame.insert(0, "gold", rng.integers(0, 2, 80))
    frame.insert(1, "item", rng.permutation(np.arange(120, 200)))
    return frame


@pytest.fixture
def same() -> Callable[..., None]:
    """Assert that two loads gave the same, bit for bit; `but` names what may differ."""

    def compare(one: Data, other: Data, but: tuple[str, ...] = ()) -> None:
        for rows in ("labels", "gold"):
            for field in fields(getattr(one, rows)):
                if field.name not in but:
                    left = getattr(getattr(one, rows), field.name)
                    right = getattr(getattr(other, rows), field.name)
                    assert left.dtype == right.dtype, field.name
                    np.testing.assert_array_equal(left, right, err_msg=f"{rows}.{field.name}")
        for field in fields(one):
            if field.name not in ("labels", "gold", *but):
                left, right = getattr(one, field.name), getattr(other, field.name)
                assert np.array_equal(left, right), field.name

    return compare
