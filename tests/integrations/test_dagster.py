"""A check and an asset in real Dagster runs."""

from __future__ import annotations

import dagster
import pandas as pd
import pytest

from mdba_checks import CheckConfig, release
from mdba_checks.integrations import dagster_asset, dagster_check


def labels_of(files):
    @dagster.asset
    def labels() -> pd.DataFrame:
        return pd.read_parquet(files.labels)

    return labels


def run(assets, checks=()):
    return dagster.materialize(
        [*assets, *checks], instance=dagster.DagsterInstance.ephemeral(), raise_on_error=False
    )


def trained(done) -> bool:
    made = done.get_asset_materialization_events()
    return "model" in {event.asset_key.path[-1] for event in made}


@pytest.fixture
def model():
    @dagster.asset(deps=["labels"])
    def model() -> None: ...

    return model


@pytest.mark.parametrize("read", ["value", "file"])
def test_biased_labels_fail_their_check_and_nothing_is_trained(biased, model, read):
    labels = labels_of(biased)
    where = {} if read == "value" else {"labels": biased.labels}
    check = dagster_check(labels, biased.gold, biased.config, **where)
    done = run([labels, model], [check])
    (found,) = done.get_asset_check_evaluations()
    assert (found.passed, found.metadata["verdict"].value) == (False, "block")
    assert "L1" in found.description
    assert found.metadata["labelers_biased"].value == 1
    assert not trained(done)


def test_fair_labels_pass_and_the_model_is_trained(fair, model):
    labels = labels_of(fair)
    done = run([labels, model], [dagster_check(labels, fair.gold, fair.config)])
    (found,) = done.get_asset_check_evaluations()
    assert (found.passed, found.metadata["verdict"].value) == (True, "pass")
    assert trained(done)


def test_a_table_from_which_rows_must_go_does_not_pass_as_it_is(partly, model):
    labels = labels_of(partly)
    done = run([labels, model], [dagster_check(labels, partly.gold, partly.config)])
    (found,) = done.get_asset_check_evaluations()
    assert (found.passed, found.metadata["verdict"].value) == (False, "quarantine")
    assert not trained(done)


def test_the_asset_holds_the_rows_of_release(partly):
    labels = labels_of(partly)
    done = run([labels, dagster_asset(labels, partly.gold, partly.config)])
    assert done.success
    table = done.output_for_node("released_labels")
    alone = release(partly.labels, partly.gold, CheckConfig.from_yaml(partly.config))
    pd.testing.assert_frame_equal(table, alone.table)
    assert sorted(table["labeler"].unique()) == ["L2", "L3"]


def test_the_asset_of_stopped_labels_fails_with_the_reasons(biased):
    labels = labels_of(biased)
    done = run([labels, dagster_asset("labels", biased.gold, biased.config)])
    assert not done.success
    (failed,) = (event for event in done.all_events if event.is_step_failure)
    assert failed.step_key == "released_labels"
    assert "block: " in failed.event_specific_data.error.message


def test_a_check_that_cannot_be_made_does_not_pass(fair, model):
    labels = labels_of(fair)
    done = run([labels, model], [dagster_check(labels, "nowhere.csv", fair.config)])
    assert not done.success
    assert not trained(done)
