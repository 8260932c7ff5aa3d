"""When to stop judging: what the next items would bring, and when more of them do not help.

The gold items' part of a variance falls as gold grows, the labeler's own part does not. So it can
be said in advance how narrow intervals will be with 50 more items, with what chance each open
comparison is settled then, and whether any number of items would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from mdba_checks.config import CheckConfig
from mdba_checks.findings.gap_table import Basis
from mdba_checks.findings.gold_choice.rounds import Look
from mdba_checks.findings.judge import EVIDENCE, INCONCLUSIVE
from mdba_checks.findings.plan import Rule, rule_of
from mdba_checks.tables import FloatArray, IntArray

NEXT_ITEMS = 50
# With less than this chance for any of them, more gold is not worth asking for.
_WORTHWHILE = 0.2


@dataclass(frozen=True)
class Outlook:
    """What more judgements would bring.

    Attributes
    ----------
    n_settled, n_open
        Comparisons that are settled, and those that lack evidence.
    half_width
        The mean half-width of the open ones' intervals at the next look without more items.
    half_width_then
        The same with more items.
    settled_then
        How many of the open ones more items are expected to settle.
    helps
        Whether more gold can be expected to settle any of them, however much it is.
    sentences
        All of this in words.
    """

    n_settled: int
    n_open: int
    half_width: float
    half_width_then: float
    settled_then: float
    helps: bool
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class OpenGaps:
    """Comparisons that lack evidence; arrays have a row each.

    Attributes
    ----------
    gap, std_error
        As estimated.
    gold_variance
        (rows, groups): the part of the variance that comes from the gold items of each group.
    """

    gap: FloatArray
    std_error: FloatArray
    gold_variance: FloatArray

    def error_with(self, n_gold: IntArray, more: float) -> FloatArray:
        """Return standard errors with more gold, shared between the groups that need it.

        Examples
        --------
        Half of the variance comes from 50 gold items; 50 more halve that half:

        >>> gaps = OpenGaps(np.array([0.2]), np.array([0.1]), np.array([[0.005]]))
        >>> (gaps.error_with(np.array([50]), 50) ** 2).round(5)
        array([0.0075])
        """
        need = np.sqrt(self.gold_variance.mean(axis=0) * n_gold)
        share = need / need.sum() if need.sum() > 0 else np.full(len(n_gold), 1 / len(n_gold))
        n = np.maximum(n_gold, 1)
        left = np.zeros(len(n)) if np.isinf(more) else n / (n + more * share)
        variance = self.std_error**2 - (self.gold_variance * (1 - left)).sum(axis=1)
        # What is not known exactly does not become certain.
        error: FloatArray = np.sqrt(np.maximum(variance, 1e-4 * self.std_error**2))
        return error


def look_ahead(
    gaps: OpenGaps, n_gold: IntArray, rule: Rule, *, n_settled: int, more: int = NEXT_ITEMS
) -> Outlook:
    """Return what more judgements would bring; `rule` is that of the next look.

    Examples
    --------
    A gap that is clearly beyond the limit but for its standard error, most of which is gold's:

    >>> gaps = OpenGaps(np.array([-0.3]), np.array([0.1]), np.array([[0.009, 0.0]]))
    >>> rule = Rule(max_gap=0.1, z=1.645, z_biased=1.645)
    >>> outlook = look_ahead(gaps, np.array([50, 50]), rule, n_settled=3)
    >>> outlook.sentences[0]
    '3 comparisons are settled and 1 is open'
    >>> print(outlook.sentences[1])
    50 more judged items would narrow its interval from ±0.16 to ±..., and are expected to settle it
    """
    n_open = len(gaps.gap)
    counted = f"{n_settled} comparison{'s are' if n_settled != 1 else ' is'} settled"
    if not n_open:
        said = (f"{counted}, and none is open for lack of evidence: no more gold is needed",)
        return Outlook(
            n_settled=n_settled,
            n_open=0,
            half_width=0.0,
            half_width_then=0.0,
            settled_then=0.0,
            helps=False,
            sentences=said,
        )
    then, at_best = (gaps.error_with(n_gold, number) for number in (more, np.inf))
    chance = rule.chance(gaps.gap, gaps.std_error, then)
    chance_at_best = rule.chance(gaps.gap, gaps.std_error, at_best)
    now_width, then_width = (float(rule.z * each.mean()) for each in (gaps.std_error, then))
    expected = float(chance.sum())
    helps = bool((chance_at_best >= _WORTHWHILE).any())
    sentences = (
        f"{counted} and {n_open} {'are' if n_open != 1 else 'is'} open",
        _in_words(more, n_open, now_width, then_width, expected, helps=helps),
    )
    return Outlook(
        n_settled=n_settled,
        n_open=n_open,
        half_width=now_width,
        half_width_then=then_width,
        settled_then=expected,
        helps=helps,
        sentences=sentences,
    )


def outlook_of(
    table: pd.DataFrame,
    parts: Sequence[Basis],
    config: CheckConfig,
    rounds: tuple[int, int] | None,
    more: int = NEXT_ITEMS,
) -> Outlook:
    """Return the outlook for a table of gaps; `rounds` are those that gold was judged in.

    The rows of the first part come first in the table, and so on. Groups of several group columns
    count as groups of their own, although an item belongs to one of each column.
    """
    number, planned = rounds or (0, 1)
    rule = rule_of(table, config.policy, Look(number + 1, planned).confidence(config.confidence))
    is_open = (table["finding"] == INCONCLUSIVE).to_numpy()
    lacking = is_open & ((table["cause"] == EVIDENCE) & table["std_error"].notna()).to_numpy()
    n_gold = np.concatenate([part.measures.n_gold for part in parts])
    own = [part.numbers.gold_variance.reshape(-1, len(part.measures.n_gold)) for part in parts]
    variance = np.nan_to_num(block_diag(*own))
    gaps = OpenGaps(
        table["gap"].to_numpy()[lacking], table["std_error"].to_numpy()[lacking], variance[lacking]
    )
    return look_ahead(gaps, n_gold, rule, n_settled=int((~is_open).sum()), more=more)


def _in_words(
    more: int, n_open: int, now: float, then: float, expected: float, *, helps: bool
) -> str:
    if not helps:
        return (
            "more gold will not help: what is open lies near the limit, or rests on few labels by "
            "the labeler"
        )
    whose = "its interval" if n_open == 1 else "their intervals"
    likely = expected >= 0.5
    if n_open == 1:
        settle = "to settle it" if likely else f"to settle it with a chance of {expected:.0%}"
    else:
        settle = f"to settle {expected:.0f} of them" if likely else "to settle none of them"
    return (
        f"{more} more judged items would narrow {whose} from ±{now:.2f} to ±{then:.2f}, and are "
        f"expected {settle}"
    )
