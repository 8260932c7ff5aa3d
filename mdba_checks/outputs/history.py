"""How labelers change: gaps over successive checks, and which changes are more than chance.

A change is the difference between a labeler's gap in one check and in the check before it. It is
compared with the standard errors of both, and the p-values of one check are adjusted for their
number (Holm). Checks often share gold items, and sometimes rows. What they share pushes both gaps
the same way and cancels in the difference, which is then less uncertain than is assumed here: the
test errs on the side of no change.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from mdba_checks.errors import InputError
from mdba_checks.findings import adjust
from mdba_checks.outputs.files import make_folder, write_whole
from mdba_checks.outputs.json_text import parse_json
from mdba_checks.outputs.record import Record

COLUMNS = (
    "labeler",
    "attribute",
    "group",
    "class",
    "check",
    "created",
    "gap",
    "ci_low",
    "ci_high",
    "finding",
    "max_gap",
    "change",
    "change_p",
    "changed",
)

_COMPARED = ("attribute", "group", "class")
_NUMBERS = ("gap", "std_error", "ci_low", "ci_high")
_ALIKE = ("metric", "estimator")
_TIME = "%Y%m%dT%H%M%S.%f"  # in names of records: they sort by it


class History:
    """A folder of the records of checks, which `trend` compares.

    Checks may share a folder at the same time: every file appears whole or not at all.

    Parameters
    ----------
    folder
        Where it is; it is made if need be.
    inputs
        Files and folders that must not be written to.

    Examples
    --------
    >>> import tempfile
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9}
    >>> history = History(tempfile.mkdtemp())
    >>> history.remember(Record.read({**about, "gaps": []})).suffix
    '.json'
    """

    def __init__(self, folder: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
        self.folder = Path(folder)
        for each in map(Path, inputs):
            if each.is_dir() and self.folder.resolve().is_relative_to(each.resolve()):
                raise InputError(
                    f"cannot keep the history in {folder}: the folder {each} is an input"
                )
        make_folder(folder, "keep the history in")

    def remember(self, record: Record) -> Path:
        """Keep the record of a check; names of files sort by time.

        When the clock is behind the newest record, the new one gets the time after that, and
        ``clock`` holds what the clock said.

        Parameters
        ----------
        record
            What `to_record` returned.
        """
        created = now = datetime.now(UTC)
        newest = max((each.name for each in self.folder.glob("[0-9]*T*Z-*.json")), default="")
        with suppress(ValueError):  # not one of ours
            last = datetime.strptime(newest.partition("Z-")[0], _TIME).replace(tzinfo=UTC)
            # A clock may be set back; what was checked later still comes later.
            created = max(now, last + timedelta(microseconds=1))
        clock = {} if created == now else {"clock": now.isoformat()}
        path = self.folder / f"{created:{_TIME}}Z-{secrets.token_hex(4)}.json"
        write_whole(path, record.with_values(created=created.isoformat(), **clock).to_json())
        return path


def trend(records: Sequence[Record | Mapping[str, Any] | str | Path]) -> pd.DataFrame:
    """Return every labeler's gap over successive checks, and how it changed.

    Parameters
    ----------
    records
        Records of checks, from the oldest to the newest: the results of `to_record`, JSON files
        that ``mdba check --json`` wrote, sidecars, or folders with such files. Where all records
        say when they were made, that decides about their order.

    Returns
    -------
    DataFrame
        One row per labeler, comparison and check: ``labeler, attribute, group, class, check,
        created, gap, ci_low, ci_high, finding, max_gap, change, change_p, changed``. `attribute`
        is the group column; `check` counts from 1; `created` is
        a time in UTC, or missing; `max_gap` is what was tolerated; `change` is since the labeler's
        check before, `change_p` its p-value adjusted for all changes of that check, and
        `changed` says whether it is beyond chance, by the confidence of the check.

    Raises
    ------
    InputError
        When a file is not such a record, or the records cannot be compared.

    Examples
    --------
    >>> row = {"labeler": "Ann", "group": "women", "reference": "men", "finding": "fair"}
    >>> before = {**row, "gap": 0.0, "std_error": 0.03, "ci_low": -0.05, "ci_high": 0.05}
    >>> after = {**row, "gap": -0.2, "std_error": 0.04, "ci_low": -0.27, "ci_high": -0.13}
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9}
    >>> history = trend([{**about, "gaps": [before]}, {**about, "gaps": [after]}])
    >>> history[["check", "gap", "change", "changed"]]
       check  gap  change  changed
    0      1  0.0     NaN    False
    1      2 -0.2    -0.2     True
    """
    checks = _in_order([each for given in records for each in _read(given)])
    _refuse_unlike(checks)
    tables = [_table(check, number) for number, check in enumerate(checks, start=1)]
    history = pd.concat(tables, ignore_index=True)
    # An empty class sorts, None does not.
    history = history.sort_values(
        ["labeler", *_COMPARED, "check"],
        kind="stable",
        ignore_index=True,
        key=lambda values: values.fillna("") if values.name == "class" else values,
    )
    before = history.groupby(["labeler", *_COMPARED, "reference"], sort=False, dropna=False)[
        ["gap", "std_error"]
    ].shift()
    history["change"] = history["gap"] - before["gap"]
    history["change_p"] = p_of_change(history["change"], history["std_error"], before["std_error"])
    for _, rows in history.groupby("check"):
        history.loc[rows.index, "change_p"] = adjust(rows["change_p"].to_numpy(), "holm")
    history["changed"] = history["change_p"] < 1 - history["confidence"]
    return history[list(COLUMNS)]


def read_check(path: str | Path) -> Record:
    """Return the record of one check: what ``mdba check --json`` wrote, or a sidecar.

    Raises
    ------
    InputError
        When the file is not such a record.
    """
    return _checked(_parsed(Path(path)), str(path))


def as_record(given: Record | Mapping[str, Any], name: str = "the record") -> Record:
    """Return a record that may have been given as its values."""
    return given if isinstance(given, Record) else _checked(given, name)


def p_of_change(change: pd.Series[float], error: pd.Series[float], before: pd.Series[float]) -> Any:
    """Return two-sided p-values of changes, from the standard errors after and before them."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z: Any = change.abs() / np.sqrt(error**2 + before**2)
    return 2 * norm.sf(z)


def _read(given: Record | Mapping[str, Any] | str | Path) -> list[Record]:
    if isinstance(given, Record | Mapping):
        return [as_record(given)]
    path = Path(given)
    if path.is_dir():
        found = [(_parsed(file), str(file)) for file in sorted(path.rglob("*.json"))]
        checks = [_checked(values, name) for values, name in found if _is_record(values)]
        if not checks:
            raise InputError(f"folder {path} holds no record of a check (--json FILE writes them)")
        return checks
    return [_checked(_parsed(path), str(path))]


def _parsed(path: Path) -> Any:
    try:
        return parse_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise InputError(f"{path} is not JSON: give what mdba check --json wrote") from None


def _is_record(value: Any) -> bool:
    needed = {"gaps", "confidence", *_ALIKE}
    return isinstance(value, Mapping) and needed <= set(value)


def _checked(value: Any, name: str) -> Record:
    if not _is_record(value):
        raise InputError(f"{name} is not the record of a check: give what mdba check --json wrote")
    try:
        return Record.read(value)
    except ValueError as error:
        raise InputError(f"{name} is damaged: {error}") from None


def _in_order(checks: list[Record]) -> list[Record]:
    if not checks:
        raise InputError("there is no record of a check to show: give one or more")
    if all(check.created for check in checks):
        return sorted(checks, key=lambda check: _time(check.created or ""))
    return checks


def _time(created: str) -> datetime:
    """Return when a check was made; a time without a zone is taken for UTC."""
    try:
        time = datetime.fromisoformat(created)
    except ValueError:
        raise InputError(
            f"a record is damaged: 'created' is {created[:40]!r}, not a date"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _refuse_unlike(checks: Sequence[Record]) -> None:
    """Refuse gaps that mean different things: their differences would mean nothing."""
    for key in _ALIKE:
        found = list(dict.fromkeys(str(getattr(check, key)) for check in checks))
        if len(found) > 1:
            raise InputError(
                f"the records cannot be compared: {key} is {' in one and '.join(found)} in another"
            )


def _group_column(check: Record) -> str:
    columns = (check.config or {}).get("columns")
    named = columns.get("group") if isinstance(columns, Mapping) else None
    return named if isinstance(named, str) else "group"


def _table(check: Record, number: int) -> pd.DataFrame:
    wanted = ["labeler", *_COMPARED, "reference", "finding", *_NUMBERS]
    rows = [each.model_dump(by_alias=True) for each in check.gaps]
    table = pd.DataFrame(rows, columns=wanted).astype(dict.fromkeys(_NUMBERS, float))
    # Older records have one group column, which their settings name.
    table["attribute"] = table["attribute"].fillna(_group_column(check))
    table["class"] = table["class"].astype(object).where(table["class"].notna(), None)
    created = _time(check.created) if check.created else None
    limit = check.policy.get("max_gap")
    return table.assign(
        check=number,
        created=pd.Series([created] * len(table), dtype="datetime64[us, UTC]"),
        confidence=check.confidence,
        max_gap=float(limit) if isinstance(limit, (int, float)) else np.nan,
    )
