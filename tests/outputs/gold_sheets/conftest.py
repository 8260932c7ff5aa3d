"""Labels of known labelers, and experts who know every answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import pytest

from mdba_checks import CheckConfig
from mdba_checks.outputs import choose_gold
from mdba_checks.simulation import simulate


@dataclass(frozen=True)
class World:
    labels: pd.DataFrame
    right: pd.Series
    config: CheckConfig

    def judge(self, sheet: pd.DataFrame) -> pd.DataFrame:
        """Return the sheet with the right answers filled in."""
        return sheet.assign(gold=[str(self.right[item]) for item in sheet["item"]])


@pytest.fixture(scope="session")
def world() -> World:
    made = simulate(n_items=3000, n_labelers=4, gold_per_group=10, seed=3)
    labels = made.labels.assign(item="app-" + made.labels["item"].astype(str))
    answers = made.answers.assign(item="app-" + made.answers["item"].astype(str))
    config = CheckConfig(reference="men", jobs=1)
    return World(labels, answers.set_index("item")["gold"], config)


@pytest.fixture(scope="session")
def first_sheet(world: World) -> pd.DataFrame:
    return choose_gold(world.labels, 60, config=world.config).sheet


@pytest.fixture
def judged(world: World, first_sheet: pd.DataFrame) -> pd.DataFrame:
    return world.judge(first_sheet)


Written = Callable[[pd.DataFrame, str], str]


@pytest.fixture
def written(tmp_path) -> Written:
    def write(sheet: pd.DataFrame, name: str) -> str:
        path = tmp_path / name
        sheet.to_csv(path, index=False)
        return str(path)

    return write
