"""How often the gate errs: wrong blocks when nobody is biased, and missed labelers when one is.

    python -m benchmarks.gate_errors [--runs 40]

Also varies the number of labelers and of labels each. Generated covariates, all three families.
Writes benchmarks/results/gate_errors.csv (power and wrong blocks by gold size) and
benchmarks/results/crowd_shapes.csv (coverage and findings by number of labelers and labels).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.paper.grid import score, with_gold
from mdba_checks import CheckConfig, gate
from mdba_checks.assessment import assess_data
from mdba_checks.estimation import fit_pooled
from mdba_checks.findings import BIASED, FAIR, INCONCLUSIVE
from mdba_checks.outputs import write_whole
from mdba_checks.simulation import Family, simulate
from mdba_checks.tables import load

RESULTS = Path(__file__).parent / "results"
FAMILIES: tuple[Family, ...] = ("correct", "incorrect", "inconsistent")
MAX_GAP = 0.1
GOLD = (100, 200, 300, 400)
N_LABELERS = 8
# Gaps from 0 to 0.1, the largest that is tolerated; the biased labeler is 0.2 beyond.
TOLERATED = np.linspace(0.0, MAX_GAP, N_LABELERS)
SHAPES = ((1, 4000), (2, 4000), (10, 4000), (200, 20), (200, 50), (200, 200), (10, 200), (10, 50))


def gate_errors(run: int) -> list[dict[str, object]]:
    """Return one record per family, scenario and gold size."""
    records: list[dict[str, object]] = []
    for family in FAMILIES:
        for scenario in ("nobody biased", "one biased"):
            gaps = TOLERATED.copy()
            if scenario == "one biased":
                gaps[0] = MAX_GAP + 0.2
            made = simulate(
                family=family,
                n_items=N_LABELERS * 2000 + 2 * max(GOLD),
                n_labelers=N_LABELERS,
                tprs=list(0.95 - gaps),
                seed=7000 + run,
            )
            config = CheckConfig(reference="men", seed=run, jobs=1)
            data = load(made.labels, made.gold, config)
            pooled = fit_pooled(data, seed=run)
            truth = made.truth["gap"].abs().to_numpy()
            for size in GOLD:
                assessed = assess_data(with_gold(data, size), config, ["mdba_dr"], pooled=pooled)
                assessment = assessed["mdba_dr"]
                biased = assessment.gaps["finding"].to_numpy() == BIASED
                records.append(
                    {
                        "family": family,
                        "scenario": scenario,
                        "gold_per_group": size,
                        "blocked": gate(assessment).verdict == "block",
                        # The simulation hits its targets to about a point; the truth decides.
                        "wrongly_named": bool((biased & (truth <= MAX_GAP)).any()),
                        "found": bool(biased[0]) if scenario == "one biased" else None,
                    }
                )
    return records


def crowd_shapes(run: int, shapes: Sequence[tuple[int, int]] = SHAPES) -> list[dict[str, object]]:
    """Return one record per family, number of labelers and labels each."""
    records: list[dict[str, object]] = []
    for family in FAMILIES:
        for n_labelers, labels_each in shapes:
            made = simulate(
                family=family,
                n_items=n_labelers * labels_each + 2 * max(GOLD),
                n_labelers=n_labelers,
                seed=8000 + run,
            )
            config = CheckConfig(reference="men", seed=run, jobs=1)
            data = load(made.labels, made.gold, config)
            assessment = assess_data(data, config, ["mdba_dr"])["mdba_dr"]
            gaps = assessment.gaps
            truth = made.truth.set_index("labeler")["gap"].loc[gaps["labeler"]].abs().to_numpy()
            finding = gaps["finding"].to_numpy()
            records.append(
                {
                    "family": family,
                    "labelers": n_labelers,
                    "labels_each": labels_each,
                    **score(assessment, made),
                    "biased": float((finding == BIASED).mean()),
                    "fair": float((finding == FAIR).mean()),
                    "inconclusive": float((finding == INCONCLUSIVE).mean()),
                    "wrongly_biased": float(((finding == BIASED) & (truth <= MAX_GAP)).mean()),
                    "wrongly_fair": float(((finding == FAIR) & (truth > MAX_GAP)).mean()),
                }
            )
    return records


def main() -> None:
    """Run both measurements as the command line says."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=40)
    arguments.add_argument("--shape-runs", type=int, default=5)
    arguments.add_argument("--folder", type=Path, default=RESULTS)
    given = arguments.parse_args()
    errors: list[dict[str, object]] = []
    for run in range(given.runs):
        errors += gate_errors(run)
        print(f"gate errors: run {run + 1} of {given.runs}", file=sys.stderr, flush=True)
    by = ["family", "scenario", "gold_per_group"]
    _write(errors, by, given.runs, given.folder / "gate_errors.csv")
    shapes: list[dict[str, object]] = []
    for run in range(given.shape_runs):
        shapes += crowd_shapes(run)
        print(f"crowd shapes: run {run + 1} of {given.shape_runs}", file=sys.stderr, flush=True)
    by = ["family", "labelers", "labels_each"]
    _write(shapes, by, given.shape_runs, given.folder / "crowd_shapes.csv")
    print(f"wrote gate_errors.csv and crowd_shapes.csv to {given.folder}")


def _write(records: list[dict[str, object]], by: list[str], runs: int, path: Path) -> None:
    """Write the means over the runs, below the command that made them."""
    table = pd.DataFrame(records).groupby(by).mean().reset_index().assign(runs=runs)
    text = f"# python {' '.join(['-m benchmarks.gate_errors', *sys.argv[1:]])}\n"
    write_whole(path, text + table.to_csv(index=False, float_format="%.4f"), force=True)


if __name__ == "__main__":
    main()
