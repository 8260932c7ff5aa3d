"""Spark batches stay on Spark, with the numbers of pandas; what is collected has a limit."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
pytest.importorskip("pyspark", reason="needs mdba-checks[spark]")

from great_expectations.expectations.row_conditions import Column

from mdba_checks.gx import estimates, fetching

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none"),
    # pyspark leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "localhost")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.ui.showConsoleProgress", "false")
        # Short jobs gain nothing from the second compiler.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def spark_batch(spark, context, folder):
    labels = spark.read.parquet(str(folder / "labels.parquet"))
    source = context.data_sources.add_spark("spark", persist=False)
    definition = source.add_dataframe_asset("labels").add_batch_definition_whole_dataframe("all")
    return definition.get_batch({"dataframe": labels})


def test_spark_gives_the_verdict_and_the_numbers_of_pandas(
    spark_batch, batch, rule, context, folder
):
    source = context.data_sources.add_spark_filesystem("spark_files", base_directory=folder)
    gold = source.add_csv_asset("gold", header=True, infer_schema=True)
    gold.add_batch_definition_path("all", "gold.csv")
    place = {"data_source": "spark_files", "asset": "gold", "batch_definition": "all"}
    plain, part = rule(), rule(row_condition=Column("labeler") == "L2")
    for asked, same in ((plain, plain), (part, part), (rule(gold=place), plain)):
        estimates.forget()
        in_spark = spark_batch.validate(asked)
        estimates.forget()
        in_pandas = batch.validate(same)
        assert in_spark.exception_info["exception_message"] is None
        assert in_spark.success is in_pandas.success is False
        same_gaps(in_spark, in_pandas)
        said = [dict(each.result["details"]["data"]) for each in (in_spark, in_pandas)]
        hashes = [each.pop("labels_hash") for each in said]
        assert said[0] == said[1]
        assert hashes[0].startswith("rows-")  # it was not collected
        for key in ("unexpected_count", "element_count"):
            assert in_spark.result[key] == in_pandas.result[key]


def same_gaps(one, other):
    for mine, theirs in zip(
        *(each.result["details"]["gaps"] for each in (one, other)), strict=True
    ):
        assert mine == pytest.approx(theirs, abs=1e-6)


def test_what_needs_all_rows_is_collected(spark_batch, batch, rule):
    asked = rule(estimator="gold_model")
    estimates.forget()
    in_spark = spark_batch.validate(asked)
    estimates.forget()
    same_gaps(in_spark, batch.validate(asked))
    assert not in_spark.result["details"]["data"]["labels_hash"].startswith("rows-")


def test_what_cannot_be_fetched_is_one_line(spark_batch, rule, monkeypatch):
    said = spark_batch.validate(rule(group_column="grop")).exception_info["exception_message"]
    assert said == "the batch has no column 'grop' (group_column). Did you mean 'group'?"
    monkeypatch.setattr(fetching, "SPARK_ROW_LIMIT", 1_000)
    estimates.forget()
    result = spark_batch.validate(rule(estimator="gold_model"))  # reads all rows in one place
    assert result.success is False
    said = result.exception_info["exception_message"]
    assert said.startswith("the Spark batch has more than 1,000 rows")
    assert "row_condition" in said
