"""Faults: what the system does to a check, and what the check does then.

    python -m tests.reliability.faults                    # all of them, often: `make faults`
    python -m tests.reliability.faults --runs 3 --only killed "disk full"
    python -m tests.reliability.faults --few --json       # what test_faults.py looks at

Every fault is made for real: signals, a disk that is full, locks, files that change while they are
read, limits on memory. After each run three questions are asked. Was something **lost**: an input
that is not what it was, half a file under a promised name, a second run that does not work? Was
something **let through**: a verdict that the undisturbed check does not give? And was something
**mis-stated**: an end in several lines, or in words that do not tell what happened?
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.reliability import load, page
from tests.reliability.faults import bench, disks, limits, processes, tables, worker
from tests.reliability.faults.bench import Trial

COMMAND = "python -m tests.reliability.faults"


@dataclass(frozen=True)
class Fault:
    """A fault, how often `make faults` and the tests make it, and through which door it comes."""

    make: Callable[[Path, int], Iterator[Trial]]
    runs: int
    few: int
    door: str = "mdba check"


FAULTS: dict[str, Fault] = {
    "killed": Fault(processes.killed, 40, 3),
    "terminated": Fault(processes.terminated, 20, 0),
    "interrupted": Fault(processes.interrupted, 20, 1),
    "disk full": Fault(disks.disk_full, 30, 4),
    "file too large": Fault(disks.file_too_large, 20, 4),
    "output full": Fault(disks.output_full, 12, 3),
    "folder read-only": Fault(disks.read_only, 8, 2),
    "table replaced": Fault(tables.table_replaced, 40, 3),
    "table truncated": Fault(tables.table_truncated, 40, 3),
    "database locked": Fault(tables.database_locked, 6, 1),
    "database gone": Fault(tables.database_gone, 30, 3),
    "clock set back": Fault(limits.clock_back, 3, 0),
    "out of memory": Fault(limits.memory, 20, 3),
    "worker killed": Fault(worker.worker_killed, 4, 0, "gated-training"),
}


def run(name: str, runs: int) -> list[Trial]:
    """Make a fault some times, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="mdba-faults-") as folder:
        return list(FAULTS[name].make(Path(folder), runs))


def row(name: str, trials: list[Trial]) -> dict[str, Any]:
    """Return a line of the table of results."""
    counts = Counter(each.outcome for each in trials)
    return {
        "fault": name,
        "door": FAULTS[name].door,
        "runs": len(trials),
        "outcomes": "; ".join(f"{what}: {count}" for what, count in sorted(counts.items())),
        "lost": sum(bool(each.lost) for each in trials),
        "let_through": sum(bool(each.let_through) for each in trials),
        "mis_stated": sum(bool(each.mis_stated) for each in trials),
    }


def load_rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield lines of the same table for many checks at once; mixed up counts as let through."""
    for kind, door in ((load.checks, "mdba check"), (load.flows, "label-bias-gate")):
        with tempfile.TemporaryDirectory(prefix="mdba-load-") as folder:
            found = kind(Path(folder), count)
        server = f"; the server at most {found.server_mb} MB" if found.server_mb else ""
        yield {
            "fault": f"{found.runs} {found.what}",
            "door": door,
            "runs": found.runs,
            "outcomes": f"right: {found.runs - found.lost - found.mixed_up}; "
            f"{found.seconds:.0f} s; a check at most {found.check_mb} MB{server}",
            "lost": found.lost,
            "let_through": found.mixed_up,
            "mis_stated": 0,
        }


def main() -> int:
    """Make faults and write the table."""
    parser = argparse.ArgumentParser(description="Make faults, and see what becomes of checks.")
    parser.add_argument("--only", nargs="*", choices=list(FAULTS), help="default: all, and load")
    parser.add_argument("--runs", type=int, help="how often each at most")
    parser.add_argument("--at-once", type=int, default=50, help="how many checks at once")
    parser.add_argument("--few", action="store_true", help="a few of each, on small tables")
    parser.add_argument("--json", action="store_true", help="print every run, write no table")
    given = parser.parse_args()
    bench.QUICK = given.few
    found: dict[str, list[Trial]] = {}
    rows: list[dict[str, Any]] = []
    whole = not (given.only or given.json)
    for name in given.only or FAULTS:
        often = FAULTS[name].few if given.few else FAULTS[name].runs
        often = min(often, given.runs or often)
        if not often:
            continue
        found[name] = run(name, often)
        rows.append(row(name, found[name]))
        _tell(given, rows[-1], found[name])
        if whole:
            _write(rows)  # it takes long: what was found stays, should it be interrupted
    if given.json:
        plain = {name: [asdict(each) for each in trials] for name, trials in found.items()}
        sys.stdout.write(json.dumps(plain) + "\n")
        return 0
    if whole:
        for each in load_rows(given.at_once):
            rows.append(each)
            _tell(given, each, [])
            _write(rows)
    return int(any(each["lost"] or each["let_through"] or each["mis_stated"] for each in rows))


def _tell(given: argparse.Namespace, line: dict[str, Any], trials: list[Trial]) -> None:
    if given.json:
        return
    wrong = [each for each in trials if each.lost or each.let_through or each.mis_stated]
    sys.stdout.write("".join(f"{each}\n" for each in [line, *wrong]))
    sys.stdout.flush()


def _write(rows: list[dict[str, Any]]) -> None:
    text = io.StringIO()
    text.write(f"# {' '.join([COMMAND, *sys.argv[1:]])}\n")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (page.RESULTS / "faults.csv").write_text(text.getvalue(), encoding="utf-8")
    page.renew("faults")


if __name__ == "__main__":
    sys.exit(main())
