"""The questions of `mdba init`: what is suggested, what was answered, and again after a slip."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import typer

from mdba_checks.cli.options import option_name
from mdba_checks.cli.setup.suggest import Column, Suggestion, look_at, suggest, suggest_positive
from mdba_checks.config import CheckConfig
from mdba_checks.errors import MOST_SHOWN, InputError, did_you_mean, joined, quoted, visible
from mdba_checks.tables import open_tables

_QUESTIONS = {
    "labeler": "Who decided (column of labels)",
    "group": "The group decided about (column of both)",
    "label": "What they decided (column of labels)",
    "gold": "The right decision (column of gold)",
}
_ROLES = (*_QUESTIONS, "item")
_BINARY = {"0", "1", "true", "false"}
_EVERYONE_ELSE = "all"


@dataclass(frozen=True)
class Tables:
    """Both tables as they were looked at; no columns of gold where it is still to be made."""

    sources: tuple[str, str | None]
    labels: tuple[Column, ...]
    gold: tuple[Column, ...]

    @classmethod
    def of(cls, labels: str, gold: str | None) -> Tables:
        """Look at two files."""
        for name in (labels, gold or ""):
            if "://" in name:
                raise InputError(
                    "mdba init looks at files: give some rows of the table as .csv; mdba check "
                    "takes URL::table itself"
                )
        return cls((labels, gold), look_at(labels), () if gold is None else look_at(gold))

    def must_have(self, name: str, role: str) -> None:
        """Refuse a column that a table does not have."""
        for where, table, roles in (
            ("labels", self.labels, ("labeler", "label", "group", "item")),
            ("gold", self.gold, ("gold", "group")),
        ):
            known = [each.name for each in table]
            if table and role in roles and name not in known:
                raise InputError(
                    f"{where} has no column {name!r} for {option_name(f'columns.{role}')}."
                    f"{did_you_mean(name, known)}"
                )

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a column of labels; none where there are many."""
        return next(each.values for each in self.labels if each.name == name)

    def tried(self, settings: CheckConfig) -> str:
        """Read both tables as a check would, and return what it found; refuse what it refuses."""
        labels, gold = self.sources
        if gold is None:
            return ""
        opened = open_tables(labels, gold, settings)
        data, *_ = [opened.load(each) for each in list(opened.questions)]
        return (
            f"{len(data.labels):,} labels by {len(data.labelers):,} labelers, {len(data.gold):,} "
            f"gold items, {len(data.features)} features; groups: {joined(map(quoted, data.groups))}"
        )


@dataclass(frozen=True)
class Questions:
    """Asks where somebody can answer, and takes what is suggested otherwise."""

    asking: bool

    def text(self, question: str, default: str) -> str:
        """Return an answer."""
        return self._answer(question, default, lambda _: None) if self.asking else default

    def again(self, problem: str) -> bool:
        """Return whether somebody wants to answer all questions again."""
        if not self.asking:
            return False
        sys.stderr.write(f"{visible(problem)}\n")
        return typer.confirm("Answer again?", default=True, err=True)

    def answers(
        self, tables: Tables, before: CheckConfig | None, typed: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return settings by their keys.

        What was typed is not asked for. Where there are settings already, the others are taken from
        there, and only what was typed or is answered now is returned.
        """
        for role in _ROLES:
            for name in _names(typed.get(f"columns.{role}")):
                tables.must_have(name, role)
        found = dict(typed)
        if before is not None and not self.asking:
            return found
        guessed = self._guessed(tables, before, typed)
        for role in _QUESTIONS:
            if f"columns.{role}" not in typed:
                found[f"columns.{role}"] = self._role(role, getattr(guessed, role), tables)
        if "columns.item" not in typed and guessed.item is not None:
            found["columns.item"] = guessed.item
        if "positive" not in typed:
            found["positive"] = self._positive(found["columns.label"], tables, before)
        if "reference" not in typed and self.asking and len(_names(found["columns.group"])) == 1:
            found["reference"] = self._reference(_names(found["columns.group"])[0], tables, before)
        return found

    def _guessed(
        self, tables: Tables, before: CheckConfig | None, typed: Mapping[str, Any]
    ) -> Suggestion:
        known = {role: _names(typed.get(f"columns.{role}")) for role in _ROLES}
        if before is not None:
            for role in _ROLES:
                known[role] = known[role] or _names(getattr(before.columns, role))
        guessed = suggest(
            tables.labels,
            tables.gold,
            known={role: names[0] for role, names in known.items() if names},
        )
        return replace(guessed, gold=guessed.gold or ("gold" if not tables.gold else None))

    def _role(self, role: str, guessed: str | None, tables: Tables) -> str:
        where, table = ("gold", tables.gold) if role == "gold" else ("labels", tables.labels)
        names = [each.name for each in table]
        if self.asking:
            if guessed is None:
                sys.stderr.write(f"Columns of {where}: {_shown(names)}\n")
            question = _QUESTIONS[role]
            return self._answer(question, guessed, lambda name: tables.must_have(name, role))
        if guessed is None:
            raise InputError(
                f"cannot tell which column of {where} is the {role}: give "
                f"{option_name(f'columns.{role}')} (columns: {_shown(names)})"
            )
        return guessed

    def _positive(self, label: str, tables: Tables, before: CheckConfig | None) -> Any:
        """Return the label that counts as positive, where that has to be said."""
        values = tables.values(label)
        if not values or {value.casefold() for value in values} <= _BINARY:
            return None  # nothing to say, or something that the check itself says better
        guessed = suggest_positive(values)
        if before is not None and before.positive is not None:
            guessed = str(before.positive)
        if self.asking:
            shown = _shown(values)
            return self._answer(f"The label that counts as positive ({shown})", guessed, _anything)
        if guessed is None:
            scale = all(value.lstrip("-").isdigit() for value in values)
            example = f", such as --positive '>= {values[len(values) // 2]}'" if scale else ""
            raise InputError(
                f"cannot tell which value of column {label!r} counts as positive: give --positive "
                f"(values: {_shown(values)}){example}"
            )
        return guessed

    def _reference(self, group: str, tables: Tables, before: CheckConfig | None) -> str | None:
        groups = tables.values(group)
        known = None if before is None else before.reference
        default = _EVERYONE_ELSE if known is None or isinstance(known, dict) else str(known)

        def check(typed: str) -> None:
            if groups and typed != _EVERYONE_ELSE and typed not in groups:
                raise InputError(
                    f"{typed!r} is not a group in column {group!r}.{did_you_mean(typed, groups)}"
                )

        typed = self._answer(
            f"The group others are compared with ({_shown(groups)}; {_EVERYONE_ELSE}: each with "
            "everyone else)",
            default,
            check,
        )
        return None if typed == _EVERYONE_ELSE and _EVERYONE_ELSE not in groups else typed

    @staticmethod
    def _answer(question: str, default: str | None, check: Callable[[str], None]) -> str:
        """Ask until the answer can be."""
        while True:
            typed = str(typer.prompt(question, default=default, err=True)).strip()
            try:
                check(typed)
            except InputError as problem:
                sys.stderr.write(f"{visible(problem)}\n")
            else:
                return typed


def _anything(_: str) -> None:
    """Every answer can be: the check says more about it than could be said here."""


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def _shown(names: Collection[str]) -> str:
    some = [quoted(visible(name)) for name in list(names)[:MOST_SHOWN]]
    return ", ".join(some) + (", …" if len(names) > len(some) else "")
