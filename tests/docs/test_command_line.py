"""docs/command-line.md holds every command and option.

`python tests/docs/test_command_line.py` writes it again from the help of the commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mdba_checks.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
HEAD = """\
# The command line

Every command and every option, as `mdba COMMAND --help` tells them. This page is written by
`python tests/docs/test_command_line.py`; a test fails when it is out of date.
"""


def commands() -> dict[str, Any]:
    return dict(sorted(typer.main.get_command(app).commands.items()))


def page() -> str:
    return "\n".join([HEAD, *(section(*each) for each in commands().items())])


def section(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    usage = " ".join(["mdba", name, *(each.metavar for each in arguments), "[OPTIONS]"])
    paragraphs = [" ".join(each.split()) for each in command.help.split("\n\n")]
    examples = [line.removeprefix("  ") for line in command.epilog.splitlines()[1:]]
    rows = [row(each.metavar, each) for each in arguments]
    rows += [row(" ".join([", ".join(each.opts), each.metavar or ""]), each) for each in options]
    head = [f"## mdba {name}", "", "\n\n".join(paragraphs), "", f"    {usage}", ""]
    return "\n".join([*head, "| | |", "|---|---|", *rows, "", "```text", *examples, "```", ""])


def row(name: str, parameter: Any) -> str:
    explained = " ".join((parameter.help or "").split())
    default = parameter.default
    if parameter.required:
        explained += " Required."
    elif not (default is None or default is False or callable(default) or "efault" in explained):
        explained += f" Default: {default}."
    name, explained = (each.replace("|", "\\|") for each in (name.strip(), explained))
    return f"| `{name}` | {explained} |"


def test_the_page_is_what_the_commands_say_today():
    assert PAGE.read_text(encoding="utf-8") == page(), f"run: python {Path(__file__).name}"


def test_every_option_is_explained_and_every_command_has_examples():
    for name, command in commands().items():
        assert command.help, name
        assert command.epilog.startswith("Examples:\n  mdba "), name
        for parameter in command.params:
            assert parameter.help or parameter.name == "help", (name, parameter.name)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
