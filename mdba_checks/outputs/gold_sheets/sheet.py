"""Sheets for experts: the items to judge, in the form that experts work with.

A row says what the item is and leaves a place for the answer. Beside it stand the weight that the
draw gave the item, the round, the seed, and a short code made of these: whoever reads the sheet
back sees whether a name or a weight was changed on the way, by a spreadsheet for example.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs.files import whole_file
from mdba_checks.tables import GOLD_ROUND, GOLD_WEIGHT, BoolArray, FloatArray, canonical

WEIGHT, TURN, REASON, SEED, CODE = GOLD_WEIGHT, GOLD_ROUND, "reason", "seed", "code"
OWN_COLUMNS = (REASON, WEIGHT, TURN, SEED, CODE)
FORMATS = (".csv", ".xlsx", ".json")
_BY_WORTH = "the right answer is open, and would narrow what is undecided"
_DIGITS = 6


def make_sheet(
    items: pa.Table,
    *,
    weight: FloatArray,
    by_worth: BoolArray,
    features: Sequence[str],
    turn: int,
    planned: int,
    seed: int,
    config: CheckConfig,
) -> pd.DataFrame:
    """Return the sheet of a round; features are shown, and nothing that labelers said."""
    columns = config.columns
    item = columns.item or "item"
    wanted = [item, columns.only_group, *features, *([columns.cluster] if columns.cluster else [])]
    shown = [name for name in dict.fromkeys(wanted) if name in items.column_names]
    sheet: pd.DataFrame = items.select(shown).to_pandas()
    for name in (item, columns.only_group):
        sheet[name] = sheet[name].astype(object)
    for name in (columns.gold, *OWN_COLUMNS):
        if name in sheet:
            raise InputError(f"column {name!r} of labels has the name of a column of the sheet")
    sheet[columns.gold] = None
    group = sheet[columns.only_group]
    sheet[REASON] = [
        _BY_WORTH if open_one else f"drawn at random among {name}"
        for open_one, name in zip(by_worth, group, strict=True)
    ]
    # As many digits as any spreadsheet keeps.
    sheet[WEIGHT] = [float(f"{each:.{_DIGITS}g}") for each in weight]
    sheet[TURN] = f"{turn} of {planned}"
    sheet[SEED] = seed
    sheet[CODE] = codes(sheet, item, columns.only_group)
    return sheet


def codes(sheet: pd.DataFrame, item: str, group: str) -> list[str]:
    """Return the code of every row: five letters for its name, five for what the draw says."""
    rows = zip(*(sheet[name] for name in (item, group, WEIGHT, TURN, SEED)), strict=True)
    return [
        _digest(canonical(name))
        + _digest(canonical(name), canonical(of), f"{float(weight):.{_DIGITS}g}", turn, int(seed))
        for name, of, weight, turn, seed in rows
    ]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()[:5]


def write_sheet(
    sheet: pd.DataFrame,
    path: str | Path,
    *,
    config: CheckConfig | None = None,
    force: bool = False,
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write a sheet as .csv, .xlsx or, for Label Studio, .json; whole or not at all.

    Examples
    --------
    >>> write_sheet(pd.DataFrame(), "sheet.doc")
    Traceback (most recent call last):
    ...
    mdba_checks.errors.InputError: cannot write sheet.doc: sheets are .csv, .xlsx or .json ...
    """
    kind = sheet_format(path)
    with whole_file(path, force=force, inputs=inputs) as temporary:
        if kind == ".csv":
            sheet.to_csv(temporary, index=False)
        elif kind == ".json":
            text = json.dumps(_tasks(sheet, config or CheckConfig()), ensure_ascii=False, indent=1)
            temporary.write_text(text, encoding="utf-8")
        else:
            _write_excel(sheet, temporary, (config or CheckConfig()).columns.item or "item")


def sheet_format(path: str | Path) -> str:
    """Return how a sheet of this name is written, or refuse; for asking before models are fitted.

    Examples
    --------
    >>> sheet_format("to_judge.XLSX")
    '.xlsx'
    """
    kind = Path(path).suffix.lower()
    if kind not in FORMATS:
        raise InputError(
            f"cannot write {path}: sheets are .csv, .xlsx or .json (Label Studio tasks)"
        )
    if kind == ".xlsx":
        require_openpyxl(path)
    return kind


def require_openpyxl(path: str | Path) -> None:
    """Refuse .xlsx where the library for it is missing."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise InputError(
            f"{path} is an Excel file: pip install 'mdba-checks[excel]', or use .csv"
        ) from None


def _write_excel(sheet: pd.DataFrame, path: Path, item: str) -> None:
    import openpyxl
    from openpyxl.utils import get_column_letter

    book = openpyxl.Workbook()
    page: Any = book.active
    page.title = "to judge"
    page.append(list(sheet.columns))
    for values in sheet.itertuples(index=False):
        page.append([_cell(value) for value in values])
    # Names stay as they are: a spreadsheet makes numbers of 007 and dates of 1-2.
    for row in page.iter_rows(min_row=2):
        for cell in row:
            if isinstance(cell.value, str):
                cell.number_format, cell.data_type = "@", "s"
    page.freeze_panes = "A2"
    place = list(sheet.columns).index(item) + 1 if item in sheet else 1
    page.column_dimensions[get_column_letter(place)].width = 24
    book.save(path)


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _tasks(sheet: pd.DataFrame, config: CheckConfig) -> list[dict[str, Any]]:
    """Return Label Studio tasks: what the expert sees in `data`, what the draw knows in `meta`."""
    hidden = (config.columns.gold, *OWN_COLUMNS)
    tasks = []
    for row in sheet.to_dict("records"):
        plain = {name: _cell(value) for name, value in row.items()}
        tasks.append(
            {
                "data": {name: value for name, value in plain.items() if name not in hidden},
                "meta": {name: plain[name] for name in OWN_COLUMNS},
            }
        )
    return tasks
