"""`mdba compare`: two checks side by side."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdba_checks.cli.options import Debug, Force, examples, flag, written

if TYPE_CHECKING:
    from mdba_checks.cli.terminal import Screen
    from mdba_checks.outputs import SideBySide

EPILOG = examples(
    "mdba compare before.json after.json",
    "mdba compare before.json after.json --report compared.html --csv compared.csv",
)

_SHOWN = 25
_NAME = 24


def compare(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="BEFORE", help="What mdba check --json wrote, or a sidecar.", show_default=False
        ),
    ],
    after: Annotated[
        Path,
        typer.Argument(metavar="AFTER", help="The same of another check.", show_default=False),
    ],
    report_file: Annotated[
        str | None, written("--report", "Write a page for people as one HTML file.")
    ] = None,
    csv_file: Annotated[
        str | None, written("--csv", "Write a row per comparison, with both checks, as CSV.")
    ] = None,
    json_file: Annotated[
        str | None,
        written(
            "--json",
            "Write all of it as JSON; - is stdout, which then holds nothing else.",
            "FILE|-",
        ),
    ] = None,
    every: Annotated[bool, flag("--all", "Show all rows, not only the first 25.")] = False,
    force: Force = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Show two checks side by side: what was decided, and whose gap changed.

    A change is tested with the standard errors of both checks, adjusted for the number
    of changes (Holm). Where both read the same tables, nothing is tested: what differs
    then comes from the settings.
    """
    from mdba_checks.cli.check import write_json
    from mdba_checks.cli.terminal import screen
    from mdba_checks.outputs import as_csv, check_target, side_by_side, to_plain_value, write_whole
    from mdba_checks.report import compare_page

    inputs = [before, after]
    for target in (report_file, csv_file, json_file):
        if target and target != "-":
            check_target(target, force=force, inputs=inputs)
    found = side_by_side(before, after)
    rows = to_plain_value(found.labelers.to_dict("records"))
    if report_file:
        write_whole(report_file, compare_page(found), force=force, inputs=inputs)
    if csv_file:
        write_whole(
            csv_file,
            as_csv(rows, first=found.labelers.columns.tolist()),
            force=force,
            inputs=inputs,
        )
    if json_file:
        told = {
            "verdict": [found.before.verdict, found.after.verdict],
            "same_tables": found.same_tables,
            "settings": to_plain_value(found.settings),
            "whole": to_plain_value(found.whole.to_dict("records")),
            "labelers": rows,
        }
        write_json(told, json_file, force=force, inputs=inputs)
    if json_file != "-":
        _show(screen(), found, every=every)
    return 0


def _show(screen: Screen, found: SideBySide, *, every: bool) -> None:
    from rich.table import Table

    from mdba_checks.findings import with_sides
    from mdba_checks.report import both_facts, change_sentences

    facts = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in ("", "before", "after"):
        facts.add_column(heading, overflow="fold")
    for told in both_facts(found):
        facts.add_row(*map(screen.clean, told))
    for different in found.settings:
        facts.add_row(*map(screen.clean, different), style="dim")
    screen.console.print(facts)
    screen.write()
    for line in change_sentences(found, ascii_only=True):
        screen.write(line, bullet="- ")
    screen.write()
    people = with_sides(found.labelers)
    rows = people if every else people.head(_SHOWN)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in ("labeler", "group", "before", "after", "change", "beyond chance"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "change" else "left")
    for row in rows.to_dict("records"):
        table.add_row(*_cells(screen, row), style="bold" if row["changed"] else "")
    screen.console.print(table)
    if len(rows) < len(found.labelers):
        screen.write(f"… and {len(found.labelers) - len(rows):,} more: --all shows them")


def _cells(screen: Screen, row: dict[Any, Any]) -> tuple[str, ...]:
    from mdba_checks.cli.terminal import shorten
    from mdba_checks.report import p_value, signed

    def look(when: str) -> str:
        finding = row[f"finding_{when}"]
        gap = signed(row[f"gap_{when}"], ascii_only=True)
        return f"{gap} {finding}" if isinstance(finding, str) else "not there"

    p = row["change_p"]
    chance = f"{'yes' if row['changed'] else 'no'} (p {p_value(p)})" if math.isfinite(p) else ""
    return (
        shorten(screen.clean(row["labeler"]), _NAME),
        shorten(screen.clean(row["side"]), _NAME),
        look("before"),
        look("after"),
        signed(row["change"], ascii_only=True) if math.isfinite(row["change"]) else "",
        chance,
    )
