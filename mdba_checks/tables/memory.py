"""How much memory this process may still take, by the machine and by the limits somebody set."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")


def left() -> int:
    """Return the bytes that are left, as far as that can be told.

    Examples
    --------
    >>> left() > 0
    True
    """
    return max(0, min(_limits()))


def _limits() -> Iterator[int]:
    yield sys.maxsize
    machine = _kilobytes(Path("/proc/meminfo"))
    if "MemAvailable" in machine:
        yield machine["MemAvailable"]
    elif hasattr(os, "sysconf"):  # not on Windows
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:  # a container's limit; "max" and no file mean that there is none
        of_group = int((_GROUP / "memory.max").read_text())
        yield of_group - int((_GROUP / "memory.current").read_text())
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:
        return
    used = _kilobytes(Path("/proc/self/status"))
    for kind, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            yield soft - used.get(name, 0)


def _kilobytes(file: Path) -> dict[str, int]:
    """Return what a file of Linux says in lines such as ``MemFree: 12 kB``, in bytes."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines if line.endswith("kB"))
    return {name.rstrip(":"): int(number) * 1024 for name, number, _ in pairs}
