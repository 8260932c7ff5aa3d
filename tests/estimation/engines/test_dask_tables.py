"""Labels that Dask's workers read: the numbers and the rows of the same table in memory."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy, assess
from mdba_checks.estimation import rates as estimation
from mdba_checks.outputs import decide_release, verify, write_release
from mdba_checks.simulation import simulate

NUMBERS = ["gap", "std_error", "ci_low", "ci_high", "p_value", "rate", "table_gap"]
CONFIG = CheckConfig(reference="men", engine="dask", policy=Policy(mode="quarantine", max_gap=0.2))

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
def made():
    found = simulate(n_items=3000, n_labelers=6, gold_per_group=60, seed=5, tprs=[0.4, *[0.94] * 5])
    labels = found.labels.sample(frac=1, random_state=1).reset_index(drop=True)
    return labels.assign(row=np.arange(len(labels)) * 2.5), found.gold


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("labels")
    for number in range(3):
        made[0].iloc[number::3].to_parquet(path / f"part{number}.parquet", index=False)
    return path


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let the data fall into several buckets, and the pool be a sample."""
    monkeypatch.setattr(estimation, "_BUCKET_ROWS", 700)
    monkeypatch.setattr(estimation, "POOL_ROWS", 2000)


@pytest.fixture(scope="module")
def whole(made):
    """Return what one process finds, with the same buckets and pool."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimation, "_BUCKET_ROWS", 700)
        patch.setattr(estimation, "POOL_ROWS", 2000)
        local = CONFIG.model_copy(update={"engine": "local"})
        found = assess(*made, local)
        return found, decide_release(*made, found).table(made[0])


@pytest.fixture
def never_read(monkeypatch):
    """Let nobody read the labels as a table."""

    def refuse(*_, **__):
        raise AssertionError("the table was read here")

    monkeypatch.setattr("mdba_checks.tables.loading.open_table", refuse)


def _agrees(parts, whole):
    assert parts.gaps["finding"].tolist() == whole.gaps["finding"].tolist()
    np.testing.assert_allclose(parts.gaps[NUMBERS], whole.gaps[NUMBERS], atol=1e-6)
    pd.testing.assert_frame_equal(parts.overall, whole.overall, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("client", "never_read")
def test_files_are_read_by_workers_and_give_numbers_findings_and_rows(
    made, folder, whole, tmp_path
):
    parts = assess(folder, made[1], CONFIG)
    _agrees(parts, whole[0])
    write_release(folder, decide_release(folder, made[1], parts), tmp_path / "out.parquet")
    assert verify(tmp_path / "out.parquet").ok
    rows = pd.read_parquet(tmp_path / "out.parquet").sort_values("row").reset_index(drop=True)
    expected = whole[1].sort_values("row").reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, expected, rtol=0, atol=1e-6, check_dtype=False)


@pytest.mark.usefixtures("client", "never_read")
def test_a_pattern_and_a_dask_dataframe_give_the_same(made, folder, whole):
    frames = pytest.importorskip("dask.dataframe")
    _agrees(assess(f"{folder}/*.parquet", made[1], CONFIG), whole[0])
    _agrees(assess(frames.read_parquet(folder), made[1], CONFIG), whole[0])


@pytest.mark.usefixtures("never_read")
def test_a_killed_worker_changes_nothing(client, made, folder, whole):
    workers = [each["pid"] for each in client.run(_process).values()]

    def kill():
        time.sleep(0.7)
        os.kill(workers[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    parts = assess(folder, made[1], CONFIG)
    killer.join()
    _agrees(parts, whole[0])
    now = [each["pid"] for each in client.run(_process).values()]
    assert workers[0] not in now


def _process():
    return {"pid": os.getpid()}
