"""The verdict: what a policy makes of an assessment.

Labelers, cohorts of labelers and all labels together are judged; the strictest consequence wins:
block > inconclusive > quarantine > annotate > pass. What is undecided passes only as far as the
policy tolerates it, and never where an assumption does not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np
import pandas as pd

from mdba_checks.assessment import Assessment
from mdba_checks.config import Mode, Policy
from mdba_checks.errors import InputError, listed, quoted
from mdba_checks.findings import (
    ASSUMPTION,
    BIASED,
    BORDERLINE,
    EVIDENCE,
    FAIR,
    INCONCLUSIVE,
    NEAR,
    SUSPECT,
    SUSPECTS_TOLERATED,
    UNKNOWN,
    far_beyond,
    said_about,
    standing,
    with_sides,
)

Verdict = Literal["pass", "annotate", "quarantine", "block", "inconclusive"]
About = Literal["labeler", "cohort", "whole"]

CONSEQUENCES: dict[Verdict, str] = {
    "pass": "these labels may train a model.",
    "annotate": "these labels may be used by training that takes the findings into account.",
    "quarantine": "the rows that stay may train a model, the others must not.",
    "block": "these labels must not train a model as they are.",
    "inconclusive": "stopped, because the evidence does not decide it.",
}
_STRICTNESS: tuple[Verdict, ...] = ("pass", "annotate", "quarantine", "inconclusive", "block")
_WHOLE = "all labels together"
_SUBJECTS: dict[About, str] = {"labeler": "{}", "cohort": "the cohort {}"}
_AS_A_WHOLE = "the data set as a whole"
_SHOWN = 3
_CONCERNED = "concerned"


class Removal(NamedTuple):
    """A comparison because of which rows are taken out: whose, and about which group."""

    labeler: str
    attribute: str
    group: str


@dataclass(frozen=True)
class Decision:
    """A verdict with its reasons, as sentences.

    Attributes
    ----------
    verdict, reasons, policy
        What was decided, why, and by which policy.
    removes
        The comparisons because of which rows are taken out, in a quarantine.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    policy: Policy
    removes: tuple[Removal, ...] = ()

    @property
    def lets_through(self) -> bool:
        """Whether the table may be used as it is: all of its rows, without regard to findings.

        Annotated rows need training that knows what the findings mean, and a quarantine takes rows
        out: `mdba_checks.release` returns what may be used then.
        """
        return self.verdict == "pass"

    @property
    def stops(self) -> bool:
        """Whether nothing may be used, neither as it is nor annotated nor in part."""
        return self.verdict in ("block", "inconclusive")


@dataclass(frozen=True)
class _Level:
    """Comparisons of one kind: of labelers, of cohorts or of all labels together.

    Attributes
    ----------
    rows
        Judged gaps; `name` is the column that says whose they are, ``standing`` what is known about
        who is undecided for lack of evidence, and ``concerned``, if it is there, how many labels
        stay open with the comparison.
    labels
        How many labels everybody has given.
    limit
        The tolerated gap.
    """

    rows: pd.DataFrame
    name: About
    labels: Mapping[str, int]
    limit: float

    def found(self, finding: str, cause: str = "") -> pd.DataFrame:
        """Return the rows with a finding, and a cause where one is given."""
        rows = self.rows[self.rows["finding"] == finding]
        return rows[rows["cause"] == cause] if cause else rows

    def standing(self, *kinds: str) -> pd.DataFrame:
        """Return the rows of who is undecided for lack of evidence, of some kinds."""
        return self.rows[self.rows["standing"].isin(kinds)]

    def share(self, *kinds: str) -> float:
        """Return the share of the labels by who is undecided, of some kinds.

        Where it is known which of their labels a comparison leaves open, only those count.
        """
        rows, total = self.standing(*kinds), sum(self.labels.values())
        if not total:
            return 0.0
        open_ = dict.fromkeys(rows[self.name], total)
        if _CONCERNED in rows:
            open_ = rows.groupby(self.name)[_CONCERNED].sum().to_dict()
        return sum(min(n, open_.get(name, 0)) for name, n in self.labels.items()) / total

    def too_many(self, policy: Policy) -> tuple[str, ...]:
        """Return the kinds of which there are more than is tolerated."""
        if self.name == "whole":
            return (UNKNOWN,) if self._whole_is_open(policy) else ()
        if self.share(UNKNOWN, SUSPECT) > policy.max_undecided:
            return (UNKNOWN, SUSPECT)
        most = SUSPECTS_TOLERATED * policy.max_undecided
        return (SUSPECT,) if self.share(SUSPECT) > most else ()

    def _whole_is_open(self, policy: Policy) -> bool:
        """Return whether it is not decided what all labels together are like.

        An attribute is about all of them. A combination or a class is about its own labels only,
        and of labels a share may stay undecided.
        """
        rows, total = self.standing(UNKNOWN), sum(self.labels.values())
        if _CONCERNED in rows and (rows[_CONCERNED] < total).all():
            return self.share(UNKNOWN) > policy.max_undecided
        return len(rows) > 0


def gate(
    assessment: Assessment,
    policy: Policy | None = None,
    *,
    without: Collection[Removal] = (),
    about: About | None = None,
) -> Decision:
    """Decide about a data set; without a policy, by the one it was assessed with.

    Parameters
    ----------
    assessment
        What `assess` returned.
    policy
        What to decide by.
    without
        Comparisons that do not count.
    about
        Decide about labelers, cohorts or all labels together alone; by default about all of them,
        and nothing less lets a data set through.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> gate(assessment).verdict
    'block'
    """
    if policy is None:
        policy = assessment.config.policy
    judged = assessment.with_policy(policy)
    gaps, cohorts, overall = judged.gaps, judged.cohorts, judged.overall
    concerned = judged.labels_concerned("labeler")
    gaps = gaps.assign(**{_CONCERNED: concerned}, pooled=judged.pooled)
    if cohorts is not None:
        cohorts = cohorts.assign(**{_CONCERNED: judged.labels_concerned("cohort")})
    if overall is not None:
        overall = overall.assign(**{_CONCERNED: judged.labels_concerned("whole")})
    if without:
        named = pd.MultiIndex.from_frame(gaps[list(Removal._fields)])
        gaps = gaps[~named.isin(list(without))]
    return decide(
        gaps,
        policy,
        labels=_counts(judged.labels_per_labeler),
        overall=overall,
        cohorts=cohorts,
        about=about,
    )


def decide(
    gaps: pd.DataFrame,
    policy: Policy,
    *,
    labels: Mapping[str, int],
    overall: pd.DataFrame | None = None,
    cohorts: pd.DataFrame | None = None,
    about: About | None = None,
) -> Decision:
    """Decide about gaps that were judged by the policy.

    Parameters
    ----------
    gaps
        Of labelers.
    policy
        What to decide by.
    labels
        How many labels each labeler has given.
    overall, cohorts
        Of all labels together and of cohorts, where there are such.
    about
        What to decide about, if not about all of it.
    """
    whole = policy.resolved()
    levels = [
        level
        for level in _levels(gaps, whole, labels, overall, cohorts)
        if about in (None, level.name)
    ]
    if not levels:
        raise InputError(f"nothing was found out about each {about}: name its column")
    removes = _removes(levels, whole) if levels[0].name == "labeler" else gaps.iloc[:0]
    verdicts = [_verdict(level, whole, removes) for level in levels]
    if not np.isfinite(levels[0].rows["gap"]).any():
        verdicts.append("inconclusive")  # knowing nothing at all passes under no policy
    verdict = max(verdicts, key=_STRICTNESS.index)
    return Decision(
        verdict,
        tuple(_reasons(levels, whole)),
        policy,
        tuple(map(Removal, *(removes[name] for name in Removal._fields)))
        if verdict == "quarantine"
        else (),
    )


def _levels(
    gaps: pd.DataFrame,
    policy: Policy,
    labels: Mapping[str, int],
    overall: pd.DataFrame | None,
    cohorts: pd.DataFrame | None,
) -> Iterator[_Level]:
    known = with_sides(gaps).assign(standing=standing(gaps, policy))
    yield _Level(known, "labeler", labels, policy.max_gap)
    if cohorts is not None and len(cohorts):
        size = cohorts.groupby("cohort", sort=False)["n_labels"].max()
        yield _Level(_unknown(cohorts), "cohort", _counts(size), policy.max_gap)
    if overall is not None and len(overall):
        rows = _unknown(overall).assign(whole=_WHOLE)
        limit = cast("float", policy.max_gap_overall)
        yield _Level(rows, "whole", {_WHOLE: sum(labels.values())}, limit)


def _unknown(rows: pd.DataFrame) -> pd.DataFrame:
    # Cohorts and all labels together are large parts of the data: near the limit is not enough.
    is_open = (rows["finding"] == INCONCLUSIVE) & (rows["cause"] == EVIDENCE)
    return with_sides(rows).assign(standing=np.where(is_open, UNKNOWN, ""))


def _counts(size: pd.Series) -> dict[str, int]:
    return {str(name): int(count) for name, count in size.items()}


def _on_failed_assumption(policy: Policy) -> Mode:
    """Return what to do about a failed assumption: to let it pass is not among the choices."""
    asked = policy.on_inconclusive
    return policy.mode if asked is None or asked == "pass" else asked


def _removes(levels: list[_Level], policy: Policy) -> pd.DataFrame:
    """Return the comparisons whose rows leave the data set."""
    labelers, *larger = levels
    gone = [labelers.rows.iloc[:0]]
    if policy.mode == "quarantine":
        gone.append(labelers.found(BIASED))
    if _on_failed_assumption(policy) == "quarantine":
        gone.append(labelers.found(INCONCLUSIVE, ASSUMPTION))
    if policy.on_inconclusive == "quarantine":
        gone.append(labelers.standing(*labelers.too_many(policy)))
        # Where the others leave the whole open, tolerated ones are what can still be taken out.
        if not any(map(len, gone)) and any(_stays_open(level, policy) for level in larger):
            gone.append(labelers.found(INCONCLUSIVE, EVIDENCE))
    return pd.concat(gone).sort_index(kind="stable")


def _stays_open(level: _Level, policy: Policy) -> bool:
    """Return whether a cohort or the whole is undecided, or biased where rows may go for that."""
    biased = policy.mode == "quarantine" and len(level.found(BIASED)) > 0
    return biased or bool(level.too_many(policy))


def _verdict(level: _Level, policy: Policy, removes: pd.DataFrame) -> Verdict:
    """Return the consequence of what was found on one level."""
    # Cohorts and all labels together get better only by rows of labelers being taken out.
    curable = len(removes) > 0
    verdicts: list[Verdict] = ["pass"]
    if len(level.found(BIASED)):
        verdicts.append("block" if policy.mode == "quarantine" and not curable else policy.mode)
    handlings: list[str] = []
    if len(level.found(INCONCLUSIVE, ASSUMPTION)):
        handlings.append(_on_failed_assumption(policy))
    if level.too_many(policy):
        handlings.append(cast("str", policy.on_inconclusive))
    for handling in handlings:
        if handling == "block" or (handling == "quarantine" and not curable):
            verdicts.append("inconclusive")
        else:
            verdicts.append(cast("Verdict", handling))
    return max(verdicts, key=_STRICTNESS.index)


def _reasons(levels: list[_Level], policy: Policy) -> Iterator[str]:
    for level in reversed(levels):  # the whole first, single labelers last
        limit = f"±{level.limit:g}"
        kinds = (
            (level.found(BIASED), f"biased beyond {limit}"),
            (level.found(INCONCLUSIVE, ASSUMPTION), "undecided: an assumption does not hold"),
            *_undecided(level, policy, limit),
            (level.found(BORDERLINE), f"borderline at {limit}"),
        )
        for rows, what in kinds:
            if len(rows):
                yield _sentence(rows, what, level.name)
    gaps = levels[0].rows
    n_fair = int((gaps["finding"] == FAIR).sum())
    if n_fair == len(gaps) > 0:
        yield f"all {n_fair} comparisons are within ±{levels[0].limit:g}"
    if not np.isfinite(gaps["gap"]).any():
        yield "not a single gap could be estimated"


def _undecided(level: _Level, policy: Policy, limit: str) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield who is undecided for lack of evidence, with words for it."""
    if level.name == "whole":
        yield level.standing(UNKNOWN), f"undecided at {limit}"
        return
    for kind, also, most, what in (
        (SUSPECT, (), SUSPECTS_TOLERATED * policy.max_undecided, ", but probably beyond it"),
        (UNKNOWN, (SUSPECT,), policy.max_undecided, ""),
    ):
        share = level.share(kind, *also)
        than = "more than" if share > most else "at most"
        tolerated = f"{share:.1%} of the labels; {than} the tolerated {100 * most:g}%"
        yield level.standing(kind), f"undecided at {limit}{what} ({tolerated})"
    near = f"undecided at {limit}, but shown to be within ±{far_beyond(policy):g}"
    yield level.standing(NEAR), near


def _sentence(rows: pd.DataFrame, what: str, name: About) -> str:
    worst = rows.reindex(rows["gap"].abs().sort_values(ascending=False, kind="stable").index)
    names = list(dict.fromkeys(worst[name]))
    first = worst.iloc[0].to_dict()
    if name == "whole":
        said = said_about(_AS_A_WHOLE, first)
        return f"{_WHOLE}: {what}. {said[:1].upper()}{said[1:]}"
    who = _SUBJECTS[name].format(quoted(first[name]))
    said = said_about(who, first)
    return (
        f"{len(names)} {name}{'s' if len(names) > 1 else ''} {what}: "
        f"{listed(names, most=_SHOWN)}. {said}"
    )
