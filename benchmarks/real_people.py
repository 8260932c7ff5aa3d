"""Does it hold on real people? Two label sets whose right answers are known.

Per setting (see `real_sets`) and estimator: the error of the estimated gaps, how often 90%
intervals cover, how many findings are settled and how many are wrong, why the others are open, and
which checks are serious; for `mdba_dr` with the figures that are wanted. The settings are payraise,
and HateCheck with four kinds of columns.

The truth is each labeler's gap in TPR over the labels that are left, counted with the known right
answers. Run it from the root of the checkout; the files are not part of it::

    python -m benchmarks.real_people --data ../shared/data/real --jobs 2
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.real_sets import DATA, hatecheck, noise, pairs, payraise, raw_text, words
from benchmarks.scoring import (
    MAX_GAP,
    RESULTS,
    Draw,
    Made,
    in_processes,
    judge_draw,
    records,
    summarize,
    write,
)
from mdba_checks import CheckConfig, Policy

ESTIMATORS = (
    "mdba_dr",
    "mdba",
    "mdba_naive",
    "selection_rate",
    "gold_model",
    "confident_learning",
)
BIASED_ANNOTATOR = "label_2"
SHOWN = {
    "setting": "",
    "estimator": "",
    "mae": ".4f",
    "coverage": ".0%",
    "width": ".3f",
    "settled": ".0%",
    "wrongly_biased": "",
    "wrongly_biased_share": ".1%",
    "wrongly_fair": "",
    "wrongly_fair_share": ".1%",
    "label_2_found": ".0%",
    "evidence": ".0%",
    "assumption": ".0%",
    "refused": ".0%",
    "serious": "",
    "goals": "",
}


@dataclass(frozen=True)
class Goal:
    """A figure that is wanted: at least or at most some value."""

    figure: str
    least: float | None = None
    most: float | None = None

    def verdict(self, summary: dict[str, Any]) -> str:
        """Say what was wanted, what was measured, and whether that is enough.

        Examples
        --------
        >>> Goal("mae", most=0.02).verdict({"mae": 0.119})
        'mae 0.119 (at most 0.02: missed)'
        """
        value = summary[self.figure]
        enough = (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )
        wanted = f"at least {self.least}" if self.least is not None else f"at most {self.most}"
        return f"{self.figure} {value:.3g} ({wanted}: {'met' if enough else 'missed'})"


FIND_ONE = (
    Goal("label_2_found", least=0.9),
    Goal("others_biased", most=0),
    Goal("coverage", least=0.86),
)
# Whatever is open is open because an assumption fails, or the tables are refused.
FIND_NOBODY = (Goal("settled", most=0.0), Goal("evidence", most=0.0))


@dataclass(frozen=True)
class Setting:
    """A data set, what its tables hold, and what `mdba_dr` should reach there."""

    name: str
    make: Callable[[Path, np.random.Generator], Made]
    reference: str
    features: tuple[str, ...] | None
    goals: tuple[Goal, ...]


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "payraise",
            payraise,
            "men",
            ("objective", "committee"),
            (
                Goal("mae", most=0.02),
                Goal("coverage", least=0.88),
                Goal("wrongly_biased_share", most=0.005),
                Goal("settled", least=0.5),
            ),
        ),
        *(
            Setting(
                f"hatecheck {name}", partial(hatecheck, features=features), "others", None, goals
            )
            for name, features, goals in (
                ("words", words, FIND_ONE),
                ("pairs", pairs, FIND_ONE),
                ("raw text", raw_text, FIND_ONE),
                ("noise", noise, FIND_NOBODY),
            )
        ),
    )
}


def draw(name: str, data: Path, number: int) -> Made:
    """Return one draw of gold; the same number gives the same one."""
    # By the data set, so that the settings of one set are compared on the same gold.
    seed = zlib.crc32(name.split(maxsplit=1)[0].encode())
    return SETTINGS[name].make(data, np.random.default_rng([seed, number]))


def run(name: str, estimator: str, data: Path, number: int) -> Draw:
    """Assess one draw with one estimator."""
    setting = SETTINGS[name]
    config = CheckConfig(
        reference=setting.reference,
        features=setting.features,
        estimator=estimator,
        policy=Policy(max_gap=MAX_GAP),
        jobs=1,
    )
    return judge_draw(draw(name, data, number), config)


def measure(
    name: str, estimator: str, data: Path, draws: range, jobs: int
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the summary of a setting and an estimator, and all findings."""
    calls = [(name, estimator, data, number) for number in draws]
    found = list(in_processes(run, calls, jobs))
    everything = records(found, setting=name, estimator=estimator)
    summary = {"setting": name, "estimator": estimator, **summarize(found)}
    for kind in ("wrongly_biased", "wrongly_fair"):
        summary[f"{kind}_share"] = summary[kind] / summary["findings"]
    biased = everything["finding"] == "biased"
    one = everything["labeler"] == BIASED_ANNOTATOR
    if one.any():
        summary["label_2_found"] = biased[one].mean()
        summary["others_biased"] = int(biased[~one].sum())
    summary["goals"] = (
        "; ".join(goal.verdict(summary) for goal in SETTINGS[name].goals)
        if estimator == "mdba_dr"
        else ""
    )
    return summary, everything


def main() -> None:
    """Measure what is asked for; what is done is written after each setting and estimator."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--only", nargs="+", choices=sorted(SETTINGS), metavar="SETTING")
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=ESTIMATORS)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the two data sets")
    parser.add_argument("--records", type=Path, help="write every single finding here, too")
    parser.add_argument("--output", type=Path, default=RESULTS / "real_people.csv")
    given = parser.parse_args()
    if not given.data.is_dir():
        parser.error(f"there is no folder {given.data}: name that of the data sets with --data")
    rows, findings = [], []
    for name in SETTINGS:
        if given.only and name not in given.only:
            continue
        for estimator in given.estimators:
            row, found = measure(
                name,
                estimator,
                given.data,
                range(given.first, given.first + given.draws),
                given.jobs,
            )
            rows.append(row)
            findings.append(found)
            write(given.output, "benchmarks.real_people", rows, SHOWN)
            if given.records:
                pd.concat(findings).to_csv(given.records, index=False, float_format="%.5f")
            sys.stderr.write(
                f"{name}, {estimator}: error {row['mae']:.3f}, cover {row['coverage']:.0%}, "
                f"settled {row['settled']:.0%}, {row['seconds']:.1f} s a draw\n"
            )
            sys.stderr.flush()
    print(given.output.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
