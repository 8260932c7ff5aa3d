"""What leaves the gate, and how training makes sure that it got exactly that.

A data set leaves with a sidecar that holds the verdict and the hash of the content. Whoever trains
calls `mdba_checks.read_released`, which compares the two.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from mdba_checks.assessment import Assessment, assess_with
from mdba_checks.outputs import (
    Record,
    address,
    check_outputs,
    check_target,
    decide_release,
    findings_csv,
    is_there,
    read_released,
    removed_path,
    sidecar_path,
    supersede,
    takes_rows_out,
    verify,
    write_release,
    write_whole,
)
from mdba_checks.prefect.check import judged, with_rows
from mdba_checks.prefect.support import JSON, log
from mdba_checks.tables import (
    Origin,
    is_database,
    is_remote,
    pseudonym,
    read_key,
    read_table,
    text_columns,
)


def check_output(output: str, *inputs: str) -> None:
    """Refuse an output that could not be written, before a long computation."""
    check_outputs(output, removed_path(output), force=True, inputs=_files(inputs))


def check_findings(path: str, *inputs: str) -> None:
    """Refuse a file for findings that could not be written, before a long computation."""
    check_target(path, force=True, inputs=_files(inputs))


@task(name="write findings", cache_policy=NO_CACHE)
def write_findings(record: JSON, path: str) -> str:
    """Write findings as CSV, a row per comparison; return where they are.

    Parameters
    ----------
    record
        What `decide` returned.
    path
        Where to; an older file is replaced.

    Examples
    --------
    >>> import tempfile
    >>> row = {"labeler": "Ann", "group": "women", "gap": -0.2, "finding": "biased"}
    >>> target = Path(tempfile.mkdtemp()) / "findings.csv"
    >>> where = write_findings.fn({"gaps": [row]}, str(target))
    >>> target.read_text().splitlines()[1]
    'labeler,Ann,women,-0.2,biased'
    """
    write_whole(path, findings_csv(record), force=True)
    return address(path)


@task(name="write outputs", cache_policy=NO_CACHE)
def write_outputs(
    labels: str | Path,
    gold: str | Path,
    kept: JSON,
    policy: JSON | None,
    output: str | Path | None,
    *,
    approval: JSON | None = None,
    force: bool = False,
) -> JSON:
    """Decide what leaves and write it, with its sidecar; the rule is `decide_release`.

    Where nothing may leave, a release of the same labels that is there is marked as superseded.

    An output that an earlier attempt has written already is left as it is.

    Parameters
    ----------
    labels, gold
        The tables that were assessed.
    kept
        What `assess_labels` returned for them.
    policy
        The policy, as parsed YAML.
    output
        Where to; ends in .csv, .csv.gz or .parquet. Without it nothing is written.
    approval
        What a person decided about labels that the policy stops.
    force
        Whether existing files may be replaced.

    Returns
    -------
    dict
        ``verdict`` and ``reasons`` that hold in the end; ``files``: ``released``, ``sidecar`` and,
        where the policy can take rows out, ``removed``, as paths.
    """
    labels, gold = str(labels), str(gold)
    assessment, decision = judged(kept, policy)
    stays = approval is not None or not decision.stops
    if (output is not None and stays) or decision.verdict == "quarantine":
        origin = Origin.of(labels, gold)
        assessment = replace(_whole(assessment, kept, labels, gold), origin=origin)
    found = decide_release(labels, gold, assessment, approval=approval)
    ended: JSON = {
        "verdict": found.decision.verdict,
        "reasons": list(found.decision.reasons),
        "files": {},
    }
    published = None
    if output is not None and found.decision.stops:
        where = asdict(Origin.of(labels, gold))
        if supersede(output, found.record().with_values(origin=where)):
            log().warning("%s, released earlier, is marked as superseded", output)
    if output is not None and not found.decision.stops:
        if _is_written(output, found.record()):
            log().info("%s is there already, as it should be", output)
        else:
            published = write_release(
                labels, found, output, force=force, inputs=_files((labels, gold))
            )
        ended["files"] = {
            "released": address(output),
            "sidecar": address(sidecar_path(output)),
        }
        if found.parts is not None or takes_rows_out(found.decision.policy):
            ended["files"]["removed"] = address(removed_path(output))
    if published is not None or output is None:
        for line in found.lines(published):
            log().info("%s", line)
    return ended


@task(name="verify released", cache_policy=NO_CACHE)
def verify_released(path: str) -> JSON:
    """Return verdict, reasons and content hash of a released data set, or fail.

    A task of its own in front of training: where it fails, no training starts.
    """
    released = read_released(path)
    record = released.record
    log().info("%s: %s rows, verdict %s", path, len(released.table), record.verdict)
    if record.approval:
        log().warning("%s: %s", path, record.reasons[0])
    return {
        "verdict": record.verdict,
        "reasons": record.reasons,
        "content_hash": record.file.content_hash if record.file else None,
    }


def _whole(assessment: Assessment, kept: JSON, labels: str, gold: str) -> Assessment:
    """Return the assessment with its rows and pseudonyms; estimated again where rows are lost."""
    whole = with_rows(kept, assessment)
    config = assessment.config
    if whole is None:
        log().warning("the cached rows are gone: the labels are assessed again")
        name = config.estimator
        return assess_with(labels, gold, config, [name], in_parts=False)[name]
    if not config.pseudonymize:
        return whole
    table = read_table(
        labels, text_columns=text_columns(config), missing_values=config.missing_values
    )
    names = table.column(config.columns.labeler).unique().drop_null().to_pylist()
    key = read_key()
    return replace(whole, pseudonyms={name: pseudonym(name, key) for name in names})


def _is_written(output: str | Path, record: Record) -> bool:
    """Return whether the output is there and describes this very check."""
    if not is_there(output):
        return False
    found = verify(output)
    same = ("verdict", "reasons", "data", "config", "gaps", "version")
    return found.ok and all(getattr(found.record, each) == getattr(record, each) for each in same)


def _files(sources: tuple[str, ...]) -> list[str]:
    return [source for source in sources if is_remote(source) or not is_database(source)]
