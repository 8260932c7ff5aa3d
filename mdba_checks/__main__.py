"""`python -m mdba_checks` is the command `mdba`."""

from mdba_checks.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
