"""Sheets as they come back: CSV, Excel, and tasks from Label Studio, all as one kind of table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.outputs.gold_sheets.sheet import (
    CODE,
    OWN_COLUMNS,
    REASON,
    SEED,
    TURN,
    WEIGHT,
    codes,
    require_openpyxl,
)
from mdba_checks.tables import Source, canonical, read_table, source_name

# What experts write where they cannot decide; compared without regard to case.
CANNOT_TELL = ("cannot tell", "can't tell", "can not tell", "don't know", "unsure", "skip", "?")


def read_sheet(source: Source, config: CheckConfig) -> pd.DataFrame:
    """Read a sheet and refuse one whose names or weights are not those that were drawn.

    Answers come back as text, missing where there is none.
    """
    columns, where = config.columns, f"sheet {source_name(source)}"
    item = columns.item or "item"
    names = {item, columns.only_group, columns.gold, TURN, CODE, columns.cluster or item}
    kind = Path(source).suffix.lower() if isinstance(source, (str, Path)) else ""
    readers = {".xlsx": _from_excel, ".json": _from_label_studio}
    if kind in readers:
        source = readers[kind](Path(str(source)), config)
    sheet = read_frame(source, names, config)
    for name in (item, columns.only_group, columns.gold, WEIGHT, TURN, SEED, CODE):
        if name not in sheet:
            raise InputError(
                f"{where} has no column {name!r}: it is not a sheet as mdba choose wrote it."
                f"{did_you_mean(name, sheet.columns)}"
            )
    if sheet.empty:
        raise InputError(f"{where} has no rows")
    _refuse_changed(sheet, where, item, columns.only_group)
    answer = sheet[columns.gold].astype(object)
    sheet[columns.gold] = answer.where(answer.notna(), None)
    return sheet.drop(columns=[name for name in (REASON, CODE) if name in sheet])


def read_frame(source: Source, names: set[str], config: CheckConfig) -> pd.DataFrame:
    """Read a table; the columns `names` hold text."""
    table = read_table(source, text_columns=names, missing_values=config.missing_values)
    frame: pd.DataFrame = table.to_pandas()
    # Categories of different tables cannot be put one below the other.
    coded = frame.columns[frame.dtypes == "category"]
    return frame.astype(dict.fromkeys(coded, object))


def _refuse_changed(sheet: pd.DataFrame, where: str, item: str, group: str) -> None:
    drawn = (item, group, WEIGHT, TURN, SEED, CODE)
    empty = sheet[list(drawn)].isna().any(axis=1).to_numpy()
    if empty.any():
        row = int(empty.argmax())
        name = next(each for each in drawn if pd.isna(sheet[each].iloc[row]))
        raise InputError(
            f"{where}: row {row + 1} has no value in column {name!r}; items that were not drawn "
            "by mdba choose belong into a table of their own (--gold)"
        )
    for name in (WEIGHT, SEED):
        numbers = pd.to_numeric(sheet[name], errors="coerce")
        if numbers.isna().any():
            row = int(numbers.isna().to_numpy().argmax())
            raise InputError(
                f"{where}: row {row + 1} has {str(sheet[name].iloc[row])[:40]!r} in column "
                f"{name!r}: take the column from the sheet as mdba choose wrote it"
            )
        sheet[name] = numbers
    for row, (found, wanted) in enumerate(zip(sheet[CODE], codes(sheet, item, group), strict=True)):
        if found == wanted:
            continue
        name = canonical(sheet[item].iloc[row])[:40]
        if found[:5] != wanted[:5]:
            raise InputError(
                f"{where}: row {row + 1} has the item {name!r}, which was not drawn there: names "
                f"in column {item!r} were changed; take it from the sheet as mdba choose wrote it"
            )
        raise InputError(
            f"{where}: row {row + 1}, item {name!r}, has another {group}, {WEIGHT}, {TURN} or "
            f"{SEED} than was drawn ({WEIGHT} {sheet[WEIGHT].iloc[row]:g}); take these columns "
            "from the sheet as mdba choose wrote it"
        )


def _from_excel(path: Path, config: CheckConfig) -> pd.DataFrame:
    require_openpyxl(path)
    from zipfile import BadZipFile

    try:
        table = pd.read_excel(path, dtype=object, keep_default_na=False)
    except (OSError, ValueError, BadZipFile, KeyError) as error:
        reason = getattr(error, "strerror", None) or "it is not an Excel file"
        raise InputError(f"cannot read {path}: {reason}") from None
    table = table.mask(table.isin(list(config.missing_values)), None)
    named = {
        config.columns.item or "item",
        config.columns.only_group,
        config.columns.gold,
        TURN,
        CODE,
    }
    for name in table:
        if name not in named:
            table[name] = table[name].infer_objects()
    return table


def _from_label_studio(path: Path, config: CheckConfig) -> pd.DataFrame:
    """Return a row per answer of Label Studio's JSON export; unanswered tasks have one row."""
    try:
        tasks = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise InputError(f"cannot read {path}: it is not JSON") from None
    rows = []
    for number, task in enumerate(tasks if isinstance(tasks, list) else []):
        data, meta = (task.get(key) if isinstance(task, dict) else None for key in ("data", "meta"))
        if (
            not isinstance(data, dict)
            or not isinstance(meta, dict)
            or not {*OWN_COLUMNS} <= {*meta}
        ):
            raise InputError(
                f"{path}: task {number + 1} lacks 'data' or the 'meta' that mdba choose wrote: "
                "export the project as JSON, not as JSON-MIN"
            )
        given = [_choice(each) for each in task.get("annotations") or []]
        answers: list[str | None] = [each for each in given if each is not None] or [None]
        rows += [{**data, config.columns.gold: answer, **meta} for answer in answers]
    if not rows:
        raise InputError(f"{path} has no tasks of Label Studio")
    return pd.DataFrame(rows)


def _choice(annotation: Any) -> str | None:
    """Return what an annotator chose in a task, None where it was skipped."""
    if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
        return None
    for part in annotation.get("result") or []:
        value = part.get("value", {}) if isinstance(part, dict) else {}
        for kind in ("choices", "text"):
            if value.get(kind):
                chosen = value[kind]
                return canonical(chosen[0] if isinstance(chosen, list) else chosen)
    return None
