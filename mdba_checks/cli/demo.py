"""`mdba demo`: a check on labelers whose bias is known, so that everyone can see what it finds."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from mdba_checks.cli.options import Debug, examples

EPILOG = examples("mdba demo", "mdba demo --mode quarantine", "mdba demo --folder trial --seed 7")

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
words:                  # what sentences call a 1, and those for whom it is right
  positive_verb: invites
  positive_adjective: suitable
metric: tpr             # of those who should be invited, how many are?
confidence: 0.9
policy:
  max_gap: 0.1          # tolerated difference between the groups
  mode: {{mode:<15}} # what happens when a labeler is biased: block, annotate, quarantine
seed: 0
"""
_TABLES = ("labels.csv", "gold.csv", "truth.csv")
_REPORT, _RELEASED = "report.html", "released.csv"


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Where the demo writes its files.")
    ] = Path("mdba-demo"),
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Another seed, another data set.")
    ] = 0,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="NAME",
            help="What happens with biased labelers: block, annotate or quarantine.",
        ),
    ] = "block",
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Make a data set with known biased labelers, check it, and say what to look at.

    Eight recruiters decided whom to invite. Some of them miss suitable women
    more often than suitable men. The demo writes their decisions and a small
    gold table, checks them as you would, and shows the true gaps beside the
    estimates.
    """
    from mdba_checks.cli.check import perform, read_settings
    from mdba_checks.cli.release import send
    from mdba_checks.errors import InputError
    from mdba_checks.outputs import make_folder

    if seed < 0:
        raise InputError(f"--seed is {seed}: give 0 or more")
    read_settings(None, {"policy.mode": mode})
    _refuse_others_files(folder)
    make_folder(folder, "make")
    truth = write_demo(folder, seed, mode)
    labels, gold, settings = (str(folder / n) for n in ("labels.csv", "gold.csv", "mdba.yaml"))
    assessment = perform(labels, gold, read_settings(settings, {}), quiet=False)

    from mdba_checks.cli.result import EXIT_CODES, show_result
    from mdba_checks.cli.terminal import screen
    from mdba_checks.report import write_report

    released = str(folder / _RELEASED)
    for path in _left(folder):  # of a demo in another mode
        path.unlink(missing_ok=True)
    sent = send(labels, gold, assessment, released, force=True, inputs=(), quiet=False)
    decision = sent.release.decision
    write_report(folder / _REPORT, assessment, decision, title="mdba demo", force=True)
    surface = screen()
    surface.write(
        f"{len(_RECRUITERS)} recruiters decided whom to invite; some miss suitable women more "
        f"often than suitable men. Their decisions are in {folder}."
    )
    surface.write()
    show_result(surface, assessment, decision, truth=truth, files=sent.lines)
    surface.write()
    surface.write(f"The report, to open in a browser: {folder / _REPORT}", style="bold")
    surface.write()
    surface.write("Try it yourself", style="bold")
    check = f"{_program()} check {shlex.quote(labels)} --gold {shlex.quote(gold)}"
    config = f"--config {shlex.quote(settings)}"
    output = f"--mode quarantine --output {shlex.quote(str(folder / 'kept.csv'))}"
    for comment, *command in (
        ("the same check", check, config),
        ("tolerate more", check, f"{config} --max-gap 0.5"),
        ("keep the rows of those who are not biased", check, config, output),
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

    settings = folder / "mdba.yaml"
    if settings.is_file() and settings.read_bytes().startswith(_MARK.encode()):
        return
    for path in (*(folder / name for name in (*_TABLES, "mdba.yaml", _REPORT)), *_left(folder)):
        if path.exists():
            raise InputError(f"{path} was not written by the demo: choose another --folder")


def _left(folder: Path) -> tuple[Path, ...]:
    """Return the files that may leave the gate."""
    from mdba_checks.outputs import removed_path, sidecar_path

    released = folder / _RELEASED
    return released, removed_path(released), sidecar_path(released)


def write_demo(folder: Path, seed: int, mode: str) -> dict[tuple[str, str], float]:
    """Write the tables and the settings; return the true gaps."""
    from mdba_checks.cli.simulate import write_csv
    from mdba_checks.outputs import write_whole
    from mdba_checks.simulation import simulate

    # First the settings: with their mark the folder is the demo's own, also if this run is stopped.
    write_whole(folder / "mdba.yaml", _SETTINGS.format(mode=mode), force=True)
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
