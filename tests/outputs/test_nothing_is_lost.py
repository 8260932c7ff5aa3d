"""Whatever is in the input is in the output: no row and no value is lost or changed."""

from __future__ import annotations

import csv
import gzip
import io
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdba_checks import Assessment, CheckConfig, Decision, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import ADDED_COLUMNS, annotate, verify
from mdba_checks.outputs.quarantine import quarantine, removed_path
from tests.helpers import write_annotated, write_quarantined

ROLES = ("labeler", "group", "label", "x")
CONFIG = CheckConfig(
    estimator="selection_rate",
    drop_missing=True,
    jobs=1,
    policy=Policy(mode="quarantine", on_inconclusive="annotate"),
)
GOLD = pd.DataFrame({"group": ["m", "w"] * 6, "gold": [0, 1, 1] * 4, "x": np.arange(12.0)})
NUMBER = count()

a_few = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])

# Everything that can stand in a text file; surrogates cannot, and a NUL makes it no text file.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(characters | st.sampled_from("\",;\t\n\r'=+-@ 0\ufeff"), max_size=8)
odd_texts = texts | st.sampled_from(
    ["007", "1.0", "1.50", "NA", "None", "nan", "", " ", "=1+1", '"', "a\r\nb", "1e5", "true", "é"]
)
names = (
    st.text(characters, min_size=1, max_size=8)
    .filter(lambda name: name.strip() and "\n" not in name and "\r" not in name)
    .filter(lambda name: name not in (*ROLES, *ADDED_COLUMNS, "item", "gold"))
    .filter(lambda name: not name.startswith(("\ufeff", "__index_level")))
)


def base(rows: int) -> dict[str, list]:
    """Return rows of three labelers, one of whom says yes to men only."""
    group = ["m", "w", "w", "m"]
    labeler = ["ann", "bob", "cem"]
    table = {"labeler": [], "group": [], "label": [], "x": []}
    for row in range(rows):
        who, about = labeler[row % 3], group[row // 3 % 4]
        table["labeler"].append(who)
        table["group"].append(about)
        table["label"].append(int(about == "m") if who == "ann" else row // 12 % 2)
        table["x"].append(row % 5)
    return table


def check(labels) -> tuple[Assessment, Decision]:
    assessment = assess(labels, GOLD, CONFIG)
    return assessment, gate(assessment)


def write_both(labels, folder: Path, form: str) -> tuple[Path, Path, Path]:
    """Annotate and quarantine; return the three data files."""
    assessment, decision = check(labels)
    number = next(NUMBER)
    whole, kept = folder / f"whole-{number}.{form}", folder / f"kept-{number}.{form}"
    write_annotated(labels, assessment, decision, whole)
    parts = quarantine(labels, GOLD, assessment)
    assert 0 < parts.n_removed < len(parts.removed)
    write_quarantined(labels, parts, assessment, decision, kept)
    assert verify(whole).ok
    assert verify(kept).ok
    return whole, kept, removed_path(kept)


# --- DataFrames ----------------------------------------------------------------------------------

N_ROWS = 120
YEARS = (pd.Timestamp(1970, 1, 1).to_pydatetime(), pd.Timestamp(2200, 1, 1).to_pydatetime())
columns = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
    st.lists(st.floats(), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.lists(odd_texts | st.none(), min_size=4, max_size=4),
    st.lists(st.datetimes(*YEARS), min_size=4, max_size=4),
    st.lists(st.integers() | st.text(max_size=3) | st.none() | st.floats(), min_size=4, max_size=4),
    st.lists(st.binary(max_size=3), min_size=4, max_size=4),
    st.lists(st.lists(st.integers(0, 3), max_size=2), min_size=4, max_size=4),
)
dtypes = st.sampled_from(
    [None, "category", "string", "Int64", "float32", "boolean", "datetime64[ns, UTC]", object]
)


@st.composite
def frames(draw) -> pd.DataFrame:
    frame = pd.DataFrame(base(N_ROWS))
    for name in draw(st.lists(names | st.integers() | st.just(""), max_size=3, unique_by=str)):
        values = draw(columns) * (N_ROWS // 4)
        series = pd.Series(values, dtype=object).infer_objects()
        wanted = draw(dtypes)
        if wanted is not None:
            # Not every value has every type.
            with suppress(TypeError, ValueError, OverflowError, RuntimeWarning):
                series = series.astype(wanted)
        frame.insert(draw(st.integers(0, frame.shape[1])), name, series)
    order = draw(st.permutations(range(12))) * 10
    frame = frame.iloc[order].reset_index(drop=True)  # rows are repeated
    frame.index = pd.Index(draw(st.sampled_from([range(N_ROWS), [7] * N_ROWS, list("abc") * 40])))
    return frame


@a_few
@given(frames())
def test_a_data_frame_keeps_rows_columns_types_and_index(frame):
    before = frame.copy(deep=True)
    assessment, _ = check(frame)
    annotated = annotate(frame, assessment)
    assert list(annotated.columns) == [*frame.columns, *ADDED_COLUMNS]
    pd.testing.assert_frame_equal(annotated[list(frame.columns)], before, check_exact=True)
    pd.testing.assert_frame_equal(frame, before, check_exact=True)


# --- CSV -----------------------------------------------------------------------------------------


@st.composite
def csv_files(draw) -> bytes:
    """Return a CSV file in one of many hands: delimiters, line ends, quotes, odd values."""
    delimiter = draw(st.sampled_from(",;\t"))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    rows = base(24)
    extra = draw(st.lists(names, max_size=3, unique=True))
    extra = [name for name in extra if not set(name) & set(",;\t")]
    header = [*ROLES, *extra]
    lines = [delimiter.join(quoted(name, delimiter, always=False) for name in header)]
    cells = draw(st.lists(odd_texts, min_size=6, max_size=6))
    for row in range(24):
        values = [str(rows[role][row]) for role in ROLES]
        values += [cells[(row + place) % len(cells)] for place in range(len(extra))]
        always = draw(st.booleans())
        lines.append(delimiter.join(quoted(value, delimiter, always=always) for value in values))
        if draw(st.integers(0, 9)) == 0:
            lines.append("")  # blank lines are no rows
    text = end.join(lines) + (end if draw(st.booleans()) else "")
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode()


def quoted(value: str, delimiter: str, *, always: bool) -> str:
    needed = any(c in value for c in (delimiter, "\n", "\r")) or value.startswith('"')
    return '"' + value.replace('"', '""') + '"' if always or needed else value


def parsed(content: bytes) -> tuple[list[str], list[list[str]]]:
    """Read CSV in another way: with Python's own reader, every value as text."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    text = content.decode("utf-8-sig")
    delimiter = max(",;\t", key=text.split("labeler", 1)[1][:7].count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    return rows[0], rows[1:]


@a_few
@given(content=csv_files(), packed=st.booleans())
def test_a_csv_file_keeps_the_text_of_every_value(content, packed, tmp_path):
    source = tmp_path / f"labels-{next(NUMBER)}.csv"
    source.write_bytes(content)
    header, rows = parsed(content)
    whole, kept, removed = write_both(source, tmp_path, "csv.gz" if packed else "csv")
    new_header, annotated = parsed(whole.read_bytes())
    assert new_header == [*header, *ADDED_COLUMNS]
    assert [row[: len(header)] for row in annotated] == rows
    who, n = header.index("labeler"), len(header)
    for file, biased in ((kept, False), (removed, True)):
        names, split = parsed(file.read_bytes())
        assert names == [*header, *ADDED_COLUMNS]
        assert [row[:n] for row in split] == [row for row in rows if (row[who] == "ann") == biased]
    assert source.read_bytes() == content


def test_what_is_added_to_csv_stands_behind_bytes_that_stay_as_they_were(tmp_path):
    line = 'ann;m;1;1;"007";"a ""b"";\n c" ;1.0\r\nbob;m;1;2;;\'x\' ;NA\r\n'
    other = "ann;w;0;3; 1;é;true\r\nbob;w;1;0;=1;nan;-0\r\n"
    content = "labeler;group;label;x;id;note;v\r\n" + (line + other) * 20
    source, output = tmp_path / "labels.csv", tmp_path / "out.csv"
    source.write_text(content, newline="")
    assessment, decision = check(source)
    write_annotated(source, assessment, decision, output)
    written = output.read_bytes().decode()
    assert written.startswith("labeler;group;label;x;id;note;v;mdba_gap;mdba_ci_low;")
    assert written.count('\r\nann;m;1;1;"007";"a ""b"";\n c" ;1.0;;;;biased;\r\n') == 20
    assert written.count("\r\nbob;w;1;0;=1;nan;-0;0.0;") == 20


# --- Parquet -------------------------------------------------------------------------------------

arrow_columns = st.sampled_from(
    [
        pa.array([1, None, 2**40, -5], pa.int64()),
        pa.array([1, 2, None, 250], pa.uint8()),
        pa.array([0.5, None, float("nan"), float("inf")], pa.float32()),
        pa.array(["007", None, "", "1.0"], pa.string()),
        pa.array(["2020-01-01", "2020-01-02", None, "2021-05-05"], pa.large_string()),
        pa.array(["a", "b", None, "a"]).dictionary_encode(),
        pa.array([True, None, False, True]),
        pa.array([datetime(2020, 1, 1, tzinfo=UTC), None] * 2, pa.timestamp("ns", "UTC")),
        pa.array([date(2020, 1, 1), None] * 2, pa.date32()),
        pa.array([timedelta(seconds=1), None] * 2, pa.duration("us")),
        pa.array([Decimal("1.50"), None] * 2, pa.decimal128(9, 2)),
        pa.array([[1, 2], None, [], [3]]),
        pa.array([{"a": 1}, None] * 2),
        pa.array([b"\x00\xff", None] * 2),
        pa.nulls(4),
    ]
)


@a_few
@given(st.lists(st.tuples(names, arrow_columns), max_size=4, unique_by=lambda pair: pair[0]))
def test_a_parquet_file_keeps_types_values_and_metadata(tmp_path, extra):
    table = pa.table(base(24))
    for name, values in extra:
        table = table.append_column(
            pa.field(name, values.type, metadata={"unit": "none"}), pa.concat_arrays([values] * 6)
        )
    table = table.replace_schema_metadata({"origin": "a test", "mdba": "of an earlier check"})
    source = tmp_path / f"labels-{next(NUMBER)}.parquet"
    pq.write_table(table, source)
    whole, kept, removed = (pq.read_table(p) for p in write_both(source, tmp_path, "parquet"))
    written = pq.read_table(source)
    assert whole.column_names == [*table.column_names, *ADDED_COLUMNS]
    assert same(whole.select(table.column_names), written)
    assert whole.schema.metadata[b"origin"] == b"a test"
    assert b"mdba" not in removed.schema.metadata
    biased = np.array(base(24)["labeler"]) == "ann"
    assert same(kept.select(table.column_names), written.filter(~biased))
    assert same(removed.select(table.column_names), written.filter(biased))


def same(one: pa.Table, other: pa.Table) -> bool:
    """Compare tables; Arrow's own comparison takes NaN for different from NaN."""
    fields = zip(one.schema, other.schema, strict=True)
    alike = all(a.equals(b, check_metadata=True) for a, b in fields)
    return alike and repr(one.to_pylist()) == repr(other.to_pylist())


def test_pandas_reads_back_its_own_types_and_index(tmp_path):
    frame = pd.DataFrame(base(24)).astype({"labeler": "category", "label": "Int64"})
    frame["when"] = pd.Timestamp("2020-01-01", tz="Europe/Berlin")
    frame.index = pd.Index([f"row {n}" for n in range(24)])
    source = tmp_path / "labels.parquet"
    frame.to_parquet(source)
    frame = pd.read_parquet(source)  # pandas 2 writes the seconds as milliseconds
    whole, kept, _ = write_both(source, tmp_path, "parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(whole)[list(frame)], frame)
    stayed = pd.read_parquet(kept)[list(frame)]
    pd.testing.assert_frame_equal(stayed, frame[frame["labeler"] != "ann"])


# --- From one format to another ------------------------------------------------------------------


def test_csv_becomes_parquet_without_losing_zeros_or_digits(tmp_path):
    source, output = tmp_path / "labels.csv", tmp_path / "out.parquet"
    rows = base(24)
    lines = ["labeler,group,label,x,zip,id,price,seen,note"]
    for row in range(24):
        values = [str(rows[role][row]) for role in ROLES]
        lines.append(",".join([*values, "01234", "123456789012345678901", "1.50", "true", "NA"]))
    source.write_text("\n".join(lines))
    assessment, decision = check(source)
    write_annotated(source, assessment, decision, output)
    table = pq.read_table(output)
    first = table.slice(0, 1).to_pylist()[0]
    assert first["zip"] == "01234"
    assert first["id"] == "123456789012345678901"
    assert (first["price"], first["seen"], first["note"]) == (1.5, True, "NA")
    for role in ROLES:
        assert table.column(role).to_pylist() == rows[role]
    assert verify(output).ok


def test_parquet_becomes_csv(tmp_path):
    source, output = tmp_path / "labels.parquet", tmp_path / "out.csv"
    table = pa.table(base(24))
    text = pa.array(["a,b", 'q"', None, "n\nl", "c\rr", "é"] * 4)
    table = table.append_column("text", text).append_column("f", pa.array([0.1, None, 2.5e-9] * 8))
    pq.write_table(table, source)
    assessment, decision = check(source)
    write_annotated(source, assessment, decision, output)
    header, rows = parsed(output.read_bytes())
    assert header == [*table.column_names, *ADDED_COLUMNS]
    assert [row[4] for row in rows] == [value or "" for value in text.to_pylist()]
    assert [float(row[5] or "nan") for row in rows[:3]] == pytest.approx(
        [0.1, np.nan, 2.5e-9], nan_ok=True
    )
    assert verify(output).ok


def test_nested_values_do_not_fit_into_csv(tmp_path):
    source = tmp_path / "labels.parquet"
    table = pa.table(base(24)).append_column("tags", pa.array([[1, 2]] * 24))
    pq.write_table(table, source)
    assessment, decision = check(source)
    with pytest.raises(InputError, match=r"column 'tags' .* an output that ends in \.parquet"):
        write_annotated(source, assessment, decision, tmp_path / "out.csv")
    assert [each.name for each in tmp_path.iterdir()] == ["labels.parquet"]


def test_a_folder_of_parts_becomes_one_file(tmp_path):
    folder = tmp_path / "labels"
    table = pa.table(base(24)).append_column("day", pa.array(["2020-01-01"] * 24))
    for number, begin in enumerate((0, 10)):
        part = folder / f"half={number}"
        part.mkdir(parents=True)
        pq.write_table(table.slice(begin, 10 if number == 0 else 14), part / "part.parquet")
    whole, kept, removed = (pq.read_table(p) for p in write_both(folder, tmp_path, "parquet"))
    assert whole.select(table.column_names).equals(table)
    assert whole.column("half").to_pylist() == ["0"] * 10 + ["1"] * 14
    assert kept.num_rows + removed.num_rows == 24


def test_a_mixed_column_of_a_data_frame_does_not_fit_into_parquet_but_into_csv(tmp_path):
    frame = pd.DataFrame(base(24)).assign(mixed=[1, "a"] * 12)
    assessment, decision = check(frame)
    with pytest.raises(InputError, match=r"column mixed .* ends in \.csv"):
        write_annotated(frame, assessment, decision, tmp_path / "out.parquet")
    write_annotated(frame, assessment, decision, tmp_path / "out.csv")
    assert [row[4] for row in parsed((tmp_path / "out.csv").read_bytes())[1]] == ["1", "a"] * 12
