"""Markup: what comes from the data is text, and only what this package builds is markup.

Names of labelers, groups and columns can hold anything. `tag` escapes every text it is given and
leaves only `Html` as it is, which nothing but `tag` and the files of this package produce. So there
is no place where escaping can be forgotten.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape

from mdba_checks.errors import visible

_VOID = {"meta", "input", "br", "circle", "line", "path", "rect"}


Html = Markup


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element; texts are escaped, attributes that are None or False are left out.

    In attribute names a trailing underscore is dropped and other underscores become hyphens.

    Examples
    --------
    >>> print(tag("td", "<b>", tag("b", 1), class_="gap", data_v=0.5, hidden=True))
    <td class="gap" data-v="0.5" hidden>&lt;b&gt;<b>1</b></td>
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        known = key.rstrip("_").replace("_", "-")
        parts.append(f" {known}" if value is True else f' {known}="{text(value)}"')
    parts.append(">")
    if name not in _VOID:
        parts.extend(map(text, children))
        parts.append(f"</{name}>")
    elif name in {"circle", "line", "path", "rect"}:
        parts[-1] = "/>"
    return Html("".join(parts))


def text(value: object) -> Html:
    """Return anything as markup that shows it as it is."""
    return value if isinstance(value, Html) else escape(visible(value, keep_joiners=True))


def join(parts: Any, between: str = "") -> Html:
    """Return several pieces of markup or text as one; `between` is text."""
    return Html(text(between).join(map(text, parts)))
