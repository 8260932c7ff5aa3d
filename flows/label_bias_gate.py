"""The gate as a flow, for `prefect deploy` and for a shell:

    python flows/label_bias_gate.py labels.csv gold.csv mdba.yaml released.parquet

What it does is described in `mdba_checks.prefect`. In a shell it ends with the exit codes of `mdba
check`: 0 completed, 1 blocked, 2 bad input, 3 undecided.
"""

from __future__ import annotations

import sys

from mdba_checks.prefect import label_bias_gate, run_in_shell

__all__ = ["label_bias_gate"]


if __name__ == "__main__":
    sys.exit(run_in_shell(label_bias_gate, sys.argv[1:]))
