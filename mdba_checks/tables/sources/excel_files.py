"""Excel workbooks (.xlsx): one sheet is one table, its first row names the columns.

Cells have types, so nothing is guessed but which sheet is meant: the one that is named behind the
path, ``book.xlsx::Sheet``, or the first that can be seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from mdba_checks.errors import InputError, MissingExtraError, did_you_mean
from mdba_checks.tables.sources.database import first_line
from mdba_checks.tables.sources.values import ROWS_AT_ONCE, joined, typed
from mdba_checks.tables.text import canonical

SUFFIXES = (".xlsx", ".xlsm")


def split_sheet(source: str | Path) -> tuple[Path, str | None]:
    """Return a workbook's path and the sheet that is named behind it.

    Examples
    --------
    >>> path, sheet = split_sheet("book.xlsx::Gold 2024")
    >>> path.name, sheet
    ('book.xlsx', 'Gold 2024')
    """
    path, mark, sheet = str(source).rpartition("::")
    if mark and path.lower().endswith(SUFFIXES):
        return Path(path), sheet
    return Path(source), None


def read_excel(
    path: Path, sheet: str | None, *, missing_values: Collection[str], notes: list[str]
) -> pa.Table:
    """Read a sheet; texts in `missing_values` are empty cells."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise MissingExtraError(f"reading {path}", "excel") from None
    # The file is ours to close: openpyxl leaves it open when reading stops in the middle.
    with warnings.catch_warnings(), path.open("rb") as file:
        warnings.simplefilter("ignore")  # openpyxl warns of drawings and styles that it leaves out
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except Exception as error:  # noqa: BLE001  a damaged file fails wherever it is damaged
            raise InputError(f"cannot read {path}: {first_line(error)}") from None
        try:
            cells = _chosen(book, sheet, path, notes)
            return _Sheet(path, cells, missing_values).table()
        finally:
            book.close()


def _chosen(book: Any, name: str | None, path: Path, notes: list[str]) -> Any:
    sheets = {each.title: each for each in book.worksheets}
    if name is not None:
        if name not in sheets:
            raise InputError(f"{path} has no sheet {name!r}.{did_you_mean(name, sheets)}")
        return sheets[name]
    seen = [each for each in sheets.values() if each.sheet_state == "visible"]
    if not seen:
        raise InputError(f"{path} has no sheet with cells: save the table as its first sheet")
    if len(seen) > 1:
        notes.append(
            f"{path} has {len(seen)} sheets: {seen[0].title!r} is read; name another one as "
            f"{path.name}::{seen[1].title}"
        )
    return seen[0]


class _Sheet:
    """The cells of one sheet."""

    def __init__(self, path: Path, sheet: Any, missing_values: Collection[str]) -> None:
        self.path, self.sheet = path, sheet
        self.missing = set(missing_values)
        self.where = f"sheet {sheet.title!r} of {path}"
        self.gaps = False

    def table(self) -> pa.Table:
        self.sheet.reset_dimensions()  # what other programs write there may be wrong
        rows = self._rows()
        first, header = next(rows, (0, ()))
        if not header:
            raise InputError(f"{self.where} is empty: a row of column names and rows are needed")
        names = self._names(header, first)
        chunks = []
        while part := list(islice(rows, ROWS_AT_ONCE)):
            chunks.append([typed(values) for values in self._columns(part, len(names), first)])
        if self.gaps:
            self._refuse_unknown_results()
        columns = zip(*chunks, strict=True) if chunks else (() for _ in names)
        return pa.table([joined(parts) for parts in columns], names=names)

    def _rows(self) -> Iterator[tuple[int, Sequence[Any]]]:
        """Yield the number and the values of rows that hold any, without empty cells behind."""
        for number, row in enumerate(self.sheet.iter_rows(), start=1):
            values = [self._value(cell) for cell in row]
            while values and values[-1] is None:
                values.pop()
            if values:
                yield number, values
            else:
                self.gaps = self.gaps or len(row) > 0

    def _value(self, cell: Any) -> Any:
        value = cell.value
        if isinstance(value, str):
            if value in self.missing or not value.strip():
                return None
            if cell.data_type == "e":
                raise InputError(
                    f"cell {cell.coordinate} of {self.where} holds the error {value}: fix the "
                    "formula, or empty the cell"
                )
        return value

    def _names(self, header: Sequence[Any], row: int) -> list[str]:
        gap = next((place for place, name in enumerate(header, start=1) if name is None), None)
        if gap is not None:
            raise InputError(
                f"column {gap} of {self.where} has no name: row {row}, the first with cells, must "
                "name every column"
            )
        return [canonical(name) for name in header]

    def _columns(
        self, rows: list[tuple[int, Sequence[Any]]], width: int, first: int
    ) -> Iterator[list[Any]]:
        for number, values in rows:
            if len(values) > width:
                raise InputError(
                    f"row {number} of {self.where} has {len(values)} cells, and row {first} names "
                    f"{width} columns: name every column in the first row with cells"
                )
        for place in range(width):
            column = [values[place] if place < len(values) else None for _, values in rows]
            self.gaps = self.gaps or None in column
            yield column

    def _refuse_unknown_results(self) -> None:
        """Refuse formulas that no program has computed: they would pass for empty cells."""
        import openpyxl

        known = {
            cell.coordinate
            for row in self.sheet.iter_rows()
            for cell in row
            if cell.value is not None
        }
        with self.path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True)
            for cell in (cell for row in book[self.sheet.title].iter_rows() for cell in row):
                if cell.data_type == "f" and cell.coordinate not in known:
                    raise InputError(
                        f"cell {cell.coordinate} of {self.where} holds a formula without a result: "
                        "open the file in Excel and save it, or save the values alone"
                    )
            book.close()
