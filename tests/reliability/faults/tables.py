"""Tables that change, are locked or vanish while a check reads them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks import CheckConfig
from mdba_checks.outputs import parse_json
from mdba_checks.tables import content_hash, read_table, text_columns
from tests.reliability.faults.bench import (
    VERDICTS,
    Bench,
    Trial,
    half_a_file,
    in_a_fork,
    judged,
    mis_stated,
    named,
    same_numbers,
)

Change = Callable[[Path, bytes, np.random.Generator], None]


def table_replaced(folder: Path, runs: int) -> Iterator[Trial]:
    """Put another table in the place of labels or gold while a check runs.

    Every result has to be that of one version throughout: its hash, its gaps, its rows.
    """
    bench = Bench(folder / "bench")
    quarantining = Bench(folder / "quarantine", mode="quarantine")
    for run in range(runs):
        now = quarantining if run % 3 == 2 else bench
        name = ("labels", "gold")[run % 2]
        yield _changed(now, name, now.moment(1.0), _replace)


def table_truncated(folder: Path, runs: int) -> Iterator[Trial]:
    """Cut labels or gold short while a check runs, as a copy that starts again does."""
    bench = Bench(folder / "bench")
    for run in range(runs):
        yield _changed(bench, ("labels", "gold")[run % 2], bench.moment(1.0), _truncate)


def _replace(path: Path, content: bytes, dice: np.random.Generator) -> None:
    fresh = path.with_name("fresh.csv")
    fresh.write_bytes(content)
    fresh.replace(path)


def _truncate(path: Path, content: bytes, dice: np.random.Generator) -> None:
    os.truncate(path, int(dice.integers(path.stat().st_size)))


def _changed(bench: Bench, name: str, moment: float, change: Change) -> Trial:
    """Change a table at a moment of a check, and hold what came out against both versions."""
    path, before = bench.inputs / f"{name}.csv", bench.before[f"{name}.csv"]
    lines = before.splitlines(keepends=True)
    after = b"".join([*lines[:1], *lines[1:][: len(lines) * 9 // 10]])
    versions = {hash_of(before): before, hash_of(after): after}
    out = bench.out()

    def act(process: int) -> None:
        time.sleep(moment)
        change(path, after, bench.dice)

    ended = in_a_fork(bench.arguments(out), bench.folder, meanwhile=act)
    left = path.read_bytes()
    other = "gold" if name == "labels" else "labels"
    lost = half_a_file(out)
    if (bench.inputs / f"{other}.csv").read_bytes() != bench.before[f"{other}.csv"]:
        lost = "the other table is not what it was"
    let_through = words = ""
    if ended.code in VERDICTS:
        record = parse_json((out / "check.json").read_bytes())
        used = versions.get(record["data"][f"{name}_hash"])
        if used is None:
            let_through = f"{name} have a hash that neither version has"
        elif not _is_result_of(bench, name, used, record, ended.code):
            let_through = f"the result is not that of the version of {name} with its hash"
        elif (
            name == "labels" and bench.mode == "annotate" and not _rows_are(out, used, bench.folder)
        ):
            let_through = "the rows that left are not those of the version with their hash"
    else:
        words = mis_stated(
            ended,
            "changed while",
            "was changed",
            "does not hold the labels that were assessed",
            "differs from the labels that were assessed",
            "cannot read",
            "is empty",
            "Expected",
            "columns",
        )
    assert left is not None
    path.write_bytes(before)
    shutil.rmtree(out)
    return Trial(
        "finished" if ended.code in VERDICTS else named(ended.code), lost, let_through, words
    )


def hash_of(content: bytes) -> str:
    """Return the content hash of a CSV file."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(content)
        file.flush()
        config = CheckConfig()
        return content_hash(
            read_table(
                file.name, text_columns=text_columns(config), missing_values=config.missing_values
            )
        )


def _is_result_of(
    bench: Bench, name: str, content: bytes, record: Mapping[str, Any], code: int
) -> bool:
    """Return whether a record is what a check of a version alone gives."""
    place = bench.folder / "alone"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / f"{name}.csv").write_bytes(content)
    ended = in_a_fork(bench.arguments(place, **{name: str(place / f"{name}.csv")}), bench.folder)
    alone = parse_json((place / "check.json").read_bytes())
    return ended.code == code and same_numbers(record, alone)


def _rows_are(out: Path, content: bytes, folder: Path) -> bool:
    """Return whether the released rows begin with the values of a version, and nothing else."""
    if not (out / "out.csv").exists():
        return False
    source = folder / "version.csv"
    source.write_bytes(content)
    rows = pd.read_csv(source, dtype=str, keep_default_na=False)
    released = pd.read_csv(out / "out.csv", dtype=str, keep_default_na=False)
    return released[list(rows.columns)].equals(rows)


def database_locked(folder: Path, runs: int) -> Iterator[Trial]:
    """Read a table of an SQLite file that somebody holds an exclusive lock on."""
    bench, path = _in_database(folder)
    for _ in range(runs):
        out = bench.out()
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        asked = bench.arguments(out, labels=f"sqlite:///{path}?timeout=0.3::labels")
        ended = in_a_fork(asked, bench.folder)
        holder.close()
        trial = judged(bench, ended, out, "database is locked")
        yield Trial(trial.outcome, trial.lost, trial.let_through, trial.mis_stated)


def database_gone(folder: Path, runs: int) -> Iterator[Trial]:
    """Truncate, overwrite or remove an SQLite file while its table is read."""
    bench, path = _in_database(folder, n_items=20_000)
    before = path.read_bytes()
    asked = bench.arguments(bench.out(), labels=f"sqlite:///{path}::labels")
    reading = in_a_fork(asked, bench.folder).seconds
    ways = ("cut", "noise", "removed")
    for run in range(runs):
        out, way, moment = bench.out(), ways[run % 3], float(bench.dice.uniform(0, 0.7 * reading))

        def spoil(process: int, way: str = way, moment: float = moment) -> None:
            time.sleep(moment)
            if way == "removed":
                path.unlink()
            elif way == "cut":
                os.truncate(path, int(bench.dice.integers(len(before))))
            else:
                with path.open("r+b") as file:
                    file.seek(int(bench.dice.integers(4_096, len(before) // 2)))
                    file.write(bench.dice.bytes(len(before) // 3))

        asked = bench.arguments(out, labels=f"sqlite:///{path}::labels")
        ended = in_a_fork(asked, bench.folder, meanwhile=spoil)
        path.unlink(missing_ok=True)
        path.write_bytes(before)
        # The sentence may be about the file, or about a value that noise has made.
        trial = judged(
            bench, ended, out, "cannot read", "no such file", "does not hold", "differs", "labels"
        )
        yield trial
        shutil.rmtree(out)


def _in_database(folder: Path, n_items: int = 1_500) -> tuple[Bench, Path]:
    bench = Bench(folder / "bench", estimator="selection_rate", n_items=n_items)
    path = folder / "jobs.db"
    connection = sqlite3.connect(path)
    bench.tables["labels"].to_sql("labels", connection, index=False)
    connection.close()
    return bench, path
