"""Tables in a real PostgreSQL: the numbers of the file they came from, and errors in one line."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

pytest.importorskip("sqlalchemy", reason="needs mdba-checks[sql]")

import sqlalchemy

from mdba_checks import CheckConfig, assess
from mdba_checks.errors import InputError
from mdba_checks.simulation import simulate
from mdba_checks.tables import load, read_table

WRONG = "hunter2"


@pytest.fixture(scope="module")
def made() -> Any:
    return simulate(n_items=3_000, n_labelers=3, gold_per_group=150, tprs=[0.5, 0.9, 0.94], seed=1)


@pytest.fixture(scope="module")
def tables(postgres: str, made: Any) -> str:
    """The URL of a database with the simulated tables; those in the schema "hr dept" are typed."""
    engine = sqlalchemy.create_engine(postgres)
    made.labels.to_sql("labels", engine, index=False)
    made.gold.to_sql("gold", engine, index=False)
    with engine.begin() as connection:
        run = connection.exec_driver_sql
        run('create schema "hr dept"')
        run('create table "hr dept"."Labels" as select * from labels')
        run('alter table "hr dept"."Labels" alter label type boolean using label = 1')
        run("create view decided as select * from labels")
    engine.dispose()
    return postgres


def numbers(labels: Any, gold: Any) -> pd.DataFrame:
    return assess(labels, gold, CheckConfig(reference="men")).gaps


def refusal(source: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, text_columns=[], missing_values=[])
    return str(caught.value)


@pytest.mark.parametrize("name", ["labels", "decided", "public.labels", "hr dept.Labels"])
def test_a_table_or_view_gives_the_numbers_of_the_dataframe(tables, made, name):
    in_memory = numbers(made.labels, made.gold)
    in_postgres = numbers(f"{tables}::{name}", f"{tables}::gold")
    pd.testing.assert_frame_equal(in_postgres, in_memory, check_exact=True)
    assert in_memory.loc[in_memory["labeler"] == "L1", "finding"].tolist() == ["biased"]


def test_types_that_files_do_not_have_are_read_as_what_they_mean(tables):
    engine = sqlalchemy.create_engine(tables)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "create table kinds as select * from (values"
            " ('007'::varchar(8), 12.50::numeric(8,2), true, date '2026-01-31', 5::smallint),"
            " ('7', null, null, null, null)) as t(labeler, pay, remote, applied, years)"
        )
    engine.dispose()
    table = read_table(f"{tables}::kinds", text_columns=["labeler"], missing_values=[])
    assert table["labeler"].to_pylist() == ["007", "7"]
    assert [float(table["pay"][0].as_py()), table["pay"][1].as_py()] == [12.5, None]
    assert table["remote"].to_pylist() == [True, None]
    assert str(table["applied"][0].as_py())[:10] == "2026-01-31"
    assert table["years"].to_pylist() == [5, None]


@pytest.mark.parametrize("kind", ["numeric(12, 4)", "double precision"])
def test_numbers_are_the_same_in_every_type_and_after_an_update_that_changes_nothing(
    tables, made, kind
):
    """PostgreSQL writes an updated row anew, at another place: the order of rows changes."""
    assert made.labels[["certificates", "test_score"]].dtypes.tolist() == ["int64", "float64"]
    names = ("typed_labels", "typed_gold")
    engine = sqlalchemy.create_engine(tables)
    with engine.begin() as connection:
        run = connection.exec_driver_sql
        for name, source in zip(names, ("labels", "gold"), strict=True):
            run(f"drop table if exists {name}")
            run(f"create table {name} as select * from {source}")  # noqa: S608  our own names
            for column in ("certificates", "test_score"):
                run(f"alter table {name} alter {column} type {kind}")
        run("update typed_labels set label = label where mod(item, 3) = 0")
    engine.dispose()
    found = load(*(f"{tables}::{name}" for name in names), CheckConfig())
    known = load(made.labels, made.gold, CheckConfig())
    assert (found.labels_hash, found.gold_hash) == (known.labels_hash, known.gold_hash)
    moved = pd.read_sql("select item from typed_labels", tables)["item"].tolist()
    assert moved != made.labels["item"].tolist()
    in_postgres = numbers(*(f"{tables}::{name}" for name in names))
    pd.testing.assert_frame_equal(in_postgres, numbers(made.labels, made.gold), check_exact=True)


def test_a_missing_table_is_answered_with_the_nearest_name(tables):
    assert refusal(f"{tables}::lables").endswith("Did you mean 'labels'?")


def test_a_wrong_password_is_one_line_that_shows_neither_password(tables):
    url = sqlalchemy.make_url(tables)
    wrong = url.set(password=WRONG).render_as_string(hide_password=False)
    said = refusal(f"{wrong}::labels")
    assert "password authentication failed" in said
    assert "\n" not in said
    assert WRONG not in said
    assert str(url.password) not in said


def test_a_user_without_the_right_to_read_is_told_so(tables):
    url = sqlalchemy.make_url(tables)
    name = f"visitor_of_{url.database}"
    engine = sqlalchemy.create_engine(tables)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"create role {name} login password '{WRONG}'")
    try:
        visitor = url.set(username=name, password=WRONG)
        said = refusal(f"{visitor.render_as_string(hide_password=False)}::labels")
    finally:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"drop role {name}")
        engine.dispose()
    assert "permission denied for table labels" in said
