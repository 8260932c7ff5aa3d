"""Two checks side by side: what was decided, what changed, and what was asked differently.

`trend` follows labelers over many checks. This is about two of them, such as the one before and the
one after labels were made again, or the same tables under other settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.errors import InputError
from mdba_checks.findings import adjust
from mdba_checks.outputs.history import as_record, p_of_change, read_check
from mdba_checks.outputs.record import Record

KEYS = ("labeler", "attribute", "class", "group", "reference")
NUMBERS = ("gap", "std_error", "ci_low", "ci_high")
_BOTH = (*NUMBERS, "finding")


@dataclass(frozen=True)
class SideBySide:
    """Two checks and what differs between them.

    Attributes
    ----------
    before, after
        The records.
    labelers
        One row per comparison of either check: ``labeler``, ``group``, ``reference`` (and
        ``attribute`` and ``class`` where there are any), ``gap``, ``std_error``, ``ci_low``,
        ``ci_high`` and ``finding``, each with ``_before`` and ``_after``, and ``change, change_p,
        changed``. The clearest changes come first.
    whole
        The same about all labels together.
    settings
        Settings that differ: name, value before, value after.
    same_tables
        Whether both checks read the same labels and the same gold. What differs then comes from
        the settings, and no change is tested.
    """

    before: Record
    after: Record
    labelers: pd.DataFrame
    whole: pd.DataFrame
    settings: tuple[tuple[str, Any, Any], ...]
    same_tables: bool

    @property
    def tested(self) -> bool:
        """Whether changes were compared with chance."""
        return not self.same_tables and self.before.estimator == self.after.estimator

    def moves(self) -> pd.DataFrame:
        """Return how many comparisons went from which finding to which, as a table of counts."""
        found = self.labelers[["finding_before", "finding_after"]].fillna("not there")
        return pd.crosstab(found["finding_before"], found["finding_after"])


def side_by_side(
    before: Record | Mapping[str, Any] | str | Path, after: Record | Mapping[str, Any] | str | Path
) -> SideBySide:
    """Compare two checks.

    A change is tested with the standard errors of both checks, and p-values are adjusted for their
    number (Holm). What the checks share, such as gold items, makes the test say "no change" rather
    too often.

    Parameters
    ----------
    before, after
        Records of checks, or files with them: what ``mdba check --json`` wrote, or sidecars.

    Raises
    ------
    InputError
        When one is not the record of a check, or they compare different rates.

    Examples
    --------
    >>> row = {"labeler": "Ann", "group": "women", "reference": "men", "finding": "fair"}
    >>> old = {**row, "gap": 0.0, "std_error": 0.03, "ci_low": -0.05, "ci_high": 0.05}
    >>> new = {**row, "gap": -0.2, "std_error": 0.04, "ci_low": -0.27, "ci_high": -0.13}
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9}
    >>> found = side_by_side({**about, "gaps": [old]}, {**about, "gaps": [new]})
    >>> found.labelers[["labeler", "gap_before", "gap_after", "change", "changed"]]
      labeler  gap_before  gap_after  change  changed
    0     Ann         0.0       -0.2    -0.2     True
    """
    one, other = _record(before), _record(after)
    if one.metric != other.metric:
        raise InputError(
            f"the checks cannot be compared: metric is {one.metric} in one and {other.metric} in "
            "the other"
        )
    hashes = [(each.data.labels_hash, each.data.gold_hash) for each in (one, other) if each.data]
    same = len(hashes) == 2 and hashes[0] == hashes[1]
    test = not same and one.estimator == other.estimator
    level = 1 - max(one.confidence, other.confidence)
    tables = [_rows(each.gaps) for each in (one, other)]
    wholes = [_rows(each.overall or []) for each in (one, other)]
    return SideBySide(
        before=one,
        after=other,
        labelers=_merged(*tables, test=test, level=level),
        whole=_merged(*wholes, test=test, level=level),
        settings=tuple(_different(one, other)),
        same_tables=same,
    )


def _record(given: Record | Mapping[str, Any] | str | Path) -> Record:
    return as_record(given) if isinstance(given, Record | Mapping) else read_check(given)


def _rows(rows: Any) -> pd.DataFrame:
    table = pd.DataFrame([row.model_dump(by_alias=True) for row in rows])
    wanted = [*KEYS, *_BOTH]
    table = table.reindex(columns=[each for each in wanted if each != "labeler" or each in table])
    return table.astype(dict.fromkeys(NUMBERS, float))


def _merged(before: pd.DataFrame, after: pd.DataFrame, *, test: bool, level: float) -> pd.DataFrame:
    always = {"labeler", "group", "reference"}
    # What no check has, such as classes, says nothing.
    keys = [
        key
        for key in KEYS
        if key in before
        and (key in always or before[key].notna().any() or after[key].notna().any())
    ]
    tables = [each[[*keys, *_BOTH]] for each in (before, after)]
    merged = tables[0].merge(
        tables[1], how="outer", on=keys, suffixes=("_before", "_after"), sort=False
    )
    merged["change"] = merged["gap_after"] - merged["gap_before"]
    errors = merged["std_error_after"], merged["std_error_before"]
    p = p_of_change(merged["change"], *errors) if test else np.full(len(merged), np.nan)
    merged["change_p"] = adjust(np.asarray(p, dtype=float), "holm")
    merged["changed"] = merged["change_p"] < level
    order = pd.DataFrame(
        {
            "changed": ~merged["changed"],
            "moved": merged["finding_before"].eq(merged["finding_after"]),
            "size": -merged["change"].abs().fillna(-1.0),
        }
    )
    return merged.loc[
        order.sort_values(["changed", "moved", "size"], kind="stable").index
    ].reset_index(drop=True)


def _different(one: Record, other: Record) -> list[tuple[str, Any, Any]]:
    values = [_flat({**(each.config or {}), "policy": each.policy}) for each in (one, other)]
    missing = object()
    return [
        (key, values[0].get(key), values[1].get(key))
        for key in dict.fromkeys([*values[0], *values[1]])
        if values[0].get(key, missing) != values[1].get(key, missing)
    ]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found
