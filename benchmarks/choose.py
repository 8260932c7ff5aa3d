"""How much gold does choosing save? Chosen items beside random ones, on labels with a known truth.

    python -m benchmarks.choose --seeds 20 --jobs 2
    python -m benchmarks.choose --scale 1000000

Every draw has labels and the right answer of every item that could be judged. Random draws within
groups (as many from each) of several sizes give a curve of half-widths, and chosen gold, 200 items
in three rounds, is put on it: ``needed`` is their number divided by that of random items that would
make the intervals as narrow (at least 0.25, as the curve ends at 400 items, and empty where too few
seeds leave a curve that does not fall). Half-widths are means over comparisons that the smallest
random gold leaves undecided.

``first``: half-width from labels alone with 100 items, divided by that of 100 random ones.
``coverage``: how often 90% intervals from chosen gold hold the true gap of the labels in the table.
``stopped``: the same with three rounds and a look after each, every comparison at the first look
that settles it, else at the last.

Models of labelers do not depend on gold, so they are fitted once for all gold of a draw. Draws are
worked on seed by seed, over all settings, and what is written holds all draws so far: a run that is
ended early has fewer of them.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from benchmarks.crowd_simulation import Shape, simulate_crowd
from benchmarks.paper import datasets
from benchmarks.real_sets import DATA, hatecheck, payraise, words
from benchmarks.scoring import RESULTS, gaps_in_table, in_processes, write
from mdba_checks import CheckConfig, choose_gold, read_answers
from mdba_checks.estimation import estimate_rates, estimator, fit_pooled
from mdba_checks.findings import at_look, estimated_gaps, inspect, judge_tables
from mdba_checks.simulation import simulate
from mdba_checks.tables import GoldRows, load

RANDOM_SIZES = (100, 200, 400)
ROUNDS = (100, 50, 50)
ITEMS, LABELERS = 8_000, 8
SHOWN = {
    "setting": "",
    "draws": "",
    "needed": ".2f",
    "first": ".2f",
    "coverage": ".3f",
    "coverage_random": ".3f",
    "stopped": ".3f",
    "random_100": ".3f",
    "random_200": ".3f",
    "random_400": ".3f",
    "chosen_100": ".3f",
    "chosen_200": ".3f",
    "error_random": ".3f",
    "error_chosen": ".3f",
}


@dataclass(frozen=True)
class World:
    """Labels, the items that could be judged with their answers, and the truth."""

    labels: pd.DataFrame
    items: pd.DataFrame  # item, group, features
    answers: pd.Series  # by item
    truth: pd.DataFrame  # labeler, group, gap
    reference: str

    @property
    def config(self) -> CheckConfig:
        """How it is checked."""
        return CheckConfig(reference=self.reference, jobs=1)

    def judged(self, sheet: pd.DataFrame) -> pd.DataFrame:
        """Return a sheet with the right answers."""
        return sheet.assign(gold=[str(self.answers[item]) for item in sheet["item"]])


def paper(name: str, family: str, seed: int) -> World:
    """Return simulated labelers on one of the paper's data sets."""
    made = simulate(
        family=family,  # type: ignore[arg-type]
        covariates=datasets.load(name, DATA.parent),
        n_items=ITEMS,
        n_labelers=LABELERS,
        gold_per_group=10,
        seed=seed,
    )
    answers = made.answers.assign(item=made.answers["item"].astype(str))
    return _of_labels(
        made.labels.assign(item=made.labels["item"].astype(str)),
        answers.set_index("item")["gold"],
        made.truth[["labeler", "group", "gap"]],
        "men",
    )


def crowd(people: str, seed: int) -> World:
    """Return a crowd; experts can judge items that nobody labeled."""
    shape = Shape(people=people, labels_each=100, gold_per_group=1500)  # type: ignore[arg-type]
    made = simulate_crowd(shape, seed)
    gold = made.gold.assign(item="gold-" + made.gold["item"].astype(str))
    truth = made.truth.assign(group="women", gap=made.truth["table_gap"])
    labels = made.labels.assign(item=made.labels["item"].astype(str))
    answers = gold.set_index("item")["gold"]
    return World(
        labels, gold.drop(columns="gold"), answers, truth[["labeler", "group", "gap"]], "men"
    )


def real(name: str, seed: int) -> World:
    """Return real people; the few items that leave the labels as gold are not used."""
    rng = np.random.default_rng(seed)
    made = payraise(DATA, rng, 1) if name == "payraise" else hatecheck(DATA, rng, words, (1, 1))
    labels = made.labels.assign(item=made.labels["item"].astype(str))
    answers = pd.Series(made.right, index=labels["item"]).groupby(level=0).first()
    reference = "men" if name == "payraise" else "others"
    return _of_labels(labels, answers, gaps_in_table(labels, made.right, reference), reference)


def _of_labels(
    labels: pd.DataFrame, answers: pd.Series, truth: pd.DataFrame, reference: str
) -> World:
    items = labels.drop_duplicates("item").drop(columns=["labeler", "label"])
    return World(labels, items.reset_index(drop=True), answers, truth, reference)


def _settings() -> dict[str, Callable[[int], World]]:
    found: dict[str, Callable[[int], World]] = {}
    for name in ("adult", "credit", "employee", "readmission"):
        for family in ("correct", "incorrect", "inconsistent"):
            found[f"{name} {family}"] = lambda seed, n=name, f=family: paper(n, f, seed)  # type: ignore[misc]
    for people in ("consistent", "inconsistent"):
        found[f"crowd {people}"] = lambda seed, p=people: crowd(p, seed)  # type: ignore[misc]
    for name in ("payraise", "hatecheck"):
        found[name] = lambda seed, n=name: real(n, seed)  # type: ignore[misc]
    return found


SETTINGS = _settings()


class Checks:
    """Checks of the same labels with different gold, as `assess` would make them."""

    def __init__(self, world: World) -> None:
        self._world = world
        every = world.judged(world.items).reset_index(drop=True)
        self._data = load(world.labels, every, world.config)
        self._pooled = fit_pooled(self._data, seed=world.config.seed)
        place = np.empty(len(every), dtype=int)
        place[self._data.gold.position] = np.arange(len(every))
        self._row = pd.Series(place, index=every["item"])

    def __call__(
        self, gold: pd.DataFrame, looks: tuple[tuple[int, int] | None, ...] = (None,)
    ) -> list[pd.DataFrame]:
        """Return what is found with this gold, as one look or as a look at rounds."""
        rows = self._row[gold["item"]].to_numpy()
        order = np.argsort(rows)
        weight = gold["gold_weight"] if "gold_weight" in gold else np.ones(len(gold))
        taken = {name: values[rows[order]] for name, values in vars(self._data.gold).items()}
        mine = GoldRows(**taken | {"weight": np.asarray(weight, dtype=float)[order]})
        data, config = replace(self._data, gold=mine), self._world.config
        asked = estimator(config.estimator, config.c)
        found = estimate_rates(data, [asked], pooled=self._pooled, seed=config.seed)
        inspection, tables = inspect(data), []
        for look in looks:
            settings = at_look(config, look)
            draft, estimated = estimated_gaps(data, found, asked, inspection, settings)
            tables.append(judge_tables([(draft, estimated.basis)], settings))
        return [_compared(table, self._world) for table in tables]


def run(name: str, number: int) -> dict[str, Any]:
    """Return the figures of one draw."""
    world = SETTINGS[name](number)
    check = Checks(world)
    rng = np.random.default_rng([zlib.crc32(name.encode()), number])
    random = world.items.iloc[rng.permutation(len(world.items))]
    found: dict[str, Any] = {"setting": name, "draw": number}
    waits = None
    for size in RANDOM_SIZES:
        (looked,) = check(random.groupby("group").head(size // random["group"].nunique()))
        if waits is None:
            waits = (looked["finding"] == "inconclusive").to_numpy()
            waits = waits if waits.any() else np.ones(len(looked), dtype=bool)
        found |= _figures(looked, waits, f"random_{size}")
    sheets = _judged_rounds(world, number)
    looks = []
    for rounds in range(1, len(ROUNDS) + 1):
        gold = read_answers(sheets[:rounds]).gold
        at_once, in_rounds = check(gold, (None, (rounds, len(ROUNDS))))
        looks.append(in_rounds)
        # As one look: what looking after every round costs is measured by itself.
        found |= _figures(at_once, waits, f"chosen_{sum(ROUNDS[:rounds])}")
    return found | {"stopped": _stopped(looks)}


def _judged_rounds(world: World, seed: int) -> list[pd.DataFrame]:
    """Return judged sheets of successive rounds."""
    sheets: list[pd.DataFrame] = []
    elsewhere = not set(world.items["item"]) <= set(world.labels["item"])
    for size in ROUNDS:
        chosen = choose_gold(
            world.labels,
            size,
            items=world.items if elsewhere else None,
            judged=sheets,
            config=world.config,
            rounds=len(ROUNDS),
            seed=seed,
        )
        sheets.append(world.judged(chosen.sheet))
    return sheets


def _stopped(looks: list[pd.DataFrame]) -> float:
    """Return the share of intervals that hold the truth where people stop as soon as they can."""
    held = looks[-1]["held"].to_numpy()
    for looked in reversed(looks[:-1]):
        settled = (looked["finding"] != "inconclusive").to_numpy()
        held = np.where(settled, looked["held"].to_numpy(), held)
    return float(np.nanmean(held))


def _compared(gaps: pd.DataFrame, world: World) -> pd.DataFrame:
    """Return a row per comparison: half-width, finding, whether the interval holds the truth."""
    truth = world.truth.rename(columns={"gap": "truth"})
    found = gaps.merge(truth, on=["labeler", "group"], how="left", validate="one_to_one")
    held = (found["truth"] >= found["table_low"]) & (found["truth"] <= found["table_high"])
    known = found["truth"].notna() & found["table_low"].notna()
    return pd.DataFrame(
        {
            "half_width": ((found["ci_high"] - found["ci_low"]) / 2).fillna(1.0),
            "finding": found["finding"],
            "held": held.astype(float).where(known),
            "error": (found["table_gap"] - found["truth"]).abs(),
        }
    )


def _figures(looked: pd.DataFrame, waits: np.ndarray, name: str) -> dict[str, float]:
    return {
        name: float(looked["half_width"][waits].mean()),
        f"held_{name}": float(looked["held"].mean()),
        f"error_{name}": float(looked["error"].mean()),
    }


def summarize(draws: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one line for a setting."""
    table = pd.DataFrame(draws)
    mean = table.drop(columns=["setting", "draw"]).mean()
    curve = [mean[f"random_{size}"] for size in RANDOM_SIZES]
    chosen = sum(ROUNDS)
    name = f"chosen_{chosen}"
    return {
        "setting": draws[0]["setting"],
        "draws": len(draws),
        "needed": chosen / random_items_for(float(mean[name]), RANDOM_SIZES, curve),
        "first": mean["chosen_100"] / mean["random_100"],
        "first_error": mean["error_chosen_100"] / mean["error_random_100"],
        "coverage": mean[f"held_{name}"],
        "coverage_first": mean["held_chosen_100"],
        "coverage_random": mean["held_random_200"],
        "stopped": mean["stopped"],
        **{f"random_{size}": mean[f"random_{size}"] for size in RANDOM_SIZES},
        "chosen_100": mean["chosen_100"],
        name: mean[name],
        "error_random": mean["error_random_200"],
        "error_chosen": mean[f"error_{name}"],
    }


def random_items_for(wanted: float, sizes: tuple[int, ...], curve: list[float]) -> float:
    """Return how many random items give a half-width, by a curve of half-widths.

    The square of a half-width has a part that falls with one over the items and a part that stays:
    a line in 1 / n, fitted to all sizes. Not more than twice the largest size is believed, and
    nothing where the curve does not fall.

    Examples
    --------
    >>> round(random_items_for(0.1, (100, 400), [0.2, 0.1]))
    400
    >>> round(random_items_for(0.01, (100, 400), [0.2, 0.1]))
    800
    >>> random_items_for(0.1, (100, 400), [0.1, 0.1])
    nan
    """
    falls, stays = np.polyfit(1 / np.array(sizes), np.array(curve) ** 2, 1)
    if falls <= 1e-12:
        return float("nan")
    most = 2.0 * max(sizes)
    left = wanted**2 - stays
    return float(min(falls / left, most)) if left > 0 else most


def scale(n: int) -> dict[str, Any]:
    """Return how long choosing from so many items takes, and how much memory.

    The table is made by another process and read from a file, so that the peak is that of choosing.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "labels.parquet"
        with ProcessPoolExecutor(1, get_context("spawn")) as other:
            table_mb = other.submit(_write_labels, n, path).result()
        small = next(pq.ParquetFile(path).iter_batches(3_000)).to_pandas()
        choose_gold(small, 10, config=CheckConfig(reference="men", jobs=2))  # imports, once
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        begin, busy = time.perf_counter(), time.process_time()
        chosen = choose_gold(str(path), 200, config=CheckConfig(reference="men", jobs=2))
        seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {
        "items": n,
        "drawn": len(chosen.sheet),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "table_mb": table_mb,
        "more_mb": peak - before,
    }


def _write_labels(n: int, path: Path) -> float:
    """Write labels of so many items; return their size in memory."""
    made = simulate(n_items=n + 2_000, n_labelers=20, gold_per_group=1_000, seed=1)
    made.labels.to_parquet(path)
    return float(made.labels.memory_usage(deep=True).sum() / 1e6)


def main() -> None:
    """Run the settings and write what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", choices=sorted(SETTINGS), metavar="SETTING")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--scale", type=int, metavar="ITEMS", help="measure time and memory only")
    parser.add_argument("--output", type=Path, default=RESULTS / "choose.csv")
    given = parser.parse_args()
    if given.scale:
        rows = [scale(given.scale)]
        shown = {"items": ",", "seconds": ".1f", "cpu_seconds": ".1f", "table_mb": ".0f"}
        shown |= {"more_mb": ".0f"}
        write(
            given.output.with_stem(f"{given.output.stem}_scale"), "benchmarks.choose", rows, shown
        )
        print(rows[0])
        return
    names = list(given.only or SETTINGS)
    seeds = range(given.first, given.first + given.seeds)
    draws: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for drawn in in_processes(run, [(name, seed) for seed in seeds for name in names], given.jobs):
        draws[drawn["setting"]].append(drawn)
        print(drawn["setting"], drawn["draw"], file=sys.stderr, flush=True)
        if drawn["setting"] == names[-1]:
            rows = [summarize(draws[name]) for name in names]
            write(given.output, "benchmarks.choose", [*rows, _mean_of(rows)], SHOWN)


def _mean_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean over settings, each counted once."""
    numbers = pd.DataFrame(rows).drop(columns="setting")
    return {"setting": "mean", **numbers.mean().to_dict()} | {"draws": rows[0]["draws"]}


if __name__ == "__main__":
    main()
