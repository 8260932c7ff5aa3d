"""Corrections in an mdba.yaml that somebody may have edited: one line each, the rest as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from mdba_checks.config import CheckConfig, StrictLoader
from mdba_checks.errors import InputError

_COMMENT = r"(?P<comment>\s{2,}#.*)?"


def changes_between(before: CheckConfig, after: CheckConfig) -> dict[str, object]:
    """Return the settings that differ, by their dotted keys.

    Examples
    --------
    >>> changes_between(CheckConfig(), CheckConfig(reference="men", policy={"max_gap": 0.2}))
    {'reference': 'men', 'policy.max_gap': 0.2}
    """
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    found: dict[str, object] = {}
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old[key], dict) and key != "reference":
            inner = {
                f"{key}.{name}": each for name, each in value.items() if each != old[key][name]
            }
            found |= inner
        elif value != old[key]:
            found[key] = value
    return found


def corrected(text: str, after: CheckConfig, changes: Mapping[str, object]) -> str:
    """Return the text of an mdba.yaml with some settings changed.

    Raises
    ------
    InputError
        When it cannot be done line by line; the text says what to write.

    Examples
    --------
    >>> print(corrected("seed: 7   # lucky", CheckConfig(seed=8), {"seed": 8}), end="")
    seed: 8   # lucky
    """
    lines = text.splitlines()
    for key, value in changes.items():
        section, _, name = key.rpartition(".")
        _put(lines, section, name, value)
    made = "\n".join(lines) + "\n"
    try:
        told = yaml.load(made, Loader=StrictLoader)  # noqa: S506 (a SafeLoader, made stricter)
        same = CheckConfig.from_mapping(told or {}) == after
    except (yaml.YAMLError, InputError):
        same = False
    if not same:
        wanted = ", ".join(f"{key}: {in_yaml(value)}" for key, value in changes.items())
        raise InputError(f"mdba.yaml is written in a way of its own: set there {wanted}")
    return made


def _put(lines: list[str], section: str, name: str, value: object) -> None:
    begin, end, indent = 0, len(lines), ""
    if section:
        heads = [row for row, line in enumerate(lines) if re.match(rf"{section}:\s*(#.*)?$", line)]
        if not heads:
            lines += [f"{section}:", f"  {name}: {in_yaml(value)}"]
            return
        begin, indent = heads[0] + 1, "  "
        inside = [row for row in range(begin, len(lines)) if re.match(r"[^\s#]", lines[row])]
        end = inside[0] if inside else len(lines)
    pattern = re.compile(rf"(?P<indent>{indent}\s*)(?P<off># )?{re.escape(name)}:\s.*?{_COMMENT}$")
    for hidden in (False, True):  # a line that counts comes before one that is a comment
        for row in range(begin, end):
            found = pattern.match(lines[row])
            if found and bool(found["off"]) == hidden:
                mark = "# " if value is None else ""
                lines[row] = (
                    f"{found['indent']}{mark}{name}: {in_yaml(value)}{found['comment'] or ''}"
                )
                return
    if value is not None:
        lines.insert(begin if section else len(lines), f"{indent}{name}: {in_yaml(value)}")


def in_yaml(value: object) -> str:
    """Return a value in YAML, on one line, so that it is read back as what it was.

    Examples
    --------
    >>> in_yaml("12:30"), in_yaml(["a", "b"]), in_yaml(0.1)
    ('"12:30"', '[a, b]', '0.1')
    """
    if value is None:
        return "…"
    if isinstance(value, (list, tuple, dict)):
        plain = dict(value) if isinstance(value, dict) else list(value)
        text = yaml.safe_dump(plain, default_flow_style=True, allow_unicode=True, width=10**9)
        return str(text).strip()
    plain_text = isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w./-]*", value, re.ASCII)
    style = '"' if isinstance(value, str) and not plain_text else None
    text = str(yaml.safe_dump(value, default_style=style, allow_unicode=True, width=10**9))
    return text.removesuffix("\n").removesuffix("\n...")
