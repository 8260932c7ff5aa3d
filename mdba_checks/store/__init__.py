"""Finished fits kept by content, for checks in which little changed since the last one.

A store is a folder. For every question asked of it, it keeps the pooled models and, labeler by
labeler, what was found out. When the same question is asked again, labelers whose rows are the same
are read; the others are fitted anew, with the pooled models that are there. As long as nothing
changed, the numbers are the same to the last bit. Otherwise they differ from those of a full check,
because the pooled models have not seen what changed: with 200 labelers on average by 0.03 standard
errors when one percent of them changed and by 0.07 when ten percent did, where another seed makes
0.05 (benchmarks/results/recheck.csv). When labelers with more than `MOST_CHANGED` of the rows
changed, came or went, everything is fitted again.

Checks may share a store at the same time: every file appears whole or not at all, belongs to one
pool by its checksum, and the last one written stays. A file that is damaged is as good as none.
Nothing is lost with a store but time, so any part of it may be deleted.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.bucket import Estimation, Models, joined
from mdba_checks.config import CheckConfig
from mdba_checks.engines import Engine
from mdba_checks.errors import InputError
from mdba_checks.estimation import (
    Progress,
    Shared,
    complexity,
    estimate_rates,
    fit_shared,
    fold_of_gold,
    folds_of,
)
from mdba_checks.estimators import Estimator
from mdba_checks.files import write_whole
from mdba_checks.store.entries import read_entry, write_entry
from mdba_checks.store.fingerprints import Contents, contents, question
from mdba_checks.store.plain import (
    KeptPool,
    fits_entry,
    fits_from,
    pool_entry,
    pool_from,
)
from mdba_checks.tables import Data
from mdba_checks.tables.encoding import Encoding

__all__ = ["MOST_CHANGED", "SHARDS", "Store"]

# The pooled models see a tenth of the rows differently at worst, which moves gaps by a small part
# of their standard error (benchmarks/results/recheck.csv); beyond that, labelers may resemble each
# other in another way than they did.
MOST_CHANGED = 0.1
# A standardised column may have moved by as much before "the average labeler" means somebody else.
_MOST_MOVED = 0.1
# Files of fits per question: few enough to be read at once, many enough that a changed labeler
# does not mean to write everybody's fit again.
SHARDS = 16

_POOL = "pool"
_TIME = "%Y%m%dT%H%M%S.%f"  # in names of records: they sort by it


class Store:
    """A folder of finished fits and of the records of checks.

    Parameters
    ----------
    folder
        Where it is; it is made if need be.
    inputs
        Files and folders that must not be written to.

    Examples
    --------
    >>> import tempfile
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> folder, config = tempfile.mkdtemp(), CheckConfig(reference="men")
    >>> first = assess(made.labels, made.gold, config, store=folder)
    >>> again = assess(made.labels, made.gold, config, store=folder)  # nothing is fitted
    >>> again.gaps.equals(first.gaps)
    True
    """

    def __init__(self, folder: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
        self.folder = Path(folder)
        for each in map(Path, inputs):
            if each.is_dir() and self.folder.resolve().is_relative_to(each.resolve()):
                raise InputError(f"cannot use the store {folder}: the folder {each} is an input")
        _make(self.folder)

    @property
    def history(self) -> Path:
        """The folder of the records of finished checks."""
        return self.folder / "history"

    def remember(self, record: Mapping[str, Any]) -> Path:
        """Keep the record of a check; their names sort by time. `mdba trend` reads them.

        When the clock is behind the newest record, the new one gets the time after that, and
        ``clock`` holds what the clock said.

        Parameters
        ----------
        record
            What `to_record` returned.
        """
        from mdba_checks.record import to_json

        _make(self.history)
        created = now = datetime.now(UTC)
        newest = max((each.name for each in self.history.glob("[0-9]*T*Z-*.json")), default="")
        with suppress(ValueError):  # not one of ours
            last = datetime.strptime(newest.partition("Z-")[0], _TIME).replace(tzinfo=UTC)
            # A clock may be set back; what was checked later still comes later.
            created = max(now, last + timedelta(microseconds=1))
        clock = {} if created == now else {"clock": now.isoformat()}
        path = self.history / f"{created:{_TIME}}Z-{secrets.token_hex(4)}.json"
        write_whole(path, to_json({"created": created.isoformat(), **clock, **record}))
        return path

    def estimate(
        self,
        data: Data,
        estimators: Sequence[Estimator],
        config: CheckConfig,
        *,
        engine: Engine | None = None,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> Estimation:
        """Return what `estimate_rates` would, fitting as little as possible.

        `data` must have been loaded with `keep_item_names`. Estimators without models of labelers
        take their numbers from all rows at once; where one is asked for, nothing is kept.
        """
        how: dict[str, Any] = {"jobs": jobs, "seed": config.seed, "progress": progress}
        asking = {"estimators": estimators, "metric": config.metric, "engine": engine, **how}
        if not all(each.needs_models for each in estimators):
            return estimate_rates(data, **asking)
        if data.item_names is None:
            msg = "a store needs data that were loaded with keep_item_names"
            raise ValueError(msg)
        folder = self.folder / question(data, config, [each.name for each in estimators])
        now = contents(data)
        found = _read_pool(folder)
        if found is None or _is_stale(found[0], data, now):
            shared = fit_shared(data, **how)
            estimation = estimate_rates(data, shared=shared, **asking)
            _make(folder)
            pool = write_entry(folder / _POOL, pool_entry(shared, data, now, config.seed))
            _write_fits(folder, estimation, now, pool, data)
            return estimation

        kept, pool = found
        parts, codes = _read_fits(folder, kept, pool, now, data)
        changed = np.setdiff1d(np.arange(len(now.who)), codes)
        if len(changed):
            own = _in_terms_of(kept.encoding, data)
            shared = _shared(kept, own, now, config.seed)
            # First, because what all labelers have in common is taken from the first part.
            parts.insert(0, estimate_rates(own, shared=shared, only=changed, **asking))
            codes = np.concatenate([changed, codes])
        estimation = joined(parts).take(np.argsort(codes))
        _write_fits(folder, estimation, now, pool, data, changed)
        return estimation


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot use the store {folder}: {error.strerror or error}; name a folder"
        ) from None


def _read_pool(folder: Path) -> tuple[KeptPool, str] | None:
    found = read_entry(folder / _POOL)
    return None if found is None else (pool_from(found[0]), found[1])


def _is_stale(kept: KeptPool, data: Data, now: Contents) -> bool:
    """Tell whether the data are too different from those that the pool was fitted to."""
    if now.changed_share(kept.contents) > MOST_CHANGED:
        return True
    shift, factor = _moves(kept.encoding, data)
    with np.errstate(invalid="ignore"):
        near = (abs(shift) <= _MOST_MOVED) & (abs(factor - 1) <= _MOST_MOVED)
    return not near.all()  # also where a number is too large to say


def _moves(before: Encoding, data: Data) -> tuple[FloatArray, FloatArray]:
    """Return how to turn columns into those of another encoding: times factor, plus shift."""
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.array(before.scale)
        shift = (np.array(data.encoding.centre) - np.array(before.centre)) / scale
        return shift, np.array(data.encoding.scale) / scale


def _in_terms_of(before: Encoding, data: Data) -> Data:
    """Return the data standardised as they were when the pool was fitted."""
    if before == data.encoding:
        return data
    shift, factor = _moves(before, data)
    return replace(
        data,
        labels=replace(data.labels, linear=data.labels.linear.then(factor, shift)),
        gold=replace(data.gold, linear=data.gold.linear * factor + shift),
    )


def _shared(kept: KeptPool, data: Data, now: Contents, seed: int) -> Shared:
    fold = kept.fold_of(now.item, folds_of(data, seed))
    gold_fold = fold_of_gold(data.gold.item, data.labels.item, fold)
    gold_fold = kept.fold_of(now.gold_item, gold_fold)
    return Shared(fold, Models(kept.pool, gold_fold, kept.correctness))


def _read_fits(
    folder: Path, kept: KeptPool, pool: str, now: Contents, data: Data
) -> tuple[list[Estimation], IntArray]:
    """Return the fits that can be used, and the codes of their labelers."""
    parts: list[Estimation] = []
    codes: list[int] = []
    for shard in range(SHARDS):
        found = read_entry(folder / _shard_name(shard))
        if found is None or found[0].about["pool"] != pool:
            continue
        usable = now.same(found[0].arrays["who"], found[0].arrays["what"])
        if usable:
            fits = fits_from(found[0], kept, complexity(data))
            parts.append(fits.take(np.array(list(usable.values()))))
            codes += usable
    return parts, np.array(codes, dtype=np.int64)


def _write_fits(
    folder: Path,
    estimation: Estimation,
    now: Contents,
    pool: str,
    data: Data,
    changed: IntArray | None = None,
) -> None:
    """Write the files that hold changed labelers; without `changed`, all of them."""
    shard_of = np.array([int(who[:8], 16) % SHARDS for who in now.who])
    for shard in np.unique(shard_of if changed is None else shard_of[changed]):
        members = np.flatnonzero(shard_of == shard)
        entry = fits_entry(estimation, now, members, pool, complexity(data))
        write_entry(folder / _shard_name(shard), entry)


def _shard_name(shard: int) -> str:
    return f"fits-{shard:02d}"
