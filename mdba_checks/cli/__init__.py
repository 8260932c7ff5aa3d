"""The command line: `mdba check` and the commands around it.

Nothing heavy is imported until a command needs it, so that `mdba --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]

# Every fit uses one thread, and threads of ours share the work. Those that these libraries would
# start only wait, and where memory is short the libraries end the process, with 1, a verdict.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; see `mdba_checks.cli.app`.

    Examples
    --------
    >>> main(["--version"])
    mdba-checks ...
    0
    """
    if "numpy" not in sys.modules:  # they look at it once, when they are imported
        for name in _ONE_THREAD:
            os.environ.setdefault(name, "1")
    # Python itself leaves with 1 when an error gets out, and that is a verdict here.
    try:
        from mdba_checks.cli.app import run
    except ImportError as error:
        sys.stderr.write(f"mdba: internal error: {error}; install mdba-checks again\n")
        return 70
    except KeyboardInterrupt:
        return 130
    try:
        return run(sys.argv[1:] if arguments is None else list(arguments))
    except Exception:  # noqa: BLE001  even telling of an error can fail, when memory is short
        sys.stderr.write("mdba: internal error while another one was told of\n")
        return 70
