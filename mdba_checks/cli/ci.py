"""What a check prints on a build server, where some lines are commands."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mdba_checks.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from mdba_checks.assessment import Assessment
    from mdba_checks.verdict import Decision

FORMATS = ("text", "github")
_SUMMARY = "GITHUB_STEP_SUMMARY"  # the file that GitHub shows on the page of a job
_MOST_OF_SUMMARY = 1_000_000  # bytes that GitHub takes; a larger file is not shown at all


def refuse_format(name: str, *, json_to_stdout: bool) -> None:
    """Refuse a form that does not exist, or that would mix with JSON."""
    if name not in FORMATS:
        raise InputError(f"--format is {name!r}.{did_you_mean(name, FORMATS)}")
    if name == "github" and json_to_stdout:
        raise InputError("--format github and --json - both write to stdout: give --json a file")


@contextmanager
def text_only(form: str) -> Iterator[None]:
    """Keep GitHub's runner from obeying what is printed meanwhile: names come from the data."""
    from mdba_checks.cli.terminal import write_stdout

    if form != "github":
        yield
        return
    token = secrets.token_hex(16)
    write_stdout(f"::stop-commands::{token}\n")
    try:
        yield
    finally:
        write_stdout(f"::{token}::\n")


def write_annotations(form: str, labels: str, assessment: Assessment, decision: Decision) -> None:
    """Print the annotations that a form has; plain text has none."""
    if form != "github":
        return
    from mdba_checks.cli.terminal import screen, write_stdout
    from mdba_checks.report import github_annotations

    # Annotations belong to files of the repository: what is elsewhere cannot be pointed at.
    inside = not Path(labels).is_absolute() and Path(labels).is_file()
    lines = github_annotations(assessment, decision, file=labels if inside else None)
    clean = screen().clean
    write_stdout("".join(f"{clean(line)}\n" for line in lines))


def write_summary(form: str, labels: str, assessment: Assessment, decision: Decision) -> None:
    """Add the verdict to the page of the job, where GitHub's runner says that it has one.

    The exit code is the verdict: a summary that cannot be written is a line on stderr.
    """
    target = os.environ.get(_SUMMARY)
    if form != "github" or not target:
        return
    from mdba_checks.report import verdict_page
    from mdba_checks.tables import source_name

    page = verdict_page(assessment, decision, source=source_name(labels), plot=False)
    text = page.encode()[:_MOST_OF_SUMMARY].decode(errors="ignore")
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        sys.stderr.write(f"mdba: no summary in {_SUMMARY}: {error.strerror or error}\n")
