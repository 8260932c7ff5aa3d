"""`mdba demo`: a check on labelers whose bias is known, so that everyone can see what it finds."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from mdba_checks.cli.options import Debug, examples

EPILOG = examples("mdba demo", "mdba demo --folder trial --seed 7")

# The true positive rates among women of eight recruiters; among men everyone's is 0.95.
_RECRUITERS = {
    "Ada": 0.55,
    "Ben": 0.95,
    "Cleo": 0.70,
    "Dev": 0.93,
    "Eli": 0.62,
    "Fay": 0.96,
    "Gus": 0.84,
    "Hana": 0.94,
}
_ITEMS, _GOLD_PER_GROUP = 24_000, 400
_MARK = "# Written by mdba demo, which may replace it and the tables beside it."
_SETTINGS = f"""\
{_MARK}
columns:
  labeler: labeler      # who decided
  label: label          # whom they invited: 0 or 1 (labels.csv)
  group: group          # the applicant's group
  gold: gold            # whom they should have invited (gold.csv)
reference: men          # the group that others are compared with
metric: tpr             # of those who should be invited, how many are?
confidence: 0.9
policy:
  max_gap: 0.1          # tolerated difference between the groups
  mode: block           # what happens when a labeler is biased
  on_inconclusive: block
seed: 0
"""
_TABLES = ("labels.csv", "gold.csv", "truth.csv")
_REPORT, _ANNOTATED = "report.html", "annotated.csv"


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Where the demo writes its files.")
    ] = Path("mdba-demo"),
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Another seed, another data set.")
    ] = 0,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Make a data set with known biased labelers, check it, and say what to look at.

    Eight recruiters decided whom to invite. Some of them miss suitable women
    more often than suitable men. The demo writes their decisions and a small
    gold table, checks them as you would, and shows the true gaps beside the
    estimates.
    """
    from mdba_checks.cli.check import perform
    from mdba_checks.cli.simulate import make_folder
    from mdba_checks.config import CheckConfig
    from mdba_checks.errors import InputError

    if seed < 0:
        raise InputError(f"--seed is {seed}: give 0 or more")
    _refuse_others_files(folder)
    make_folder(folder)
    truth = _write(folder, seed)
    labels, gold, settings = (str(folder / n) for n in ("labels.csv", "gold.csv", "mdba.yaml"))
    assessment, decision = perform(labels, gold, CheckConfig.from_yaml(settings), quiet=False)

    from mdba_checks.annotate import write_annotated
    from mdba_checks.cli.result import EXIT_CODES, show_result
    from mdba_checks.cli.terminal import screen
    from mdba_checks.report import write_report

    write_report(folder / _REPORT, assessment, decision, title="mdba demo", force=True)
    # Its sidecar says what was decided: nobody trains on blocked labels by mistake.
    write_annotated(labels, assessment, decision, folder / _ANNOTATED, force=True)
    surface = screen()
    surface.write(
        f"{len(_RECRUITERS)} recruiters decided whom to invite; some miss suitable women more "
        f"often than suitable men. Their decisions are in {folder}."
    )
    surface.write()
    show_result(surface, assessment, decision, truth=truth)
    surface.write()
    surface.write(f"The report, to open in a browser: {folder / _REPORT}", style="bold")
    surface.write(f"Every decision, with what was found about it: {folder / _ANNOTATED}")
    surface.write()
    surface.write("Try it yourself", style="bold")
    check = f"{_program()} check {shlex.quote(labels)} --gold {shlex.quote(gold)}"
    config = f"--config {shlex.quote(settings)}"
    for comment, *command in (
        ("the same check", check, config),
        ("tolerate more", check, f"{config} --max-gap 0.5"),
        ("for other programs", check, f"{config} --json -"),
        ("the truth, which a check never sees", f"cat {shlex.quote(str(folder / 'truth.csv'))}"),
    ):
        surface.write(f"  # {comment}", style="dim")
        # Cut where a shell goes on reading, not where the screen ends, so that it can be copied.
        text = " \\\n      ".join(map(surface.clean, command))
        surface.console.print(f"  {text}", soft_wrap=True)
    code = EXIT_CODES[decision.verdict]
    surface.write()
    surface.write(f"This is a demo and ends with exit code 0; the same mdba check has {code}.")
    return 0


def _refuse_others_files(folder: Path) -> None:
    """Refuse a folder in which a file of ours would replace one that is not."""
    from mdba_checks.errors import InputError
    from mdba_checks.sidecar import sidecar_path

    settings = folder / "mdba.yaml"
    if settings.is_file() and settings.read_bytes().startswith(_MARK.encode()):
        return
    for name in (*_TABLES, "mdba.yaml", _REPORT, _ANNOTATED, sidecar_path(_ANNOTATED)):
        if (folder / name).exists():
            raise InputError(
                f"{folder / name} was not written by the demo: choose another --folder"
            )


def _write(folder: Path, seed: int) -> dict[tuple[str, str], float]:
    """Write the tables and the settings; return the true gaps."""
    from mdba_checks.cli.simulate import write_csv
    from mdba_checks.files import write_whole
    from mdba_checks.simulation import simulate

    # First the settings: with their mark the folder is the demo's own, also if this run is stopped.
    write_whole(folder / "mdba.yaml", _SETTINGS, force=True)
    made = simulate(
        n_items=_ITEMS,
        n_labelers=len(_RECRUITERS),
        gold_per_group=_GOLD_PER_GROUP,
        tprs=list(_RECRUITERS.values()),
        seed=seed,
    )
    names = dict(zip(sorted(made.truth["labeler"].unique()), _RECRUITERS, strict=True))
    tables = (
        made.labels.assign(labeler=made.labels["labeler"].map(names)),
        made.gold,
        made.truth.assign(labeler=made.truth["labeler"].map(names)),
    )
    for name, table in zip(_TABLES, tables, strict=True):
        write_csv(table, folder / name, force=True)
    truth = tables[2]
    return dict(zip(zip(truth["labeler"], truth["group"], strict=True), truth["gap"], strict=True))


def _program() -> str:
    """Return how this command can be typed again."""
    typed = Path(sys.argv[0])
    if typed.parts[-2:] == ("mdba_checks", "__main__.py"):
        return "python -m mdba_checks"
    # A virtual environment that is not activated: `mdba` alone would not be found.
    elsewhere = typed.name == "mdba" and not shutil.which("mdba")
    return shlex.quote(sys.argv[0]) if elsewhere else "mdba"
