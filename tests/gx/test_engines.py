"""The same verdict and numbers from pandas, SQLite, DuckDB and PostgreSQL."""

from __future__ import annotations

import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
pytest.importorskip("sqlalchemy", reason="needs mdba-checks[sql]")

import great_expectations as gx
import sqlalchemy
from great_expectations.expectations.row_conditions import Column
from packaging.version import Version

from mdba_checks.gx import estimates


@pytest.fixture(autouse=True)
def _estimate_anew():
    """Or the second engine would be given the numbers of the first."""
    estimates.forget()


@pytest.fixture(scope="module")
def sqlite(context, made, folder):
    url = f"sqlite:///{folder / 'labels.db'}"
    engine = sqlalchemy.create_engine(url)
    made.labels.to_sql("labels", engine, index=False)
    made.gold.to_sql("gold", engine, index=False)
    engine.dispose()
    return context.data_sources.add_sqlite("sqlite", connection_string=url)


@pytest.fixture(scope="module")
def duckdb(context, made, folder):
    duckdb = pytest.importorskip("duckdb", reason="needs mdba-checks[sql]")
    path = folder / "labels.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("made_labels", made.labels)
        connection.register("made_gold", made.gold)
        connection.execute("create table labels as select * from made_labels")
        connection.execute("create table gold as select * from made_gold")
    return context.data_sources.add_sql("duckdb", connection_string=f"duckdb:///{path}")


@pytest.fixture(scope="module")
def postgresql(context, made, postgres):
    engine = sqlalchemy.create_engine(postgres)
    made.labels.to_sql("labels", engine, index=False)
    made.gold.to_sql("gold", engine, index=False)
    engine.dispose()
    return context.data_sources.add_postgres("postgresql", connection_string=postgres)


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "postgresql"])
def database(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def table(database):
    asset = database.add_table_asset("labels", table_name="labels")
    return asset.add_batch_definition_whole_table("all")


def gaps(result):
    assert result.exception_info["exception_message"] is None
    return result.result["details"]["gaps"]


def test_a_table_gives_the_numbers_of_the_dataframe_it_was_made_of(table, batch, rule, expected):
    in_pandas = batch.validate(rule())
    estimates.forget()
    in_sql = table.get_batch().validate(rule())
    assert in_sql.success is in_pandas.success is False
    assert gaps(in_sql) == gaps(in_pandas)
    assert [row["gap"] for row in gaps(in_sql)] == expected.gaps["gap"].tolist()
    assert in_sql.result["details"]["data"] == in_pandas.result["details"]["data"]


def test_a_row_condition_is_honoured_in_a_table_and_in_a_query(database, table, batch, rule):
    condition = Column("labeler").is_in(["L1", "L2"])
    in_pandas = gaps(batch.validate(rule(row_condition=condition)))
    assert {row["labeler"] for row in in_pandas} == {"L1", "L2"}
    assert gaps(table.get_batch().validate(rule(row_condition=condition))) == in_pandas
    query = database.add_query_asset(
        "part", query="select * from labels where labeler <> 'L3'"
    ).add_batch_definition_whole_table("all")
    assert gaps(query.get_batch().validate(rule())) == in_pandas


def test_a_query_that_ends_in_a_remark_gives_its_numbers_or_an_error(database, batch, rule):
    query = database.add_query_asset(
        "remark", query="select * from labels where labeler <> 'L3' -- and a remark"
    ).add_batch_definition_whole_table("all")
    result = query.get_batch().validate(rule())
    if Version(gx.__version__) < Version("1.24"):  # which puts what follows into the remark
        assert result.exception_info["exception_message"].startswith("the batch cannot be read: ")
    else:
        condition = Column("labeler").is_in(["L1", "L2"])
        assert gaps(result) == gaps(batch.validate(rule(row_condition=condition)))


def test_gold_may_be_a_table_of_the_same_database(database, table, rule, expected):
    definition = database.add_table_asset("gold", table_name="gold")
    definition.add_batch_definition_whole_table("all")
    place = {"data_source": database.name, "asset": "gold", "batch_definition": "all"}
    found = gaps(table.get_batch().validate(rule(gold=place)))
    assert [row["gap"] for row in found] == expected.gaps["gap"].tolist()
    # Looking at gold must not make it the batch that other expectations are about.
    from great_expectations.expectations import ExpectColumnToExist

    batch = table.get_batch()
    batch.validate(rule(gold=place))
    assert batch.validate(ExpectColumnToExist(column="labeler")).success or (
        database.name == "duckdb"  # whose tables Great Expectations cannot describe
    )


def test_gold_may_be_a_query(database, table, rule, made):
    asset = database.add_query_asset("half", query="select * from gold where \"group\" = 'men'")
    asset.add_batch_definition_whole_table("all")
    place = {"data_source": database.name, "asset": "half", "batch_definition": "all"}
    result = table.get_batch().validate(rule(gold=place))
    assert "groups that gold does not have: 'women'" in result.exception_info["exception_message"]


def test_a_wrong_column_of_a_table_is_one_line(table, rule):
    result = table.get_batch().validate(rule(labeler_column="labler"))
    said = result.exception_info["exception_message"]
    assert said == "the batch has no column 'labler' (labeler_column). Did you mean 'labeler'?"


def test_a_boolean_group_means_the_same_in_sqlite_as_in_pandas(context, made, folder, rule, frames):
    labels = made.labels.assign(group=made.labels["group"] == "women")
    gold = made.gold.assign(group=made.gold["group"] == "women")
    gold.to_csv(folder / "boolean.csv", index=False)
    url = f"sqlite:///{folder / 'boolean.db'}"
    engine = sqlalchemy.create_engine(url)
    labels.to_sql("labels", engine, index=False)
    engine.dispose()
    source = context.data_sources.add_sqlite("boolean", connection_string=url)
    table = source.add_table_asset("labels", table_name="labels")
    asked = rule(gold=str(folder / "boolean.csv"), reference_group=False)
    in_sql = table.add_batch_definition_whole_table("all").get_batch().validate(asked)
    in_pandas = frames.get_batch({"dataframe": labels}).validate(asked)
    assert gaps(in_sql) == gaps(in_pandas)
    assert {(row["group"], row["reference"]) for row in gaps(in_sql)} == {("true", "false")}


def test_gold_may_be_a_file_asset_of_the_context(context, batch, rule, folder, expected):
    files = context.data_sources.add_pandas_filesystem("files", base_directory=folder)
    asset = files.add_csv_asset("gold").add_batch_definition_path("all", "gold.csv")
    place = {"data_source": "files", "asset": "gold", "batch_definition": asset.name}
    found = gaps(batch.validate(rule(gold=place)))
    assert [row["gap"] for row in found] == expected.gaps["gap"].tolist()


def test_gold_cannot_be_an_asset_that_has_no_data_of_its_own(context, batch, rule):
    memory = context.data_sources.add_pandas("memory").add_dataframe_asset("gold")
    memory.add_batch_definition_whole_dataframe("all")
    place = {"data_source": "memory", "asset": "gold", "batch_definition": "all"}
    said = batch.validate(rule(gold=place)).exception_info["exception_message"]
    assert said.startswith("gold: data source 'memory', asset 'gold', batch definition 'all'")
    assert "\n" not in said
