"""Options that several commands share, and the way examples are written into their help."""

from __future__ import annotations

from typing import Annotated, Any

import typer

OUTPUT = "Output"  # the heading in the help


def flag(name: str, explanation: str, *, short: tuple[str, ...] = (), panel: str = OUTPUT) -> Any:
    """Return an option that is there or not."""
    # Without an empty metavar the help says <bool>, as if a value were to follow.
    return typer.Option(name, *short, metavar="", help=explanation, rich_help_panel=panel)


def column(name: str, explanation: str, metavar: str = "COL") -> Any:
    """Return an option that names a column."""
    return typer.Option(name, metavar=metavar, help=explanation, rich_help_panel="Columns")


def method(name: str, metavar: str, explanation: str) -> Any:
    """Return an option about how the gap is estimated."""
    return typer.Option(name, metavar=metavar, help=explanation, rich_help_panel="Method")


def policy(name: str, metavar: str, explanation: str) -> Any:
    """Return an option about what is decided, and when."""
    return typer.Option(name, metavar=metavar, help=explanation, rich_help_panel="Policy")


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
