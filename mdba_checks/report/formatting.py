"""Numbers, names and lists as people read them: one way to write each, wherever it is shown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from mdba_checks.errors import visible

UNKNOWN = "–"
_NAME_CHARACTERS = 32
_HYPHEN = re.compile(r"(?<![\w.-])-(?=[01]\.\d)")  # before a gap, not inside a name or a date


def signed(value: float | None, digits: int = 2, *, ascii_only: bool = False) -> str:
    """Return a gap as people write it: with its sign, and a real minus unless `ascii_only`.

    Examples
    --------
    >>> signed(-0.418), signed(-0.001), signed(None), signed(-0.4, ascii_only=True)
    ('−0.42', '0.00', '–', '-0.40')
    """
    if value is None or not math.isfinite(value):
        return "?" if ascii_only else UNKNOWN
    text = f"{value:+.{digits}f}"
    if float(text) == 0:
        return text[1:]
    return text if ascii_only else text.replace("-", "−")


def interval(
    low: float | None, high: float | None, digits: int = 2, *, ascii_only: bool = False
) -> str:
    """Return an interval as people write it.

    Examples
    --------
    >>> interval(-0.545, 0.02), interval(None, None)
    ('−0.55 to +0.02', '–')
    """
    ends = [signed(end, digits, ascii_only=ascii_only) for end in (low, high)]
    unknown = signed(None, ascii_only=ascii_only)
    return unknown if unknown in ends else " to ".join(ends)


def percent(share: float | None, *, ascii_only: bool = False) -> str:
    """Return a rate as a percentage; an estimate just below zero is 0%, not -0%.

    Examples
    --------
    >>> percent(0.497), percent(-0.001), percent(math.nan)
    ('50%', '0%', '–')
    """
    if share is None or not math.isfinite(share):
        return signed(None, ascii_only=ascii_only)
    return f"{share:z.0%}"


def p_value(value: float) -> str:
    """Return a p-value with two digits that matter.

    Examples
    --------
    >>> p_value(0.0312), p_value(3e-9)
    ('0.031', 'below 0.0001')
    """
    return "below 0.0001" if value < 0.0001 else f"{value:.2g}"


def count(number: int, what: str) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> count(1, "label"), count(2300, "label")
    ('1 label', '2,300 labels')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def sentence(text: object) -> str:
    """Return text that begins with a capital and ends with a full stop.

    Examples
    --------
    >>> sentence("has no labels for men"), sentence("Well?")
    ('Has no labels for men.', 'Well?')
    """
    known = str(text)
    return known[:1].upper() + known[1:] + ("" if known.endswith((".", "!", "?", ":")) else ".")


def minus(text: str) -> str:
    """Return a sentence in which gaps have a real minus, which no line ends behind.

    Examples
    --------
    >>> minus("Gus of team-0: -0.13 to -0.07")
    'Gus of team-0: −0.13 to −0.07'
    """
    return _HYPHEN.sub("−", text)


def in_a_row(reasons: Iterable[str]) -> str:
    """Return reasons as sentences in one line.

    Examples
    --------
    >>> in_a_row(["1 labeler is biased", "2 are undecided."])
    '1 labeler is biased. 2 are undecided.'
    """
    return " ".join(reason if reason.endswith(".") else f"{reason}." for reason in reasons)


def short(name: object) -> str:
    """Return a name that fits beside a plot; the middle goes, because names differ at the ends.

    Examples
    --------
    >>> short("annotator-of-the-second-team-007")
    'annotator-of-the-second-team-007'
    >>> short("annotator-of-the-second-team-0007")
    'annotator-of-th…second-team-0007'
    """
    known = visible(name, keep_joiners=True)
    if len(known) <= _NAME_CHARACTERS:
        return known
    half = _NAME_CHARACTERS // 2
    return f"{known[: half - 1]}…{known[-half:]}"
