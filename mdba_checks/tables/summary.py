"""What was read, without its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from mdba_checks.metrics import AnswerWords
from mdba_checks.tables.columns import ColumnUse
from mdba_checks.tables.data import Data
from mdba_checks.tables.questions import Question


@dataclass(frozen=True)
class DataSummary:
    """What was read: counts, names and fingerprints, no rows.

    `groups` are those of every group column; `attributes` says which column each belongs to, and
    `classes` are the labels that are compared one by one.
    """

    n_labels: int
    n_gold: int
    n_labelers: int
    n_dropped: int
    groups: tuple[str, ...]
    features: tuple[str, ...]
    labels_hash: str
    gold_hash: str
    columns: tuple[ColumnUse, ...] = ()
    words: AnswerWords = field(default_factory=AnswerWords)  # what decisions are called
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Data) -> Self:
        """Return the summary of tables that were read."""
        return cls(
            n_labels=len(data.labels),
            n_gold=len(data.gold),
            n_labelers=len(data.labelers),
            n_dropped=data.n_dropped,
            groups=data.groups,
            features=data.features,
            labels_hash=data.labels_hash,
            gold_hash=data.gold_hash,
            columns=data.columns,
            words=data.words,
            attributes={data.question.attribute: data.groups},
        )

    @classmethod
    def of_questions(cls, each: Mapping[Question, Self]) -> Self:
        """Return the summary of the same tables for several questions."""
        attributes = {
            question.attribute: own.groups for question, own in each.items() if not question.crosses
        }
        first = next(iter(each.values()))
        if len(each) == 1:
            return first
        features = sorted({name for own in each.values() for name in own.features})
        classes = dict.fromkeys(question.label_class for question in each)
        named = tuple(one for one in classes if one is not None)
        return replace(
            first,
            groups=tuple(dict.fromkeys(name for own in attributes.values() for name in own)),
            features=tuple(features),
            attributes=attributes,
            classes=named,
            words=AnswerWords("the class", "another class") if named else first.words,
        )
