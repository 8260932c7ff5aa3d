"""`mdba plan`: what to collect so that the next check can decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdba_checks.cli.check import file_of, perform, read_settings
from mdba_checks.cli.options import (
    OUTPUT,
    Debug,
    Force,
    Quiet,
    column,
    examples,
    flag,
    method,
    policy,
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


def plan(
    labels: Annotated[
        str, typer.Argument(metavar="LABELS", help="As for mdba check.", show_default=False)
    ],
    gold: Annotated[
        str, typer.Option(metavar="GOLD", help="As for mdba check.", show_default=False)
    ],
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Settings in YAML; the flags below override it."),
    ] = None,
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
    labeler: Annotated[str | None, column("--labeler", "Who decided.")] = None,
    label: Annotated[str | None, column("--label", "What they decided.")] = None,
    group: Annotated[str | None, column("--group", "The group decided about.")] = None,
    gold_label: Annotated[str | None, column("--gold-label", "The right decision.")] = None,
    item: Annotated[str | None, column("--item", "What was decided on.")] = None,
    features: Annotated[
        str | None, column("--features", "Columns that a decision may depend on.", "A,B,C")
    ] = None,
    positive: Annotated[
        str | None, column("--positive", "The label that means yes.", "VALUE")
    ] = None,
    reference: Annotated[
        str | None, method("--reference", "VALUE", "The group that others are compared with.")
    ] = None,
    metric: Annotated[
        str | None, method("--metric", "NAME", "The rate that is compared. Default: tpr.")
    ] = None,
    estimator: Annotated[
        str | None, method("--estimator", "NAME", "How it is estimated. Default: mdba_dr.")
    ] = None,
    confidence: Annotated[
        float | None, method("--confidence", "SHARE", "Of the intervals. Default: 0.9.")
    ] = None,
    jobs: Annotated[int | None, method("--jobs", "N", "Parallel workers.")] = None,
    seed: Annotated[int | None, method("--seed", "N", "Same seed, same numbers.")] = None,
    max_gap: Annotated[
        float | None,
        policy("--max-gap", "GAP", "The largest tolerated difference, 0 to 1. Default: 0.1."),
    ] = None,
    correction: Annotated[
        str | None,
        policy(
            "--correction", "NAME", "For testing many labelers: auto (default), holm, bh, none."
        ),
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="Write the whole plan as JSON; - is stdout, which then holds nothing else.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    every: Annotated[bool, flag("--all", "Show all comparisons, not only the first 25.")] = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Plan: how many more gold items or labels would settle what is inconclusive?

    Ends with 0 when there is a plan, whatever it says; 2 is bad usage or bad input.
    """
    from mdba_checks.outputs import check_target, write_whole

    settings = read_settings(
        config,
        {
            "columns.labeler": labeler,
            "columns.label": label,
            "columns.group": group,
            "columns.gold": gold_label,
            "columns.item": item,
            "features": tuple(features.split(",")) if features else None,
            "positive": positive,
            "reference": reference,
            "metric": metric,
            "estimator": estimator,
            "confidence": confidence,
            "jobs": jobs,
            "seed": seed,
            "policy.max_gap": max_gap,
            "policy.correction": correction,
        },
    )
    inputs = [*map(file_of, (labels, gold)), *([Path(config)] if config else [])]
    to_stdout = json_file == "-"
    if json_file and not to_stdout:
        check_target(json_file, force=force, inputs=inputs)

    from mdba_checks.findings import check_wish

    check_wish(half_width, power)  # before models are fitted, not after
    assessment = perform(labels, gold, settings, quiet=quiet)
    found = assessment.plan(half_width=half_width, power=power)

    from mdba_checks.cli.terminal import screen, write_stdout
    from mdba_checks.outputs import to_json

    if json_file:
        text = to_json(found.to_record())
        if to_stdout:
            write_stdout(text)
        else:
            write_whole(json_file, text, force=force, inputs=inputs)
    if not quiet and not to_stdout:
        show_plan(screen(), found, every=every)
    return 0


def show_plan(screen: Screen, plan: Plan, *, every: bool = False) -> None:
    """Print a plan for people: what to collect, then who needs what."""
    screen.write("Plan", style="bold")
    for sentence in plan.summary:
        screen.write(sentence, bullet="- ")
    shown = plan.table if every else plan.table.head(_SHOWN)
    if len(shown):
        screen.write()
        screen.write("One by one", style="bold")
    for row in shown.itertuples(index=False):
        screen.write(f"{row.labeler}, {row.group}: {row.sentence}", bullet="- ")
    if len(shown) < len(plan.table):
        screen.write(f"… and {len(plan.table) - len(shown):,} more: --all shows them", style="dim")
