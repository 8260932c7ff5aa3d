"""`mdba choose`: which items experts should judge next."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from mdba_checks.cli.check import file_of, read_settings
from mdba_checks.cli.options import (
    ConfigFile,
    Debug,
    Flags,
    Force,
    Quiet,
    examples,
    with_options,
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

_ASKED = {
    *(f"columns.{role}" for role in ("labeler", "label", "group", "gold", "item")),
    *("features", "positive", "reference", "metric", "jobs", "seed", "policy.max_gap"),
}
_IN_SHEETS = {"columns.group", "columns.gold", "columns.item"}


@dataclass(frozen=True)
class Wish:
    """What to choose from, and how many."""

    n: Annotated[int, typer.Option("--n", metavar="N", help="How many items to judge.")] = 200
    items: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Items to choose from, with the columns of LABELS. Default: the labeled items.",
        ),
    ] = None
    gold: Annotated[
        str | None,
        typer.Option(metavar="GOLD", help="Items that were judged before, as for mdba check."),
    ] = None
    judged: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A sheet of an earlier round with its answers; may be given several times.",
        ),
    ] = None
    rounds: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="After how many rounds, at most, you mean to look at the result, 1 to 5; said in "
            "the first round.",
        ),
    ] = 3


@with_options(only=lambda each: each.key in _ASKED)
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
    wish: Wish = Wish(),  # noqa: B008  frozen
    config: ConfigFile = None,
    flags: Flags = MappingProxyType({}),
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

    settings = read_settings(config, flags)
    items, gold, judged = wish.items, wish.gold, wish.judged or []
    sources = [labels, *(each for each in (items, gold) if each), *judged]
    inputs = [*map(file_of, sources), *([Path(config)] if config else [])]
    check_target(output, force=force, inputs=inputs)

    from mdba_checks.outputs import choose_gold, sheet_format, write_sheet

    sheet_format(output)  # before models are fitted, not after
    chosen = choose_gold(
        labels,
        wish.n,
        items=items,
        gold=gold,
        judged=judged,
        config=settings,
        rounds=wish.rounds,
    )
    write_sheet(chosen.sheet, output, config=settings, force=force, inputs=inputs)
    if not quiet:
        shown = screen()
        for sentence in chosen.summary:
            shown.write(sentence, bullet="- ")
        shown.write(f"wrote {output}: fill in column {settings.columns.gold!r}", bullet="- ")
        sheets = shlex.join([*judged, output])
        shown.write(f"Next: mdba answers {sheets} --output judged.csv")
    return 0


@with_options(only=lambda each: each.key in _IN_SHEETS)
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
    config: ConfigFile = None,
    flags: Flags = MappingProxyType({}),
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

    settings = read_settings(config, flags)
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
