"""A data contract with a rule about labelers, checked before the data is handed over."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from mdba_checks.gx import validate
from mdba_checks.simulation import simulate

CONTRACT = Path(__file__).parents[1] / "expectations" / "labels.odcs.yaml"


def main(folder: Path) -> None:
    made = simulate(n_items=4_000, n_labelers=3, gold_per_group=200, tprs=[0.5, 0.9, 0.93])
    made.labels.to_csv(folder / "labels.csv", index=False)
    made.gold.to_csv(folder / "gold.csv", index=False)
    # The contract leaves open where gold is, so that it can be published without it.
    ended = validate(
        folder / "labels.csv", contract=CONTRACT, schema="labels", gold=folder / "gold.csv"
    )
    print(ended.text)
    print("exit code:", ended.exit_code)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()))
