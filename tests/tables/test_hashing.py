"""The hash of a table: the same for the same values, whatever order or type they are kept in."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy
from hypothesis import given
from hypothesis import strategies as st

from mdba_checks.config import CheckConfig
from mdba_checks.tables import Source, content, content_hash, load, read_table

TEXT = ["labeler", "label", "group", "gold", "item"]


def hashed(source: Source) -> str:
    return content_hash(read_table(source, text_columns=TEXT, missing_values=[]))


def test_it_tells_any_change_of_a_value_a_row_or_a_name(labels: pd.DataFrame) -> None:
    changed = labels.copy()
    changed.loc[7, "score"] += 1e-9
    exchanged = labels.copy()
    exchanged["score"] = labels["score"].to_numpy()[::-1]
    variants = [
        labels,
        changed,
        exchanged,
        labels.iloc[:-1],
        pd.concat([labels, labels.iloc[:1]]),
        labels.rename(columns={"job": "work"}),
        labels.assign(job=labels["job"].where(labels["job"] != "cook")),
        labels.assign(big=2**60),
        labels.assign(big=2**60 + 1),
        labels.assign(tags=[[1, 2]] * len(labels)),
        labels.assign(tags=[[1], [2]] * (len(labels) // 2)),
        labels.assign(tags=[{"a": 1}] * len(labels)),
        labels.assign(tags=[{"a": None}] * len(labels)),
        labels.assign(tags=[b"x"] * len(labels)),
        labels.assign(tags="x"),
        labels.assign(tags=1),
        labels.assign(tags="1"),
    ]
    assert len({hashed(variant) for variant in variants}) == len(variants)


def test_texts_are_told_apart_by_where_they_end() -> None:
    one, other = pa.table({"x": ["ab", "c"]}), pa.table({"x": ["a", "bc"]})
    assert content_hash(one) != content_hash(other)


CELLS = {
    "whole": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "real": st.floats(allow_nan=False) | st.none(),
    "name": st.text(max_size=3) | st.none(),
    "list": st.lists(st.floats(-1, 1), max_size=2) | st.none(),
    "texts": st.lists(st.text(max_size=2), max_size=2) | st.none(),
}


@given(st.data(), st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=12))
def test_rows_in_any_order_are_the_same_table(data: st.DataObject, rows: list[dict]) -> None:
    kinds = {
        "whole": pa.int64(),
        "real": pa.float64(),
        "name": pa.string(),
        "list": pa.list_(pa.float64()),
        "texts": pa.list_(pa.string()),
    }
    one = pa.Table.from_pylist(rows, schema=pa.schema(kinds))
    other = one.take(data.draw(st.permutations(range(len(rows)))))
    assert content(one).hash == content(other).hash
    assert one.take(content(one).order).equals(other.take(content(other).order))


WHOLE = [3, 0, -7, 2**40, 3, 12]
BROKEN = ["0.1", "-12345.678901", "1234567890.123456", "0.000001", "99999.99", "0.1"]
TYPED: dict[str, dict[str, list]] = {
    "integer": {"n": WHOLE, "m": BROKEN},
    "decimal": {"n": [Decimal(f"{v}.00") for v in WHOLE], "m": [Decimal(v) for v in BROKEN]},
    "float": {"n": [float(v) for v in WHOLE], "m": [float(v) for v in BROKEN]},
}


def as_parquet(frame: pd.DataFrame, path: Path) -> str:
    frame.to_parquet(path.with_suffix(".parquet"), index=False)
    return str(path.with_suffix(".parquet"))


def as_csv(frame: pd.DataFrame, path: Path) -> str:
    frame.to_csv(path.with_suffix(".csv"), index=False)
    return str(path.with_suffix(".csv"))


def as_sqlite(frame: pd.DataFrame, path: Path) -> str:
    url = f"sqlite:///{path.with_suffix('.db')}"
    engine = sqlalchemy.create_engine(url)
    decimals = {
        name: sqlalchemy.types.Numeric(30, 6)
        for name in frame
        if isinstance(frame[name].iloc[0], Decimal)
    }
    frame.to_sql("rows", engine, index=False, dtype=decimals)
    engine.dispose()
    return f"{url}::rows"


def as_duckdb(frame: pd.DataFrame, path: Path) -> str:
    with duckdb.connect(str(path.with_suffix(".duckdb"))) as connection:
        connection.register("frame", pa.Table.from_pandas(frame, preserve_index=False))
        connection.execute("create table rows as select * from frame")
    return f"duckdb:///{path.with_suffix('.duckdb')}::rows"


@pytest.mark.filterwarnings("ignore:Dialect sqlite.*does .not. support Decimal")
@pytest.mark.parametrize("keep", [as_parquet, as_csv, as_sqlite, as_duckdb])
@pytest.mark.parametrize("kind", ["integer", "decimal", "float"])
def test_integers_decimals_and_floats_of_equal_value_are_equal_on_every_source(
    kind: str, keep: Callable[[pd.DataFrame, Path], str], tmp_path: Path
) -> None:
    numbers = {"n": TYPED[kind]["n"], "m": TYPED["float" if kind == "integer" else kind]["m"]}
    shared = {"group": list("mwmwmw"), "item": WHOLE}
    labels = pd.DataFrame({"labeler": numbers["n"], "label": [1, 0, 1, 0, 1, 0], **shared})
    gold = pd.DataFrame({"gold": [1, 0, 0, 1, 1, 0], **shared})
    plain = [frame.assign(**TYPED["float"]) for frame in (labels, gold)]
    typed = [frame.assign(**numbers) for frame in (labels, gold)]
    one = load(*plain, CheckConfig())
    other = load(*(keep(each, tmp_path / f"t{n}") for n, each in enumerate(typed)), CheckConfig())
    assert (one.labels_hash, one.gold_hash) == (other.labels_hash, other.gold_hash)
    assert one.labelers == other.labelers == ("-7", "0", "1099511627776", "12", "3")
    np.testing.assert_array_equal(one.labels.trees[:], other.labels.trees[:])
    np.testing.assert_array_equal(one.labels.linear[:], other.labels.linear[:])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_large_integers_are_exact_in_every_type(values: list[int]) -> None:
    whole = pa.table({"x": pa.array(values, pa.int64())})
    decimal = pa.table({"x": pa.array([Decimal(v) for v in values], pa.decimal128(30, 2))})
    assert content_hash(whole) == content_hash(decimal)
    near = [float(v) for v in values]
    reals = pa.table({"x": pa.array(near, pa.float64())})
    assert (content_hash(reals) == content_hash(whole)) == ([int(v) for v in near] == values)
    for place, value in enumerate(values):
        other = [*values[:place], value - 1 if value > 0 else value + 1, *values[place + 1 :]]
        assert content_hash(pa.table({"x": pa.array(other, pa.int64())})) != content_hash(whole)


def test_unsigned_integers_are_exact_too() -> None:
    for value in (2**64 - 1, 2**63, 2**63 + 1, 2**60 + 1):
        unsigned = pa.table({"x": pa.array([value], pa.uint64())})
        decimal = pa.table({"x": pa.array([Decimal(value)], pa.decimal128(25))})
        less = pa.table({"x": pa.array([value - 1], pa.uint64())})
        assert content_hash(unsigned) == content_hash(decimal) != content_hash(less)


def test_digits_that_no_double_holds_are_seen() -> None:
    one, other = (
        pa.table({"x": [Decimal(text)]})
        for text in ("0.10000000000000000000", "0.10000000000000000001")
    )
    assert content_hash(one) == content_hash(pa.table({"x": [0.1]})) != content_hash(other)


def test_a_decimal_is_the_number_that_it_is_written_as() -> None:
    texts = [f"{n * 7919}.{n * 104_729 % 10**6:06d}" for n in range(5_000)]
    kept = pa.table({"x": pa.array([Decimal(text) for text in texts])})
    assert content_hash(kept) == content_hash(pa.table({"x": [float(text) for text in texts]}))


def test_the_hash_of_today_is_that_of_tomorrow(tmp_path: Path) -> None:
    """Sidecars outlive versions of this package and of those it is made with."""
    table = pa.table(
        {
            "n": [1, None, 2**60 + 1],
            "x": [0.5, -0.0, None],
            "name": ["Zoë", "", None],
            "vector": [[1.0, 2.0], [], None],
            "day": pa.array([0, 86_400_000_000, None], pa.timestamp("us")),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert (
        hashed(tmp_path / "t.parquet") == content_hash(table) == "64d7dafb80a6f52ff5e01c95343aa01c"
    )
