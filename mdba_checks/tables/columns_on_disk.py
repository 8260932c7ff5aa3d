"""Columns too large for memory: in files without a name, which go when the last user goes."""

from __future__ import annotations

import tempfile

import numpy as np

from mdba_checks.errors import InputError
from mdba_checks.tables.matrix import Column


def on_disk(column: Column) -> Column:
    """Return the same column, read from disk as it is needed.

    Examples
    --------
    >>> on_disk(np.arange(3))[1:].tolist()
    [1, 2]
    """
    # Not a context: the mapping keeps the file, and the file has no name to be found by.
    file = tempfile.TemporaryFile(prefix="mdba-")  # noqa: SIM115
    try:
        # Written first, mapped then: a full disk is an error here and the end of the process there.
        file.write(np.ascontiguousarray(column).data)
        file.flush()
        return np.memmap(file, dtype=column.dtype, mode="r", shape=column.shape)
    except OSError as error:
        raise InputError(
            f"no room for columns that do not fit into memory in {tempfile.gettempdir()}: "
            f"{error.strerror or error}; point TMPDIR to a folder with more room"
        ) from None
    finally:
        file.close()
