"""Write docs/command-line.md from the help of the commands: `python scripts/command_line_page.py`."""

from __future__ import annotations

from pathlib import Path

import typer

from mdba_checks.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"

_HEAD = """\
# The command line

Every command and every option, as `mdba COMMAND --help` tells them. This page is written by
`scripts/command_line_page.py`; a test fails when it is out of date.
"""


def page() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD]
    root = typer.main.get_command(app)
    for name, command in sorted(root.commands.items()):  # type: ignore[attr-defined]
        parts.append(_command(name, command))
    return "\n".join(parts)


def _command(name: str, command: object) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    shown = " ".join(_metavar(each) for each in arguments)
    lines = [f"## mdba {name}", "", _prose(command.help), ""]
    lines += [f"    mdba {name}{' ' if shown else ''}{shown} [OPTIONS]", ""]
    lines += ["| | |", "|---|---|"]
    lines += [_row(f"`{_metavar(each)}`", each) for each in arguments]
    for each in options:
        typed = ", ".join(each.opts)
        value = f" {_metavar(each)}" if _metavar(each) else ""
        lines.append(_row(f"`{typed}{value}`", each))
    lines += ["", "```text", *command.epilog.splitlines()[1:], "```", ""]
    return "\n".join(line.removeprefix("  ") for line in lines)


def _metavar(parameter: object) -> str:
    return str(parameter.metavar or "")


def _row(name: str, parameter: object) -> str:
    explained = " ".join(str(parameter.help or "").split())
    default = getattr(parameter, "default", None)
    required = " Required." if parameter.required else ""
    said = "efault" in explained or required or default in (None, False, ())
    shown = "" if said or callable(default) else f" Default: {default}."
    return f"| {name.replace('|', chr(92) + '|')} | {_cell(explained)}{shown}{required} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _prose(text: str | None) -> str:
    """Return the text of a docstring as paragraphs."""
    paragraphs = (text or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
