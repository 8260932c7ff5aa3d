"""`mdba choose`: which items experts should judge next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from mdba_checks.cli.check import file_of, read_settings
from mdba_checks.cli.options import (
    Debug,
    Force,
    Quiet,
    column,
    examples,
    method,
    policy,
)

EPILOG = examples(
    "mdba choose labels.csv --n 100 --reference men --output to_judge.csv",
    "mdba choose labels.csv --n 100 --items archive.csv --output to_judge.xlsx",
    "mdba choose labels.csv --n 100 --judged to_judge.csv --output round2.csv",
    "mdba choose labels.csv --n 50 --gold gold.csv --config mdba.yaml --output tasks.json",
)

ANSWERS_EPILOG = examples(
    "mdba answers to_judge.csv --output judged.csv",
    "mdba answers ann.xlsx bob.xlsx --output judged.csv",
    "mdba answers to_judge.csv round2.csv --gold gold.csv --output judged.csv",
)


def choose(
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS", help="As for mdba check; items need names.", show_default=False
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="The sheet to write: .csv, .xlsx, or .json for Label Studio.",
            show_default=False,
        ),
    ],
    n: Annotated[int, typer.Option("--n", metavar="N", help="How many items to judge.")] = 200,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Items to choose from, with the columns of LABELS. Default: the labeled items.",
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(metavar="GOLD", help="Items that were judged before, as for mdba check."),
    ] = None,
    judged: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A sheet of an earlier round with its answers; may be given several times.",
        ),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="After how many rounds, at most, you mean to look at the result, 1 to 5; said in "
            "the first round.",
        ),
    ] = 3,
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Settings in YAML; the flags below override it."),
    ] = None,
    labeler: Annotated[str | None, column("--labeler", "Who decided.")] = None,
    label: Annotated[str | None, column("--label", "What they decided.")] = None,
    group: Annotated[str | None, column("--group", "The group decided about.")] = None,
    gold_label: Annotated[
        str | None, column("--gold-label", "The column for the answers. Default: gold.")
    ] = None,
    item: Annotated[str | None, column("--item", "What was decided on. Default: item.")] = None,
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
    jobs: Annotated[int | None, method("--jobs", "N", "Parallel workers.")] = None,
    seed: Annotated[int | None, method("--seed", "N", "Same seed, same items.")] = None,
    max_gap: Annotated[
        float | None,
        policy("--max-gap", "GAP", "The largest tolerated difference, 0 to 1. Default: 0.1."),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Choose the items that experts should judge, and write a sheet for them.

    Items whose right answer would narrow what is undecided have a better chance to
    be drawn, and a weight that makes up for it. Fill in the answers, then read them
    back with mdba answers.
    """
    from mdba_checks.cli.terminal import screen
    from mdba_checks.outputs import check_target

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
            "jobs": jobs,
            "seed": seed,
            "policy.max_gap": max_gap,
        },
    )
    sources = [labels, *(each for each in (items, gold) if each), *(judged or [])]
    inputs = [*map(file_of, sources), *([Path(config)] if config else [])]
    check_target(output, force=force, inputs=inputs)

    from mdba_checks.outputs import choose_gold, sheet_format, write_sheet

    sheet_format(output)  # before models are fitted, not after
    chosen = choose_gold(
        labels, n, items=items, gold=gold, judged=judged or (), config=settings, rounds=rounds
    )
    write_sheet(chosen.sheet, output, config=settings, force=force, inputs=inputs)
    if not quiet:
        shown = screen()
        for sentence in chosen.summary:
            shown.write(sentence, bullet="- ")
        shown.write(f"wrote {output}: fill in column {settings.columns.gold!r}", bullet="- ")
        sheets = shlex.join([*(judged or []), output])
        shown.write(f"Next: mdba answers {sheets} --output judged.csv")
    return 0


def answers(
    sheets: Annotated[
        list[str],
        typer.Argument(
            metavar="SHEET",
            help="Sheets with answers: of one or more rounds, by one or more experts.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(metavar="FILE", help="The gold table to write (.csv).", show_default=False),
    ],
    gold: Annotated[
        str | None,
        typer.Option(metavar="GOLD", help="Items that were judged before; they are put beside."),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Settings in YAML; the flags below override it."),
    ] = None,
    group: Annotated[str | None, column("--group", "The group decided about.")] = None,
    gold_label: Annotated[
        str | None, column("--gold-label", "The column of the answers. Default: gold.")
    ] = None,
    item: Annotated[str | None, column("--item", "What was decided on. Default: item.")] = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Read the answers of experts back: one gold table, with weights, for mdba check.

    Items without an answer are left out, and so are those with "cannot tell". Where
    several experts judged an item, their answers share its weight.
    """
    from mdba_checks.cli.terminal import screen
    from mdba_checks.outputs import check_target, read_answers, whole_file

    settings = read_settings(
        config, {"columns.group": group, "columns.gold": gold_label, "columns.item": item}
    )
    sources = [*sheets, *([gold] if gold else [])]
    inputs = [*map(file_of, sources), *([Path(config)] if config else [])]
    check_target(output, force=force, inputs=inputs)
    found = read_answers(sheets, config=settings, gold=gold)
    with whole_file(output, force=force, inputs=inputs) as temporary:
        found.gold.to_csv(temporary, index=False)
    if not quiet:
        shown = screen()
        for sentence in found.summary:
            shown.write(sentence, bullet="- ")
        shown.write(f"Next: mdba check LABELS --gold {shlex.quote(output)}")
    return 0
