"""What others learn of a verdict: artifacts for people, events for automations.

Both happen once per run and content. A flow that is retried, or comes back after a suspension, runs
these tasks again; they are then found done, and nobody is told the same thing twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import DEFAULT
from prefect.events import emit_event
from prefect.runtime import flow_run

from mdba_checks.prefect.check import judged
from mdba_checks.prefect.support import JSON, digest, log
from mdba_checks.report import artifact_key, labeler_rows, plain, plan_page, verdict_page

Outcome = Literal["passed", "annotated", "quarantined", "blocked", "undecided"]

# The default policy: the same inputs in the same run. What is kept is an id or nothing.
_ONCE_PER_RUN: dict[str, Any] = {
    "cache_policy": DEFAULT,
    "persist_result": True,
    "result_serializer": "json",
}


@task(name="publish verdict", **_ONCE_PER_RUN)
def publish_verdict(
    kept: JSON,
    policy: JSON | None = None,
    *,
    source: str = "labels",
    waiting: str = "",
    approval: JSON | None = None,
    ended: JSON | None = None,
) -> list[str]:
    """Publish the verdict with its plot, the table of labelers, and the plan where one is needed.

    Parameters
    ----------
    kept
        What `assess_labels` returned.
    policy
        The policy, as parsed YAML; by default the one in the assessment's settings.
    source
        What was checked, by a name that is safe to show; it also names the artifacts.
    waiting
        How long a person can decide, such as "24 hours".
    approval
        What a person decided.
    ended
        What `write_outputs` returned: what holds in the end, and the files that were written.

    Returns
    -------
    list of str
        The keys of the artifacts.
    """
    assessment, decision = judged(kept, policy)
    if ended is not None:
        decision = replace(decision, verdict=ended["verdict"], reasons=tuple(ended["reasons"]))
    page = verdict_page(
        assessment,
        decision,
        source=source,
        waiting=waiting,
        approval=approval,
        outputs=(ended or {}).get("files"),
    )
    keys = [artifact_key("verdict", source), artifact_key("labelers", source)]
    name = plain(source)  # Prefect shows descriptions as markdown, too
    create_markdown_artifact(page, key=keys[0], description=f"The verdict about {name}")
    create_table_artifact(
        labeler_rows(assessment, decision),
        key=keys[1],
        description=f"Gaps of the labelers of {name}, the worst first",
    )
    plan = plan_page(assessment)
    if plan:
        keys.append(artifact_key("plan", source))
        create_markdown_artifact(
            plan, key=keys[-1], description=f"What would settle the open cases of {name}"
        )
    return keys


@task(name="announce verdict", **_ONCE_PER_RUN)
def announce(outcome: Outcome, content: str, payload: JSON | None = None) -> str:
    """Emit ``mdba.gate.<outcome>``, once per run, outcome and content; return the event's id.

    Parameters
    ----------
    outcome
        What became of the data set.
    content
        The content hash of the labels; with it the resource is called ``mdba.labels.<hash>``.
    payload
        What automations need, such as ``released``: the file to train on. Whoever can see events
        can read it.
    """
    # An id made of the run and the outcome: should the process die between the event and the note
    # that it was sent, the server recognises the second one.
    own = uuid5(NAMESPACE_URL, f"mdba:{flow_run.id}:{outcome}:{content}:{digest(payload)}")
    event = emit_event(
        f"mdba.gate.{outcome}",
        resource={"prefect.resource.id": f"mdba.labels.{content}"},
        payload=payload or {},
        id=own,
    )
    if event is None:
        log().warning("mdba.gate.%s could not be sent: no server takes events here", outcome)
    return str(own)
