"""The benchmark of chosen gold: its arithmetic, and one small draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.choose import ROUNDS, SETTINGS, random_items_for, summarize


@pytest.mark.parametrize("stays", [0.0, 0.005])
def test_half_widths_are_put_on_the_curve_of_random_gold(stays):
    """With a part of the variance that gold reduces and one that it does not, by hand."""
    sizes = (100, 200, 400)
    curve = [np.sqrt(stays + 1 / size) for size in sizes]
    for wanted in (80, 150, 300, 700):
        width = np.sqrt(stays + 1 / wanted)
        assert random_items_for(width, sizes, curve) == pytest.approx(wanted)


def test_savings_are_not_claimed_beyond_the_curve():
    sizes = (100, 200, 400)
    assert random_items_for(0.001, sizes, [0.1, 0.08, 0.06]) == 800
    assert np.isnan(random_items_for(0.05, sizes, [0.1, 0.1, 0.11]))


def test_every_kind_of_labels_is_among_the_settings():
    kinds = {"correct", "incorrect", "inconsistent", "consistent", "payraise", "hatecheck"}
    assert kinds == {name.split()[-1] for name in SETTINGS}


def test_a_setting_is_summed_up_in_one_line():
    draw = {"setting": "s", "draw": 0, "stopped": 0.9}
    for name, width in (("random_100", 0.2), ("random_200", 0.02**0.5), ("random_400", 0.1)):
        draw |= {name: width, f"held_{name}": 0.9, f"error_{name}": 0.05}
    for name, width in (("chosen_100", 0.15), (f"chosen_{sum(ROUNDS)}", 0.1)):
        draw |= {name: width, f"held_{name}": 0.9, f"error_{name}": 0.04}
    line = summarize([draw, draw])
    assert line["needed"] == pytest.approx(0.5)
    assert line["first"] == pytest.approx(0.75)
    assert line["coverage"] == pytest.approx(0.9)


def test_a_crowd_is_judged_on_items_that_nobody_labeled():
    world = SETTINGS["crowd consistent"](0)
    assert not set(world.items["item"]) & set(world.labels["item"])
    judged = world.judged(world.items.head(5))
    assert judged["gold"].isin(["0", "1"]).all()
    assert isinstance(world.truth, pd.DataFrame)
