"""Run the published evaluation and write its figures beside ours.

    python -m benchmarks.paper --data FOLDER --repetitions 20 --jobs 2

Without --data, a quick grid on generated data. A run that was stopped goes on where it was:
finished cells are kept in a folder next to the output.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.paper import draw, render, run_grid, summarize
from benchmarks.paper.grid import default_grid
from mdba_checks.outputs import write_whole

RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Run what is not yet there, then write the table, the page and the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the four public data sets")
    parser.add_argument("--output", type=Path, default=RESULTS / "paper_grid.csv")
    parser.add_argument("--repetitions", type=int, help="default: 20, quick grid 2")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    asked = parser.parse_args()
    grid = default_grid(asked.data)
    if asked.repetitions is not None:
        grid = replace(grid, repetitions=asked.repetitions)
    records = run_grid(
        grid,
        asked.output.with_name(f".{asked.output.stem}"),
        folder=asked.data,
        jobs=asked.jobs,
        progress=lambda done, total: print(f"{done} of {total} data sets", file=sys.stderr),
    )
    summary = summarize(records)
    table = summary.to_csv(index=False, float_format="%.5f")
    for suffix, text in ((".csv", table), (".md", render(summary)), (".svg", draw(summary))):
        write_whole(asked.output.with_suffix(suffix), text, force=True)
    print(render(summary))


if __name__ == "__main__":
    main()
