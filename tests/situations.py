"""Situations and policies: what a gate is asked, and what it has to answer by the documents."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks import Assessment, CheckConfig, assess
from mdba_checks.findings import BIASED, INCONCLUSIVE
from mdba_checks.outputs import Release, decide_release
from mdba_checks.simulation import simulate
from tests.helpers import selection_table, some_gold

# Shares of yes are counted, so the findings follow from the counts.
PEOPLE = {
    "fair": {"men": (1000, 2000), "women": (1000, 2000)},
    "biased": {"men": (1600, 2000), "women": (400, 2000)},
    "open": {"men": (5, 10), "women": (6, 10)},
    "near": {"men": (1000, 2000), "women": (1200, 2000)},
}
COUNTED = {
    "all fair": ("fair",),
    "undecided": ("fair", "open"),
    "biased": ("fair", "biased", "open"),
    "borderline": ("fair", "near"),
}
# Everybody has a gap of 0.2, and 0.35 is tolerated; the features say nothing in the second.
SIMULATED = ("everybody a little", "failed assumption")
FACTORS: dict[str, tuple[Any, ...]] = {
    "situation": (*COUNTED, *SIMULATED),
    "mode": ("block", "annotate", "quarantine"),
    "on_inconclusive": (None, "block", "annotate", "quarantine", "pass"),
    "max_undecided": (0.1, 0),
    "margin": (None, 0),
    "max_gap_overall": (None, 0.05),
}
Case = tuple[Any, ...]
EXIT = {"pass": 0, "annotate": 0, "quarantine": 0, "block": 1, "inconclusive": 3}


def covering() -> list[Case]:
    """Return cases in which every two values of two factors meet at least once."""
    names = list(FACTORS)

    def met(case: Case) -> set[Any]:
        return {
            (*pair, case[pair[0]], case[pair[1]]) for pair in combinations(range(len(names)), 2)
        }

    everything = list(product(*FACTORS.values()))
    open_ = set().union(*map(met, everything))
    chosen = []
    while open_:
        best = max(everything, key=lambda case: len(met(case) & open_))
        chosen.append(best)
        open_ -= met(best)
    return sorted(chosen, key=str)


COVERING = covering()


@cache
def tables(situation: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    if situation in COUNTED:
        return selection_table({name: PEOPLE[name] for name in COUNTED[situation]}), some_gold()
    made = simulate(
        n_items=1500, n_labelers=3, tprs=[0.75] * 3, prevalence=0.4, gold_per_group=150, seed=1
    )
    if situation == "failed assumption":
        rng = np.random.default_rng(0)
        features = [name for name in made.gold if name not in ("item", "group", "gold")]
        for table, name in product((made.labels, made.gold), features):
            table[name] = rng.permutation(table[name].to_numpy())
    return made.labels, made.gold


def settings(case: Case) -> CheckConfig:
    situation, *values = case
    counted = situation in COUNTED
    policy = dict(zip(list(FACTORS)[1:], values, strict=True))
    policy |= {"max_gap": 0.1 if counted else 0.35}
    estimator = "selection_rate" if counted else "mdba_dr"
    return CheckConfig(estimator=estimator, reference="men", jobs=1, policy=policy)


@cache
def assessed(situation: str) -> Assessment:
    """Return the one assessment of a situation: policies only judge it."""
    first = (situation, *(values[0] for values in list(FACTORS.values())[1:]))
    return assess(*tables(situation), settings(first))


@cache
def in_python(case: Case) -> Release:
    """Return what `decide_release` says; everybody else has to say the same."""
    policy = settings(case).policy
    return decide_release(*tables(case[0]), assessed(case[0]).with_policy(policy))


def people(found: Release) -> set[str]:
    """Return whose rows may be trained on."""
    if found.decision.stops:
        return set()
    gone = found.parts.labelers if found.parts else ()
    return set(found.assessment.gaps["labeler"]) - set(gone)


def by_the_book(case: Case, judged: Assessment) -> tuple[str, set[str]]:
    """Return verdict and who is taken out, from findings and policy as the documents have it."""
    _, mode, asked, max_undecided, _, _ = case
    who: dict[tuple[str, str], set[str]] = {}
    for row in judged.gaps.itertuples():
        who.setdefault((row.finding, row.cause), set()).add(row.labeler)
    whole = set() if judged.overall is None else set(judged.overall["finding"])
    biased, failed, undecided = (
        who.get(key, set())
        for key in ((BIASED, ""), (INCONCLUSIVE, "assumption"), (INCONCLUSIVE, "evidence"))
    )
    labels = judged.labels_per_labeler
    for_failed = mode if asked in (None, "pass") else asked  # nothing lets it pass
    for_undecided = asked or mode
    said, gone = ["pass"], set()
    stop = {"block": "inconclusive"}  # other words than for biased
    for names, handling, stops in (
        (biased, mode, {}),
        (failed, for_failed, stop),
        (undecided, for_undecided, stop),
    ):
        few = names is undecided and labels[list(names)].sum() <= max_undecided * labels.sum()
        if names and not few:
            said.append(stops.get(handling, handling))
            gone |= names if handling == "quarantine" else set()
    if BIASED in whole:
        said.append("block" if mode == "quarantine" and not gone else mode)
    if INCONCLUSIVE in whole:
        handling = for_failed if failed else for_undecided
        said.append("inconclusive" if handling == "quarantine" and not gone else handling)
        said[-1] = stop.get(said[-1], said[-1])
    strictness = ["pass", "annotate", "quarantine", "inconclusive", "block"]
    return max(said, key=strictness.index), gone
