"""`mdba reproduce`: the paper's tables next to ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdba_checks.cli.options import Debug, Force, Quiet, examples

EPILOG = examples(
    "mdba reproduce --output quick.csv",
    "mdba reproduce --data data/ --repetitions 20 --jobs 2 --output paper_grid.csv",
)


def reproduce(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Folder with adult.csv.gz, credit_default.csv.gz, employee_promotion.csv.gz and "
            "diabetic_data.csv.gz. Without it, a quick grid on generated data.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE.csv", help="Where the figures go, .md beside.")
    ] = Path("paper_grid.csv"),
    repetitions: Annotated[
        int | None, typer.Option("--repetitions", metavar="N", help="Default: 20, quick grid 2.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Processes.")] = 1,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Run the published evaluation and write its figures beside ours.

    A run that was stopped goes on where it was: finished cells are kept in a
    folder next to the output.
    """
    from dataclasses import replace

    from mdba_checks.cli.progress import progress
    from mdba_checks.cli.terminal import write_stdout
    from mdba_checks.errors import InputError
    from mdba_checks.files import check_target, write_whole
    from mdba_checks.reproduction import draw, render, run_grid, summarize
    from mdba_checks.reproduction.grid import default_grid

    if output.suffix != ".csv":
        raise InputError(f"--output is {output}: give a name that ends in .csv")
    table, image = output.with_suffix(".md"), output.with_suffix(".svg")
    for target in (output, table, image):
        check_target(target, force=force)
    if repetitions is not None and repetitions < 1:
        raise InputError(f"--repetitions is {repetitions}: give 1 or more")
    grid = default_grid(data)
    if repetitions is not None:
        grid = replace(grid, repetitions=repetitions)
    parts = output.with_name(f".{output.stem}")
    with progress(quiet=quiet) as report:
        records = run_grid(
            grid,
            parts,
            folder=data,
            jobs=jobs,
            progress=lambda done, total: report("simulated data sets", done, total),
        )
    summary = summarize(records)
    write_whole(output, summary.to_csv(index=False, float_format="%.5f"), force=force)
    write_whole(table, render(summary), force=force)
    write_whole(image, draw(summary), force=force)
    if not quiet:
        write_stdout(render(summary) + f"\nwrote {output}, {table.name} and {image.name}\n")
    return 0
