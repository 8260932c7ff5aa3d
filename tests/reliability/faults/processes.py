"""Processes that are ended: by force, politely, or with Ctrl-C."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.reliability.faults.bench import ROOT, Bench, Ended, Trial, in_a_fork, judged

AT_PYTHONS_START = ("Fatal Python error: init_import_site", "Could not import runpy")


def killed(folder: Path, runs: int, number: int = signal.SIGKILL) -> Iterator[Trial]:
    """End a check at a random moment; half of them would release data, the others block."""
    benches = [
        Bench(folder / mode, mode=mode, estimator="mdba_dr") for mode in ("annotate", "block")
    ]
    for run in range(runs):
        bench = benches[run % 2]
        out, moment = bench.out(), bench.moment()

        def end(process: int, moment: float = moment) -> None:
            time.sleep(moment)
            os.kill(process, number)

        ended = in_a_fork(bench.arguments(out), bench.folder, meanwhile=end)
        yield judged(bench, ended, out)
        shutil.rmtree(out)


def terminated(folder: Path, runs: int) -> Iterator[Trial]:
    """Ask a check to end, as service managers and schedulers do."""
    yield from killed(folder, runs, signal.SIGTERM)


def interrupted(folder: Path, runs: int) -> Iterator[Trial]:
    """Press Ctrl-C at a random moment, the start and the end of Python included."""
    bench = Bench(folder / "in", estimator="selection_rate")
    bench.usual  # noqa: B018  how long it takes is not asked of forks here, but its result is
    began = time.perf_counter()
    whole_process(bench.arguments(bench.out()))
    usual = time.perf_counter() - began
    for _ in range(runs):
        out = bench.out()
        ended = whole_process(bench.arguments(out), after=float(bench.dice.uniform(0, 1.1 * usual)))
        trial = judged(bench, ended, out)
        if ended.code in (130, -signal.SIGINT):
            trial = Trial(trial.outcome, trial.lost)
        elif ended.code == 1 and ended.said.startswith(AT_PYTHONS_START):
            # Python has not begun to run a program, and none can change how this ends.
            trial = Trial("exit 1 by Python at its start", trial.lost)
        yield trial
        shutil.rmtree(out)


def whole_process(arguments: list[str], *, after: float | None = None) -> Ended:
    """Run `mdba` as users do, and interrupt it after some seconds."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "mdba_checks", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            # Whoever runs this in the background may have told its children to ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        if after is not None:
            time.sleep(after)
            process.send_signal(signal.SIGINT)
        process.wait(120)
        log.seek(0)
        said = log.read().decode(errors="replace")
    return Ended(process.returncode, said, time.perf_counter() - began)
