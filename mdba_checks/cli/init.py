"""`mdba init`: from two tables to settings with which `mdba check` runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdba_checks.cli.options import Debug, Flags, Quiet, examples, flag, with_options

if TYPE_CHECKING:
    from mdba_checks.cli.setup import Tables
    from mdba_checks.cli.terminal import Screen
    from mdba_checks.config import CheckConfig

EPILOG = examples(
    "mdba init --labels labels.csv --gold gold.csv",
    "mdba init --labels labels.csv --gold gold.csv --labeler rater --reference men --yes",
    "mdba init --group gender     # corrects the mdba.yaml that is there",
    "mdba init --with all         # a flow, a suite and a workflow as well",
)

_ASKED = {
    *(f"columns.{role}" for role in ("labeler", "label", "group", "gold", "item")),
    *("positive", "reference", "policy.max_gap"),
}
_GOLD, _SETTINGS = "gold.csv", "mdba.yaml"


@with_options(only=lambda each: each.key in _ASKED)
def init(
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="One row per decision, in a form that mdba check takes. Its columns are looked "
            "at. Default: labels.csv.",
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold",
            metavar="FILE",
            help="Items whose right decision is known, in the same forms. Default: gold.csv.",
        ),
    ] = None,
    flags: Flags = MappingProxyType({}),
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="What to write beside mdba.yaml: prefect (the gate and training behind it, as "
            "deployments, with automations), gx (a suite), github (a workflow), or all of it; may "
            "be given several times.",
        ),
    ] = None,
    prefect: Annotated[bool, flag("--prefect", "The same as --with prefect.")] = False,
    yes: Annotated[
        bool, flag("--yes", "Ask nothing and take what is suggested.", short=("-y",))
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Write mdba.yaml, the settings of a check, into the current folder.

    Looks at both tables and suggests their columns; asks, if there is somebody
    to ask. The check is tried before anything is written. Where mdba.yaml is
    there already, what you type or answer is corrected in it.
    """
    from mdba_checks.cli.setup import Project, Questions, Tables, files_for, write_project
    from mdba_checks.cli.terminal import screen
    from mdba_checks.config import CheckConfig

    wanted = files_for([*(more or ()), *(["prefect"] if prefect else [])])
    asking = not yes and sys.stdin.isatty()
    questions = Questions(asking=asking)
    labels = labels or questions.text("The labels", "labels.csv")
    gold = gold or questions.text("The gold items", _GOLD)
    # Gold is often still to be made; a name that was not typed may stand for that.
    later = gold == _GOLD and not Path(gold).exists()
    tables = Tables.of(labels, None if later else gold)
    before = CheckConfig.from_yaml(_SETTINGS) if Path(_SETTINGS).exists() else None
    typed = {key: value for key, value in flags.items() if value is not None}
    settings, tried = _settled(tables, before, typed, questions)
    written = write_project(Project(labels, gold, settings), Path(), wanted, before=before)
    if not quiet:
        surface = screen()
        _show(surface, settings, written, tried)
        if later:
            columns = settings.columns
            surface.write(
                f"{gold} is not there yet. It needs a row per item whose right decision is known, "
                f"with that decision in {columns.gold!r}, the group in {columns.groups[0]!r}, and "
                "the columns of labels that a decision may depend on."
            )
        check = f"mdba check {shlex.quote(labels)} --gold {shlex.quote(gold)} --config mdba.yaml"
        surface.console.print(f"Next: {surface.clean(check)}", soft_wrap=True)
    return 0


def _settled(
    tables: Tables, before: CheckConfig | None, typed: Mapping[str, Any], questions: Any
) -> tuple[CheckConfig, str]:
    """Return settings with which a check runs, and what it reads; ask again where it does not."""
    from mdba_checks.cli.check import with_references
    from mdba_checks.config import CheckConfig
    from mdba_checks.errors import InputError

    known = before
    while True:
        asked = questions.answers(tables, known, typed)
        if "reference" in typed:
            groups = asked.get("columns.group")
            asked["reference"] = with_references(typed["reference"], groups, known or CheckConfig())
        settings = (before or CheckConfig()).updated(asked)
        try:
            return settings, tables.tried(settings)
        except InputError as error:
            if not questions.again(f"With these answers the check would stop: {error}"):
                raise InputError(f"the check would stop, so nothing was written: {error}") from None
        known = settings


def _show(surface: Screen, settings: CheckConfig, written: Mapping[str, str], tried: str) -> None:
    columns = settings.columns
    surface.write(
        f"labeler: {columns.labeler}, label: {columns.label}, group: "
        f"{' and '.join(columns.groups)}, gold: {columns.gold}"
        + (f", item: {columns.item}" if columns.item else "")
    )
    if tried:
        surface.write(f"The check runs: {tried}")
    for name, what in written.items():
        surface.write(f"{what} {name}")
    surface.write()
