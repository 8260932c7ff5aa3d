"""How tables and settings are damaged at random; the fuzzer runs the command on what comes out."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from mdba_checks import CheckConfig, Columns, Policy
from tests.reliability.base import plain_tables

Rng = np.random.Generator

CELLS: tuple[Any, ...] = (
    None, "", " ", "NaN", "nan", "null", "NULL", "None", "NA", "#N/A", "inf", "-inf", "1e308",
    "-1e308", "1e999", "5e-324", "0", "1", "2", "-1", "0.0", "1.0", "01", "007", "1_000", "0x10",
    "1,5", "true", "True", "FALSE", "yes", "no", str(2**63), str(2**64), str(-(2**63) - 1),
    str(10**40), "2024-02-30", "2024-01-02", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05+01:00",
    "0000-00-00", "12:30", "men", "women", "men ", "Women", "ann", "=1+1", "<b>", "../x", "\x00",
    "\x1b[2J", "\x07", "\r", "a\nb", '"', '""', "'", "\\", ",", ";", "\t", "é", "e\u0301", "\ufeff",
    "\u202e", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "x" * 5_000,
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**40, 0.0, 0.1, 1.0, -0.5, 1e308, 5e-324,
    float("nan"), float("inf"), "", " ", "men", "women", "label", "labeler", "group", "gold", "job",
    "no", "1", "0.1", "x" * 5_000, "\x1b[2J", "a\nb", [], [None], ["score"], ["score", "score"],
    ["job", 1], {}, {"a": 1}, {1: 2}, dt.date(2024, 1, 2), b"\xff", [[["deep"]]],
)  # fmt: skip

KEYS = (
    "columns", "labeler", "label", "group", "gold", "item", "gold_weight", "features", "reference",
    "positive", "estimator", "metric", "confidence", "c", "policy", "max_gap", "mode", "quarantine",
    "on_inconclusive", "on_block", "correction", "decide_on", "min_gold_positives", "on_serious",
    "drop_missing", "missing_values", "engine", "jobs", "seed", "pseudonymize", "", "<<", "1",
    "max_gpa", "__class__", "x" * 300,
)  # fmt: skip

KEYS_OF = {
    "": tuple(CheckConfig.model_fields),
    "policy": tuple(Policy.model_fields),
    "columns": tuple(Columns.model_fields),
}

YAMLS = (
    ("a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n"
    "c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\n"
    "e: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\n"
    "features: &g [*f, *f, *f, *f, *f, *f, *f, *f]\nreference: *g\n"),
    "policy: &p\n  max_gap: 0.1\n  more: *p\n",
    "&all\ncolumns: *all\n",
    "[" * 3_000,
    "{a: " * 2_000,
    "reference: !!python/object/apply:os.system [exit]\n",
    "reference: !!binary gICBgoOEhYaHiImKi4yNjo+Q\n",
    "reference: !!int x\n",
    "seed: " + "9" * 6_000 + "\n",
    "seed: 0x" + "f" * 500 + "\n",
    "confidence: 0.9\nconfidence: 0.8\n",
    "<<: {seed: 1}\n<<: {seed: 2}\n",
    "<<: [1, 2]\n",
    "? [a, b]\n: 1\n",
    "? {a: 1}\n: 1\n",
    "%YAML 9.9\n---\nseed: 1\n",
    "--- 1\n--- 2\n",
    "seed: 1\n...\nseed: 2\n",
    "\tseed: 1\n",
    "reference: |\n  men\n",
    "features: score\n",
    "policy: null\ncolumns: null\n",
    "- columns\n",
    "\ufeffseed: 1\n",
    'reference: "\\ud800"\n',
    "reference: 2024-01-02\n",
    "jobs: 1\nc: [.inf, .nan]\n",
    "",
    "# nothing\n",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Files in a folder, and the arguments of the command."""

    kind: str
    folder: Path
    arguments: tuple[str, ...]

    @property
    def outputs(self) -> Path:
        """Where the command is told to write."""
        return self.folder / "out"


def make_case(folder: Path, rng: Rng) -> Case:
    """Write a damaged case into a folder."""
    (folder / "out").mkdir()
    kind = str(rng.choice(list(KINDS)))
    labels, gold = plain_tables(rows=14, n_gold=20, seed=int(rng.integers(3)))
    # Mostly the cheapest estimator: what is looked for is in front of the estimators and behind.
    settings: dict[str, Any] = {
        "reference": "men",
        "jobs": 1,
        "estimator": str(rng.choice(ESTIMATORS, p=SHARES)),
        "policy": {"max_gap": float(rng.choice([0.05, 0.3, 1.0])), "min_gold_positives": 1},
    }
    files = KINDS[kind](folder, labels, gold, settings, rng)
    config = files.pop("config", None)
    if config is None:
        config = str(folder / "mdba.yaml")
        Path(config).write_text(yaml.safe_dump(settings), encoding="utf-8")
    chosen = ["check", files["labels"], "--gold", files["gold"], "--config", config]
    return Case(kind, folder, (*chosen, *_flags(folder, rng)))


ESTIMATORS = ("selection_rate", "mdba_dr", "mdba", "gold_model", "confident_learning")
SHARES = (0.86, 0.08, 0.02, 0.02, 0.02)


def _flags(folder: Path, rng: Rng) -> list[str]:
    out = folder / "out"
    flags: list[str] = []
    possible = (
        (0.5, ("--json", str(out / "result.json"))),
        (0.04, ("--report", str(out / "report.html"))),
        (0.1, ("--junit", str(out / "junit.xml"))),
        (0.4, ("--output", str(out / str(rng.choice(["o.csv", "o.parquet", "o.csv.gz"]))))),
        (0.2, ("--mode", str(rng.choice(["annotate", "quarantine", "block"])))),
        (0.1, ("--on-inconclusive", str(rng.choice(["annotate", "pass", "block"])))),
        (0.1, ("--format", "github")),
        (0.1, ("--drop-missing",)),
        (0.1, ("--positive", str(rng.choice(["1", "yes", "true", "men"])))),
        (0.1, ("--item", str(rng.choice(["item", "job"])))),
        (0.1, ("--quiet",)),
    )
    for chance, flag in possible:
        if rng.random() < chance:
            flags += flag
    return flags


# --- Kinds of damage ------------------------------------------------------------------------------


Files = dict[str, str]
Damage = Callable[[Path, pd.DataFrame, pd.DataFrame, dict[str, Any], Rng], Files]


def csv_bytes(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode("utf-8", "surrogatepass")


def parquet_bytes(table: pd.DataFrame | pa.Table) -> bytes:
    made = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table)
    sink = pa.BufferOutputStream()
    pq.write_table(made, sink)
    return bytes(sink.getvalue())


def gzip_bytes(table: pd.DataFrame) -> bytes:
    return gzip.compress(csv_bytes(table), mtime=0)


FORMS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "csv": csv_bytes,
    "parquet": parquet_bytes,
    "csv.gz": gzip_bytes,
}


def flipped(data: bytes, rng: Rng) -> bytes:
    """Return bytes of which some were changed, put in or left out."""
    damaged = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(len(damaged)))
        what = rng.integers(4)
        if what == 0:
            damaged[place] = int(rng.integers(256))
        elif what == 1:
            damaged[place] ^= 1 << int(rng.integers(8))
        elif what == 2:
            damaged[place:place] = rng.bytes(int(rng.integers(1, 4)))
        else:
            del damaged[place : place + int(rng.integers(1, 20))]
        if not damaged:
            break
    return bytes(damaged)


def truncated(data: bytes, rng: Rng) -> bytes:
    return data[: int(rng.integers(len(data)))]


def of_bytes(form: str, damage: Callable[[bytes, Rng], bytes]) -> Damage:
    """Return damage to the bytes of one of the two tables."""

    def write(
        folder: Path, labels: pd.DataFrame, gold: pd.DataFrame, settings: dict[str, Any], rng: Rng
    ) -> Files:
        files, spoilt = {}, str(rng.choice(["labels", "gold"]))
        for name, table in (("labels", labels), ("gold", gold)):
            data = FORMS[form](table)
            path = folder / f"{name}.{form}"
            path.write_bytes(damage(data, rng) if name == spoilt else data)
            files[name] = str(path)
        return files

    return write


def of_tables(damage: Callable[[pd.DataFrame, Rng], pd.DataFrame | pa.Table]) -> Damage:
    """Return damage to the content of both tables, each by its own chance."""

    def write(
        folder: Path, labels: pd.DataFrame, gold: pd.DataFrame, settings: dict[str, Any], rng: Rng
    ) -> Files:
        files, form = {}, str(rng.choice(["csv", "parquet"], p=[0.7, 0.3]))
        for name, table in (("labels", labels), ("gold", gold)):
            made = damage(table, rng) if rng.random() < 0.7 else table
            kept = "parquet" if isinstance(made, pa.Table) else form
            try:
                data = FORMS[kept](made)
            except (pa.ArrowException, ValueError):  # not every frame fits into Parquet
                kept, data = "csv", csv_bytes(made)
            path = folder / f"{name}.{kept}"
            path.write_bytes(data)
            files[name] = str(path)
        return files

    return write


def _some(values: tuple[Any, ...], rng: Rng) -> Any:
    return values[int(rng.integers(len(values)))]


def cells(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    table = table.astype(object)
    for _ in range(int(rng.integers(1, 5))):
        rows = rng.random(len(table)) < rng.choice([0.02, 0.02, 0.3, 1.0])
        column = int(rng.integers(table.shape[1]))
        values = table.iloc[:, column].tolist()
        chosen = _some(CELLS, rng)
        spoilt = [chosen if hit else value for hit, value in zip(rows, values, strict=True)]
        table = table.assign(**{table.columns[column]: spoilt})
    return table


def columns(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    for _ in range(int(rng.integers(1, 4))):
        if not table.shape[1]:
            break
        place = int(rng.integers(table.shape[1]))
        what = rng.integers(4)
        if what == 0:
            table = table.iloc[:, [n for n in range(table.shape[1]) if n != place]]
        elif what == 1:
            table = table.iloc[:, [*range(table.shape[1]), place]]
        elif what == 2:
            names = table.columns.tolist()
            names[place] = _some((*KEYS, *map(str, CELLS)), rng)
            table = table.set_axis(names, axis=1)
        else:
            table = table.iloc[:, rng.permutation(table.shape[1])]
    return table


def rows(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    what = rng.integers(4)
    if what == 0:
        return table.iloc[rng.permutation(len(table))]
    if what == 1:
        return table.head(int(rng.integers(0, 12)))
    if what == 2:
        return table.iloc[rng.integers(len(table), size=int(rng.integers(1, 80)))]
    return table[table.iloc[:, 0] == table.iloc[int(rng.integers(len(table))), 0]]


def types(table: pd.DataFrame, rng: Rng) -> pa.Table:
    """Return an Arrow table in which a column or two have a rare type."""
    made = pa.Table.from_pandas(table, preserve_index=False)
    for _ in range(int(rng.integers(1, 3))):
        place, n = int(rng.integers(made.num_columns)), made.num_rows
        numbers = rng.integers(0, 2, n)
        makers: tuple[Callable[[], pa.Array], ...] = (
            lambda: pa.nulls(n),  # noqa: B023
            lambda: pa.array([[int(v)] for v in numbers]),  # noqa: B023  called at once
            lambda: pa.array([{"a": int(v)} for v in numbers]),  # noqa: B023
            lambda: pa.array([bytes([v]) for v in numbers]),  # noqa: B023
            lambda: pa.array([Decimal(int(v)) / 3 for v in numbers]),  # noqa: B023
            lambda: pa.array(numbers, pa.timestamp("ns", "Europe/Berlin")),  # noqa: B023
            lambda: pa.array(numbers, pa.timestamp("s")),  # noqa: B023
            lambda: pa.array(numbers, pa.duration("ms")),  # noqa: B023
            lambda: pa.array(numbers.astype(np.int32), pa.date32()),  # noqa: B023
            lambda: pa.array(numbers, pa.time64("us")),  # noqa: B023
            lambda: pa.array(numbers.astype(bool)),  # noqa: B023
            lambda: pa.array(numbers.astype(np.float16)),  # noqa: B023
            lambda: pa.array(numbers.astype(np.uint64) * np.uint64(2**64 - 1)),  # noqa: B023
            lambda: pa.array(numbers * np.nan),  # noqa: B023
            lambda: pa.array(np.where(numbers, np.inf, 1.0)),  # noqa: B023
            lambda: pa.array([str(v) for v in numbers]).dictionary_encode(),  # noqa: B023
            lambda: pa.array(numbers).dictionary_encode(),  # noqa: B023
            lambda: pa.array([str(v) for v in numbers], pa.large_string()),  # noqa: B023
            lambda: pa.array([str(v) for v in numbers], pa.string_view()),  # noqa: B023
        )
        made = made.set_column(place, made.column_names[place], _some(makers, rng)())
    return made


def noise(
    folder: Path, labels: pd.DataFrame, gold: pd.DataFrame, settings: dict[str, Any], rng: Rng
) -> Files:
    """Write letters that mean something to a CSV reader, or any bytes, under any ending."""
    files = {}
    for name in ("labels", "gold"):
        letters = np.frombuffer(
            b',;\t"\n\r 01ax\xc3\xa9\x00labeler,label,group,gold,score\n', np.uint8
        )
        size = int(rng.integers(400))
        data = rng.choice(letters, size).tobytes() if rng.random() < 0.7 else rng.bytes(size)
        path = folder / f"{name}.{rng.choice(['csv', 'csv', 'csv.gz', 'parquet'])}"
        path.write_bytes(data)
        files[name] = str(path)
    return files


def _plain_files(folder: Path, labels: pd.DataFrame, gold: pd.DataFrame) -> Files:
    files = {}
    for name, table in (("labels", labels), ("gold", gold)):
        files[name] = str(folder / f"{name}.csv")
        table.to_csv(files[name], index=False)
    return files


def settings_values(
    folder: Path, labels: pd.DataFrame, gold: pd.DataFrame, settings: dict[str, Any], rng: Rng
) -> Files:
    for _ in range(int(rng.integers(1, 4))):
        section = str(rng.choice(["", "policy", "columns"]))
        target = settings.setdefault(section, {}) if section else settings
        if isinstance(target, dict):
            known = KEYS_OF[section] if rng.random() < 0.9 else KEYS
            target[_some(known, rng)] = _some(VALUES, rng)
    path = folder / "mdba.yaml"
    path.write_text(yaml.dump(settings, allow_unicode=True), encoding="utf-8")
    return {**_plain_files(folder, labels, gold), "config": str(path)}


def settings_text(
    folder: Path, labels: pd.DataFrame, gold: pd.DataFrame, settings: dict[str, Any], rng: Rng
) -> Files:
    data = yaml.safe_dump(settings).encode()
    what = rng.integers(3)
    if what == 0:
        data = flipped(data, rng)
    elif what == 1:
        data = _some(YAMLS, rng).encode()
    else:
        data += _some(YAMLS, rng).encode()
    path = folder / "mdba.yaml"
    path.write_bytes(data)
    return {**_plain_files(folder, labels, gold), "config": str(path)}


KINDS: dict[str, Damage] = {
    "csv bytes": of_bytes("csv", flipped),
    "csv cut": of_bytes("csv", truncated),
    "gzip bytes": of_bytes("csv.gz", flipped),
    "gzip cut": of_bytes("csv.gz", truncated),
    "parquet bytes": of_bytes("parquet", flipped),
    "parquet cut": of_bytes("parquet", truncated),
    "cells": of_tables(cells),
    "columns": of_tables(columns),
    "rows": of_tables(rows),
    "types": of_tables(types),
    "noise": noise,
    "settings": settings_values,
    "settings text": settings_text,
}
