"""What can go wrong in a way that the user can fix: one exception type, one line of text.

Every message names the thing that is wrong, the value found there, and the way out. The adapters
(command line, Great Expectations, Prefect) show the text as it is and never a traceback.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

MOST_SHOWN = 20  # known names in a message; a table may have thousands of columns

# Control, format and surrogate characters; separators, of which only the plain blank is shown.
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
# Joiners are part of how some scripts and emoji are written.
_JOINERS = {"\u200c", "\u200d"}


def visible(text: object, *, keep_joiners: bool = False) -> str:
    r"""Return text in one line, in which characters that cannot be seen are written as escapes.

    Names come from data, and data can hold anything: sequences that repaint a terminal, line breaks
    that forge a line of output, marks that turn the text after them around. Two names that differ
    in nothing one can see would mislead a reader; lone surrogates cannot be written to a file.

    Examples
    --------
    >>> print(visible("a\x1b[31mb\nc"), visible("anna\u202e"))
    a\x1b[31mb\nc anna\u202e
    """
    text = str(text)
    if text.isprintable():
        return text
    kept = {" ", *_JOINERS} if keep_joiners else {" "}
    return "".join(
        each.encode("unicode_escape").decode()
        if unicodedata.category(each) in _INVISIBLE and each not in kept
        else each
        for each in text
    )


class CheckError(Exception):
    r"""Base of every error raised on purpose by mdba-checks; its text is one line.

    Texts quote names of files and columns, which may hold a line break or what steers a terminal.

    Examples
    --------
    >>> str(InputError("no such file: a\nb.csv"))
    'no such file: a\\nb.csv'
    """

    def __init__(self, text: str) -> None:
        super().__init__(visible(text))


class InputError(CheckError):
    """The data or the configuration cannot be used as it is (exit code 2)."""


class MissingExtraError(CheckError):
    """A part was asked for whose optional dependency is not installed (exit code 2)."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'mdba-checks[{extra}]'")
        self.what = what
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        # Exceptions travel between processes; the default reduce would pass the finished message.
        return type(self), (self.what, self.extra)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known name, or the list of known names.

    Examples
    --------
    >>> did_you_mean("lable", ["label", "group"])
    " Did you mean 'label'?"
    >>> did_you_mean("zzz", ["label", "group"])
    ' Known: group, label.'
    """
    known = sorted(map(str, known))
    # Case is the commonest slip, so it must not count as distance.
    by_folded = {each.casefold(): each for each in known}
    folded = name.casefold()
    close = get_close_matches(folded, by_folded, n=3, cutoff=0.6)
    # Swapped letters first: difflib alone finds "lable" nearer to "labeler" than to "label".
    close.sort(key=lambda each: sorted(each) != sorted(folded))
    if close:
        return f" Did you mean {by_folded[close[0]]!r}?"
    if len(known) > MOST_SHOWN:
        return f" Known: {', '.join(known[:MOST_SHOWN])}, …"
    return f" Known: {', '.join(known)}." if known else ""
