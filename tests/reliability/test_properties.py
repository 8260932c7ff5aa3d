"""What must not matter does not matter, and what must matter does so in the right direction.

Elsewhere already: turning the reference round, or swapping the names of the groups, turns the sign;
jobs and buckets (tests/test_assessment.py); pseudonyms (tests/outputs/test_pseudonyms.py); the
verdict is monotone in what is tolerated (tests/test_verdict.py); the same table in every format
(tests/tables/test_formats.py); gold twice, by formula (tests/findings/test_inference.py).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdba_checks import Assessment, CheckConfig, Policy, assess
from mdba_checks.findings import BIASED, FAIR, INCONCLUSIVE
from tests.reliability.base import STRICT, Tables, plain_tables

CONFIG = CheckConfig(reference="men", jobs=1, policy=Policy(max_gap=STRICT))
NUMBERS = ["gap", "std_error", "ci_low", "ci_high", "p_value", "rate", "rate_reference"]

few = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
seeds = st.integers(0, 7)  # of the tables: few, so that each is assessed once


@cache
def plain(seed: int, *, items: bool = False) -> Assessment:
    return assess(*tables(seed, items=items), CONFIG)


def tables(seed: int, *, items: bool = False) -> Tables:
    labels, gold = plain_tables(seed=seed)
    if items:  # some are labeled by two people, some are gold as well
        labels["item"] = [f"i{n % 500}" for n in range(len(labels))]
        gold["item"] = [f"i{n}" if n < 20 else f"g{n}" for n in range(len(gold))]
        of_item = [name for name in gold if name in labels and name != "item"]
        first = labels.drop_duplicates("item").set_index("item")[of_item]
        labels[of_item] = first.loc[labels["item"]].to_numpy()
        gold.loc[:19, of_item] = first.loc[gold["item"][:20]].to_numpy()
        labels, gold = labels.astype(first.dtypes), gold.astype(first.dtypes)
    return labels, gold


def same(one: Assessment, other: Assessment, tolerance: float, **names: dict[str, str]) -> None:
    """Assert equal numbers and findings; `names` are the new names of old ones, by column."""
    left, right = one.gaps.replace(names), other.gaps
    left, right = (each.set_index(["labeler", "group"]).sort_index() for each in (left, right))
    assert left.index.tolist() == right.index.tolist()
    np.testing.assert_allclose(left[NUMBERS], right[NUMBERS], atol=tolerance, rtol=0)
    assert left["finding"].tolist() == right["finding"].tolist()


# --- What must not matter -------------------------------------------------------------------------


@few
@given(seeds, st.booleans(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_columns(seed, items, order):
    labels, gold = tables(seed, items=items)
    rng = np.random.default_rng(order)
    shuffled = [
        table.iloc[rng.permutation(len(table)), rng.permutation(table.shape[1])]
        for table in (labels, gold)
    ]
    same(plain(seed, items=items), assess(*shuffled, CONFIG), 1e-9)


@few
@given(seeds, st.booleans(), st.permutations(["p", "=1+q", "<b>r</b>"]))
def test_other_names_of_labelers(seed, items, order):
    labels, gold = tables(seed, items=items)
    names = dict(zip(("ann", "ben", "cleo"), order, strict=True))
    renamed = assess(labels.replace({"labeler": names}), gold, CONFIG)
    same(plain(seed, items=items), renamed, 1e-6, labeler=names)
    before, after = (
        each.joint_intervals().set_index(["labeler", "group"])
        for each in (plain(seed, items=items), renamed)
    )
    before = before.rename(index=names, level="labeler").loc[after.index]
    ends = ["ci_low", "ci_high"]
    pd.testing.assert_frame_equal(after[ends], before[ends], rtol=0, atol=1e-6)


@few
@given(seeds, st.sampled_from([("a", "b"), ("1", "0"), ("women", "men"), ("M", "é"), ("z", "=a")]))
def test_other_names_of_groups(seed, pair):
    """In another order trees add up in another order, and may choose between two equal splits."""
    labels, gold = tables(seed)
    names = dict(zip(("men", "women"), pair, strict=True))
    renamed = [table.replace({"group": names}) for table in (labels, gold)]
    config = CONFIG.updated({"reference": pair[0]})
    same(plain(seed), assess(*renamed, config), 0.01, group=names, reference=names)


unused = st.sampled_from(
    [
        lambda rows: [7] * rows,  # the same everywhere
        lambda rows: [None] * rows,
        lambda rows: [f"note {n}" for n in range(rows)],  # free text
        lambda rows: list(range(rows)),  # row numbers
        lambda rows: [{"n": n} for n in range(rows)],
    ]
)


@few
@given(seeds, unused, st.sampled_from(["labels", "gold", "both"]))
def test_a_column_that_nobody_uses(seed, make, where):
    labels, gold = tables(seed)
    if where != "gold":
        labels = labels.assign(unused=make(len(labels)))
    if where != "labels":
        gold = gold.assign(unused=make(len(gold)))
    same(plain(seed), assess(labels, gold, CONFIG), 1e-12)


@few
@given(seeds, st.lists(st.integers(0, 600), max_size=4))
def test_a_parquet_file_in_parts(tmp_path_factory, seed, cuts):
    labels, gold = tables(seed)
    folder = tmp_path_factory.mktemp("parts")
    for part, rows in enumerate(np.split(np.arange(len(labels)), sorted(cuts))):
        labels.iloc[rows].to_parquet(folder / f"part-{part}.parquet", index=False)
    found = assess(folder, gold, CONFIG)
    same(plain(seed), found, 0)
    assert found.data.labels_hash == plain(seed).data.labels_hash


@few
@given(seeds, st.floats(0, 1), st.integers(20, 300))
def test_somebody_else_who_tosses_coins(seed, share, rows):
    labels, gold = tables(seed)
    rng = np.random.default_rng(rows)
    other = labels.sample(rows, random_state=seed).assign(
        labeler="zoe", label=(rng.random(rows) < share).astype(int)
    )
    after = assess(pd.concat([labels, other]), gold, CONFIG).gaps.set_index("labeler")
    agrees_where_clear(plain(seed).gaps.set_index("labeler"), after.drop(index="zoe"))


def agrees_where_clear(before: pd.DataFrame, after: pd.DataFrame) -> None:
    """Assert the same findings where a gap was far from what is tolerated."""
    distance = (before["gap"].abs() - STRICT).abs()
    clear = (distance > 4 * before["std_error"]) & (before["finding"] != INCONCLUSIVE)
    assert clear.any()
    assert after.loc[before.index, "finding"][clear].tolist() == before["finding"][clear].tolist()


# --- What must matter -----------------------------------------------------------------------------


@few
@given(seeds, st.integers(2, 5))
def test_copies_of_gold_items_are_no_new_evidence(seed, copies):
    labels, gold = tables(seed)
    gold["item"] = [f"g{n}" for n in range(len(gold))]
    labels["item"] = [f"i{n}" for n in range(len(labels))]
    once = assess(labels, gold, CONFIG).gaps
    several = assess(labels, pd.concat([gold] * copies), CONFIG).gaps
    # g is fitted to more rows, so the numbers move a little; the intervals must not get narrow.
    assert (several["std_error"] > 0.9 * once["std_error"]).all()


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.floats(0.2, 0.8), st.sampled_from(["tpr", "fpr"]))
def test_somebody_who_is_always_right_is_never_called_biased(seed, share, metric):
    """Whatever the groups are like: what is right depends on the score, and gold says so too."""
    rng = np.random.default_rng(seed)

    def items(n: int) -> pd.DataFrame:
        group = np.where(rng.random(n) < share, "men", "women")
        score = rng.normal(np.where(group == "men", 0.5, -0.5)).round(3)
        return pd.DataFrame({"group": group, "score": score, "gold": (score > 0).astype(int)})

    labels = items(400).rename(columns={"gold": "label"})
    labels["labeler"] = np.repeat(["perfect", "also perfect"], 200)
    config = CONFIG.updated({"metric": metric, "policy.max_gap": 0.1})
    gaps = assess(labels, items(300), config).gaps
    assert (gaps["finding"] != BIASED).all()


@settings(max_examples=60)
@given(seeds, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["holm", "bh", "none"]))
def test_tolerating_more_never_turns_fair_into_anything_else_nor_anybody_into_biased(
    seed, one, other, correction
):
    strict, lenient = (
        plain(seed)
        .with_policy(Policy(max_gap=limit, correction=correction, on_serious="report"))
        .gaps["finding"]
        for limit in sorted((one, other))
    )
    assert (lenient[strict == FAIR] == FAIR).all()
    assert (strict[lenient == BIASED] == BIASED).all()
