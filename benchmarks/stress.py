"""Where does it hold? Simulated label sets of many shapes, each with a known truth.

Per shape (see `shapes`): the error of the estimated gaps, how often 90% intervals cover, how many
findings are settled, how many of those are wrong, why the others are open, and which checks are
serious. A finding is wrong that says biased of labels whose true gap is within ±0.1, or fair of
labels whose true gap is beyond. Shapes in which the assumptions hold must not lose findings when
others are guarded against: `--before` puts the settled share of an earlier version beside.

Run it from the root of the checkout; it writes benchmarks/results/stress.csv and stress.md::

    python -m benchmarks.stress --jobs 2
"""

from __future__ import annotations

import argparse
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.scoring import (
    MAX_GAP,
    RESULTS,
    Draw,
    Made,
    in_processes,
    judge_draw,
    records,
    summarize,
    write,
)
from benchmarks.shapes import SHAPES
from benchmarks.simulated_items import REFERENCE
from mdba_checks import CheckConfig, Columns, Policy

MOST_WRONG, LEAST_KEPT = 0.05, 0.95
SHOWN = {
    "shape": "",
    "holds": "",
    "mae": ".3f",
    "coverage": ".0%",
    "width": ".2f",
    "settled": ".0%",
    "before": ".0%",
    "rightly": ".0%",
    "caught": ".0%",
    "wrongly_biased": "",
    "wrongly_fair": "",
    "wrong": ".1%",
    "wrong_tendency": ".1%",
    "evidence": ".0%",
    "assumption": ".0%",
    "refused": ".0%",
    "serious": "",
    "met": "",
}


def draw(name: str, number: int) -> Made:
    """Return one data set of a shape; the same number gives the same data set."""
    return SHAPES[name].make(np.random.default_rng([zlib.crc32(name.encode()), number]))


def config_for(made: Made) -> CheckConfig:
    """Return the check of a shape: its roles follow from the columns that are there."""
    roles = {
        role: role
        for role in ("gold_weight", "cluster")
        # An earlier version may not know the role; the column is then one of gold alone.
        if role in made.gold and role in Columns.model_fields
    }
    return CheckConfig(
        columns=Columns(**roles), reference=REFERENCE, jobs=1, policy=Policy(max_gap=MAX_GAP)
    )


def run(name: str, number: int) -> Draw:
    """Assess one data set of a shape."""
    made = draw(name, number)
    return judge_draw(made, config_for(made))


def measure(name: str, draws: range, jobs: int, before: float | None = None) -> tuple[Any, Any]:
    """Return the summary of a shape, and all its findings."""
    found = list(in_processes(run, [(name, number) for number in draws], jobs))
    summary = {"shape": name, "holds": SHAPES[name].holds, **summarize(found)}
    summary |= {"before": before, "met": _met(summary, before), "what": SHAPES[name].what}
    return summary, records(found, shape=name)


def _met(summary: dict[str, Any], before: float | None) -> str:
    """Say which of the two goals a shape misses."""
    missed = []
    if summary["wrong"] > MOST_WRONG:
        missed.append("wrong calls")
    if summary["holds"] and before is not None and summary["settled"] < LEAST_KEPT * before:
        missed.append("fewer settled")
    return ", ".join(missed) or "yes"


def main() -> None:
    """Measure the shapes that are asked for; what is done is written after each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--only", nargs="+", choices=sorted(SHAPES), metavar="SHAPE")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--before", type=Path, help="a result of an earlier version, to compare")
    parser.add_argument("--records", type=Path, help="write every single finding here, too")
    parser.add_argument("--output", type=Path, default=RESULTS / "stress.csv")
    given = parser.parse_args()
    before: dict[str, float] = {}
    if given.before:
        earlier = pd.read_csv(given.before, comment="#")
        before = dict(zip(earlier["shape"], earlier["settled"], strict=True))
    rows, findings = [], []
    names = [name for name in SHAPES if not given.only or name in given.only]
    for number, name in enumerate(names, start=1):
        row, found = measure(
            name, range(given.first, given.first + given.draws), given.jobs, before.get(name)
        )
        rows.append(row)
        findings.append(found)
        write(given.output, "benchmarks.stress", rows, SHOWN)
        if given.records:
            pd.concat(findings).to_csv(given.records, index=False, float_format="%.5f")
        sys.stderr.write(
            f"{number}/{len(names)} {name}: cover {row['coverage']:.0%}, settled "
            f"{row['settled']:.0%}, wrong {row['wrongly_biased']} + {row['wrongly_fair']}, "
            f"{row['seconds']:.1f} s a draw\n"
        )
        sys.stderr.flush()
    print(given.output.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
