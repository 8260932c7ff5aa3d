"""The gate as a flow: labels come in, and go on only if the policy lets them through.

    python flows/label_bias_gate.py labels.csv gold.csv mdba.yaml released.parquet

The run ends Completed and is named Passed, Annotated or Quarantined, or it ends Failed and is named
Blocked; the reason is in the state's message. Only a Completed run releases data: blocking with a
completed state would let everything behind it run.
"""

from __future__ import annotations

import sys
from typing import Any

from prefect import flow
from prefect.states import Completed, Failed, State

from mdba_checks.artifacts import in_a_row, question
from mdba_checks.config import CheckConfig, EngineName
from mdba_checks.errors import InputError
from mdba_checks.tables import source_name
from mdba_checks.tasks import (
    Outcome,
    announce,
    ask_person,
    assess_labels,
    check_output,
    decide,
    duration,
    fingerprint,
    publish_verdict,
    read_config,
    write_outputs,
)
from mdba_checks.tasks.support import digest

OUTCOMES: dict[str, Outcome] = {
    "pass": "passed",
    "annotate": "annotated",
    "quarantine": "quarantined",
    "block": "blocked",
    "inconclusive": "inconclusive",
    # What a person can say.
    "release": "passed",
}
STOPPED = ("blocked", "inconclusive")


@flow(name="label-bias-gate", persist_result=True, result_serializer="json")
def label_bias_gate(
    labels: str,
    gold: str,
    config: str | dict[str, Any] | CheckConfig = "mdba.yaml",
    output: str | None = None,
    force: bool = False,
    engine: EngineName | None = None,
    cluster: str | None = None,
    reuse: bool = True,
) -> State[dict[str, Any]]:
    """Check labels and release them, whole or in part, or block them.

    Parameters
    ----------
    labels
        The labels: a path (.csv, .csv.gz, .parquet, a folder of Parquet parts) or URL::table. Keep
        passwords out of it: parameters are shown to everybody who can see the run.
    gold
        The gold table, in the same forms.
    config
        The settings: a YAML file, or what such a file holds.
    output
        Where released labels go (.csv, .csv.gz or .parquet), with a sidecar beside them.
    force
        Whether an older output may be replaced.
    engine
        Where buckets of labelers are worked on: local (threads of this process), dask or spark;
        by default what the settings say.
    cluster
        The address of a Dask scheduler or a Spark master; by default what the settings say.
    reuse
        Whether labelers whose rows are the same as in an earlier run keep what was found then.
    """
    settings = read_config(config)
    given = {"engine": engine, "cluster": cluster}
    settings = settings.updated({key: value for key, value in given.items() if value is not None})
    values, policy = settings.model_dump(mode="json"), settings.policy.model_dump(mode="json")
    source = source_name(labels)
    if output is not None:
        check_output(output, labels, gold)
    elif settings.policy.mode == "quarantine" or settings.policy.on_block == "approve":
        raise InputError("this policy may release a part of the labels: give an output for it")
    prints = fingerprint(labels, gold, values)
    kept = assess_labels(labels, gold, values, prints, reuse)
    record = decide(kept, policy)
    outcome, message = OUTCOMES[record["verdict"]], in_a_row(record["reasons"])

    approval = None
    if outcome in STOPPED and settings.policy.on_block == "approve":
        wait = settings.policy.approval_timeout
        publish_verdict(kept, policy, source=source, waiting=duration(wait))
        approval = ask_person(
            question(source, record["verdict"], record["reasons"]),
            # An answer counts for this content, these settings and this verdict only.
            key=digest([prints, values, record["verdict"]])[:16],
            timeout=wait,
        )
        if approval is None:
            message = f"nobody decided within {duration(wait)}. {message}"
        elif approval["decision"] == "block":
            message = f"blocked by {approval['name']}: {approval['reason']}. {message}"
        else:
            outcome = OUTCOMES[approval["decision"]]
            message = f"{outcome} by {approval['name']}: {approval['reason']}. {message}"

    files: dict[str, Any] = {}
    refused = ""
    if output is not None and outcome not in STOPPED:
        files = write_outputs(labels, gold, kept, policy, output, approval=approval, force=force)
        refused = files.pop("refused", "")
        if refused:
            outcome, message = "blocked", refused
    publish_verdict(kept, policy, source=source, approval=approval, refused=refused, outputs=files)
    result = {
        "outcome": outcome,
        "verdict": record["verdict"],
        "message": message,
        "released": "",
        **files,
        "approval": approval,
        "content": prints,
    }
    announce(outcome, prints["labels"], result)
    if outcome in STOPPED:
        return Failed(name="Blocked", message=message)
    return Completed(name=outcome.capitalize(), message=message, data=result)


if __name__ == "__main__":
    ended = label_bias_gate(*sys.argv[1:], return_state=True)
    sys.exit(0 if ended.is_completed() else 1)
