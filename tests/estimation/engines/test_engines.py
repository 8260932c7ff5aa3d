"""Threads, Dask and Spark: one answer, on a real local cluster and a real Spark session."""

from __future__ import annotations

import os
import shutil
import signal
import time

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, assess
from mdba_checks.errors import InputError
from mdba_checks.estimation import rates as estimation
from mdba_checks.estimation.engines import LocalEngine, open_engine
from mdba_checks.estimation.engines.window import in_order
from mdba_checks.simulation import simulate

NUMBERS = ["gap", "std_error", "ci_low", "ci_high", "p_value", "rate", "rate_reference"]


@pytest.fixture(scope="module")
def made():
    return simulate(n_items=4000, n_labelers=8, gold_per_group=60, seed=5)


@pytest.fixture
def small_buckets(monkeypatch):
    """Let the data fall into several buckets, and the pool be a sample."""
    monkeypatch.setattr(estimation, "_BUCKET_ROWS", 700)
    monkeypatch.setattr(estimation, "POOL_ROWS", 2500)


def gaps(made, **settings) -> pd.DataFrame:
    return assess(made.labels, made.gold, CheckConfig(reference="men", **settings)).gaps


def assert_same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    assert one["finding"].tolist() == other["finding"].tolist()
    np.testing.assert_allclose(one[NUMBERS], other[NUMBERS], atol=1e-6)


@pytest.mark.usefixtures("small_buckets")
@pytest.mark.parametrize("jobs", [2, 5])
def test_numbers_do_not_depend_on_the_number_of_jobs(made, jobs):
    assert_same(gaps(made, jobs=1), gaps(made, jobs=jobs))


@pytest.mark.usefixtures("small_buckets")
def test_numbers_do_not_depend_on_the_order_of_rows_or_the_jobs_together(made):
    mixed = made.labels.sample(frac=1, random_state=3)
    settings = CheckConfig(reference="men", jobs=3)
    assert_same(gaps(made, jobs=1), assess(mixed, made.gold, settings).gaps)


def test_no_more_tasks_are_under_way_than_allowed():
    under_way: list[int] = []
    most: list[int] = []

    def start(number: int) -> int:
        under_way.append(number)
        most.append(len(under_way))
        return number

    def finish(number: int) -> int:
        under_way.remove(number)
        return -number

    assert list(in_order(start, finish, range(7), most=3)) == [0, -1, -2, -3, -4, -5, -6]
    assert max(most) == 3


def test_threads_answer_in_order_and_take_work_as_they_go():
    taken: list[int] = []

    def work():
        for number in range(500):
            taken.append(number)
            yield number

    def slowly(common: int, each: int) -> int:
        time.sleep(0.002)
        return common * each

    answers = LocalEngine(2).map(slowly, 10, work())
    assert next(answers) == 0
    assert len(taken) < 500
    assert list(answers) == [10 * number for number in range(1, 500)]


def test_a_cluster_needs_an_engine_that_has_one():
    with pytest.raises(InputError, match="cluster is 'tcp://a:1', but engine is 'local'"):
        CheckConfig.from_mapping({"cluster": "tcp://a:1"})


# --- Dask ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dask_cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.mark.usefixtures("small_buckets")
def test_dask_gives_the_numbers_of_threads(made, dask_cluster):
    here = gaps(made, jobs=1)
    there = gaps(made, engine="dask", cluster=dask_cluster.scheduler_address)
    assert_same(here, there)


@pytest.mark.usefixtures("small_buckets")
def test_dask_gives_the_numbers_of_every_estimator(made, dask_cluster):
    cluster = {"engine": "dask", "cluster": dask_cluster.scheduler_address}
    for name in ("mdba", "gold_model", "selection_rate"):
        assert_same(gaps(made, estimator=name), gaps(made, estimator=name, **cluster))


@pytest.mark.usefixtures("small_buckets")
def test_a_killed_dask_worker_does_not_change_the_result(made, dask_cluster):
    import distributed

    with distributed.Client(dask_cluster) as client:
        before = set(client.run(os.getpid).values())

    def kill_one(stage: str, done: int, total: int) -> None:
        if stage == "labelers" and 0 < done < total and len(killed) == 0:
            victim = min(before)
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    killed: list[int] = []
    settings = CheckConfig(
        reference="men", engine="dask", cluster=dask_cluster.scheduler_address, jobs=2
    )
    result = assess(made.labels, made.gold, settings, progress=kill_one)
    assert killed
    assert_same(gaps(made, jobs=1), result.gaps)


@pytest.mark.filterwarnings("ignore")  # of Dask, about the scheduler that is not there
def test_a_scheduler_that_does_not_answer_is_one_line(made, monkeypatch):
    dask = pytest.importorskip("mdba_checks.estimation.engines.dask")
    monkeypatch.setattr(dask, "_CONNECT_SECONDS", 1)
    with pytest.raises(InputError) as caught:
        gaps(made, engine="dask", cluster="tcp://127.0.0.1:9")
    assert "\n" not in str(caught.value)
    assert "no Dask scheduler answers at cluster='tcp://127.0.0.1:9'" in str(caught.value)


# --- Spark ---------------------------------------------------------------------------------------

needs_java = pytest.mark.skipif(
    shutil.which("java") is None, reason="NO JAVA: the Spark engine is NOT tested on this machine"
)


@needs_java
@pytest.mark.usefixtures("small_buckets")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of PySpark's sockets
def test_spark_gives_the_numbers_of_threads_and_a_running_session_is_used_and_stays(made):
    sql = pytest.importorskip("pyspark.sql")
    with open_engine("spark", None, 2) as engine:  # starts a session
        assert list(engine.map(pow, 2, [1, 2, 3])) == [2, 4, 8]
        session = sql.SparkSession.getActiveSession()
        assert_same(gaps(made, jobs=1), gaps(made, engine="spark"))
        assert session.range(3).count() == 3
        with (
            pytest.raises(InputError, match=r"a Spark session with master 'local\[2\]' is running"),
            open_engine("spark", "spark://elsewhere:7077", 2),
        ):
            pass
    assert sql.SparkSession.getActiveSession() is None
