"""What leaves the gate, and how training makes sure that it got exactly that.

A data set leaves with a sidecar that holds the verdict and the hash of the content. Whoever trains
calls `read_released`: it hands out the rows only after it has held them against the sidecar, and
only under a verdict that lets them through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from prefect import task
from prefect.cache_policies import NO_CACHE

from mdba_checks.annotate import write_annotated
from mdba_checks.artifacts import in_a_row
from mdba_checks.assessment import Assessment, assess
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.pseudonyms import pseudonym, read_key
from mdba_checks.quarantine import quarantine, removed_path, write_quarantined
from mdba_checks.record import Origin, to_record
from mdba_checks.sidecar import Published, check_outputs, sidecar_path, verify
from mdba_checks.tables import content_hash, read_table
from mdba_checks.tables.database import is_database
from mdba_checks.tables.roles import text_columns
from mdba_checks.tasks.check import fits_folder, judged, with_rows
from mdba_checks.tasks.support import JSON, log
from mdba_checks.verdict import Decision

LETS_THROUGH = ("pass", "annotate", "quarantine")


def check_output(output: str, *inputs: str) -> None:
    """Refuse an output that could not be written, before a long computation."""
    check_outputs(output, removed_path(output), force=True, inputs=_files(inputs))


@task(name="write outputs", cache_policy=NO_CACHE)
def write_outputs(
    labels: str,
    gold: str,
    kept: JSON,
    policy: JSON | None,
    output: str,
    *,
    approval: JSON | None = None,
    force: bool = False,
) -> JSON:
    """Write what a verdict lets through, with its sidecar: annotated, or without biased labelers.

    Rows that stay after a quarantine are assessed again. They leave only if they pass; where a
    person chose to quarantine, also if they are undecided. An output that an earlier attempt has
    written already is left as it is.

    Parameters
    ----------
    labels, gold
        The tables that were assessed.
    kept
        What `assess_labels` returned for them.
    policy
        The policy, as parsed YAML.
    output
        Where to; ends in .csv, .csv.gz or .parquet.
    approval
        What a person decided about labels that the policy stops.
    force
        Whether existing files may be replaced.

    Returns
    -------
    dict
        ``released``, ``sidecar`` and, after a quarantine, ``removed``: paths; ``refused``: why
        nothing was written, where that is so.
    """
    assessment, decision = judged(kept, policy)
    decision = decided(decision, approval)
    if not decision.lets_through:
        raise InputError(f"the verdict is {decision.verdict}: nothing leaves the gate")
    paths = {
        "released": str(Path(output).resolve()),
        "sidecar": str(sidecar_path(output).resolve()),
    }
    if decision.verdict == "quarantine":
        paths["removed"] = str(removed_path(output).resolve())
    if _is_written(output, to_record(assessment, decision)):
        log().info("%s is there already, as it should be", output)
        return paths
    origin = replace(Origin.of(labels, gold), store=kept["reuse"])
    assessment = replace(_whole(assessment, kept, labels, gold), origin=origin)
    options: dict[str, Any] = {"force": force, "inputs": _files((labels, gold))}
    if decision.verdict != "quarantine":
        _tell(write_annotated(labels, assessment, decision, output, **options))
        return paths
    parts = quarantine(labels, gold, assessment)
    rest = parts.decision
    log().info("%s rows removed; the rest: %s", f"{parts.n_removed:,}", rest.verdict)
    accepted = {"pass", "annotate"} | ({"inconclusive"} if approval and parts.assessment else set())
    if rest.verdict not in accepted:
        return {"refused": f"without biased labelers: {rest.verdict}. {in_a_row(rest.reasons)}"}
    _tell(write_quarantined(labels, parts, assessment, decision, output, **options))
    return paths


def decided(decision: Decision, approval: Mapping[str, Any] | None) -> Decision:
    """Return what holds after a person has decided, with their words as the first reason.

    Examples
    --------
    >>> from mdba_checks import Policy
    >>> said = {"decision": "release", "name": "Ann", "reason": "a pilot", "decided_at": "today"}
    >>> after = decided(Decision("block", ("1 labeler is biased",), Policy()), said)
    >>> after.verdict, after.reasons[0]
    ('pass', 'release by Ann, today: a pilot (the verdict was block)')
    """
    if approval is None:
        return decision
    words = (
        f"{approval['decision']} by {approval['name']}, {approval['decided_at']}: "
        f"{approval['reason']} (the verdict was {decision.verdict})"
    )
    verdicts = {"release": "pass", "quarantine": "quarantine", "block": decision.verdict}
    verdict: Any = verdicts[approval["decision"]]
    return replace(decision, verdict=verdict, reasons=(words, *decision.reasons))


@dataclass(frozen=True)
class Released:
    """A data set that the gate let through: its rows, and the record of the check."""

    table: pa.Table
    record: Mapping[str, Any]

    @property
    def config(self) -> CheckConfig:
        """The settings of the check; they say which column plays which role."""
        return CheckConfig.from_mapping(self.record["config"], origin="the sidecar")


def read_released(path: str | Path) -> Released:
    """Return the rows of a released data set, or refuse.

    The rows that are returned are the rows that were held against the sidecar; the file is not read
    a second time.

    Raises
    ------
    InputError
        When the file is not the one its sidecar speaks of, or its verdict does not let it through.
    """
    if not str(path).strip():
        raise InputError("there is no released data set: give the gate an output")
    found = verify(path)
    if not found.ok or found.record is None:
        raise InputError(f"{path} was not released by the gate as it is: {found.reason}")
    if found.record.get("verdict") not in LETS_THROUGH:
        raise InputError(f"{path} was not released: its verdict is {found.record.get('verdict')!r}")
    about = found.record["file"]
    table = read_table(
        str(path), text_columns=about["text_columns"], missing_values=about["missing_values"]
    )
    if content_hash(table) != about["content_hash"]:
        raise InputError(f"{path} changed while it was being read: run again")
    return Released(table, found.record)


@task(name="verify released", cache_policy=NO_CACHE)
def verify_released(path: str) -> JSON:
    """Return verdict, reasons and content hash of a released data set, or fail.

    A task of its own in front of training: where it fails, no training starts.
    """
    released = read_released(path)
    record = released.record
    log().info("%s: %s rows, verdict %s", path, released.table.num_rows, record["verdict"])
    return {
        "verdict": record["verdict"],
        "reasons": list(record["reasons"]),
        "content_hash": record["file"]["content_hash"],
    }


def _whole(assessment: Assessment, kept: JSON, labels: str, gold: str) -> Assessment:
    """Return the assessment with its rows and pseudonyms; estimated again where rows are lost."""
    whole = with_rows(kept, assessment)
    config = assessment.config
    if whole is None:
        log().warning("the cached rows are gone: the labels are assessed again")
        return assess(labels, gold, config, store=fits_folder() if kept["reuse"] else None)
    if not config.pseudonymize:
        return whole
    table = read_table(
        labels, text_columns=text_columns(config), missing_values=config.missing_values
    )
    names = table.column(config.columns.labeler).unique().drop_null().to_pylist()
    key = read_key()
    return replace(whole, pseudonyms={name: pseudonym(name, key) for name in names})


def _is_written(output: str, record: Mapping[str, Any]) -> bool:
    """Tell whether the output is there and speaks of this very check."""
    if not Path(output).is_file():
        return False
    found = verify(output)
    same = ("verdict", "reasons", "data", "config", "gaps", "version")
    return found.ok and all((found.record or {}).get(each) == record[each] for each in same)


def _tell(published: Published) -> None:
    log().info("wrote %s and %s", published.path, published.sidecar.name)


def _files(sources: tuple[str, ...]) -> list[str]:
    return [source for source in sources if not is_database(source)]
