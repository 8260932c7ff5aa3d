"""Tables from wherever they are: data frames, files, object storage, databases, as Arrow tables.

Readers guess, and guess differently: `007` becomes 7, "NA" becomes missing, a late `A7` turns half
a column into text. Here columns that hold names are text always, what counts as missing in a CSV
file is one list, and a wrong guess about any other column is corrected by looking at all of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.tables.kinds import Kind, kind_of
from mdba_checks.tables.sources import excel_files, json_files
from mdba_checks.tables.sources.csv_files import csv_to_parquet, read_csv
from mdba_checks.tables.sources.database import first_line, is_database, read_database, safe_name
from mdba_checks.tables.sources.excel_files import read_excel, split_sheet
from mdba_checks.tables.sources.frames import from_pandas
from mdba_checks.tables.sources.json_files import read_json
from mdba_checks.tables.sources.object_storage import (
    LocalCopy,
    TemporaryFolder,
    is_remote,
    local_copy,
    without_file_scheme,
)
from mdba_checks.tables.sources.parquet_files import LargeParquet, is_large, read_parts
from mdba_checks.tables.text import as_names

Source: TypeAlias = pd.DataFrame | pa.Table | LargeParquet | str | Path | tuple[str, str]

_UNPACKED = 5  # times as large as it is packed
SUFFIXES = (".csv", ".csv.gz", ".parquet", ".xlsx", ".json", ".jsonl")


def read_table(
    source: Source,
    *,
    text_columns: Collection[str],
    missing_values: Collection[str],
    notes: list[str] | None = None,
) -> pa.Table:
    """Read a table; columns named in `text_columns` come back as names (see `tables.text`).

    Parameters
    ----------
    source
        A DataFrame, an Arrow table, a path (.csv, .csv.gz, .parquet, a folder of Parquet parts,
        .xlsx, ``book.xlsx::Sheet``, .json, .jsonl), the same in object storage (``s3://…``,
        ``gs://…``) or as ``file://…``, or a database table as ``"URL::table"`` or ``(URL, table)``.
    text_columns
        Columns that hold names rather than quantities; those that do not exist are passed over.
    missing_values
        Texts that mean "missing" in a CSV file or a workbook.
    notes
        What the user should know about how it was read is added here.

    Raises
    ------
    InputError
        When there is nothing to read, or it is not a table.

    Examples
    --------
    >>> frame = pd.DataFrame({"labeler": [7.0, 8.0], "age": [31, 45]})
    >>> table = read_table(frame, text_columns=["labeler"], missing_values=[])
    >>> table["labeler"].to_pylist(), table["age"].to_pylist()
    (['7', '8'], [31, 45])
    """
    table = read_source(source, text_columns, missing_values, notes)
    names = _distinct(table.column_names, source)
    columns = [
        _understood(name, column, source, text_columns)
        for name, column in zip(names, table.columns, strict=True)
    ]
    return pa.table(columns, names=names)


def open_table(
    source: Source,
    *,
    text_columns: Collection[str],
    missing_values: Collection[str],
    notes: list[str] | None = None,
) -> pa.Table | LargeParquet:
    """Read a table as `read_table` does; a Parquet source too large for memory is only opened.

    Its columns are read when they are asked for, one at a time.
    """
    if isinstance(source, LargeParquet):
        return source
    copy = LocalCopy(source) if is_remote(source) else None
    here = copy.path if copy else without_file_scheme(source)
    if isinstance(here, (str, Path)) and not is_database(here):
        path, large = Path(here), None
        with _readable(path):
            if _is_parquet(path):
                large = _opened(path, source, text_columns, copy)
            elif path.name.lower().endswith((".csv", ".csv.gz")) and path.is_file():
                large = _large_csv(
                    path,
                    source,
                    text_columns=text_columns,
                    missing_values=missing_values,
                    notes=notes,
                )
        if large is not None:
            return large
    return read_table(here, text_columns=text_columns, missing_values=missing_values, notes=notes)


def open_parquet(
    path: Path, *, text_columns: Collection[str], missing_values: Collection[str]
) -> pa.Table | LargeParquet:
    """Open a Parquet file as `open_table` does, whatever its name is."""
    with _readable(path):
        large = _opened(path, path, text_columns, None)
        if large is not None:
            return large
        table = read_parts(path)
    return read_table(table, text_columns=text_columns, missing_values=missing_values)


def open_csv(
    path: Path, *, text_columns: Collection[str], missing_values: Collection[str]
) -> pa.Table | LargeParquet:
    """Open a CSV file as `open_table` does, whatever its name is."""
    how: dict[str, Any] = {"text_columns": text_columns, "missing_values": missing_values}
    with _readable(path):
        large = _large_csv(path, path, **how, notes=None)
        return large or read_table(read_csv(path, **how), **how)


def _large_csv(
    path: Path,
    source: Source,
    *,
    text_columns: Collection[str],
    missing_values: Collection[str],
    notes: list[str] | None,
) -> LargeParquet | None:
    """Return a CSV file that is too large for memory as a Parquet file; None for others."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not is_large(path.stat().st_size * (_UNPACKED if packed else 1)):
        return None
    held = TemporaryFolder()
    try:
        meant = csv_to_parquet(
            path,
            held.path / "rows.parquet",
            text_columns=text_columns,
            missing_values=missing_values,
            notes=notes,
        )
    except OSError as error:
        raise InputError(
            f"no room for the rows of {path} in {held.path.parent}: {error.strerror or error}; "
            "point TMPDIR to a folder with more room"
        ) from None
    if meant is None:
        return None
    return LargeParquet.opened(
        held.path / "rows.parquet",
        lambda name, column: _understood(name, meant(name, column), source, text_columns),
        held,
    )


def _opened(
    path: Path, source: Source, text_columns: Collection[str], held: object
) -> LargeParquet | None:
    """Return a Parquet source that is too large for memory, opened; None for others."""
    large = LargeParquet.opened(
        path, lambda name, column: _understood(name, column, source, text_columns), held
    )
    if large is not None:
        _distinct(large.column_names, source)
    return large


def _distinct(names: list[str], source: Source) -> list[str]:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        where = source_name(source)
        raise InputError(f"{where} has two columns called {twice[0]!r}: rename one of them")
    return names


def _understood(
    name: str, column: pa.ChunkedArray, source: Source, text_columns: Collection[str]
) -> pa.ChunkedArray:
    """Return a column as it is meant: names as names, dates as dates."""
    column = _without_views(column)
    if name not in text_columns:
        return dates_in_text(column)
    if kind_of(column.type) is Kind.OTHER:
        raise InputError(
            f"column {name!r} of {source_name(source)} holds {column.type}: text or numbers "
            "are needed there"
        )
    return pa.chunked_array([as_names(column)])


def source_name(source: object) -> str:
    """Return a name for a source that is safe to show: passwords in URLs are left out.

    Examples
    --------
    >>> source_name("postgresql://ann:secret@host/db::labels")
    "table 'labels' of postgresql://host/db"
    """
    if is_database(source):
        return safe_name(source)
    if isinstance(source, (str, Path)):
        return str(source)
    return f"the {type(source).__name__}"


def read_source(
    source: Any,
    text_columns: Collection[str],
    missing_values: Collection[str],
    notes: list[str] | None = None,
) -> pa.Table:
    """Read a source as it is: no name is spelled differently, nothing is checked."""
    if isinstance(source, pd.DataFrame):
        return from_pandas(source)
    if isinstance(source, pa.Table):
        return source
    if hasattr(source, "__arrow_c_stream__"):  # Polars, DuckDB relations and others
        return pa.table(source)
    with local_copy(source) as here:
        if is_database(here):
            return read_database(here)
        if not isinstance(here, (str, Path)):
            raise InputError(
                f"cannot read a table from {type(source).__name__}: "
                "give a DataFrame, a path, or a database URL and table"
            )
        if re.match(r"[\w+]{2,}:/", str(here)):
            # A URL that went through Path; its text may hold a password.
            raise InputError("a path that looks like a URL: give URLs as text, not as Path")
        with _readable(Path(here)):
            return _from_path(here, text_columns, missing_values, [] if notes is None else notes)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {first_line(error)}") from None


def _is_parquet(path: Path) -> bool:
    return path.is_dir() or (path.name.lower().endswith(".parquet") and path.is_file())


def _from_path(
    source: str | Path,
    text_columns: Collection[str],
    missing_values: Collection[str],
    notes: list[str],
) -> pa.Table:
    path, sheet = split_sheet(source)
    if not path.exists():
        nearby = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"no such file: {str(path)!r}.{did_you_mean(path.name, nearby)}")
    if not path.is_file() and not path.is_dir():
        # A pipe would keep us waiting, and a device may never end.
        raise InputError(f"cannot read {path}: it is a pipe or a device, not a file; save it first")
    name = path.name.lower()
    if path.is_dir() or name.endswith(".parquet"):
        return read_parts(path)
    if name.endswith((".csv", ".csv.gz")):
        how: dict[str, Any] = {"text_columns": text_columns, "missing_values": missing_values}
        return read_csv(path, **how, notes=notes)
    if name.endswith(excel_files.SUFFIXES):
        return read_excel(path, sheet, missing_values=missing_values, notes=notes)
    if name.endswith(json_files.SUFFIXES):
        return read_json(path)
    known = ", ".join(SUFFIXES)
    if name.endswith((".xls", ".ods")):
        raise InputError(f"cannot read {path}: save it as .xlsx; known are {known}")
    raise InputError(f"cannot tell the format of {path}: known are {known}")


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    # Arrow's newer text layout, which Polars hands over; few functions know it.
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def dates_in_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn text that is ISO dates or times throughout into points in time.

    The CSV reader does so by itself; without this, the same table would mean something else in
    another format.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    first = pc.first(column.cast(kind)).as_py() or ""
    dated, timed = re.match(r"\d{4}-\d\d-\d\d", first), re.fullmatch(r"\d\d:\d\d(:\d\d)?", first)
    if not dated and not timed:
        return column
    text = column.cast(kind)
    if timed:
        text = pc.binary_join_element_wise(
            pa.scalar("1970-01-01", kind), text, pa.scalar(" ", kind)
        )
    for moment in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return pc.cast(text, moment)
        except pa.ArrowInvalid:
            continue
    return column
