"""Folders that appear whole or not at all: a staging folder is filled, then gets its name.

Workers of a cluster write files into the staging folder, which lies beside the target on a file
system that all of them see. A folder without a name of its own is removed by the next run for the
same target, once nobody holds its lock any more.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mdba_checks.errors import InputError
from mdba_checks.outputs.files import check_target, flush_folder
from mdba_checks.tables import without_file_scheme

_STAGED = re.compile(r"\.mdba-parts-\d+-[0-9a-f]{8}")


def check_folder(
    path: str | Path, *, force: bool = False, inputs: Sequence[str | Path] = ()
) -> Path:
    """Return where a folder of parts would be written, or refuse.

    Raises
    ------
    InputError
        As `check_target` does; a folder that holds anything but parts is never replaced.

    Examples
    --------
    >>> check_folder("no/such/folder/out.parquet")
    Traceback (most recent call last):
    ...
    mdba_checks.errors.InputError: cannot write no/such/folder/out.parquet: there is no folder ...
    """
    target = Path(without_file_scheme(path))
    if not target.is_dir():
        return check_target(path, force=force, inputs=inputs)
    check_target(target / "part", inputs=inputs)  # is it in an input, or one?
    if not force:
        raise InputError(f"cannot write {path}: it exists; choose another name or use --force")
    for each in target.iterdir():
        if each.suffix != ".parquet":
            raise InputError(f"cannot replace {path}: it holds {each.name}, which is not a part")
    return target.resolve()


@contextmanager
def whole_folder(
    path: str | Path, *, force: bool = False, inputs: Sequence[str | Path] = ()
) -> Iterator[Path]:
    """Yield a folder to write parts to; it becomes `path` when the block ends without an error.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> with whole_folder(place / "out.parquet") as staging:
    ...     _ = (staging / "part-00000.parquet").write_text("done")
    >>> [each.name for each in place.iterdir()]
    ['out.parquet']
    """
    target = check_folder(path, force=force, inputs=inputs)
    _remove_abandoned(target)
    token = f"{os.getpid()}-{secrets.token_hex(4)}"
    staging = target.with_name(f".{target.name[:50]}.mdba-parts-{token}")
    held: int | None = None
    try:
        staging.mkdir()
        held = _lock(staging)
        yield staging
        flush_folder(staging)
        check_folder(path, force=force, inputs=inputs)  # somebody may have been faster
        old = None
        if target.exists():
            old = target.with_name(f"{staging.name}.old")
            target.rename(old)
        staging.rename(target)
        flush_folder(target.parent)
        if old is not None:
            _remove(old)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        _remove(staging)
        if held is not None:
            os.close(held)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _remove_abandoned(target: Path) -> None:
    begin = f".{target.name[:50]}"
    for path in target.parent.iterdir():
        if path.name.startswith(begin) and _STAGED.match(path.name[len(begin) :]):
            with suppress(OSError):
                lock = _lock(path)
                if lock is not None:
                    _remove(path)
                    os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder; None when another holds it or folders cannot be locked here."""
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
