"""Crowds: how near, how sure and how often right, with few labels each.

For every shape of crowd (`SHAPES`), both families of people and both kinds of bias
(`crowd_simulation.py`), what `assess` says is compared with the truth. One line per run::

    python -m benchmarks.crowds --seeds 10 --jobs 2 --before FILE

`gap` is how somebody decides over all items; errors and coverage are about it. Somebody is
*settled* when called biased or fair; a call is wrong when the true gap lies on the other side of
the limit. `--before` names the result of an earlier version, which the same file can measure, as it
uses public names alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.crowd_simulation import Crowd, Shape, simulate_crowd
from benchmarks.scoring import RESULTS, in_processes, write
from mdba_checks import Assessment, CheckConfig, Policy, assess

MAX_GAP, CONFIDENCE = 0.15, 0.9

SHAPES = {
    "200x50": Shape(200, 50),
    "200x200": Shape(200, 200),
    "60x500": Shape(60, 500),
    "1000x30": Shape(1000, 30),
    "200 zipf": Shape(200, 100, counts="zipf"),
    "200x50, 3 per item": Shape(200, 50, overlap=3),
    "30x100": Shape(30, 100),
    "10x4000": Shape(10, 4000),
}
ABOUT = ("shape", "people", "kind", "seed")  # what tells runs apart
PEOPLE, BIASES = ("consistent", "inconsistent"), ("level", "feature")
SHOWN = {
    "shape": "",
    "error": ".3f",
    "error_before": ".3f",
    "cover": ".1%",
    "cover_biased": ".1%",
    "width": ".2f",
    "settled": ".1%",
    "settled_before": ".1%",
    "borderline": ".1%",
    "wrong": ".1%",
    "table_error": ".3f",
    "table_cover": ".1%",
    "whole_covered": ".1%",
    "whole_width": ".3f",
    "mean_covered": ".1%",
    "spread_covered": ".1%",
    "labelers_beyond_covered": ".1%",
    "seconds": ".1f",
    "runs": "",
}


def scored(truth: pd.DataFrame, gaps: pd.DataFrame) -> dict[str, float]:
    """Return how good estimates and calls are."""
    gap = truth["gap"].to_numpy()
    beyond, biased = np.abs(gap) > MAX_GAP, truth["biased"].to_numpy()
    estimate, low, high = (gaps[name].to_numpy() for name in ("gap", "ci_low", "ci_high"))
    covered = (low <= gap) & (gap <= high)
    called = {
        name: (gaps["finding"] == name).to_numpy() for name in ("biased", "fair", "borderline")
    }
    return {
        "labelers": len(gap),
        "beyond": int(beyond.sum()),
        "error": float(np.nanmean(np.abs(estimate - gap))),
        "bias": float(np.nanmean(estimate - gap)),
        "cover": float(covered.mean()),
        "cover_biased": float(covered[biased].mean()),
        "width": float(np.nanmean(high - low)),
        "biased": int(called["biased"].sum()),
        "fair": int(called["fair"].sum()),
        "borderline": int(called["borderline"].sum()),
        "wrongly_biased": int((called["biased"] & ~beyond).sum()),
        "wrongly_fair": int((called["fair"] & beyond).sum()),
    }


def run(name: str, people: Any, bias: Any, seed: int) -> dict[str, Any]:
    """Assess one crowd."""
    made = simulate_crowd(replace(SHAPES[name], people=people, bias=bias), seed)
    config = CheckConfig(reference="men", jobs=1, policy=Policy(max_gap=MAX_GAP))
    begin = time.perf_counter()
    assessment = assess(made.labels, made.gold, config)
    seconds = time.perf_counter() - begin
    gaps = assessment.gaps.set_index("labeler").loc[made.truth["labeler"]]
    about = dict(zip(ABOUT, (name, people, bias, seed), strict=True))
    return {
        **about,
        **scored(made.truth, gaps),
        "seconds": seconds,
        **_in_the_table(made, gaps),
        **_of_all(made, assessment),
    }


def _in_the_table(made: Crowd, gaps: pd.DataFrame) -> dict[str, float]:
    """Return how good the statements about the labels in the table are."""
    names = ("table_gap", "table_low", "table_high")
    if names[0] not in gaps:  # the first version had one gap, that of the table
        names = ("gap", "ci_low", "ci_high")
    estimate, low, high = (gaps[name].to_numpy() for name in names)
    truth = made.truth["table_gap"].to_numpy()
    known = np.isfinite(truth)  # somebody may have no item of a group where yes is right
    covered = (low <= truth) & (truth <= high)
    return {
        "table_error": float(np.nanmean(np.abs(estimate - truth))),
        "table_cover": float(covered[known].mean()),
        "table_width": float(np.nanmean(high - low)),
    }


def _of_all(made: Crowd, assessment: Assessment) -> dict[str, float]:
    """Return how good the statements about all labels and about the crowd are."""
    found: dict[str, float] = {}
    overall = getattr(assessment, "overall", None)
    if overall is not None:
        (row,) = overall.to_dict("records")
        found["whole_error"] = abs(row["gap"] - made.overall)
        found["whole_width"] = row["ci_high"] - row["ci_low"]
        found["whole_covered"] = float(row["ci_low"] <= made.overall <= row["ci_high"])
    crowd = getattr(assessment, "crowd", None)
    if crowd is not None:
        (row,) = crowd.to_dict("records")
        truth = made.truth["gap"]
        true = {
            "mean": truth.mean(),
            "spread": truth.std(),
            "labelers_beyond": (truth.abs() > MAX_GAP).mean(),
        }
        for name, value in true.items():
            inside = row[f"{name}_low"] <= value <= row[f"{name}_high"]
            found[f"{name}_covered"] = float(inside)
    return found


def summary(results: pd.DataFrame, before: pd.DataFrame | None = None) -> list[dict[str, Any]]:
    """Return means over all families and seeds, one line per shape."""
    rows = []
    for name, runs in results.groupby("shape", sort=False):
        calls = runs["biased"] + runs["fair"]
        means = runs.mean(numeric_only=True).drop("seed").to_dict()
        means["settled"] = (calls / runs["labelers"]).mean()
        means["borderline"] = (runs["borderline"] / runs["labelers"]).mean()
        wrong = runs["wrongly_biased"].sum() + runs["wrongly_fair"].sum()
        means["wrong"] = wrong / max(int(calls.sum()), 1)
        if before is not None:
            earlier = before[before["shape"] == name]
            means["error_before"] = earlier["error"].mean()
            called = (earlier["biased"] + earlier["fair"]) / earlier["labelers"]
            means["settled_before"] = called.mean()
        rows.append({"shape": name, "runs": len(runs), **means})
    return rows


def main() -> None:
    """Measure and write; runs that the file of `--runs` holds already are not made again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--before", type=Path, help="the runs of an earlier version, to compare")
    parser.add_argument("--runs", type=Path, help="keep every single run here, and go on from it")
    parser.add_argument("--output", type=Path, default=RESULTS / "crowds.csv")
    asked = parser.parse_args()
    before = pd.read_csv(asked.before) if asked.before else None
    done: list[dict[str, Any]] = []
    if asked.runs and asked.runs.exists():
        done = pd.read_csv(asked.runs).to_dict("records")
    known = {tuple(each[name] for name in ABOUT) for each in done}
    # Both kinds of bias in turn: 10 seeds are 20 crowds of a shape. All shapes get their first
    # seeds first, so that what is there when it is stopped can be compared.
    calls = [
        (name, people, BIASES[seed % 2], seed)
        for seed in range(asked.seeds)
        for name in asked.shapes
        for people in PEOPLE
    ]
    for found in in_processes(run, [each for each in calls if each not in known], asked.jobs):
        done.append(found)
        results = pd.DataFrame(done)
        if asked.runs:
            results.to_csv(asked.runs, index=False, float_format="%.5f")
        sys.stderr.write(f"{len(done)} of {len(calls)}: {[found[name] for name in ABOUT]}\n")
        sys.stderr.flush()
    order = {name: place for place, name in enumerate(SHAPES)}
    results = pd.DataFrame(done).sort_values("shape", key=lambda shape: shape.map(order))
    write(asked.output, "benchmarks.crowds", summary(results, before), SHOWN)
    print(asked.output.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
