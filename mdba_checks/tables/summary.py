"""What was read, without its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from mdba_checks.metrics import AnswerWords
from mdba_checks.tables.columns import ColumnUse
from mdba_checks.tables.data import Data


@dataclass(frozen=True)
class DataSummary:
    """What was read: counts, names and fingerprints, no rows."""

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
        )
