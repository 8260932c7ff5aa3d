"""What the report says in its own words: the headline, the assumptions, how to read it.

Everything is written for somebody who was never told how the method works, and may be one of the
people it is about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from mdba_checks.assessment import Assessment
from mdba_checks.config import Policy
from mdba_checks.findings import BIASED, BORDERLINE, FAIR, INCONCLUSIVE, SEVERITY
from mdba_checks.report.formatting import count
from mdba_checks.verdict import CONSEQUENCES, Decision, Verdict

VERDICTS: dict[Verdict, str] = {
    "pass": "Passed",
    "annotate": "Annotated",
    "quarantine": "Quarantined",
    "block": "Blocked",
    "inconclusive": "Undecided",
}


@dataclass(frozen=True)
class Assumption:
    """Something that has to hold for the numbers to mean what they say.

    `checks` are the diagnostics that test it; without any, nothing in the data can show it.
    """

    name: str
    sentence: str
    checks: tuple[str, ...] = ()


ASSUMPTIONS = (
    Assumption(
        "The gold decisions are right",
        "Gold defines what right means here. If the people who made it share a bias, that bias "
        "counts as right.",
    ),
    Assumption(
        "The columns hold what decisions depend on",
        "Two items that look alike in the columns count as alike. If labelers saw something that "
        "is in no column and differs between the groups, it is mistaken for bias, or hides it.",
    ),
    Assumption(
        "There is enough gold in every group",
        "Few gold items of a group make wide intervals, and below a minimum no finding at all.",
        ("gold_positives",),
    ),
    Assumption(
        "Gold items are like the items that were labeled",
        "Gold should be drawn from the same items as the labels. Where it is not, the estimate "
        "is about items that the labeler hardly saw.",
        ("covariate_shift",),
    ),
    Assumption(
        "The labelers can be predicted",
        "Labelers and gold mostly judged different items; a model of each labeler bridges the two. "
        "The less it predicts, the more the interval has to allow for.",
        ("fidelity",),
    ),
    Assumption(
        "The right decision can be predicted",
        "A model learns from gold, and from what labelers agree on, which decision is probably "
        "right for an item that is not in gold.",
        ("gold_fit",),
    ),
    Assumption(
        "What the models get wrong matters little",
        "An error is left only where the model of a labeler and the model of the right decision "
        "are wrong about the same items; this is how large it could be.",
        ("product_term",),
    ),
    Assumption(
        "The answer does not hang on a setting",
        "The estimate was made with several values of c; they should agree.",
        ("c_disagreement",),
    ),
    Assumption(
        "Every row is a decision of its own",
        "Rows that were sent twice look like more evidence than there is.",
        ("duplicates",),
    ),
    Assumption(
        "Gold items that were labeled are recognised as such",
        "They are direct evidence, and count as that only if both tables name the item alike.",
        ("gold_in_labels",),
    ),
    Assumption(
        "Labelers decide alike whether they are checked or not",
        "Somebody who recognises gold items and is careful with those alone, who answers at random "
        "now and then, or who agrees with others on a wrong rule looks better than their labels "
        "are. A suspicion is not a proof: there may be a harmless reason.",
        ("gold_behaviour", "noise", "consensus"),
    ),
)

NOT_SAID = (
    (
        "It is about labels, not about intent. A gap says that decisions are wrong more often in "
        "one group; it does not say why. Guidelines, the screen, the mix of items or fatigue can "
        "cause it as well as a person can."
    ),
    (
        "It is not about correctness as such. A labeler who is often wrong, but equally often in "
        "every group, is fair here."
    ),
    (
        "Inconclusive is not fair, and it is not biased. It says that this gold and these labels "
        "do not decide the question."
    ),
    (
        "Fair means fair within the tolerated gap, on the groups and the rate that were compared. "
        "Other groups, combinations of groups and other rates may differ."
    ),
    (
        "It describes these items in this period. It is not a judgement of a person's work "
        "elsewhere, and no ground for a measure against anybody without hearing them and looking "
        "at examples."
    ),
)


def each_row(gaps: pd.DataFrame) -> list[Any]:
    """Return the rows as tuples with named fields."""
    return list(gaps.itertuples(index=False))


def count_labelers(gaps: pd.DataFrame) -> dict[str, int]:
    """Return how many labelers have which finding, each counted once, by their worst one.

    Examples
    --------
    >>> rows = pd.DataFrame({"labeler": ["a", "a", "b"], "finding": ["fair", "biased", "fair"]})
    >>> count_labelers(rows)
    {'biased': 1, 'inconclusive': 0, 'borderline': 0, 'fair': 1}
    """
    worst = gaps["finding"].map(SEVERITY).groupby(gaps["labeler"]).min()
    return {finding: int((worst == rank).sum()) for finding, rank in SEVERITY.items()}


def findings(policy: Policy) -> dict[str, str]:
    """Return what each finding means under a policy."""
    if policy.decide_on == "estimate":
        return {
            BIASED: "the estimate lies beyond the tolerated gap",
            INCONCLUSIVE: "there is no estimate, or an assumption does not hold",
            FAIR: "the estimate lies within the tolerated gap",
        }
    clearly = (
        ", also after allowing for the number of comparisons" if policy.correction != "none" else ""
    )
    return {
        BIASED: f"the whole interval lies beyond the tolerated gap{clearly}",
        INCONCLUSIVE: "it cannot be decided: neither a suspicion nor an acquittal",
        BORDERLINE: "the interval reaches across the limit and stays close to it",
        FAIR: "the whole interval lies within the tolerated gap",
    }


def consequence(verdict: Verdict | None) -> str:
    """Return what a verdict means for the data set, for somebody who sees one part of it.

    Examples
    --------
    >>> consequence("block")
    'The verdict about the whole data set is block: ...'
    """
    if verdict is None:
        return "The record does not say what was decided about the data set."
    return f"The verdict about the whole data set is {verdict}: {CONSEQUENCES[verdict]}"


def headline(assessment: Assessment, decision: Decision) -> str:
    """Return the verdict and its reason in one sentence: the whole first, then labelers.

    `assessment` is judged by the decision's policy already.
    """
    gaps, policy = assessment.gaps, decision.policy.resolved()
    counts = count_labelers(gaps)
    n = sum(counts.values())
    limit = _points(policy.max_gap)
    who = _sides(gaps)
    biased, open_, near = counts[BIASED], counts[INCONCLUSIVE], counts[BORDERLINE]
    whole = set() if assessment.overall is None else set(assessment.overall["finding"])
    if n == 0:
        why = "there was nothing to compare"
    elif BIASED in whole:
        why = _whole_is_biased(who, biased, n, policy)
    elif biased:
        treat = "treats" if biased == 1 else "treat"
        why = f"{_of(biased, n)} {treat} {who} differently by more than {limit}"
    elif open_:
        why = f"no labeler is shown to be biased, but {_of(open_, n)} cannot be decided"
        if decision.verdict == "pass":
            why += ", and the policy lets that pass"
    elif INCONCLUSIVE in whole:
        why = "no labeler is shown to be biased, but all labels together cannot be decided"
    elif near:
        why = f"no labeler is shown to be biased; {_of(near, n)} {_is(near)} at the limit"
    elif n == 1:
        why = f"the labeler treats {who} alike, within {limit}"
    else:
        why = f"all {n:,} labelers treat {who} alike, within {limit}"
    return f"{VERDICTS[decision.verdict]}: {why}."


def _whole_is_biased(who: str, biased: int, n: int, policy: Policy) -> str:
    most = policy.max_gap if policy.max_gap_overall is None else policy.max_gap_overall
    why = f"the labels as a whole treat {who} differently by more than {_points(most)}"
    if not biased:
        return f"{why}; no single labeler is shown to be biased"
    if most != policy.max_gap:
        return f"{why}, and {_of(biased, n)} by more than {_points(policy.max_gap)}"
    return f"{why}, and so {'does' if biased == 1 else 'do'} {_of(biased, n)}"


def next_steps(assessment: Assessment, decision: Decision) -> list[str]:
    """Return what somebody who has the report in hand can do now."""
    counts = count_labelers(assessment.gaps)
    steps = []
    if counts[BIASED]:
        steps.append(
            "Look at decisions of the biased labelers, with whoever made them or answers for a "
            "model. The gap says how large the difference is, not why."
        )
    if decision.verdict == "block":
        steps.append("Have the affected items labeled again, or leave these rows out; check again.")
    if counts[INCONCLUSIVE]:
        steps.append("More gold items, drawn as they come, or more labels narrow open intervals.")
    return steps or ["Keep this report beside the data."]


def _points(gap: float) -> str:
    return f"{100 * gap:g} percentage points"


def _of(part: int, n: int) -> str:
    return f"{part:,} of {count(n, 'labeler')}"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _sides(gaps: pd.DataFrame) -> str:
    pairs = gaps[["group", "reference"]].drop_duplicates()
    if len(pairs) == 1:
        return f"{pairs['group'].iloc[0]} and {pairs['reference'].iloc[0]}"
    return "groups"
