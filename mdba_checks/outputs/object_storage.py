"""Reports and records in object storage: one upload each, which is there whole or not at all.

Data sets go to files only: a sidecar has to be there before they are, and two uploads cannot
promise that.
"""

from __future__ import annotations

from typing import Any

from mdba_checks.errors import InputError, MissingExtraError, hide_secrets
from mdba_checks.tables import first_line


def check_upload(url: str, *, force: bool) -> None:
    """Refuse an address that cannot be written to; for asking before a long computation."""
    storage, place = _open(url)
    try:
        there = storage.exists(place)
    except Exception as error:  # noqa: BLE001  every storage raises errors of its own
        raise InputError(f"cannot write {hide_secrets(url)}: {first_line(error)}") from None
    if there and not force:
        raise InputError(
            f"cannot write {hide_secrets(url)}: it exists; choose another name or use --force"
        )


def upload(url: str, content: bytes, *, force: bool) -> None:
    """Write a file to object storage."""
    check_upload(url, force=force)
    storage, place = _open(url)
    try:
        storage.pipe_file(place, content)
    except Exception as error:  # noqa: BLE001  every storage raises errors of its own
        raise InputError(f"cannot write {hide_secrets(url)}: {first_line(error)}") from None


def _open(url: str) -> tuple[Any, str]:
    scheme = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        storage, place = url_to_fs(url)
    except ImportError:
        raise MissingExtraError(f"writing to {scheme}://", "cloud") from None
    except Exception as error:  # noqa: BLE001  every storage raises errors of its own
        raise InputError(f"cannot write {hide_secrets(url)}: {first_line(error)}") from None
    storage.invalidate_cache()
    return storage, str(place)
