"""`mdba verify`: is a file still the one its sidecar speaks of?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdba_checks.cli.options import Debug, Quiet, examples

EPILOG = examples(
    "mdba verify labels.checked.parquet", "mdba verify kept.csv --quiet && make train"
)


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A data set that mdba check --output has written.",
            show_default=False,
        ),
    ],
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Tell whether a data set is still the one its sidecar speaks of.

    Exit codes: 0 it is, 1 it is not (or has no sidecar), 2 bad usage or no such file.
    """
    from mdba_checks.cli.terminal import screen
    from mdba_checks.outputs import verify as hold_against_sidecar

    found = hold_against_sidecar(file)
    if not quiet:
        surface = screen()
        if found.ok and found.record is not None:
            about = found.record
            surface.write(
                f"ok: {file} holds what its sidecar speaks of: {about['file']['rows']:,} rows, "
                f"verdict {about['verdict']}, {about['created_by']}, {about['created']}"
            )
        else:
            surface.write(f"not ok: {file}: {found.reason}")
    return 0 if found.ok else 1
