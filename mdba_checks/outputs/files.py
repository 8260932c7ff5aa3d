"""Files that appear whole or not at all, and never in the place of something else.

What is written goes to a temporary file in the target's folder, is flushed to the disk, and gets
its name in one step. Whoever reads the target finds the old content, the new content or no file,
however the writer ended. A temporary file is locked while its writer lives; the next run for the
same target removes those that nobody holds any more.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mdba_checks.errors import InputError, hide_secrets
from mdba_checks.outputs.object_storage import check_upload, uploading
from mdba_checks.tables import is_remote, without_file_scheme

_WINDOWS = os.name == "nt"


def check_target(
    path: str | Path, *, force: bool = False, inputs: Iterable[str | Path] = ()
) -> Path:
    """Return where a file would be written, or refuse; for asking before a long computation.

    Raises
    ------
    InputError
        When the target is an input or lies in an input folder, exists and `force` is not given, is
        no ordinary file, or has no folder to be in.

    Examples
    --------
    >>> check_target("no/such/folder/out.json")
    Traceback (most recent call last):
    ...
    mdba_checks.errors.InputError: cannot write no/such/folder/out.json: there is no folder ...
    """
    if is_remote(path):
        if Path(path) in map(Path, inputs):
            raise InputError(
                f"cannot write {hide_secrets(path)}: it is an input; choose another name"
            )
        check_upload(path, force=force)
        return Path(path)
    target = _place(path)  # a link stays a link: what it points to is replaced
    if target is None:
        raise InputError(f"cannot write {path}: no file can be called so; choose another name")
    for each in inputs:
        source = _place(each)
        if source is None:
            continue  # nothing can be read there either, and whoever reads it says so
        if target == source or (_exists(target) and _same(target, source)):
            raise InputError(f"cannot write {path}: it is an input; choose another name")
        if source.is_dir() and target.is_relative_to(source):
            raise InputError(f"cannot write {path}: the folder {each} is an input")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {target.parent}; make it first")
    if _exists(target) and not target.is_file():
        raise InputError(f"cannot write {path}: it is not an ordinary file")
    if _exists(target) and not force:
        raise InputError(f"cannot write {path}: it exists; choose another name or use --force")
    return target


@contextmanager
def whole_file(
    path: str | Path, *, force: bool = False, inputs: Iterable[str | Path] = ()
) -> Iterator[Path]:
    """Yield a temporary path to write to; it becomes `path` when the block ends without an error.

    `path` may be in object storage (``s3://…``), too.

    Raises
    ------
    InputError
        As `check_target` does, and when writing fails, be it in the block or afterwards.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "out.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [each.name for each in folder.iterdir()]
    ['out.txt']
    """
    target = check_target(path, force=force, inputs=inputs)
    if is_remote(path):
        with uploading(path, force=force) as temporary:
            yield temporary
        return
    try:
        _remove_abandoned(target)
        temporary, held = _create(target)
        try:
            yield temporary
            os.fsync(held.fileno())
            if _WINDOWS:  # an open file cannot be renamed there
                held.close()
            _give_name(temporary, target, force=force)
        finally:
            temporary.unlink(missing_ok=True)
            held.close()
        flush_folder(target.parent)
    except FileExistsError:
        raise InputError(
            f"cannot write {path}: somebody else just wrote it; choose another name or use --force"
        ) from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def write_whole(
    path: str | Path,
    content: str | bytes,
    *,
    force: bool = False,
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write a file so that it is there whole or not at all; text is UTF-8.

    Parameters
    ----------
    path
        Where to; its folder must exist.
    content
        What to write.
    force
        Whether an existing file may be replaced.
    inputs
        Files and folders that must not be written to, not even with `force`.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out.txt"
    >>> write_whole(target, "done")
    >>> target.read_text()
    'done'
    """
    known = content.encode() if isinstance(content, str) else content
    with whole_file(path, force=force, inputs=inputs) as temporary:
        temporary.write_bytes(known)


def _place(path: str | Path) -> Path | None:
    """Return where a name leads; None for names that lead nowhere on any system."""
    try:
        place = Path(without_file_scheme(path)).resolve()
        place.is_dir()  # not every impossible name is noticed before the system is asked
    except (OSError, RuntimeError, ValueError):  # links in a circle, a NUL byte, too many letters
        return None
    return place


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _same(one: Path, other: Path) -> bool:
    """Return whether two names lead to one file, be it through a link."""
    with suppress(OSError):
        return one.samefile(other)
    return False


def _prefix(target: Path) -> str:
    # Cut, because a name as long as the system allows leaves no room. Two targets that begin alike
    # then share a prefix, which the locks make harmless.
    return f".{target.name[:50]}.mdba-tmp-"


def _create(target: Path) -> tuple[Path, BinaryIO]:
    """Make a temporary file and hold its lock."""
    while True:
        temporary = target.with_name(f"{_prefix(target)}{os.getpid()}-{secrets.token_hex(4)}")
        # Not tempfile's: it gives files that nobody else may read, whatever the umask says.
        held = temporary.open("xb")
        _lock(held)
        # Between creation and lock another run may have taken it for an abandoned one.
        if temporary.exists():
            return temporary, held
        held.close()


def _give_name(temporary: Path, target: Path, *, force: bool) -> None:
    if force:
        if target.exists():
            # Nobody may read what they could read neither in the old file nor in the new one.
            allowed = target.stat().st_mode & temporary.stat().st_mode
            temporary.chmod(stat.S_IMODE(allowed))
        temporary.replace(target)
        return
    try:
        # Unlike a rename, a link fails when somebody has made the target in the meantime.
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        temporary.replace(target)


def _remove_abandoned(target: Path) -> None:
    pattern = re.compile(re.escape(_prefix(target)) + r"\d+-[0-9a-f]{8}")
    for path in target.parent.iterdir():
        if pattern.fullmatch(path.name):
            with suppress(OSError):  # somebody else may be faster
                if _WINDOWS:  # a file that is in use cannot be removed there
                    path.unlink()
                    continue
                with path.open("rb") as found:
                    if _lock(found):
                        path.unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock an open file; False when another holds it or files cannot be locked here.

    The system releases the lock when its holder ends, however that happens. The process number in
    the name would not do: processes in two containers may share a folder but not their numbers.
    """
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def flush_folder(folder: Path) -> None:
    """Make a new name last; not every system can do it, and the file is whole without it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_folder(folder: str | Path, what: str) -> Path:
    """Make a folder unless it is there, and return it.

    Parameters
    ----------
    folder
        Where it is. A URL is refused: it would become folders that are named by its password.
    what
        What cannot be done without it, for the message.
    """
    if re.match(r"[\w+]{2,}:/", str(folder)):
        raise InputError(f"cannot {what} {folder}: it is a URL; name a folder")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot {what} {folder}: {reason}; name a folder") from None
    return Path(folder)
