"""`mdba simulate`: labels whose bias is known, to try a check on."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdba_checks.cli.options import Debug, Force, Quiet, examples

if TYPE_CHECKING:
    import pandas as pd

FILES = ("labels.csv", "gold.csv", "truth.csv")
EPILOG = examples(
    "mdba simulate trial",
    "mdba simulate trial --family inconsistent --labelers 50 --items 100000 --seed 7 --force",
    "mdba check trial/labels.csv --gold trial/gold.csv --reference men",
)


def simulate(
    folder: Annotated[
        Path,
        typer.Argument(metavar="OUT_FOLDER", help="Where to write to.", show_default=False),
    ],
    family: Annotated[
        str,
        typer.Option(
            "--family",
            metavar="NAME",
            help="How labelers err: correct (right order, wrong bar), incorrect (wrong order) or "
            "inconsistent (chances instead of rules).",
        ),
    ] = "correct",
    labelers: Annotated[int, typer.Option("--labelers", metavar="N", help="How many.")] = 10,
    items: Annotated[
        int, typer.Option("--items", metavar="N", help="Applications, gold included.")
    ] = 20_000,
    prevalence: Annotated[
        float,
        typer.Option("--prevalence", metavar="0-1", help="Share of items where yes is right."),
    ] = 0.2,
    gold_per_group: Annotated[
        int, typer.Option("--gold-per-group", metavar="N", help="Gold items of each group.")
    ] = 400,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Same seed, same files.")] = 0,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Write labels.csv, gold.csv and truth.csv: labelers with a known bias.

    They decide about job applications and are biased against women; truth.csv
    holds each one's true rates and gap.
    """
    from mdba_checks.errors import InputError, visible
    from mdba_checks.outputs import check_target, make_folder

    make_folder(folder, "make")
    for name in FILES:
        check_target(folder / name, force=force)
    if seed < 0:
        raise InputError(f"--seed is {seed}: give 0 or more")

    from mdba_checks.simulation import simulate as make

    made = make(
        family=family,  # type: ignore[arg-type]  # it is checked there, with the nearest name
        n_labelers=labelers,
        n_items=items,
        prevalence=prevalence,
        gold_per_group=gold_per_group,
        seed=seed,
    )
    for name, table in zip(FILES, (made.labels, made.gold, made.truth), strict=True):
        write_csv(table, folder / name, force=force)
    if not quiet:
        places = [shlex.quote(str(folder / name)) for name in FILES]
        text = (
            f"{len(made.labels):,} labels by {labelers:,} labelers, {len(made.gold):,} gold items: "
            f"{', '.join(places)}\n"
            f"Next: mdba check {places[0]} --gold {places[1]} --reference men\n"
        )
        sys.stdout.write("".join(f"{visible(line)}\n" for line in text.splitlines()))
    return 0


def write_csv(table: pd.DataFrame, path: Path, *, force: bool) -> None:
    """Write a table as CSV, whole or not at all."""
    from mdba_checks.outputs import whole_file

    with whole_file(path, force=force) as temporary:
        table.to_csv(temporary, index=False)
