"""Estimates shared between expectations: those that differ in thresholds only are one estimate.

A suite often holds the same rule twice, as a warning at 0.05 and as a stop at 0.1. The labeler
models are what costs; they are fitted once, and the finished assessment is judged by each policy.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from mdba_checks.assessment import Assessment, assess_tables
from mdba_checks.config import CheckConfig, Policy
from mdba_checks.tables import KEY_VARIABLE, Source, open_tables

_KEPT = 8

finished: OrderedDict[Hashable, Assessment] = OrderedDict()
_guard = Lock()


def estimate(labels: Source, gold: Source, config: CheckConfig) -> Assessment:
    """Assess, or judge anew what was assessed in this process with the same data and method.

    Examples
    --------
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3_000, n_labelers=2, gold_per_group=100, tprs=[0.5, 0.94])
    >>> strict = estimate(made.labels, made.gold, CheckConfig(reference="men"))
    >>> lenient = CheckConfig(reference="men", policy=Policy(max_gap=0.9))
    >>> loose = estimate(made.labels, made.gold, lenient)
    >>> strict.p_right is loose.p_right
    True
    """
    opened = open_tables(labels, gold, config)
    key = (opened.labels_hash, opened.gold_hash, _method(config))
    with _guard:
        found = finished.get(key)
        if found is not None:
            finished.move_to_end(key)
    if found is None:
        found = assess_tables(opened, config, [config.estimator])[config.estimator]
        with _guard:
            finished[key] = found
            while len(finished) > _KEPT:
                finished.popitem(last=False)
    return found.with_policy(config.policy)


def forget() -> None:
    """Drop all finished estimates, and the memory they hold."""
    with _guard:
        finished.clear()


def _method(config: CheckConfig) -> Hashable:
    """Return all of a configuration that the estimates depend on."""
    key = os.environ.get(KEY_VARIABLE) if config.pseudonymize else None
    return config.model_copy(update={"policy": Policy()}).model_dump_json(), key
