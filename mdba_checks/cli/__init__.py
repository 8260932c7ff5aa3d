"""The command line: `mdba check`, `mdba demo` and `mdba simulate`.

Nothing heavy is imported until a command needs it, so that `mdba --help` answers at once.
"""

from mdba_checks.cli.app import main

__all__ = ["main"]
