"""The grid: data sets × orderings × prevalences × gold sizes × repetitions × estimators.

A cell is one simulated data set. Its labeler models are fitted once and asked with every gold size,
as the gold pools are nested. Every finished cell is a small file, so that a run that was stopped
goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper import datasets
from mdba_checks.assessment import Assessment, assess_data
from mdba_checks.config import CheckConfig, EstimatorName
from mdba_checks.estimation import fit_pooled
from mdba_checks.outputs import write_whole
from mdba_checks.simulation import Covariates, Family, Simulation, make_covariates, simulate
from mdba_checks.tables import Data, load

GENERATED = "generated"  # a data set made on the spot, where no files are at hand
_FIRST_SEED = 5000  # far from the seeds that were looked at while the method was built


@dataclass(frozen=True)
class Cell:
    """One simulated data set."""

    dataset: str
    family: Family
    prevalence: float
    repetition: int

    @property
    def name(self) -> str:
        """A name that can be a file name."""
        return f"{self.dataset}-{self.family}-{self.prevalence:g}-{self.repetition}"


@dataclass(frozen=True)
class Grid:
    """What is run."""

    datasets: tuple[str, ...] = ("adult", "credit", "employee", "readmission")
    families: tuple[Family, ...] = ("correct", "incorrect", "inconsistent")
    prevalences: tuple[float, ...] = (0.2, 0.3)
    gold_per_group: tuple[int, ...] = (100, 200, 300, 400)
    repetitions: int = 20
    estimators: tuple[EstimatorName, ...] = (
        "mdba_dr",
        "mdba",
        "mdba_naive",
        "selection_rate",
        "gold_model",
    )
    # cleanlab costs more than all the others together and hardly varies
    confident_learning_repetitions: int = 1
    n_items: int | None = None  # None: all rows of the data sets

    def cells(self) -> Iterator[Cell]:
        """Yield the cells, so ordered that a run stopped early has whole repetitions."""
        for repetition in range(self.repetitions):
            for dataset in self.datasets:
                for family in self.families:
                    for prevalence in self.prevalences:
                        yield Cell(dataset, family, prevalence, repetition)


def run_grid(
    grid: Grid,
    parts: Path,
    *,
    folder: Path | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Run what is not yet in `parts` and return all records of the grid's cells."""
    from joblib import Parallel, delayed

    parts.mkdir(parents=True, exist_ok=True)
    cells = list(grid.cells())
    missing = [cell for cell in cells if not (parts / f"{cell.name}.json").exists()]
    done = len(cells) - len(missing)
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    for _ in workers(delayed(_finish)(cell, grid, parts, folder) for cell in missing):
        done += 1
        if progress:
            progress(done, len(cells))
    records = [json.loads((parts / f"{cell.name}.json").read_text()) for cell in cells]
    return pd.DataFrame([record for cell in records for record in cell])


def _finish(cell: Cell, grid: Grid, parts: Path, folder: Path | None) -> None:
    records = run_cell(cell, grid, _covariates(cell.dataset, grid, folder))
    write_whole(parts / f"{cell.name}.json", json.dumps(records), force=True)


def _covariates(name: str, grid: Grid, folder: Path | None) -> Covariates:
    if name == GENERATED:
        return make_covariates(grid.n_items or 20_000, seed=_FIRST_SEED)
    return datasets.load(name, folder)


def run_cell(cell: Cell, grid: Grid, covariates: Covariates) -> list[dict[str, Any]]:
    """Simulate one data set, assess it with every gold size, and compare with the truth."""
    seed = _FIRST_SEED + cell.repetition
    made = simulate(
        family=cell.family,
        covariates=covariates,
        n_items=grid.n_items,
        prevalence=cell.prevalence,
        gold_per_group=max(grid.gold_per_group),
        seed=seed,
    )
    config = CheckConfig(reference=str(covariates.reference), seed=seed, jobs=1)
    data = load(made.labels, made.gold, config)
    pooled = fit_pooled(data, seed=seed)
    estimators = list(grid.estimators)
    if cell.repetition < grid.confident_learning_repetitions:
        estimators.append("confident_learning")
    records = []
    for size in grid.gold_per_group:
        part = with_gold(data, size)
        for name, assessment in assess_data(part, config, estimators, pooled=pooled).items():
            scores = score(assessment, made)
            records.append(asdict(cell) | {"gold_per_group": size, "estimator": name} | scores)
    return records


def score(assessment: Assessment, made: Simulation) -> dict[str, float]:
    """Return how near an assessment came to the truth of a simulation."""
    truth = made.truth.set_index(["labeler", "group"])["gap"].rename("truth")
    gaps = assessment.gaps.join(truth, on=["labeler", "group"])
    joint = assessment.joint_intervals()
    error = gaps["gap"] - gaps["truth"]
    inside = (gaps["ci_low"] <= gaps["truth"]) & (gaps["truth"] <= gaps["ci_high"])
    all_inside = (joint["ci_low"] <= gaps["truth"]) & (gaps["truth"] <= joint["ci_high"])
    return {
        "mae": float(error.abs().mean()),
        "bias": float(error.mean()),
        "coverage": float(inside.mean()),
        "width": float((gaps["ci_high"] - gaps["ci_low"]).mean()),
        "joint_coverage": float(all_inside.all()),
    }


def with_gold(data: Data, per_group: int) -> Data:
    """Return the data with the first gold rows of every group only."""
    rows = np.flatnonzero(data.gold.position < per_group * len(data.groups))
    taken = {name: values[rows] for name, values in vars(data.gold).items()}
    return replace(data, gold=replace(data.gold, **taken))


def default_grid(folder: Path | None) -> Grid:
    """Return the published grid, or a quick one on generated data when there is no folder."""
    if folder is None:
        return Grid(datasets=(GENERATED,), repetitions=2, n_items=8_000, prevalences=(0.2,))
    return Grid()
