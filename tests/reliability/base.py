"""What the catalogue is made of: plain tables, ways to spoil them, and what is promised.

The plain tables hold a labeler who is far too hard on women and two who are not. Whoever spoils
them says what has to come out: one line that names the trouble, a verdict, or the very findings
that the plain tables have.
"""

from __future__ import annotations

import hashlib
import math
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

from mdba_checks.cli import main
from tests.reliability.privileges import like_anybody

Tables = tuple[pd.DataFrame, pd.DataFrame]
Change = Callable[[pd.DataFrame, pd.DataFrame], Tables]

# Far from the gaps of everybody: -0.7 of ann, nearly 0 of the others.
STRICT = 0.4
# The same for shares of yes: -0.41 of ann, at most 0.07 of the others.
STRICT_COUNTED = 0.25
# Everybody passes: what is let through by mistake under this ends with 0.
LENIENT = 0.99
# Seconds after which whoever waits for a pipe is freed.
PATIENCE = 5


@dataclass(frozen=True)
class Refused:
    """One line that holds each of these, exit code 2, nothing written."""

    parts: tuple[str, ...]


def refused(*parts: str) -> Refused:
    """Return the promise of one line that holds each of these."""
    return Refused(parts)


@dataclass(frozen=True)
class Unaffected:
    """The findings are those of the plain tables; `note` is among the messages.

    `names` are the labelers' names where an entry changed them.
    """

    note: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    def findings(self) -> dict[str, str]:
        plain = {"ann": "biased", "ben": "fair", "cleo": "fair"}
        return {self.names.get(name, name): finding for name, finding in plain.items()}


@dataclass(frozen=True)
class Ends:
    """A verdict other than that of the plain tables; `part` is in a reason or a message."""

    verdict: str
    part: str = ""


Outcome = Refused | Unaffected | Ends


@dataclass(frozen=True)
class Case:
    """An entry that was written into a folder: what the doors are given.

    Attributes
    ----------
    labels, gold
        A path or URL::table.
    settings
        As parsed YAML.
    frame
        The labels as a DataFrame, for a door that does not read files by our reader. None where
        the trouble is in the file: there it is gold that is spoilt (see `Entry.gold_too`).
    """

    labels: str
    gold: str
    settings: dict[str, Any] = field(default_factory=dict)
    frame: pd.DataFrame | None = None


@dataclass(frozen=True)
class Entry:
    """One kind of bad or odd input.

    Attributes
    ----------
    write
        Writes a table into a folder in a spoilt way and returns the source (entries about files).
    change
        Spoils the two tables (entries about content).
    settings
        What else is asked for, by dotted keys.
    kind
        How changed tables are kept: csv or parquet.
    """

    name: str
    outcome: Outcome
    write: Callable[[Path, pd.DataFrame], str] | None = None
    change: Callable[[pd.DataFrame, pd.DataFrame], Tables] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "csv"

    def build(self, folder: Path, *, spoil: str = "labels", counted: bool = False) -> Case:
        """Write the entry; `spoil` says which table a spoilt file is.

        `counted`: where findings are those of the plain tables, they are found by counting. For
        doors whose own concern is how tables come in and results go out; the models read every
        entry through Python.
        """
        labels, gold = plain_tables()
        frame: pd.DataFrame | None = labels
        if self.change:
            labels, gold = self.change(labels, gold)
            frame = labels
        sources = {}
        for name, table in (("labels", labels), ("gold", gold)):
            place = folder / name
            place.mkdir()
            if self.write and name == spoil:
                sources[name] = self.write(place, table)
            else:
                sources[name] = keep(place / f"{name}.{self.kind}", table)
        if self.write and spoil == "labels":
            frame = None
        settings = self.nested()
        if counted and isinstance(self.outcome, Unaffected):
            settings["estimator"] = "selection_rate"
            settings["policy"]["max_gap"] = STRICT_COUNTED
        return Case(sources["labels"], sources["gold"], settings, frame)

    def nested(self) -> dict[str, Any]:
        """Return the settings as parsed YAML."""
        limit = LENIENT if isinstance(self.outcome, Refused) else STRICT
        nested: dict[str, Any] = {"reference": "men", "jobs": 1, "policy": {"max_gap": limit}}
        for key, value in self.settings.items():
            section, _, name = key.rpartition(".")
            (nested.setdefault(section, {}) if section else nested)[name] = value
        return nested

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def keep(path: Path, table: pd.DataFrame) -> str:
    """Write a table as it is."""
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)
    return str(path)


@cache
def _plain(rows: int, n_gold: int, seed: int) -> Tables:
    rng = np.random.default_rng(seed)

    def items(n: int) -> pd.DataFrame:
        score = rng.normal(size=n).round(3)
        right = score + rng.normal(0, 0.2, n) > 0
        return pd.DataFrame(
            {
                "group": np.where(np.arange(n) % 2 == 0, "men", "women"),
                "score": score,
                "job": rng.choice(["clerk", "cook", "nurse"], n),
                "gold": right.astype(int),
            }
        )

    labels = items(3 * rows)
    labels.insert(0, "labeler", np.repeat(["ann", "ben", "cleo"], rows))
    right = labels.pop("gold") == 1
    hard = (labels["labeler"] == "ann") & (labels["group"] == "women")
    yes = np.where(right, np.where(hard, 0.1, 0.95), 0.04)
    labels["label"] = (rng.random(len(labels)) < yes).astype(int)
    return labels, items(n_gold)


def plain_tables(rows: int = 200, n_gold: int = 160, seed: int = 1) -> Tables:
    """Return labels by ann, who is far too hard on women, ben and cleo; and gold."""
    labels, gold = _plain(rows, n_gold, seed)
    return labels.copy(), gold.copy()


def snapshot(folder: Path) -> dict[str, str]:
    """Return everything below a folder with its content; what would block or never end, by kind."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        if stat.S_ISLNK(mode):
            found[name] = f"link to {path.readlink()}"
        elif stat.S_ISREG(mode):
            readable = bool(mode & stat.S_IRUSR)
            found[name] = hashlib.sha256(path.read_bytes() if readable else b"").hexdigest()
        else:
            found[name] = f"kind {stat.S_IFMT(mode)}"
    return found


@contextmanager
def at_most(seconds: float, folder: Path) -> Iterator[None]:
    """Run an entry like anybody, and fail instead of waiting for ever.

    Be it for somebody who writes to a pipe in the folder.
    """
    done = threading.Event()
    waited: list[Path] = []

    def release() -> None:
        while not done.wait(PATIENCE):
            for path in folder.rglob("*"):
                if path.is_fifo():
                    with suppress(OSError):  # nobody waits there
                        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                        waited.append(path)

    def stop(*_: object) -> None:
        msg = f"it took more than {seconds} seconds"
        raise AssertionError(msg)

    # Readers written in C begin to wait again after a signal: only a writer frees them.
    helper = threading.Thread(target=release, daemon=True)
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(math.ceil(seconds))
    helper.start()
    try:
        with like_anybody():
            yield
    finally:
        done.set()
        helper.join()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert not waited, "it waited for a pipe"


_built_once = cache(typer.main.get_command)


def run_mdba(arguments: list[str]) -> int:
    """Run the command in this process; building its parser takes longer than most checks here."""
    build = typer.main.get_command
    typer.main.get_command = _built_once
    try:
        return main(arguments)
    finally:
        typer.main.get_command = build


# --- Ways to spoil tables ------------------------------------------------------------------------


def in_labels(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Change:
    return lambda labels, gold: (change(labels), gold)


def in_gold(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Change:
    return lambda labels, gold: (labels, change(gold))


def in_both(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Change:
    return lambda labels, gold: (change(labels), change(gold))


def put(column: str, *values: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what replaces the first values of a column."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame[column] = [*values, *frame[column].astype(object).tolist()[len(values) :]]
        return frame

    return change


def mapped(column: str, names: dict[Any, Any]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda frame: frame.assign(**{column: frame[column].map(names)})


def extra(make: Callable[[int], Any], name: str = "extra") -> Change:
    """Return what adds a column to both tables; `make` is told the number of rows."""
    return in_both(lambda frame: frame.assign(**{name: make(len(frame))}))


def cycled(*values: Any) -> Callable[[int], list[Any]]:
    return lambda rows: [values[row % len(values)] for row in range(rows)]
