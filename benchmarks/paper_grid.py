"""Measure accuracy on the paper's grid, and write it beside the published figures.

    python benchmarks/paper_grid.py --data FOLDER [--repetitions 20] [--jobs 2]

The folder holds the four public data sets (see mdba_checks/reproduction/datasets.py). Without it a
quick grid on generated data is run. Finished cells are kept in --parts: a run that was stopped goes
on where it was. Writes benchmarks/results/paper_grid.csv and .md.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from mdba_checks import __version__
from mdba_checks.files import write_whole
from mdba_checks.reproduction import render, run_grid, summarize
from mdba_checks.reproduction.grid import default_grid

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run the grid as the command line says."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", type=Path, help="folder of the four data sets")
    arguments.add_argument("--repetitions", type=int)
    arguments.add_argument("--datasets", help="comma separated; default all")
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--parts", type=Path, default=RESULTS / ".paper_grid")
    arguments.add_argument("--output", type=Path, default=RESULTS / "paper_grid.csv")
    given = arguments.parse_args()
    grid = default_grid(given.data)
    if given.repetitions:
        grid = replace(grid, repetitions=given.repetitions)
    if given.datasets:
        grid = replace(grid, datasets=tuple(given.datasets.split(",")))
    start = time.monotonic()

    def tell(done: int, total: int) -> None:
        minutes = (time.monotonic() - start) / 60
        print(f"{done} of {total} cells, {minutes:.1f} min", file=sys.stderr, flush=True)

    records = run_grid(grid, given.parts, folder=given.data, jobs=given.jobs, progress=tell)
    summary = summarize(records)
    command = f"python benchmarks/paper_grid.py --data DATA --repetitions {grid.repetitions}"
    made = f"<!-- mdba-checks {__version__}, made by: {command} -->\n\n"
    write_whole(given.output, summary.to_csv(index=False, float_format="%.5f"), force=True)
    write_whole(given.output.with_suffix(".md"), made + render(summary), force=True)
    print(f"wrote {given.output} and {given.output.with_suffix('.md')}")


if __name__ == "__main__":
    main()
