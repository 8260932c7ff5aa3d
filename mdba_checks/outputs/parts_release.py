"""What leaves the gate of labels that stay in parts: every worker writes the rows of its parts.

The deciding process sends what is known of the rows of a part, and gets back how many were written
and a fingerprint of them. The files are in a staging folder until all of them are there; then the
folder gets its name, after the sidecar and the folder with removed rows got theirs.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mdba_checks.assessment import Assessment
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs.copied_rows import format_of
from mdba_checks.outputs.files import whole_file
from mdba_checks.outputs.folders import whole_folder
from mdba_checks.outputs.record import Record
from mdba_checks.outputs.row_findings import ADDED_COLUMNS, KnownOfRows, RowFindings
from mdba_checks.outputs.sidecar import (
    Published,
    Turn,
    check_outputs,
    created_now,
    is_abandoned,
    sidecar_path,
)
from mdba_checks.tables import (
    ROWS_CHANGED,
    BoolArray,
    Partitions,
    PartsRead,
    RowsTotal,
    TakenOut,
    as_names,
    order_mark,
    text_columns,
)

_GROUP_BYTES = 64 << 20


@dataclass(frozen=True)
class CheckedRound:
    """One check of the rows that were left by then, and the rows it took out."""

    findings: RowFindings
    known: KnownOfRows
    read: PartsRead
    out: TakenOut | None = None

    @classmethod
    def of(cls, assessment: Assessment, out: TakenOut | None = None) -> CheckedRound:
        """Return what an assessment says about its rows."""
        if assessment.parts is None:
            msg = "these labels were read as a table"
            raise ValueError(msg)
        known = KnownOfRows.of(assessment)
        return cls(RowFindings.of(assessment), known, assessment.parts, out)

    def of_parts(self) -> list[KnownOfRows]:
        """Return what is known of the rows of every part."""
        ends = np.cumsum([0, *self.read.rows]).tolist()
        return [self.known.slice(begin, end) for begin, end in pairwise(ends)]


@dataclass(frozen=True)
class _Shared:
    """What every worker needs to write rows."""

    columns: tuple[str, ...]  # by which it is seen that rows come as they came before
    rounds: tuple[tuple[RowFindings, TakenOut | None], ...]
    folders: tuple[str, str | None]  # for rows that stay, and for those that go


@dataclass(frozen=True)
class _OfPart:
    """What one worker needs to write the rows of one part."""

    number: int
    mark: int
    known: tuple[KnownOfRows, ...]


def write_parts(
    parts: Partitions,
    rounds: Sequence[CheckedRound],
    outputs: tuple[Path, Path | None],
    *,
    record: Record,
    config: CheckConfig,
    force: bool = False,
    inputs: Sequence[str | Path] = (),
) -> Published:
    """Let the workers write the rows of their parts, and write the sidecar.

    Parameters
    ----------
    parts
        The parts that were assessed first.
    rounds
        What was found about the rows, one check after the other.
    outputs
        Folders of Parquet files for rows that stay and for rows that go, on a file system that the
        workers see as this process does.
    record
        The record of the check.
    config
        How tables are read.
    force, inputs
        As for `publish`.
    """
    output, removed = outputs
    if format_of(output) != "parquet":
        raise InputError(
            f"cannot write {output}: labels in parts are written as a folder of Parquet files; "
            "choose a name that ends in .parquet"
        )
    main = Path(output).absolute()
    check_outputs(main, *([] if removed is None else [removed]), force=force, inputs=inputs)
    beside, replace = sidecar_path(main), force or is_abandoned(main)
    first = rounds[0].read
    known = zip(*(each.of_parts() for each in rounds), strict=True)
    own = [_OfPart(number, first.marks[number], each) for number, each in enumerate(known)]
    with ExitStack() as files:
        naming = files.enter_context(Turn(main))
        staging = files.enter_context(whole_folder(main, force=force, inputs=inputs))
        gone = None
        if removed is not None:
            gone = files.enter_context(whole_folder(removed, force=replace, inputs=inputs))
        shared = _Shared(
            columns=first.columns,
            rounds=tuple((each.findings, each.out) for each in rounds),
            folders=(str(staging), None if gone is None else str(gone.absolute())),
        )
        totals = parts.map(_write_part, shared, own)
        names = [*parts.schema.names, *ADDED_COLUMNS]
        stayed, went = (sum((each[n] for each in totals), RowsTotal()) for n in (0, 1))
        if stayed.rows + went.rows != sum(first.rows):
            raise InputError(f"cannot write {output}: {ROWS_CHANGED}")
        other = [] if removed is None else [_described(removed, went, names)]
        told = record.with_values(
            **created_now(),
            other_files=other,
            approval=record.values().get("approval"),
            file={
                **_described(main, stayed, names),
                "text_columns": sorted(text_columns(config)),
                "missing_values": list(config.missing_values),
            },
        ).sealed()
        temporary = files.enter_context(whole_file(beside, force=replace, inputs=inputs))
        temporary.write_text(told.to_json(), encoding="ascii")
        naming.take()
    return Published(Path(output), sidecar_path(output), told)


def _described(path: Path, total: RowsTotal, names: Sequence[str]) -> dict[str, Any]:
    return {"name": path.name, "rows": total.rows, "content_hash": total.hash(names)}


def _write_part(shared: _Shared, own: _OfPart, rows: pa.Table) -> tuple[RowsTotal, RowsTotal]:
    """Write the rows of one part, and return what was written: rows that stay, rows that go."""
    if order_mark(rows.select(list(shared.columns))) != own.mark:
        raise InputError(ROWS_CHANGED)
    extra, goes = _known_of(shared, own, rows)
    for name in extra:
        rows = rows.append_column(name, pa.array(extra[name], from_pandas=True))
    totals = []
    for folder, keep in zip(shared.folders, (~goes, goes), strict=True):
        if folder is None:
            totals.append(RowsTotal())
            continue
        totals.append(_write_file(Path(folder), own.number, rows.filter(pa.array(keep))))
    return totals[0], totals[1]


def _known_of(shared: _Shared, own: _OfPart, rows: pa.Table) -> tuple[pd.DataFrame, BoolArray]:
    """Return the findings of every row, and which rows go."""
    named = {
        name for findings, out in shared.rounds for name in (*findings.columns, *_columns_of(out))
    }
    names = pa.table({name: as_names(rows.column(name)) for name in sorted(named)})
    left, goes = np.arange(rows.num_rows), np.zeros(rows.num_rows, dtype=bool)
    extra: pd.DataFrame | None = None
    for (findings, out), known in zip(shared.rounds, own.known, strict=True):
        here = names.take(pa.array(left))
        found = findings.rows(here, known)
        if extra is None:
            extra = found
        else:
            for name in found:
                extra.loc[left, name] = found[name].to_numpy()
        if out is not None:
            out_of_here = out.goes(here)
            goes[left[out_of_here]] = True
            left = left[~out_of_here]
    if extra is None:
        msg = "there is at least one check"
        raise ValueError(msg)
    return extra, goes


def _columns_of(out: TakenOut | None) -> tuple[str, ...]:
    return () if out is None else (out.labeler, out.group)


def _write_file(folder: Path, number: int, rows: pa.Table) -> RowsTotal:
    """Write one file whole, read it again, and return what it holds."""
    total = RowsTotal.of(rows)
    if not rows.num_rows and number:  # the first part tells the types, whether it has rows or not
        return total
    path = folder / f"part-{number:05d}.parquet"
    # Two workers may try the same part: each writes a file of its own, and the last name counts.
    temporary = folder / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with temporary.open("wb") as file:
            pq.write_table(rows, file, row_group_size=_rows_of_group(rows))
            file.flush()
            os.fsync(file.fileno())
        if total_of_file(temporary) != total:
            raise InputError(f"cannot write {path}: the copy differs from the rows of the part")
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"a worker cannot write {path}: {error.strerror or error}; the folder has to be on a "
            "file system that all workers share"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
    return total


def _rows_of_group(rows: pa.Table) -> int:
    return max(1, int(rows.num_rows * min(1.0, _GROUP_BYTES / max(rows.nbytes, 1))))


def total_of_file(path: Path) -> RowsTotal:
    """Return what a Parquet file holds, read a few rows at a time."""
    total = RowsTotal()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches():
            total += RowsTotal.of(pa.Table.from_batches([batch]))
    return total


def total_of_folder(folder: Path) -> tuple[RowsTotal, list[str]]:
    """Return what the parts in a folder hold, and the names of their columns."""
    files = [each for each in sorted(folder.rglob("*.parquet")) if each.name[0] not in "._"]
    if not files:
        raise InputError(f"folder {folder} holds no .parquet file")
    total = sum((total_of_file(path) for path in files), RowsTotal())
    return total, list(pq.read_schema(files[0]).names)
