"""What can go wrong in a way that the user can fix: one exception type, one line of text.

Every message names the thing that is wrong, the value found there, and the way out. The adapters
(command line, Great Expectations, Prefect) show the text as it is and never a traceback.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from reprlib import Repr
from typing import Any

from pydantic import BaseModel, ValidationError

MOST_LISTED = 6  # names in a sentence
MOST_SHOWN = 20  # known names in a message; a table may have thousands of columns
_SEPARATES = re.compile(r"[,;]|\s(and|or)\s|:\s")

# Control, format and surrogate characters; separators, of which only the plain blank is shown.
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
# Joiners are part of how some scripts and emoji are written.
_JOINERS = {"\u200c", "\u200d"}
# A path made of a URL has one slash only.
_URL = re.compile(r"(\b[A-Za-z][\w+.-]+:/+)([^\s'\"]*)")
_OPTIONS = re.compile("[?&;#]")


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


def hide_secrets(text: str) -> str:
    """Return text in which URLs show neither user nor password nor options.

    Whatever is named in the wrong place ends up in a message: a URL where a file should be, too.

    Examples
    --------
    >>> hide_secrets("no such file: 'mysql://ann:secret@host/jobs?ssl=key::labels'")
    "no such file: 'mysql://***@host/jobs?***::labels'"
    >>> hide_secrets("see tcp://scheduler:8786")
    'see tcp://scheduler:8786'
    """
    return _URL.sub(_without_secrets, text)


def _without_secrets(url: re.Match[str]) -> str:
    scheme, rest = url.groups()
    rest, colons, table = rest.rpartition("::")
    if not colons or set(table) & set("@/"):  # the colons are part of a password
        rest, colons, table = rest + colons + table, "", ""
    before, at, rest = rest.rpartition("@")
    rest, *options = _OPTIONS.split(rest, maxsplit=1)
    host, slash, path = rest.partition("/")
    name, colon, port = host.partition(":")
    if colon and not before and not port.isdigit():  # what follows a colon may be a password
        host, slash, path = f"{name}:***", "", ""
    end = "?***" if options else ""
    return f"{scheme}{'***@' if at else ''}{host}{slash}{path}{end}{colons}{table}"


class CheckError(Exception):
    r"""Base of every error raised on purpose by mdba-checks; its text is one line.

    Texts quote names of files and columns, which may hold a line break, what steers a terminal, or
    the password in a URL.

    Examples
    --------
    >>> str(InputError("no such file: a\nb.csv"))
    'no such file: a\\nb.csv'
    """

    key = "error"  # names the kind of error for programs; texts are for people and may change

    def __init__(self, text: str) -> None:
        super().__init__(hide_secrets(visible(text)))


class InputError(CheckError):
    """The data or the configuration cannot be used as it is (exit code 2)."""

    key = "input"


@dataclass(frozen=True)
class Problem:
    """What is wrong with one setting.

    Attributes
    ----------
    key
        The setting, dotted as in YAML: ``policy.max_gap``.
    kind
        ``value`` (its value cannot be), ``unknown`` (there is no such setting) or ``combination``
        (it does not go together with others).
    text
        The value and what it must be; for other kinds the whole sentence.
    """

    key: str
    kind: str
    text: str

    def sentence(self, name: str) -> str:
        """Return what is wrong, with the setting under the name that the reader knows."""
        return f"{name} is {self.text}" if self.kind == "value" else self.text


class SettingsError(InputError):
    """Settings cannot be used as they are; `problems` says which, so that adapters can rename them.

    Examples
    --------
    >>> error = SettingsError([Problem("policy.max_gap", "value", "2: must be less than 1")])
    >>> str(error), str(error.named({"policy.max_gap": "--max-gap"}.get))
    ("config: 'policy.max_gap' is 2: must be less than 1", '--max-gap is 2: must be less than 1')
    """

    key = "settings"

    def __init__(self, problems: Sequence[Problem], origin: str = "config") -> None:
        self.problems = tuple(problems)
        self.origin = origin
        super().__init__(self._told(lambda _: None, f"{origin}: " if origin else ""))

    def _told(self, name_of: Callable[[str], str | None], begin: str) -> str:
        return begin + "; ".join(
            each.sentence(name_of(each.key) or repr(each.key)) for each in self.problems
        )

    def named(self, name_of: Callable[[str], str | None]) -> InputError:
        """Return the same error in the names of an adapter; None keeps the name in YAML."""
        error = InputError(self._told(name_of, ""))
        error.key = self.key
        return error

    def __reduce__(self) -> tuple[type[SettingsError], tuple[tuple[Problem, ...], str]]:
        return type(self), (self.problems, self.origin)


class NeedsAllRowsError(InputError):
    """Something about labels in parts that only a process with all rows can do."""


class MissingExtraError(CheckError):
    """A part was asked for whose optional dependency is not installed (exit code 2)."""

    key = "missing_extra"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'mdba-checks[{extra}]'")
        self.what = what
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        # Exceptions travel between processes; the default reduce would pass the finished message.
        return type(self), (self.what, self.extra)


# What pydantic finds wrong with a value, by its own key, in the words of this library.
_MUST_BE = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be greater than or equal to {ge}",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be less than or equal to {le}",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "missing": "is missing",
    "model_type": "must hold keys of its own",
    "string_too_short": "must not be empty",
    "string_type": "must be text; quotes make it text",
    "too_short": "must hold at least one value",
    "tuple_type": "must be a list, such as [a, b]",
}


def must_be(detail: Mapping[str, Any]) -> str:
    """Return what a value must be, from one of the details of pydantic's validation errors.

    Examples
    --------
    >>> must_be({"type": "less_than_equal", "msg": "Input should be …", "ctx": {"le": 1.0}})
    'must be less than or equal to 1'
    """
    numbers = {key: _number(value) for key, value in (detail.get("ctx") or {}).items()}
    known = _MUST_BE.get(detail["type"])
    return known.format_map(numbers) if known else str(detail["msg"])


def _number(value: object) -> object:
    return f"{value:g}" if isinstance(value, float) else value


def quoted(name: object) -> str:
    """Return a name; in quotes where it could be taken for several names or for part of a sentence.

    Examples
    --------
    >>> quoted("Ada"), quoted("Lovelace, Ada"), quoted("black and white")
    ('Ada', '"Lovelace, Ada"', '"black and white"')
    """
    text = str(name)
    plain = text and text == text.strip() and not _SEPARATES.search(text)
    return text if plain else f'"{text}"'


def listed(names: Iterable[object], most: int = MOST_LISTED) -> str:
    """Return names in a row, the first few of them; a name with a comma is in quotes.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], most=2), listed(["Lovelace, Ada", "Bo"])
    ('a, b and 2 more', '"Lovelace, Ada", Bo')
    """
    return joined(map(quoted, names), most)


def joined(parts: Iterable[str], most: int = MOST_LISTED) -> str:
    """Return parts of a sentence in a row, the first few of them; as `listed`, without quotes.

    Examples
    --------
    >>> joined([f"{quoted('Lovelace, Ada')} 80%", "Bo 40%"])
    '"Lovelace, Ada" 80%, Bo 40%'
    """
    known = list(parts)
    rest = len(known) - most
    return ", ".join(known[:most]) + (f" and {rest:,} more" if rest > 0 else "")


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
        return f" Known: {', '.join(map(quoted, known[:MOST_SHOWN]))}, …"
    return f" Known: {', '.join(map(quoted, known))}." if known else ""


# Errors of our own that name their settings themselves.
_COMBINATIONS = {"two_roles", "no_engine", "attributes"}

# A value is shown shortened: an aliased YAML value can be larger than memory when written out.
_shown = Repr()
_shown.maxstring = _shown.maxother = 80
_shown.maxlevel, _shown.maxlist, _shown.maxdict = 2, 4, 4


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Return what pydantic finds wrong with settings, in the words of this library."""
    problems = []
    for detail in error.errors(include_url=False):
        kind, key = detail["type"], ".".join(str(part) for part in detail["loc"])
        if kind == "extra_forbidden":
            text = f"unknown key {_shown.repr(key)}.{_nearest_key(model, detail['loc'])}"
            problems.append(Problem(key, "unknown", text))
        elif kind in _COMBINATIONS:
            problems.append(Problem(key, "combination", detail["msg"]))  # it names its settings
        elif kind == "too_short" and detail["input"]:
            continue  # not empty as it was written: its values were refused, and that is said
        else:
            text = f"{_shown.repr(detail['input'])}: {must_be(detail)}"
            problems.append(Problem(key, "value", text))
    return problems


def keys_of(model: type[BaseModel]) -> Iterator[str]:
    """Yield the keys of a model, dotted as in YAML."""
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from (f"{name}.{inner}" for inner in keys_of(field.annotation))


def _nearest_key(model: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    *sections, name = map(str, loc)
    section = "".join(f"{part}." for part in sections)
    keys = list(keys_of(model))
    # The right name in the wrong place, such as `mode` outside `policy`.
    if misplaced := [key for key in keys if key.rpartition(".")[2] == name]:
        return f" Did you mean {misplaced[0]!r}?"
    inside = [key.removeprefix(section) for key in keys if key.startswith(section)]
    return did_you_mean(name, [key for key in inside if "." not in key])
