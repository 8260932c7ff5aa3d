"""What a check writes: asked before anything is fitted, and done when the verdict is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mdba_checks.errors import InputError

if TYPE_CHECKING:
    from mdba_checks.assessment import Assessment
    from mdba_checks.config import CheckConfig
    from mdba_checks.outputs import Record, Release


@dataclass(frozen=True)
class Sent:
    """What happened to the data: the verdict that holds in the end, and what people are told."""

    release: Release
    lines: tuple[str, ...]
    record: Record


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
    if mapping and not settings.pseudonymize:
        raise InputError("--mapping tells who is behind pseudonyms: it needs --pseudonymize")
    if output is None:
        return
    from mdba_checks.outputs import (
        check_outputs,
        column_names,
        refuse_annotated,
        removed_path,
        takes_rows_out,
    )

    others = [removed_path(output)] if takes_rows_out(settings.policy) else []
    check_outputs(output, *others, force=force, inputs=inputs)
    refuse_annotated(column_names(labels), labels)


def send(
    labels: str,
    gold: str,
    assessment: Assessment,
    output: str | None,
    *,
    force: bool,
    inputs: Sequence[str | Path],
    quiet: bool,
) -> Sent:
    """Decide what leaves, and write it where an output is named."""
    from mdba_checks.cli.progress import progress
    from mdba_checks.outputs import decide_release, supersede, write_release

    with progress(quiet=quiet) as report:
        found = decide_release(labels, gold, assessment, progress=report)
    record, published = found.record(), None
    lines: tuple[str, ...] = ()
    if output is not None and found.decision.stops:
        if supersede(output, record):
            lines = (f"{output}, released earlier, is marked as superseded",)
    elif output is not None:
        published = write_release(labels, found, output, force=force, inputs=inputs)
        record = record.model_copy(update={"output": published.record.file})
    # Without an output nobody expects a file from labels that are stopped.
    told = output is not None or not found.decision.stops
    return Sent(found, (*found.lines(published), *lines) if told else (), record)
