"""What a check lets out: the labels annotated, or without biased labelers, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdba_checks.errors import InputError

if TYPE_CHECKING:
    from mdba_checks.assessment import Assessment
    from mdba_checks.config import CheckConfig
    from mdba_checks.verdict import Decision, Verdict


@dataclass(frozen=True)
class Outgoing:
    """What happened to the data.

    Attributes
    ----------
    decision
        The verdict that holds in the end: a quarantine that leaves something that does not pass is
        none.
    lines
        What people are told about the files.
    record
        What the record of the check gets to say about them.
    """

    decision: Decision
    lines: tuple[str, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)


def refuse(
    settings: CheckConfig,
    labels: str,
    *,
    output: str | None,
    mapping: str | None,
    force: bool,
    inputs: Sequence[str | Path],
) -> None:
    """Refuse what could not be written, before anything is fitted."""
    policy = settings.policy
    if mapping and not settings.pseudonymize:
        raise InputError("--mapping tells who is behind pseudonyms: it needs --pseudonymize")
    if output is None:
        if policy.mode != "block":
            raise InputError(f"mode {policy.mode} needs --output FILE: where the labels go")
        if policy.on_inconclusive == "annotate":
            raise InputError("on-inconclusive annotate needs --output FILE: where the labels go")
        return
    from mdba_checks.annotate import refuse_annotated
    from mdba_checks.quarantine import removed_path
    from mdba_checks.sidecar import check_outputs
    from mdba_checks.verbatim import column_names

    others = [removed_path(output)] if policy.mode == "quarantine" else []
    check_outputs(output, *others, force=force, inputs=inputs)
    if policy.mode != "quarantine" or policy.on_inconclusive == "annotate":
        refuse_annotated(column_names(labels), labels)


def send(
    labels: str,
    gold: str,
    assessment: Assessment,
    decision: Decision,
    output: str | None,
    *,
    force: bool,
    inputs: Sequence[str | Path],
    quiet: bool,
) -> Outgoing:
    """Write what the verdict lets through."""
    if output is None or not decision.lets_through:
        return Outgoing(decision)
    # In the mode quarantine a data set in which nobody is biased has the same form as others.
    if decision.policy.mode != "quarantine" or decision.verdict == "annotate":
        from mdba_checks.annotate import write_annotated

        published = write_annotated(
            labels, assessment, decision, output, force=force, inputs=inputs
        )
        about = published.record["file"]
        line = f"{output}: {about['rows']:,} rows with their findings"
        return Outgoing(
            decision,
            (f"{line}; sidecar {published.sidecar.name}", *published.messages),
            {"output": about},
        )
    return _quarantined(
        labels, gold, assessment, decision, output, force=force, inputs=inputs, quiet=quiet
    )


def _quarantined(
    labels: str,
    gold: str,
    assessment: Assessment,
    decision: Decision,
    output: str,
    *,
    force: bool,
    inputs: Sequence[str | Path],
    quiet: bool,
) -> Outgoing:
    from mdba_checks.cli.progress import progress
    from mdba_checks.quarantine import quarantine, write_quarantined

    with progress(quiet=quiet) as report:
        parts = quarantine(labels, gold, assessment, progress=report)
    rest = parts.decision
    recheck = {"verdict": rest.verdict, "reasons": list(rest.reasons)}
    if rest.verdict not in ("pass", "annotate"):
        stopped: Verdict = "inconclusive" if rest.verdict == "inconclusive" else "block"
        said = f"without the rows of biased labelers: {rest.verdict}. {' '.join(rest.reasons)}"
        final = replace(decision, verdict=stopped, reasons=(*decision.reasons, said))
        return Outgoing(final, (f"{output} was not written",), {"recheck": recheck})
    published = write_quarantined(
        labels, parts, assessment, decision, output, force=force, inputs=inputs
    )
    about, removed = published.record["file"], published.record["other_files"][0]
    lines = (
        f"{output}: {about['rows']:,} rows that stay; sidecar {published.sidecar.name}",
        f"{Path(output).with_name(removed['name'])}: {removed['rows']:,} rows that were taken out",
        f"the rows that stay were checked again: {rest.verdict}",
    )
    return Outgoing(decision, lines, {"output": about, "recheck": recheck})
