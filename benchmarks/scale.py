"""Labels that stay on a cluster: what does a check cost, and how much does the decider hold?

    python -m benchmarks.scale --rows 1000000 2000000 --engines dask spark

Makes a wide table of labels in Parquet parts, and lets a process of its own check, quarantine and
write it on two workers of this machine. Memory is the resident peak of the deciding process less
what it had taken when the cluster was open and the libraries were there; the table is `table_mb` as
arrays. Dask's scheduler runs in the deciding process and counts; Spark's driver is a JVM beside it
and does not.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

PART_ROWS = 125_000
GOLD = 800
ENGINES = ("dask", "spark")


def make(folder: Path, rows: int, columns: int, labelers: int, used: int) -> float:
    """Write labels in parts and gold; return the size of the labels as arrays, in MB."""
    rng = np.random.default_rng(0)
    labels = folder / "labels"
    labels.mkdir()
    names = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(columns)]
    size = 0

    def some(n: int) -> tuple[pd.DataFrame, Any]:
        frame = pd.DataFrame(rng.normal(size=(n, columns)), columns=names)
        frame["group"] = rng.choice(["men", "women"], n)
        score = frame[names[:used]].sum(axis=1) + rng.logistic(size=n)
        return frame, (score > 1).to_numpy().astype(np.int64)

    harsh = np.where(np.arange(labelers) < labelers // 20, 0.45, 0.03)
    for begin in range(0, rows, PART_ROWS):
        n = min(PART_ROWS, rows - begin)
        frame, right = some(n)
        who = rng.integers(labelers, size=n)
        lost = (frame["group"] == "women") & (rng.random(n) < harsh[who])
        frame["labeler"] = [f"w{each}" for each in who]
        frame["label"] = np.where(lost, 0, right)
        frame["row"] = np.arange(begin, begin + n) + 0.5
        table = pa.Table.from_pandas(frame, preserve_index=False)
        size += table.nbytes
        pq.write_table(table, labels / f"{begin:010d}.parquet", compression="zstd")
    gold, right = some(GOLD)
    gold.assign(gold=right).to_parquet(folder / "gold.parquet")
    return size / 1e6


class Peak:
    """The resident memory of this process, looked at ten times a second."""

    def __init__(self) -> None:
        self.most = self.start = _resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.most = max(self.most, _resident())

    def stop(self) -> float:
        """Return the peak above the start, in MB."""
        self._stop.set()
        self._thread.join()
        return self.most - self.start


def _resident() -> float:
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1000


def measure(engine: str, folder: Path, features: list[str], memory: str) -> dict[str, Any]:
    """Check, quarantine and write the labels; in a process of its own."""
    from mdba_checks import CheckConfig, Policy, assess
    from mdba_checks.outputs import decide_release, verify, write_release

    policy = Policy(mode="quarantine", on_inconclusive="annotate")
    config = CheckConfig(reference="men", features=features, policy=policy, jobs=2)
    labels: Any = str(folder / "labels")
    if engine == "dask":
        from distributed import Client, LocalCluster

        config = config.model_copy(update={"engine": "dask"})
        cluster: Any = LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=memory, dashboard_address=None
        )
        client: Any = Client(cluster)
        client.run(_import)
    else:
        from pyspark.sql import SparkSession

        session: Any = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "2g")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        labels = session.read.parquet(labels)
    few = pd.read_parquet(folder / "gold.parquet").rename(columns={"gold": "label"})
    local = config.model_copy(update={"engine": "local"})
    assess(few.assign(labeler="w0"), folder / "gold.parquet", local)  # libraries are there then
    peak, spent, begin = Peak(), {}, time.perf_counter()

    def done(name: str) -> None:
        nonlocal begin
        spent[name] = time.perf_counter() - begin
        begin = time.perf_counter()

    assessment = assess(labels, folder / "gold.parquet", config)
    done("check")
    found = decide_release(labels, folder / "gold.parquet", assessment)
    done("recheck")
    published = write_release(labels, found, folder / f"{engine}.parquet")
    done("write")
    most = peak.stop()
    about = published.record.file
    if about is None or not verify(folder / f"{engine}.parquet").ok:
        raise RuntimeError("what was written is not what its sidecar describes")
    return {
        **{f"{name}_s": round(seconds, 1) for name, seconds in spent.items()},
        "decider_mb": round(most, 1),
        "verdict": found.decision.verdict,
        "rows_written": about.rows,
    }


def _import() -> None:
    import xgboost

    import mdba_checks.outputs  # noqa: F401  so that its time is not that of the check

    del xgboost


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 2_000_000])
    parser.add_argument("--columns", type=int, default=100, help="numbers per row")
    parser.add_argument("--used", type=int, default=4, help="how many of them are features")
    parser.add_argument("--labelers", type=int, default=200)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--worker-memory", default="1500MB", help="of each Dask worker")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        engine, folder, features, memory = given.one
        told = measure(engine, Path(folder), features.split(","), memory)
        print("RESULT" + json.dumps(told))
        return
    found = []
    for rows in given.rows:
        with tempfile.TemporaryDirectory(prefix="mdba-scale-") as name:
            folder = Path(name)
            size = make(folder, rows, given.columns, given.labelers, given.used)
            features = ",".join(f"a{chr(97 + n)}" for n in range(given.used))
            for engine in given.engines:
                command = [sys.executable, "-m", "benchmarks.scale", "--one", engine, name]
                done = subprocess.run(
                    [*command, features, given.worker_memory],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                lines = [x for x in done.stdout.splitlines() if x.startswith("RESULT")]
                if not lines:
                    raise RuntimeError(done.stdout[-1000:] + done.stderr[-3000:])
                told = json.loads(lines[0].removeprefix("RESULT"))
                shape = {"engine": engine, "rows": rows, "columns": given.columns}
                share = round(told["decider_mb"] / size, 3)
                found.append({**shape, "table_mb": round(size, 1), **told, "decider_share": share})
                print(found[-1], flush=True)
                if given.output:
                    _write(given.output, found, sys.argv[1:])


def _write(path: Path, rows: list[dict[str, Any]], arguments: list[str]) -> None:
    place = arguments.index("--output")
    shown = " ".join(arguments[:place] + arguments[place + 2 :])
    names = ("mdba-checks", "numpy", "pyarrow", "pandas", "xgboost", "distributed", "pyspark")
    head = f"# python -m benchmarks.scale {shown}\n# 2 cores, {platform.machine()}, "
    head += f"Python {platform.python_version()}, "
    head += ", ".join(f"{each} {version(each)}" for each in names)
    path.write_text(f"{head}\n{pd.DataFrame(rows).to_csv(index=False)}")


if __name__ == "__main__":
    main()
