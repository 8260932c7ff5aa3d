"""Signs of life while models are fitted: a bar for people, few plain lines for a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mdba_checks.cli.terminal import screen
from mdba_checks.errors import visible

Report = Callable[[str, int, int], None]  # stage, done, total

_STAGES = {
    "reading": "reading the tables",
    "pooled models": "fitting the pooled models",
    "labelers": "fitting labelers",
    "crowd": "learning how the crowd decides",
}
# A log that gets a line for every quick stage is a log that nobody reads.
_WORTH_A_LINE = 2.0


@contextmanager
def progress(*, quiet: bool) -> Iterator[Report]:
    """Yield what `assess` can report to; everything goes to stderr, nothing when `quiet`."""
    if quiet:
        yield _to_nobody
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _Log()


def _to_nobody(stage: str, done: int, total: int) -> None:
    """Report to nobody."""


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    surface = screen(sys.stderr)
    columns = (
        SpinnerColumn("dots" if surface.draws else "line"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=surface.console, transient=True) as bars:
        task = bars.add_task("starting", total=None)

        def report(stage: str, done: int, total: int) -> None:
            name = _STAGES.get(stage, visible(stage))
            counted = f"{name}: {done:,} of {total:,}" if total > 1 else name
            # One step cannot be half done: its bar only says that something goes on.
            bars.update(
                task,
                description=counted,
                total=float(total) if total > 1 else None,
                completed=float(done),
            )

        yield report


class _Log:
    """One line per stage that took long, when it is done."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        began = self._began.setdefault(stage, now)
        if done >= total and now - began > _WORTH_A_LINE:
            name = _STAGES.get(stage, visible(stage))
            counted = f" ({total:,})" if total > 1 else ""
            sys.stderr.write(f"mdba: {name}{counted}: {now - began:.0f} s\n")
            sys.stderr.flush()
