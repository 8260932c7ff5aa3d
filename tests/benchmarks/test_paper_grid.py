"""The paper's grid in small: generated covariates instead of the published data sets."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper import Cell, Grid, draw, published, render, run_grid, summarize
from benchmarks.paper.grid import GENERATED, score
from mdba_checks.simulation import simulate

SMALL = Grid(
    datasets=(GENERATED,),
    families=("correct", "inconsistent"),
    prevalences=(0.3,),
    gold_per_group=(100, 300),
    repetitions=1,
    confident_learning_repetitions=0,
    n_items=5_000,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    parts = tmp_path_factory.mktemp("parts")
    told = []
    records = run_grid(SMALL, parts, progress=lambda done, total: told.append((done, total)))
    return records, parts, told


def test_every_cell_gold_size_and_estimator_has_one_record(finished):
    records, _, told = finished
    assert len(records) == 2 * 2 * len(SMALL.estimators)
    assert not records.duplicated(["family", "gold_per_group", "estimator"]).any()
    assert told == [(1, 2), (2, 2)]


def test_the_doubly_robust_estimate_is_nearer_to_the_truth_than_the_baselines(finished):
    records, _, _ = finished
    mae = records.groupby("estimator")["mae"].mean()
    assert mae["mdba_dr"] < 0.07
    assert mae["mdba_dr"] < mae[["mdba", "selection_rate", "gold_model"]].min()


def test_a_run_that_was_stopped_goes_on_where_it_was(finished):
    records, parts, _ = finished
    kept = parts / "generated-correct-0.3-0.json"
    marked = json.loads(kept.read_text())
    marked[0]["mae"] = 123.0
    kept.write_text(json.dumps(marked))
    (parts / "generated-inconsistent-0.3-0.json").unlink()
    again = run_grid(SMALL, parts)
    assert again["mae"].max() == 123.0, "a finished cell was run again"
    new = again[again["family"] == "inconsistent"].reset_index(drop=True)
    old = records[records["family"] == "inconsistent"].reset_index(drop=True)
    pd.testing.assert_frame_equal(new, old)


def test_the_published_grid_has_64_cells_and_its_figures_are_those_of_the_paper():
    paper = published()
    assert len(paper) == 64
    assert paper["mdba"].mean() == pytest.approx(0.064, abs=0.0005)
    one = paper.query("dataset == 'credit' and family == 'correct' and prevalence == 0.2")
    assert one.set_index("gold_per_group")["mdba"].to_dict() == {
        100: 0.129,
        200: 0.099,
        300: 0.095,
        400: 0.089,
    }


def test_the_summary_puts_the_papers_figure_beside_ours():
    records = pd.DataFrame(
        [
            {
                "dataset": "credit",
                "family": "correct",
                "prevalence": 0.2,
                "repetition": repetition,
                "gold_per_group": 100,
                "estimator": estimator,
                "mae": mae + repetition / 100,
                "bias": 0.0,
                "coverage": 0.9,
                "width": 0.2,
                "joint_coverage": 1.0,
            }
            for repetition in (0, 1)
            for estimator, mae in (("mdba_dr", 0.03), ("mdba", 0.1))
        ]
    )
    summary = summarize(records).set_index("estimator")
    assert summary.loc["mdba_dr", "mae"] == pytest.approx(0.035)
    assert summary.loc["mdba_dr", "paper_mae"] == 0.129
    assert summary.loc["mdba", "ratio"] == pytest.approx(0.105 / 0.129)
    page = render(summary.reset_index())
    assert "| `mdba_dr` | 1 | 2 | 0.0350 | 0.1290 | 1 of 1 | 90.0% |" in page
    assert "| credit | correct | 0.2 | 100 | 0.129 | 0.035 | 0.105 |" in page
    image = draw(summary.reset_index())
    assert image.startswith("<?xml")
    assert image == draw(summary.reset_index())  # the same figures, the same file


def test_a_score_counts_what_the_intervals_hold():
    made = simulate(n_items=2500, n_labelers=2, seed=1)

    class Answer:
        def __init__(self, errors, width, joint_width):
            self.errors, self.width, self.joint_width = np.array(errors), width, joint_width

        @property
        def gaps(self):
            gap = made.truth["gap"] + self.errors
            table = made.truth[["labeler", "group"]].assign(gap=gap)
            return table.assign(ci_low=gap - self.width, ci_high=gap + self.width)

        def joint_intervals(self):
            gap = made.truth["gap"] + self.errors
            return pd.DataFrame(
                {"ci_low": gap - self.joint_width, "ci_high": gap + self.joint_width}
            )

    found = score(Answer([0.03, -0.01], 0.02, 0.04), made)
    assert found["mae"] == pytest.approx(0.02)
    assert found["bias"] == pytest.approx(0.01)
    assert found["coverage"] == 0.5
    assert found["joint_coverage"] == 1.0
    assert score(Answer([0.03, -0.01], 0.02, 0.025), made)["joint_coverage"] == 0.0


def test_cells_come_in_whole_repetitions():
    cells = list(Grid(repetitions=2).cells())
    assert len(cells) == 2 * 4 * 3 * 2
    assert {cell.repetition for cell in cells[:24]} == {0}
    assert cells[0].name == Cell("adult", "correct", 0.2, 0).name == "adult-correct-0.2-0"
