"""`mdba init`: from a labels file to a project that checks it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdba_checks.cli.options import Debug, Flags, Quiet, examples, flag, option_name, with_options

if TYPE_CHECKING:
    from mdba_checks.cli.setup import Column

EPILOG = examples(
    "mdba init --labels labels.csv --gold gold.csv",
    "mdba init --labels labels.csv --gold gold.csv --labeler rater --reference men --yes",
)

_QUESTIONS = {
    "labeler": "Who decided (column of labels)",
    "label": "What they decided (column of labels)",
    "group": "The group of the person decided about (column of both)",
    "gold": "The right decision (column of gold)",
}
_ROLES = ("labeler", "label", "group", "gold", "item")
_ASKED = {*(f"columns.{role}" for role in _ROLES), "positive", "reference", "policy.max_gap"}
_BINARY = {"0", "1", "true", "false"}
_GOLD = "gold.csv"


@with_options(only=lambda each: each.key in _ASKED)
def init(
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="One row per decision: .csv, .csv.gz, .parquet or a folder of Parquet parts. "
            "Its columns are looked at. Default: labels.csv.",
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
    yes: Annotated[
        bool, flag("--yes", "Ask nothing and take what is suggested.", short=("-y",))
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Write the settings, a flow, a suite and a CI step into the current folder.

    Looks at the labels and suggests their columns; asks, if there is somebody to
    ask. What is there already is left alone.
    """
    from mdba_checks.cli.setup import PROJECT_FILES, Project, suggest, write_project
    from mdba_checks.cli.terminal import screen
    from mdba_checks.config import CheckConfig
    from mdba_checks.errors import InputError

    asking = not yes and sys.stdin.isatty()
    labels = labels or _answer("The labels", "labels.csv", asking=asking)
    gold = gold or _answer("The gold items", _GOLD, asking=asking)
    for name in (labels, gold):
        if "://" in name:
            raise InputError(
                "mdba init looks at files: give some rows of the table as .csv; mdba check takes "
                "URL::table itself"
            )
    # Gold is often still to be made; a name that was not typed may stand for that.
    later = gold == _GOLD and not Path(gold).exists()
    tables = _columns_of(labels), () if later else _columns_of(gold)
    known = {role: flags[f"columns.{role}"] for role in _ROLES}
    for role, typed in known.items():
        if typed is not None:
            _must_have(typed, role, *tables)
    guessed = suggest(*tables, known=known)
    if later and guessed.gold is None:
        guessed = replace(guessed, gold="gold")
    roles = {
        role: known[role] or _role(role, getattr(guessed, role), *tables, asking=asking)
        for role in _QUESTIONS
    }
    positive, reference, max_gap = (
        flags[key] for key in ("positive", "reference", "policy.max_gap")
    )
    if positive is None:
        positive = _positive(roles["label"], tables[0], asking=asking)
    if reference is None and asking:
        reference = _reference(roles["group"], tables[0])
    settings = CheckConfig().updated(
        {
            **{f"columns.{role}": name for role, name in roles.items()},
            "columns.item": guessed.item,
            "positive": positive,
            "reference": reference,
            **({} if max_gap is None else {"policy.max_gap": max_gap}),
        }
    )
    written = write_project(Project(labels, gold, settings), Path())
    if not quiet:
        surface = screen()
        _show_columns(surface, settings)
        for name, new in written.items():
            about = PROJECT_FILES[name][1] if new else "left alone: it was there already"
            surface.write(f"{'wrote' if new else 'kept '} {name} ({about})")
        surface.write()
        if later:
            columns = settings.columns
            surface.write(
                f"{gold} is not there yet. It needs a row per item whose right decision is known, "
                f"with that decision in {columns.gold!r}, the group in {columns.group!r}, and the "
                "columns of labels that a decision may depend on."
            )
        check = f"mdba check {shlex.quote(labels)} --gold {shlex.quote(gold)} --config mdba.yaml"
        surface.console.print(f"Next: {surface.clean(check)}", soft_wrap=True)
    return 0


def _columns_of(source: str) -> tuple[Column, ...]:
    from mdba_checks.cli.setup import look_at

    return look_at(source)


def _answer(question: str, default: str | None, *, asking: bool) -> str:
    """Ask, or take the default; without somebody to ask there must be one."""
    if not asking:
        return default or ""
    return str(typer.prompt(question, default=default, err=True)).strip()


def _role(
    role: str,
    guessed: str | None,
    labels: Sequence[Column],
    gold: Sequence[Column],
    *,
    asking: bool,
) -> str:
    from mdba_checks.errors import InputError

    where, table = ("gold", gold) if role == "gold" else ("labels", labels)
    names = [each.name for each in table]
    if asking:
        if guessed is None:
            sys.stderr.write(f"Columns of {where}: {_shown(names)}\n")
        name = _answer(_QUESTIONS[role], guessed, asking=True)
        _must_have(name, role, labels, gold)
        return name
    if guessed is None:
        raise InputError(
            f"cannot tell which column of {where} is the {role}: give "
            f"{option_name(f'columns.{role}')} (columns: {_shown(names)})"
        )
    return guessed


def _must_have(name: str, role: str, labels: Sequence[Column], gold: Sequence[Column]) -> None:
    from mdba_checks.errors import InputError, did_you_mean

    flag_name = option_name(f"columns.{role}")
    for where, table, roles in (
        ("labels", labels, ("labeler", "label", "group", "item")),
        ("gold", gold, ("gold", "group")),
    ):
        known = [each.name for each in table]
        if table and role in roles and name not in known:
            raise InputError(
                f"{where} has no column {name!r} for {flag_name}.{did_you_mean(name, known)}"
            )


def _positive(label: str, table: Sequence[Column], *, asking: bool) -> str | None:
    """Return the label that means yes, where that has to be said."""
    from mdba_checks.cli.setup import suggest_positive
    from mdba_checks.errors import InputError

    values = _values(label, table)
    if {value.casefold() for value in values} <= _BINARY or len(values) != 2:
        return None  # nothing to say, or something that the check itself says better
    guessed = suggest_positive(values)
    if asking:
        return _answer(f"The label that means yes ({_shown(values)})", guessed, asking=True)
    if guessed is None:
        raise InputError(
            f"cannot tell which value of column {label!r} means yes: give --positive "
            f"(values: {_shown(values)})"
        )
    return guessed


def _reference(group: str, table: Sequence[Column]) -> str | None:
    groups = _values(group, table)
    typed = _answer(f"The group others are compared with ({_shown(groups)})", "all", asking=True)
    return None if typed == "all" and "all" not in groups else typed


def _values(name: str, table: Sequence[Column]) -> tuple[str, ...]:
    return next(each.values for each in table if each.name == name)


def _shown(names: Collection[str]) -> str:
    from mdba_checks.errors import MOST_SHOWN, visible

    some = [visible(name) for name in list(names)[:MOST_SHOWN]]
    return ", ".join(some) + (", …" if len(names) > len(some) else "")


def _show_columns(surface: Any, settings: Any) -> None:
    columns = settings.columns
    surface.write(
        f"labeler: {columns.labeler}, label: {columns.label}, group: {columns.group}, "
        f"gold: {columns.gold}" + (f", item: {columns.item}" if columns.item else "")
    )
