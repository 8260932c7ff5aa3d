"""Released labels: the rows that may be trained on, with the decision that let them through.

Whoever trains calls `read_released`. It returns the rows only after it has compared them with their
sidecar, and only under a verdict that lets them through.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs.record import Record
from mdba_checks.outputs.verification import verify
from mdba_checks.tables import RowsTotal, Source, content_hash, read_source, read_table
from mdba_checks.verdict import Decision

_USABLE = ("pass", "annotate", "quarantine")


@dataclass(frozen=True)
class Released:
    """Rows that may be trained on.

    Attributes
    ----------
    table
        The rows, with the five columns of `annotate` behind those of the labels.
    decision
        What was decided about the labels.
    record
        The record of the check, as in the sidecar.
    """

    table: pd.DataFrame
    decision: Decision
    record: Record

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return pa.Table.from_pandas(self.table, preserve_index=False)

    @property
    def config(self) -> CheckConfig:
        """The settings of the check; they say which column plays which role."""
        return CheckConfig.from_mapping(self.record.config or {}, origin="the sidecar")


def read_released(
    path: str | Path, *, labels: Source | None = None, max_age: timedelta | None = None
) -> Released:
    r"""Return the rows of a released data set, or refuse.

    The rows that are returned are the rows that were compared with the sidecar; the file is not
    read a second time. Columns with names of labelers, groups and items are text: 007 stays 007.

    Parameters
    ----------
    path
        A data set that left the gate.
    labels, max_age
        As for `verify`: the labels as they are now, and how old the release may be.

    Raises
    ------
    InputError
        When the file is not the one its sidecar describes, or its verdict does not let it through.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = file.write_text("labeler,label\nann,1\n")
    >>> read_released(file)
    Traceback (most recent call last):
    ...
    mdba_checks.errors.InputError: ...there is no labels.csv.mdba.json beside it
    """
    if not str(path).strip():
        raise InputError("there is no released data set: give the gate an output")
    found = verify(path, labels=labels, max_age=max_age)
    if not found.ok or found.record is None:
        raise InputError(f"{path} was not released by the gate as it is: {found.reason}")
    record, about = found.record, found.record.file
    if record.verdict not in _USABLE or about is None or record.config is None:
        raise InputError(f"{path} was not released: its verdict is {record.verdict!r}")
    how: dict[str, Any] = {
        "text_columns": about.text_columns,
        "missing_values": about.missing_values,
    }
    if Path(path).is_dir():
        raw = read_source(path, (), ())
        table, held = read_table(raw, **how), RowsTotal.of(raw).hash(raw.column_names)
    else:
        table = read_table(str(path), **how)
        held = content_hash(table)
    if held != about.content_hash:
        raise InputError(f"{path} changed while it was being read: run again")
    policy = CheckConfig.from_mapping(record.config, origin=f"the sidecar of {path}").policy
    decision = Decision(record.verdict, tuple(record.reasons), policy)
    return Released(_frame(table), decision, record)


def _frame(table: pa.Table) -> pd.DataFrame:
    # Plain text: categories of pandas surprise whoever adds or filters rows.
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    frame: pd.DataFrame = pa.table(plain, names=table.column_names).to_pandas()
    return frame
