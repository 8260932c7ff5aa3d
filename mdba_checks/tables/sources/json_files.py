"""JSON: one array of records, or a record per line; `.json` and `.jsonl` may hold either.

Values have types, so nothing is guessed. Lists of numbers are vectors; other values inside values
are kept as bytes, which no role and no feature takes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from mdba_checks.errors import InputError
from mdba_checks.tables.sources.values import ROWS_AT_ONCE, joined, typed

SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
_GZIP = b"\x1f\x8b"


def read_json(path: Path) -> pa.Table:
    """Read records as a table; a key that a record does not have is missing there."""
    parts: dict[str, list[pa.Array]] = {}
    rows = 0
    records = json_records(path)
    while batch := list(islice(records, ROWS_AT_ONCE)):
        names = dict.fromkeys([*parts, *(name for record in batch for name in record)])
        for name in names:
            held = parts.setdefault(name, [pa.nulls(rows)] if rows else [])
            held.append(_column([record.get(name) for record in batch]))
        rows += len(batch)
    if not rows:
        raise InputError(f"{path} holds no records: an array of them, or one per line, is needed")
    return pa.table([joined(_alike(held)) for held in parts.values()], names=list(parts))


def json_records(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a file.

    Raises
    ------
    InputError
        When it is not JSON, or holds something else than records.
    """
    text = _text(path)
    start = text.lstrip()[:1]
    if start == "[":
        yield from _checked(_parsed(text, path), path)
        return
    if start != "{":
        raise InputError(f"{path} is not JSON: an array of objects, or one per line, is needed")
    decoder, place, number = json.JSONDecoder(), len(text) - len(text.lstrip()), 0
    while place < len(text):
        number += 1
        try:
            record, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise InputError(_not_json(path, error)) from None
        while place < len(text) and text[place].isspace():
            place += 1
        if number == 1 and place == len(text) and ".json" in path.suffixes:
            record = _records_inside(record, path)
        yield from _checked(record if isinstance(record, list) else [record], path)


def _records_inside(record: Mapping[str, Any], path: Path) -> list[Any]:
    """Return the records of a file that holds one object around them."""
    inside = [
        value
        for value in record.values()
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value)
    ]
    if len(inside) == 1:
        return inside[0]
    keys = ", ".join(map(repr, list(record)[:5]))
    raise InputError(
        f"{path} holds one object with the keys {keys}: an array of records, or one record per "
        "line, is needed (pandas: to_json(orient='records'))"
    )


def _checked(records: Any, path: Path) -> Iterator[Mapping[str, Any]]:
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            kind = type(record).__name__
            raise InputError(
                f"{path} is not an array of records: entry {number} is a {kind}; each needs the "
                'form {"column": value, …}'
            )
        yield record


def _text(path: Path) -> str:
    content = path.read_bytes()
    if content.startswith(_GZIP):
        try:
            content = gzip.decompress(content)
        except EOFError as error:
            raise InputError(f"cannot read {path}: {error}") from None
    try:
        return content.decode(json.detect_encoding(content))
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8, as JSON must be: save it as UTF-8") from None


def _parsed(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(_not_json(path, error)) from None
    except RecursionError:
        raise InputError(f"cannot read {path}: its values are nested too deeply") from None


def _not_json(path: Path, error: json.JSONDecodeError) -> str:
    return f"{path} is not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"


def _column(values: list[Any]) -> pa.Array:
    if not any(isinstance(value, (dict, list)) for value in values):
        return typed(values)
    if all(value is None or _is_vector(value) for value in values):
        return pa.array(values, pa.list_(pa.float64()))
    return _as_bytes(values)


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in value
    )


def _as_bytes(values: list[Any]) -> pa.Array:
    return pa.array(
        [None if value is None else json.dumps(value, sort_keys=True).encode() for value in values],
        pa.binary(),
    )


def _alike(parts: list[pa.Array]) -> list[pa.Array]:
    """Return parts of which some are nested as bytes throughout."""
    nested = [pa.types.is_binary(part.type) or pa.types.is_list(part.type) for part in parts]
    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if not any(nested) or len(kinds) == 1:
        return parts
    return [
        part if pa.types.is_binary(part.type) else _as_bytes(part.to_pylist()) for part in parts
    ]
