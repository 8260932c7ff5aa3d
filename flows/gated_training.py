"""Training behind the gate, for `prefect deploy` and for a shell:

    python flows/gated_training.py labels.csv gold.csv mdba.yaml released.parquet

What it does is described in `mdba_checks.prefect`. In a shell it ends with the exit codes of `mdba
check`: 0 completed, 1 blocked, 2 bad input, 3 undecided.
"""

from __future__ import annotations

import sys

from mdba_checks.prefect import gated_training, run_in_shell

__all__ = ["gated_training"]


if __name__ == "__main__":
    sys.exit(run_in_shell(gated_training, sys.argv[1:]))
