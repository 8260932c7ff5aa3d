"""Entries: arrays in a file that is whole and what was written, or counts as absent.

An entry begins with a mark and a checksum of the rest, which is an ``npz`` archive of plain arrays
and one JSON text. Nothing in it can run when it is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mdba_checks.files import write_whole

MAGIC = b"mdba-st1"
_DIGEST = 32
_ABOUT, _PLACE = "about", "place"

Arrays = Mapping[str, np.ndarray[Any, np.dtype[Any]]]


@dataclass(frozen=True)
class Entry:
    """What a file of the store holds: arrays, and plain values about them."""

    about: Mapping[str, Any]
    arrays: Arrays


def write_entry(path: Path, entry: Entry) -> str:
    """Write an entry whole or not at all, over an older one if need be; return its checksum."""
    body = io.BytesIO()
    # The place is written down too: a copy elsewhere would answer another question.
    text = json.dumps({**entry.about, _PLACE: _place(path)})
    about = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez(body, allow_pickle=False, **{_ABOUT: about, **entry.arrays})
    content = body.getvalue()
    write_whole(path, MAGIC + _digest(content) + content, force=True)
    return _digest(content).hex()


def read_entry(path: Path) -> tuple[Entry, str] | None:
    """Return an entry and its checksum; None when it is absent, damaged or not this entry at all.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "entry"
    >>> _ = write_entry(file, Entry({"kind": "example"}, {"x": np.arange(3)}))
    >>> entry, _ = read_entry(file)
    >>> entry.about["kind"], entry.arrays["x"].tolist()
    ('example', [0, 1, 2])
    >>> _ = file.write_bytes(file.read_bytes()[:-1])
    >>> read_entry(file) is None
    True
    """
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + _DIGEST
    digest, content = raw[len(MAGIC) : start], raw[start:]
    if not raw.startswith(MAGIC) or digest != _digest(content):
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(arrays.pop(_ABOUT).tobytes())
        is_here = about[_PLACE] == _place(path)
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        # The checksum is right, so somebody else wrote it, in a form of their own.
        return None
    if not is_here:
        return None
    return Entry(about, arrays), digest.hex()


def _place(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
