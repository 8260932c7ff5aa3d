"""Whether a data set that left the gate still counts: the same content, and nothing newer.

`verify` compares a file with its sidecar. Releases grow old: the labels change, time passes, or a
later check of the same labels is stopped, which `supersede` writes into the sidecar.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs.copied_rows import METADATA_KEY, Format, format_of
from mdba_checks.outputs.files import write_whole
from mdba_checks.outputs.object_storage import copied_with, is_there
from mdba_checks.outputs.parts_release import total_of_folder
from mdba_checks.outputs.record import ReadableFile, Record
from mdba_checks.outputs.sidecar import SUFFIX, Reader, sidecar_path
from mdba_checks.tables import (
    ROWS_HASH,
    Source,
    content_hash,
    first_line,
    is_database,
    read_table,
    source_name,
    text_columns,
    without_file_scheme,
)


@dataclass(frozen=True)
class Verification:
    """Whether a file is the one its sidecar describes and still counts; if not, why not."""

    ok: bool
    reason: str
    record: Record | None = None


def verify(
    path: str | Path, *, labels: Source | None = None, max_age: timedelta | None = None
) -> Verification:
    r"""Return whether a file is the one its sidecar describes, and whether that still counts.

    A Parquet file without its sidecar is compared with what it carries inside. A release does not
    count any more when a later check of the same labels was stopped (see `supersede`).

    Parameters
    ----------
    path
        A data set that left the gate; it may be in object storage (``s3://…``).
    labels
        The labels as they are now: when they are not those that were checked, the release is old.
    max_age
        How long ago it may have been released.

    Raises
    ------
    InputError
        When there is no such file, its name ends in no known format, or the labels cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = file.write_text("labeler,label\nann,1\n")
    >>> verify(file).reason
    'there is no labels.csv.mdba.json beside it'
    """
    form = format_of(path)
    with copied_with(path, SUFFIX) as here:
        if not here.exists():
            raise InputError(f"no such file: {str(path)!r}")
        return _verified(here, form, labels, max_age)


def _verified(
    path: Path, form: Format, labels: Source | None, max_age: timedelta | None
) -> Verification:
    record = None
    try:
        record = _record_of(path, form)
        _compare(path, form, record.file)
        _refuse_superseded(record)
        if max_age is not None:
            _refuse_old(record, max_age)
    except (_DoubtError, InputError) as error:
        return Verification(ok=False, reason=str(error), record=record)
    if labels is not None and not _are_checked(labels, record):
        return Verification(
            ok=False,
            reason=f"{source_name(labels)} does not hold the labels that were released any more: "
            "check it again",
            record=record,
        )
    return Verification(ok=True, reason="it holds what its sidecar describes", record=record)


def supersede(output: str | Path, record: Record) -> bool:
    """Mark an older release as superseded, because a later check of its labels was stopped.

    Its sidecar gets the field ``superseded`` with the verdict, the reasons and the time; the data
    stays as it is. Nothing happens where there is no release, or it is one of other labels.

    Parameters
    ----------
    output
        Where the older release is.
    record
        The record of the later check.

    Returns
    -------
    bool
        Whether there was something to mark.
    """
    if not is_there(output) and not Path(without_file_scheme(output)).is_dir():
        return False
    with copied_with(output, SUFFIX) as here:
        try:
            older = _record_of(here, format_of(here))
        except (_DoubtError, InputError):
            return False  # `verify` refuses it already
    if not _are_same_labels(older, record):
        return False
    now = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "verdict": record.verdict,
        "reasons": record.reasons,
        "labels_hash": record.data and record.data.labels_hash,
    }
    write_whole(
        sidecar_path(output), older.with_values(superseded=now).sealed().to_json(), force=True
    )
    return True


def _are_same_labels(one: Record, other: Record) -> bool:
    """Return whether two checks are about the same labels: the same table, or the same rows."""
    if one.data is None or other.data is None or one.origin is None or other.origin is None:
        return False
    if one.data.labels_hash == other.data.labels_hash:
        return True
    first, second = one.origin.labels, other.origin.labels
    if first is None or second is None:
        return False
    if is_database(first) or is_database(second):
        return first == second
    return Path(first).absolute() == Path(second).absolute()


def _refuse_superseded(record: Record) -> None:
    later = record.superseded
    if later:
        said = f"{later.verdict} at {later.at}: {' '.join(later.reasons)}"
        raise _DoubtError(f"it is superseded: a later check of the same labels ended with {said}")


def _refuse_old(record: Record, max_age: timedelta) -> None:
    try:
        age = datetime.now(UTC) - datetime.fromisoformat(record.created or "")
    except (TypeError, ValueError):  # the first for a time without a zone
        raise _DoubtError("its sidecar does not say when it was released") from None
    if age > max_age:
        raise _DoubtError(
            f"it was released {_duration(age)} ago, and at most {_duration(max_age)} are allowed: "
            "check the labels again"
        )


def _duration(span: timedelta) -> str:
    hours = span / timedelta(hours=1)
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} hours"


def _are_checked(labels: Source, record: Record) -> bool:
    if record.data is not None and record.data.labels_hash.startswith(ROWS_HASH):
        raise InputError(
            "labels that were checked in parts on a cluster cannot be compared here: check them "
            "again"
        )
    config = CheckConfig.from_mapping(record.config or {}, origin="the sidecar")
    table = read_table(
        labels, text_columns=text_columns(config), missing_values=config.missing_values
    )
    return record.data is not None and content_hash(table) == record.data.labels_hash


class _DoubtError(Exception):
    """Why a file and a sidecar do not belong together."""


def _record_of(path: Path, form: Format) -> Record:
    """Return the record that belongs to a file."""
    beside = sidecar_path(path)
    texts: list[bytes] = []
    try:
        if beside.exists():
            texts.append(beside.read_bytes())
        if form == "parquet" and path.is_file():  # a folder of parts has its sidecar only
            inside = pq.read_schema(path).metadata or {}
            texts += [inside[METADATA_KEY]] if METADATA_KEY in inside else []
    except (OSError, pa.ArrowException) as error:
        raise _DoubtError(f"it cannot be read: {first_line(error)}") from None
    if not texts:
        raise _DoubtError(f"there is no {beside.name} beside it")
    try:
        records = [Record.parse(text) for text in texts]
    except ValueError as error:
        raise _DoubtError(f"{beside.name} is damaged: {error}") from None
    if any(each.seal is None for each in records):
        raise _DoubtError(f"{beside.name} is damaged: it has no seal")
    # A check of later may be written into one of them.
    later = {"superseded": None, "seal": None}
    first, *others = (each.model_copy(update=later) for each in records)
    if any(each != first for each in others):
        raise _DoubtError(f"{beside.name} is not the sidecar that the file carries inside")
    return records[0]


def _compare(path: Path, form: Format, said: ReadableFile | None) -> None:
    """Compare what a file holds with what its sidecar says."""
    if said is None:
        raise _DoubtError("its sidecar does not say what it should hold")
    if path.is_dir():
        total, names = total_of_folder(path)
        found, held = total.rows, total.hash(names)
    else:
        table = Reader.of(said).read(path, form)
        found, held = table.num_rows, content_hash(table)
    if found != said.rows:
        raise _DoubtError(f"it has {found} rows, its sidecar describes {said.rows}")
    if held != said.content_hash:
        raise _DoubtError("its values are not those that its sidecar describes")
