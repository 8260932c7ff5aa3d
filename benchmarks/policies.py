"""How often each policy passes: on data sets with only fair labelers, and on biased ones.

    python -m benchmarks.policies --jobs 2 [--seeds 20]

Three kinds of data sets: every labeler is fair (true gaps from -0.05 to 0.05, where 0.1 is
tolerated); the same, but one labeler is 0.2 beyond the limit; the whole is beyond it (true gaps
from 0.15 to 0.25). Each with 10 to 1,000 labelers, 50 to 4,000 labels each, and 200 to 3,000 gold
items; data sets of more than half a million labels are left out. A data set is assessed once, and
every policy judges the same numbers. A quarantine is counted by its verdict, before what is left
is checked again.

Writes benchmarks/results/policies.csv (a line per kind, size and policy, with the table as .md) and
benchmarks/results/policy_summary.csv (a line per kind and policy).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.scoring import in_processes, write
from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.findings import INCONCLUSIVE
from mdba_checks.simulation import Simulation, simulate

RESULTS = Path(__file__).parent / "results"
MODULE = "benchmarks.policies"
LABELERS = (10, 100, 1_000)
LABELS_EACH = (50, 500, 4_000)
GOLD = (200, 800, 3_000)
MOST_LABELS = 500_000
MAX_GAP = 0.1
KINDS = ("all fair", "one biased", "whole biased")
TPR_REFERENCE = 0.9
POLICIES = {
    "default": Policy(),
    "max_undecided 0": Policy(max_undecided=0),
    "max_undecided 0.5": Policy(max_undecided=0.5),
    "margin 0": Policy(margin=0),
    "margin 0, max_undecided 0": Policy(margin=0, max_undecided=0),
    "on_inconclusive pass": Policy(on_inconclusive="pass"),
    "correction bh": Policy(correction="bh"),
    "decide_on estimate": Policy(decide_on="estimate"),
    "mode annotate": Policy(mode="annotate"),
    "mode quarantine": Policy(mode="quarantine"),
}
BY = ["kind", "labelers", "labels_each", "gold", "policy"]


def make(kind: str, labelers: int, labels_each: int, gold: int, seed: int) -> Simulation:
    """Return a data set of a kind and size."""
    rng = np.random.default_rng([seed, labelers, labels_each, gold])
    gaps = rng.uniform(-0.05, 0.05, labelers)
    if kind == "one biased":
        gaps[0] = MAX_GAP + 0.2
    elif kind == "whole biased":
        gaps = rng.uniform(0.15, 0.25, labelers)
    return simulate(
        family="inconsistent",
        # Groups are not of equal size, and gold takes as many of each.
        n_items=labelers * labels_each + 2 * gold,
        items_per_labeler=labels_each,
        n_labelers=labelers,
        prevalence=0.3,
        gold_per_group=gold // 2,
        tprs=list(TPR_REFERENCE - gaps),
        tpr_reference=TPR_REFERENCE,
        seed=seed,
    )


def judge(kind: str, labelers: int, labels_each: int, gold: int, seed: int) -> list[dict[str, Any]]:
    """Return a line per policy about one data set."""
    made = make(kind, labelers, labels_each, gold, seed)
    config = CheckConfig(reference="men", seed=seed, jobs=1)
    assessment = assess(made.labels, made.gold, config)
    setting = {"kind": kind, "labelers": labelers, "labels_each": labels_each, "gold": gold}
    lines = []
    for name, policy in POLICIES.items():
        judged = assessment.with_policy(policy)
        decision = gate(judged)
        whole = judged.overall
        decided = whole is not None and not (whole["finding"] == INCONCLUSIVE).any()
        lines.append(
            {
                **setting,
                "policy": name,
                "passed": decision.verdict == "pass",
                "usable": not decision.stops,
                "blocked": decision.verdict == "block",
                "whole_decided": decided,
                "passed_where_decided": float(decision.verdict == "pass") if decided else np.nan,
            }
        )
    return lines


def settings(seeds: int) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield kind, labelers, labels each, gold and seed, the small data sets first."""
    sizes = [each for each in product(LABELERS, LABELS_EACH, GOLD) if _fits(*each)]
    for labelers, labels_each, gold in sorted(sizes, key=lambda size: size[0] * size[1]):
        for kind, seed in product(KINDS, range(seeds)):
            yield kind, labelers, labels_each, gold, seed


def _fits(labelers: int, labels_each: int, gold: int) -> bool:  # noqa: ARG001
    return labelers * labels_each <= MOST_LABELS


def shares(lines: pd.DataFrame, by: list[str]) -> list[dict[str, Any]]:
    """Return how often what happened, by some columns."""
    found = lines.groupby(by, sort=False)
    numbers = found[[name for name in lines if name not in BY]].mean()
    return numbers.assign(runs=found.size()).reset_index().to_dict("records")


def main() -> None:
    """Run as the command line says, and write what is there after every size."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seeds", type=int, default=20)
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--most-labels", type=int, default=MOST_LABELS)
    arguments.add_argument("--folder", type=Path, default=RESULTS)
    given = arguments.parse_args()
    calls = [each for each in settings(given.seeds) if each[1] * each[2] <= given.most_labels]
    lines: list[dict[str, Any]] = []
    per_size = len(KINDS) * given.seeds
    for number, found in enumerate(in_processes(judge, calls, given.jobs), start=1):
        lines += found
        if number % per_size == 0:
            _write(pd.DataFrame(lines), given.folder)
            print(f"{number} of {len(calls)} data sets", file=sys.stderr, flush=True)


def _write(lines: pd.DataFrame, folder: Path) -> None:
    shown = {"passed": ".0%", "usable": ".0%", "blocked": ".0%", "whole_decided": ".0%"}
    shown["passed_where_decided"] = ".0%"
    whole = dict.fromkeys(BY, "") | shown | {"runs": ""}
    write(folder / "policies.csv", MODULE, shares(lines, BY), whole)
    short = {"kind": "", "policy": ""} | shown | {"runs": ""}
    write(folder / "policy_summary.csv", MODULE, shares(lines, ["kind", "policy"]), short)


if __name__ == "__main__":
    main()
