"""A check that can be disturbed: its tables, its files, and the three questions asked afterwards.

A check costs seconds before it begins, because of what it imports. So it is imported here, and each
run is a fork of this process.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xgboost  # noqa: F401  before the forks, as all that follows

import mdba_checks.cli.result
import mdba_checks.outputs
import mdba_checks.report  # noqa: F401
from mdba_checks.cli import main as mdba
from mdba_checks.outputs import parse_json, verify
from mdba_checks.simulation import simulate

ROOT = Path(__file__).parents[3]
VERDICTS = (0, 1, 3)
# For tests that everybody waits for: fewer rows, and checks without models where that is possible.
QUICK = False


@dataclass(frozen=True)
class Trial:
    """How one run ended; the last three are empty where nothing is wrong."""

    outcome: str
    lost: str = ""
    let_through: str = ""
    mis_stated: str = ""


@dataclass(frozen=True)
class Ended:
    """A process that has ended: its exit code (negative: the signal), and what it said."""

    code: int
    said: str
    seconds: float


def in_a_fork(
    arguments: list[str],
    folder: Path,
    *,
    before: Callable[[], None] | None = None,
    meanwhile: Callable[[int], None] | None = None,
) -> Ended:
    """Run `mdba` in a fork; `before` prepares it from inside, `meanwhile` acts from outside."""
    log = folder / "said.log"
    began = time.perf_counter()
    number = os.fork()
    if number == 0:
        code = 99
        try:
            with log.open("wb") as said, Path(os.devnull).open("wb") as nowhere:
                os.dup2(said.fileno(), 2)
                os.dup2(nowhere.fileno(), 1)
            if before:
                before()
            code = mdba(arguments)
        finally:
            with suppress(Exception):
                sys.stderr.flush()
            os._exit(code)
    if meanwhile:
        meanwhile(number)
    _, status = os.waitpid(number, 0)
    seconds = time.perf_counter() - began
    return Ended(os.waitstatus_to_exitcode(status), log.read_text(errors="replace"), seconds)


@dataclass
class Bench:
    """Two tables in a folder, checks of them, and what an undisturbed check gives."""

    folder: Path
    mode: str = "annotate"
    estimator: str = ""
    n_items: int = 1_500
    seed: int = 2
    dice: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        self.estimator = self.estimator or ("selection_rate" if QUICK else "mdba_dr")
        self.n_items = min(self.n_items, 3_000) if QUICK else self.n_items
        self.inputs = self.folder / "in"
        self.inputs.mkdir(parents=True)
        made = simulate(
            n_items=self.n_items,
            n_labelers=3,
            gold_per_group=120,
            tprs=[0.4, 0.9, 0.9],
            seed=self.seed,
        )
        self.tables = {"labels": made.labels, "gold": made.gold}
        for name, table in self.tables.items():
            table.to_csv(self.inputs / f"{name}.csv", index=False)
        self.before = self.held()

    def held(self) -> dict[str, bytes]:
        return {each.name: each.read_bytes() for each in sorted(self.inputs.iterdir())}

    def out(self) -> Path:
        """Return a fresh folder for what a run writes."""
        return Path(tempfile.mkdtemp(dir=self.folder, prefix="out"))

    def arguments(self, out: Path, *more: str, **sources: str) -> list[str]:
        labels = sources.get("labels", str(self.inputs / "labels.csv"))
        gold = sources.get("gold", str(self.inputs / "gold.csv"))
        asked = ["check", labels, "--gold", gold, "--reference", "men", "--quiet", "--jobs", "2"]
        asked += ["--estimator", self.estimator, "--mode", self.mode, "--max-gap", "0.15"]
        if self.mode != "block":
            asked += ["--on-inconclusive", "annotate"]
        asked += ["--output", str(out / "out.csv"), "--json", str(out / "check.json")]
        asked += ["--report", str(out / "report.html"), "--junit", str(out / "junit.xml")]
        return [*asked, "--history", str(out / "history"), *more]

    @cached_property
    def usual(self) -> tuple[Ended, dict[str, Any]]:
        """How the undisturbed check ends, and its record; as fast as the faster of two."""
        outs = [self.out() for _ in range(1 if QUICK else 2)]
        ended = min(
            (in_a_fork(self.arguments(out), self.folder) for out in outs),
            key=lambda each: each.seconds,
        )
        assert ended.code in VERDICTS, ended
        return ended, parse_json((outs[0] / "check.json").read_bytes())

    def moment(self, share: float = 1.1) -> float:
        """Return a random moment of a run, in seconds from its start."""
        return float(self.dice.uniform(0, share * self.usual[0].seconds))

    def lost(self, out: Path, *, again: bool = True) -> str:
        """Tell what is not as it should be in the folders, or nothing."""
        if self.held() != self.before:
            return "an input is not what it was"
        problem = half_a_file(out)
        if problem or not again:
            return problem
        second = in_a_fork(self.arguments(out, "--force"), self.folder)
        if second.code != self.usual[0].code:
            return f"the second run ended with {second.code}: {second.said}"
        if same_numbers(parse_json((out / "check.json").read_bytes()), self.usual[1]):
            return half_a_file(out)
        return "the second run gives other numbers"


def half_a_file(out: Path) -> str:
    """Tell which file under a promised name is not whole, or nothing."""
    problems = []
    if (out / "out.csv").exists() and not verify(out / "out.csv").ok:
        problems.append("out.csv is not what its sidecar describes")
    for name in ("check.json", "out.csv.mdba.json"):
        if (out / name).exists():
            try:
                parse_json((out / name).read_bytes())
            except ValueError:
                problems.append(f"{name} is not whole")
    page = out / "report.html"
    if page.exists() and not page.read_text().rstrip().endswith("</html>"):
        problems.append("report.html is not whole")
    if (out / "junit.xml").exists():
        try:
            ET.parse(out / "junit.xml")  # noqa: S314  our own file
        except ET.ParseError:
            problems.append("junit.xml is not whole")
    for each in (out / "history").rglob("*"):
        if not each.is_file() or "mdba-tmp" in each.name:
            continue
        with suppress(ValueError):
            parse_json(each.read_bytes())
            continue
        problems.append(f"{each.name} in the history is not whole")
    return "; ".join(problems)


def same_numbers(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two records say the same; to the last bit, but for the assumption checks."""
    exact = all(one[key] == other[key] for key in ("verdict", "reasons", "gaps", "data"))
    pairs = zip(one["diagnostics"], other["diagnostics"], strict=False)
    return exact and all(
        {**a, "value": 0} == {**b, "value": 0} and np.allclose(a["value"], b["value"], rtol=1e-12)
        for a, b in pairs
    )


def judged(bench: Bench, ended: Ended, out: Path, *words: str, again: bool = True) -> Trial:
    """Ask the three questions about a run that a fault may have hit.

    It may have been done before the fault: then it has to be the undisturbed one in every respect.
    Otherwise it has to be no verdict, in one line with one of the words.
    """
    lost = bench.lost(out, again=again)
    usual, record = bench.usual
    if ended.code in VERDICTS:
        told = (out / "check.json").exists() and parse_json((out / "check.json").read_bytes())
        right = ended.code == usual.code and told and (again or same_numbers(told, record))
        said = (
            "" if right else f"exit {ended.code}, and undisturbed {usual.code}: {ended.said[:200]}"
        )
        return Trial("finished", lost, said)
    return Trial(named(ended.code), lost, "", mis_stated(ended, *words))


def named(code: int) -> str:
    """Return an exit code in words."""
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"


def mis_stated(ended: Ended, *words: str) -> str:
    """Tell what is wrong with the words of a run that came to no verdict, or nothing."""
    if ended.code < 0:  # whoever is killed says nothing
        return "" if not ended.said else f"it said: {ended.said[:200]}"
    lines = ended.said.splitlines()
    if len(lines) != 1 or not lines[0].startswith("mdba: "):
        return f"{len(lines)} lines: {ended.said[:200]}"
    return "" if any(word in ended.said for word in words) else f"it said: {ended.said[:200]}"
