"""Time that goes back, and memory that runs out."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mdba_checks.outputs import parse_json
from tests.reliability.faults.bench import Bench, Trial, in_a_fork, judged


def clock_back(folder: Path, runs: int) -> Iterator[Trial]:
    """Check after the clock was set back: the history then holds checks of the future."""
    bench = Bench(folder / "bench", estimator="selection_rate")
    for run in range(runs):
        out = bench.out()
        in_a_fork(bench.arguments(out), bench.folder)
        (first,) = (out / "history").iterdir()
        record = parse_json(first.read_bytes())
        record["created"] = f"20{40 + run:02d}" + record["created"][4:]
        record["gaps"][0]["gap"] = 0.123
        first.with_name(f"20{40 + run:02d}" + first.name[4:]).write_text(json.dumps(record))
        first.unlink()
        ended = in_a_fork(bench.arguments(out, "--force"), bench.folder)
        shown = out / "trend.json"
        in_a_fork(["trend", str(out / "history"), "--json", str(shown)], bench.folder)
        rows = [row for row in json.loads(shown.read_text())["trend"] if row["labeler"] == "L1"]
        rows.sort(key=lambda row: row["check"])
        wrong = "" if rows[0]["gap"] == 0.123 else "trend puts the later check first"
        trial = judged(bench, ended, out)
        yield Trial(trial.outcome, trial.lost, trial.let_through, trial.mis_stated or wrong)


def memory(folder: Path, runs: int) -> Iterator[Trial]:
    """Bound the memory, from next to nothing to nearly enough, for a column of many categories."""
    bench = Bench(folder / "bench", estimator="mdba_dr", n_items=30_000)
    names = np.random.default_rng(0).integers(4_000, size=40_000).astype(str)
    for name, table in bench.tables.items():
        table.assign(place=names[: len(table)]).to_csv(bench.inputs / f"{name}.csv", index=False)
    bench.before = bench.held()
    needed = _peak(bench)
    for run in range(runs):
        out, more = bench.out(), round((4 << 20) + 0.6 * needed * (run / max(runs - 1, 1)) ** 2)

        def bound(more: int = more) -> None:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))

        ended = in_a_fork(bench.arguments(out), bench.folder, before=bound)
        # Threads need room for their stacks: the system says no to them first.
        words = ("memory", "thread", "allocate", "malloc")
        yield judged(bench, ended, out, *words, again=run == 0)


def _peak(bench: Bench) -> int:
    """Return how much address space a check adds, by watching one."""
    found = [0, 0]

    def watch(process: int) -> None:
        status = Path(f"/proc/{process}/status")
        while not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            for line in status.read_text().splitlines():
                if line.startswith("VmPeak:"):
                    size = int(line.split()[1]) << 10
                    found[0] = found[0] or size
                    found[1] = max(found[1], size)
            time.sleep(0.01)

    in_a_fork(bench.arguments(bench.out()), bench.folder, meanwhile=watch)
    return found[1] - found[0]
