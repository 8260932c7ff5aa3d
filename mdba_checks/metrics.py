"""The rates that are compared between groups, and the words people read about them.

A metric says which decisions it counts and among which items: the true positive rate counts the
decisions that say yes, among the items where yes is right. Everything else about a metric follows
from these two answers, so nothing outside this module has to know a metric by its name. Sentences
are made here as well, with the words that the label column uses or that the user prefers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from mdba_checks.errors import quoted

MetricName = Literal["tpr", "fpr", "tnr", "fnr"]
Answer = Literal["yes", "no"]

EVERYONE_ELSE = "everyone else"  # the reference, where no group is named as such

# What every sentence about a gap is made of; each metric fills in its own decision and its items.
_RATES = "{decides} {rate} of {group} and {rate_reference} of {reference}{where}"
_GAP = "a gap {of} {points} points (limit {limit})"
_POSITIVE, _NEGATIVE = ("yes", "1", "1.0", "true"), ("no", "0", "0.0", "false")
_NAMED = 3  # values; more of them are described by what they are not
_VALUE_CHARACTERS = 40


@dataclass(frozen=True)
class Metric:
    """A rate: how often labelers answer `said` where `right` is the right answer.

    Examples
    --------
    >>> fpr = METRICS["fpr"]
    >>> fpr.title, fpr.kind
    ('false positive rate', 'negative')
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


METRICS: dict[str, Metric] = {
    each.name: each
    for each in (
        Metric("tpr", "true positive rate", said="yes", right="yes"),
        Metric("fpr", "false positive rate", said="yes", right="no"),
        Metric("tnr", "true negative rate", said="no", right="no"),
        Metric("fnr", "false negative rate", said="no", right="yes"),
    )
}


@dataclass(frozen=True)
class AnswerWords:
    """What decisions are called.

    Attributes
    ----------
    positive, negative
        The answers as they read in a sentence. Without a negative one, it is what is not positive.
    positive_verb, negative_verb
        What somebody does who decides so: "invites", "rejects".
    positive_adjective, negative_adjective
        What items are for which that is right: "suitable", "unsuitable".

    Examples
    --------
    >>> AnswerWords().decides("yes"), AnswerWords('"spam"', "").decides("no")
    ('says yes for', 'does not say "spam" for')
    >>> AnswerWords(positive_verb="invites").decides("yes")
    'invites'
    """

    positive: str = "yes"
    negative: str = "no"
    positive_verb: str = ""
    negative_verb: str = ""
    positive_adjective: str = ""
    negative_adjective: str = ""

    def decides(self, answer: Answer) -> str:
        """Return what somebody does who answers so; what they decide about follows."""
        if answer == "yes":
            return self.positive_verb or f"says {self.positive} for"
        if self.negative_verb:
            return self.negative_verb
        return f"says {self.negative} for" if self.negative else f"does not say {self.positive} for"

    def is_right(self, answer: Answer, verb: Literal["is", "seems"] = "is") -> str:
        """Return that an answer is right, in words.

        Examples
        --------
        >>> (
        ...     AnswerWords('"spam"', '"ham"').is_right("no"),
        ...     AnswerWords('"spam"', "").is_right("no", "seems"),
        ... )
        ('"ham" is right', '"spam" seems wrong')
        """
        named = self.positive if answer == "yes" else self.negative
        return f"{named} {verb} right" if named else f"{self.positive} {verb} wrong"

    def same_for_all(self, answer: Answer, n: int) -> str:
        """Return that somebody gave one answer only."""
        named = self.positive if answer == "yes" else self.negative
        return (
            f"said {named} for all {n} items"
            if named
            else f"said {self.positive} for none of {n} items"
        )

    def adjective(self, answer: Answer) -> str:
        """Return what items are called where an answer is right; empty if they have no name."""
        return self.positive_adjective if answer == "yes" else self.negative_adjective


def answers_in_words(positive: Sequence[str], negative: Sequence[str]) -> tuple[str, str]:
    """Return what the two answers are called, from the values of the label column.

    Parameters
    ----------
    positive, negative
        The values that count as one and as the other.

    Examples
    --------
    >>> answers_in_words(["1"], ["0"]), answers_in_words(["invite"], ["reject"])
    (('yes', 'no'), ('"invite"', '"reject"'))
    >>> answers_in_words(["invite", "maybe"], ["reject", "unclear"])
    ('"invite" or "maybe"', '')
    """
    yes = "yes" if set(map(_folded, positive)) <= set(_POSITIVE) else _either(positive)
    if not yes:  # many values: those that are not negative
        yes = f"not {_either(negative)}" if 0 < len(negative) <= _NAMED else "yes"
    if yes == "yes" and set(map(_folded, negative)) <= set(_NEGATIVE):
        return yes, "no"
    return yes, _either(negative) if len(negative) == 1 else ""


def _folded(value: str) -> str:
    return value.strip().casefold()


def _either(values: Sequence[str]) -> str:
    shown = [f'"{each[:_VALUE_CHARACTERS]}"' for each in values]
    return " or ".join(shown) if len(shown) <= _NAMED else ""


@dataclass(frozen=True)
class Wording:
    """How a check speaks about its rate: a metric, the user's words, and what is counted.

    Attributes
    ----------
    metric, words
        What is compared, and what decisions are called.
    of_all
        Whether all items count, without regard to what is right.

    Examples
    --------
    >>> wording = Wording(METRICS["tpr"], AnswerWords('"invite"', '"reject"'))
    >>> print(wording.sentence(("women", 0.55), ("men", 0.95), gap=-0.4, limit=0.1))
    says "invite" for 55% of women and 95% of men where "invite" is right: a gap of 40 points \
(limit 10)
    >>> words = AnswerWords(positive_verb="invites", positive_adjective="suitable")
    >>> wording = Wording(METRICS["tpr"], words)
    >>> print(wording.sentence(("women", 0.55), ("men", 0.95), gap=-0.4, limit=0.1))
    invites 55% of suitable women and 95% of suitable men: a gap of 40 points (limit 10)
    """

    metric: Metric = METRICS["tpr"]
    words: AnswerWords = field(default_factory=AnswerWords)
    of_all: bool = False

    @property
    def title(self) -> str:
        """The name of the rate."""
        return "selection rate" if self.of_all else self.metric.title

    def meaning(self) -> str:
        """Return what is counted.

        Examples
        --------
        >>> Wording(METRICS["fpr"]).meaning(), Wording(METRICS["fpr"], of_all=True).meaning()
        ('says yes for items where no is right', 'says yes for items')
        """
        return f"{self.words.decides(self.metric.said)} {self._items()}"

    def question(self) -> str:
        """Return what the rate answers, for somebody who never saw one.

        Examples
        --------
        >>> Wording(METRICS["fnr"]).question()
        'of 100 items where yes is right, how many get no'
        """
        named = self.words.positive if self.metric.said == "yes" else self.words.negative
        get = f"get {named}" if named else f"do not get {self.words.positive}"
        return f"of 100 {self._items()}, how many {get}"

    def sentence(
        self, group: tuple[str, float], reference: tuple[str, float], *, gap: float, limit: float
    ) -> str:
        """Return what somebody does, as a sentence that lacks its subject.

        Parameters
        ----------
        group, reference
            Their names, each with its rate.
        gap, limit
            What lies between the rates, and what is tolerated.
        """
        digits, of = _digits(group[1], reference[1], gap)
        points, tolerated = f"{100 * abs(gap):.{digits}f}", f"{100 * limit:g}"
        told = _GAP.format(of=of, points=points, limit=tolerated)
        return f"{self.rates(group, reference, gap=gap)}: {told}"

    def rates(self, group: tuple[str, float], reference: tuple[str, float], *, gap: float) -> str:
        """Return the two rates, in the form of `sentence`, with digits that fit the gap.

        Examples
        --------
        >>> Wording(METRICS["fpr"]).rates(("women", 0.1), ("men", 0.2), gap=-0.1)
        'says yes for 10% of women and 20% of men where no is right'
        >>> Wording(METRICS["fpr"]).rates(("women", 0.3), ("men", -0.001), gap=0.3)
        'says yes for 30% of women and 0% of men where no is right'
        """
        digits, _ = _digits(group[1], reference[1], gap)
        adjective = "" if self.of_all else self.words.adjective(self.metric.right)
        where = "" if self.of_all or adjective else f" where {self._is_right()}"
        names = [
            f"{adjective} {'others' if name == EVERYONE_ELSE else quoted(name)}"
            if adjective
            else quoted(name)
            for name, _ in (group, reference)
        ]
        return _RATES.format(
            decides=self.words.decides(self.metric.said),
            group=names[0],
            rate=f"{group[1]:z.{digits}%}",
            reference=names[1],
            rate_reference=f"{reference[1]:z.{digits}%}",
            where=where,
        )

    def _is_right(self) -> str:
        return self.words.is_right(self.metric.right)

    def _items(self) -> str:
        adjective = self.words.adjective(self.metric.right)
        if self.of_all:
            return "items"
        return f"{adjective} items" if adjective else f"items where {self._is_right()}"


def _digits(rate: float, other: float, gap: float) -> tuple[int, str]:
    """Return with how many digits rates and gap fit together, and how the gap is introduced.

    The gap of somebody with few labels allows for more than the two rates show, and may differ.
    """
    if not abs(rate - other - gap) <= 0.001:
        return 0, "estimated at"
    whole = round(100 * rate) - round(100 * other)
    return (0 if abs(whole) == round(100 * abs(gap)) else 1), "of"
