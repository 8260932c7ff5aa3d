"""The same table is the same data, whatever file, database or type it is kept in."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.tables import load, read_table, source_name

CONFIG = CheckConfig()
TEXT = ["labeler", "label", "group", "gold", "item"]


def as_csv(frame: pd.DataFrame, path: Path) -> str:
    frame.to_csv(path.with_suffix(".csv"), index=False)
    return str(path.with_suffix(".csv"))


def as_gzip(frame: pd.DataFrame, path: Path) -> Path:
    with gzip.open(path.with_suffix(".csv.gz"), "wt", encoding="utf-8") as file:
        frame.to_csv(file, index=False)
    return path.with_suffix(".csv.gz")


def as_bom_and_semicolons(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path.with_suffix(".csv"), index=False, sep=";", encoding="utf-8-sig")
    return path.with_suffix(".csv")


def as_tabs(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path.with_suffix(".csv"), index=False, sep="\t", lineterminator="\r\n")
    return path.with_suffix(".csv")


def as_parquet(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_parquet(path.with_suffix(".parquet"), index=False)
    return path.with_suffix(".parquet")


def as_indexed_parquet(frame: pd.DataFrame, path: Path) -> Path:
    shuffled = frame.set_axis(np.random.default_rng(0).permutation(len(frame)))
    shuffled.to_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def as_parts(frame: pd.DataFrame, path: Path) -> Path:
    path.mkdir()
    (path / "_SUCCESS").touch()
    for part, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(path / f"part-{part}.parquet", index=False)
    return path


def as_objects(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    return frame.astype(object)


def as_categories(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    levels = pd.CategoricalDtype(["unused", "nurse", "cook", "clerk"], ordered=True)
    return frame.astype({"group": "category", "job": levels})


def as_nullable(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    return frame.convert_dtypes()


def as_arrow(frame: pd.DataFrame, path: Path) -> pa.Table:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    kinds = [pa.string_view() if pa.types.is_large_string(f.type) else f.type for f in table.schema]
    return table.cast(pa.schema(zip(table.column_names, kinds, strict=True)))


def as_other_column_order(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    return frame[frame.columns[::-1]]


def as_sqlite(frame: pd.DataFrame, path: Path) -> str:
    url = f"sqlite:///{path.with_suffix('.db')}"
    engine = sqlalchemy.create_engine(url)
    frame.to_sql("my rows", engine, index=False)
    engine.dispose()
    return f"{url}::my rows"


def as_duckdb(frame: pd.DataFrame, path: Path) -> tuple[str, str]:
    with duckdb.connect(str(path.with_suffix(".duckdb"))) as connection:
        connection.register("frame", frame)
        connection.execute("create table kept as select * from frame")
    return f"duckdb:///{path.with_suffix('.duckdb')}", "kept"


def as_windows(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path.with_suffix(".csv"), index=False, sep=";", encoding="cp1252")
    return path.with_suffix(".csv")


def as_utf16(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path.with_suffix(".csv"), index=False, sep="\t", encoding="utf-16")
    return path.with_suffix(".csv")


def as_excel(frame: pd.DataFrame, path: Path) -> Path:
    # As people type it: a number is a number, and a name such as 007 is text.
    frame.to_excel(path.with_suffix(".xlsx"), index=False)
    return path.with_suffix(".xlsx")


def as_second_sheet(frame: pd.DataFrame, path: Path) -> str:
    with pd.ExcelWriter(path.with_suffix(".xlsx")) as book:
        pd.DataFrame({"about": ["made in March"]}).to_excel(book, sheet_name="Read me", index=False)
        frame.to_excel(book, sheet_name="Größe 2", index=False, startrow=2)
    return f"{path.with_suffix('.xlsx')}::Größe 2"


def as_json(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_json(
        path.with_suffix(".json"), orient="records", date_format="iso", double_precision=15
    )
    return path.with_suffix(".json")


def as_json_lines(frame: pd.DataFrame, path: Path) -> Path:
    texts = frame.astype({"applied": str}).to_dict("records")
    lines = [json.dumps({k: v for k, v in row.items() if not pd.isna(v)}) for row in texts]
    path.with_suffix(".jsonl").write_text("\n".join(lines) + "\n")
    return path.with_suffix(".jsonl")


def as_file_url(frame: pd.DataFrame, path: Path) -> str:
    return (
        as_csv(frame, path.with_name(f"my {path.name}")).replace(" ", "%20").join(["file://", ""])
    )


def as_object(frame: pd.DataFrame, path: Path) -> str:
    with fsspec.open(f"memory://bucket/{path.name}.parquet", "wb") as file:
        frame.to_parquet(file, index=False)
    return f"memory://bucket/{path.name}.parquet"


def as_objects_in_parts(frame: pd.DataFrame, path: Path) -> str:
    storage = fsspec.filesystem("memory")
    storage.put(f"{as_parts(frame, path)}/", f"/parts/{path.name}/", recursive=True)
    return f"memory://parts/{path.name}"


FORMATS = [
    as_csv,
    as_windows,
    as_utf16,
    as_excel,
    as_second_sheet,
    as_json,
    as_json_lines,
    as_file_url,
    as_object,
    as_objects_in_parts,
    as_gzip,
    as_bom_and_semicolons,
    as_tabs,
    as_parquet,
    as_indexed_parquet,
    as_parts,
    as_objects,
    as_categories,
    as_nullable,
    as_arrow,
    as_other_column_order,
    as_sqlite,
    as_duckdb,
]


@pytest.mark.parametrize("keep", FORMATS)
def test_the_same_table_gives_the_same_data_in_every_format(
    keep: Callable[[pd.DataFrame, Path], object],
    labels: pd.DataFrame,
    gold: pd.DataFrame,
    tmp_path: Path,
    same: Callable[..., None],
) -> None:
    plain = load(labels, gold, CONFIG)
    kept = load(keep(labels, tmp_path / "labels"), keep(gold, tmp_path / "gold"), CONFIG)
    same(plain, kept, but=("messages",))
    assert plain.labelers == ("007", "7", "O'Neil, Zoë", "ann")


def test_the_input_frames_are_not_modified(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    labels.loc[3, "label"] = None
    before = labels.copy(deep=True), gold.copy(deep=True)
    load(labels, gold, CheckConfig(drop_missing=True))
    pd.testing.assert_frame_equal(labels, before[0])
    pd.testing.assert_frame_equal(gold, before[1])


# --- CSV: guesses that go wrong ------------------------------------------------------------------


def test_a_labeler_called_007_stays_007_and_a_late_letter_does_not_split_anybody(
    tmp_path: Path,
) -> None:
    path = tmp_path / "late.csv"
    rows = 300_000  # beyond the block that types are guessed from
    filler = "x" * 30
    with path.open("w") as file:
        file.write("labeler,code,amount,empty,filler\n")
        file.writelines(f"007,7,3,,{filler}\n" for _ in range(rows))
        file.write(f"A7,A7,3.5,9,{filler}\n")
    assert path.stat().st_size > 8 << 20
    table = read_table(path, text_columns=["labeler"], missing_values=[""])
    assert table["labeler"].unique().to_pylist() == ["007", "A7"]
    assert table["code"].unique().to_pylist() == ["7", "A7"]
    assert table["amount"].unique().to_pylist() == [3.0, 3.5]
    assert table["empty"].unique().to_pylist() == [None, 9]


def test_only_listed_texts_are_missing_in_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("group,x\nNA,1\nNone,\nnull,3\n,4\n")
    read = read_table(path, text_columns=["group"], missing_values=CONFIG.missing_values)
    assert read["group"].to_pylist() == ["NA", "None", None, None]
    assert read["x"].to_pylist() == [1, None, 3, 4]
    read = read_table(path, text_columns=["group"], missing_values=["NA", ""])
    assert read["group"].to_pylist() == [None, "None", "null", None]


def test_names_written_with_types_lost_are_spelled_as_if_they_had_them(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"labeler": [1.0, 2.0, np.nan], "group": [True, False, True], "item": ["1.0", "x", "True"]}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.csv"):
        table = read_table(source, text_columns=TEXT, missing_values=[""])
        assert table["labeler"].to_pylist() == ["1", "2", None]
        assert table["group"].to_pylist() == ["true", "false", "true"]
        assert table["item"].to_pylist() == ["1.0", "x", "True"]


def test_line_breaks_and_quotes_inside_values_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('group,note\nmen,"first\nsecond, ""third"""\nwomen,plain\n')
    table = read_table(path, text_columns=["group"], missing_values=[])
    assert table["note"].to_pylist() == ['first\nsecond, "third"', "plain"]


def test_a_column_of_text_dates_means_the_same_as_one_of_dates() -> None:
    texts = ["2024-01-02", None, "2024-03-04 05:06:07"]
    frame = pd.DataFrame({"a": texts, "b": pd.to_datetime(texts, format="ISO8601")})
    table = read_table(frame, text_columns=[], missing_values=[])
    assert table["a"].to_pylist() == table["b"].to_pylist()
    times = read_table(
        pd.DataFrame({"a": ["10:30", "11:00:05"]}), text_columns=[], missing_values=[]
    )
    assert [moment.hour for moment in times["a"].to_pylist()] == [10, 11]
    almost = read_table(
        pd.DataFrame({"a": ["2024-01-02", "soon"]}), text_columns=[], missing_values=[]
    )
    assert almost["a"].to_pylist() == ["2024-01-02", "soon"]


# --- Odd frames ----------------------------------------------------------------------------------


def test_odd_column_types_of_a_frame_are_read_by_their_values() -> None:
    frame = pd.DataFrame(
        {
            "mixed": [1, "a", None],
            "numbers": pd.Series([1, 2.5, None], dtype=object),
            "decimals": [Decimal("1.5"), 2, None],
            "huge": [2**80, 1, None],
            "sparse": pd.arrays.SparseArray([0, 0, 3]),
            "complex": [1j, 2j, 3j],
            5: pd.Series([1, None, 3], dtype="Int8"),
        }
    )
    table = read_table(frame, text_columns=[], missing_values=[])
    assert table["mixed"].to_pylist() == ["1", "a", None]
    assert table["numbers"].to_pylist() == [1.0, 2.5, None]
    assert table["decimals"].to_pylist() == [Decimal("1.5"), Decimal(2), None]
    assert table["huge"].to_pylist() == [float(2**80), 1.0, None]
    assert table["sparse"].to_pylist() == [0, 0, 3]
    assert table["complex"].to_pylist() == ["1j", "2j", "3j"]
    assert table["5"].to_pylist() == [1, None, 3]


def test_parts_of_a_folder_may_differ_in_number_type_and_carry_their_folder_names(
    tmp_path: Path,
) -> None:
    for group, ages in (("men", [1, 2]), ("women", [1.5, None])):
        (tmp_path / f"group={group}").mkdir()
        pq.write_table(pa.table({"age": ages}), tmp_path / f"group={group}" / "part.parquet")
    table = read_table(tmp_path, text_columns=["group"], missing_values=[])
    assert table["age"].to_pylist() == [1.0, 2.0, 1.5, None]
    assert table["group"].to_pylist() == ["men", "men", "women", "women"]


# --- Unreadable ----------------------------------------------------------------------------------


def refusal(source: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, text_columns=TEXT, missing_values=[""])  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n \n", "is empty"),
        ("t.csv", b"a,b\n1,2\n3\n", "Expected 2 columns, got 1"),
        ("t.csv", b"a,b,a\n1,2,3\n", "two columns called 'a'"),
        ("t.csv", "a,group\n1,Zoë\n".encode() + b"1,caf\xe9\n", "is not UTF-8 throughout"),
        ("t.csv", b"a,group\n1,caf\xe9\x81\n", "is not UTF-8 throughout"),
        ("t.csv", b"PK\x03\x04\0\0\0", "is not a text file"),
        ("t.csv", b'a,b\n1,"x\n2,y\n', "never closed"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:-20], "cannot read"),
        ("t.parquet", b"a,b\n1,2\n", "cannot read"),
        ("t.parquet", b"", "cannot read"),
        ("t.xlsx", b"a,b\n", "cannot read"),
        ("t.xls", b"a,b\n", "save it as .xlsx"),
        ("t.json", b"a,b\n", "is not JSON"),
        ("t.json", b'{"a": {"0": 1}, "b": {"0": 2}}', "orient='records'"),
        ("t.json", b'[{"a": 1}, 2]', "entry 2 is a int"),
        ("t.jsonl", b'{"a": 1}\n{"a": 2,}\n', "line 2"),
        ("t.jsonl", b'{"a": "\xe9"}\n', "is not UTF-8"),
        ("t.json", b"[]", "holds no records"),
        ("t.feather", b"a,b\n", "known are .csv, .csv.gz, .parquet, .xlsx, .json, .jsonl"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_one_line(
    name: str, content: bytes, expected: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    message = refusal(tmp_path / name)
    assert expected in message
    assert name in message


def test_the_first_letter_that_is_not_utf8_may_come_late(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_bytes(b"group,a\n" + b"men,x\n" * 400_000 + b"caf\xe9,x\n")
    table = read_table(path, text_columns=TEXT, missing_values=[])
    assert table["group"][-1].as_py() == "café"
    path.write_bytes("group,a\nZoë,x\n".encode() + b"men,x\n" * 400_000 + b"caf\xe9,x\n")
    assert "is not UTF-8 throughout" in refusal(path)


def test_a_ragged_row_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6,7\n")
    assert "Row #4" in refusal(path)


def test_a_broken_row_cannot_steer_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n\x1b[31mred\n")
    assert "\x1b" not in refusal(path)


def test_a_missing_file_is_answered_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").touch()
    assert "Did you mean 'labels.csv'?" in refusal(tmp_path / "lables.csv")
    assert "no such file" in refusal(tmp_path / "nowhere" / "labels.csv")
    assert "holds no .parquet file" in refusal(tmp_path)


def test_other_things_are_refused_by_name() -> None:
    assert "list" in refusal([1, 2])
    assert "download it" in refusal("https://user:hunter2@example.org/labels.csv?token=hunter2")
    assert "two columns called 'a'" in refusal(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    assert "column 'labeler'" in refusal(pd.DataFrame({"labeler": [[1], [2]]}))


# --- Databases -----------------------------------------------------------------------------------


def test_a_missing_database_file_is_not_created(tmp_path: Path) -> None:
    for scheme in ("sqlite", "duckdb"):
        assert "no such file" in refusal(f"{scheme}:///{tmp_path}/absent.db::labels")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_table_is_answered_with_the_nearest_name(
    labels: pd.DataFrame, tmp_path: Path
) -> None:
    url, table = as_duckdb(labels, tmp_path / "x")
    assert f"Did you mean {table!r}?" in refusal(f"{url}::kepd")
    source = as_sqlite(labels, tmp_path / "x").replace("my rows", "my row")
    assert "Did you mean 'my rows'?" in refusal(source)


def test_a_column_whose_values_change_type_halfway_is_read_whole(tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/t.db")
    with engine.begin() as connection:
        connection.exec_driver_sql("create table t (a, b, c)")
        rows = [(1, 1, None)] * 60_000 + [("x", 2.5, None)]
        connection.exec_driver_sql("insert into t values (?, ?, ?)", rows)
    table = read_table(f"sqlite:///{tmp_path}/t.db::t", text_columns=[], missing_values=[])
    assert table["a"].unique().to_pylist() == ["1", "x"]
    assert table["b"].unique().to_pylist() == [1.0, 2.5]
    assert table["c"].null_count == 60_001


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@localhost:1/db::labels",
        "postgresql://ann:hunter2@localhost:1/db",
        "postgresql+nodriver://ann:hunter2@localhost/db::labels",
        "nosuchthing://ann:hunter2@localhost/db::labels",
        "postgresql://ann:hun/hunter2@local::host/db",
        "postgresql://ann:x::hunter2@host/db",
        "mysql://ann:hunter2",
        "sqlite:////nowhere/file.db?password=hunter2::labels",
        "mssql+pyodbc:///?odbc_connect=PWD%3Dhunter2;UID=a@b::labels",
        ("postgresql://ann:hunter2@localhost:notaport/db", "labels"),
        ("ann:hunter2", "labels"),
        Path("postgresql://ann:hunter2@localhost/db"),
    ],
)
def test_secrets_in_urls_never_reach_a_message(url: object) -> None:
    assert "hunter2" not in refusal(url)
    if not isinstance(url, Path):
        assert "hunter2" not in source_name(url)


def test_the_token_of_a_hosted_duckdb_is_not_named() -> None:
    url = "duckdb:///md:db?motherduck_token=hunter2::labels"
    assert source_name(url) == "table 'labels' of duckdb:///md:db"


def test_a_database_without_sqlalchemy_names_the_extra_to_install(tmp_path: Path) -> None:
    (tmp_path / "sqlalchemy.py").write_text("raise ModuleNotFoundError('sqlalchemy')")
    code = (
        "from mdba_checks.tables import read_table\n"
        "from mdba_checks.errors import MissingExtraError\n"
        "try: read_table('sqlite:///x.db::t', text_columns=[], missing_values=[])\n"
        "except MissingExtraError as error: print(error)"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "mdba-checks[sql]" in done.stdout
