"""Labels and gold as arrays: what the models get to see."""

from __future__ import annotations

from dataclasses import dataclass, field

from mdba_checks.metrics import AnswerWords
from mdba_checks.tables.arrays import FloatArray, IntArray
from mdba_checks.tables.columns import ColumnUse
from mdba_checks.tables.encoding import Encoding
from mdba_checks.tables.matrix import Matrix
from mdba_checks.tables.partitions import PartsRead, Remote
from mdba_checks.tables.questions import Question


@dataclass(frozen=True)
class LabelRows:
    """The decisions, sorted by labeler, item and content.

    Attributes
    ----------
    labeler, group
        Codes into `Data.labelers` and `Data.groups`.
    decision
        What the labeler decided, 0 or 1.
    item
        Codes of items, shared with gold; every row is its own item when there is no item column.
    cluster
        Codes of families of items, shared with gold; every item is its own when there is no cluster
        column.
    cohort
        Codes into `Data.cohorts`; all zero without a cohort column.
    trees
        float32 (rows, features): numbers as they are, categories as codes, NaN missing.
    linear
        float64 (rows, columns): standardised numbers, missing indicators, one-hot categories.
        Both share their memory, and rows become arrays when they are asked for.
    position
        Where the row stands in the input table.
    mark
        A fingerprint of the columns behind the features, and the decision; the same in every table
        with the same `Data.encoding.key`.
    """

    labeler: IntArray
    group: IntArray
    decision: IntArray
    item: IntArray
    cluster: IntArray
    cohort: IntArray
    trees: Matrix
    linear: Matrix
    position: IntArray
    mark: IntArray

    def __len__(self) -> int:
        return len(self.decision)

    def take(self, rows: IntArray) -> LabelRows:
        """Return some of the rows."""
        return LabelRows(**{name: values.take(rows) for name, values in vars(self).items()})


@dataclass(frozen=True)
class GoldRows:
    """The items whose right decision is known, sorted by group, item and content.

    Attributes
    ----------
    correct
        The right decision, 0 or 1.
    weight
        How many items of the population the row stands for.
    mark
        A fingerprint of features, right decision and weight.
    """

    group: IntArray
    correct: IntArray
    item: IntArray
    cluster: IntArray
    weight: FloatArray
    trees: FloatArray
    linear: FloatArray
    position: IntArray
    mark: IntArray

    def __len__(self) -> int:
        return len(self.correct)


@dataclass(frozen=True)
class Data:
    """Labels and gold, ready for the models.

    Attributes
    ----------
    labelers, groups, features, cohorts
        Names, sorted; codes in `labels` and `gold` point into them.
    labeler_mark
        Per labeler, a fingerprint of their rows: where chance decides, it goes by this and not by
        the name.
    tree_types
        ``"q"`` or ``"c"`` per column of `trees`, as XGBoost's ``feature_types`` wants it.
    encoding
        How features became columns.
    messages
        What the user should know: columns left out and why, rows dropped.
    labels_hash, gold_hash
        Fingerprints of the two input tables (see `tables.hashing`).
    labels_order
        Where the rows of the labels table are, in an order that comes from what they hold.
    n_label_rows
        Rows of the labels table as it was read, dropped ones included.
    n_dropped
        Rows dropped from both tables together.
    columns
        What became of every column of the tables.
    words
        What decisions are called.
    reference
        The name of the reference group, None for "everyone else".
    question
        What is asked: which columns make the groups, and which class is yes.
    has_items
        Whether an item column tells which rows are about the same thing.
    has_clusters
        Whether a cluster column tells which items of gold are alike.
    rounds
        In how many rounds gold was judged, and how many were planned; None without rounds.
    remote
        Where features of labels are, if not here: then `trees` and `linear` of the labels fetch
        what is asked for.
    parts
        The parts that the labels are in, if they stay there.
    """

    labels: LabelRows
    gold: GoldRows
    labelers: tuple[str, ...]
    labeler_mark: IntArray
    groups: tuple[str, ...]
    features: tuple[str, ...]
    tree_types: tuple[str, ...]
    encoding: Encoding
    messages: tuple[str, ...]
    labels_hash: str
    gold_hash: str
    labels_order: IntArray
    n_label_rows: int
    n_dropped: int
    question: Question
    columns: tuple[ColumnUse, ...] = ()
    words: AnswerWords = field(default_factory=AnswerWords)
    reference: str | None = None
    has_items: bool = False
    has_clusters: bool = False
    cohorts: tuple[str, ...] = ()
    rounds: tuple[int, int] | None = None
    remote: Remote | None = None
    parts: PartsRead | None = None
