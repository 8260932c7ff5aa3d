"""`make_plan`: from an assessment's numbers to amounts and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray
from scipy.stats import norm

from mdba_checks.config import Policy
from mdba_checks.errors import InputError, quoted
from mdba_checks.findings.corrections import errors_beyond
from mdba_checks.findings.diagnostics import Measures, doubts, obstacles
from mdba_checks.findings.gap_table import Basis
from mdba_checks.findings.inference import Gaps
from mdba_checks.findings.judge import INCONCLUSIVE
from mdba_checks.findings.plan.amounts import Rule, allocate
from mdba_checks.findings.plan.crowd_plan import (
    CrowdFacts,
    Wish,
    advice,
    chance_then,
    labels_for_own_evidence,
    labels_worth,
    within_items,
)
from mdba_checks.tables import BoolArray, FloatArray, IntArray, Question

DEFAULT_POWER = 0.8
# Nobody collects more than this to settle one comparison.
REASONABLE_ITEMS = 100_000

PLAN_COLUMNS = (
    "labeler",
    "attribute",
    "group",
    "reference",
    "class",
    "finding",
    "std_error",
    "std_error_needed",
    "more_gold_group",
    "more_gold_reference",
    "more_labels",
    "settles",
    "sentence",
)

_SHOWN_GROUPS = 4


@dataclass(frozen=True, eq=False)
class Plan:
    """What to collect.

    Attributes
    ----------
    table
        One row per inconclusive comparison, columns as in `PLAN_COLUMNS`. Amounts are missing where
        no reasonable one would do or something else stands in the way; `sentence` says which.
    gold
        Per group: how many more gold items would do for all comparisons that gold can settle. With
        several group columns, groups have the name of theirs in front.
    summary
        The plan in sentences.
    """

    table: pd.DataFrame
    gold: dict[str, int]
    summary: tuple[str, ...]

    def to_record(self) -> dict[str, Any]:
        """Return the plan as dicts, lists, texts and numbers, ready for JSON."""
        known = self.table.astype(object).where(self.table.notna(), None)
        return {"summary": list(self.summary), "gold": self.gold, "plan": known.to_dict("records")}


def check_wish(half_width: float | None, power: float | None) -> None:
    """Refuse what cannot be planned for."""
    if half_width is not None and power is not None:
        raise InputError("plan: give half_width or power, not both")
    for name, value in (("half_width", half_width), ("power", power)):
        if value is not None and not 0 < value < 1:
            raise InputError(f"plan: {name} is {value!r}; give a number between 0 and 1")


def rule_of(gaps: pd.DataFrame, policy: Policy, confidence: float) -> Rule:
    """Return when a gap counts as settled."""
    # Counting every comparison is what Holm does to its first one; the others have it easier.
    # By default those hardly count that are shown to be within the limit.
    counted = gaps["p_value"].notna()
    if policy.correction == "auto":
        counted &= gaps["finding"] != "fair"
    n_tests = int(counted.sum())
    return Rule(
        policy.max_gap,
        z=float(norm.isf((1 - confidence) / 2)),
        z_biased=errors_beyond(policy, confidence, n_tests),
        margin=policy.resolved().margin or 0.0,
    )


def make_plan(
    gaps: pd.DataFrame,
    parts: Sequence[Basis],
    *,
    policy: Policy,
    confidence: float,
    half_width: float | None = None,
    power: float | None = None,
    crowds: Sequence[CrowdFacts | None] = (),
) -> Plan:
    """Plan for the inconclusive rows of `gaps`; see `Assessment.plan`.

    The rows of the first part come first in the table, and so on.
    """
    check_wish(half_width, power)
    rule = rule_of(gaps, policy, confidence)
    ends = np.cumsum([0, *(part.numbers.gap.size for part in parts)])
    plans = [
        _plan_of(gaps.iloc[begin:end], part, rule, policy, half_width, power, crowd)
        for part, crowd, begin, end in zip(
            parts, crowds or [None] * len(parts), ends[:-1], ends[1:], strict=True
        )
    ]
    if len(plans) == 1:
        return plans[0]
    return _joined(plans, [part.measures.question for part in parts])


def _joined(plans: Sequence[Plan], questions: Sequence[Question]) -> Plan:
    """Return the plans of several questions in one."""
    gold: dict[str, int] = {}
    summary = []
    several = len({each.columns for each in questions}) > 1
    for plan, question in zip(plans, questions, strict=True):
        for group, number in plan.gold.items():
            name = f"{question.attribute}: {group}" if several else group
            gold[name] = max(number, gold.get(name, 0))
        if len(plan.table):
            summary += [f"{question.title(questions)}: {said}" for said in plan.summary]
    table = pd.concat([plan.table for plan in plans], ignore_index=True)
    return Plan(table, gold, tuple(summary) or plans[0].summary)


def _plan_of(
    gaps: pd.DataFrame,
    part: Basis,
    rule: Rule,
    policy: Policy,
    half_width: float | None,
    power: float | None,
    crowd: CrowdFacts | None,
) -> Plan:
    """Return the plan for the comparisons of one question."""
    numbers, measures = part.numbers, part.measures
    rows = np.flatnonzero(gaps["finding"].to_numpy() == INCONCLUSIVE)
    gap, error = gaps["gap"].to_numpy()[rows], gaps["std_error"].to_numpy()[rows]
    hindered = np.array(
        [
            obstacle.text if obstacle else doubt
            for obstacle, doubt in zip(
                obstacles(measures, policy), doubts(measures, policy), strict=True
            )
        ],
        dtype=object,
    )[rows]
    hindered[(hindered == "") & ~(np.isfinite(gap) & np.isfinite(error))] = (
        "the gap could not be estimated"
    )
    free = np.flatnonzero(hindered == "")
    needed = np.full(len(rows), np.nan)
    wanted_power = DEFAULT_POWER if power is None else power
    if half_width is None:
        needed[free] = rule.error_needed(gap[free], error[free], wanted_power)
    else:
        needed[free] = half_width / rule.z
    n_groups = len(measures.groups)
    more = np.full((len(rows), n_groups + 1), np.nan)
    own, by_gold = _variances(numbers, rows)
    n_labels = measures.labels_compared.ravel()[rows]
    wish = Wish(
        gap=gap[free],
        error=error[free],
        needed=needed[free],
        own=own[free],
        gold=by_gold[free],
        n_labels=n_labels[free].astype(float)
        if crowd is None
        else labels_worth(crowd, own[free], n_labels[free], rows[free]),
        n_gold=measures.n_gold,
    )
    more[free] = allocate(wish.own, wish.gold, wish.n_labels, wish.n_gold, wish.needed)
    settles = half_width is None or rule.settles(gap, np.minimum(needed, error))
    chance = np.full(len(rows), wanted_power)
    if crowd is None:
        more[~(more.sum(axis=1) <= REASONABLE_ITEMS)] = np.nan
    else:
        contrast = rows[free] % len(measures.contrasts)
        bounds = _bounds(crowd, measures, contrast, n_labels[free])
        if half_width is None:
            idle = more[free].sum(axis=1) < 1
            asked = labels_for_own_evidence(crowd, rule, wish, rows[free], wanted_power)
            more[free[idle], -1] = np.minimum(asked, bounds[1])[idle]
        more[free], cut = within_items(more[free], wish, *bounds)
        chance[free[cut]] = chance_then(rule, wish, more[free])[cut]
        settles = settles & (chance >= wanted_power - 1e-6)
    draft = _Draft(
        rows=gaps.iloc[rows],
        contrast=rows % len(measures.contrasts),
        needed=needed,
        more=np.ceil(more - 1e-6),
        settles=np.isfinite(more[:, 0]) & settles,
        chance=chance,
        hindered=hindered,
        measures=measures,
        policy=policy,
        half_width=half_width,
        power=wanted_power,
        crowd=crowd,
    )
    return Plan(draft.table(), draft.gold(), tuple(draft.summary()))


def _variances(numbers: Gaps, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return what labels reduce, (rows,), and what gold of each group does, (rows, groups).

    What models leave open is a product of two errors, one that labels reduce and one that gold
    does: half of it is counted on either side.
    """
    own, model = numbers.own_variance.ravel()[rows], numbers.model_variance.ravel()[rows]
    gold = numbers.gold_variance.reshape(numbers.gap.size, -1)[rows]
    total = gold.sum(axis=1, keepdims=True)
    share = np.divide(gold, total, out=np.zeros_like(gold), where=total > 0)
    moved = np.where(total[:, 0] > 0, model / 2, 0.0)
    return own - moved, gold + share * moved[:, None]


def _bounds(
    crowd: CrowdFacts, measures: Measures, contrast: IntArray, n_labels: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return how many items are left to judge, (rows, groups), and to label, (rows,)."""
    member = np.zeros((len(measures.contrasts), len(measures.groups)))
    for number, each in enumerate(measures.contrasts):
        member[number, [each.group, *measures.members(each)]] = 1.0
    left = member[contrast] * crowd.n_items
    every = left.sum(axis=1) + (member[contrast] * measures.n_gold).sum(axis=1)
    return left, np.maximum(every - n_labels, 0.0)


@dataclass(frozen=True)
class _Draft:
    """A plan in numbers; arrays have a row per inconclusive comparison."""

    rows: pd.DataFrame
    contrast: IntArray
    needed: FloatArray
    more: FloatArray  # (rows, groups + 1): gold per group, then labels; NaN where none is given
    settles: BoolArray
    chance: FloatArray  # to be settled with these amounts, where no interval is asked for
    hindered: np.ndarray[Any, np.dtype[np.object_]]  # what stands in the way, empty for nothing
    measures: Measures
    policy: Policy
    half_width: float | None
    power: float
    crowd: CrowdFacts | None

    @property
    def given(self) -> BoolArray:
        """Where amounts are given."""
        known: BoolArray = np.isfinite(self.more[:, 0])
        return known

    def table(self) -> pd.DataFrame:
        group = np.array([each.group for each in self.measures.contrasts])[self.contrast]
        of_group = self.more[np.arange(len(group)), group]
        of_reference = self.more[:, :-1].sum(axis=1) - of_group
        first = self.first_gold[self.contrast]
        lacking = (self.hindered != "") & (first.sum(axis=1) > 0)
        named = ["labeler", "attribute", "group", "reference", "class", "finding", "std_error"]
        table = self.rows[named].assign(
            std_error_needed=self.needed,
            more_gold_group=_whole(np.where(lacking, first[:, 0], of_group)),
            more_gold_reference=_whole(np.where(lacking, first[:, 1], of_reference)),
            more_labels=_whole(self.more[:, -1]),
            settles=self.settles,
            sentence=[self.sentence(row) for row in range(len(self.rows))],
        )
        return table[list(PLAN_COLUMNS)].reset_index(drop=True)

    def gold(self) -> dict[str, int]:
        each = self.most(self.given)
        return {
            name: int(number)
            for name, number in zip(self.measures.groups, each, strict=True)
            if number
        }

    def most(self, rows: BoolArray | IntArray) -> FloatArray:
        """Return the gold per group that is enough for every one of the rows."""
        enough: FloatArray = self.more[rows, :-1].max(axis=0, initial=0.0)
        return enough

    @cached_property
    def first_gold(self) -> FloatArray:
        """Return the gold to add before anything can be estimated, (contrasts, sides)."""
        measures, least = self.measures, self.policy.min_gold_positives
        first = np.zeros((len(measures.contrasts), 2))
        if not measures.estimator.needs_gold_positives:
            return first
        for row, contrast in enumerate(measures.contrasts):
            for side, codes in enumerate((np.array([contrast.group]), measures.members(contrast))):
                found = measures.n_gold_positive[codes].sum()
                share = (found + 0.5) / (measures.n_gold[codes].sum() + 1)
                first[row, side] = np.ceil(max(least - found, 0) / share)
        return first

    def sentence(self, row: int) -> str:
        limit = f"±{self.policy.max_gap:g}"
        if self.hindered[row]:
            return self._way_out(row)
        if not self.given[row]:
            return (
                f"cannot be settled at {limit} with any reasonable amount: the gap lies too near it"
                if self.half_width is None
                else f"an interval of ±{self.half_width:g} would take more than "
                f"{REASONABLE_ITEMS:,} items"
            )
        if not self.more[row].any():
            return f"the interval is as narrow already, and reaches across {limit}"
        amounts = _amounts(self.more[row, :-1], self.measures.groups, int(self.more[row, -1]))
        if self.half_width is None and not self.settles[row]:
            return (
                f"{amounts}, no more than there are items, would settle it with a chance of "
                f"{self.chance[row]:.0%} only"
            )
        if self.half_width is None:
            return f"{amounts} would settle it with a chance of {self.power:.0%}"
        then = (
            "which would settle it if the estimate stays"
            if self.settles[row]
            else f"which would still reach across {limit} if the estimate stays"
        )
        return f"{amounts} would narrow the interval to ±{self.half_width:g}, {then}"

    def _way_out(self, row: int) -> str:
        contrast = self.measures.contrasts[self.contrast[row]]
        names = self.measures.groups[contrast.group], self.measures.reference_name(contrast)
        first = self.first_gold[self.contrast[row]]
        lacking = [f"{int(n)} of {name}" for n, name in zip(first, names, strict=True) if n > 0]
        then = f"; about {_listed(lacking)} more gold items would do for that" if lacking else ""
        return f"{self.hindered[row]}{then}"

    def summary(self) -> list[str]:
        if not len(self.rows):
            return ["nothing is inconclusive: no more gold items or labels are needed"]
        said = []
        labels = np.nan_to_num(self.more[:, -1])
        served = self.given & (self.settles | (self.half_width is not None))
        by_gold = np.flatnonzero(served & (labels == 0) & (self.more.sum(axis=1) > 0))
        for part in self._steps(by_gold):
            amounts = _amounts(self.most(part), self.measures.groups, 0)
            said.append(f"{amounts} {self._would(part)}")
        with_labels = np.flatnonzero(served & (labels > 0))
        if len(with_labels):
            amounts = _amounts(
                self.most(with_labels), self.measures.groups, int(labels.max()), by="each"
            )
            said.append(f"{amounts} {self._would(with_labels)}")
        narrow = int((self.given & (self.more.sum(axis=1) == 0)).sum())
        if narrow:
            said.append(
                f"{self._counted(narrow)} {'has' if narrow == 1 else 'have'} an interval as narrow "
                f"already, and it reaches across ±{self.policy.max_gap:g}"
            )
        short = int((self.given & ~served).sum())
        if short:
            said.append(
                f"{self._counted(short)} cannot be settled with a chance of {self.power:.0%} by "
                "the items there are"
            )
        too_many = int(((self.hindered == "") & ~self.given).sum())
        if too_many:
            aim = (
                f"settled at ±{self.policy.max_gap:g}"
                if self.half_width is None
                else f"narrowed to ±{self.half_width:g}"
            )
            said.append(f"{self._counted(too_many)} cannot be {aim} with any reasonable amount")
        for text, count in Counter(filter(None, self.hindered)).most_common(3):
            said.append(
                f"{self._counted(count)} {'is' if count == 1 else 'are'} undecided for another "
                f"reason: {text}"
            )
        if self.crowd is not None:
            said += advice(
                self.crowd,
                (len(by_gold), float(self.most(by_gold).sum())),
                (len(with_labels), float(labels[with_labels].sum())),
            )
        return said

    def _steps(self, rows: IntArray) -> list[IntArray]:
        """Return all rows, preceded by the cheaper half where that is a good deal cheaper."""
        if not len(rows):
            return []
        total = self.more[rows].sum(axis=1)
        half = rows[np.argsort(total, kind="stable")][: -(-len(rows) // 2)]
        worthwhile = len(rows) >= 4 and self.most(half).sum() <= 0.6 * self.most(rows).sum()
        return [half, rows] if worthwhile else [rows]

    def _would(self, rows: IntArray) -> str:
        who = self._counted(len(rows), of=len(self.rows))
        if self.half_width is None:
            return f"would settle {who}, each with a chance of {self.power:.0%}"
        settled = int(self.settles[rows].sum())
        return (
            f"would narrow the intervals of {who} to ±{self.half_width:g}, and settle {settled} if "
            "the estimates stay"
        )

    def _counted(self, n: int, *, of: int | None = None) -> str:
        what = "labeler" if len(self.measures.contrasts) == 1 else "comparison"
        if of is None:
            return f"{n} {what}{'s' if n != 1 else ''}"
        counted = str(n) if n == of else f"{n} of {of}"
        return f"{counted} inconclusive {what}{'s' if of != 1 else ''}"


def _amounts(
    gold: FloatArray, groups: Sequence[str], labels: int, *, by: str = "the labeler"
) -> str:
    """Say amounts: '120 more gold items of women and 40 of men, and 30 more labels by …'."""
    found = sorted(
        ((int(n), name) for n, name in zip(gold, groups, strict=True) if n > 0), reverse=True
    )
    more = "more gold item" if found and found[0][0] == 1 else "more gold items"
    shown = [
        f"{n:,} of {quoted(name)}" if place else f"{n:,} {more} of {quoted(name)}"
        for place, (n, name) in enumerate(found[:_SHOWN_GROUPS])
    ]
    rest = sum(n for n, _ in found[_SHOWN_GROUPS:])
    if rest:
        shown.append(f"{rest:,} of other groups")
    said = []
    if shown:
        said.append(_listed(shown))
    if labels:
        most = "up to " if by == "each" else ""
        said.append(f"{most}{labels:,} more label{'s' if labels != 1 else ''} by {by}")
    return ", and ".join(said)


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _whole(amounts: FloatArray) -> ExtensionArray:
    """Return whole numbers that may be missing."""
    return pd.array(np.where(np.isfinite(amounts), amounts, np.nan), dtype="Int64")
