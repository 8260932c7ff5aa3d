"""A Spark DataFrame stays where it is, and gives the numbers of the same table in memory."""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, assess
from mdba_checks.errors import InputError
from mdba_checks.estimation import rates as estimation
from mdba_checks.simulation import simulate

NUMBERS = ["gap", "std_error", "ci_low", "ci_high", "p_value", "rate", "table_gap"]

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def made():
    return simulate(n_items=3000, n_labelers=6, gold_per_group=60, seed=5)


@pytest.fixture
def small(monkeypatch):
    """Let the data fall into several buckets, and the pool be a sample."""
    monkeypatch.setattr(estimation, "_BUCKET_ROWS", 700)
    monkeypatch.setattr(estimation, "POOL_ROWS", 2000)


@pytest.fixture
def refuse_collecting(monkeypatch):
    """Let nobody bring the rows of a DataFrame here."""
    from pyspark.sql.classic.dataframe import DataFrame

    def refuse(*_):
        raise AssertionError("the table was collected")

    monkeypatch.setattr(DataFrame, "toPandas", refuse)
    whole = DataFrame.toArrow
    monkeypatch.setattr(
        DataFrame, "toArrow", lambda frame: whole(frame) if frame.isEmpty() else refuse()
    )


@pytest.mark.usefixtures("small", "refuse_collecting")
@pytest.mark.filterwarnings("ignore")
def test_a_dataframe_gives_the_numbers_of_the_table_whatever_its_partitions(spark, made, tmp_path):
    config = CheckConfig(reference="men")
    mixed = made.labels.sample(frac=1, random_state=1)
    for number in range(3):
        mixed.iloc[number::3].to_parquet(tmp_path / f"part{number}.parquet")
    whole = assess(made.labels, made.gold, config)
    frames = [spark.read.parquet(str(tmp_path))]
    frames.append(frames[0].repartition(5))
    for frame in frames:
        parts = assess(frame, made.gold, config)
        assert parts.gaps["finding"].tolist() == whole.gaps["finding"].tolist()
        np.testing.assert_allclose(parts.gaps[NUMBERS], whole.gaps[NUMBERS], atol=1e-6)
        pd.testing.assert_frame_equal(parts.overall, whole.overall, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_what_a_worker_refuses_is_one_line(spark, made):
    frame = spark.createDataFrame(made.labels.assign(label=[None, *made.labels["label"][1:]]))
    with pytest.raises(InputError, match="1 missing in column 'label'"):
        assess(frame, made.gold, CheckConfig())
