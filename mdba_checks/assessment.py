"""`assess`: from two tables to a frozen result with one row per labeler and group."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig, EstimatorName, Policy
from mdba_checks.estimation import (
    ClassifierLearner,
    Estimation,
    Estimator,
    Pooled,
    Progress,
    estimate_rates,
    estimator,
    open_engine,
)
from mdba_checks.findings import (
    Crowds,
    Diagnostic,
    Gaps,
    Inspection,
    Measures,
    Outlook,
    Plan,
    Together,
    about_rounds,
    at_look,
    compare,
    contrasts,
    crowd_facts,
    crowd_table,
    diagnose,
    find_crowds,
    gap_table,
    inspect,
    make_plan,
    measure,
    outlook_of,
    take_together,
    with_crowds,
    with_findings,
    with_pooled,
)
from mdba_checks.metrics import Wording
from mdba_checks.tables import (
    BoolArray,
    Data,
    DataSummary,
    FloatArray,
    IntArray,
    Origin,
    Source,
    TextModel,
    load,
    read_key,
    under_pseudonyms,
)

if TYPE_CHECKING:
    from mdba_checks.report import Plots
    from mdba_checks.verdict import Decision

WHOLE = "all labels"  # what stands for the data set as a whole where a name is needed


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
    decision
        Per row of the labels table, in its own order: what was decided, 0 or 1; -1 for rows that
        were dropped.
    row_order
        Where the rows of the labels table are, in an order that comes from what they hold: what is
        known of a row is found again in a table whose rows are in another order.
    rates
        ``labeler, group, tpr, fpr``: what turns a decision into a probability, whatever the metric
        is. None where `p_right` is None.
    pseudonyms
        The pseudonym of every labeler's name, when `config.pseudonymize` is set. Everything else
        knows labelers by their pseudonyms only.
    origin
        Where the tables were, and what else is needed to check them again.
    rounds
        In how many rounds gold was judged, and how many were planned; None without rounds.
    """

    config: CheckConfig
    data: DataSummary
    messages: tuple[str, ...]
    p_right: FloatArray | None
    decision: IntArray
    row_order: IntArray
    rates: pd.DataFrame | None
    pseudonyms: Mapping[str, str] | None = field(repr=False)
    _table: pd.DataFrame
    _numbers: Gaps
    _measures: Measures
    _overall: Together | None = None
    _cohorts: Together | None = None
    _crowds: Crowds | None = None
    origin: Origin = field(default_factory=Origin)
    rounds: tuple[int, int] | None = None

    @property
    def confidence(self) -> float:
        """The confidence of the intervals: more than asked for while rounds of gold are under way.

        Intervals hold at all looks together with `config.confidence` (see `Look`).
        """
        return at_look(self.config, self.rounds).confidence

    @property
    def gaps(self) -> pd.DataFrame:
        """One row per labeler and group, columns as in `GAP_COLUMNS`; a copy."""
        return self._table.copy()

    @cached_property
    def overall(self) -> pd.DataFrame | None:
        """All labels together: one row per group, with the columns of `gaps` but `labeler`.

        It is judged by `policy.max_gap_overall`. None for estimators other than ``mdba_dr``.
        """
        if self._overall is None:
            return None
        table = self._overall.table(
            at_look(self.config, self.rounds), self.config.policy.for_overall()
        )
        return table.drop(columns="labeler")

    @cached_property
    def cohorts(self) -> pd.DataFrame | None:
        """The cohorts of labels, where a cohort column is named: `gaps` with `cohort` first."""
        if self._cohorts is None:
            return None
        table = self._cohorts.table(at_look(self.config, self.rounds), self.config.policy)
        return table.rename(columns={"labeler": "cohort"})

    @cached_property
    def crowd(self) -> pd.DataFrame | None:
        """How gaps are spread over labelers, one row per group; None without a crowd.

        Columns: ``group, reference, n_labelers`` and, each with ``_low`` and ``_high``: ``mean``
        (every labeler counts once), ``spread`` (the standard deviation of true gaps, beyond
        chance), ``labelers_beyond`` and ``labels_beyond`` (the share of labelers, and of labels by
        them, whose gap is beyond ``policy.max_gap``).
        """
        if self._crowds is None:
            return None
        limit, confidence = self.config.policy.max_gap, self.confidence
        return crowd_table(self._crowds, self._measures, limit, confidence)

    @property
    def pooled(self) -> BoolArray:
        """Per row of `gaps`, whether its gap was learned from the crowd (`findings/crowds.py`)."""
        if self._crowds is None:
            return np.zeros(len(self._table), dtype=bool)
        return self._crowds.judged.ravel()

    @property
    def estimator(self) -> EstimatorName:
        """The estimator that was used."""
        return self.config.estimator

    @property
    def wording(self) -> Wording:
        """How sentences describe the rate that is compared, in the words of the label column."""
        return self._measures.wording

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the assumption checks say: a summary of each, and what is not in order."""
        return diagnose(self._measures, self.config.policy)

    @property
    def fidelity(self) -> pd.Series | None:
        """How well each labeler's decisions are predicted: out-of-fold AUC, 0.5 is a coin.

        None for estimators without a model of the labelers.
        """
        auc = self._measures.fidelity
        if auc is None:
            return None
        return pd.Series(auc, index=pd.Index(self._measures.labelers, name="labeler"), name="auc")

    @property
    def labels_per_labeler(self) -> pd.Series:
        """How many labels each labeler has given."""
        counts = self._measures.n_labels.sum(axis=1)
        return pd.Series(counts, index=pd.Index(self._measures.labelers, name="labeler"))

    def with_policy(self, policy: Policy) -> Assessment:
        """Return the same numbers judged by another policy; nothing is estimated again."""
        if policy == self.config.policy:
            return self
        config = self.config.model_copy(update={"policy": policy})
        asked = at_look(config, self.rounds)
        table = with_findings(self._table, self._numbers, self._measures, asked, self._crowds)
        return replace(self, config=config, _table=table)

    def joint_intervals(self) -> pd.DataFrame:
        """Return intervals that hold for all labelers at once, with the configured confidence.

        They are wider than those in `gaps`; the gold items shared by all labelers are accounted
        for, so they are narrower than Bonferroni's. Nothing is drawn before this is called; an
        assessment from a cache holds too little for it.
        """
        low, high = self._numbers.interval(self.confidence, joint=True)
        ends = {"ci_low": low.ravel(), "ci_high": high.ravel()}
        return self._table[["labeler", "group", "reference", "gap"]].assign(**ends)

    def plan(self, *, half_width: float | None = None, power: float | None = None) -> Plan:
        """Return how many more gold items or labels would settle what is inconclusive.

        Parameters
        ----------
        half_width
            Make every interval this narrow.
        power
            Settle every comparison with this probability; 0.8 when neither is given.

        Examples
        --------
        >>> from mdba_checks.simulation import simulate
        >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.8, 0.9], gold_per_group=40, seed=2)
        >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
        >>> assessment.plan(half_width=0.05).summary[0]
        '... more gold items of ... would narrow the interval... to ±0.05, ...'
        """
        crowd = None
        if self._crowds is not None and self._overall is not None:
            crowd = crowd_facts(
                self._crowds,
                self._measures,
                self._overall.numbers,
                has_cohorts=self._cohorts is not None,
                confidence=self.confidence,
            )
        return make_plan(
            self._table,
            self._numbers,
            self._measures,
            policy=self.config.policy,
            confidence=self.confidence,
            half_width=half_width,
            power=power,
            crowd=crowd,
        )

    def outlook(self, more: int = 50) -> Outlook:
        """Return what so many more judged items would bring, and whether more can help at all."""
        n_gold = self._measures.n_gold
        return outlook_of(self._table, self._numbers, n_gold, self.config, self.rounds, more)

    @property
    def plot(self) -> Plots:
        """Figures: ``plot.gaps()``, ``plot.rates()``, ``plot.power()``; they need matplotlib."""
        from mdba_checks.report import Plots

        return Plots(self, self._numbers)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        decision: Decision | None = None,
        force: bool = False,
    ) -> str:
        """Return the report as the text of one HTML file; write it to `path` if given.

        Parameters
        ----------
        path
            Where to write it; the file appears whole or not at all.
        decision
            The verdict to explain; by default that of the policy in `config`.
        force
            Whether an existing file may be replaced.
        """
        from mdba_checks.outputs import write_whole
        from mdba_checks.report import render
        from mdba_checks.verdict import gate

        text = render(self, decision or gate(self))
        if path is not None:
            write_whole(path, text, force=force)
        return text

    def to_csv(
        self,
        path: str | Path | None = None,
        *,
        decision: Decision | None = None,
        force: bool = False,
    ) -> str:
        """Return all findings as the text of a CSV file; parameters as for `to_html`."""
        from mdba_checks.outputs import findings_csv, to_record, write_whole
        from mdba_checks.verdict import gate

        text = findings_csv(to_record(self, decision or gate(self)))
        if path is not None:
            write_whole(path, text, force=force)
        return text

    def _repr_html_(self) -> str:
        from mdba_checks.report import fragment
        from mdba_checks.verdict import gate

        return fragment(self, gate(self))


def assess(
    labels: Source,
    gold: Source,
    config: CheckConfig | None = None,
    *,
    learner: Any = None,
    text_model: TextModel | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Estimate how differently every labeler treats the groups.

    Parameters
    ----------
    labels, gold
        A DataFrame, a path (CSV, gzipped CSV, Parquet), or a SQLAlchemy URL with a table,
        ``"sqlite:///file.db::labels"``. Labels may be a Spark DataFrame, which is not collected.
    config
        Columns, method and policy.
    learner
        A scikit-learn classifier to use inside the labeler models instead of XGBoost.
    text_model
        A function from a list of texts to one vector each, to read free text with.
    progress
        Called with (stage, done, total) while models are fitted.

    Examples
    --------
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> assessment.gaps[["labeler", "group", "finding"]].iloc[0].tolist()
    ['L1', 'women', 'biased']
    """
    config = config or CheckConfig()
    return assess_with(
        labels,
        gold,
        config,
        [config.estimator],
        learner=learner,
        text_model=text_model,
        progress=progress,
    )[config.estimator]


def assess_with(
    labels: Source,
    gold: Source,
    config: CheckConfig,
    estimators: list[EstimatorName],
    *,
    learner: Any = None,
    text_model: TextModel | None = None,
    progress: Progress | None = None,
) -> dict[EstimatorName, Assessment]:
    """Assess with several estimators; the labeler models are fitted once for all of them."""
    if progress:
        progress("reading", 0, 1)
    data = load(labels, gold, config, text_model=text_model)
    if progress:
        progress("reading", 1, 1)
    found = assess_data(data, config, estimators, learner=learner, progress=progress)
    origin = Origin.of(labels, gold, learner=learner, text_model=text_model)
    return {name: replace(each, origin=origin) for name, each in found.items()}


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
    jobs = config.jobs or os.cpu_count() or 1
    with open_engine(config.engine, config.cluster, jobs) as engine:
        estimation = estimate_rates(
            data,
            asked,
            metric=config.metric,
            learner=ClassifierLearner(learner) if learner is not None else None,
            pooled=pooled,
            engine=engine,
            jobs=jobs,
            seed=config.seed,
            progress=progress,
        )
    inspection = inspect(data)
    return {
        each.name: _assessment(
            data,
            config.model_copy(update={"estimator": each.name}),
            estimation,
            each,
            inspection,
            pseudonyms,
        )
        for each in asked
    }


def _assessment(
    data: Data,
    config: CheckConfig,
    estimation: Estimation,
    asked: Estimator,
    inspection: Inspection,
    pseudonyms: Mapping[str, str] | None,
) -> Assessment:
    promised, config = config, at_look(config, data.rounds)
    sizes = np.bincount(data.labels.group, minlength=len(data.groups))
    reference = None if data.reference is None else data.groups.index(data.reference)
    wanted = contrasts(len(data.groups), reference, sizes)
    measures = measure(data, estimation, asked, wanted, config, inspection)
    numbers = compare(
        estimation.rates[asked.name],
        data.gold.group,
        data.gold.cluster,
        wanted,
        order=np.argsort(data.labeler_mark, kind="stable"),
        seed=config.seed,
    )
    everybody = np.zeros(len(data.labels), dtype=np.int64)
    overall = take_together(estimation.overall, (WHOLE,), everybody, data, measures)
    crowds = None
    if overall is not None:
        crowds = find_crowds(data, estimation, wanted, overall.numbers, config)
    if overall is not None and crowds is not None:
        measures = with_pooled(measures, crowds.judged, overall.measures)
    decided = with_crowds(numbers, crowds, config.confidence)
    judged = gap_table(data.labelers, wanted, numbers, measures, config, crowds, decided)
    return Assessment(
        config=promised,
        data=DataSummary.of(data),
        messages=(*data.messages, *about_rounds(promised, data.rounds)),
        p_right=_in_input_order(estimation.g, data),
        decision=_decisions(data),
        row_order=data.labels_order,
        rates=_both_rates(estimation, data),
        pseudonyms=pseudonyms,
        _table=judged,
        _numbers=decided,
        _measures=measures,
        _overall=overall,
        _cohorts=take_together(
            estimation.by_cohort, data.cohorts, data.labels.cohort, data, measures
        ),
        _crowds=crowds,
        rounds=data.rounds,
    )


def _decisions(data: Data) -> IntArray:
    ordered = np.full(data.n_label_rows, -1, dtype=np.int8)
    ordered[data.labels.position] = data.labels.decision
    return ordered


def _both_rates(estimation: Estimation, data: Data) -> pd.DataFrame | None:
    if estimation.tpr is None or estimation.fpr is None:
        return None
    return pd.DataFrame(
        {
            "labeler": np.repeat(np.array(data.labelers, dtype=object), len(data.groups)),
            "group": np.tile(np.array(data.groups, dtype=object), len(data.labelers)),
            "tpr": estimation.tpr.rate.ravel(),
            "fpr": estimation.fpr.rate.ravel(),
        }
    )


def _in_input_order(g: FloatArray | None, data: Data) -> FloatArray | None:
    if g is None:
        return None
    ordered = np.full(data.n_label_rows, np.nan)
    ordered[data.labels.position] = g
    return ordered
