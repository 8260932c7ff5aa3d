"""Files in object storage: each is there whole or not at all, and data sets keep their sidecar.

What is written goes to a temporary file on this machine and is uploaded in one step, which the
storage shows to nobody before it is complete. A release is copied here together with its sidecar
before it is compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

from mdba_checks.errors import InputError, MissingExtraError, hide_secrets
from mdba_checks.tables import first_line, is_remote, local_copy, without_file_scheme

_WITH_BUCKETS = ("s3", "s3a", "gs", "gcs")


@overload
def beside(path: Path, name: str) -> Path: ...
@overload
def beside(path: str | Path, name: str) -> str | Path: ...
def beside(path: str | Path, name: str) -> str | Path:
    """Return the address of another file in the same folder.

    Examples
    --------
    >>> beside("s3://bucket/out/labels.csv", "labels.removed.csv")
    's3://bucket/out/labels.removed.csv'
    """
    if is_remote(path):
        return f"{path.rpartition('/')[0]}/{name}"
    return Path(without_file_scheme(path)).with_name(name)


def is_there(path: str | Path) -> bool:
    """Return whether there is a file, here or in object storage."""
    if not is_remote(path):
        return Path(without_file_scheme(path)).is_file()
    storage, place = _open(path)
    try:
        return bool(storage.exists(place))
    except Exception as error:  # noqa: BLE001  every storage raises errors of its own
        raise InputError(f"cannot read {hide_secrets(path)}: {first_line(error)}") from None


def address(path: str | Path) -> str:
    """Return what finds a file from everywhere: its absolute path, or its URL."""
    return path if is_remote(path) else str(Path(without_file_scheme(path)).resolve())


def remove(path: str | Path) -> None:
    """Remove a file, here or in object storage, if it is there."""
    if not is_remote(path):
        Path(without_file_scheme(path)).unlink(missing_ok=True)
    elif is_there(path):
        storage, place = _open(path)
        try:
            storage.rm_file(place)
        except Exception as error:  # noqa: BLE001  every storage raises errors of its own
            raise InputError(f"cannot remove {hide_secrets(path)}: {first_line(error)}") from None


def check_upload(url: str, *, force: bool) -> None:
    """Refuse an address that cannot be written to; for asking before a long computation."""
    storage, place = _open(url)
    try:
        there = storage.exists(place)
        lost = not there and _has_no_bucket(storage, url, place)
    except Exception as error:  # noqa: BLE001  every storage raises errors of its own
        raise InputError(f"cannot write {hide_secrets(url)}: {first_line(error)}") from None
    if lost:
        bucket = place.partition("/")[0]
        raise InputError(f"cannot write {hide_secrets(url)}: there is no bucket {bucket!r}")
    if there and not force:
        raise InputError(
            f"cannot write {hide_secrets(url)}: it exists; choose another name or use --force"
        )


@contextmanager
def uploading(url: str, *, force: bool) -> Iterator[Path]:
    """Yield a temporary path to write to; it is uploaded when the block ends without an error."""
    check_upload(url, force=force)
    with tempfile.TemporaryDirectory(prefix="mdba-") as folder:
        temporary = Path(folder) / "upload"
        yield temporary
        check_upload(url, force=force)  # somebody may have been faster
        storage, place = _open(url)
        try:
            storage.put_file(str(temporary), place)
        except Exception as error:  # noqa: BLE001  every storage raises errors of its own
            raise InputError(f"cannot write {hide_secrets(url)}: {first_line(error)}") from None


@contextmanager
def copied_with(path: str | Path, suffix: str) -> Iterator[Path]:
    """Yield where a file can be read on this machine, with the one beside it, if there is one.

    Parameters
    ----------
    path
        A file, here or in object storage.
    suffix
        What the name of the other one has behind that of the file.
    """
    with local_copy(path) as here:
        copy = Path(here)
        if is_remote(path) and is_there(f"{path}{suffix}"):
            storage, place = _open(f"{path}{suffix}")
            try:
                storage.get_file(place, str(copy.with_name(copy.name + suffix)))
            except Exception as error:  # noqa: BLE001  every storage raises errors of its own
                raise InputError(
                    f"cannot read {hide_secrets(path)}{suffix}: {first_line(error)}"
                ) from None
        yield copy


def _has_no_bucket(storage: Any, url: str, place: str) -> bool:
    """Return whether the bucket is known not to be there; who may not ask is not told."""
    if url.partition("://")[0].lower() not in _WITH_BUCKETS:
        return False
    try:
        storage.info(place.partition("/")[0])
    except FileNotFoundError:
        return True
    except Exception:  # noqa: BLE001  whether it can be written shows in the end
        return False
    return False


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
