"""Four findings, their causes, and what can turn one into another."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from mdba_checks.config import Policy
from mdba_checks.findings import (
    ASSUMPTION,
    BIASED,
    BORDERLINE,
    EVIDENCE,
    FAIR,
    INCONCLUSIVE,
    Obstacle,
    by_severity,
    judge,
)
from mdba_checks.findings.crowds import OwnEvidence
from mdba_checks.metrics import METRICS, Wording

CONFIDENCE = 0.9
Z = norm.ppf((1 + CONFIDENCE) / 2)


def table(gap: list[float], error: list[float], metric: str = "tpr") -> pd.DataFrame:
    gap_, error_ = np.array(gap, dtype=float), np.array(error, dtype=float)
    return pd.DataFrame(
        {
            "labeler": [f"L{number}" for number in range(len(gap))],
            "group": "women",
            "reference": "men",
            "metric": metric,
            "gap": gap_,
            "std_error": error_,
            "ci_low": np.clip(gap_ - Z * error_, -1, 1),
            "ci_high": np.clip(gap_ + Z * error_, -1, 1),
            "rate": 0.7 + gap_ / 2,
            "rate_reference": 0.7 - gap_ / 2,
        }
    )


def judged(
    gap: list[float], error: list[float], policy: Policy | None = None, obstacles=None, **options
) -> pd.DataFrame:
    return judge(
        table(gap, error),
        policy or Policy(correction="none"),
        confidence=CONFIDENCE,
        obstacles=obstacles or [None] * len(gap),
        **options,
    )


@pytest.mark.parametrize(
    ("gap", "error", "finding"),
    [
        (0.0, 0.01, FAIR),
        (0.09, 0.001, FAIR),
        (-0.09, 0.001, FAIR),
        (0.3, 0.05, BIASED),
        (-0.3, 0.05, BIASED),
        (0.3, 0.2, INCONCLUSIVE),
        (0.0, 0.2, INCONCLUSIVE),
        (0.11, 0.05, INCONCLUSIVE),
        (0.0, 0.0, FAIR),
        (0.2, 0.0, BIASED),
        (0.1, 0.0, FAIR),  # the limit itself is tolerated
        # The margin is half of the limit: up to 0.15 the interval is that of a borderline gap.
        (0.1, 0.02, BORDERLINE),
        (-0.1, 0.02, BORDERLINE),
        (0.12, 0.02, INCONCLUSIVE),
        (0.1, 0.04, INCONCLUSIVE),
    ],
)
def test_the_interval_decides(gap, error, finding):
    assert judged([gap], [error])["finding"].tolist() == [finding]


@pytest.mark.parametrize(
    ("margin", "finding"),
    [(0.0, INCONCLUSIVE), (0.03, INCONCLUSIVE), (0.04, BORDERLINE), (1.0, BORDERLINE)],
)
def test_the_margin_says_how_far_a_borderline_interval_may_reach(margin, finding):
    # 0.1 and 1.645 standard errors of 0.02 end at 0.133.
    row = judged([0.1], [0.02], Policy(correction="none", margin=margin)).iloc[0]
    assert (row["finding"], row["cause"]) == (finding, "" if finding == BORDERLINE else EVIDENCE)
    if finding == BORDERLINE:
        assert f"stays within ±{0.1 + margin:g}" in row["reason"]


def test_a_gap_shown_to_be_beyond_the_limit_is_biased_however_near_it_is():
    assert judged([0.105], [0.001])["finding"].tolist() == [BIASED]


def test_the_chance_to_be_beyond_the_limit_is_that_of_normal_draws():
    rng = np.random.default_rng(1)
    for gap, error in ((0.12, 0.05), (-0.05, 0.03), (0.0, 0.1)):
        drawn = (np.abs(rng.normal(gap, error, 400_000)) > 0.1).mean()
        assert judged([gap], [error])["p_beyond"][0] == pytest.approx(drawn, abs=0.004)


@pytest.mark.parametrize(
    ("gap", "error", "finding"),
    [(0.3, 0.5, BIASED), (-0.11, 0.5, BIASED), (0.1, 0.5, FAIR), (0.05, 0.5, FAIR)],
)
def test_by_estimate_the_number_alone_decides(gap, error, finding):
    row = judged([gap], [error], Policy(decide_on="estimate")).iloc[0]
    assert row["finding"] == finding
    assert "uncertainty not considered" in row["reason"]


@pytest.mark.parametrize("decide_on", ["confident", "estimate"])
@pytest.mark.parametrize(
    ("gap", "error"), [(np.nan, 0.1), (0.5, np.nan), (np.nan, np.nan), (0.5, np.inf), (np.inf, 0.1)]
)
def test_what_could_not_be_estimated_is_neither_fair_nor_biased(gap, error, decide_on):
    row = judged([gap], [error], Policy(decide_on=decide_on)).iloc[0]
    assert row["finding"] == INCONCLUSIVE
    assert "could not be estimated" in row["reason"]
    assert np.isnan(row["p_value"])


@pytest.mark.parametrize("decide_on", ["confident", "estimate"])
def test_an_obstacle_outweighs_the_clearest_number_and_is_the_reason(decide_on):
    found = judged(
        [0.9, 0.0],
        [0.001, 0.001],
        Policy(decide_on=decide_on),
        [Obstacle("has no labels for men", EVIDENCE), Obstacle("items differ", ASSUMPTION)],
    )
    assert found["finding"].tolist() == [INCONCLUSIVE] * 2
    assert found["cause"].tolist() == [EVIDENCE, ASSUMPTION]
    assert found["reason"].tolist() == ["has no labels for men", "items differ"]
    assert found[["p_value", "p_beyond"]].isna().all(axis=None)


def test_a_doubt_takes_fair_and_borderline_away_and_leaves_biased():
    found = judged([0.9, 0.0, 0.1, 0.0], [0.01, 0.01, 0.02, 0.2], doubts=["odd"] * 4)
    assert found["finding"].tolist() == [BIASED] + [INCONCLUSIVE] * 3
    assert found["cause"].tolist() == [""] + [ASSUMPTION] * 3
    assert found["reason"].tolist()[1:] == ["odd"] * 3


def test_what_is_overturned_is_inconclusive_and_what_was_open_keeps_its_cause():
    gap, error = [0.9, 0.0, 0.1, 0.0, 0.0], [0.01, 0.01, 0.02, 0.2, 0.01]
    found = judged(gap, error, overturned=["hidden"] * 4 + [""])
    assert found["finding"].tolist() == [INCONCLUSIVE] * 4 + [FAIR]
    assert found["cause"].tolist() == [ASSUMPTION] * 3 + [EVIDENCE, ""]
    assert found["reason"].tolist()[:3] == ["hidden"] * 3
    assert "reaches across" in found["reason"][3]


def test_a_labeler_with_an_obstacle_is_not_counted_as_a_test():
    """Holm over three tests asks for p < 0.033; alone, an interval beyond the limit is enough."""
    error = 0.1 / norm.isf(0.04)  # p = 0.04
    nothing = Obstacle("said yes to all", EVIDENCE)
    alone = judged([0.2, 0.9, 0.9], [error, 0.01, 0.01], Policy(), [None, nothing, nothing])
    three = judged([0.2, 0.1, 0.1], [error, 0.2, 0.2], Policy())
    assert alone["p_value"][0] == pytest.approx(0.04, abs=1e-6)
    assert alone["finding"][0] == BIASED
    assert three["finding"][0] == INCONCLUSIVE


def test_a_correction_that_takes_the_finding_back_says_so():
    error = 0.1 / norm.isf(0.03)  # p = 0.03
    gaps = [0.2] + [0.1] * 9
    errors = [error] + [0.2] * 9
    for correction, finding in (("none", BIASED), ("holm", INCONCLUSIVE), ("bh", INCONCLUSIVE)):
        row = judged(gaps, errors, Policy(correction=correction)).iloc[0]
        assert row["finding"] == finding
        assert row["p_value"] == pytest.approx(0.03, abs=1e-6)
        if finding == INCONCLUSIVE:
            assert "not clearly enough for one of 10" in row["reason"]
            assert correction in row["reason"]


def test_reasons_name_who_how_much_and_which_limit():
    biased, fair, open_ = judged([-0.3, 0.0, 0.0], [0.05, 0.01, 0.2])["reason"]
    assert biased.startswith(
        "says yes for 55% of women and 85% of men where yes is right: a gap of 30 points (limit 10)"
    )
    assert "lies within ±0.1" in fair
    assert "reaches across ±0.1" in open_


def test_the_given_table_is_left_as_it_is():
    given_ = table([0.3], [0.1])
    before = given_.copy()
    judge(given_, Policy(), confidence=CONFIDENCE, obstacles=[None])
    pd.testing.assert_frame_equal(given_, before)


# --- people whose gap was learned from a crowd


def own(p: list[float], beyond: list[float], stands_out: list[bool]) -> OwnEvidence:
    """Return what the own decisions of one labeler per row say."""
    return OwnEvidence(*(np.array(each)[:, None] for each in (p, beyond, stands_out)))


def test_in_a_crowd_the_own_decisions_decide_whether_somebody_is_biased():
    # The interval, 0.3 ± 0.082, lies beyond 0.1 in all rows; the last one is not of the crowd.
    evidence = own([0.5, 0.01, np.nan], [0.9, 0.8, np.nan], [False] * 3)
    found = judged([0.3] * 3, [0.05] * 3, own=evidence)
    assert found["finding"].tolist() == [INCONCLUSIVE, BIASED, BIASED]
    assert found["p_value"].tolist()[:2] == [0.5, 0.01]
    assert found["p_value"][2] == pytest.approx(norm.sf(4), abs=1e-6)  # 0.2 / 0.05
    assert found["p_beyond"].tolist()[:2] == [0.9, 0.8]
    assert found["p_beyond"][2] == pytest.approx(norm.cdf(4) + norm.cdf(-8), abs=1e-6)


def test_the_own_decisions_are_not_enough_without_the_interval():
    found = judged([0.1], [0.05], own=own([0.001], [0.5], [False]))
    assert found["finding"].tolist() == [INCONCLUSIVE]


def test_nobody_who_stands_out_is_fair_because_others_are():
    evidence = own([0.9, 0.9], [0.0, 0.0], [True, False])
    found = judged([0.0, 0.0], [0.01, 0.01], own=evidence)
    assert found["finding"].tolist() == [INCONCLUSIVE, FAIR]
    assert "the labeler's own decisions stand out" in found["reason"][0]
    assert found["cause"].tolist() == [EVIDENCE, ""]


def test_who_stands_out_with_an_interval_across_the_margin_needs_more_data():
    # The interval, 0.1 ± 0.066, ends beyond 0.15 on one side: not what most labelers are like.
    for gap in (0.1, -0.1):
        found = judged([gap], [0.04], own=own([0.9], [0.5], [True]))
        assert "reaches across ±0.1" in found["reason"][0]


@pytest.mark.parametrize(("n", "finding"), [(20, INCONCLUSIVE), (21, BIASED)])
def test_auto_leaves_single_people_of_a_crowd_of_more_than_20_uncorrected(n, finding):
    # Holm over 20 tests asks for p < 0.005.
    evidence = own([0.01] + [0.9] * (n - 1), [0.9] * n, [False] * n)
    found = judged([0.3] * n, [0.05] * n, Policy(correction="auto"), own=evidence)
    assert found["finding"][0] == finding


def test_auto_controls_the_false_discovery_rate_of_more_than_20_labelers():
    # p is 0.0045 for two of 21: Benjamini and Hochberg ask for 2 / 21 of 0.1, Holm for 0.1 / 21.
    error = 0.2 / norm.isf(0.0045)
    gaps, errors = [0.3, 0.3] + [0.0] * 19, [error, error] + [0.01] * 19
    auto = judged(gaps, errors, Policy(correction="auto"))
    bh = judged(gaps, errors, Policy(correction="bh"))
    assert auto["finding"].tolist() == bh["finding"].tolist() == [BIASED] * 2 + [FAIR] * 19


# --- at the edges


def test_an_interval_that_ends_exactly_at_the_limit_is_within_it():
    rows = table([0.2, -0.2, 0.0, 0.0], [0.01] * 4)
    rows["ci_low"], rows["ci_high"] = [0.1, -0.3, -0.1, -0.15], [0.3, -0.1, 0.1, 0.15]
    found = judge(rows, Policy(correction="none"), confidence=CONFIDENCE, obstacles=[None] * 4)
    assert found["finding"].tolist() == [INCONCLUSIVE, INCONCLUSIVE, FAIR, BORDERLINE]
    assert all("reaches across ±0.1: more gold items" in each for each in found["reason"][:2])


def test_reasons_of_estimates_and_borderline_gaps_have_their_numbers():
    by_estimate = judged([-0.3, 0.05], [0.5, 0.5], Policy(decide_on="estimate"))["reason"]
    assert by_estimate[0].startswith("says yes for 55% of women and 85% of men")
    assert by_estimate[1] == "the estimate +0.050 is within ±0.1; uncertainty not considered"
    (borderline,) = judged([0.1], [0.02])["reason"]
    assert borderline == (
        "the 90% interval +0.067 to +0.133 reaches across ±0.1, but stays within ±0.15"
    )
    for gap, ends in ((0.3, "+0.218 to +0.382"), (-0.3, "-0.382 to -0.218")):
        (beyond,) = judged([gap], [0.05])["reason"]
        assert beyond.endswith(f"; the 90% interval {ends} lies beyond ±0.1")


def test_few_degrees_of_freedom_make_a_claim_harder():
    # A gap of 0.1 is estimated at 0.3 or beyond, on either side, two or four errors away from it.
    for freedom, tail in ((np.inf, norm.sf), (3, lambda z: student.sf(z, 3))):
        p = judged([0.3], [0.1], freedom=freedom)["p_value"][0]
        assert p == pytest.approx(tail(2) + tail(4), abs=1e-6)


def test_every_row_has_its_own_words():
    words = [Wording(METRICS["tpr"]), Wording(METRICS["fpr"])]
    found = judged([0.4, 0.4], [0.01, 0.01], wording=words)
    assert "where yes is right" in found["reason"][0]
    assert "where no is right" in found["reason"][1]


# --- for any numbers

NUMBER = st.one_of(st.floats(-1, 1), st.just(np.nan))
ERROR = st.one_of(st.floats(1e-9, 0.5), st.sampled_from([0.0, np.nan]))
ROWS = st.lists(st.tuples(NUMBER, ERROR), min_size=1, max_size=8)
POLICIES = st.builds(
    Policy,
    max_gap=st.floats(0, 1),
    correction=st.sampled_from(["holm", "bh", "none"]),
    decide_on=st.sampled_from(["confident", "estimate"]),
    margin=st.none() | st.floats(0, 1),
)


@settings(max_examples=60)
@given(ROWS, POLICIES)
def test_a_nan_never_passes_and_never_blocks(rows, policy):
    gap, error = map(list, zip(*rows, strict=True))
    found = judged(gap, error, policy)
    for (one_gap, one_error), finding in zip(rows, found["finding"], strict=True):
        assert finding in (BIASED, BORDERLINE, FAIR, INCONCLUSIVE)
        if np.isnan(one_gap) or np.isnan(one_error):
            assert finding == INCONCLUSIVE
    assert (found["reason"] != "").all()


@settings(max_examples=60)
@given(ROWS, POLICIES, st.floats(0, 1))
def test_tolerating_more_never_makes_a_finding_worse(rows, policy, other):
    """From biased to inconclusive to borderline to fair as max_gap grows, and never back."""
    gap, error = map(list, zip(*rows, strict=True))
    severity = {BIASED: 3, INCONCLUSIVE: 2, BORDERLINE: 1, FAIR: 0}
    strict, lenient = (
        judged(gap, error, policy.model_copy(update={"max_gap": limit}))["finding"].map(severity)
        for limit in sorted((policy.max_gap, other))
    )
    assert (lenient <= strict).all()


@settings(max_examples=30)
@given(ROWS, st.floats(0, 1))
def test_biased_means_the_interval_lies_beyond_and_fair_that_it_lies_inside(rows, limit):
    gap, error = map(list, zip(*rows, strict=True))
    for correction in ("holm", "bh", "none"):
        found = judged(gap, error, Policy(max_gap=limit, correction=correction))
        for row in found.itertuples():
            if row.finding == BIASED:
                assert row.ci_low > limit - 1e-9 or row.ci_high < -limit + 1e-9
            if row.finding == FAIR:
                assert row.ci_low >= -limit
                assert row.ci_high <= limit


def test_rows_are_sorted_by_how_bad_they_are_and_then_by_size():
    """Biased first, undecided before borderline and fair; no number comes last of its kind."""
    findings = [FAIR, BORDERLINE, INCONCLUSIVE, INCONCLUSIVE, BIASED, BIASED, INCONCLUSIVE]
    gaps = [0.05, -0.11, np.nan, 0.02, 0.2, -0.4, -0.5]
    rows = by_severity(pd.DataFrame({"finding": findings, "gap": gaps}))
    assert rows.index.tolist() == [5, 4, 6, 3, 2, 1, 0]


def test_on_the_number_alone_the_reason_says_on_which_side_it_is():
    policy = Policy(decide_on="estimate", correction="none")
    found = judged([0.3, 0.02], [0.2, 0.2], policy)
    assert found["finding"].tolist() == [BIASED, FAIR]
    assert "a gap of 30 points (limit 10); uncertainty not considered" in found["reason"][0]
    assert "+0.020 is within ±0.1" in found["reason"][1]


def test_an_interval_below_the_lower_limit_alone_is_biased():
    """Its upper end lies below -max_gap; whether it lies below +max_gap says nothing."""
    found = judged([-0.3, -0.02], [0.05, 0.02])
    assert found["finding"].tolist() == [BIASED, FAIR]
    across = judged([-0.12], [0.05])  # -0.20 to -0.04: reaches across the lower limit
    assert across["finding"].tolist() == [INCONCLUSIVE]
    assert "reaches across ±0.1: more gold items" in across["reason"][0]


def test_beyond_the_limit_but_one_of_many_says_so():
    """p = 0.03 alone is clear, but not for one of ten comparisons with Holm: 10 x 0.03 > 0.1."""
    z = norm.isf(0.03 / 2)
    gap = 0.1 + z * 0.05
    found = judged([gap, *[0.0] * 9], [0.05, *[0.001] * 9], Policy(correction="holm"))
    assert found["finding"][0] == INCONCLUSIVE
    assert (
        "lies beyond ±0.1, but not clearly enough for one of 10 comparisons" in found["reason"][0]
    )
    low = judged([-gap, *[0.0] * 9], [0.05, *[0.001] * 9], Policy(correction="holm"))
    assert "lies beyond ±0.1, but not clearly" in low["reason"][0]


def test_the_number_of_people_decides_what_auto_promises_not_that_of_comparisons():
    """Ten people in three groups are 30 comparisons: others who are fair hardly count."""
    rows = table([0.15, *[0.0] * 29], [0.02] * 30)
    several = {"labeler": [f"L{n // 3}" for n in range(30)], "group": list("abc") * 10}
    for gaps, finding in ((rows, INCONCLUSIVE), (rows.assign(**several), BIASED)):
        found = judge(gaps, Policy(), confidence=CONFIDENCE, obstacles=[None] * 30)
        assert found["finding"][0] == finding
