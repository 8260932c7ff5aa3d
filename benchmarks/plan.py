"""Does the plan keep its promise? Plan with little gold, add what it asks for, assess again.

    python -m benchmarks.plan --runs 10 --power 0.8 --output benchmarks/results/plan.csv

Simulated data hold back gold items and labels, so that a plan can be followed to the letter. What
comes out is, per comparison that was inconclusive, the half-width that was wanted and the one that
was reached, and whether the comparison is settled now.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from mdba_checks import CheckConfig, assess
from mdba_checks.findings import INCONCLUSIVE
from mdba_checks.simulation import Simulation, simulate

# Of the smaller group; the other has 0.95. Nobody is near the limit: they would ask for too much.
TPRS = (0.95, 0.93, 0.92, 0.78, 0.74, 0.7)


def follow_plan(
    made: Simulation,
    config: CheckConfig,
    *,
    gold_per_group: int,
    label_share: float = 1.0,
    half_width: float | None = None,
    power: float | None = None,
) -> pd.DataFrame:
    """Assess a part of a simulation, plan, add what the plan asks for, and assess again.

    Parameters
    ----------
    made
        Its gold is the pool from which the plan is served.
    gold_per_group, label_share
        What the first assessment may see.
    half_width, power
        As in `Assessment.plan`.

    Returns
    -------
    pandas.DataFrame
        Per comparison with amounts in the plan: ``labeler, group, half_width_before, wanted,
        reached, promised, settled, served``; `served` tells whether the pool held enough.
    """
    gold_number = made.gold.groupby("group").cumcount()
    label_number = made.labels.groupby("labeler")["label"].transform(_shuffled)
    n_labels = made.labels.groupby("labeler")["label"].transform("size")
    seen = label_number < label_share * n_labels
    gold = made.gold[gold_number < gold_per_group]
    first = assess(made.labels[seen], gold, config)
    plan = first.plan(half_width=half_width, power=power)
    asked = plan.table[plan.table["more_labels"].notna()].set_index(["labeler", "group"])
    if asked.empty:
        return pd.DataFrame()

    more_labels = asked.groupby("labeler")["more_labels"].max().astype(int)
    wanted_labels = label_share * n_labels + made.labels["labeler"].map(more_labels).fillna(0)
    wanted_gold = gold_per_group + made.gold["group"].map(plan.gold).fillna(0)
    second = assess(
        made.labels[label_number < wanted_labels], made.gold[gold_number < wanted_gold], config
    )

    before, after = (
        each.gaps.set_index(["labeler", "group"]).loc[asked.index] for each in (first, second)
    )
    z = ((before["ci_high"] - before["ci_low"]) / 2 / before["std_error"]).max()
    enough_gold = all(
        gold_per_group + number <= (made.gold["group"] == group).sum()
        for group, number in plan.gold.items()
    )
    has_labels = (wanted_labels <= n_labels).groupby(made.labels["labeler"]).all()
    return pd.DataFrame(
        {
            "half_width_before": z * before["std_error"],
            "wanted": z * asked["std_error_needed"],
            "reached": z * after["std_error"],
            "promised": asked["settles"],
            "settled": after["finding"] != INCONCLUSIVE,
            "served": [enough_gold and has_labels[name] for name, _ in asked.index],
        },
        index=asked.index,
    ).reset_index()


def follow_each(
    made: Simulation, config: CheckConfig, *, gold_per_group: int, power: float
) -> pd.DataFrame:
    """Give every open comparison what the plan asks for it alone, and see whether it is settled.

    Returns
    -------
    pandas.DataFrame
        As `follow_plan` does; comparisons that ask for more than there is are not served, and
        left as they are.
    """
    gold_number = made.gold.groupby("group").cumcount()
    label_number = made.labels.groupby("labeler")["label"].transform(_shuffled)
    half = made.labels.groupby("labeler")["label"].transform("size") // 2
    seen = label_number < half
    first = assess(made.labels[seen], made.gold[gold_number < gold_per_group], config)
    pool = made.gold.groupby("group").size()
    found = []
    for row in first.plan(power=power).table.itertuples():
        if pd.isna(row.more_labels):
            continue
        wanted = {row.group: row.more_gold_group, row.reference: row.more_gold_reference}
        own = made.labels["labeler"] == row.labeler
        served = all(gold_per_group + more <= pool[group] for group, more in wanted.items())
        served &= int(row.more_labels) <= int(own.sum() - (own & seen).sum())
        settled = False
        if served:
            labels = seen | (own & (label_number < half + row.more_labels))
            gold = gold_number < gold_per_group + made.gold["group"].map(wanted)
            gaps = assess(made.labels[labels], made.gold[gold], config).gaps
            now = gaps[(gaps["labeler"] == row.labeler) & (gaps["group"] == row.group)].iloc[0]
            settled = now["finding"] != INCONCLUSIVE
            found.append((row.std_error, row.std_error_needed, now["std_error"], settled, True))
        else:
            found.append((row.std_error, row.std_error_needed, np.nan, settled, False))
    names = ["half_width_before", "wanted", "reached", "settled", "served"]
    table = pd.DataFrame(found, columns=names).assign(promised=power)
    z = 1.645  # of an interval of 90%, by which the others are reported too
    return table.assign(**{name: z * table[name] for name in names[:3]})


def _shuffled(column: pd.Series) -> np.ndarray:
    return np.random.default_rng(len(column)).permutation(len(column))


def main() -> None:
    """Follow plans over several simulations and print what became of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--items", type=int, default=16_000)
    parser.add_argument("--gold", type=int, default=100, help="gold per group before the plan")
    parser.add_argument("--half-width", type=float)
    parser.add_argument("--power", type=float)
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    config = CheckConfig(reference="men", jobs=1)
    found = []
    for seed in range(asked.runs):
        for family in ("correct", "incorrect", "inconsistent"):
            made = simulate(
                family=family,
                n_items=asked.items,
                n_labelers=len(TPRS),
                tprs=TPRS,
                gold_per_group=asked.items // 8,
                seed=1000 + seed,
            )
            if asked.half_width is None:
                power = asked.power or 0.8
                rows = follow_each(made, config, gold_per_group=asked.gold, power=power)
            else:
                rows = follow_plan(
                    made,
                    config,
                    gold_per_group=asked.gold,
                    label_share=0.5,
                    half_width=asked.half_width,
                )
            found.append(rows.assign(family=family, seed=seed))
    every = pd.concat(found)
    served = every[every["served"]]
    print(f"{len(every)} comparisons planned for, {len(served)} could be served")
    by = served.assign(ratio=served["reached"] / served["wanted"]).groupby("family")
    shown = ["half_width_before", "wanted", "reached", "ratio", "promised", "settled"]
    table = by[shown].mean().join(by.size().rename("comparisons")).round(3)
    print(table.to_string())
    if asked.output:
        aim = f"--half-width {asked.half_width}" if asked.half_width else f"--power {asked.power}"
        size = f"--runs {asked.runs} --items {asked.items} --gold {asked.gold}"
        head = f"# python -m benchmarks.plan {size} {aim} --output {asked.output}\n"
        asked.output.write_text(head + table.to_csv())


if __name__ == "__main__":
    main()
