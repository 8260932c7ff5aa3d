"""What the committed figures about reading texts say, and what the page makes of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.text import MOST_MB, MOST_TIMES, SIZES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def measured() -> pd.DataFrame:
    table = pd.read_csv(ROOT / "benchmarks" / "results" / "text.csv", comment="#")
    return table.set_index(["what", "texts"])


def test_a_million_texts_cost_what_is_promised(measured):
    ours, alone = measured.loc["load"], measured.loc["scikit-learn"]
    assert tuple(ours.index) == SIZES
    assert (ours["seconds"] <= MOST_TIMES * alone["seconds"]).all()
    assert (ours["peak_mb"] <= MOST_MB).all()


def test_time_and_memory_grow_no_faster_than_the_number_of_texts(measured):
    ours = measured.loc["load"]
    for rows, twice in pairwise(SIZES):
        assert ours["seconds"][twice] <= 1.1 * 2 * ours["seconds"][rows]
        assert ours["peak_mb"][twice] <= 1.1 * 2 * ours["peak_mb"][rows]


def test_the_page_shows_these_figures(measured):
    page = (ROOT / "docs" / "text.md").read_text(encoding="utf-8")
    for rows in SIZES:
        ours, alone = measured.loc["load", rows], measured.loc["scikit-learn", rows]
        times = f"{ours['seconds']:.0f} | {alone['seconds']:.0f}"
        memory = f"{ours['peak_mb']:,.0f} MB | {alone['peak_mb']:,.0f} MB"
        assert f"| {rows:,} | {times} | {memory} |" in page
