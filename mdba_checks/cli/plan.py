"""`mdba plan`: what to collect so that the next check can decide."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from mdba_checks.cli.check import file_of, perform, read_settings, write_json
from mdba_checks.cli.options import (
    ConfigFile,
    Debug,
    Flags,
    Force,
    Gold,
    Labels,
    Quiet,
    examples,
    flag,
    with_options,
    written,
)

if TYPE_CHECKING:
    from mdba_checks.cli.terminal import Screen
    from mdba_checks.findings import Plan

EPILOG = examples(
    "mdba plan labels.csv --gold gold.csv --reference men",
    "mdba plan labels.csv --gold gold.csv --config mdba.yaml --power 0.9",
    "mdba plan labels.csv --gold gold.csv --half-width 0.05 --json plan.json",
)
_SHOWN = 25


@dataclass(frozen=True)
class Outputs:
    """What is written and shown."""

    json_file: Annotated[
        str | None,
        written(
            "--json",
            "Write the whole plan as JSON; - is stdout, which then holds nothing else.",
            "FILE|-",
        ),
    ] = None
    every: Annotated[bool, flag("--all", "Show all comparisons, not only the first 25.")] = False
    force: Force = False
    quiet: Quiet = False


@with_options()
def plan(
    labels: Labels,
    gold: Gold,
    config: ConfigFile = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            "--half-width", metavar="GAP", help="Make every interval so narrow, such as 0.05."
        ),
    ] = None,
    power: Annotated[
        float | None,
        typer.Option(
            "--power",
            metavar="SHARE",
            help="Settle every comparison with this chance. Default: 0.8.",
        ),
    ] = None,
    flags: Flags = MappingProxyType({}),
    outputs: Outputs = Outputs(),  # noqa: B008  frozen
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Plan: how many more gold items or labels would settle what is inconclusive?

    Ends with 0 when there is a plan, whatever it says; 2 is bad usage or bad input.
    """
    from mdba_checks.outputs import check_target

    settings = read_settings(config, flags)
    inputs = [*map(file_of, (labels, gold)), *([Path(config)] if config else [])]
    target, force = outputs.json_file, outputs.force
    if target and target != "-":
        check_target(target, force=force, inputs=inputs)

    from mdba_checks.findings import check_wish

    check_wish(half_width, power)  # before models are fitted, not after
    assessment = perform(labels, gold, settings, quiet=outputs.quiet)
    found = assessment.plan(half_width=half_width, power=power)

    from mdba_checks.cli.terminal import screen

    if target:
        write_json(found.to_record(), target, force=force, inputs=inputs)
    if not outputs.quiet and target != "-":
        show_plan(screen(), found, every=outputs.every)
    return 0


def show_plan(screen: Screen, plan: Plan, *, every: bool = False) -> None:
    """Print a plan for people: what to collect, then who needs what."""
    from mdba_checks.findings import with_sides

    screen.write("Plan", style="bold")
    for sentence in plan.summary:
        screen.write(sentence, bullet="- ")
    table = with_sides(plan.table)
    shown = table if every else table.head(_SHOWN)
    if len(shown):
        screen.write()
        screen.write("One by one", style="bold")
    for row in shown.itertuples(index=False):
        screen.write(f"{row.labeler}, {row.side}: {row.sentence}", bullet="- ")
    if len(shown) < len(plan.table):
        screen.write(f"… and {len(plan.table) - len(shown):,} more: --all shows them", style="dim")
