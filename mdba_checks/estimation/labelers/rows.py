"""The rows that labeler models are fitted to: what was seen, by whom, what was said, which fold."""

from __future__ import annotations

from dataclasses import dataclass

from mdba_checks.tables import FloatArray, IntArray


@dataclass(frozen=True)
class Rows:
    """Label rows with their folds; all arrays have one entry per row."""

    labeler: IntArray
    group: IntArray
    decision: IntArray
    fold: IntArray
    linear: FloatArray
    trees: FloatArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.labeler)
