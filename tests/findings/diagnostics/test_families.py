"""Near copies among gold items are less evidence than they seem to be."""

from __future__ import annotations

import numpy as np

from mdba_checks import CheckConfig, Columns, assess
from mdba_checks.simulation import simulate


def test_near_copies_in_gold_are_serious_until_their_families_are_named():
    made = simulate(n_items=3000, n_labelers=2, gold_per_group=200, seed=4)
    heads = made.gold.groupby("group").head(25).reset_index(drop=True)
    rng = np.random.default_rng(1)
    copies = heads.loc[np.repeat(heads.index, 8)].reset_index(drop=True)
    numbers = [name for name in copies if copies[name].dtype == float]
    copies[numbers] += 0.001 * rng.normal(size=(len(copies), len(numbers)))
    copies["item"] = [f"g{number}" for number in range(len(copies))]
    copies["family"] = np.repeat(heads["item"].to_numpy(), 8)

    def level(gold, **columns):
        found = assess(made.labels, gold, CheckConfig(reference="men", columns=Columns(**columns)))
        return next(each.level for each in found.diagnostics if each.check == "families")

    assert level(made.gold) == "ok"
    assert level(copies.drop(columns="family")) == "serious"
    assert level(copies, cluster="family") == "ok"
