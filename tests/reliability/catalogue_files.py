"""Files that are not what they should be: encodings, delimiters, cut and renamed files, devices."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.reliability.base import Entry, Outcome, Unaffected, refused

FILES: list[Entry] = []

Write = Callable[[Path, pd.DataFrame], str]


def file(name: str, outcome: Outcome, write: Write, **more: Any) -> None:
    FILES.append(Entry(name, outcome, write=write, **more))


def named(source: str) -> Write:
    """Return what writes nothing and names a source."""
    return lambda _folder, _table: source


def csv_of(table: pd.DataFrame) -> str:
    return table.to_csv(index=False)


def content(name: str, make: Callable[[pd.DataFrame], bytes | str]) -> Write:
    """Return a writer that puts some content under a name."""

    def write(folder: Path, table: pd.DataFrame) -> str:
        made = make(table)
        path = folder / name
        path.write_bytes(made.encode() if isinstance(made, str) else made)
        return str(path)

    return write


def lines(change: Callable[[list[str]], list[str]]) -> Write:
    """Return a writer of a CSV file whose lines were changed; the first one is the header."""
    return content("t.csv", lambda t: "\n".join(change(csv_of(t).splitlines())) + "\n")


def parquet_of(table: pd.DataFrame) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), sink)
    return bytes(sink.getvalue())


def gzipped(table: pd.DataFrame) -> bytes:
    return gzip.compress(csv_of(table).encode(), mtime=0)


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


file("plain CSV", Unaffected(), lines(lambda rows: rows))
file("UTF-16", Unaffected(), content("t.csv", lambda t: csv_of(t).encode("utf-16")))
file(
    "UTF-16 without a mark",
    refused("t.csv", "not a text file"),
    content("t.csv", lambda t: csv_of(t).encode("utf-16-le")),
)
file(
    "Latin-1 and UTF-8 in one file",
    refused("t.csv", "not UTF-8"),
    content("t.csv", lambda t: csv_of(t).replace("cook", "köchin").encode() + b"\xe9\n"),
)
file("UTF-8 with a mark", Unaffected(), content("t.csv", lambda t: csv_of(t).encode("utf-8-sig")))
file("semicolons", Unaffected(), content("t.csv", lambda t: t.to_csv(index=False, sep=";")))
file("tabs", Unaffected(), content("t.csv", lambda t: t.to_csv(index=False, sep="\t")))
file(
    "bars between columns",
    refused("no column"),
    content("t.csv", lambda t: t.to_csv(index=False, sep="|")),
)
file(
    "line ends of an old Macintosh",
    Unaffected(),
    content("t.csv", lambda t: csv_of(t).replace("\n", "\r")),
)
file(
    "line ends of two systems",
    Unaffected(),
    content("t.csv", lambda t: csv_of(t).replace("\n", "\r\n", 40)),
)
file("blank lines at the end", Unaffected(), content("t.csv", lambda t: csv_of(t) + "\n\n\n"))
file(
    "a short row",
    refused("t.csv", "columns, got"),
    lines(lambda rows: [*rows[:9], rows[9].rpartition(",")[0], *rows[10:]]),
)
file(
    "a long row",
    refused("t.csv", "columns, got"),
    lines(lambda rows: [*rows[:9], rows[9] + ",7", *rows[10:]]),
)
file(
    "a delimiter at the end of every row but not of the header",
    refused("t.csv", "columns, got"),
    lines(lambda rows: [rows[0], *(row + "," for row in rows[1:])]),
)
file(
    "a delimiter at the end of every line",
    Unaffected(),
    lines(lambda rows: [row + "," for row in rows]),
)
file(
    "a remark above the header",
    refused("t.csv", "columns, got"),
    lines(lambda rows: ["# exported on Monday", *rows]),
)
file(
    "an unclosed quote",
    refused("t.csv", "never closed"),
    lines(lambda rows: [*rows[:9], rows[9].rpartition(",")[0] + ',"1', *rows[10:]]),
)
file(
    "an unclosed quote in the header",
    refused("t.csv"),
    content("t.csv", lambda t: '"' + csv_of(t)),
)
file(
    "two columns of one name",
    refused("two columns called 'job'"),
    content("t.csv", lambda t: csv_of(t.rename(columns={"score": "job"}))),
)
file("an exported row index without a name", Unaffected(), content("t.csv", lambda t: t.to_csv()))
file(
    "two columns without a name",
    refused("two columns called ''"),
    lines(lambda rows: [row + ",," for row in rows]),
)
file("no byte", refused("t.csv", "is empty"), content("t.csv", lambda _: b""))
file("blank lines only", refused("t.csv", "is empty"), content("t.csv", lambda _: b"\n \n\n"))
file("a header only", refused("has no rows"), lines(lambda rows: rows[:1]))
file(
    "a header without its line end",
    refused("has no rows"),
    content("t.csv", lambda t: csv_of(t).splitlines()[0]),
)
file(
    "a NUL byte in a value",
    refused("t.csv", "not a text file"),
    lines(lambda rows: [*rows[:5], rows[5].replace(",", ",\0", 1), *rows[6:]]),
)
file(
    "a picture",
    refused("t.csv"),
    content("t.csv", lambda _: b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" * 20),
)
file(
    "a login page",
    refused("t.csv"),
    content("t.csv", lambda _: "<!DOCTYPE html>\n<html><body>\n<p>Sign in, please</p>\n</html>\n"),
)
file(
    "JSON called CSV",
    refused("has no rows"),
    content("t.csv", lambda t: json.dumps(t.head(1).to_dict("records"))),
)
file(
    "a JSON file",
    Unaffected(),
    content("t.json", lambda t: t.to_json(orient="records")),
)
file(
    "no Excel file",
    refused("t.xlsx", "cannot read"),
    content("t.xlsx", lambda _: b"PK\x03\x04" * 9),
)
file(
    "another compression",
    refused("t.csv.bz2", ".csv.gz"),
    content("t.csv.bz2", lambda t: bz2.compress(csv_of(t).encode())),
)
file("a name without an ending", refused("known are .csv"), content("t", csv_of))


def as_zip(folder: Path, table: pd.DataFrame) -> str:
    path = folder / "t.csv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.csv", csv_of(table))
    return str(path)


file("a ZIP archive called CSV", refused("t.csv", "not a text file"), as_zip)
file(
    "Zstandard called gzip",
    refused("t.csv.gz"),
    content("t.csv.gz", lambda t: bytes(pa.compress(csv_of(t).encode(), "zstd", asbytes=True))),
)
file("gzip", Unaffected(), content("t.csv.gz", gzipped))
file("gzip called CSV", Unaffected(), content("t.csv", gzipped))
file("CSV called gzip", Unaffected(), content("t.csv.gz", csv_of))
file("no byte called gzip", refused("t.csv.gz", "is empty"), content("t.csv.gz", lambda _: b""))
file("gzip of nothing", refused("is empty"), content("t.csv.gz", lambda _: gzip.compress(b"")))
file(
    "half a gzip file",
    refused("t.csv.gz"),
    content("t.csv.gz", lambda t: gzipped(t)[: len(gzipped(t)) // 2]),
)
file(
    "gzip without its last four bytes",
    refused("t.csv.gz"),
    content("t.csv.gz", lambda t: gzipped(t)[:-4]),
)
file(
    "gzip with a wrong checksum",
    refused("t.csv.gz"),
    content("t.csv.gz", lambda t: flipped(gzipped(t), len(gzipped(t)) - 6)),
)
file(
    "gzip with a byte turned",
    refused("t.csv.gz"),
    content("t.csv.gz", lambda t: flipped(gzipped(t), len(gzipped(t)) // 2)),
)
file("Parquet", Unaffected(), content("t.parquet", parquet_of))
file("Parquet called CSV", refused("t.csv", "not a text file"), content("t.csv", parquet_of))
file("CSV called Parquet", refused("t.parquet", "cannot read"), content("t.parquet", csv_of))
file("no byte called Parquet", refused("t.parquet"), content("t.parquet", lambda _: b""))
file(
    "half a Parquet file",
    refused("t.parquet", "cannot read"),
    content("t.parquet", lambda t: parquet_of(t)[: len(parquet_of(t)) // 2]),
)
file(
    "Parquet without its last byte",
    refused("t.parquet", "cannot read"),
    content("t.parquet", lambda t: parquet_of(t)[:-1]),
)
file(
    "Parquet whose footer lies about its length",
    refused("t.parquet", "cannot read"),
    content("t.parquet", lambda t: parquet_of(t)[:-8] + b"\xff\xff\xff\x7fPAR1"),
)


def as_parts(folder: Path, table: pd.DataFrame) -> str:
    for part, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(folder / f"part-{part}.parquet", index=False)
    return str(folder)


def parts_then(change: Callable[[Path], object]) -> Write:
    def write(folder: Path, table: pd.DataFrame) -> str:
        as_parts(folder, table)
        change(folder)
        return str(folder)

    return write


def as_csv_files(folder: Path, table: pd.DataFrame) -> str:
    table.to_csv(folder / "t.csv", index=False)
    return str(folder)


def as_folder(folder: Path, table: pd.DataFrame) -> str:
    (folder / "t.csv").mkdir()
    return str(folder / "t.csv")


def other_scores(folder: Path) -> None:
    part = folder / "part-1.parquet"
    pd.read_parquet(part).assign(score="high").to_parquet(part, index=False)


file("a folder of Parquet parts", Unaffected(), as_parts)
file(
    "a folder with one part cut short",
    refused("cannot read", "part-1.parquet"),
    parts_then(lambda folder: os.truncate(folder / "part-1.parquet", 900)),
)
file(
    "a folder whose parts do not fit together",
    refused("do not fit together"),
    parts_then(other_scores),
)
file("a folder of CSV files", refused("holds no .parquet file"), as_csv_files)
file("an empty folder", refused("holds no .parquet file"), lambda folder, _: str(folder))
file("a folder called CSV", refused("holds no .parquet file"), as_folder)


# --- Things that are not files -------------------------------------------------------------------


def link(name: str, target: str) -> Write:
    """Return a writer that leaves a link with a name."""

    def write(folder: Path, table: pd.DataFrame) -> str:
        (folder / name).symlink_to(target)
        return str(folder / name)

    return write


def fifo(name: str) -> Write:
    def write(folder: Path, table: pd.DataFrame) -> str:
        os.mkfifo(folder / name)
        return str(folder / name)

    return write


def fifo_among_parts(folder: Path) -> None:
    os.mkfifo(folder / "part-9.parquet")


def locked(folder: Path, table: pd.DataFrame) -> str:
    path = folder / "t.csv"
    table.to_csv(path, index=False)
    path.chmod(0)
    return str(path)


file("nothing there", refused("no such file", "t.csv"), lambda folder, _: str(folder / "t.csv"))
file("a link to nothing", refused("t.csv"), link("t.csv", "absent.csv"))
file("a link to itself", refused("t.csv"), link("t.csv", "t.csv"))
file("a pipe that nobody writes to", refused("t.csv"), fifo("t.csv"))
file("a pipe called Parquet", refused("t.parquet"), fifo("t.parquet"))
file("a pipe among Parquet parts", Unaffected(), parts_then(fifo_among_parts))
file("a device that never ends", refused("t.csv"), link("t.csv", "/dev/zero"))
file("a device of noise", refused("t.csv"), link("t.csv", "/dev/urandom"))
file("a device called Parquet", refused("t.parquet"), link("t.parquet", "/dev/zero"))
file("a device that is empty", refused("t.csv"), link("t.csv", "/dev/null"))
file("a file whose reading fails", refused("t.csv", "cannot read"), link("t.csv", "/proc/self/mem"))
file("a file that may not be read", refused("t.csv", "cannot read"), locked)
file("a NUL byte in the name", refused("t\\x00.csv"), named("t\0.csv"))
file(
    "a name longer than any file system allows",
    refused("cannot read"),
    named("t" * 5_000 + ".csv"),
)
file(
    "an empty file whose name has a line break",
    refused("is empty"),
    content("t\nmdba: all is well.csv", lambda _: b""),
)
file(
    "a name with a line break",
    refused("no such file"),
    lambda folder, _: str(folder / "t\nmdba: all is well.csv"),
)


# --- Elsewhere -----------------------------------------------------------------------------------


def sqlite(*, table: str = "t", into: str = "t", before: bytes | None = None) -> Write:
    """Return a writer of a database that is asked for `table` and holds `into`."""

    def write(folder: Path, rows: pd.DataFrame) -> str:
        path = folder / "t.db"
        if before is not None:
            path.write_bytes(before)
        elif into:
            with closing(sqlite3.connect(path)) as connection:
                rows.to_sql(into, connection, index=False)
        return f"sqlite:///{path}" + (f"::{table}" if table else "")

    return write


file("a page of the web", refused("download it"), named("https://example.org/t.csv"))
file("nothing in the bucket", refused("no such file"), named("memory://bucket/t.parquet"))
file("a table of SQLite", Unaffected(), sqlite())
file("a table that SQLite does not have", refused("'u'"), sqlite(table="u"))
file("no table of SQLite", refused("names no table"), sqlite(table=""))
file("a database that is not there", refused("no such file", "t.db"), sqlite(into=""))
file("a database that is none", refused("t.db"), sqlite(before=b"labeler,label\n" * 99))
file("a database without a byte", refused("'t'"), sqlite(before=b""))
file(
    "a table whose name asks for more",
    refused("there is no table"),
    sqlite(table="t; drop table t"),
)
file("an unknown kind of database", refused("'nosuchdb'"), named("nosuchdb://h/d::t"))


# --- Parquet types -------------------------------------------------------------------------------


def typed(change: Callable[[pa.Table], pa.Table]) -> Write:
    def write(folder: Path, table: pd.DataFrame) -> str:
        made = change(pa.Table.from_pandas(table, preserve_index=False))
        pq.write_table(made, folder / "t.parquet")
        return str(folder / "t.parquet")

    return write


def replaced(name: str, make: Callable[[list[Any]], pa.Array]) -> Write:
    """Return a writer of Parquet in which one column, where it is, was made anew."""

    def change(table: pa.Table) -> pa.Table:
        place = table.column_names.index(name)
        return table.set_column(place, name, make(table.column(name).to_pylist()))

    return typed(change)


file(
    "nested groups in Parquet",
    refused("'group'", "list"),
    replaced("group", lambda values: pa.array([[value] for value in values])),
)
file(
    "groups as bytes in Parquet",
    refused("'group'", "binary"),
    replaced("group", lambda values: pa.array([value.encode() for value in values])),
)
file(
    "groups of the type nothing in Parquet",
    refused("missing in column 'group'"),
    replaced("group", lambda values: pa.nulls(len(values))),
)
file(
    "categories in Parquet",
    Unaffected(),
    replaced("job", lambda values: pa.array(values).dictionary_encode()),
)
file(
    "decimals in Parquet",
    Unaffected(),
    replaced("score", lambda values: pa.array([Decimal(repr(value)) for value in values])),
)
file(
    "infinite numbers in Parquet",
    refused("'score'", "infinite"),
    replaced("score", lambda values: pa.array([np.inf, *values[1:]])),
)
file(
    "two columns of one name in Parquet",
    refused("two columns called 'job'"),
    typed(lambda table: table.append_column("job", table.column("job"))),
)
file("Parquet without a row", refused("has no rows"), typed(lambda table: table.slice(0, 0)))
file("Parquet without a column", refused("no column"), typed(lambda table: table.select([])))
