"""`mdba rerun`: does the check in a record still give the numbers that are in it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdba_checks.cli.options import Debug, Quiet, examples

if TYPE_CHECKING:
    from mdba_checks.outputs import Rerun

EPILOG = examples(
    "mdba rerun kept.parquet.mdba.json",
    "mdba rerun march.json --labels labels.parquet --gold gold.parquet",
    "mdba rerun march.json --labels sqlite:///jobs.db::labels",
)


def rerun(
    record: Annotated[
        Path,
        typer.Argument(
            metavar="SIDECAR",
            help="A sidecar (FILE.mdba.json), or what mdba check --json has written.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            help="Where the labels are now. Default: where they were, or beside SIDECAR; a "
            "database on a server has to be given again, because passwords are not recorded.",
        ),
    ] = None,
    gold: Annotated[
        str | None, typer.Option(metavar="GOLD", help="Where the gold is now, likewise.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", help="Parallel workers. Default: all cores."),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Make a check again from its record, and compare every number.

    The tables have to hold what was checked. Numbers may differ by 1e-9, or by 1e-6 where
    the record was made with other versions, which is said. Nothing is written.

    Exit codes: 0 the same, whatever the verdict was; 2 not the same, changed tables, bad
    usage or bad input.
    """
    from mdba_checks.cli.progress import progress
    from mdba_checks.cli.terminal import screen
    from mdba_checks.errors import InputError

    with progress(quiet=quiet) as report:
        from mdba_checks.outputs import rerun as again

        found = again(record, labels=labels, gold=gold, jobs=jobs, progress=report)
    if not found.same:
        raise InputError(f"not the same: {_what(found)}")
    if not quiet:
        screen().write(
            f"the same: {found.n_gaps:,} gaps agree to {found.tolerance:g}{_more(found)}"
        )
    return 0


def _what(found: Rerun) -> str:
    """Return the first difference, how many there are, and what may explain them."""
    rest = len(found.differences) - 1
    more = f" (and {rest:,} more difference{'' if rest == 1 else 's'})" if rest else ""
    return f"{found.differences[0]}{more}; tolerated are {found.tolerance:g}{_more(found)}"


def _more(found: Rerun) -> str:
    said = [f"versions differ: {', '.join(found.other_versions)}"] if found.other_versions else []
    if found.same:
        said.insert(0, f"verdict {found.verdict}")
    return "".join(f"; {each}" for each in [*said, *found.notes])
