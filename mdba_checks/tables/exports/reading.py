"""From an export, in whatever shape, to labels and gold."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.config import MISSING_VALUES
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.tables.exports.answers import Answers
from mdba_checks.tables.exports.label_studio import is_label_studio, read_label_studio
from mdba_checks.tables.exports.other_tools import (
    answer_keys,
    is_argilla,
    is_doccano,
    read_argilla,
    read_cvat,
    read_doccano,
    read_records,
)
from mdba_checks.tables.exports.wide import labeler_columns, read_wide
from mdba_checks.tables.sources import (
    json_records,
    local_copy,
    read_table,
    source_name,
    split_sheet,
)
from mdba_checks.tables.text import as_names

_JSON = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".json1")
_MOST_SHOWN = 12


@dataclass(frozen=True)
class Imported:
    """What an export holds.

    Attributes
    ----------
    labels
        A row per answer: ``item, labeler, label`` and what is known about the item.
    gold
        A row per item whose right answer is marked: ``item, gold`` and the same columns.
    shape
        What the export was taken for.
    notes
        What the user should know: what was left out, and how much of it.
    """

    labels: pa.Table
    gold: pa.Table | None
    shape: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Wishes:
    """What the user says about an export, where it does not say it itself.

    Attributes
    ----------
    question
        Which of several questions the labels answer.
    annotators
        Names or patterns of the columns of a wide table that hold one labeler's answers each.
    item, gold
        Columns of a wide table: what identifies a row, and the right answer.
    """

    question: str | None = None
    annotators: tuple[str, ...] = ()
    item: str | None = None
    gold: str | None = None


def read_export(
    source: str | Path, *, items: str | Path | None = None, wishes: Wishes | None = None
) -> Imported:
    """Read the answers that an annotation tool has written.

    Parameters
    ----------
    source
        A file, a sheet (``book.xlsx::Sheet``), or a folder or .zip archive with one file per
        labeler.
    items
        A table with more about the items; it is joined on the column that both share.
    wishes
        What the export does not say itself.

    Raises
    ------
    InputError
        When the shape is not known: the message says what was found.

    Examples
    --------
    >>> import json, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "export.jsonl"
    >>> record = {"id": 1, "text": "hi", "annotators": ["ann", "bob"], "labels": [1, 0]}
    >>> _ = path.write_text(json.dumps(record))
    >>> read_export(path).labels.to_pylist()[0]["labeler"]
    'ann'
    """
    wishes = wishes or Wishes()
    with local_copy(source) as here, tempfile.TemporaryDirectory(prefix="mdba-") as folder:
        answers, shape = _read(_unpacked(Path(here), Path(folder)), source_name(source), wishes)
    if not answers.given:
        raise InputError(f"{source_name(source)} looks like {shape}, but holds no answer")
    notes = [f"{n:,} answers {why} are left out" for why, n in answers.skipped.items() if n]
    if answers.used:
        notes.append(f"no feature: {', '.join(sorted(answers.used))} (answers, or made of them)")
    if items is not None:
        _join(answers, items, wishes.item, notes)
    return Imported(answers.labels(), answers.gold(), shape, tuple(notes))


def _unpacked(path: Path, folder: Path) -> dict[str, Path]:
    """Return the files of an export by their names without endings."""
    book, sheet = split_sheet(path)
    if sheet is not None and book.exists():
        return {_stem(book): path}
    if not path.exists():
        nearby = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"no such file: {str(path)!r}.{did_you_mean(path.name, nearby)}")
    if path.is_file() and path.name.lower().endswith(".zip"):
        try:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        except (zipfile.BadZipFile, OSError, RuntimeError) as error:
            raise InputError(f"cannot read {path}: {error}") from None
        path = folder
    if path.is_file():
        return {_stem(path): path}
    known = (*_JSON, ".xml")
    files = [p for p in sorted(path.rglob("*")) if p.is_file() and p.name.endswith(known)]
    if not files:
        raise InputError(f"{path.name} holds no .json, .jsonl or .xml file")
    return {_stem(each): each for each in files}


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _read(files: Mapping[str, Path], where: str, wishes: Wishes) -> tuple[Answers, str]:
    paths = list(files.values())
    if all(path.name.endswith(".xml") for path in paths):
        return read_cvat(files, where, wishes.question), "CVAT for images"
    if paths[0].name.lower().endswith(_JSON):
        held = {name: list(json_records(path)) for name, path in files.items()}
        records = [record for each in held.values() for record in each]
        if not records:
            raise InputError(f"{where} holds no records")
        found = _known(held, records, where, wishes.question)
        if found is not None:
            return found
        table = _table(paths[0])
    else:
        table = _table(paths[0])
        records = table.slice(0, 200).to_pylist()
        if records and answer_keys(records):
            every = table.to_pylist()
            return read_records(every, where, wishes.question), "records with lists of answers"
        if records and is_argilla(records):
            return read_argilla(table.to_pylist(), where, wishes.question), "Argilla"
    labelers = labeler_columns(table, wishes.annotators)
    if labelers:
        return read_wide(table, where, labelers, wishes.item, wishes.gold), (
            f"a wide table with {len(labelers)} labelers"
        )
    shown = ", ".join(table.column_names[:_MOST_SHOWN])
    raise InputError(
        f"{where} is not a known shape (Label Studio, doccano, Argilla, CVAT, records with "
        f"lists of answers, a column per labeler): it has the columns {shown}; name the columns of "
        "labelers with --annotators"
    )


def _known(
    held: Mapping[str, Sequence[Mapping[str, Any]]],
    records: Sequence[Mapping[str, Any]],
    where: str,
    question: str | None,
) -> tuple[Answers, str] | None:
    if is_label_studio(records):
        return read_label_studio(records, where, question), "Label Studio"
    if is_argilla(records):
        return read_argilla(records, where, question), "Argilla"
    if is_doccano(records) and not answer_keys(records):
        return read_doccano(held, where, question), "doccano"
    if answer_keys(records):
        return read_records(records, where, question), "records with lists of answers"
    return None


def _table(path: Path) -> pa.Table:
    return read_table(path, text_columns=(), missing_values=MISSING_VALUES)


def _join(answers: Answers, source: str | Path, key: str | None, notes: list[str]) -> None:
    """Add what another table says about the items, found by the column that names them."""
    table = _table_of(source)
    names = set(answers.items)
    candidates = [key] if key in table.column_names else table.column_names
    shared = {name: _overlap(table, name, names) for name in candidates if name is not None}
    best = max(shared, key=lambda name: shared[name], default=None)
    if best is None or not shared[best]:
        raise InputError(
            f"{source_name(source)} has no column with the names of the items (such as "
            f"{next(iter(names))!r}), each in one row: name it with --item"
        )
    keys = as_names(table.column(best)).to_pylist()
    about = dict(zip(keys, table.drop_columns([best]).to_pylist(), strict=True))
    for name, held in answers.items.items():
        for column, value in about.get(name, {}).items():
            if column not in {"", "Unnamed: 0", *answers.used} and held.get(column) is None:
                held[column] = value
    missing = len(names) - shared[best]
    notes.append(f"{source_name(source)} is joined on its column {best!r}")
    if missing:
        notes.append(f"{missing:,} items are not in {source_name(source)}")


def _overlap(table: pa.Table, name: str, items: set[str]) -> int:
    """Return how many items a column names, if it names each once."""
    column = table.column(name)
    if column.null_count or pc.count_distinct(column).as_py() != len(column):
        return 0
    return len(items & set(as_names(column).dictionary.to_pylist()))


def _table_of(source: str | Path) -> pa.Table:
    return read_table(source, text_columns=(), missing_values=MISSING_VALUES)
