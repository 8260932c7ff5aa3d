"""Labelers who are undecided: who counts against `max_undecided`, and how often that lets pass."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from mdba_checks import Policy
from mdba_checks.findings import FAIR, INCONCLUSIVE, judge, standing
from mdba_checks.verdict import decide

Z = norm.ppf(0.95)


def judged(gap, error, policy: Policy) -> pd.DataFrame:
    """Return estimates with their intervals, judged; each is of another labeler."""
    gap = np.asarray(gap, dtype=float)
    rows = pd.DataFrame(
        {
            "labeler": [f"L{number}" for number in range(len(gap))],
            "attribute": "sex",
            "class": "",
            "group": "women",
            "reference": "men",
            "metric": "tpr",
            "gap": gap,
            "std_error": error,
            "ci_low": gap - Z * error,
            "ci_high": gap + Z * error,
            "rate": 0.9 - gap,
            "rate_reference": 0.9,
        }
    )
    return judge(rows, policy, confidence=0.9, obstacles=[None] * len(rows))


def verdict(gap, error, policy: Policy | None = None, each: int = 100) -> str:
    policy = policy or Policy()
    rows = judged(gap, error, policy)
    return decide(rows, policy, labels=dict.fromkeys(rows["labeler"], each)).verdict


class TestWhoIsNotFarBeyond:
    """Ten labelers with an estimate of 0.05 and an interval from -0.082 to 0.182."""

    GAPS, ERROR = [0.05] * 10, 0.08

    def test_does_not_stop_the_others(self):
        assert set(judged(self.GAPS, self.ERROR, Policy())["finding"]) == {INCONCLUSIVE}
        assert verdict(self.GAPS, self.ERROR) == "pass"

    @pytest.mark.parametrize("strict", [Policy(max_undecided=0), Policy(margin=0)])
    def test_does_where_everybody_has_to_be_decided_or_nobody_may_be_beyond(self, strict):
        assert verdict(self.GAPS, self.ERROR, strict) == "inconclusive"

    def test_stays_in_a_quarantine(self):
        # The first may have no gap or one of 0.6: of this one nothing is known.
        gaps, errors = np.array([0.1, 0.05, 0.05]), np.array([0.3, 0.08, 0.08])
        rows = judged(gaps, errors, Policy(mode="quarantine"))
        labels = dict.fromkeys(rows["labeler"], 100)
        assert decide(rows, Policy(mode="quarantine"), labels=labels).removes == (
            ("L0", "sex", "women"),
        )

    def test_is_said_in_other_words_than_who_is_unknown_or_suspect(self):
        rows = judged([0.05, 0.1, 0.23], np.array([0.08, 0.3, 0.1]), Policy())
        suspect, unknown, near = decide(
            rows, Policy(), labels={"L0": 998, "L1": 1, "L2": 1}
        ).reasons
        assert "undecided at ±0.1, but probably beyond it (0.1% of the labels; at most" in suspect
        assert "the tolerated 0.5%): L2" in suspect
        assert "undecided at ±0.1 (0.2% of the labels; at most the tolerated 10%): L1" in unknown
        assert "undecided at ±0.1, but shown to be within ±0.3: L0" in near

    def test_cannot_be_shown_by_a_crowd_or_without_enough_gold(self):
        rows = judged([0.05], 0.08, Policy())
        assert standing(rows, Policy()).tolist() == ["near"]
        assert standing(rows.assign(pooled=True), Policy()).tolist() == ["unknown"]
        assert standing(rows.assign(p_value=np.nan), Policy()).tolist() == ["unknown"]


def test_a_suspect_is_tolerated_only_with_a_twentieth_of_the_share():
    rows = judged([0.2, 0.0], np.array([0.1, 0.01]), Policy())
    assert rows["finding"].tolist() == [INCONCLUSIVE, FAIR]
    for labels, expected in ((49, "pass"), (51, "inconclusive")):
        counted = {"L0": labels, "L1": 10_000 - labels}
        assert decide(rows, Policy(), labels=counted).verdict == expected


def test_shown_beyond_the_limit_but_for_the_correction_is_suspect():
    rows = judged([0.2, *[0.12] * 30], np.array([0.05, *[0.06] * 30]), Policy(correction="holm"))
    assert rows["finding"][0] == INCONCLUSIVE
    assert rows["ci_low"][0] > 0.1
    assert standing(rows, Policy(correction="holm"))[0] == "suspect"


@pytest.mark.parametrize("error", [0.06, 0.1, 0.2])
def test_one_far_beyond_among_ten_passes_in_about_one_of_twenty(error):
    """Fair gaps lie from -0.05 to 0.05; 0.3 is 0.2 beyond the limit."""
    rng = np.random.default_rng(7)
    passed = {"fair": 0, "one": 0}
    sets = 60
    for _ in range(sets):
        gaps = np.linspace(-0.05, 0.05, 10) + rng.normal(0, error, 10)
        passed["fair"] += verdict(gaps, error) == "pass"
        gaps[0] += 0.35
        passed["one"] += verdict(gaps, error) == "pass"
    # One in twenty, and three standard errors of the count.
    assert passed["one"] / sets <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sets)
    if error <= 0.06:
        assert passed["fair"] / sets >= 0.8
