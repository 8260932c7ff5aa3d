"""Disks: full, bounded by a quota, or closed to writers."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.reliability.faults.bench import (
    VERDICTS,
    Bench,
    Trial,
    in_a_fork,
    judged,
    mis_stated,
    named,
)
from tests.reliability.privileges import like_anybody


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[bool]:
    """Mount a disk of a size in memory; says whether that was allowed, as it is to root."""
    place.mkdir()
    size = f"size={kilobytes}k"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(place)], capture_output=True, check=False
    )
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", str(place)], check=True)
        place.rmdir()


def disk_full(folder: Path, runs: int) -> Iterator[Trial]:
    """Write to a disk with less room than the files need, from none to nearly enough."""
    bench = Bench(folder / "bench")
    with small_disk(folder / "disk", 20_000) as allowed:
        if not allowed:
            return
        whole = folder / "disk" / "whole"
        whole.mkdir()
        in_a_fork(bench.arguments(whole), bench.folder)
        needed = sum(each.stat().st_blocks for each in whole.rglob("*")) // 2
    for run in range(runs):
        room = max(4, round(needed * run / max(runs - 1, 1)))
        with small_disk(folder / "disk", room):
            out = folder / "disk" / "o"
            try:
                out.mkdir()
            except OSError:  # not even room for a folder
                out = folder / "disk"
            ended = in_a_fork(bench.arguments(out), bench.folder)
            yield judged(bench, ended, out, "No space left on device", again=False)


def file_too_large(folder: Path, runs: int) -> Iterator[Trial]:
    """Bound the size of files (a quota), from nothing to nearly enough."""
    bench = Bench(folder / "bench")
    out = bench.out()
    in_a_fork(bench.arguments(out), bench.folder)
    largest = max(each.stat().st_size for each in out.rglob("*") if each.is_file())
    for run in range(runs):
        out, limit = bench.out(), round(1.02 * largest * (run + 1) / runs)

        def bound(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        ended = in_a_fork(bench.arguments(out), bench.folder, before=bound)
        yield judged(bench, ended, out, "File too large")


def output_full(folder: Path, runs: int) -> Iterator[Trial]:
    """Print to a device that is full: a log file on a full disk."""
    bench = Bench(folder / "bench", estimator="selection_rate", mode="block")
    shown = ([], ["--format", "github"], ["--json", "-"])
    for run in range(runs):
        labels, gold = (str(bench.inputs / f"{name}.csv") for name in ("labels", "gold"))
        asked = ["check", labels, "--gold", gold, "--estimator", "selection_rate", "--jobs", "1"]
        asked += ["--max-gap", str(bench.dice.choice(["0.05", "0.99"])), *shown[run % len(shown)]]

        def full() -> None:
            with Path("/dev/full").open("wb") as device:
                os.dup2(device.fileno(), 1)

        ended = in_a_fork(asked, bench.folder, before=full)
        said = f"exit {ended.code}" if ended.code in VERDICTS else ""
        words = mis_stated(ended, "No space left on device") if not said else ""
        lost = "" if bench.held() == bench.before else "an input is not what it was"
        yield Trial(named(ended.code), lost, said, words)


def read_only(folder: Path, runs: int) -> Iterator[Trial]:
    """Write into folders in which nothing may be written: the outputs', or the history's."""
    bench = Bench(folder / "bench")
    for run in range(runs):
        out = bench.out()
        closed = out if run % 2 else out / "history"
        closed.mkdir(exist_ok=True)
        closed.chmod(0o555)
        with like_anybody():
            ended = in_a_fork(bench.arguments(out), bench.folder)
        closed.chmod(0o755)
        yield judged(bench, ended, out, "Permission denied")
