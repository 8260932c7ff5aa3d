"""A check run again from its record: the same tables and settings have to give the same numbers.

The record says where the tables were, what they held, how they were asked and what came out. Here
the tables are found and compared with their hashes, the check is made again, and every number is
compared. The record may come from a stranger: every value that is used is validated first, no
database server is asked because a record names it, and nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from mdba_checks.assessment import Assessment, assess
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.estimation import Progress
from mdba_checks.findings import with_sides
from mdba_checks.outputs.json_text import parse_json
from mdba_checks.outputs.record import GapRow, Hashes, Locations, Record, is_sealed, versions
from mdba_checks.outputs.release_rule import Release, decide_release
from mdba_checks.outputs.sidecar import sidecar_path
from mdba_checks.tables import (
    KEY_VARIABLE,
    Source,
    content_hash,
    is_database,
    pseudonym,
    read_key,
    read_table,
    source_name,
    text_columns,
)
from mdba_checks.verdict import Verdict, gate

TOLERANCE, TOLERANCE_ACROSS_VERSIONS = 1e-9, 1e-6
NUMBERS = (
    "gap",
    "std_error",
    "ci_low",
    "ci_high",
    "p_value",
    "rate",
    "rate_reference",
    "n_labels",
    "n_gold",
    "n_gold_positive",
)
_MOST_BYTES = 1 << 30
_MOST_SHOWN = 200
_IN_A_FILE = re.compile(r"(sqlite|duckdb)(\+\w+)?:///(?P<path>[^?*]+)::(?P<table>[^?*]+)")


@dataclass(frozen=True)
class Difference:
    """A value that is another than the recorded one; None where there is none.

    The verdict belongs to no labeler and no group.
    """

    labeler: str | None
    group: str | None
    name: str
    recorded: float | str | None
    found: float | str | None

    def __str__(self) -> str:
        said = f"{self.name} is {_value(self.found)} and was {_value(self.recorded)}"
        if self.labeler is None or self.group is None:
            return said
        return f"labeler {_shown(self.labeler)}, group {_shown(self.group)}: {said}"


@dataclass(frozen=True)
class Rerun:
    """How a check that was made again compares with its record.

    Attributes
    ----------
    n_gaps
        How many gaps were compared, those of a second check after a quarantine included.
    tolerance
        How far a number may be from the recorded one.
    differences
        What is further away, in the order of the record.
    other_versions
        What was installed in another version then: ``"numpy 2.2.0 then, 2.3.1 now"``.
    verdict
        What holds by the recorded policy, and by what a person decided where one did.
    notes
        What else is to be known, in sentences.
    """

    n_gaps: int
    tolerance: float
    differences: tuple[Difference, ...]
    other_versions: tuple[str, ...]
    verdict: Verdict
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether every number is the recorded one."""
        return not self.differences


@dataclass(frozen=True)
class _Complete:
    """A record with everything that a check can be made again from."""

    record: Record
    verdict: Verdict
    data: Hashes
    origin: Locations
    versions: Mapping[str, str | None]
    config: CheckConfig


def read_recorded(path: str | Path) -> _Complete:
    """Return what a sidecar, or a file that ``mdba check --json`` wrote, says.

    Raises
    ------
    InputError
        When it is not such a record, is damaged, or was made by a version that did not write down
        what is needed.
    """
    path = Path(path)
    values = _parsed(path)
    if "seal" in values and not is_sealed(values):
        raise InputError(f"{path} is damaged: it is not what was written; make the check again")
    missing = [key for key in ("gaps", "config", "data") if key not in values]
    if missing:
        raise InputError(f"{path} is not the record of a check: it has no {missing[0]!r}")
    if "origin" not in values or "versions" not in values:
        raise InputError(
            f"{path} does not say where its tables were: it was written by an older version; make "
            "the check again with mdba check"
        )
    try:
        record = Record.read(values)
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}") from None
    needed = (record.verdict, record.data, record.origin, record.versions, record.config)
    verdict, data, origin, versions_then, settings = needed
    if not (verdict and data and origin and versions_then is not None and settings is not None):
        raise InputError(f"{path} is damaged: a part that a check is made from is empty")
    config = CheckConfig.from_mapping(settings, origin=f"{path}: config")
    _refuse_contradictions(path, values, record, config)
    return _Complete(
        record=record,
        verdict=verdict,
        data=data,
        origin=origin,
        versions=versions_then,
        config=config,
    )


def rerun(
    path: str | Path,
    *,
    labels: Source | None = None,
    gold: Source | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Rerun:
    """Make a check again from its record, and compare every number.

    Parameters
    ----------
    path
        A sidecar, or a file that ``mdba check --json`` wrote.
    labels, gold
        Where the tables are now; by default where they were, or beside the record.
    jobs
        Parallel workers; the numbers do not depend on it.
    progress
        As for `assess`.

    Raises
    ------
    InputError
        When the record cannot be used, a table is not found or was changed, or the key is missing
        that pseudonyms were made with.

    Examples
    --------
    >>> import tempfile
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.outputs import to_record
    >>> from mdba_checks.simulation import simulate
    >>> folder = Path(tempfile.mkdtemp())
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> made.labels.to_csv(folder / "labels.csv", index=False)
    >>> made.gold.to_csv(folder / "gold.csv", index=False)
    >>> tables = folder / "labels.csv", folder / "gold.csv"
    >>> found = assess(*tables, CheckConfig(reference="men"))
    >>> _ = (folder / "check.json").write_text(to_record(found, gate(found)).to_json())
    >>> again = rerun(folder / "check.json")
    >>> again.same, again.n_gaps, again.tolerance, again.verdict
    (True, 2, 1e-09, 'block')
    """
    recorded = read_recorded(path)
    config = recorded.config
    if recorded.origin.learner is not None:
        raise InputError(
            f"{path} was made with a learner of its own, {_shown(recorded.origin.learner)}, which "
            "a record cannot hold: make the check again in Python"
        )
    reader = recorded.origin.text_model or config.text_model
    if reader is not None:  # a stranger's record must not choose what is loaded
        raise InputError(
            f"{path} was made with a text model, {_shown(reader)}, which a record cannot hold: "
            "make the check again"
        )
    if config.pseudonymize:
        _refuse_without_key(path)
    folder = Path(path).resolve().parent
    tables = {}
    for name, given in (("labels", labels), ("gold", gold)):
        source = _find(name, getattr(recorded.origin, name), folder) if given is None else given
        tables[name] = _read(name, source, config, getattr(recorded.data, f"{name}_hash"))
    if config.pseudonymize:
        _refuse_other_key(tables["labels"], config, recorded.record.gaps)
    # No number depends on these, and a stranger's record must not choose where rows are sent.
    config = config.updated({"jobs": jobs, "engine": "local", "cluster": None})
    assessment = assess(tables["labels"], tables["gold"], config, progress=progress)
    return _compared(recorded, assessment, tables, progress)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        if path.is_file() and path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} is not the record of a check: it is too large")
        return parse_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        beside = sidecar_path(path)
        hint = f"; its record is {beside}" if beside.exists() else ""
        what = "it is not text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError(f"{path} is not the record of a check: {what[:120]}{hint}") from None


def _refuse_contradictions(
    path: Path, record: Mapping[str, Any], recorded: Record, config: CheckConfig
) -> None:
    """Refuse a record whose parts do not belong together."""
    plain = config.model_dump(mode="json")
    plain["policy"] = config.policy.resolved().model_dump(mode="json")
    for key in ("policy", "estimator", "metric", "confidence", "reference", "seed"):
        if key in record and record[key] != plain[key]:
            raise InputError(f"{path} is damaged: {key!r} and 'config.{key}' differ")
    for rows in (recorded.gaps, (recorded.recheck and recorded.recheck.gaps) or []):
        if len({_named(row) for row in rows}) < len(rows):
            raise InputError(f"{path} is damaged: 'gaps' has a labeler and group twice")
        if any(row.metric != config.metric for row in rows):
            raise InputError(f"{path} is damaged: 'gaps' and 'config.metric' differ")


def _refuse_without_key(path: str | Path) -> None:
    try:
        read_key()
    except InputError:
        raise InputError(
            f"{path} knows labelers by pseudonyms: put the key that made them into {KEY_VARIABLE}"
        ) from None


def _refuse_other_key(table: pa.Table, config: CheckConfig, gaps: Sequence[GapRow]) -> None:
    if config.columns.labeler not in table.column_names:
        return  # `assess` says so
    names = table.column(config.columns.labeler).unique().drop_null().to_pylist()
    key = read_key()
    if gaps and not {pseudonym(name, key) for name in names} & {row.labeler for row in gaps}:
        raise InputError(
            f"the recorded pseudonyms were made with another key: set {KEY_VARIABLE} to that one"
        )


def _find(name: str, source: str | None, folder: Path) -> str:
    """Return where a table is: where it was, else below the record's folder, else beside it."""
    if source is None:
        raise InputError(f"the record does not say where the {name} table was: give --{name} FILE")
    if not is_database(source):
        given = Path(source)
        for path in (given, folder / given, folder / given.name):
            if _is_there(path):
                return str(path)
        raise InputError(
            f"the {name} table is not at {_shown(source)} any more, nor beside the record: give "
            f"--{name} FILE"
        )
    inside = _IN_A_FILE.fullmatch(source)
    if not inside:
        # Whoever wrote the record would decide which server is asked, and under which name.
        raise InputError(
            f"the {name} table was in a database, {_shown(source)}: give --{name} URL::table, with "
            "user and password where they are needed; a record never holds them"
        )
    url, path = source.partition(":///")[0], Path(inside["path"])
    for each in (path, folder / path, folder / path.name):
        if _is_there(each):
            return f"{url}:///{each}::{inside['table']}"
    raise InputError(
        f"the {name} table is not at {_shown(source)} any more, nor the file beside the record: "
        f"give --{name} URL::table"
    )


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _shown(text: str) -> str:
    """Return a stranger's text quoted, and not at any length."""
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")


def _value(value: float | str | None) -> str:
    return "none" if value is None else _shown(value) if isinstance(value, str) else f"{value!r}"


def _read(name: str, source: Source, config: CheckConfig, expected: str) -> pa.Table:
    table = read_table(
        source, text_columns=text_columns(config), missing_values=config.missing_values
    )
    found = content_hash(table)
    if found != expected:
        raise InputError(
            f"the {name} table was changed since the check: {source_name(source)} has the content "
            f"hash {found}, and {expected} was checked; give the table of then with --{name}"
        )
    return table


def _compared(
    recorded: _Complete,
    assessment: Assessment,
    tables: Mapping[str, pa.Table],
    progress: Progress | None,
) -> Rerun:
    now = versions()
    names = dict.fromkeys([*now, *recorded.versions])
    other = tuple(
        f"{name[:40]} {(recorded.versions.get(name) or 'none')[:40]} then, {now.get(name)} now"
        for name in names
        if recorded.versions.get(name) != now.get(name)
    )
    tolerance = TOLERANCE_ACROSS_VERSIONS if other else TOLERANCE
    differences = _differences(recorded.record.gaps, assessment.gaps, tolerance)
    n_gaps = len(recorded.record.gaps)
    found = Release(gate(assessment), assessment)
    recheck, approval = recorded.record.recheck, recorded.record.approval
    if (recheck or approval) and not differences:
        found = decide_release(
            tables["labels"],
            tables["gold"],
            assessment,
            approval=approval.model_dump() if approval else None,
            progress=progress,
        )
        rest = (recheck and recheck.gaps) or []
        again = found.parts.assessment if found.parts else None
        differences += _differences(
            rest, assessment.gaps.iloc[:0] if again is None else again.gaps, tolerance
        )
        n_gaps += len(rest)
    verdict = found.decision.verdict
    if not differences and recorded.verdict != verdict:
        differences.append(
            Difference(
                labeler=None,
                group=None,
                name="the verdict",
                recorded=recorded.verdict,
                found=verdict,
            )
        )
    notes = []
    if found.approval is not None:
        notes.append(f"a person decided: {found.decision.reasons[0]}")
    return Rerun(
        n_gaps=n_gaps,
        tolerance=tolerance,
        differences=tuple(differences),
        other_versions=other,
        verdict=verdict,
        notes=tuple(notes),
    )


def _named(row: GapRow, attribute: str | None = None) -> tuple[str, str, str, str]:
    """Return what names a comparison; older records do not say their group column."""
    of_class = "" if row.class_ is None else str(row.class_)
    return (row.labeler, row.attribute or attribute or "", row.group, of_class)


def _differences(
    recorded: Sequence[GapRow], found: pd.DataFrame, tolerance: float
) -> list[Difference]:
    sided = with_sides(found).assign(**{"class": found["class"].fillna("")})
    names = zip(*(sided[name] for name in ("labeler", "attribute", "group", "class")), strict=True)
    rows = dict(zip(names, sided.to_dict("records"), strict=True))
    first = next((name[1] for name in rows), None)
    differences = []
    for old in recorded:
        new = rows.pop(_named(old, first), None)
        if new is None:
            differences.append(
                Difference(
                    labeler=old.labeler,
                    group=old.group,
                    name="the gap",
                    recorded=old.gap,
                    found=None,
                )
            )
            continue
        for name in ("reference", "finding", *NUMBERS):
            then, today = getattr(old, name), new[name]
            if not isinstance(today, str):
                today = None if pd.isna(today) else float(today)
            if not _close(then, today, tolerance):
                differences.append(
                    Difference(
                        labeler=old.labeler,
                        group=new["side"],
                        name=name,
                        recorded=then,
                        found=today,
                    )
                )
    differences += [
        Difference(
            labeler=row["labeler"],
            group=row["side"],
            name="the gap",
            recorded=None,
            found=float(row["gap"]),
        )
        for row in rows.values()
    ]
    return differences


def _close(then: Any, today: Any, tolerance: float) -> bool:
    if then is None or today is None or isinstance(then, str):
        return bool(then == today)
    return bool(abs(then - today) <= tolerance)
