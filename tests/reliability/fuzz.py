"""Random and damaged input for the command line: whatever comes in, it ends as promised.

    python -m tests.reliability.fuzz --runs 10000 --seed 1 --minutes 15 --output fuzz.csv
    python -m tests.reliability.fuzz --replay fuzz-failures/1-42/case.json

Every run makes tables and settings from its seed and number, damages them, and calls the command in
this process. Promised are an exit code of 0, 1, 2 or 3 within ten seconds of work; for 2 also one
line on stderr and nothing written. A run that breaks a promise is kept, with its files.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.reliability.base import run_mdba
from tests.reliability.mutations import KINDS, Case, make_case

SECONDS = 10.0  # of work
PATIENCE = 600.0  # of the clock: for somebody who only waits, and on a machine with other work
CODES = (0, 1, 2, 3)
LONG = 20_000  # letters that nobody calls a line any more
MEMORY = 8 << 30  # a bomb fails here, and not the machine
COLUMNS = ("kind", "runs", *(f"exit_{code}" for code in CODES), "broken", "mean_ms", "slowest_ms")


class HangError(BaseException):
    """Not an Exception: nobody on the way may take it for one of theirs."""


@dataclass(frozen=True)
class Ended:
    """How a run ended; `problem` says which promise it broke."""

    code: int | None
    seconds: float
    problem: str


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise HangError

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, PATIENCE),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, limit in timers.values():
        signal.setitimer(timer, limit)
    # Code that does not come back to Python cannot be interrupted: say where it is, and end.
    faulthandler.dump_traceback_later(2 * PATIENCE, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def run(case: Case) -> Ended:
    """Run the command on a case and hold it against its promises."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code: int | None = None
    begin = time.monotonic()
    try:
        with redirect_stdout(out), redirect_stderr(err), at_most(SECONDS):
            code = run_mdba(list(case.arguments))
    except HangError:
        problem = f"no end after {SECONDS:g} seconds of work or {PATIENCE:g} of waiting"
    except BaseException as error:  # noqa: BLE001  whatever it is, the command let it escape
        problem = f"{type(error).__name__} escaped: {error}"
    else:
        said = [_text(each) for each in (out, err)]
        problem = broken_promise(code, said[0], said[1], case)
    return Ended(code, time.monotonic() - begin, problem)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]
    return raw.decode()


def broken_promise(code: int, out: str, err: str, case: Case) -> str:
    """Return which promise an end breaks; nothing for a good one."""
    if code not in CODES:
        return f"exit code {code}: {err.strip()[:300]}"
    if "Traceback" in out + err:
        return "a traceback"
    if code != 2:
        return ""
    if len(err.splitlines()) != 1 or not err.removesuffix("\n").isprintable() or len(err) > LONG:
        return f"not one line: {err[:300]!r}"
    written = sorted(path.name for path in case.outputs.iterdir())
    return f"written in spite of an error: {written}" if written else ""


def keep(case: Case, ended: Ended, place: Path) -> None:
    """Keep a case that broke a promise, with its files, so that it can be run again."""
    shutil.copytree(case.folder, place, symlinks=True)
    arguments = [each.replace(str(case.folder), "{folder}") for each in case.arguments]
    told = {"kind": case.kind, "problem": ended.problem, "arguments": arguments}
    (place / "case.json").write_text(json.dumps(told, indent=2), encoding="utf-8")


def replay(path: Path) -> Ended:
    """Run a kept case again, in a copy of its folder."""
    told = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "case"
        shutil.copytree(path.parent, folder, symlinks=True)
        arguments = [each.replace("{folder}", str(folder)) for each in told["arguments"]]
        return run(Case(told["kind"], folder, tuple(arguments)))


def fuzz(
    runs: int, seed: int, *, minutes: float = 15, failures: Path | None = None
) -> tuple[list[dict[str, object]], list[str]]:
    """Run cases until there were enough or time is up; return a row per kind, and the problems."""
    codes: dict[str, Counter[object]] = defaultdict(Counter)
    times: dict[str, list[float]] = defaultdict(list)
    problems = []
    end = time.monotonic() + 60 * minutes
    for number in range(runs):
        if time.monotonic() > end:
            break
        with tempfile.TemporaryDirectory(prefix="mdba-fuzz-") as scratch:
            case = make_case(Path(scratch), np.random.default_rng([seed, number]))
            ended = run(case)
            codes[case.kind][ended.code if not ended.problem else "broken"] += 1
            times[case.kind].append(1000 * ended.seconds)
            if ended.problem:
                problems.append(f"{seed}-{number} ({case.kind}): {ended.problem}")
                if failures:
                    keep(case, ended, failures / f"{seed}-{number}")
    rows: list[dict[str, object]] = [
        {
            "kind": kind,
            "runs": len(times[kind]),
            **{f"exit_{code}": codes[kind][code] for code in CODES},
            "broken": codes[kind]["broken"],
            "mean_ms": round(float(np.mean(times[kind]))),
            "slowest_ms": round(max(times[kind])),
        }
        for kind in KINDS
        if times[kind]
    ]
    return rows, problems


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, or replay; 0 when every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.fuzz")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--output", type=Path, help="where the summary goes, as CSV")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--replay", type=Path, metavar="FILE", help="a case.json that was kept")
    asked = parser.parse_args(arguments)
    if asked.replay:
        ended = replay(asked.replay)
        sys.stdout.write(f"exit code {ended.code}: {ended.problem or 'as promised'}\n")
        return int(bool(ended.problem))
    rows, problems = fuzz(asked.runs, asked.seed, minutes=asked.minutes, failures=asked.failures)
    given = shlex.join(sys.argv[1:] if arguments is None else arguments)
    lines = [f"# python -m tests.reliability.fuzz {given}", ",".join(COLUMNS)]
    lines += [",".join(str(row[column]) for column in COLUMNS) for row in rows]
    text = "\n".join(lines) + "\n"
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text + "".join(f"{problem}\n" for problem in problems))
    return int(bool(problems))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    sys.exit(main())
