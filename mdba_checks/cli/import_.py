"""`mdba import`: from what an annotation tool has written to labels and gold."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdba_checks.cli.options import Debug, Force, Quiet, examples

if TYPE_CHECKING:
    import pyarrow as pa

    from mdba_checks.tables import Imported

EPILOG = examples(
    "mdba import project.json --output answers.parquet --gold-output right.parquet",
    "mdba import wide.csv --items cases.csv --output answers.parquet",
    "mdba import wide.csv --annotators 'rater_*' --gold-label expert --output answers.csv",
)


def import_(
    export: Annotated[
        str,
        typer.Argument(
            metavar="EXPORT",
            help="What was exported: Label Studio (JSON, JSON-MIN), doccano, Argilla, CVAT for "
            "images, records with lists of answers, or a table with a column per labeler; a file, "
            "or a folder or .zip with one file per labeler.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Where labels go: .parquet, .csv or .csv.gz.", show_default=False
        ),
    ],
    gold_output: Annotated[
        str | None,
        typer.Option(
            "--gold-output", metavar="FILE", help="Where items go whose right answer is marked."
        ),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A table with more about the items; it is joined by their names.",
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which question the labels answer, of several."),
    ] = None,
    annotators: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL",
            help="A column of a wide table that holds one labeler's answers, or a pattern such as "
            "'rater_*'; may be given several times.",
        ),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(metavar="COL", help="The column of a wide table that names the items."),
    ] = None,
    gold_label: Annotated[
        str | None,
        typer.Option(
            "--gold-label", metavar="COL", help="The column of a wide table with right answers."
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Turn an export of an annotation tool into labels (and gold) for mdba check.

    One row per answer, with the columns item, labeler, label and what is known
    about the item.
    """
    from mdba_checks.cli.terminal import screen
    from mdba_checks.errors import InputError
    from mdba_checks.outputs import check_target
    from mdba_checks.tables import Wishes, read_export

    targets = [each for each in (output, gold_output) if each]
    inputs = [Path(each) for each in (export, items) if each and "://" not in each]
    resolved = [check_target(each, force=force, inputs=inputs) for each in targets]
    if len(set(resolved)) < len(resolved):
        raise InputError(f"cannot write {gold_output}: the labels go there; rename one")
    wishes = Wishes(question, tuple(annotators or ()), item, gold_label)
    found = read_export(export, items=items, wishes=wishes)
    if gold_output and found.gold is None:
        raise InputError(
            f"{export} marks no right answers: leave out --gold-output, or name their column with "
            "--gold-label"
        )
    written = [(output, found.labels)]
    if gold_output and found.gold is not None:
        written.append((gold_output, found.gold))
    for path, table in written:
        _write(path, table, force=force, inputs=inputs)
    if not quiet:
        surface = screen()
        surface.write(f"{export}: {found.shape}")
        for path, table in written:
            surface.write(f"wrote {path} ({table.num_rows:,} rows: {_shown(table.column_names)})")
        if found.gold is not None and gold_output is None:
            surface.write(
                f"{found.gold.num_rows:,} right answers are marked: --gold-output writes them"
            )
        for note in found.notes:
            surface.write(f"note: {note}")
        for line in _next(output, gold_output, found):
            surface.console.print(surface.clean(line), soft_wrap=True)
    return 0


def _next(output: str, gold_output: str | None, found: Imported) -> list[str]:
    """Return the check to run next, and what is to choose in it."""
    from mdba_checks.cli.setup import look_at, suggest, suggest_positive

    labels = look_at(found.labels)
    gold = () if found.gold is None else look_at(found.gold)
    own = {"labeler": "labeler", "label": "label", "gold": "gold", "item": "item"}
    group = suggest(labels, gold, known=own).group
    answers = next(each.values for each in labels if each.name == "label")
    positive = suggest_positive(answers)
    command = ["mdba", "check", output, "--gold", gold_output or "GOLD"]
    command += ["--group", group or "COLUMN", "--positive", positive or "VALUE"]
    lines = [f"Next: {shlex.join(command)}"]
    if group is None:
        groups = [each.name for each in labels if each.values and each.name not in own]
        few = f"such as {_shown(groups)}" if groups else "which --items FILE can add"
        lines.append(f"COLUMN: the group that each item is about, {few}")
    if positive is None:
        lines.append(f"VALUE: the answer that counts as yes, one of {_shown(list(answers))}")
    return lines


def _write(path: str, table: pa.Table, *, force: bool, inputs: list[Path]) -> None:
    from mdba_checks.outputs import ArrowRows, format_of, whole_file

    form = format_of(path)
    with whole_file(path, force=force, inputs=inputs) as temporary:
        ArrowRows(path, table).write(temporary, form)


def _shown(names: list[str]) -> str:
    from mdba_checks.errors import MOST_SHOWN, visible

    some = [visible(name) for name in names[:MOST_SHOWN]]
    return ", ".join(some) + (", …" if len(names) > len(some) else "")
