"""Parquet files as parts: a few row groups each, read by whoever works on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mdba_checks.errors import InputError, MissingExtraError, hide_secrets
from mdba_checks.tables.sources import (
    columns_of,
    files_of,
    first_line,
    is_remote,
    without_file_scheme,
)

# Row groups are put together until a part has so many rows.
_PART_ROWS = 100_000
_ENDINGS = (".csv", ".gz", ".xlsx", ".json", ".jsonl")


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a file.

    Attributes
    ----------
    path
        The file, or its URL in object storage.
    groups
        Which row groups.
    keys
        Columns that the names of its folders hold (``year=26``).
    """

    path: str
    groups: tuple[int, ...]
    keys: Mapping[str, str] = field(default_factory=dict)

    def read(self, schema: pa.Schema) -> pa.Table:
        """Return the columns of a schema, in its types."""
        with _opened(self.path) as file:
            there = set(columns_of(file))
            own = [name for name in schema.names if name in there]
            table = file.read_row_groups(list(self.groups), columns=own)
            if not own:  # how many rows there are is known all the same
                rows = sum(file.metadata.row_group(n).num_rows for n in self.groups)
            else:
                rows = table.num_rows
        columns = []
        for each in schema:
            if each.name in there:
                columns.append(table.column(each.name).cast(each.type))
            else:
                columns.append(pa.repeat(pa.scalar(self.keys.get(each.name), each.type), rows))
        if not columns:
            return pa.table({"": pa.nulls(rows)}).select([])
        return pa.table(columns, schema=schema)


def is_parquet(source: object) -> bool:
    """Return whether a source is Parquet: a file, a folder, or a pattern such as ``in/*.parquet``.

    Examples
    --------
    >>> is_parquet("labels/*.parquet"), is_parquet("s3://lake/labels/"), is_parquet("labels.csv")
    (True, True, False)
    """
    if not isinstance(source, (str, Path)):
        return False
    name = str(source).lower()
    if name.endswith(".parquet"):
        return True
    if is_remote(source):
        return not name.endswith(_ENDINGS)
    return "://" not in name and Path(source).is_dir()


def parquet_parts(source: str | Path) -> tuple[tuple[ParquetPart, ...], pa.Schema]:
    """Return the parts of a source, and the columns that all files together have."""
    parts: list[ParquetPart] = []
    schemas: list[pa.Schema] = []
    for path, keys in _files(source):
        with _opened(path) as file:
            own = [file.schema_arrow.field(name) for name in columns_of(file)]
            extra = [pa.field(key, pa.string()) for key in keys if key not in columns_of(file)]
            schemas.append(pa.schema([*own, *extra]))
            held: list[int] = []
            rows = 0
            for group in range(file.metadata.num_row_groups):
                held.append(group)
                rows += file.metadata.row_group(group).num_rows
                if rows >= _PART_ROWS:
                    parts.append(ParquetPart(path, tuple(held), keys))
                    held, rows = [], 0
            if held or not file.metadata.num_row_groups:
                parts.append(ParquetPart(path, tuple(held), keys))
    try:
        return tuple(parts), pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        where = hide_secrets(str(source))
        raise InputError(f"the parts in {where} do not fit together: {first_line(error)}") from None


def _files(source: str | Path) -> list[tuple[str, dict[str, str]]]:
    here = without_file_scheme(source)
    if is_remote(here):
        return _remote_files(str(here))
    if "*" in str(here):
        path = Path(here)
        found = sorted(path.parent.glob(path.name))
        if not found:
            raise InputError(f"no file is called {str(here)!r}")
        return [(str(each.absolute()), {}) for each in found]
    if not Path(here).exists():
        raise InputError(f"no such file: {str(here)!r}")
    return [(str(each.absolute()), keys) for each, keys in files_of(Path(here))]


def _remote_files(url: str) -> list[tuple[str, dict[str, str]]]:
    try:
        from fsspec.core import url_to_fs

        storage, place = url_to_fs(url)
        storage.invalidate_cache()
        place = str(place).rstrip("/")
        if "*" in place:
            found = storage.glob(place)
        else:
            found = storage.find(place) if storage.isdir(place) else [place]
    except ImportError:
        raise MissingExtraError("reading from object storage", "cloud") from None
    except Exception as error:  # noqa: BLE001  every storage raises errors of its own
        raise InputError(f"cannot read {hide_secrets(url)}: {first_line(error)}") from None
    files = sorted(str(each) for each in found if str(each).endswith(".parquet"))
    if not files:
        raise InputError(f"no Parquet file is at {hide_secrets(url)}")
    return [(str(storage.unstrip_protocol(each)), _keys(each)) for each in files]


def _keys(path: str) -> dict[str, str]:
    steps = (step.partition("=") for step in path.split("/")[:-1])
    return {key: value for key, equals, value in steps if equals}


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    try:
        if "://" not in path:
            with pq.ParquetFile(path, pre_buffer=False) as file:
                yield file
            return
        import fsspec

        with fsspec.open(path, "rb") as stream, pq.ParquetFile(stream) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"cannot read {hide_secrets(path)}: {first_line(error)}") from None
