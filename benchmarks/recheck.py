"""What does a store save, and what does it cost in accuracy?

    python -m benchmarks.recheck --output benchmarks/results/recheck.csv

Data of 200 labelers are checked in full and put into a store. Then a share of the labelers decide
anew, and the changed data are checked twice, side by side: with the store and in full. What comes
out is, per share, the time of both, for the estimation alone and for the whole check from tables to
findings, and how far the gaps of the two checks are apart, in standard errors. A share of zero is
the check of unchanged data. The last column tells how far apart the gaps of two full checks are
that differ in their seed only: what follows from the choice of folds.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks import Assessment, CheckConfig, assess
from mdba_checks.estimation import estimate_rates
from mdba_checks.estimators import estimator
from mdba_checks.simulation import simulate
from mdba_checks.store import Store
from mdba_checks.tables import load

SHARES = (0.0, 0.01, 0.05, 0.1)


def measure_share(
    labels: pd.DataFrame, gold: pd.DataFrame, config: CheckConfig, share: float, *, repeats: int = 3
) -> dict[str, float]:
    """Check, let a share of the labelers decide anew, and check with the store and in full.

    Returns
    -------
    dict
        ``changed_labelers, full_seconds, recheck_seconds, ratio``, the same for the estimation
        alone, ``difference_mean, difference_max`` in standard errors of the full check, and
        ``findings_differ``. Times are the best of `repeats` runs, taken in turns.
    """
    now, n_changed = with_new_decisions(labels, share)
    asked = [estimator(config.estimator)]
    times: dict[str, list[float]] = {}

    def timed(name: str, function: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        answer = function()
        times.setdefault(name, []).append(time.perf_counter() - start)
        return answer

    data = load(now, gold, config, keep_item_names=True)
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, "before")
        assess(labels, gold, config, store=before)
        for number in range(repeats):
            copies = [Path(folder, f"{number}-{copy}") for copy in range(2)]
            for copy in copies:
                shutil.copytree(before, copy)
            first, second = map(Store, copies)
            timed("estimation", lambda: estimate_rates(data, asked, seed=config.seed))
            timed("re-estimation", lambda store=first: store.estimate(data, asked, config))
            full = timed("full", lambda: assess(now, gold, config))
            again = timed("recheck", lambda store=second: assess(now, gold, config, store=store))
    best = {name: min(taken) for name, taken in times.items()}
    apart = difference(full, again)
    other_seed = config.model_copy(update={"seed": config.seed + 1})
    by_folds = difference(full, assess(now, gold, other_seed))
    return {
        "changed_share": share,
        "changed_labelers": n_changed,
        "estimation_full_seconds": best["estimation"],
        "estimation_recheck_seconds": best["re-estimation"],
        "estimation_ratio": best["re-estimation"] / best["estimation"],
        "whole_full_seconds": best["full"],
        "whole_recheck_seconds": best["recheck"],
        "whole_ratio": best["recheck"] / best["full"],
        "difference_mean_in_se": apart.mean(),
        "difference_max_in_se": apart.max(),
        "difference_max": (full.gaps["gap"] - again.gaps["gap"]).abs().max(),
        "findings_differ": int((full.gaps["finding"] != again.gaps["finding"]).sum()),
        "other_seed_mean_in_se": by_folds.mean(),
        "other_seed_max_in_se": by_folds.max(),
    }


def with_new_decisions(labels: pd.DataFrame, share: float) -> tuple[pd.DataFrame, int]:
    """Return labels in which some labelers turned every tenth decision around, and how many."""
    names = sorted(labels["labeler"].unique())
    n_changed = round(share * len(names))
    chosen = np.random.default_rng(0).choice(names, n_changed, replace=False)
    turned = labels["labeler"].isin(chosen) & (labels.groupby("labeler").cumcount() % 10 == 0)
    return labels.assign(label=labels["label"].where(~turned, 1 - labels["label"])), n_changed


def difference(one: Assessment, other: Assessment) -> pd.Series[float]:
    """Return how far gaps are apart, in standard errors."""
    return (one.gaps["gap"] - other.gaps["gap"]).abs() / one.gaps["std_error"]


def main() -> None:
    """Measure all shares and write a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labelers", type=int, default=200)
    parser.add_argument("--labels-each", type=int, default=250)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    made = simulate(
        n_items=given.labelers * given.labels_each + 1000, n_labelers=given.labelers, seed=1
    )
    config = CheckConfig(reference="men", jobs=1)
    size = {"labelers": given.labelers, "labels": len(made.labels), "gold": len(made.gold)}
    rows = []
    for share in SHARES:
        row = measure_share(made.labels, made.gold, config, share, repeats=given.repeats)
        rows.append({**size, **row})
        print(pd.Series(rows[-1]).to_string(), end="\n\n", flush=True)
    if given.output:
        given.output.write_text(
            f"# {command(given)}\n" + pd.DataFrame(rows).round(5).to_csv(index=False)
        )


def command(given: argparse.Namespace) -> str:
    """Return the command that makes the same table."""
    flags = ("labelers", "labels_each", "repeats")
    values = " ".join(f"--{name.replace('_', '-')} {getattr(given, name)}" for name in flags)
    return f"python -m benchmarks.recheck {values}"


if __name__ == "__main__":
    main()
