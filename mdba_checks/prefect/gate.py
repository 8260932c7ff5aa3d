"""The gate as a flow: labels come in, and go on only if the policy lets them through.

The run ends Completed and is named Passed, Annotated or Quarantined, or it ends Failed and is named
Blocked (a labeler is biased) or Undecided; the reason is in the state's message. Only a Completed
run releases data: blocking with a completed state would let everything behind it run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from mdba_checks.config import EngineName
from mdba_checks.errors import InputError
from mdba_checks.prefect.approval import ask_person, duration
from mdba_checks.prefect.check import assess_labels, decide, fingerprint
from mdba_checks.prefect.outputs import (
    check_findings,
    check_output,
    write_findings,
    write_outputs,
)
from mdba_checks.prefect.publish import Outcome, announce, publish_verdict
from mdba_checks.prefect.settings import Config, settings_of
from mdba_checks.prefect.support import digest
from mdba_checks.report import in_a_row, question
from mdba_checks.tables import source_name

OUTCOMES: dict[str, Outcome] = {
    "pass": "passed",
    "annotate": "annotated",
    "quarantine": "quarantined",
    "block": "blocked",
    "inconclusive": "undecided",
}
STOPPED_STATES = ("blocked", "undecided")


@flow(name="label-bias-gate", persist_result=True, result_serializer="json")
def label_bias_gate(
    labels: str | Path,
    gold: str | Path,
    config: Config = "mdba.yaml",
    output: str | Path | None = None,
    force: bool = False,
    engine: EngineName | None = None,
    cluster: str | None = None,
    findings: str | Path | None = None,
) -> State[dict[str, Any]]:
    """Check labels and release them, whole or in part, or block them.

    Parameters
    ----------
    labels
        The labels: a path (.csv, .csv.gz, .parquet, a folder of Parquet parts), the same in object
        storage (s3://…, gs://…), or URL::table. Keep passwords out of it: parameters are shown to
        everybody who can see the run.
    gold
        The gold table, in the same forms.
    config
        The settings: a YAML file, what such a file holds, ``variable:NAME`` or ``block:NAME``; see
        `settings_of`.
    output
        Where released labels go (.csv, .csv.gz or .parquet), with a sidecar beside them; also in
        object storage.
    force
        Whether an older output may be replaced.
    engine
        Where buckets of labelers are worked on: local (threads of this process), dask or spark;
        by default what the settings say.
    cluster
        The address of a Dask scheduler or a Spark master; by default what the settings say.
    findings
        Where the findings go as CSV, a row per comparison, whatever the verdict is; an older file
        is replaced.
    """
    labels, gold = str(labels), str(gold)
    output, findings = (None if each is None else str(each) for each in (output, findings))
    settings = settings_of(config)
    given = {"engine": engine, "cluster": cluster}
    settings = settings.updated({key: value for key, value in given.items() if value is not None})
    values, policy = settings.model_dump(mode="json"), settings.policy.model_dump(mode="json")
    source = source_name(labels)
    if output is not None:
        check_output(output, labels, gold)
    elif settings.policy.on_block == "approve":
        raise InputError("a person may release the labels (on_block: approve): give an output")
    if findings is not None:
        check_findings(findings, labels, gold)
    prints = fingerprint(labels, gold, values)
    kept = assess_labels(labels, gold, values, prints)
    record = decide(kept, policy)
    if findings is not None:
        write_findings(record, findings)
    approval, note = None, ""
    ended: dict[str, Any] = write_outputs(labels, gold, kept, policy, output, force=force)
    if OUTCOMES[ended["verdict"]] in STOPPED_STATES and settings.policy.on_block == "approve":
        wait = settings.policy.approval_timeout
        publish_verdict(kept, policy, source=source, waiting=duration(wait), ended=ended)
        approval = ask_person(
            question(source, ended["verdict"], ended["reasons"]),
            # An answer counts for this content, these settings and this verdict only.
            key=digest([prints, values, ended["verdict"]])[:16],
            timeout=wait,
        )
        if approval is None:
            note = f"nobody decided within {duration(wait)}. "
        else:
            ended = write_outputs(
                labels, gold, kept, policy, output, approval=approval, force=force
            )
    publish_verdict(kept, policy, source=source, approval=approval, ended=ended)
    outcome = OUTCOMES[ended["verdict"]]
    message = note + in_a_row(ended["reasons"])
    result = {
        "outcome": outcome,
        "verdict": ended["verdict"],
        "message": message,
        "released": "",
        **ended["files"],
        "approval": approval,
        "content": prints,
    }
    announce(outcome, prints["labels"], result)
    name = outcome.capitalize()
    if outcome in STOPPED_STATES:
        return Failed(name=name, message=message)
    return Completed(name=name, message=message, data=result)
