"""One expectation on a DataFrame: the shortest way to ask Great Expectations about labelers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import great_expectations as gx

from mdba_checks.gx import ExpectLabelerTprGapToBeWithin
from mdba_checks.simulation import simulate


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    made = simulate(n_items=4_000, n_labelers=3, gold_per_group=200, tprs=[0.5, 0.9, 0.93])
    made.gold.to_csv(folder / "gold.csv", index=False)

    context = gx.get_context(mode="ephemeral")
    labels = context.data_sources.add_pandas("memory").add_dataframe_asset("labels")
    batch = labels.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": made.labels})
    result = batch.validate(
        ExpectLabelerTprGapToBeWithin(
            max_gap=0.1, gold=str(folder / "gold.csv"), reference_group="men"
        )
    )
    print("success:", result.success)
    print("worst gap:", round(result.result["observed_value"], 2))
    for row in result.result["details"]["gaps"]:
        print(f"{row['labeler']}: {row['gap']:+.2f} {row['finding']}: {row['reason']}")


if __name__ == "__main__":
    main()
