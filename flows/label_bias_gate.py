"""The gate as a flow, for `prefect deploy` and for a shell:

    python flows/label_bias_gate.py labels.csv gold.csv mdba.yaml released.parquet

What it does is described in `mdba_checks.prefect`.
"""

from __future__ import annotations

import sys

from mdba_checks.prefect import label_bias_gate

__all__ = ["label_bias_gate"]


if __name__ == "__main__":
    ended = label_bias_gate(*sys.argv[1:], return_state=True)
    sys.exit(0 if ended.is_completed() else 1)
