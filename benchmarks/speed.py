"""How long does a check take, and how much memory, beside what people would run instead?

    python -m benchmarks.speed --output benchmarks/results/speed.csv

Every measurement is a process of its own, one after the other, on the same files, with one thread
each: (a) `mdba check` from files to verdict, (b) `assess` alone, (c) the loop that one would write
instead, an XGBoost classifier per labeler with 5-fold predictions, (d) cleanlab's confident
learning with the same XGBoost, (e) the bare XGBoost fits inside (b), as the floor. Peak memory is
that of the process less what it had taken once its libraries were there. A plot is written beside
the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

TREES = {"n_estimators": 100, "max_depth": 4, "learning_rate": 0.1, "n_jobs": 1}
FOLDS = 5
LOOP_LABELERS = 20  # of more, the loop is measured on so many and scaled
GOLD = 800


@dataclass(frozen=True)
class Job:
    """A data set: numbers and categories, encoded about `columns` for linear models."""

    name: str
    labelers: int
    labels_each: int
    numbers: int
    categories: int = 0  # of 10 levels each

    @property
    def rows(self) -> int:
        """All labels."""
        return self.labelers * self.labels_each

    @property
    def columns(self) -> int:
        """Columns once categories are one-hot."""
        return self.numbers + 10 * self.categories


STANDARD = Job("standard", 10, 4500, 12, 9)
JOBS = {
    job.name: job
    for job in (
        STANDARD,
        Job("rows doubled", 10, 9000, 12, 9),
        Job("labelers doubled", 20, 2250, 12, 9),
        Job("features doubled", 10, 4500, 24, 18),
        Job("crowd", 1000, 1000, 20),
        Job("half the crowd", 500, 1000, 20),
        Job("long tail", 100_000, 10, 20),
        Job("half the long tail", 50_000, 10, 20),
    )
}


def make(job: Job, folder: Path, seed: int = 0) -> None:
    """Write labels and gold; labelers differ in how harsh they are on one group."""
    rng = np.random.default_rng(seed)
    rows = job.rows + GOLD
    table = {f"x{n}": rng.normal(size=rows) for n in range(job.numbers)}
    score = sum((table[name] for name in list(table)[:6]), np.zeros(rows))
    for n in range(job.categories):
        codes = rng.integers(10, size=rows)
        score += 0.4 * (codes - 4.5) / 3
        table[f"c{n}"] = pd.Categorical.from_codes(codes, list("abcdefghij"))
    group = rng.integers(2, size=rows)
    right = (score + rng.logistic(size=rows) > 1).astype(np.int8)
    frame = pd.DataFrame({**table, "group": np.where(group, "women", "men")})
    who = np.repeat(np.arange(job.labelers), job.labels_each)
    harsh = rng.uniform(0.02, 0.3, job.labelers)[who] * group[: job.rows]
    said = right[: job.rows] * (rng.random(job.rows) >= harsh)
    labels = frame.iloc[: job.rows].assign(labeler=[f"w{n}" for n in who], label=said)
    labels.to_parquet(folder / "labels.parquet")
    frame.iloc[job.rows :].assign(gold=right[job.rows :]).to_parquet(folder / "gold.parquet")


# --- What is measured, each in a process of its own ----------------------------------------------


def whole_check(folder: Path) -> dict[str, Any]:
    """(a) The command, from files to verdict; exit code 1 is a verdict too."""
    command = [sys.executable, "-m", "mdba_checks", "check", str(folder / "labels.parquet")]
    command += ["--gold", str(folder / "gold.parquet"), "--reference", "men", "--jobs", "1"]
    start = time.perf_counter()
    done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(done.stderr)
    return {"seconds": seconds}


def assess_alone(folder: Path) -> dict[str, Any]:
    """(b) `assess`, intervals and diagnostics included, and how its time is spent."""
    from mdba_checks import CheckConfig, assessment

    config = CheckConfig(reference="men", jobs=1)
    spent = {"load": 0.0, "estimate_rates": 0.0}

    def timed(name: str) -> None:
        inner = getattr(assessment, name)

        def outer(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            answer = inner(*args, **kwargs)
            spent[name] += time.perf_counter() - begin
            return answer

        setattr(assessment, name, outer)

    for name in spent:
        timed(name)
    base = _resident()
    start = time.perf_counter()
    result = assessment.assess(folder / "labels.parquet", folder / "gold.parquet", config)
    seconds = time.perf_counter() - start
    if not len(result.gaps):
        raise RuntimeError("nothing was estimated")
    return {
        "seconds": seconds,
        "peak_mb": _peak() - base,
        "after_estimation": seconds - sum(spent.values()),
    }


def paper_loop(folder: Path) -> dict[str, Any]:
    """(c) A classifier per labeler: 5-fold predictions of its rows, and predictions of gold."""
    from sklearn.model_selection import cross_val_predict
    from xgboost import XGBClassifier

    labels, gold = _tables(folder)
    columns, on_gold = _one_hot(labels, gold)
    who, said = pd.factorize(labels["labeler"])[0], labels["label"].to_numpy()
    n_labelers = int(who.max()) + 1
    some = min(n_labelers, LOOP_LABELERS)
    start = time.perf_counter()
    for labeler in range(some):
        rows = np.flatnonzero(who == labeler)
        model = XGBClassifier(**TREES)
        cross_val_predict(model, columns[rows], said[rows], cv=FOLDS, method="predict_proba")
        model.fit(columns[rows], said[rows]).predict_proba(on_gold)
    return {"seconds": (time.perf_counter() - start) * n_labelers / some}


def confident_learning(folder: Path) -> dict[str, Any]:
    """(d) cleanlab: 5-fold predictions of all rows, the labels it keeps, a model of those."""
    from cleanlab.filter import find_label_issues
    from sklearn.model_selection import cross_val_predict
    from xgboost import XGBClassifier

    labels, gold = _tables(folder)
    columns, _ = _one_hot(labels, gold)
    said = labels["label"].to_numpy()
    start = time.perf_counter()
    model = XGBClassifier(**TREES)
    chances = cross_val_predict(model, columns, said, cv=FOLDS, method="predict_proba")
    kept = ~find_label_issues(said, chances, n_jobs=1)
    model.fit(columns[kept], said[kept]).predict_proba(columns)
    return {"seconds": time.perf_counter() - start}


def bare_fits(folder: Path) -> dict[str, Any]:
    """(e) The XGBoost fits and predictions that `assess` makes, and nothing else."""
    from mdba_checks import CheckConfig, assess
    from mdba_checks.estimation import FittedBooster, XGBoostLearner

    spent = 0.0

    def timed(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def outer(*args: Any, **kwargs: Any) -> Any:
            nonlocal spent
            begin = time.perf_counter()
            answer = inner(*args, **kwargs)
            spent += time.perf_counter() - begin
            return answer

        setattr(owner, name, outer)

    timed(XGBoostLearner, "fit")
    timed(FittedBooster, "logit")
    config = CheckConfig(reference="men", jobs=1)
    assess(folder / "labels.parquet", folder / "gold.parquet", config)
    return {"seconds": spent}


MEASURES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "mdba check": whole_check,
    "assess": assess_alone,
    "loop": paper_loop,
    "cleanlab": confident_learning,
    "bare fits": bare_fits,
}


def _tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(folder / "labels.parquet"), pd.read_parquet(folder / "gold.parquet")


def _one_hot(labels: pd.DataFrame, gold: pd.DataFrame) -> tuple[Any, Any]:
    both = pd.concat([labels, gold]).drop(columns=["labeler", "label", "gold"])
    columns = pd.get_dummies(both, dtype=np.float32).to_numpy(np.float32)
    return columns[: len(labels)], columns[len(labels) :]


def _resident() -> float:
    return _status("VmRSS")


def _peak() -> float:
    return _status("VmHWM")


def _status(name: str) -> float:
    text = Path("/proc/self/status").read_text()
    return int(text.split(f"{name}:")[1].split()[0]) / 1024


# --- The runs ------------------------------------------------------------------------------------

PLAN = (  # job, what, how often: the best counts
    ("standard", ("mdba check", "assess", "loop", "cleanlab", "bare fits"), 3),
    ("rows doubled", ("assess",), 3),
    ("labelers doubled", ("assess",), 3),
    ("features doubled", ("assess",), 3),
    ("crowd", ("mdba check", "assess", "loop", "bare fits"), 1),
    ("half the crowd", ("assess",), 1),
    ("long tail", ("mdba check", "assess"), 1),
    ("half the long tail", ("assess",), 1),
)


def run_all(only: set[str]) -> pd.DataFrame:
    """Make every job's files and measure what the plan says, in turns."""
    records = []
    for name, asked, times in PLAN:
        if only and name not in only:
            continue
        job = JOBS[name]
        with tempfile.TemporaryDirectory() as folder:
            make(job, Path(folder))
            table = pd.read_parquet(Path(folder, "labels.parquet"))
            table_mb = float(table.memory_usage(deep=False).sum()) / 2**20
            del table
            runs = [{what: _measured(what, folder) for what in asked} for _ in range(times)]
        for what in asked:
            best = min((run[what] for run in runs), key=lambda each: float(each["seconds"]))
            size = {key: value for key, value in asdict(job).items() if key != "name"}
            record = {"job": name, "rows": job.rows, "columns": job.columns, **size}
            records.append({**record, "what": what, "table_mb": table_mb, **best})
            print(name, what, {key: round(value, 2) for key, value in best.items()}, flush=True)
    return pd.DataFrame(records)


def _measured(what: str, folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.speed", "--measure", what, "--folder", folder]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **one}
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def start_up() -> dict[str, float]:
    """Return the seconds of `mdba --help`, and of Python with typer."""
    spent: dict[str, list[float]] = {"mdba --help": [], "python and typer": []}
    for _ in range(7):
        for name, rest in (("mdba --help", ["-m", "mdba_checks", "--help"]), *_BARE):
            begin = time.perf_counter()
            subprocess.run([sys.executable, *rest], capture_output=True, check=True)
            spent[name].append(time.perf_counter() - begin)
    return {name: median(taken) for name, taken in spent.items()}


_BARE = (("python and typer", ["-c", "import typer; typer.Typer()"]),)


def ratios(measured: pd.DataFrame, help_seconds: dict[str, float]) -> pd.DataFrame:
    """Return what the figures say, as ratios within this run."""
    best = measured.set_index(["job", "what"])
    seconds = best["seconds"]
    found: list[tuple[str, float]] = []

    def ratio(name: str, one: tuple[str, str], other: tuple[str, str]) -> None:
        if one in seconds.index and other in seconds.index:
            found.append((name, float(seconds[one] / seconds[other])))

    plain = ("standard", "assess")
    ratio("standard: assess / loop", plain, ("standard", "loop"))
    ratio("standard: assess / cleanlab", plain, ("standard", "cleanlab"))
    ratio("standard: assess / bare fits", plain, ("standard", "bare fits"))
    ratio("standard: mdba check / assess", ("standard", "mdba check"), plain)
    ratio("crowd: assess / loop", ("crowd", "assess"), ("crowd", "loop"))
    for more in ("rows", "labelers", "features"):
        ratio(f"{more} doubled: time", (f"{more} doubled", "assess"), plain)
    ratio("crowd: rows and labelers doubled", ("crowd", "assess"), ("half the crowd", "assess"))
    tail = ("long tail", "assess")
    ratio("long tail: rows and labelers doubled", tail, ("half the long tail", "assess"))
    for job in ("crowd", "long tail"):
        if (job, "assess") in best.index:
            row = best.loc[(job, "assess")]
            found.append((f"{job}: peak memory / table", float(row["peak_mb"] / row["table_mb"])))
    for job in ("standard", "crowd"):
        if (job, "assess") in best.index:
            row = best.loc[(job, "assess")]
            share = float(row["after_estimation"] / row["seconds"])
            found.append((f"{job}: intervals and diagnostics / assess", share))
    above = help_seconds["mdba --help"] - help_seconds["python and typer"]
    found.append(("mdba --help above python and typer, seconds", above))
    return pd.DataFrame(found, columns=["ratio", "value"])


def plot(measured: pd.DataFrame, path: Path) -> None:
    """Draw the times side by side, one panel per job that has more than one."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    jobs = [job for job in ("standard", "crowd", "long tail") if job in set(measured["job"])]
    figure, axes = plt.subplots(1, len(jobs), figsize=(4 * len(jobs), 2.6), squeeze=False)
    for axis, job in zip(axes[0], jobs, strict=True):
        here = measured[measured["job"] == job].iloc[::-1]
        ours = here["what"].isin(["assess", "mdba check"])
        axis.barh(here["what"], here["seconds"], color=np.where(ours, "#1f6f8b", "#b8b8b8"))
        for place, value in enumerate(here["seconds"]):
            axis.annotate(f" {value:,.1f} s", (value, place), va="center", fontsize=8)
        row = here.iloc[0]
        axis.set_title(f"{job}: {row['rows']:,} labels, {row['labelers']:,} labelers", fontsize=9)
        axis.margins(x=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_xlabel("seconds, one thread")
    figure.tight_layout()
    figure.savefig(path)


def machine() -> str:
    """Return what the figures depend on, in one line."""
    names = ("mdba-checks", "numpy", "pandas", "pyarrow", "scikit-learn", "xgboost", "cleanlab")
    versions = ", ".join(f"{name} {version(name)}" for name in names if _there(name))
    here = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return f"{here}, {versions}"


def _there(name: str) -> bool:
    try:
        return bool(version(name))
    except ImportError:
        return False


def main() -> None:
    """Measure and write, or be one of the processes that are measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", default="", help="only these, with commas between them")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(MEASURES[given.measure](given.folder)))
        return
    measured = run_all({name for name in given.jobs.split(",") if name})
    said = ratios(measured, start_up())
    print(said.to_string(index=False))
    if given.output:
        only = f" --jobs '{given.jobs}'" if given.jobs else ""
        head = f"# python -m benchmarks.speed{only} --output {given.output}\n# {machine()}\n"
        given.output.write_text(head + measured.round(4).to_csv(index=False))
        beside = given.output.with_name(f"{given.output.stem}_ratios.csv")
        beside.write_text(head + said.round(4).to_csv(index=False))
        plot(measured, given.output.with_suffix(".svg"))


if __name__ == "__main__":
    main()
