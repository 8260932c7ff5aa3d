"""JSON that means one thing to every reader: plain values in, ASCII text out, and back.

A number that does not exist is null, never NaN. What is read may have been written by a stranger.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

SEAL = "seal"


def to_json(values: Mapping[str, Any]) -> str:
    r"""Return values as JSON text, in ASCII.

    ASCII survives every terminal, pipe and log, and a labeler's name cannot carry a terminal escape
    into it.

    Examples
    --------
    >>> print(to_json({"labeler": "Zoë", "gap": None}), end="")
    {
      "labeler": "Zo\u00eb",
      "gap": null
    }
    """
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def parse_json(text: bytes) -> dict[str, Any]:
    """Return the values that `to_json` wrote; a stranger may have written the text.

    Raises
    ------
    ValueError
        When the text is not one JSON object, or means different things to different readers: it has
        a key twice, or numbers that JSON does not know.

    Examples
    --------
    >>> parse_json(b'{"verdict": "pass"}')
    {'verdict': 'pass'}
    >>> parse_json(b'{"verdict": "pass", "verdict": "block"}')
    Traceback (most recent call last):
    ...
    ValueError: the key 'verdict' is there twice
    """
    try:
        found = json.loads(
            text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_no_number
        )
    except RecursionError:
        msg = "it is nested too deeply"
        raise ValueError(msg) from None
    if not isinstance(found, dict):
        msg = "it is not a JSON object"
        raise ValueError(msg)  # noqa: TRY004  like all other ways in which a text is not a record
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            msg = f"the key {key[:40]!r} is there twice"
            raise ValueError(msg)
        found[key] = value
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits[:40])


def _no_number(name: str) -> NoReturn:
    msg = f"{name} is not a number in JSON"
    raise ValueError(msg)


def to_plain_value(value: Any) -> Any:
    """Return the same value made of dicts, lists, texts and numbers that JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): to_plain_value(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain_value(each) for each in value]
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, datetime):  # those of pandas too, which may be missing
        return value.isoformat() if value == value else None  # noqa: PLR0124
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def seal_of(values: Mapping[str, Any]) -> str:
    """Return a hash of everything but the seal itself, so that a change shows.

    It protects from accidents, not from forgers, who can make a hash as well.
    """
    plain = {key: value for key, value in values.items() if key != SEAL}
    text = json.dumps(plain, sort_keys=True, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
