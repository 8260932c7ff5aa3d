"""How often each policy passes: on data sets with only fair labelers, and on biased ones.

    python -m benchmarks.policies [--seeds 20] [--sizes 10x50x200 ...] [--kept]

Three kinds of data sets: every labeler is fair (true gaps from -0.05 to 0.05, where 0.1 is
tolerated); the same, but one labeler is 0.2 beyond the limit; the whole is beyond it (true gaps
from 0.15 to 0.25). A data set is assessed once, and every policy judges the same numbers. A
quarantine is counted by its verdict, before what is left is checked again.

What was assessed is kept in benchmarks/results/.policies: a run that was stopped goes on there, and
another policy needs no new estimates (`--kept` estimates nothing and judges what is there). Writes
benchmarks/results/policies.csv (a line per kind, size and policy, with the table as .md) and
policy_summary.csv (a line per kind and policy). How often any rule could pass is in
`benchmarks.policy_bounds`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from benchmarks.scoring import write
from mdba_checks import Assessment, CheckConfig, Policy, assess
from mdba_checks.findings import INCONCLUSIVE
from mdba_checks.outputs import from_cache, to_cache
from mdba_checks.simulation import Simulation, simulate
from mdba_checks.verdict import decide

RESULTS = Path(__file__).parent / "results"
MODULE = "benchmarks.policies"
# Labelers, labels of each, gold items; the quick ones first.
SIZES = (
    (10, 50, 200),
    (10, 50, 3_000),
    (10, 200, 800),
    (10, 500, 200),
    (10, 500, 800),
    (100, 50, 800),
    (100, 200, 800),
    (10, 4_000, 200),
    (10, 4_000, 3_000),
    (100, 500, 800),
    (1_000, 50, 800),
)
MAX_GAP = 0.1
KINDS = ("all fair", "one biased", "whole biased")
TPR_REFERENCE = 0.9
POLICIES = {
    "default": Policy(),
    "max_undecided 0": Policy(max_undecided=0),
    "max_undecided 0.5": Policy(max_undecided=0.5),
    "margin 0, max_undecided 0": Policy(margin=0, max_undecided=0),
    "on_inconclusive pass": Policy(on_inconclusive="pass"),
    "decide_on estimate": Policy(decide_on="estimate"),
    "mode annotate": Policy(mode="annotate"),
    "mode quarantine": Policy(mode="quarantine"),
}
BY = ["kind", "labelers", "labels_each", "gold", "policy"]
Setting = tuple[str, int, int, int, int]


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


def kept(setting: Setting, folder: Path) -> Path:
    """Return where the assessment of a data set is kept."""
    kind, labelers, labels_each, gold, seed = setting
    return folder / f"{kind.replace(' ', '-')}-{labelers}x{labels_each}x{gold}-{seed}.json.gz"


def assessed(setting: Setting, folder: Path) -> Assessment:
    """Return the assessment of a data set; what was assessed before is read."""
    path, seed = kept(setting, folder), setting[-1]
    if path.is_file():
        return from_cache(json.loads(gzip.decompress(path.read_bytes())))
    made = make(*setting)
    found = assess(made.labels, made.gold, CheckConfig(reference="men", seed=seed, jobs=1))
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(gzip.compress(json.dumps(to_cache(found)).encode()))
    unfinished.rename(path)
    return found


def judge(setting: Setting, found: Assessment) -> Iterator[dict[str, Any]]:
    """Yield a line per policy about one data set; policies with the same findings share them."""
    about = dict(zip(BY[:-1], setting, strict=False))
    labels = {str(name): int(count) for name, count in found.labels_per_labeler.items()}
    findings: dict[tuple[object, ...], tuple[pd.DataFrame, pd.DataFrame]] = {}
    for name, policy in POLICIES.items():
        key = (policy.margin, policy.decide_on)
        if key not in findings:
            judged = found.with_policy(policy)
            whole = cast("pd.DataFrame", judged.overall)  # `mdba_dr` has one
            findings[key] = judged.gaps.assign(pooled=judged.pooled), whole
        gaps, overall = findings[key]
        verdict = decide(gaps, policy, labels=labels, overall=overall).verdict
        decided = not (overall["finding"] == INCONCLUSIVE).any()
        yield {
            **about,
            "policy": name,
            "passed": verdict == "pass",
            "usable": verdict not in ("block", "inconclusive"),
            "blocked": verdict == "block",
            "whole_decided": decided,
            "passed_where_decided": float(verdict == "pass") if decided else np.nan,
        }


def shares(lines: pd.DataFrame, by: list[str]) -> list[dict[str, Any]]:
    """Return how often what happened, by some columns."""
    found = lines.groupby(by, sort=False)
    numbers = found[[name for name in lines if name not in BY]].mean()
    return numbers.assign(runs=found.size()).reset_index().to_dict("records")


def size(text: str) -> tuple[int, ...]:
    """Return labelers, labels of each and gold items, given as 10x50x200."""
    return tuple(map(int, text.split("x")))


def main() -> None:
    """Run as the command line says, and write what is there after every size."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seeds", type=int, default=20)
    arguments.add_argument("--first-seed", type=int, default=0)
    arguments.add_argument("--name", default="", help="goes before the names of the results")
    arguments.add_argument("--sizes", type=size, nargs="+", default=SIZES)
    arguments.add_argument("--kept", action="store_true", help="estimate nothing")
    arguments.add_argument("--folder", type=Path, default=RESULTS)
    given = arguments.parse_args()
    lines: list[dict[str, Any]] = []
    for each in given.sizes:
        first = given.first_seed
        for kind, seed in product(KINDS, range(first, first + given.seeds)):
            setting = (kind, *each, seed)
            if not given.kept or kept(setting, given.folder / ".policies").is_file():
                lines += judge(setting, assessed(setting, given.folder / ".policies"))
        if lines:
            _write(pd.DataFrame(lines), given.folder, given.name)
        print(f"{each[0]} x {each[1]} labels, {each[2]} gold items", file=sys.stderr, flush=True)


def _write(lines: pd.DataFrame, folder: Path, name: str) -> None:
    names = ("passed", "usable", "blocked", "whole_decided", "passed_where_decided")
    shown = dict.fromkeys(names, ".0%")
    whole = dict.fromkeys(BY, "") | shown | {"runs": ""}
    write(folder / f"{name}policies.csv", MODULE, shares(lines, BY), whole)
    short = {"kind": "", "policy": ""} | shown | {"runs": ""}
    write(folder / f"{name}policy_summary.csv", MODULE, shares(lines, ["kind", "policy"]), short)


if __name__ == "__main__":
    main()
