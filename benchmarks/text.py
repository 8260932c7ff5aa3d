"""How long does it take to read texts, and how much memory, beside scikit-learn alone?

    python -m benchmarks.text --output benchmarks/results/text.csv

Short texts (4 to 19 words, nearly all different) are read in two ways, each in a process of its
own, with one thread: (a) scikit-learn's `HashingVectorizer` and `TruncatedSVD`, with their defaults
and 40 components, on texts that are in memory already; (b) `mdba_checks.tables.load`, from Parquet
files to encoded features, with everything else that it does. Seconds of processor time count, as
other work on the machine does not change them; peak memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.speed import machine

SIZES = (250_000, 500_000, 1_000_000)
GOLD = 800
WORDS = 60_000
COMPONENTS = 40
MOST_TIMES, MOST_MB = 3.0, 2048.0  # what is promised about the largest


def make(rows: int, folder: Path, seed: int = 0) -> None:
    """Write labels and gold whose only feature is a text; words are as frequent as Zipf says."""
    rng = np.random.default_rng(seed)
    syllables = np.array([one + two for one in "bcdfghklmnprstvw" for two in "aeiou"])
    vocabulary = np.array(
        ["".join(rng.choice(syllables, rng.integers(1, 6))) for _ in range(WORDS)], dtype=object
    )
    chance = np.cumsum(1 / np.arange(1, WORDS + 1))
    total = rows + GOLD
    lengths = rng.integers(4, 20, total)
    drawn = rng.random(int(lengths.sum())) * chance[-1]
    words = vocabulary[np.searchsorted(chance, drawn)]
    ends = np.cumsum(lengths)
    texts = [" ".join(words[end - n : end]) for end, n in zip(ends, lengths, strict=True)]
    frame = pd.DataFrame({"comment": texts, "group": rng.choice(["women", "men"], total)})
    answer = rng.integers(2, size=total)
    who = [f"w{n}" for n in rng.integers(100, size=rows)]
    labels = frame.iloc[:rows].assign(labeler=who, label=answer[:rows])
    labels.to_parquet(folder / "labels.parquet", index=False)
    frame.iloc[rows:].assign(gold=answer[rows:]).to_parquet(folder / "gold.parquet", index=False)


def scikit_learn(folder: Path) -> dict[str, Any]:
    """(a) What one would write instead."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import HashingVectorizer

    names = ("labels", "gold")
    texts = [
        text
        for name in names
        for text in pd.read_parquet(folder / f"{name}.parquet", columns=["comment"])["comment"]
    ]
    wall, start = time.perf_counter(), time.process_time()
    counts = HashingVectorizer().transform(texts)
    TruncatedSVD(COMPONENTS, random_state=0).fit_transform(counts)
    return _taken(wall, start)


def ours(folder: Path) -> dict[str, Any]:
    """(b) From files to encoded features."""
    from mdba_checks.config import CheckConfig
    from mdba_checks.tables import load

    wall, start = time.perf_counter(), time.process_time()
    data = load(folder / "labels.parquet", folder / "gold.parquet", CheckConfig())
    if data.features != ("comment",) or data.labels.trees.shape[1] != COMPONENTS:
        raise RuntimeError(f"not read as text: {data.messages}")
    return _taken(wall, start)


MEASURES = {"scikit-learn": scikit_learn, "load": ours}


def _taken(wall: float, start: float) -> dict[str, float]:
    used = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(used.split("VmHWM:")[1].split()[0]) / 1024
    return {
        "seconds": time.process_time() - start,
        "wall_seconds": time.perf_counter() - wall,
        "peak_mb": peak,
    }


def _measured(what: str, folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.text", "--measure", what, "--folder", folder]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **one}
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def run_all(sizes: tuple[int, ...]) -> pd.DataFrame:
    """Measure both ways at every size."""
    records = []
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            make(rows, Path(folder))
            for what in MEASURES:
                records.append({"texts": rows, "what": what, **_measured(what, folder)})
                print(records[-1], flush=True)
    return pd.DataFrame(records)


def main() -> int:
    """Measure and write, or be one of the processes that are measured; 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of texts")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(MEASURES[given.measure](given.folder)))
        return 0
    measured = run_all(tuple(map(int, given.sizes.split(","))))
    seconds = measured.pivot_table(index="texts", columns="what", values="seconds")
    times = seconds["load"] / seconds["scikit-learn"]
    peak = measured.loc[measured["what"] == "load", "peak_mb"].max()
    print(f"times of scikit-learn alone: {times.round(2).to_dict()}, peak {peak:.0f} MB")
    if given.output:
        head = f"# python -m benchmarks.text\n# {machine()}\n"
        given.output.write_text(head + measured.round(2).to_csv(index=False), encoding="utf-8")
    return int(times.iloc[-1] > MOST_TIMES or peak > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
