"""Labelers who game the check: what it still finds, and what gives them away.

Eight labelers decide on simulated items; the honest ones treat women and men alike (true positive
rates 0.94 and 0.95). Some set out to look better than their labels are (0.55 for women):

- ``recognises gold``: one knows a gold item when seeing one, with probability `strength`, and then
  gives the right answer;
- ``recognises gold, mild``: the same, by somebody with a true positive rate of 0.75 for women;
- ``adds noise``: one answers at random, with probability `strength`;
- ``adds noise for men``: the same, but only for men, who then fare no better than women;
- ``collude``: the share `strength` of the labelers is harsh on women in the same way;
- ``sends copies``: one sends the share `strength` of their rows again;
- ``honest``: nobody does anything; every suspicion is a false alarm.

Tables: with the gold items among the labels of everybody and an item column (``items``), the same
without item column (``no items``), and with gold items that nobody labeled (``apart``), which is
also what is left when somebody takes the gold items out of the labels.

Every line of the result is one setting. Of the gamers: the share found biased, fair, inconclusive;
``fair_report``, the share found fair if serious checks were only reported; the mean estimated gap,
and the mean true gap on items that are not gold. Of the honest labelers beside them: the share
found biased (a false call) and fair. Of the data sets: the share with each verdict, and
``lenient``, the share let through by a policy that lets inconclusive findings pass. And how often
each check raises a suspicion, of gamers, of honest labelers, and (``consensus``) of data sets.

Run it from the root of the checkout::

    python -m benchmarks.gaming --runs 20 --output benchmarks/results/gaming.csv
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.outputs import write_whole
from mdba_checks.simulation import Family, simulate

RESULTS = Path(__file__).parent / "results" / "gaming.csv"

Way = Literal[
    "recognises gold",
    "recognises gold, mild",
    "adds noise",
    "adds noise for men",
    "collude",
    "sends copies",
    "honest",
]
Tables = Literal["items", "no items", "apart", "apart, no items"]

N_LABELERS, N_ITEMS, GOLD_PER_GROUP = 8, 6_000, 200
HARSH, MILD, FAIR = 0.55, 0.75, 0.94
REPORT, LENIENT = Policy(on_serious="report"), Policy(on_inconclusive="pass")


@dataclass(frozen=True)
class Setting:
    """Who games, how strongly, and what the tables show."""

    way: Way
    family: Family
    tables: Tables
    strength: float


def settings() -> Iterator[Setting]:
    """Yield all settings that are measured."""
    families: tuple[Family, ...] = ("correct", "incorrect", "inconsistent")
    every: tuple[Tables, ...] = ("items", "no items", "apart")
    two: tuple[Tables, ...] = ("items", "apart")
    for family, tables in itertools.product(families, every):
        yield Setting("honest", family, tables, 0.0)
    for family, tables in itertools.product(("correct", "inconsistent"), every):
        for strength in (0.0, 0.25, 0.5, 1.0):
            yield Setting("recognises gold", family, tables, strength)
    for family, strength in itertools.product(("correct", "inconsistent"), (0.0, 0.5, 1.0)):
        yield Setting("recognises gold, mild", family, "items", strength)
    for family, tables in itertools.product(("correct", "inconsistent"), two):
        for strength in (0.3, 0.6, 0.9):
            yield Setting("adds noise", family, tables, strength)
    for strength in (0.3, 0.6, 0.9):
        yield Setting("adds noise for men", "correct", "apart", strength)
    for family, tables in itertools.product(("correct", "incorrect"), two):
        for strength in (0.5, 0.75, 1.0):
            yield Setting("collude", family, tables, strength)
    for strength in (0.2, 0.6):
        yield Setting("sends copies", "correct", "apart, no items", strength)


@dataclass(frozen=True)
class Made:
    """Tables as a check would get them, and who games; `answers` is what is right, by item."""

    labels: pd.DataFrame
    gold: pd.DataFrame
    gamers: frozenset[str]
    answers: pd.Series[Any]


def make(
    setting: Setting,
    seed: int,
    *,
    n_items: int = N_ITEMS,
    n_labelers: int = N_LABELERS,
    gold_per_group: int = GOLD_PER_GROUP,
) -> Made:
    """Simulate labelers of whom some game.

    Everybody decides on every item; each keeps the gold items and an own share of the others.
    """
    rng = np.random.default_rng([seed, 11])
    n_gamers = {"honest": 0, "collude": round(setting.strength * n_labelers)}.get(setting.way, 1)
    rate = MILD if setting.way.endswith("mild") else HARSH
    simulated = simulate(
        family=setting.family,
        n_items=n_items,
        n_labelers=n_labelers,
        overlap=n_labelers,
        tprs=[rate] * n_gamers + [FAIR] * (n_labelers - n_gamers),
        gold_per_group=1,  # gold is drawn from the labeled items instead
        seed=seed,
    )
    answers = simulated.answers.set_index("item")["gold"]
    everything = simulated.labels
    shuffled = everything.drop_duplicates("item").sample(frac=1, random_state=seed)
    chosen = shuffled.groupby("group").head(gold_per_group)["item"]
    person, names = pd.factorize(everything["labeler"], sort=True)
    is_gold = everything["item"].isin(chosen)
    labels = everything[is_gold | (everything["item"] % n_labelers == person)].reset_index(
        drop=True
    )
    gamers = frozenset(names[:n_gamers])
    labels = _gamed(labels, setting, gamers, chosen, answers, rng)
    gold = shuffled[shuffled["item"].isin(chosen)].drop(columns=["labeler", "label"])
    gold["gold"] = answers.loc[gold["item"]].to_numpy()
    if setting.tables.startswith("apart"):
        labels = labels[~labels["item"].isin(chosen)].reset_index(drop=True)
    return Made(labels, gold.reset_index(drop=True), gamers, answers)


def _gamed(
    labels: pd.DataFrame,
    setting: Setting,
    gamers: frozenset[str],
    chosen: pd.Series[Any],
    answers: pd.Series[Any],
    rng: np.random.Generator,
) -> pd.DataFrame:
    theirs = labels["labeler"].isin(gamers)
    now = theirs & (rng.random(len(labels)) < setting.strength)
    if setting.way.startswith("recognises gold"):
        now &= labels["item"].isin(chosen)
        labels.loc[now, "label"] = answers.loc[labels.loc[now, "item"]].to_numpy()
    elif setting.way in ("adds noise", "adds noise for men"):
        if setting.way == "adds noise for men":
            now &= labels["group"] == "men"
        labels.loc[now, "label"] = rng.integers(2, size=int(now.sum()))
    elif setting.way == "sends copies":
        labels = pd.concat([labels, labels[now]], ignore_index=True)
    return labels


def true_gap(made: Made, labeler: str) -> float:
    """Return the gap of a labeler on the items that are not gold."""
    rows = made.labels[
        (made.labels["labeler"] == labeler) & ~made.labels["item"].isin(made.gold["item"])
    ]
    right = rows[made.answers.loc[rows["item"]].to_numpy() == 1]
    rate = right.groupby("group")["label"].mean()
    return float(rate["women"] - rate["men"])


def checked(made: Made, tables: Tables, seed: int = 0) -> Any:
    """Assess the tables, with or without their item column."""
    unnamed = ["item"] if tables.endswith("no items") else []
    config = CheckConfig(reference="men", seed=seed, jobs=1)
    return assess(made.labels.drop(columns=unnamed), made.gold.drop(columns=unnamed), config)


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Return what is found in one data set, as shares."""
    made = make(setting, seed)
    assessment = checked(made, setting.tables, seed)
    gaps = assessment.gaps.set_index("labeler")
    games = gaps.index.isin(made.gamers)
    reported = assessment.with_policy(REPORT).gaps.set_index("labeler")["finding"]
    result: dict[str, float] = {
        name: _share(gaps["finding"][games] == name) for name in ("biased", "fair", "inconclusive")
    }
    result["fair_report"] = _share(reported[games] == "fair")
    result["gap"] = float(gaps["gap"][games].mean())
    result["true_gap"] = _share([true_gap(made, who) for who in sorted(made.gamers)])
    result["honest_biased"] = _share(gaps["finding"][~games] == "biased")
    result["honest_fair"] = _share(gaps["finding"][~games] == "fair")
    verdict = gate(assessment).verdict
    result |= {f"gate_{each}": float(verdict == each) for each in ("block", "inconclusive", "pass")}
    result["lenient"] = float(not gate(assessment, LENIENT).stops)
    for check, level in (
        ("gold_behaviour", "look"),
        ("gold_behaviour", "serious"),
        ("noise", "look"),
    ):
        raised = {
            each.labeler
            for each in assessment.diagnostics
            if each.check == check and each.level == level
        }
        flagged = gaps.index.isin(raised - {None})
        result[f"{check}_{level}"] = _share(flagged[games])
        result[f"{check}_{level}_honest"] = _share(flagged[~games])
    result["consensus_look"] = float(
        any(each.check == "consensus" and each.level == "look" for each in assessment.diagnostics)
    )
    return result


def _share(which: Any) -> float:
    return float(np.mean(which)) if len(which) else float("nan")


def main() -> None:
    """Measure all settings and write a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="data sets per setting")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    command = f"# python -m benchmarks.gaming --runs {asked.runs} --first-seed {asked.first_seed}\n"
    rows = []
    every = list(settings())
    for number, setting in enumerate(every, start=1):
        seeds = range(asked.first_seed, asked.first_seed + asked.runs)
        found = pd.DataFrame([run(setting, seed) for seed in seeds])
        rows.append({**vars(setting), "runs": asked.runs, **found.mean().round(3).to_dict()})
        # After every setting: an interrupted run keeps what it has.
        write_whole(asked.output, command + pd.DataFrame(rows).to_csv(index=False), force=True)
        sys.stderr.write(f"\r{number}/{len(every)} settings")
        sys.stderr.flush()
    sys.stderr.write("\n")


if __name__ == "__main__":
    main()
