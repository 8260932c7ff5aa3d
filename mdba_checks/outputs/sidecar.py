"""The sidecar: what was decided about a data set, beside it and, in Parquet, inside it.

Beside a data set that leaves the gate lies ``<name>.mdba.json``: the record of the check and the
hash of what was written. Parquet files also carry it inside. The hash is of the content, not of the
bytes: packing a file again is not a change, another value in one cell is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, overload

import numpy as np
import pandas as pd
import pyarrow as pa

from mdba_checks import __version__
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs.copied_rows import (
    BytesRows,
    Format,
    Rows,
    format_of,
    same_format,
)
from mdba_checks.outputs.files import check_target, whole_file
from mdba_checks.outputs.folders import check_folder
from mdba_checks.outputs.object_storage import beside, is_there
from mdba_checks.outputs.record import ReadableFile, Record, WrittenFile
from mdba_checks.tables import (
    BoolArray,
    IntArray,
    Source,
    Table,
    content,
    content_hash,
    first_line,
    is_database,
    is_remote,
    open_csv,
    open_parquet,
    text_columns,
)

SUFFIX = ".mdba.json"


@dataclass(frozen=True)
class Part:
    """Rows on their way into a file: which of them, and with which columns behind them."""

    path: str | Path
    rows: Rows
    extra: pd.DataFrame
    keep: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.extra) if self.keep is None else int(self.keep.sum())

    def write(self, path: Path, metadata: bytes | None = None) -> None:
        """Write the rows to a path, in the format that the part's own name stands for."""
        form = format_of(self.path)
        if isinstance(self.rows, BytesRows):
            found = self.rows.write(path, form, extra=self.extra, keep=self.keep)
        else:
            found = self.rows.write(path, form, extra=self.extra, keep=self.keep, metadata=metadata)
        if found != len(self.extra):
            raise InputError(
                f"cannot write {self.path}: {found} rows were found, {len(self.extra)} assessed; "
                "choose an output in the other format"
            )
        if not self.rows.unchanged():
            raise InputError(
                f"cannot write {self.path}: the labels were changed while they were copied; check "
                "them again"
            )

    def content_hash(self, reader: Reader) -> str:
        """Return the hash of what will be written, before it is."""
        if isinstance(self.rows, BytesRows):
            msg = "the types of a CSV file are found out by reading it"
            raise TypeError(msg)
        table = self.rows.as_read(**asdict(reader))
        if table.num_rows != len(self.extra):  # `write` says so
            return ""
        for name in map(str, self.extra):
            table = table.append_column(name, pa.array(self.extra[name], from_pandas=True))
        return content_hash(table if self.keep is None else table.filter(pa.array(self.keep)))

    def described(self, digest: str) -> WrittenFile:
        """Return what the sidecar says about the part."""
        return WrittenFile(name=Path(self.path).name, rows=len(self), content_hash=digest)


@dataclass(frozen=True)
class Published:
    """What was written.

    Attributes
    ----------
    path, sidecar
        The data set and its sidecar.
    record
        What the sidecar says.
    messages
        What the user should know about it, in sentences.
    """

    path: str | Path
    sidecar: str | Path
    record: Record
    messages: tuple[str, ...] = ()


@overload
def sidecar_path(path: Path) -> Path: ...
@overload
def sidecar_path(path: str | Path) -> str | Path: ...
def sidecar_path(path: str | Path) -> str | Path:
    """Return where the sidecar of a file is.

    Examples
    --------
    >>> sidecar_path("out/labels.csv").name
    'labels.csv.mdba.json'
    """
    return beside(path, Path(path).name + SUFFIX)


def check_outputs(
    output: str | Path,
    *others: str | Path,
    force: bool = False,
    inputs: Sequence[str | Path] = (),
) -> None:
    """Refuse files that `publish` would refuse; for asking before a long computation."""
    format_of(output)
    _check_data_set(output, force=force, inputs=inputs)
    replace = force or is_abandoned(output)
    for path in others:
        _check_data_set(path, force=replace, inputs=inputs)
    check_target(sidecar_path(output), force=replace, inputs=inputs)


def _check_data_set(path: str | Path, *, force: bool, inputs: Sequence[str | Path]) -> None:
    check = check_target if is_remote(path) else check_folder
    check(path, force=force, inputs=inputs)


def publish(
    main: Part,
    *others: Part,
    record: Record,
    config: CheckConfig,
    source: Source,
    order: IntArray,
    force: bool = False,
    inputs: Sequence[str | Path] = (),
) -> Published:
    """Write a data set, the files that go with it, and its sidecar.

    The data set gets its name last: whoever finds it finds the others. What was written is read
    again before that, and refused if it does not hold the values of the input.

    Parameters
    ----------
    main, others
        What to write; the sidecar describes `main` and lists the others.
    record
        The record of the check.
    config
        How tables are read.
    source
        Where the rows come from; never written to, whatever `force` says.
    order
        The rows' order by content (see `tables.content`), when what is known of them was put
        beside them.
    force
        Whether existing files may be replaced.
    inputs
        Other files that must not be written to.
    """
    if isinstance(source, (str, Path)) and (is_remote(source) or not is_database(source)):
        inputs = [*inputs, source]
    check_outputs(main.path, *(part.path for part in others), force=force, inputs=inputs)
    sidecar = sidecar_path(main.path)
    replace = force or is_abandoned(main.path)
    reader = Reader(tuple(sorted(text_columns(config))), config.missing_values)
    with ExitStack() as files:
        # Files get their names when they are closed, the last opened first.
        naming = files.enter_context(Turn(main.path))
        target = files.enter_context(whole_file(main.path, force=force, inputs=inputs))
        listed = []
        for part in others:
            temporary = files.enter_context(whole_file(part.path, force=replace, inputs=inputs))
            part.write(temporary)
            held = reader.read(temporary, format_of(part.path))
            listed.append(part.described(content_hash(held)).model_dump())
        about = record.with_values(
            **created_now(),
            other_files=listed,
            approval=record.values().get("approval"),
        )
        expected = order if _is_copy(main, source) else None
        told = _write_main(main, target, about, reader, expected)
        temporary = files.enter_context(whole_file(sidecar, force=replace, inputs=inputs))
        temporary.write_text(told.to_json(), encoding="ascii")
        naming.take()
        check_target(main.path, force=force)  # somebody may have been faster
    return Published(main.path, sidecar, told)


def created_now() -> dict[str, str]:
    """Return when and by what a sidecar is made."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "created_by": f"mdba-checks {__version__}",
    }


def is_abandoned(output: str | Path) -> bool:
    """Return whether a killed run left its sidecar: it gets its name before the data set does."""
    return is_there(sidecar_path(output)) and not is_there(output)


def _is_copy(main: Part, source: Source) -> bool:
    """Return whether the output without our columns has to have the hash of the input."""
    return main.keep is None and same_format(source, format_of(main.path))


def _with_file(about: Record, said: WrittenFile, reader: Reader) -> Record:
    return about.with_values(file={**said.model_dump(), **asdict(reader)}).sealed()


def _write_main(
    main: Part, target: Path, about: Record, reader: Reader, order: IntArray | None
) -> Record:
    """Write the data set, compare it with what it should be, and return its record."""
    form = format_of(main.path)
    # Parquet carries its record, and so the hash of its content has to be known before.
    inside = form == "parquet"
    digest = main.content_hash(reader) if inside else ""
    told = about
    if digest:
        told = _with_file(about, main.described(digest), reader)
    main.write(target, metadata=told.to_json().encode() if inside else None)
    held = reader.read(target, form)
    found = content_hash(held)
    if not inside:
        digest = found
        told = _with_file(about, main.described(digest), reader)
    right = held.num_rows == len(main) and found == digest
    if right and order is not None:
        copied = content(held.drop_columns(list(main.extra.columns)))
        assessed = about.data.labels_hash if about.data else None
        right = copied.hash == assessed and np.array_equal(copied.order, order)
    if not right:
        raise InputError(
            f"cannot write {main.path}: the copy differs from the labels that were assessed; if "
            "nobody changed them meanwhile, choose an output in the other format"
        )
    return told


class Turn:
    """The turn to name files in a folder, so that two runs do not mix theirs.

    The lock is on the folder itself and goes with the process. Where folders cannot be locked, as
    in object storage, two runs for the same target may leave the data of one and the sidecar of the
    other, which `verify` tells.
    """

    def __init__(self, output: str | Path) -> None:
        self._folder = None if is_remote(output) else Path(output).parent
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        return self

    def take(self) -> None:
        """Wait for the turn."""
        if sys.platform == "win32" or self._folder is None:
            return
        import fcntl

        with suppress(OSError):
            self._descriptor = os.open(self._folder, os.O_RDONLY)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


@dataclass(frozen=True)
class Reader:
    """How a file has to be read to give the hash of its content."""

    text_columns: tuple[str, ...]
    missing_values: tuple[str, ...]

    @classmethod
    def of(cls, file: ReadableFile) -> Self:
        """Return how a file is read, by its sidecar."""
        return cls(tuple(file.text_columns), tuple(file.missing_values))

    def read(self, path: Path, form: Format) -> Table:
        """Return what a file holds."""
        # By the format and not by the name: temporary files have names of their own.
        try:
            return (open_parquet if form == "parquet" else open_csv)(path, **asdict(self))
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"it cannot be read: {first_line(error)}") from None
