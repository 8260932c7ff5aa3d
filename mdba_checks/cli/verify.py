"""`mdba verify`: is a file still the one its sidecar describes, and does that still count?"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

import typer

from mdba_checks.cli.options import Debug, Quiet, examples

EPILOG = examples(
    "mdba verify labels.checked.parquet",
    "mdba verify kept.csv --labels labels.csv --max-age 30d",
    "mdba verify kept.csv --quiet && make train",
)

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "w": "weeks"}


def verify(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A data set that mdba check --output has written, here or as s3://… or gs://….",
            show_default=False,
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="LABELS",
            help="The labels as they are now, to see whether they are still those that were "
            "checked.",
        ),
    ] = None,
    max_age: Annotated[
        str | None,
        typer.Option(
            "--max-age",
            metavar="TIME",
            help="How long ago it may have been released, such as 30d, 12h or 2w.",
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Say whether a data set is still the one its sidecar describes.

    It does not count any more when a later check of the same labels was stopped.
    Exit codes: 0 it is, 1 it is not (or has no sidecar), 2 bad usage or no such file.
    """
    from mdba_checks.cli.terminal import screen
    from mdba_checks.outputs import verify as compare

    found = compare(file, labels=labels, max_age=_time(max_age))
    if not quiet:
        surface = screen()
        about = found.record
        if found.ok and about is not None and about.file is not None:
            surface.write(
                f"ok: {file} holds what its sidecar describes: {about.file.rows:,} rows, "
                f"verdict {about.verdict}, {about.created_by}, {about.created}"
            )
            if about.approval:
                surface.write(f"not a pass: {about.reasons[0]}")
        else:
            surface.write(f"not ok: {file}: {found.reason}")
    return 0 if found.ok else 1


def _time(text: str | None) -> timedelta | None:
    if text is None:
        return None
    from mdba_checks.errors import InputError

    given = re.fullmatch(r"(\d{1,6})([dhmw])", text.strip())
    if not given:
        raise InputError(f"--max-age is {text!r}: write it as 30d, 12h, 90m or 2w")
    return timedelta(**{_UNITS[given[2]]: int(given[1])})
