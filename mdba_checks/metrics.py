"""The rates that are compared between groups, and the words people read about them.

A metric says which decisions it counts and among which items: the true positive rate counts the
decisions that say yes, among the items where yes is right. Everything else about a metric follows
from these two answers, so nothing outside this module has to know a metric by its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MetricName = Literal["tpr", "fpr", "tnr", "fnr"]
Answer = Literal["yes", "no"]


@dataclass(frozen=True)
class Metric:
    """A rate: how often labelers answer `said` where `right` is the right answer.

    Examples
    --------
    >>> fpr = METRICS["fpr"]
    >>> fpr.title, fpr.meaning(), fpr.question()
    ('false positive rate', 'says yes where no is right', 'of 100 items where no is right, how \
many get a yes')
    """

    name: MetricName
    title: str
    said: Answer  # the decisions that are counted
    right: Answer  # the right answer of the items that count

    @property
    def turns_decisions(self) -> bool:
        """Whether decisions have to be turned around to make this a true positive rate."""
        return self.said == "no"

    @property
    def turns_gold(self) -> bool:
        """Whether right answers have to be turned around to make this a true positive rate."""
        return self.right == "no"

    @property
    def right_code(self) -> int:
        """The right answer as it is encoded in tables: 1 for yes, 0 for no."""
        return 0 if self.turns_gold else 1

    @property
    def kind(self) -> str:
        """What a gold item that counts is called: a positive or a negative."""
        return "negative" if self.turns_gold else "positive"

    def meaning(self, *, of_all: bool = False) -> str:
        """Return what a labeler does who is counted; `of_all` ignores what is right.

        Examples
        --------
        >>> METRICS["tpr"].meaning(of_all=True)
        'says yes'
        """
        return f"says {self.said}" if of_all else f"says {self.said} where {self.right} is right"

    def question(self, *, of_all: bool = False) -> str:
        """Return what the rate answers, for somebody who never saw one.

        Examples
        --------
        >>> METRICS["fnr"].question(of_all=True)
        'of 100 items, how many get a no'
        """
        items = "items" if of_all else f"items where {self.right} is right"
        return f"of 100 {items}, how many get a {self.said}"


METRICS: dict[str, Metric] = {
    each.name: each
    for each in (
        Metric("tpr", "true positive rate", said="yes", right="yes"),
        Metric("fpr", "false positive rate", said="yes", right="no"),
        Metric("tnr", "true negative rate", said="no", right="no"),
        Metric("fnr", "false negative rate", said="no", right="yes"),
    )
}
