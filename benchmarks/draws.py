"""How far do numbers move that should not, or only a little: by other names, and by another seed?

python -m benchmarks.draws --output benchmarks/results/draws.csv
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from mdba_checks import Assessment, CheckConfig, assess
from mdba_checks.simulation import Simulation, simulate

# Labelers, labels of all of them together, gold items per group.
SIZES = ((3, 1_500, 120), (10, 20_000, 300), (40, 40_000, 400))
CONFIG = CheckConfig(reference="men")


def changes(made: Simulation, seed: int) -> dict[str, tuple[Assessment, dict[str, str]]]:
    """Return each change's assessment, and the old names of labelers by their new ones."""
    names = sorted(made.labels["labeler"].unique())
    others = np.random.default_rng(seed).permutation([f"z{n:03d}" for n in range(len(names))])
    renamed = dict(zip(names, others.tolist(), strict=True))
    groups = {"men": "z", "women": "a"}
    turned = [table.replace({"group": groups}) for table in (made.labels, made.gold)]
    same = {name: name for name in names}
    labels = made.labels.replace({"labeler": renamed})
    return {
        "other names of labelers": (
            assess(labels, made.gold, CONFIG),
            {new: old for old, new in renamed.items()},
        ),
        "other names of groups": (assess(*turned, CONFIG.updated({"reference": "z"})), same),
        "another seed": (assess(made.labels, made.gold, CONFIG.updated({"seed": seed + 1})), same),
    }


def measure(runs: int) -> pd.DataFrame:
    """Return one line per size and change: how far gaps moved, in standard errors."""
    rows = []
    for labelers, items, gold in SIZES:
        moved: dict[str, list[np.ndarray]] = {}
        flips: dict[str, int] = {}
        for seed in range(runs):
            made = simulate(n_items=items, n_labelers=labelers, gold_per_group=gold, seed=seed)
            before = assess(made.labels, made.gold, CONFIG).gaps.set_index("labeler")
            for what, (found, names) in changes(made, seed).items():
                after = found.gaps.replace({"labeler": names}).set_index("labeler")
                after = after.loc[before.index]
                distance = (after["gap"] - before["gap"]).abs() / before["std_error"]
                moved.setdefault(what, []).append(distance.to_numpy())
                changed = (after["finding"] != before["finding"]).sum()
                flips[what] = flips.get(what, 0) + int(changed)
        for what, parts in moved.items():
            every = np.concatenate(parts)
            rows.append(
                {
                    "labelers": labelers,
                    "labels_each": items // labelers,
                    "gold_per_group": gold,
                    "change": what,
                    "runs": runs,
                    "mean_in_se": round(float(every.mean()), 4),
                    "largest_in_se": round(float(every.max()), 4),
                    "other_findings": flips[what],
                    "findings": len(every),
                }
            )
        print(rows[-3:], flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    table = measure(given.runs)
    command = f"# python -m benchmarks.draws {' '.join(sys.argv[1:])}\n"
    given.output.write_text(command + table.to_csv(index=False), encoding="utf-8")


if __name__ == "__main__":
    main()
