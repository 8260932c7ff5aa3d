"""Which column is which? A guess from names and values, and no guess where two are as good.

A wrong guess costs more than none: it would check something that nobody asked about. A column is
therefore suggested only if its values fit the role, and if its name says so or no other fits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mdba_checks.config import MISSING_VALUES
from mdba_checks.tables import Kind, Source, as_names, kind_of, read_table

_MOST_GROUPS = 20
_MOST_CLASSES = 12  # labels of one question
_MOST_CODED_GROUPS = 6  # numbers that stand for groups; beyond this they count something
_ROWS_PER_LABELER = 5
_PROSE = 3  # words, on average of so many rows; a name has up to three
_LOOKED_AT = 200

# Words that a column of this role is called by, the surest first.
_WORDS = {
    "labeler": (
        "labeler labeller annotator rater recruiter reviewer moderator judge grader coder worker "
        "nurse doctor physician officer examiner assessor evaluator user employee"
    ),
    "label": (
        "label decision decided invited hired accepted approved admitted flagged removed toxic "
        "urgent granted verdict outcome answer vote y"
    ),
    "gold": "gold truth correct right should expert consensus reference target y",
    "group": "group gender sex race ethnicity nationality religion disability dialect",
    "item": "item id application applicant case document comment post text patient ticket uid",
}
_YES = (
    "yes y true positive pos accept accepted approve approved invite invited hire hired admit "
    "admitted toxic flag flagged remove removed urgent pass grant granted relevant"
)


@dataclass(frozen=True)
class Column:
    """What matters about a column: its name, what it holds, and some of its values."""

    name: str
    kind: Kind
    n_rows: int
    n_values: int
    values: tuple[str, ...]
    is_prose: bool = False  # sentences, which models read, and not names of things


@dataclass(frozen=True)
class Suggestion:
    """The columns that seem to play each role; None where it cannot be told."""

    labeler: str | None = None
    label: str | None = None
    group: str | None = None
    gold: str | None = None
    item: str | None = None


def look_at(source: Source) -> tuple[Column, ...]:
    """Read a table and describe its columns.

    Examples
    --------
    >>> import pandas as pd
    >>> look_at(pd.DataFrame({"rater": ["a", "b", "a"]}))[0].values
    ('a', 'b')
    """
    table = read_table(source, text_columns=(), missing_values=MISSING_VALUES)
    return tuple(
        _describe(name, column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    )


def _describe(name: str, column: pa.ChunkedArray) -> Column:
    kind = kind_of(column.type)
    if kind not in (Kind.TEXT, Kind.NUMBER):
        return Column(name=name, kind=kind, n_rows=len(column), n_values=0, values=())
    count = pc.count_distinct(column).as_py()
    # Spelling a million measurements would take long, and nobody wants to see them.
    values = sorted(as_names(column).dictionary.to_pylist()) if count <= _MOST_GROUPS else ()
    some = column.slice(0, _LOOKED_AT).drop_null().to_pylist() if kind is Kind.TEXT else []
    return Column(
        name=name,
        kind=kind,
        n_rows=len(column),
        n_values=count,
        values=tuple(values),
        is_prose=bool(some) and sum(len(each.split()) for each in some) > _PROSE * len(some),
    )


def suggest(
    labels: Sequence[Column],
    gold: Sequence[Column] = (),
    *,
    known: Mapping[str, str | None] | None = None,
) -> Suggestion:
    """Suggest which column plays which role.

    Parameters
    ----------
    labels, gold
        The columns of the two tables; without gold nothing is said about its own column.
    known
        Roles that are settled already; their columns are not suggested for another one.

    Examples
    --------
    >>> import pandas as pd
    >>> labels = pd.DataFrame(
    ...     {
    ...         "recruiter": ["ann", "bob"] * 10,
    ...         "sex": ["f", "m", "m", "f"] * 5,
    ...         "invited": [0, 1] * 10,
    ...     }
    ... )
    >>> suggest(look_at(labels))
    Suggestion(labeler='recruiter', label='invited', group='sex', gold=None, item=None)
    """
    found = {role: name for role, name in (known or {}).items() if name is not None}
    in_gold, in_labels = {each.name for each in gold}, {each.name for each in labels}

    def choose(role: str, table: Sequence[Column], elsewhere: Collection[str]) -> None:
        if role in found:
            return
        # Within a table a column has one role; the label may be called the same in both.
        others = {found[each] for each in found if (each == "gold") == (role == "gold")}
        others |= {found[each] for each in ("group", "item") if each in found}
        free = [each for each in table if each.name not in others and _fits(role, each)]
        if role in ("group", "item") and elsewhere:
            free = [each for each in free if each.name in elsewhere or role == "item"]
        if role in ("group", "labeler"):  # what both tables answer with is the decision
            free = [each for each in free if each.name not in answers]
        name = _best(role, free, elsewhere, answers)
        if name is not None:
            found[role] = name

    answers = _same_values(labels, gold)
    choose("labeler", labels, in_gold)
    choose("group", labels, in_gold)
    choose("label", labels, in_gold)
    choose("gold", gold, in_labels)
    choose("item", labels, in_gold)
    return Suggestion(**found)


def suggest_positive(values: Collection[str]) -> str | None:
    """Return the one of two named values that means yes, if it can be told.

    Examples
    --------
    >>> suggest_positive(["No", "Yes"]), suggest_positive(["left", "right"])
    ('Yes', None)
    """
    yes = [value for value in values if value.strip().casefold() in _YES.split()]
    return yes[0] if len(yes) == 1 else None


def _fits(role: str, column: Column) -> bool:
    """Return whether the values of a column can play a role."""
    if column.kind not in (Kind.TEXT, Kind.NUMBER):
        return False
    if role in ("label", "gold"):
        # Groups are never a decision: whoever is compared cannot be what was decided.
        decision = _name_score(role, column.name) >= _name_score("group", column.name)
        return 2 <= column.n_values <= _MOST_CLASSES and decision
    if role == "group":
        most = _MOST_GROUPS if column.kind is Kind.TEXT else _MOST_CODED_GROUPS
        return 2 <= column.n_values <= most and column.n_values < column.n_rows
    if role == "labeler":
        least = 2 if column.kind is Kind.TEXT else 3  # 0 and 1 are an answer, not two people
        return least <= column.n_values <= column.n_rows / _ROWS_PER_LABELER
    named = _name_score(role, column.name) > 0
    return column.n_values > column.n_rows / 20 and named and not column.is_prose


def _same_values(labels: Sequence[Column], gold: Sequence[Column]) -> set[str]:
    """Return columns that only one table has and whose values only the other table's own have.

    Somebody decided in the same words as the experts did.
    """
    shared = {each.name for each in labels} & {each.name for each in gold}
    own = [
        [each for each in table if each.name not in shared and each.values]
        for table in (labels, gold)
    ]
    return {
        each.name
        for one, other in (own, own[::-1])
        for each in one
        if 2 <= each.n_values <= _MOST_CLASSES and any(each.values == its.values for its in other)
    }


def _best(
    role: str, columns: Sequence[Column], elsewhere: Collection[str], answers: Collection[str]
) -> str | None:
    if role in ("label", "gold"):
        columns = [each for each in columns if _may_be_answer(role, each, elsewhere, answers)]
        same = [each for each in columns if each.name in answers]
        columns = same or columns
    if not columns:
        return None
    if role in ("labeler", "label", "gold") and elsewhere:
        # What only one of the tables has is likelier to be what sets it apart.
        apart = [each for each in columns if each.name not in elsewhere]
        columns = apart or columns
    scores = {each.name: _name_score(role, each.name) for each in columns}
    top = max(scores.values())
    best = [name for name, score in scores.items() if score == top]
    if len(best) > 1 or (top == 0 and len(columns) > 1):
        return None
    # A lone candidate without a telling name: numbers are measurements more often than people.
    lone = next(each for each in columns if each.name == best[0])
    if top == 0 and role in ("labeler", "group") and lone.kind is not Kind.TEXT:
        return None
    return best[0]


def _may_be_answer(
    role: str, column: Column, elsewhere: Collection[str], answers: Collection[str]
) -> bool:
    """Return whether a column may be the decision: by its name, or by what it holds and where."""
    if column.name in answers or _name_score(role, column.name) > 0:
        return True
    # Two values that nothing speaks for are a group or a feature, unless they are 0 and 1 or in
    # one table alone.
    alone = bool(elsewhere) and column.name not in elsewhere
    return column.n_values == 2 and (alone or column.kind is Kind.NUMBER)


def _name_score(role: str, name: str) -> float:
    """Return how clearly a name stands for a role: the whole of it, or a word in it."""
    words = _WORDS[role].split()
    tokens = [each.casefold() for each in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    if name.casefold() in words:
        return 3 - words.index(name.casefold()) / len(words)
    hits = [words.index(each) for each in tokens if each in words]
    return 1 - min(hits) / len(words) if hits else 0
