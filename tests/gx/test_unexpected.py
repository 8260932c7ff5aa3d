"""`result_format` as in core expectations: the unexpected rows are those of biased labelers."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

import sqlalchemy
from great_expectations.expectations.row_conditions import Column

from mdba_checks.gx import ExpectCohortTprGapToBeWithin

BY_ITEM = {"result_format": "COMPLETE", "unexpected_index_column_names": ["item"]}


@pytest.fixture(scope="module")
def biased(made):
    """The rows of L1, who is the only biased one."""
    return made.labels[made.labels["labeler"] == "L1"]


def found(batch, rule, form="SUMMARY"):
    """Return what is stored of the result."""
    stored = batch.validate(rule, result_format=form).to_json_dict()
    assert stored["exception_info"]["exception_message"] is None
    json.dumps(stored, allow_nan=False)
    return stored["result"]


def test_counts_and_shares_are_of_the_rows_of_biased_labelers(batch, rule, biased, made):
    for form in ("BASIC", "SUMMARY", "COMPLETE"):
        result = found(batch, rule(), form)
        assert (result["element_count"], result["unexpected_count"]) == (2700, len(biased))
        assert result["unexpected_percent"] == pytest.approx(100 * len(biased) / len(made.labels))
        assert result["partial_unexpected_list"] == ["L1"] * 20
        assert result["details"]["verdict"] == "block"
    assert "partial_unexpected_counts" not in found(batch, rule(), "BASIC")
    assert "unexpected_index_list" not in found(batch, rule(), "SUMMARY")


def test_the_rows_are_named_by_their_place_in_the_table(batch, rule, biased, made):
    result = found(batch, rule(), "COMPLETE")
    assert result["unexpected_index_list"] == biased.index.tolist()
    df = made.labels
    chosen = eval(result["unexpected_index_query"], {"df": df})  # noqa: S307  GX's own form
    assert chosen.equals(biased)


def test_the_rows_are_named_by_columns_where_that_is_asked_for(batch, rule, biased):
    result = found(batch, rule(), BY_ITEM)
    assert [each["item"] for each in result["unexpected_index_list"]] == biased["item"].tolist()
    assert {each["labeler"] for each in result["unexpected_index_list"]} == {"L1"}


def test_a_row_condition_is_honoured(batch, rule, biased):
    result = found(batch, rule(row_condition=Column("labeler").is_in(["L1", "L2"])), BY_ITEM)
    assert (result["element_count"], result["unexpected_count"]) == (1800, 900)
    assert [each["item"] for each in result["unexpected_index_list"]] == biased["item"].tolist()


def test_nobody_biased_is_no_unexpected_row(batch, rule):
    result = found(batch, rule(max_gap=0.9), BY_ITEM)
    assert (result["unexpected_count"], result["unexpected_index_list"]) == (0, [])


def test_undecided_labelers_are_not_among_them(batch, rule):
    result = found(batch, rule(max_gap=0.1))
    findings = {row["labeler"]: row["finding"] for row in result["details"]["gaps"]}
    assert (findings["L1"], findings["L3"]) == ("biased", "inconclusive")
    assert result["partial_unexpected_counts"] == [{"value": "L1", "count": 20}]


def test_numbers_as_names_are_found_as_numbers(frames, made, rule, biased):
    coded = made.labels.assign(labeler=made.labels["labeler"].str[1:].astype(int))
    result = found(frames.get_batch({"dataframe": coded}), rule(), "COMPLETE")
    assert result["unexpected_index_list"] == biased.index.tolist()
    assert result["partial_unexpected_list"] == [1] * 20


def test_the_query_of_a_table_finds_the_same_rows(context, made, tmp_path, rule, biased):
    url = f"sqlite:///{tmp_path / 'labels.db'}"
    engine = sqlalchemy.create_engine(url)
    made.labels.to_sql("labels", engine, index=False)
    source = context.data_sources.add_sqlite("unexpected", connection_string=url)
    table = source.add_table_asset("labels", table_name="labels")
    batch = table.add_batch_definition_whole_table("all").get_batch()
    result = found(batch, rule(), BY_ITEM)
    # Great Expectations fetches this many from a database; the query finds all of them.
    first = [each["item"] for each in result["unexpected_index_list"]]
    assert first == biased["item"].tolist()[:20]
    with engine.connect() as connection:
        rows = connection.execute(sqlalchemy.text(result["unexpected_index_query"])).mappings()
        assert [row["item"] for row in rows] == biased["item"].tolist()
    engine.dispose()


def test_a_database_that_cannot_be_described_still_gives_verdict_and_counts(
    context, made, tmp_path, rule
):
    duckdb = pytest.importorskip("duckdb", reason="needs mdba-checks[sql]")
    with duckdb.connect(str(tmp_path / "labels.duckdb")) as connection:
        connection.register("made_labels", made.labels)
        connection.execute("create table labels as select * from made_labels")
    url = f"duckdb:///{tmp_path / 'labels.duckdb'}"
    source = context.data_sources.add_sql("undescribed", connection_string=url)
    table = source.add_table_asset("labels", table_name="labels")
    result = found(table.add_batch_definition_whole_table("all").get_batch(), rule())
    assert (result["element_count"], result["unexpected_count"]) == (2700, 900)
    assert result["details"]["verdict"] == "block"


def test_an_index_column_that_is_not_there_is_said_beside_the_verdict(batch, rule):
    form = {"result_format": "COMPLETE", "unexpected_index_column_names": ["itme"]}
    result = found(batch, rule(), form)
    assert "itme" in result["unexpected_rows_problem"]
    assert "\n" not in result["unexpected_rows_problem"]
    assert (result["unexpected_count"], result["details"]["verdict"]) == (900, "block")


@pytest.mark.parametrize("columns", [["item"], ["item", "labeler"]])
def test_pseudonyms_hold_for_the_rows_as_well(batch, rule, monkeypatch, columns):
    monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "a secret")
    form = {
        "result_format": "COMPLETE",
        "unexpected_index_column_names": columns,
        "include_unexpected_rows": True,
    }
    result = found(batch, rule(pseudonymize=True), form)
    assert result["unexpected_count"] == len(result["unexpected_index_list"]) == 900
    assert "L1" not in json.dumps({**result, "details": None})
    (alias,) = set(result["unexpected_list"])
    assert alias in {row["labeler"] for row in result["details"]["gaps"]}


def test_for_cohorts_they_are_the_rows_of_biased_cohorts(frames, made, folder, biased):
    vendors = {"L1": "north", "L2": "south", "L3": "south"}
    labels = made.labels.assign(vendor=made.labels["labeler"].map(vendors))
    rule = ExpectCohortTprGapToBeWithin(
        max_gap=0.1,
        cohort_column="vendor",
        gold=str(folder / "gold.csv"),
        reference_group="men",
    )
    result = found(frames.get_batch({"dataframe": labels}), rule, BY_ITEM)
    assert result["unexpected_index_list"] == [
        {"vendor": "north", "item": item} for item in biased["item"]
    ]
