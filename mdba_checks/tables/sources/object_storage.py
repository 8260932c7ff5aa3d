"""Files in object storage (``s3://``, ``gs://`` and others), and ``file://``.

A file is copied to this machine as a whole and read as any other; the copy goes with its last user.
Who may read it is up to the settings of the storage's own library: nothing is asked for here.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mdba_checks.errors import InputError, MissingExtraError, did_you_mean
from mdba_checks.tables.sources.database import first_line, safe_name

_SCHEMES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "hdfs", "memory")


def is_remote(source: object) -> TypeGuard[str]:
    """Return whether a source is a file in object storage.

    Examples
    --------
    >>> is_remote("s3://bucket/labels.parquet"), is_remote("sqlite:///jobs.db::labels")
    (True, False)
    """
    return isinstance(source, str) and source.partition("://")[0].lower() in _SCHEMES


def without_file_scheme(source: Any) -> Any:
    """Return ``file:///a/b.csv`` as the path it stands for, and everything else as it is.

    Examples
    --------
    >>> str(without_file_scheme("file:///data/my%20labels.csv"))
    '/data/my labels.csv'
    """
    if not isinstance(source, str) or not source.lower().startswith("file://"):
        return source
    parts = urlsplit(source)
    if parts.netloc not in ("", "localhost"):
        raise InputError(
            f"cannot read {source}: file:// is followed by a host, {parts.netloc!r}; a path on "
            "this machine begins with file:///"
        )
    return Path(url2pathname(parts.path))


class TemporaryFolder:
    """A folder that is there for as long as somebody holds this."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="mdba-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class LocalCopy(TemporaryFolder):
    """A copy of a remote file or folder; `path` is there for as long as somebody holds this."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.path = _fetch(url, self.path)


@contextmanager
def local_copy(source: Any) -> Iterator[Any]:
    """Yield the path of a copy for what is in object storage, and everything else as it is."""
    if not is_remote(source):
        yield without_file_scheme(source)
        return
    copy = LocalCopy(source)
    try:
        yield copy.path
    except InputError as error:  # people know where the file is, not where its copy was
        raise InputError(str(error).replace(str(copy.path), safe_name(source))) from None


def _fetch(url: str, folder: Path) -> Path:
    scheme = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError:
        raise MissingExtraError(f"reading from {scheme}://", "cloud") from None
    try:
        storage, found = url_to_fs(url)
        storage.invalidate_cache()  # what was there a minute ago may be replaced
        place = str(found).rstrip("/")
        target = folder / place.rpartition("/")[2]
        if not storage.exists(place):
            nearby = _names_beside(storage, place)
            raise InputError(f"no such file: {safe_name(url)}.{did_you_mean(target.name, nearby)}")
        if storage.isdir(place):
            storage.get(f"{place}/", f"{target}/", recursive=True)
        else:
            storage.get_file(place, str(target))
    except InputError:
        raise
    except ImportError:
        raise MissingExtraError(f"reading from {scheme}://", "cloud") from None
    except Exception as error:  # noqa: BLE001  every storage raises errors of its own
        text = first_line(error).replace(url, safe_name(url))
        raise InputError(f"cannot read {safe_name(url)}: {text}") from None
    return target


def _names_beside(storage: Any, place: str) -> list[str]:
    try:
        return [each.rpartition("/")[2] for each in storage.ls(place.rpartition("/")[0], False)]  # noqa: FBT003
    except Exception:  # noqa: BLE001  only a hint: without it the message is still right
        return []
