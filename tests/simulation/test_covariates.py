from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from mdba_checks.errors import InputError
from mdba_checks.simulation import Covariates, make_covariates, simulate


def test_the_table_mixes_kinds_and_misses_values():
    frame = make_covariates(5_000).frame
    kinds = {
        name: "bool"
        if is_bool_dtype(frame[name])
        else "number"
        if is_numeric_dtype(frame[name])
        else "text"
        for name in frame
    }
    assert pd.Series(kinds).value_counts().to_dict() == {"number": 7, "text": 3, "bool": 2}
    levels = frame[["education", "field", "region"]].nunique()
    assert levels.tolist() == [5, 6, 12]
    missing = frame.isna().mean()
    assert missing[missing > 0].index.tolist() == ["education", "test_score", "salary_expected"]
    assert frame["career_gap_months"].skew() > 2


def test_groups_are_unequal_and_differ_in_some_features():
    covariates = make_covariates(20_000)
    assert covariates.group.eq("women").mean() == pytest.approx(0.4, abs=0.02)
    means = covariates.frame.groupby(covariates.group)["hours_per_week"].mean()
    assert means["men"] - means["women"] > 3


def test_the_outcome_is_neither_rare_nor_certain():
    assert 0.2 < make_covariates(20_000).outcome.mean() < 0.5


def test_three_groups_have_the_reference_twice_as_large():
    shares = make_covariates(20_000, n_groups=3).group.value_counts(normalize=True)
    wanted = pd.Series({"men": 0.5, "women": 0.25, "group_3": 0.25})
    assert shares.sub(wanted).abs().max() < 0.02


@pytest.mark.parametrize("n_features", [2, 12, 30])
def test_there_are_as_many_features_as_asked_for(n_features):
    frame = make_covariates(200, n_features=n_features).frame
    assert frame.shape == (200, n_features)
    assert frame.columns.is_unique


def test_covariates_are_repeatable():
    one, two, other = make_covariates(500, 1), make_covariates(500, 1), make_covariates(500, 2)
    pd.testing.assert_frame_equal(one.frame, two.frame)
    np.testing.assert_array_equal(one.outcome, two.outcome)
    assert not one.frame.equals(other.frame)


def test_any_table_will_do_whatever_its_index_and_dtypes():
    rng = np.random.default_rng(0)
    n = 3_000
    frame = pd.DataFrame(
        {
            "amount": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "flag": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 5, n), unit="D"),
            "same": 1.0,
            "empty": np.nan,
        },
        index=rng.permutation(n) + 7,
    )
    frame.loc[frame.index[:50], "amount"] = pd.NA
    frame.loc[frame.index[:50], "flag"] = pd.NA
    outcome = ((frame["kind"] == "a").to_numpy() ^ (rng.random(n) < 0.2)).astype(int)
    group = pd.Series(rng.integers(0, 2, n), index=frame.index)
    covariates = Covariates(frame, group, outcome, biased_group=1, reference=0, interaction="kind")
    for family in ("correct", "incorrect", "inconsistent"):
        simulation = simulate(
            family=family, covariates=covariates, n_items=2_000, n_labelers=2, gold_per_group=50
        )
        assert len(simulation.labels) == 1_900
        assert simulation.labels.dtypes["kind"] == "category"
        assert simulation.truth[["group", "reference"]].drop_duplicates().to_numpy().tolist() == [
            [1, 0]
        ]
        assert simulation.truth.notna().all(axis=None)


def fine() -> dict[str, object]:
    return {
        "frame": pd.DataFrame({"score": [1.0, 2.0, 3.0, 4.0]}),
        "group": pd.Series(["women", "men", "women", "men"]),
        "outcome": np.array([0, 1, 0, 1]),
        "biased_group": "women",
        "reference": "men",
        "interaction": "score",
    }


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"outcome": np.array([0, 1])}, "have 4 / 4 / 2 rows"),
        ({"outcome": np.array([0, 1, 2, 1])}, "outcome must hold both 0 and 1"),
        ({"outcome": np.zeros(4)}, "outcome must hold both 0 and 1"),
        ({"frame": pd.DataFrame({"label": [1.0, 2, 3, 4]})}, "'label' has a reserved name"),
        (
            {"frame": pd.DataFrame(np.eye(4)[:, :2], columns=["score", "score"])},
            "'score' appears twice",
        ),
        ({"interaction": "scores"}, "'scores' is not a feature. Did you mean 'score'?"),
        ({"biased_group": "woman"}, "biased_group 'woman' is not a group. Did you mean 'women'?"),
        ({"reference": "women"}, "biased_group and reference are both 'women'"),
        ({"group": pd.Series(["women", None, "women", "men"])}, "group is missing in 1 rows"),
    ],
)
def test_covariates_that_cannot_be_used_say_why(change, text):
    with pytest.raises(InputError) as error:
        Covariates(**(fine() | change))
    assert text in str(error.value)


def test_too_small_a_table_is_refused():
    with pytest.raises(InputError, match="n_groups=1"):
        make_covariates(100, n_groups=1)
