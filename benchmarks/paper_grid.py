"""Measure accuracy on the paper's grid, and write it beside the published figures.

    python benchmarks/paper_grid.py --data FOLDER --jobs 2

The same as `mdba reproduce`, writing to benchmarks/results/paper_grid.csv and .md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mdba_checks.cli import main

RESULTS = Path(__file__).parent / "results"

if __name__ == "__main__":
    output = str(RESULTS / "paper_grid.csv")
    sys.exit(main(["reproduce", "--output", output, "--force", *sys.argv[1:]]))
