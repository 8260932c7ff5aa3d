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
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.crowd_simulation import Shape, simulate_crowd
from benchmarks.paper.datasets import load
from benchmarks.real_sets import DATA, hatecheck, payraise, words
from benchmarks.scoring import RESULTS, gaps_in_table, in_processes, write
from mdba_checks import Assessment, CheckConfig, assess, choose_gold, read_answers
from mdba_checks.simulation import simulate

RANDOM_SIZES = (100, 200, 400)
ROUNDS = (100, 50, 50)
ITEMS, LABELERS = 8_000, 8
SHOWN = {
    "setting": "",
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
        covariates=load(name, DATA.parent),
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


def run(name: str, number: int) -> dict[str, Any]:
    """Return the figures of one draw."""
    world = SETTINGS[name](number)
    rng = np.random.default_rng([zlib.crc32(name.encode()), number])
    random = _random_order(world.items, rng)
    found: dict[str, Any] = {"setting": name, "draw": number}
    first, waits = None, None
    for size in RANDOM_SIZES:
        gold = random.groupby("group").head(size // random["group"].nunique())
        looked = _compared(
            assess(world.labels, world.judged(gold).reset_index(drop=True), world.config), world
        )
        if first is None:
            first = looked
            waits = (looked["finding"] == "inconclusive").to_numpy()
            waits = waits if waits.any() else np.ones(len(looked), dtype=bool)
        found |= _figures(looked, waits, f"random_{size}")
    sheets = _judged_rounds(world, number)
    for rounds in (1, len(ROUNDS)):
        # As one look: what looking after every round costs is measured by itself.
        gold = read_answers(sheets[:rounds]).gold.drop(columns="gold_round")
        looked = _compared(assess(world.labels, gold, world.config), world)
        found |= _figures(looked, waits, f"chosen_{sum(ROUNDS[:rounds])}")
    return found | {"stopped": _stopped(world, sheets)}


def _random_order(items: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return items.iloc[rng.permutation(len(items))]


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


def _stopped(world: World, sheets: list[pd.DataFrame]) -> float:
    """Return the share of intervals that hold the truth where people stop as soon as they can."""
    held = done = None
    for number in range(1, len(ROUNDS) + 1):
        looked = _compared(
            assess(world.labels, read_answers(sheets[:number]).gold, world.config), world
        )
        now = looked["held"].to_numpy()
        held = now if held is None or done is None else np.where(done, held, now)
        settled = (looked["finding"] != "inconclusive").to_numpy()
        done = settled if done is None else done | settled
    return float(np.nanmean(held)) if held is not None else float("nan")


def _compared(assessment: Assessment, world: World) -> pd.DataFrame:
    """Return a row per comparison: half-width, finding, whether the interval holds the truth."""
    gaps = assessment.gaps
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
    """Return how long choosing from so many items takes, and how much memory."""
    made = simulate(n_items=n + 2_000, n_labelers=20, gold_per_group=1_000, seed=1)
    labels = made.labels
    table_mb = labels.memory_usage(deep=True).sum() / 1e6
    del made
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    begin, busy = time.perf_counter(), time.process_time()
    chosen = choose_gold(labels, 200, config=CheckConfig(reference="men", jobs=2))
    return {
        "items": len(labels),
        "drawn": len(chosen.sheet),
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - busy,
        "table_mb": table_mb,
        "peak_before_mb": before,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


def main() -> None:
    """Run the settings and write what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=sorted(SETTINGS), metavar="SETTING")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--scale", type=int, metavar="ITEMS", help="measure time and memory only")
    parser.add_argument("--output", type=Path, default=RESULTS / "choose.csv")
    given = parser.parse_args()
    if given.scale:
        rows = [scale(given.scale)]
        shown = {"items": ",", "seconds": ".1f", "cpu_seconds": ".1f", "table_mb": ".0f"}
        shown |= {"peak_before_mb": ".0f", "peak_mb": ".0f"}
        write(
            given.output.with_stem(f"{given.output.stem}_scale"), "benchmarks.choose", rows, shown
        )
        print(rows[0])
        return
    rows = []
    for name in given.only or SETTINGS:
        calls = [(name, number) for number in range(given.seeds)]
        rows.append(summarize(list(in_processes(run, calls, given.jobs))))  # type: ignore[arg-type]
        print({key: rows[-1][key] for key in SHOWN}, file=sys.stderr, flush=True)
        write(given.output, "benchmarks.choose", rows, SHOWN)


if __name__ == "__main__":
    main()
