"""A program for `test_killed.py`: writers that are killed, and writers that race.

It assesses once and forks its writers, so that a kill costs milliseconds and not the start of
Python. Run it with a folder and what to do, as ``annotate:csv``; what it finds is printed as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import sidecar_path, verify
from mdba_checks.outputs.quarantine import quarantine, removed_path
from tests.helpers import write_annotated, write_quarantined

ROWS, KILLS, RACES = 6_000, 15, 6


class Bench:
    """A labels file, what was found about it, and ways to write it."""

    def __init__(self, folder: Path, form: str) -> None:
        self.folder = folder
        self.labels = folder / "labels.csv"
        self.target = folder / f"out.{form}"
        row = np.arange(ROWS)
        frame = pd.DataFrame({"labeler": np.array(["ann", "bob", "cem"])[row % 3], "x": row % 7})
        frame["group"] = np.array(["m", "w"])[row // 3 % 2]
        ann = (frame["labeler"] == "ann") & (frame["group"] == "w")
        frame["label"] = np.where(ann, 0, row // 6 % 2)
        frame["id"] = [f"{n:05d}" for n in row]
        frame.to_csv(self.labels, index=False)
        gold = pd.DataFrame({"group": ["m", "w"] * 6, "gold": [0, 1, 1] * 4, "x": np.arange(12.0)})
        policy = Policy(mode="quarantine", max_gap=0.2)
        config = CheckConfig(estimator="selection_rate", reference="m", jobs=1, policy=policy)
        self.assessment = assess(self.labels, gold, config)
        self.decision = gate(self.assessment)
        self.parts = quarantine(self.labels, gold, self.assessment)

    def annotate(self, *, force: bool = False, max_gap: float = 0.2) -> None:
        decision = gate(self.assessment, Policy(mode="annotate", max_gap=max_gap))
        write_annotated(self.labels, self.assessment, decision, self.target, force=force)

    def quarantine(self) -> None:
        write_quarantined(self.labels, self.parts, self.assessment, self.decision, self.target)

    def start(self, write, **options) -> int:
        """Write in a process of its own; return its number."""
        number = os.fork()
        if number == 0:
            try:
                write(**options)
                os._exit(0)
            except InputError:
                os._exit(2)
            except BaseException:  # noqa: BLE001  a child must not go on as the parent
                os._exit(70)
        return number

    def state(self) -> dict[str, object]:
        """Return what a reader finds."""
        temporary = [each.name for each in self.folder.iterdir() if "mdba-tmp" in each.name]
        there = self.target.exists()
        return {
            "there": there,
            "verified": there and verify(self.target).ok,
            "ids": there and self.ids_are_whole(),
            "temporary": len(temporary),
        }

    def ids_are_whole(self) -> bool:
        ids = read_ids(self.target)
        if removed_path(self.target).exists():
            ids += read_ids(removed_path(self.target))
        return sorted(ids) == [f"{n:05d}" for n in range(ROWS)]

    def clean(self) -> None:
        for path in (self.target, sidecar_path(self.target), removed_path(self.target)):
            path.unlink(missing_ok=True)


def read_ids(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return pd.read_parquet(path, columns=["id"])["id"].tolist()
    return pd.read_csv(path, dtype=str)["id"].tolist()


def kill_writers(bench: Bench, write) -> list[dict[str, object]]:
    """Kill a writer at a random moment, look, write again, look again; many times."""
    begin = time.perf_counter()
    write()
    usual = time.perf_counter() - begin
    bench.clean()
    dice = np.random.default_rng(0)
    found = []
    for _ in range(KILLS):
        number = bench.start(write)
        time.sleep(float(dice.uniform(0, 1.5 * usual)))
        os.kill(number, signal.SIGKILL)
        _, status = os.waitpid(number, 0)
        after = bench.state()
        refused = False
        try:
            write()
        except InputError:
            refused = True
        found.append(
            {
                "killed": os.WIFSIGNALED(status),
                "after": after,
                "refused": refused,
                "again": bench.state(),
            }
        )
        bench.clean()
    return found


def race_writers(bench: Bench) -> list[dict[str, object]]:
    """Start two writers with different findings for one target, without force and with it."""
    found = []
    for race in range(RACES):
        force = race % 2 == 1
        gaps = (0.2, 0.9)
        numbers = [bench.start(bench.annotate, force=force, max_gap=gap) for gap in gaps]
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(n, 0)[1]) for n in numbers)
        found.append({"force": force, "codes": codes, "state": bench.state()})
        bench.clean()
    return found


def main() -> None:
    found = {}
    for job in sys.argv[2:]:
        what, _, form = job.partition(":")
        folder = Path(sys.argv[1], job.replace(":", "-"))
        folder.mkdir()
        bench = Bench(folder, form)
        if what == "race":
            found[job] = race_writers(bench)
        else:
            write = bench.annotate if what == "annotate" else bench.quarantine
            found[job] = kill_writers(bench, write)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
