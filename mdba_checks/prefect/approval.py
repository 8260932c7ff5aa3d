"""A person in the loop: what a policy stopped can be released by somebody who takes it on.

A deployed run is suspended: its process ends, and the run starts again from the top when somebody
has decided. A run in a script, or inside another flow, waits where it is. Either way the question
belongs to this content and this verdict: if the tables or the settings change in the meantime, the
answer does not count and is asked for again.
"""

from __future__ import annotations

from typing import Literal, cast

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRunInput
from prefect.context import FlowRunContext
from prefect.exceptions import FlowPauseTimeout
from prefect.flow_runs import pause_flow_run, suspend_flow_run
from prefect.input import (
    RunInput,
    delete_flow_run_input,
    filter_flow_run_input,
    keyset_from_base_key,
)
from prefect.states import Running
from pydantic import Field

from mdba_checks.prefect.support import JSON, log

_LOOK_EVERY = 2  # seconds


class Approval(RunInput):
    """What a person has to say before stopped labels go anywhere."""

    decision: Literal["release", "quarantine", "block"] = Field(
        description="release: use the labels as they are, with the findings beside them; "
        "quarantine: use them without the rows of biased labelers; block: do not use them"
    )
    name: str = Field(pattern=r"\S", description="who decides; it is recorded and not verified")
    reason: str = Field(pattern=r"\S", description="why; it is recorded beside the data")


def ask_person(question: str, *, key: str, timeout: int) -> JSON | None:
    """Return what a person decided, or None when nobody did in time.

    Call it in a flow, not in a task. In a deployed run it does not return at first: the run is
    suspended and begins anew after the decision, so everything before has to be idempotent. When
    nobody decides, Prefect itself fails a suspended run.

    Parameters
    ----------
    question
        What the person is asked, in markdown.
    key
        Stands for what the decision is about; another key asks again.
    timeout
        Seconds to wait.
    """
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        msg = "ask_person waits for a run of a flow, and there is none"
        raise RuntimeError(msg)
    run = context.flow_run
    # Only a run of its own with a deployment can be started again.
    suspends = run.deployment_id is not None and run.parent_task_run_id is None
    base = f"{'suspended' if suspends else 'paused'}-{key}"
    decided = _decided(base)
    if decided is None:
        _forget(base)
        form = Approval.with_initial_data(description=question)
        try:
            if suspends:
                suspend_flow_run(wait_for_input=form, timeout=timeout, key=key)
            else:
                poll = min(_LOOK_EVERY, timeout)
                pause_flow_run(wait_for_input=form, timeout=timeout, key=key, poll_interval=poll)
        except FlowPauseTimeout:
            # The run goes on, to say what became of it; Prefect would only say that it failed.
            with get_client(sync_client=True) as client:
                client.set_flow_run_state(run.id, Running(), force=True)
            log().warning("nobody decided within %s seconds", timeout)
            return None
        decided = _decided(base)
    if decided is not None:
        log().info("%s: %s (%s)", decided["name"], decided["decision"], decided["reason"])
    return decided


def duration(seconds: int) -> str:
    """Return a time span for people.

    Examples
    --------
    >>> duration(86_400), duration(5_400), duration(5)
    ('24 hours', '90 minutes', '5 seconds')
    """
    for unit, length in (("hour", 3_600), ("minute", 60)):
        if seconds >= length and seconds % length == 0:
            number = seconds // length
            return f"{number:,} {unit}{'' if number == 1 else 's'}"
    return f"{seconds:,} second{'' if seconds == 1 else 's'}"


def _decided(base: str) -> JSON | None:
    """Return the answer that is there already: of a resumed run, or of an attempt before this."""
    found = _inputs(keyset_from_base_key(base)["response"])
    if not found:
        return None
    answer = Approval.model_validate(found[0].decoded_value)
    return {**answer.model_dump(), "decided_at": f"{found[0].created:%Y-%m-%d %H:%M:%S} UTC"}


def _forget(base: str) -> None:
    """Remove a question that nobody answered: Prefect will not ask under the same name twice."""
    for each in _inputs(f"{base}-"):
        delete_flow_run_input(each.key)


def _inputs(prefix: str) -> list[FlowRunInput]:
    # Outside an event loop it is a list at once; its type says that it may also be awaited.
    return cast("list[FlowRunInput]", filter_flow_run_input(key_prefix=prefix, limit=10))
