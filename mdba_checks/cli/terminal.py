"""Terminals: what they can show, and what must never reach them.

Names of labelers and groups come from the data, and data can hold anything: escape sequences that
repaint the screen, line breaks that forge a line of output, marks that turn text around. Whatever
comes from outside passes through `Screen.clean` before it is shown. And not every stream can show
every character: logs and old terminals get plain ASCII instead of a crash.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from mdba_checks.errors import visible

_PLAIN = {"±": "+/-", "…": "...", "–": "-", "—": "-", "−": "-", "×": "x", "·": "-", "’": "'"}


class _Console(Console):
    """A console whose reader may leave: the rest is not shown, and the verdict still counts."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        forget_stdout()


@dataclass(frozen=True)
class Screen:
    """A stream that people read.

    Attributes
    ----------
    console
        Where to print; without markup, so brackets in names mean nothing.
    draws
        Whether lines and dots can be drawn, or ASCII must do.
    """

    console: Console
    draws: bool

    @property
    def width(self) -> int:
        """Columns that a line may have."""
        return self.console.width

    def write(self, text: object = "", *, style: str = "", bullet: str = "") -> None:
        """Print a paragraph of plain text, cleaned and wrapped, with no blanks at line ends."""
        room = max(self.width - cell_len(bullet), 1)
        first = bullet
        for line in Text(self.clean(text)).wrap(self.console, room, overflow="fold"):
            shown = Text(first) + line
            shown.rstrip()
            self.console.print(shown, style=style)
            first = " " * len(bullet)

    def clean(self, text: object) -> str:
        """Return text from the data in one line, made harmless, in characters the stream has."""
        text = visible(text)
        encoding = self.console.encoding
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = "".join(_PLAIN.get(character, character) for character in text)
            return text.encode(encoding, "backslashreplace").decode(encoding)
        return text


def screen(stream: TextIO | None = None) -> Screen:
    """Return a screen on a stream, stdout unless told."""
    console = _Console(
        file=stream or sys.stdout,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    return Screen(console, draws=console.encoding.startswith("utf") and not dumb)


def shorten(text: str, width: int, *, dots: str = "…") -> str:
    """Return text of at most `width` columns; the middle goes, because names differ at the ends.

    Examples
    --------
    >>> shorten("annotator-team-a-007", 11)
    'annot…a-007'
    """
    if cell_len(text) <= width:
        return text
    room = max(width - cell_len(dots), 0)
    head = _fitting(text, room // 2)
    tail = _fitting(text[::-1], room - cell_len(head))[::-1]
    return (head + dots + tail) if width >= cell_len(dots) else _fitting(text, width)


def _fitting(text: str, width: int) -> str:
    """Return the longest beginning that is not wider; some characters take two columns."""
    used = 0
    for place, character in enumerate(text):
        used += cell_len(character)
        if used > width:
            return text[:place]
    return text


def write_stdout(text: str) -> None:
    """Write text for another program to stdout, whole."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()


def forget_stdout() -> None:
    """Send the rest of stdout nowhere: its reader is gone, and Python would complain at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
