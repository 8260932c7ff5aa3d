"""Root without the right to read and write where nobody may."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_OVERRIDE, _READ_SEARCH = 1, 2  # Linux's CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
_VERSION = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextmanager
def like_anybody() -> Iterator[None]:
    """Let the modes of files hold for root too: in this thread, and in those it starts."""
    if sys.platform != "linux" or os.geteuid() != 0:
        yield
        return
    libc, header, sets = ctypes.CDLL(None), _Header(_VERSION, 0), (_Sets * 2)()
    libc.capget(ctypes.byref(header), sets)
    before = sets[0].effective
    sets[0].effective &= ~(1 << _OVERRIDE | 1 << _READ_SEARCH)
    libc.capset(ctypes.byref(header), sets)
    try:
        yield
    finally:
        sets[0].effective = before
        libc.capset(ctypes.byref(header), sets)
