"""Options of the commands: those made from the settings, and those that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

import typer

from mdba_checks.settings import SEVERAL, Setting, settings

OUTPUT = "Output"  # the heading in the help

Flags = Mapping[str, Any]
"""Settings by their keys, as they were typed; None where they were not."""

# What the command line calls otherwise than the settings, and what it does not offer.
_NAMES = {"columns.gold": "--gold-label", "columns.cluster": "--cluster-column"}
_IN_FLOWS_ONLY = {"policy.on_block", "policy.approval_timeout"}
_PANELS = {"columns": "Columns", "policy": "Policy", "words": OUTPUT, "": "Method"}
_OTHER_PANELS = {
    **dict.fromkeys(
        ("features", "positive", "gold_positive", "drop_missing", "missing_values"), "Columns"
    ),
    "pseudonymize": OUTPUT,
}
_METAVARS = {"whole number": "N", "number": "X", "numbers": "X", "choice": "NAME", "switch": ""}
_TYPES = {
    "whole number": int,
    "number": float,
    **dict.fromkeys(SEVERAL, list[str]),
    "numbers": list[float],
}
_SPLIT = {"features": ","}  # may also be given in one piece


def option_name(key: str) -> str:
    """Return what the command line calls a setting.

    Examples
    --------
    >>> option_name("policy.max_gap"), option_name("columns.gold")
    ('--max-gap', '--gold-label')
    """
    return _NAMES.get(key) or "--" + key.rpartition(".")[2].replace("_", "-")


def _parameter(each: Setting) -> Parameter:
    several = "; may be given several times" if each.kind in SEVERAL else ""
    option = typer.Option(
        option_name(each.key),
        metavar=_METAVARS.get(each.kind, "COL" if each.section == "columns" else "VALUE"),
        help=f"{each.sentence().removesuffix('.')}{several}.",
        rich_help_panel=_OTHER_PANELS.get(each.key, _PANELS[each.section]),
    )
    kind: Any = bool if each.kind == "switch" else _TYPES.get(each.kind, str) | None
    return Parameter(
        option_name(each.key)[2:].replace("-", "_"),
        Parameter.KEYWORD_ONLY,
        default=False if each.kind == "switch" else None,
        annotation=Annotated[kind, option],
    )


def _typed(key: str, value: Any) -> Any:
    if value is None or value is False or value == []:
        return None
    if not isinstance(value, list):
        return value
    if key in _SPLIT:
        return tuple(part for each in value for part in each.split(_SPLIT[key]))
    return tuple(value)


def with_options(
    *, only: Callable[[Setting], bool] = lambda _: True
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that gives a command its options.

    A parameter of the type `Flags` becomes one option per setting that `only` allows; a parameter
    whose type is a dataclass becomes one option per field.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(command, include_extras=True)
        makers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        parameters: list[Parameter] = []
        for name, given in signature(command).parameters.items():
            made, maker = _expanded(hints[name], only)
            if maker is None:
                made = [given.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)]
            else:
                makers[name] = maker
            parameters += made

        @wraps(command)
        def run(**values: Any) -> int:
            made = {name: maker(values) for name, maker in makers.items()}
            return command(**values, **made)

        # Typer reads these; what `wraps` copied describes the command before it got its options.
        described: Any = run
        del described.__wrapped__
        described.__signature__ = signature(run).replace(parameters=parameters)
        described.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _expanded(
    hint: Any, only: Callable[[Setting], bool]
) -> tuple[list[Parameter], Callable[[dict[str, Any]], Any] | None]:
    """Return the options that a parameter becomes, and what makes its value from theirs."""
    if hint == Flags:
        offered = [each for each in settings() if each.key not in _IN_FLOWS_ONLY and only(each)]
        options = [_parameter(each) for each in offered]

        def flags(values: dict[str, Any]) -> Flags:
            pairs = zip(offered, options, strict=True)
            return {each.key: _typed(each.key, values.pop(one.name)) for each, one in pairs}

        return options, flags
    if is_dataclass(hint):
        types = get_type_hints(hint, include_extras=True)
        options = [
            Parameter(
                each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=types[each.name]
            )
            for each in fields(hint)
        ]
        kind: Any = hint
        return options, lambda values: kind(**{one.name: values.pop(one.name) for one in options})
    return [], None


def flag(name: str, explanation: str, *, short: tuple[str, ...] = (), panel: str = OUTPUT) -> Any:
    """Return an option that is there or not."""
    # Without an empty metavar the help says <bool>, as if a value were to follow.
    return typer.Option(name, *short, metavar="", help=explanation, rich_help_panel=panel)


def written(name: str, explanation: str, metavar: str = "FILE") -> Any:
    """Return an option that says where something is written to, or in which form."""
    return typer.Option(name, metavar=metavar, help=explanation, rich_help_panel=OUTPUT)


Labels = Annotated[
    str,
    typer.Argument(
        metavar="LABELS",
        help="One row per decision: .csv, .csv.gz, .parquet, a folder of Parquet parts, .xlsx "
        "(BOOK.xlsx::SHEET), .json, .jsonl, the same as s3://… or gs://…, or a database table "
        "as URL::table.",
        show_default=False,
    ),
]
Gold = Annotated[
    str,
    typer.Option(
        metavar="GOLD",
        help="Items whose right decision is known, in the same forms as LABELS.",
        show_default=False,
    ),
]
ConfigFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Settings in YAML; the flags below override it."),
]
Force = Annotated[bool, flag("--force", "Replace existing output files.")]
Quiet = Annotated[bool, flag("--quiet", "Print nothing but errors.", short=("-q",))]
# `app.run` looks for this flag among the arguments, because errors may come before they are parsed.
# The commands take it only so that their help knows it.
Debug = Annotated[bool, flag("--debug", "Show the traceback of an error.")]


def examples(*lines: str) -> str:
    r"""Return an epilog whose lines stay lines.

    Examples
    --------
    >>> examples("mdba demo")
    'Examples:\n  mdba demo'
    """
    return "\n".join(["Examples:", *(f"  {line}" for line in lines)])
