"""Several group columns and every class in an expectation, on counted labels."""

from __future__ import annotations

import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

import great_expectations as gx
import pandas as pd
import yaml

from mdba_checks.gx import BlockOnLabelerGap, ExpectLabelerTprGapToBeWithin, LabelerGapError
from tests.helpers import crossed_selections, some_gold_of


def validated(tmp_path, labels, **fields):
    gold = some_gold_of(labels)
    if labels["label"].dtype == object:
        gold["gold"] = gold["gold"].map({0: "decline", 1: "invite"})
    gold.to_csv(tmp_path / "gold.csv", index=False)
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("labels").add_dataframe_asset("labels")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": labels})
    rule = ExpectLabelerTprGapToBeWithin(
        max_gap=0.2, gold=str(tmp_path / "gold.csv"), estimator="selection_rate", **fields
    )
    return batch.validate(rule, result_format="COMPLETE")


def test_two_group_columns_and_their_combinations(tmp_path):
    result = validated(
        tmp_path,
        crossed_selections(),
        group_column=["sex", "age"],
        reference_group={"sex": "men", "age": "under 50"},
        intersections=True,
    )
    assert result.success is False
    details = result.result["details"]
    biased = [row for row in details["gaps"] if row["finding"] == "biased"]
    assert [(row["attribute"], row["group"]) for row in biased] == [
        ("sex × age", "women × over 50")
    ]
    assert result.result["observed_value"] == pytest.approx(-0.3)
    assert result.result["unexpected_count"] == 2000  # all rows of Ann


def test_every_class(tmp_path):
    labels = crossed_selections()
    labels["label"] = labels["label"].map({0: "decline", 1: "invite"}).astype(object)
    result = validated(
        tmp_path, labels, group_column="age", reference_group="under 50", positive_label="each"
    )
    rows = result.result["details"]["gaps"]
    assert {(row["labeler"], row["class"]): round(row["gap"], 6) for row in rows} == {
        ("ann", "decline"): 0.15,
        ("bob", "decline"): 0.0,
        ("ann", "invite"): -0.15,
        ("bob", "invite"): 0.0,
    }


def test_every_class_in_a_suite_and_a_checkpoint_that_blocks(tmp_path):
    """From a stored suite to the action, as in production."""
    labels = crossed_selections()
    labels["label"] = labels["label"].map({0: "decline", 1: "invite"}).astype(object)
    gold = some_gold_of(labels)
    gold["gold"] = gold["gold"].map({0: "decline", 1: "invite"})
    gold.to_csv(tmp_path / "gold.csv", index=False)
    settings = {
        "columns": {"group": "age"},
        "reference": "under 50",
        "positive": "each",
        "estimator": "selection_rate",
        "policy": {"max_gap": 0.05},
    }
    (tmp_path / "mdba.yaml").write_text(yaml.safe_dump(settings))
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    asset = context.data_sources.add_pandas("labels").add_dataframe_asset("labels")
    batch = asset.add_batch_definition_whole_dataframe("all")
    rule = ExpectLabelerTprGapToBeWithin(
        config=str(tmp_path / "mdba.yaml"), gold=str(tmp_path / "gold.csv")
    )
    context.suites.add(gx.ExpectationSuite("labels", expectations=[rule]))
    checkpoint = context.checkpoints.add(
        gx.Checkpoint(
            name="gate",
            validation_definitions=[
                context.validation_definitions.add(
                    gx.ValidationDefinition(
                        name="labels", data=batch, suite=context.suites.get("labels")
                    )
                )
            ],
            actions=[BlockOnLabelerGap(name="block", findings=str(tmp_path / "findings.csv"))],
        )
    )
    with pytest.raises(LabelerGapError, match='ann says "decline"'):
        checkpoint.run(batch_parameters={"dataframe": labels})
    rows = pd.read_csv(tmp_path / "findings.csv")
    biased = rows[(rows["about"] == "labeler") & (rows["finding"] == "biased")]
    assert biased[["name", "class"]].to_numpy().tolist() == [
        ["ann", "decline"],
        ["ann", "invite"],
    ]
