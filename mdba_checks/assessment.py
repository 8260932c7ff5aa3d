"""`assess`: from two tables to a frozen result with one row per labeler and group."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.arrays import FloatArray, IntArray
from mdba_checks.config import CheckConfig, EstimatorName, Policy
from mdba_checks.estimation import Estimation, Pooled, Progress, estimate_rates
from mdba_checks.estimators import Estimator, estimator
from mdba_checks.findings import EVERYONE_ELSE, judge
from mdba_checks.inference import Contrast, Gaps, compare, contrasts
from mdba_checks.labelers import ClassifierLearner
from mdba_checks.pseudonyms import read_key, under_pseudonyms
from mdba_checks.tables import Data, Source, load

GAP_COLUMNS = (
    "labeler",
    "group",
    "reference",
    "metric",
    "gap",
    "std_error",
    "ci_low",
    "ci_high",
    "p_value",
    "rate",
    "rate_reference",
    "finding",
    "reason",
    "n_labels",
    "n_gold",
    "n_gold_positive",
)


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


@dataclass(frozen=True)
class Assessment:
    """What was found out about the labelers of one data set.

    Attributes
    ----------
    config
        How it was asked; `config.policy` decides `finding` and `reason`.
    data
        What was read.
    messages
        What the user should know about the input, in sentences.
    p_right
        Per row of the labels table, in its own order: g, the probability that yes is right. None
        for estimators that do not model it, NaN for rows that were dropped.
    rates
        ``labeler, group, tpr, fpr``: what turns a decision into a probability, whatever the metric
        is. None where `p_right` is None.
    pseudonyms
        The pseudonym of every labeler's name, when `config.pseudonymize` is set. Everything else
        knows labelers by their pseudonyms only.
    """

    config: CheckConfig
    data: DataSummary
    messages: tuple[str, ...]
    p_right: FloatArray | None
    rates: pd.DataFrame | None
    pseudonyms: Mapping[str, str] | None = field(repr=False)
    _table: pd.DataFrame
    _numbers: Gaps
    _obstacles: tuple[str, ...]

    @property
    def gaps(self) -> pd.DataFrame:
        """One row per labeler and group, columns as in `GAP_COLUMNS`; a copy."""
        return self._table.copy()

    @property
    def estimator(self) -> EstimatorName:
        """The estimator that was used."""
        return self.config.estimator

    def with_policy(self, policy: Policy) -> Assessment:
        """Return the same numbers judged by another policy; nothing is estimated again."""
        if policy == self.config.policy:
            return self
        config = self.config.model_copy(update={"policy": policy})
        table = judge(
            self._table, policy, confidence=config.confidence, obstacles=self._obstacles
        )
        return replace(self, config=config, _table=table)

    def joint_intervals(self) -> pd.DataFrame:
        """Return intervals that hold for all labelers at once, with the configured confidence.

        They are wider than those in `gaps`; the gold items shared by all labelers are accounted
        for, so they are narrower than Bonferroni's.
        """
        low, high = self._numbers.interval(self.config.confidence, joint=True)
        ends = {"ci_low": low.ravel(), "ci_high": high.ravel()}
        return self._table[["labeler", "group", "reference", "gap"]].assign(**ends)


def assess(
    labels: Source,
    gold: Source,
    config: CheckConfig | None = None,
    *,
    learner: Any = None,
    progress: Progress | None = None,
) -> Assessment:
    """Estimate how differently every labeler treats the groups.

    Parameters
    ----------
    labels, gold
        A DataFrame, a path (CSV, gzipped CSV, Parquet), or a SQLAlchemy URL with a table,
        ``"sqlite:///file.db::labels"``.
    config
        Columns, method and policy.
    learner
        A scikit-learn classifier to use inside the labeler models instead of XGBoost.
    progress
        Called with (stage, done, total) while models are fitted.

    Examples
    --------
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> assessment.gaps[["labeler", "group", "finding"]].iloc[0].tolist()
    ['L01', 'women', 'biased']
    """
    config = config or CheckConfig()
    return assess_with(labels, gold, config, [config.estimator], learner=learner, progress=progress)[
        config.estimator
    ]


def assess_with(
    labels: Source,
    gold: Source,
    config: CheckConfig,
    estimators: list[EstimatorName],
    *,
    learner: Any = None,
    progress: Progress | None = None,
) -> dict[EstimatorName, Assessment]:
    """Assess with several estimators; the labeler models are fitted once for all of them."""
    if progress:
        progress("reading", 0, 1)
    data = load(labels, gold, config)
    if progress:
        progress("reading", 1, 1)
    return assess_data(data, config, estimators, learner=learner, progress=progress)


def assess_data(
    data: Data,
    config: CheckConfig,
    estimators: list[EstimatorName],
    *,
    learner: Any = None,
    pooled: Pooled | None = None,
    progress: Progress | None = None,
) -> dict[EstimatorName, Assessment]:
    """Assess tables that are loaded already; see `assess_with`."""
    pseudonyms = None
    if config.pseudonymize:
        if pooled is not None:
            msg = "pooled models are in the order of names, which pseudonymize does away with"
            raise ValueError(msg)
        data, pseudonyms = under_pseudonyms(data, read_key())
    asked = [estimator(name, config.c) for name in dict.fromkeys(estimators)]
    estimation = estimate_rates(
        data,
        asked,
        metric=config.metric,
        learner=ClassifierLearner(learner) if learner is not None else None,
        pooled=pooled,
        jobs=config.jobs or os.cpu_count() or 1,
        seed=config.seed,
        progress=progress,
    )
    return {
        each.name: _assessment(
            data,
            config.model_copy(update={"estimator": each.name}),
            estimation,
            each,
            pseudonyms,
        )
        for each in asked
    }


def _assessment(
    data: Data,
    config: CheckConfig,
    estimation: Estimation,
    asked: Estimator,
    pseudonyms: Mapping[str, str] | None,
) -> Assessment:
    counts = _Counts(data, config, estimation)
    sizes = np.bincount(data.labels.group, minlength=len(data.groups))
    reference = None if data.reference is None else data.groups.index(data.reference)
    wanted = contrasts(len(data.groups), reference, sizes)
    numbers = compare(
        estimation.rates[asked.name],
        data.gold.group,
        data.gold.item,
        wanted,
        confidence=config.confidence,
        seed=config.seed,
    )
    low, high = numbers.interval(config.confidence)
    names = np.array(data.groups, dtype=object)
    against = [EVERYONE_ELSE if w.reference is None else data.groups[w.reference] for w in wanted]
    n_labelers, n_wanted = numbers.gap.shape
    table = pd.DataFrame(
        {
            "labeler": np.repeat(np.array(data.labelers, dtype=object), n_wanted),
            "group": np.tile(names[[w.group for w in wanted]], n_labelers),
            "reference": np.tile(np.array(against, dtype=object), n_labelers),
            "metric": config.metric,
            "gap": numbers.gap.ravel(),
            "std_error": numbers.std_error.ravel(),
            "ci_low": low.ravel(),
            "ci_high": high.ravel(),
            "p_value": np.nan,
            "rate": numbers.rate.ravel(),
            "rate_reference": numbers.rate_reference.ravel(),
            "finding": "",
            "reason": "",
            "n_labels": np.column_stack([counts.labels(w) for w in wanted]).ravel(),
            "n_gold": np.tile([counts.gold(w) for w in wanted], n_labelers),
            "n_gold_positive": np.tile([counts.gold_positive(w) for w in wanted], n_labelers),
        }
    )
    obstacles = [
        text
        for labeler in range(n_labelers)
        for text in (counts.obstacle(labeler, w, asked) for w in wanted)
    ]
    judged = judge(table, config.policy, confidence=config.confidence, obstacles=obstacles)
    summary = DataSummary(
        n_labels=len(data.labels),
        n_gold=len(data.gold),
        n_labelers=len(data.labelers),
        n_dropped=data.n_dropped,
        groups=data.groups,
        features=data.features,
        labels_hash=data.labels_hash,
        gold_hash=data.gold_hash,
    )
    return Assessment(
        config,
        summary,
        data.messages,
        _in_input_order(estimation.g, data),
        _both_rates(estimation, data),
        pseudonyms,
        judged,
        numbers,
        tuple(obstacles),
    )


def _both_rates(estimation: Estimation, data: Data) -> pd.DataFrame | None:
    if estimation.tpr is None or estimation.fpr is None:
        return None
    return pd.DataFrame(
        {
            "labeler": np.repeat(np.array(data.labelers, dtype=object), len(data.groups)),
            "group": np.tile(np.array(data.groups, dtype=object), len(data.labelers)),
            "tpr": estimation.tpr.ravel(),
            "fpr": estimation.fpr.ravel(),
        }
    )


def _in_input_order(g: FloatArray | None, data: Data) -> FloatArray | None:
    if g is None:
        return None
    ordered = np.full(data.n_label_rows, np.nan)
    ordered[data.labels.position] = g
    return ordered


@dataclass(frozen=True)
class _Counts:
    """How much there is to go by, for each labeler and contrast."""

    data: Data
    config: CheckConfig
    estimation: Estimation

    def members(self, contrast: Contrast) -> IntArray:
        """Return the groups on the reference side."""
        codes = np.arange(len(self.data.groups))
        if contrast.reference is None:
            return codes[codes != contrast.group]
        return codes[codes == contrast.reference]

    def labels(self, contrast: Contrast) -> IntArray:
        n = self.estimation.n_labels
        total: IntArray = n[:, contrast.group] + n[:, self.members(contrast)].sum(axis=1)
        return total

    def gold(self, contrast: Contrast) -> int:
        return int(np.count_nonzero(self.data.gold.group == contrast.group))

    @cached_property
    def gold_positives(self) -> IntArray:
        wanted = 0 if self.config.metric in ("fpr", "tnr") else 1
        of_kind = self.data.gold.group[self.data.gold.correct == wanted]
        return np.bincount(of_kind, minlength=len(self.data.groups))

    def gold_positive(self, contrast: Contrast) -> int:
        return int(self.gold_positives[contrast.group])

    def obstacle(self, labeler: int, contrast: Contrast, asked: Estimator) -> str:
        """Return why nothing can be said about a labeler here, or an empty text."""
        others = self.members(contrast)
        against = "everyone else" if contrast.reference is None else self.data.groups[contrast.reference]
        sides = ((self.data.groups[contrast.group], [contrast.group]), (against, others))
        least = self.config.policy.min_gold_positives
        right = "no" if self.config.metric in ("fpr", "tnr") else "yes"
        for name, codes in sides:
            if self.estimation.n_labels[labeler, codes].sum() == 0:
                return f"has no labels for {name}"
            found = int(self.gold_positives[codes].sum())
            if asked.needs_gold_positives and found < least:
                return (
                    f"gold has {found} item{'s' if found != 1 else ''} of {name} where {right} is "
                    f"right; at least {least} are needed (policy.min_gold_positives)"
                )
        n, positive = self.estimation.n_labels[labeler].sum(), self.estimation.n_positive[labeler].sum()
        if positive in (0, n):
            return f"said {'yes' if positive else 'no'} to all {n} items: there is nothing to compare"
        return ""
