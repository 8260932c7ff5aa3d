"""Pseudonyms: labelers under names that only the holder of a key can tell.

A pseudonym is a keyed hash of the labeler's name. The same key gives the same pseudonyms in every
run, so histories stay connected; without the key nobody can try out names. Labelers are also put in
the order of their pseudonyms: in alphabetical order, a list of the staff would give them away.
"""

from __future__ import annotations

import hmac
import os
from dataclasses import replace

import numpy as np

from mdba_checks.errors import InputError
from mdba_checks.tables.data import Data

KEY_VARIABLE = "MDBA_PSEUDONYM_KEY"
_LETTERS = 12


def pseudonym(name: str, key: str) -> str:
    """Return the pseudonym of a name: the beginning of its HMAC-SHA256, in hexadecimal.

    Examples
    --------
    >>> pseudonym("Ann", "a secret"), pseudonym("Ann", "another secret")
    ('8f3e38f05645', '3febbb961a51')
    """
    return hmac.digest(_bytes(key), _bytes(name), "sha256").hex()[:_LETTERS]


def read_key() -> str:
    """Return the key from the environment; without one there are no pseudonyms, and no names."""
    key = os.environ.get(KEY_VARIABLE, "")
    if not key.strip():
        raise InputError(
            f"pseudonymize: true needs a secret key in the environment variable {KEY_VARIABLE}; "
            "keep it, because another key gives other pseudonyms"
        )
    return key


def under_pseudonyms(data: Data, key: str) -> tuple[Data, dict[str, str]]:
    """Return the data with pseudonyms for names, and the pseudonym of every name."""
    known = {name: pseudonym(name, key) for name in data.labelers}
    if len(set(known.values())) < len(known):
        raise InputError(f"two labelers get the same pseudonym: choose another {KEY_VARIABLE}")
    order = np.argsort([known[name] for name in data.labelers])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    labeler = place[data.labels.labeler].astype(data.labels.labeler.dtype)
    rows = np.argsort(labeler, kind="stable")  # stable: within a labeler rows stay sorted
    labels = replace(data.labels, labeler=labeler).take(rows)
    names = tuple(sorted(known.values()))
    return replace(
        data, labels=labels, labelers=names, labeler_mark=data.labeler_mark[order]
    ), known


def _bytes(text: str) -> bytes:
    # Keys and names may hold bytes that are no UTF-8; they must not stop a check.
    return text.encode(errors="surrogateescape")
