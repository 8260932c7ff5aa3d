"""`mdba trend`: how labelers change over successive checks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdba_checks.cli.options import OUTPUT, Debug, Force, examples, flag

if TYPE_CHECKING:
    import pandas as pd

    from mdba_checks.cli.terminal import Screen

EPILOG = examples(
    "mdba trend january.json february.json march.json",
    "mdba trend checks/ --changed",
)

_HEADINGS = ("labeler", "group", "check", "gap", "interval", "change", "p", "")
_TO_THE_RIGHT = ("check", "gap", "change", "p")
_NAME = 24


def trend(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|FOLDER...",
            help="Results of mdba check --json or sidecars, the oldest first; or folders of them.",
            show_default=False,
        ),
    ],
    changed: Annotated[
        bool, flag("--changed", "Show only labelers who changed more than by chance.")
    ] = False,
    json_file: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="Write the rows as JSON; - is stdout, which then holds nothing else.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Show every labeler's gap over successive checks, and who changed more than by chance.

    The p-value of a change is adjusted for all labelers of the check (Holm). Checks that
    share gold items err together, which makes the test say "no change" rather too often.
    """
    from mdba_checks.cli.terminal import screen, write_stdout
    from mdba_checks.outputs import check_target, to_json, write_whole
    from mdba_checks.outputs import trend as compare

    if json_file and json_file != "-":
        check_target(json_file, force=force, inputs=records)
    history = compare(records)
    if changed:
        people = history[history["changed"]].groupby(["labeler", "group"]).groups
        pairs = history.set_index(["labeler", "group"]).index
        history = history[pairs.isin(list(people))]
    if json_file:
        text = to_json({"trend": [_plain(row) for row in history.to_dict("records")]})
        if json_file == "-":
            write_stdout(text)
            return 0
        write_whole(json_file, text, force=force, inputs=records)
    _show(screen(), history)
    return 0


def _show(screen: Screen, history: pd.DataFrame) -> None:
    rows = [_HEADINGS, *(_cells(screen, row) for row in history.itertuples(index=False))]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEADINGS))]
    for number, row in enumerate(rows):
        cells = [
            text.rjust(width) if name in _TO_THE_RIGHT else text.ljust(width)
            for name, text, width in zip(_HEADINGS, row, widths, strict=True)
        ]
        style = "bold" if number == 0 else "bold red" if row[-1] else ""
        screen.console.print(" ".join(cells).rstrip(), style=style, no_wrap=True, crop=True)
    found = int(history["changed"].sum())
    screen.write()
    screen.write(
        f"{found} change{'' if found == 1 else 's'} beyond chance in "
        f"{history['check'].nunique()} checks."
    )


def _cells(screen: Screen, row: Any) -> tuple[str, ...]:
    from mdba_checks.cli.terminal import shorten
    from mdba_checks.report import interval, signed

    return (
        shorten(screen.clean(row.labeler), _NAME),
        shorten(screen.clean(row.group), _NAME),
        str(row.check),
        signed(row.gap, ascii_only=True),
        interval(row.ci_low, row.ci_high, ascii_only=True),
        signed(row.change, ascii_only=True) if math.isfinite(row.change) else "",
        f"{row.change_p:.3f}" if math.isfinite(row.change_p) else "",
        "changed" if row.changed else "",
    )


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    return {
        str(key): None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
