"""What `config.py` declares, as data: options, expectation fields and tables are made from it.

A setting is declared once, as a field of `CheckConfig`, `Columns` or `Policy`: name, type, range,
default and description. The adapters ask here for what they need to offer it under a name of their
own, so that a new setting is there everywhere and says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from mdba_checks.config import CheckConfig

Kind = Literal[
    "switch",
    "whole number",
    "number",
    "text",
    "value",
    "choice",
    "texts",
    "numbers",
    "text or texts",
    "value or values",
    "value by column",
]
SEVERAL: frozenset[Kind] = frozenset(
    ("texts", "numbers", "text or texts", "value or values", "value by column")
)


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes
    ----------
    key
        Its name, dotted as in YAML: ``policy.max_gap``.
    kind
        What a value looks like; ``value`` is text, a whole number, true or false. Those in
        `SEVERAL` may be several.
    choices
        The values there are, for a choice.
    optional
        Whether it may be left empty; the description then says what happens.
    default, description
        As declared.
    """

    key: str
    kind: Kind
    choices: tuple[str, ...]
    optional: bool
    default: Any
    description: str

    @property
    def section(self) -> str:
        """The part of the YAML file it is in: columns, policy, or none."""
        return self.key.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The name within its section."""
        return self.key.rpartition(".")[2]

    def sentence(self) -> str:
        """Return what it means, which values there are, and which one is the default.

        Examples
        --------
        >>> setting("policy.decide_on").sentence()
        "'confident' decides on intervals, 'estimate' on the number alone. One of: confident \
(default), estimate."
        """
        parts = [self.description[:1].upper() + self.description[1:]]
        if self.kind == "choice":
            known = [f"{each} (default)" if each == self.default else each for each in self.choices]
            parts.append(f"One of: {', '.join(known)}")
        elif (
            self.kind in ("whole number", "number", "text", "text or texts")
            and self.default is not None
        ):
            parts.append(f"Default: {self.default}")
        return "".join(f"{part}. " for part in parts).rstrip()


def settings() -> tuple[Setting, ...]:
    """Return every setting there is, in the order of the YAML file.

    Examples
    --------
    >>> [each.key for each in settings()][:2]
    ['columns.labeler', 'columns.label']
    """
    return tuple(_of(CheckConfig, ""))


def setting(key: str) -> Setting:
    """Return the setting with this key."""
    return next(each for each in settings() if each.key == key)


def as_markdown() -> str:
    """Return a table of all settings, for the documentation."""
    rows = [
        f"| `{each.key}` | {_cell(each.default)} | {each.sentence().replace('|', '/')} |"
        for each in settings()
    ]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows, ""])


def _cell(default: Any) -> str:
    if default is None or default == ():
        return "not set"
    if isinstance(default, tuple):
        return ", ".join(f"`{each!r}`" for each in default)
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _of(model: type[BaseModel], prefix: str) -> Iterator[Setting]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _of(field.annotation, f"{prefix}{name}.")
            continue
        kind, choices, optional = _shape(field.annotation)
        default = field.get_default(call_default_factory=True)
        yield Setting(
            key=f"{prefix}{name}",
            kind=kind,
            choices=choices,
            optional=optional,
            default=default,
            description=field.description or "",
        )


def _shape(annotation: Any) -> tuple[Kind, tuple[str, ...], bool]:
    """Return kind, choices and whether it may be empty."""
    inner = _without_metadata(annotation)
    parts = list(get_args(inner)) if get_origin(inner) in (Union, UnionType) else [inner]
    plain = [_without_metadata(each) for each in parts if each is not NoneType]
    optional = NoneType in parts
    while len(plain) == 1 and get_origin(plain[0]) in (Union, UnionType):
        plain = [_without_metadata(each) for each in get_args(plain[0])]
    if len(plain) > 1:
        # One value, or several of the same kind in a list or by column.
        many = {get_origin(each) for each in plain} - {Union, UnionType, None}
        of_text = plain[0] is str
        if dict in many:
            return "value by column", (), optional
        if tuple in many:
            return "text or texts" if of_text else "value or values", (), optional
        return "value", (), optional
    (one,) = plain
    if get_origin(one) is Literal:
        return "choice", get_args(one), optional
    if get_origin(one) is tuple:
        of_numbers = _without_metadata(get_args(one)[0]) in (int, float)
        return "numbers" if of_numbers else "texts", (), optional
    kinds: dict[Any, Kind] = {
        bool: "switch",
        int: "whole number",
        float: "number",
        str: "text",
    }
    return kinds[one], (), optional


def _without_metadata(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation
