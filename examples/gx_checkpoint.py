"""A checkpoint in front of training: it stops biased labels, and Data Docs show whose they are.

Run it with a folder to keep the project: python examples/gx_checkpoint.py my_project
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import great_expectations as gx
from great_expectations.checkpoint import UpdateDataDocsAction

from mdba_checks.gx import BlockOnLabelerGap, LabelerGapError, load_suite
from mdba_checks.simulation import simulate

SUITE = Path(__file__).parents[1] / "expectations" / "label_bias.json"


def main(folder: Path) -> None:
    made = simulate(n_items=9_000, n_labelers=6, gold_per_group=300, seed=1)
    made.labels.to_parquet(folder / "labels.parquet")
    made.gold.to_parquet(folder / "gold.parquet")

    context = gx.get_context(mode="file", project_root_dir=folder)
    files = context.data_sources.add_pandas_filesystem("files", base_directory=folder)
    labels = files.add_parquet_asset("labels").add_batch_definition_path("all", "labels.parquet")
    suite = context.suites.add(load_suite(SUITE))
    checkpoint = context.checkpoints.add(
        gx.Checkpoint(
            name="before_training",
            validation_definitions=[
                context.validation_definitions.add(
                    gx.ValidationDefinition(name="labels", data=labels, suite=suite)
                )
            ],
            actions=[
                UpdateDataDocsAction(name="docs"),
                BlockOnLabelerGap(severity="critical", sidecar="labels.mdba.json"),
            ],
        )
    )
    try:
        # Relative paths to gold and to the sidecar start at the project, beside the folder gx.
        checkpoint.run(expectation_parameters={"gold": "gold.parquet"})
    except LabelerGapError as stopped:
        print(stopped)
    else:
        print("training may start")
    print("read", context.get_docs_sites_urls()[0]["site_url"])
    print("and", folder / "labels.mdba.json")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    target.mkdir(parents=True, exist_ok=True)
    main(target.resolve())
