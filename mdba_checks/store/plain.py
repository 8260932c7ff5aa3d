"""Fitted models and finished estimates as entries, and back, the same to the last bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdba_checks.arrays import IntArray
from mdba_checks.bucket import Estimation, Fidelity
from mdba_checks.correctness import Correctness
from mdba_checks.estimation import Shared, pool_sample
from mdba_checks.estimators.evidence import PER_LABELER, Rates
from mdba_checks.labelers import FittedBooster, Pool
from mdba_checks.labelers.lapse import Rules
from mdba_checks.store.entries import Arrays, Entry
from mdba_checks.store.fingerprints import Contents
from mdba_checks.tables import Data
from mdba_checks.tables.encoding import Encoding

_POOL = ("rate", "stack", "mean_coef")
_RULE = ("coef", "miss", "slip")
_CORRECTNESS = ("weights", "centre", "scale", "on_gold")
_CONTENTS = ("who", "what", "n_rows")
_OPTIONAL = ("g", "tpr", "fpr", "rate_by_c")


@dataclass(frozen=True)
class KeptPool:
    """The pooled models, g, and what they were fitted to."""

    pool: Pool
    correctness: Correctness
    encoding: Encoding
    contents: Contents  # of all labelers, but only those items that the pool has seen
    fold: IntArray  # of these items

    def fold_of(self, item: IntArray, otherwise: IntArray) -> IntArray:
        """Return folds in which no model speaks about an item that it has seen."""
        place = np.minimum(np.searchsorted(self.contents.item, item), len(self.fold) - 1)
        seen = self.contents.item[place] == item
        return np.where(seen, self.fold[place], otherwise)


def pool_entry(shared: Shared, data: Data, now: Contents, seed: int) -> Entry:
    """Return the entry of a pool that has just been fitted."""
    pool, correctness = shared.models.pool, shared.models.correctness
    chosen = pool_sample(data, seed)
    sampled = slice(None) if chosen is None else chosen
    item, first = np.unique(now.item[sampled], return_index=True)
    arrays: dict[str, Any] = {"item": item, "fold": shared.fold[sampled][first]}
    arrays |= {f"pool/{name}": getattr(pool, name) for name in _POOL}
    arrays |= {f"rule/{name}": getattr(pool.rule, name) for name in _RULE}
    arrays |= {f"g/{name}": getattr(correctness, name) for name in _CORRECTNESS}
    arrays |= {f"contents/{name}": getattr(now, name) for name in _CONTENTS}
    for fold, learner in enumerate(pool.learners):
        if not isinstance(learner, FittedBooster):
            msg = f"a store keeps XGBoost models only, not {type(learner).__name__}"
            raise TypeError(msg)
        arrays[f"learner/{fold}"] = np.frombuffer(learner.to_bytes(), dtype=np.uint8)
    about = {
        "n_groups": pool.n_groups,
        "encoding": [data.encoding.key, data.encoding.centre, data.encoding.scale],
        "n_learners": len(pool.learners),
    }
    return Entry(about, arrays)


def pool_from(entry: Entry) -> KeptPool:
    """Return the pool that an entry holds."""
    arrays, about = entry.arrays, entry.about
    pool = Pool(
        n_groups=about["n_groups"],
        rule=Rules(**{name: arrays[f"rule/{name}"] for name in _RULE}),
        learners=[
            FittedBooster.from_bytes(arrays[f"learner/{fold}"].tobytes())
            for fold in range(about["n_learners"])
        ],
        uses_linear=False,
        **{name: arrays[f"pool/{name}"] for name in _POOL},
    )
    key, centre, scale = about["encoding"]
    return KeptPool(
        pool,
        Correctness(**{name: arrays[f"g/{name}"] for name in _CORRECTNESS}),
        Encoding(key, tuple(centre), tuple(scale)),
        Contents(
            item=arrays["item"],
            gold_item=np.zeros(0, dtype=np.uint64),
            **{name: arrays[f"contents/{name}"] for name in _CONTENTS},
        ),
        arrays["fold"],
    )


def fits_entry(
    estimation: Estimation, now: Contents, members: IntArray, pool: str, complexity: float
) -> Entry:
    """Return the entry of some labelers' finished fits; `pool` is the checksum of their pool."""
    part = estimation.take(members)
    arrays: dict[str, Any] = {"who": now.who[members], "what": now.what[members]}
    arrays |= {"n_labels": part.n_labels, "n_positive": part.n_positive}
    arrays |= {name: array for name in _OPTIONAL if (array := getattr(part, name)) is not None}
    if part.fidelity is not None:
        arrays |= {"auc": part.fidelity.auc, "brier": part.fidelity.brier}
    for name, rates in part.rates.items():
        arrays |= {f"{name}/{each}": getattr(rates, each) for each in PER_LABELER}
    model_error = {name: rates.model_error for name, rates in part.rates.items()}
    return Entry({"pool": pool, "complexity": complexity, "model_error": model_error}, arrays)


def fits_from(entry: Entry, kept: KeptPool, complexity: float) -> Estimation:
    """Return the finished fits that an entry holds, for a data set of this complexity."""
    arrays, about = entry.arrays, entry.about
    # What remains however much data there is depends on how much there is of everybody's.
    same = about["complexity"] == complexity
    factor = 1.0 if same else complexity / about["complexity"]
    return Estimation(
        {
            name: Rates(**_rates(arrays, name), model_error=error * factor)
            for name, error in about["model_error"].items()
        },
        arrays["n_labels"],
        arrays["n_positive"],
        gold_g=kept.correctness.on_gold,
        fidelity=Fidelity(arrays["auc"], arrays["brier"]),
        **{name: arrays.get(name) for name in _OPTIONAL},
    )


def _rates(arrays: Arrays, name: str) -> dict[str, Any]:
    return {each: arrays[f"{name}/{each}"] for each in PER_LABELER}
