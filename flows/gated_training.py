"""Training behind the gate, for `prefect deploy` and for a shell:

    python flows/gated_training.py labels.csv gold.csv mdba.yaml released.parquet

What it does is described in `mdba_checks.prefect`.
"""

from __future__ import annotations

import sys

from mdba_checks.prefect import gated_training

__all__ = ["gated_training"]


if __name__ == "__main__":
    ended = gated_training(*sys.argv[1:], return_state=True)
    sys.exit(0 if ended.is_completed() else 1)
