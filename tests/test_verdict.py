"""What a policy makes of findings: the whole truth table, on counted assessments."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdba_checks import Assessment, CheckConfig, Policy, assess, gate
from mdba_checks.findings import ASSUMPTION, BIASED, BORDERLINE, EVIDENCE, FAIR, INCONCLUSIVE
from mdba_checks.verdict import decide
from tests.helpers import selection_table, some_gold

# Selection rates are counted, so the findings of these labelers follow from the counts.
PEOPLE = {
    "fair": {"men": (1000, 2000), "women": (1000, 2000)},
    "biased": {"men": (1600, 2000), "women": (400, 2000)},
    "open": {"men": (5, 10), "women": (6, 10)},
    "near": {"men": (1000, 2000), "women": (1200, 2000)},
}
FINDINGS = {"fair": FAIR, "biased": BIASED, "open": INCONCLUSIVE, "near": BORDERLINE}


def assessed(*names: str, policy: Policy | None = None) -> Assessment:
    config = CheckConfig(
        estimator="selection_rate", reference="men", jobs=1, policy=policy or Policy()
    )
    return assess(selection_table({name: PEOPLE[name] for name in names}), some_gold(), config)


@pytest.fixture(scope="module")
def mixtures() -> dict[tuple[bool, bool], Assessment]:
    """Assessments by (somebody is biased, somebody is undecided); somebody is always fair."""
    return {
        (biased, undecided): assessed("fair", *["biased"] * biased, *["open"] * undecided)
        for biased in (False, True)
        for undecided in (False, True)
    }


def test_the_people_are_what_they_are_called():
    gaps = assessed(*PEOPLE).gaps
    assert dict(zip(gaps["labeler"], gaps["finding"], strict=True)) == FINDINGS


# (biased, undecided), mode, on_inconclusive -> verdict; written out, so that no rule is copied.
# More is undecided than is tolerated.
TRUTH = {
    ((False, False), "block", None): "pass",
    ((False, False), "annotate", None): "pass",
    ((False, False), "quarantine", None): "pass",
    ((False, True), "block", None): "inconclusive",
    ((False, True), "annotate", None): "annotate",
    ((False, True), "quarantine", None): "quarantine",
    ((True, False), "block", None): "block",
    ((True, False), "annotate", None): "annotate",
    ((True, False), "quarantine", None): "quarantine",
    ((True, True), "block", None): "block",
    ((True, True), "annotate", None): "annotate",
    ((True, True), "quarantine", None): "quarantine",
    ((False, True), "block", "quarantine"): "quarantine",
    ((False, True), "annotate", "quarantine"): "quarantine",
    ((True, True), "block", "quarantine"): "block",
    ((True, True), "annotate", "quarantine"): "quarantine",
    ((False, False), "block", "pass"): "pass",
    ((False, False), "block", "annotate"): "pass",
    ((False, False), "block", "block"): "pass",
    ((False, False), "annotate", "pass"): "pass",
    ((False, False), "annotate", "annotate"): "pass",
    ((False, False), "annotate", "block"): "pass",
    ((False, False), "quarantine", "pass"): "pass",
    ((False, False), "quarantine", "annotate"): "pass",
    ((False, False), "quarantine", "block"): "pass",
    ((False, True), "block", "pass"): "pass",
    ((False, True), "block", "annotate"): "annotate",
    ((False, True), "block", "block"): "inconclusive",
    ((False, True), "annotate", "pass"): "pass",
    ((False, True), "annotate", "annotate"): "annotate",
    ((False, True), "annotate", "block"): "inconclusive",
    ((False, True), "quarantine", "pass"): "pass",
    ((False, True), "quarantine", "annotate"): "annotate",
    ((False, True), "quarantine", "block"): "inconclusive",
    ((True, False), "block", "pass"): "block",
    ((True, False), "block", "annotate"): "block",
    ((True, False), "block", "block"): "block",
    ((True, False), "annotate", "pass"): "annotate",
    ((True, False), "annotate", "annotate"): "annotate",
    ((True, False), "annotate", "block"): "annotate",
    ((True, False), "quarantine", "pass"): "quarantine",
    ((True, False), "quarantine", "annotate"): "quarantine",
    ((True, False), "quarantine", "block"): "quarantine",
    ((True, True), "block", "pass"): "block",
    ((True, True), "block", "annotate"): "block",
    ((True, True), "block", "block"): "block",
    ((True, True), "annotate", "pass"): "annotate",
    ((True, True), "annotate", "annotate"): "annotate",
    ((True, True), "annotate", "block"): "inconclusive",
    ((True, True), "quarantine", "pass"): "quarantine",
    ((True, True), "quarantine", "annotate"): "quarantine",
    ((True, True), "quarantine", "block"): "inconclusive",
}


@pytest.mark.parametrize(("found", "mode", "on_inconclusive"), TRUTH)
def test_the_verdict_is_that_of_the_truth_table(mixtures, found, mode, on_inconclusive):
    policy = Policy(mode=mode, on_inconclusive=on_inconclusive, max_undecided=0)
    decision = gate(mixtures[found], policy)
    expected = TRUTH[found, mode, on_inconclusive]
    assert decision.verdict == expected
    assert decision.lets_through == (expected == "pass")
    assert decision.stops == (expected in ("block", "inconclusive"))
    assert decision.policy == policy
    assert decision.reasons


class TestWhatIsUndecided:
    """20 of 4,020 labels are by somebody who is undecided: 0.498%."""

    @pytest.mark.parametrize(("tolerated", "verdict"), [(0.004, "inconclusive"), (0.005, "pass")])
    def test_for_lack_of_evidence_is_tolerated_up_to_a_share_of_the_labels(
        self, mixtures, tolerated, verdict
    ):
        decision = gate(mixtures[False, True], Policy(max_undecided=tolerated))
        assert decision.verdict == verdict
        assert "0.5% of the labels" in decision.reasons[0]

    def test_only_those_who_are_beyond_the_tolerated_share_are_taken_out(self, mixtures):
        both = mixtures[True, True]
        within = gate(both, Policy(mode="quarantine"))
        beyond = gate(both, Policy(mode="quarantine", max_undecided=0))
        assert within.removes == (("biased", "group", "women"),)
        assert set(beyond.removes) == {("biased", "group", "women"), ("open", "group", "women")}

    @pytest.mark.parametrize(
        ("mode", "on_inconclusive", "verdict"),
        [
            ("block", None, "inconclusive"),
            ("block", "pass", "inconclusive"),
            ("block", "annotate", "annotate"),
            ("block", "quarantine", "quarantine"),
            ("annotate", None, "annotate"),
            ("annotate", "pass", "annotate"),
            ("annotate", "block", "inconclusive"),
            ("quarantine", None, "quarantine"),
            ("quarantine", "pass", "quarantine"),
        ],
    )
    def test_because_an_assumption_failed_is_tolerated_by_nothing(
        self, mode, on_inconclusive, verdict
    ):
        rows = pd.DataFrame([row("ann", FAIR), row("bob", INCONCLUSIVE, ASSUMPTION)])
        policy = Policy(mode=mode, on_inconclusive=on_inconclusive, max_undecided=1)
        decision = decide(rows, policy, labels={"ann": 10_000, "bob": 1})
        assert decision.verdict == verdict
        assert "an assumption does not hold" in decision.reasons[0]
        assert decision.removes == ((("bob", "sex", "women"),) if verdict == "quarantine" else ())


def row(who: str, finding: str, cause: str = "", column: str = "labeler") -> dict[str, object]:
    size = {BIASED: 0.4, FAIR: 0.0, BORDERLINE: 0.1, INCONCLUSIVE: 0.2}[finding]
    named = {column: who, "attribute": "sex", "group": "women", "reference": "men", "n_labels": 100}
    named |= {"ci_low": size - 0.3, "ci_high": size + 0.3, "p_value": 0.5}
    return {**named, "gap": size, "finding": finding, "cause": cause, "reason": "because"}


class TestAllLabelsTogether:
    LABELS = {"ann": 100, "bob": 100}  # noqa: RUF012

    def decided(self, whole, policy: Policy, labelers=(FAIR, FAIR), level="overall"):
        gaps = [row(who, each) for who, each in zip(self.LABELS, labelers, strict=True)]
        rows = pd.DataFrame([row("team", *whole, column="cohort")])
        return decide(pd.DataFrame(gaps), policy, labels=self.LABELS, **{level: rows})

    @pytest.mark.parametrize("level", ["overall", "cohorts"])
    @pytest.mark.parametrize("on_inconclusive", [None, "pass", "annotate", "quarantine", "block"])
    @pytest.mark.parametrize("mode", ["block", "annotate", "quarantine"])
    def test_biased_never_pass_whatever_the_policy(self, level, mode, on_inconclusive):
        policy = Policy(mode=mode, on_inconclusive=on_inconclusive, max_undecided=1)
        decision = self.decided((BIASED,), policy, level=level)
        # Nobody single is biased, so that there is nobody to take out.
        assert decision.verdict == ("annotate" if mode == "annotate" else "block")
        assert "biased beyond ±0.1" in decision.reasons[0]

    @pytest.mark.parametrize("labelers", [(FAIR, FAIR), (BIASED, FAIR), (INCONCLUSIVE, FAIR)])
    @pytest.mark.parametrize("level", ["overall", "cohorts"])
    def test_biased_pass_under_no_policy_at_all(self, level, labelers):
        decides = {
            "mode": ["block", "annotate", "quarantine"],
            "on_inconclusive": [None, "block", "annotate", "quarantine", "pass"],
            "max_undecided": [0, 1],
        }
        other = {
            "margin": [None, 1],
            "quarantine": ["labeler", "group"],
            "decide_on": ["confident", "estimate"],
            "on_serious": ["inconclusive", "report"],
        }
        # Whatever two of the other settings are, they are so together in one of these.
        pairs = [(0, 0, 0, 0), (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)]
        cause = EVIDENCE if INCONCLUSIVE in labelers else ""
        gaps = [row(who, each, cause) for who, each in zip(self.LABELS, labelers, strict=True)]
        rows = pd.DataFrame([row("team", BIASED, column="cohort")])
        for values, chosen in product(product(*decides.values()), pairs):
            picked = [each[which] for each, which in zip(other.values(), chosen, strict=True)]
            given = dict(zip((*decides, *other), (*values, *picked), strict=True))
            policy = Policy(**given)
            decision = decide(pd.DataFrame(gaps), policy, labels=self.LABELS, **{level: rows})
            assert decision.verdict != "pass", policy
            assert not decision.lets_through

    def test_biased_can_be_cured_by_taking_out_who_is_biased(self):
        policy = Policy(mode="quarantine")
        decision = self.decided((BIASED,), policy, labelers=(BIASED, FAIR))
        assert (decision.verdict, decision.removes) == ("quarantine", (("ann", "sex", "women"),))

    @pytest.mark.parametrize(
        ("whole", "on_inconclusive", "verdict"),
        [
            ((FAIR,), None, "pass"),
            ((BORDERLINE,), None, "pass"),
            ((INCONCLUSIVE, EVIDENCE), None, "inconclusive"),
            ((INCONCLUSIVE, EVIDENCE), "pass", "pass"),
            ((INCONCLUSIVE, EVIDENCE), "quarantine", "inconclusive"),
            ((INCONCLUSIVE, ASSUMPTION), "pass", "inconclusive"),
        ],
    )
    def test_undecided_are_never_few(self, whole, on_inconclusive, verdict):
        assert self.decided(whole, Policy(on_inconclusive=on_inconclusive)).verdict == verdict

    @pytest.mark.parametrize("whole", [(BIASED,), (INCONCLUSIVE, EVIDENCE)])
    def test_are_checked_again_without_those_whose_doubt_was_tolerated(self, whole):
        """So a quarantine ends in rows that may be used, as long as somebody is left."""
        gaps = pd.DataFrame([row("ann", INCONCLUSIVE, EVIDENCE), row("bob", FAIR)])
        rows = pd.DataFrame([row("", *whole, column="cohort")])
        labels = {"ann": 1, "bob": 1_000}
        policy = Policy(mode="quarantine")
        assert decide(gaps, policy, labels=labels).verdict == "pass"
        decision = decide(gaps, policy, labels=labels, overall=rows)
        assert (decision.verdict, decision.removes) == ("quarantine", (("ann", "sex", "women"),))

    def test_have_a_limit_of_their_own_in_the_reason(self):
        (first, _) = self.decided((BIASED,), Policy(max_gap_overall=0.02)).reasons
        assert first.startswith(
            "all labels together: biased beyond ±0.02. The data set as a whole because"
        )


def test_the_limit_for_all_labels_is_that_of_labelers_unless_named():
    assert Policy(max_gap=0.3).for_overall().max_gap == 0.3
    own = Policy(max_gap=0.3, max_gap_overall=0.05).for_overall()
    assert (own.max_gap, own.resolved().margin) == (0.05, 0.025)


def test_somebody_at_the_limit_does_not_stop_the_others():
    decision = gate(assessed("fair", "near"))
    assert decision.verdict == "pass"
    assert decision.reasons[0].startswith(
        "1 labeler borderline at ±0.1: near. near, women: the 90%"
    )


def test_without_a_policy_the_one_it_was_assessed_with_decides():
    lenient = assessed("biased", policy=Policy(max_gap=0.9))
    assert gate(lenient).verdict == "pass"
    assert gate(lenient, Policy()).verdict == "block"


def test_no_comparison_at_all_is_no_clean_bill_of_health(mixtures):
    clean = mixtures[False, False]
    empty = replace(clean, _table=clean._table.iloc[:0])
    for on_inconclusive in ("pass", "annotate", "block"):
        policy = Policy(on_inconclusive=on_inconclusive)
        decision = gate(replace(empty, config=clean.config.model_copy(update={"policy": policy})))
        assert decision.verdict == "inconclusive"
        assert not decision.lets_through


def test_a_gap_that_is_not_a_number_never_passes_by_itself():
    seen = {"men": (5, 10), "women": (5, 10)}
    labels = selection_table({"ann": seen, "one_sided": {"men": (50, 100), "women": (0, 0)}})
    config = CheckConfig(estimator="selection_rate", reference="men", jobs=1)
    assessment = assess(labels, some_gold(), config)
    row = assessment.gaps.set_index("labeler").loc["one_sided"]
    assert np.isnan(row["gap"])
    for decide_on in ("confident", "estimate"):
        policy = Policy(max_gap=1, decide_on=decide_on, max_undecided=0)
        assert gate(assessment, policy).verdict == "inconclusive"


def test_reasons_name_the_worst_first_and_say_how_many_more():
    people = {f"worse_{n}": {"men": (900, 1000), "women": (500 - 50 * n, 1000)} for n in range(5)}
    config = CheckConfig(estimator="selection_rate", reference="men", jobs=1)
    (reason,) = gate(assess(selection_table(people), some_gold(), config)).reasons
    assert reason.startswith("5 labelers biased beyond ±0.1: worse_4, worse_3, worse_2 and 2 more")
    assert ". worse_4 says yes for 30% of women and 90% of men: a gap of 60 points" in reason


def test_a_clean_data_set_says_how_many_comparisons_were_made(mixtures):
    assert gate(mixtures[False, False]).reasons == ("all 1 comparisons are within ±0.1",)


def test_both_the_biased_and_the_undecided_are_named(mixtures):
    biased, undecided = gate(mixtures[True, True]).reasons
    assert "biased" in biased
    assert "open" in undecided


@settings(max_examples=40)
@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(["pass", "annotate", "block"]),
    st.sampled_from([0, 0.005, 1]),
)
def test_tolerating_more_never_makes_the_verdict_stricter(one, other, on_inconclusive, undecided):
    severity = ["pass", "annotate", "inconclusive", "block"]
    strict, lenient = (
        severity.index(
            gate(
                EVERYBODY,
                Policy(max_gap=limit, on_inconclusive=on_inconclusive, max_undecided=undecided),
            ).verdict
        )
        for limit in sorted((one, other))
    )
    assert lenient <= strict


EVERYBODY = assessed(*PEOPLE)
