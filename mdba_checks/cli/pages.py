"""`mdba pages`: a page for each labeler concerned, from the record of a check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdba_checks.cli.options import Debug, Force, Quiet, examples, flag, written

EPILOG = examples(
    "mdba pages check.json --output pages/",
    "mdba pages check.json --output pages/ --labeler Ada --contact labels@example.org",
    "mdba pages released.csv.mdba.json --output pages/ --all",
)

_SHOWN = 25  # lines about what was written


def pages(
    record: Annotated[
        Path,
        typer.Argument(
            metavar="RECORD",
            help="What mdba check --json wrote, or a sidecar.",
            show_default=False,
        ),
    ],
    output: Annotated[str, written("--output", "Where the pages go.", "FOLDER")],
    labeler: Annotated[
        list[str] | None,
        typer.Option(
            "--labeler",
            metavar="NAME",
            help="Whom a page is about, as the record names them; may be given several times. "
            "Default: whoever is called biased.",
        ),
    ] = None,
    every: Annotated[bool, flag("--all", "A page for every labeler of the record.")] = False,
    contact: Annotated[
        str | None,
        typer.Option(
            "--contact",
            metavar="TEXT",
            help="Where objections go; without it the page leaves a line to fill in.",
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Write a page about a labeler, to be handed to the labeler.

    It says what was compared, how sure it is, what it does not say and how to
    object. It names no other labeler and holds no rows of the data.
    """
    from mdba_checks.cli.terminal import screen
    from mdba_checks.errors import InputError
    from mdba_checks.outputs import check_target, make_folder, read_check, write_whole
    from mdba_checks.report import count, file_names, labeler_page, labelers_of

    if labeler and every:
        raise InputError("--labeler and --all are both given: choose one of them")
    found = read_check(record)
    wanted = labeler or labelers_of(found, None if every else "biased")
    # Names of all of them, so that a labeler has the same file whoever else is asked for.
    names = file_names(labelers_of(found))
    texts = {name: labeler_page(found, name, contact=contact) for name in dict.fromkeys(wanted)}
    if texts:
        folder = make_folder(output, "write pages to")
        for name in texts:
            check_target(folder / names[name], force=force, inputs=[record])
        for name, text in texts.items():
            write_whole(folder / names[name], text, force=force, inputs=[record])
    if not quiet:
        surface = screen()
        if not texts:
            surface.write("Nobody is called biased: no page was written. --all writes all of them.")
        for name in list(texts)[:_SHOWN]:
            surface.write(f"wrote {Path(output) / names[name]} (about {name})")
        if len(texts) > _SHOWN:
            surface.write(f"and {count(len(texts) - _SHOWN, 'page')} more in {output}")
    return 0
