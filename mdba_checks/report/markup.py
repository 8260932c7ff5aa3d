"""Templates: what comes from the data is text, and only what this package builds is markup.

Names of labelers, groups and columns can hold anything. Jinja escapes every value that a template
shows, and characters that cannot be seen are written as escapes; only `Markup`, which nothing but
templates and files of this package produce, stays as it is.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from mdba_checks.errors import visible
from mdba_checks.report import formatting

if TYPE_CHECKING:
    from jinja2 import Environment

Html = Markup

_FILTERS = ("interval", "minus", "percent", "p_value", "sentence", "short", "signed")


def fill(template: str, /, **values: Any) -> Html:
    """Return a template of this package with its values filled in.

    Examples
    --------
    >>> print(fill("list.html", lines=["a < b"]))
    <ul><li>A &lt; b.</li></ul>
    """
    return Markup(_environment().get_template(template).render(values))  # noqa: S704  # nosec B704: escaped there


def asset(name: str) -> Html:
    """Return a file of this package, such as the style of pages, as it is."""
    text = files("mdba_checks.report").joinpath(name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704  # nosec B704: a file of this package


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mdba_checks.report"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(formatting, name) for name in _FILTERS}
    return environment


def _shown(value: object) -> object:
    return value if isinstance(value, Markup) else visible(value, keep_joiners=True)
