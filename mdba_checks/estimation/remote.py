"""Buckets of labelers whose rows are elsewhere: they meet on a worker, statistics come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from mdba_checks.errors import NeedsAllRowsError
from mdba_checks.estimation.bucket import Bucket, Common, Estimation, estimate_bucket
from mdba_checks.estimation.estimators import Estimator
from mdba_checks.tables import Data, IntArray, RemoteRows

_BUCKET = "mdba_bucket"


def refuse_inferring(estimators: Sequence[Estimator]) -> None:
    """Refuse estimators that read all rows in one place."""
    for each in estimators:
        if each.infer:
            raise NeedsAllRowsError(
                f"estimator {each.name!r} reads all rows in one process: choose mdba_dr or mdba, "
                "or check a Parquet file with engine local"
            )


def estimate_elsewhere(
    data: Data,
    common: Common,
    fold: IntArray | None,
    ranges: Iterable[slice],
    done: Callable[[int], None],
) -> list[Estimation]:
    """Return what the estimators make of every bucket, in the order of `ranges`."""
    labels, remote = data.labels, data.remote
    if remote is None:
        msg = "the rows are here"
        raise ValueError(msg)
    bucket = np.empty(len(labels), dtype=np.int32)
    for number, where in enumerate(ranges):
        bucket[where] = number
    values = {
        "labeler": labels.labeler,
        "group": labels.group,
        "decision": labels.decision,
        "item": labels.item,
        "cohort": labels.cohort,
        "fold": np.zeros(len(labels), dtype=np.int8) if fold is None else fold.astype(np.int8),
    }
    parts: dict[int, Estimation] = {}
    for number, part in remote.map_buckets(_estimated, common, bucket, values):
        parts[number] = part
        done(len(part.n_labels))
    return [parts[number] for number in sorted(parts)]


def _estimated(common: Common, rows: RemoteRows) -> tuple[int, Estimation]:
    sent = rows.sent
    bucket = Bucket(
        labeler=sent["labeler"],
        group=sent["group"],
        decision=sent["decision"],
        item=sent["item"],
        cohort=sent["cohort"],
        fold=sent["fold"],
        linear=rows.linear,
        trees=rows.trees,
        known=None,
        inferred={},
    )
    return int(sent[_BUCKET][0]), estimate_bucket(common, bucket)
