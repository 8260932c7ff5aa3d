"""What became of every column of the two tables: its role, and what it holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mdba_checks.tables.feature import ReadColumn
from mdba_checks.tables.roles import GOLD_ROUND, Roles

BOTH, LABELS, GOLD = "both tables", "labels", "gold"
FEATURE, NOT_USED = "feature", "not used"


@dataclass(frozen=True)
class ColumnUse:
    """A column, or a family of numbered columns.

    Attributes
    ----------
    name
        As the tables call it.
    tables
        Which table has it: ``both tables``, ``labels`` or ``gold``.
    role
        ``labeler``, ``label``, ``group``, ``gold``, ``item``, ``cluster``, ``cohort``,
        ``gold_weight``, ``gold_round``, ``feature`` or ``not used``.
    holds
        What a feature holds and how it is read, or why a column is not used.
    """

    name: str
    tables: str
    role: str
    holds: str = ""


@dataclass(frozen=True)
class LookedAt:
    """What was found when a column, or a family of them, was looked at as a feature."""

    columns: tuple[str, ...]
    used: bool
    holds: str


def described(read: ReadColumn) -> str:
    """Return what a column holds that is used, in words."""
    if read.holds:
        return read.holds
    return kind_in_words(read.features[0].levels)


def kind_in_words(levels: Sequence[str] | None) -> str:
    """Return what a column of numbers or of categories holds.

    Examples
    --------
    >>> kind_in_words(None), kind_in_words(["red", "green"])
    ('numbers', 'categories, 2 different')
    """
    return "numbers" if levels is None else f"categories, {len(levels):,} different"


def uses_of(
    labels: Collection[str], gold: Collection[str], roles: Roles, looked: Mapping[str, LookedAt]
) -> tuple[ColumnUse, ...]:
    """Return what became of the columns: those with a role, features, and those not used.

    Parameters
    ----------
    labels, gold
        The names of the tables' columns.
    roles
        Which column plays which role.
    looked
        What was looked at as a feature, by name.
    """
    with_role = list(_with_role(gold, roles))
    features = [
        ColumnUse(name, BOTH, FEATURE if each.used else NOT_USED, each.holds)
        for name, each in looked.items()
    ]
    features.sort(key=lambda each: each.role == NOT_USED)
    seen = {name for each in looked.values() for name in each.columns}
    taken = {
        LABELS: seen | {each.name for each in with_role if each.tables != GOLD},
        GOLD: seen | {each.name for each in with_role if each.tables != LABELS},
    }
    rest = []
    for name in dict.fromkeys((*labels, *gold)):
        free = [
            table
            for table, names in ((LABELS, labels), (GOLD, gold))
            if name in names and name not in taken[table]
        ]
        if len(free) == 2:
            rest.append(ColumnUse(name, BOTH, NOT_USED, "is not named in features"))
        elif free:
            other, names = (GOLD, gold) if free == [LABELS] else (LABELS, labels)
            why = f"has another role in {other}" if name in names else f"{other} does not have it"
            rest.append(ColumnUse(name, free[0], NOT_USED, why))
    return (*with_role, *features, *rest)


def _with_role(gold: Collection[str], roles: Roles) -> Iterator[ColumnUse]:
    columns = roles.columns
    known = (
        ("labeler", columns.labeler, LABELS),
        ("label", columns.label, LABELS),
        *(("group", name, BOTH) for name in columns.groups),
        ("gold", columns.gold, GOLD),
        ("item", roles.item, BOTH if roles.gold_item else LABELS),
        ("cluster", columns.cluster, BOTH if roles.cluster else GOLD),
        ("cohort", columns.cohort, LABELS),
        ("gold_weight", columns.gold_weight, GOLD),
        ("gold_round", GOLD_ROUND if GOLD_ROUND in gold else None, GOLD),
    )
    for role, name, tables in known:
        if name is not None:
            yield ColumnUse(name, tables, role)
