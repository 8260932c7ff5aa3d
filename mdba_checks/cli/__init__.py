"""The command line: `mdba check`, `mdba demo` and `mdba simulate`.

Nothing heavy is imported until a command needs it, so that `mdba --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; see `mdba_checks.cli.app`.

    Examples
    --------
    >>> main(["--version"])
    mdba-checks ...
    0
    """
    try:
        from mdba_checks.cli.app import run
    except ImportError as error:
        # Python itself would leave with 1, which is a verdict here.
        sys.stderr.write(f"mdba: internal error: {error}; install mdba-checks again\n")
        return 70
    return run(sys.argv[1:] if arguments is None else list(arguments))
