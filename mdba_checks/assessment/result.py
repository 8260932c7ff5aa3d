"""`Assessment`: what was found out about the labelers of one data set, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig, EstimatorName, Policy
from mdba_checks.findings import (
    Diagnostic,
    Estimated,
    Outlook,
    Plan,
    at_look,
    crowd_facts,
    crowd_table,
    diagnose_all,
    judge_together,
    make_plan,
    outlook_of,
    with_findings,
)
from mdba_checks.metrics import Wording
from mdba_checks.tables import (
    BoolArray,
    DataSummary,
    FloatArray,
    IntArray,
    Origin,
    PartsRead,
)

if TYPE_CHECKING:
    from mdba_checks.report import Plots
    from mdba_checks.verdict import Decision


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
    estimated
        What was estimated for every question: one per group column, combination of group columns
        and class.
    row_order
        Where the rows of the labels table are, in an order that comes from what they hold: what is
        known of a row is found again in a table whose rows are in another order.
    pseudonyms
        The pseudonym of every labeler's name, when `config.pseudonymize` is set. Everything else
        knows labelers by their pseudonyms only.
    origin
        Where the tables were, and what else is needed to check them again.
    rounds
        In how many rounds gold was judged, and how many were planned; None without rounds.
    parts
        The parts that the labels stay in, where they are on a cluster; then `row_order` is empty,
        and rows are known by their part and their place in it.
    """

    config: CheckConfig
    data: DataSummary
    messages: tuple[str, ...]
    estimated: tuple[Estimated, ...] = field(repr=False)
    row_order: IntArray
    pseudonyms: Mapping[str, str] | None = field(repr=False)
    _table: pd.DataFrame
    origin: Origin = field(default_factory=Origin)
    rounds: tuple[int, int] | None = None
    parts: PartsRead | None = None

    @property
    def confidence(self) -> float:
        """The confidence of the intervals: more than asked for while rounds of gold are under way.

        Intervals hold at all looks together with `config.confidence` (see `Look`).
        """
        return at_look(self.config, self.rounds).confidence

    @property
    def gaps(self) -> pd.DataFrame:
        """One row per labeler and comparison, columns as in `GAP_COLUMNS`; a copy.

        `attribute` is the group column, or several that are combined; `class` is the label that
        counts as yes where every class is looked at, and None otherwise.
        """
        return self._table.copy()

    @property
    def p_right(self) -> FloatArray | None:
        """Per row of the labels table: g, the probability that yes is right (see `Estimated`).

        Of several questions, that of the first one.
        """
        return self.estimated[0].p_right

    @property
    def decision(self) -> IntArray:
        """Per row of the labels table: what was decided, 0 or 1; -1 for rows that were dropped.

        Of several questions, that of the first one.
        """
        return self.estimated[0].decision

    @property
    def rates(self) -> pd.DataFrame | None:
        """``labeler, group, tpr, fpr``; of several questions, those of the first one."""
        return self.estimated[0].rates

    @cached_property
    def overall(self) -> pd.DataFrame | None:
        """All labels together: one row per group, with the columns of `gaps` but `labeler`.

        It is judged by `policy.max_gap_overall`. None for estimators other than ``mdba_dr``.
        """
        known = [each.overall for each in self.estimated if each.overall is not None]
        if not known:
            return None
        policy = self.config.policy.for_overall()
        return judge_together(known, at_look(self.config, self.rounds), policy).drop(
            columns="labeler"
        )

    @cached_property
    def cohorts(self) -> pd.DataFrame | None:
        """The cohorts of labels, where a cohort column is named: `gaps` with `cohort` first."""
        known = [each.cohorts for each in self.estimated if each.cohorts is not None]
        if not known:
            return None
        table = judge_together(known, at_look(self.config, self.rounds), self.config.policy)
        return table.rename(columns={"labeler": "cohort"})

    @cached_property
    def crowd(self) -> pd.DataFrame | None:
        """How gaps are spread over labelers, one row per group; None without a crowd.

        Columns: ``attribute, group, reference, class, n_labelers`` and, each with ``_low`` and
        ``_high``: ``mean`` (every labeler counts once), ``spread`` (the standard deviation of true
        gaps, beyond
        chance), ``labelers_beyond`` and ``labels_beyond`` (the share of labelers, and of labels by
        them, whose gap is beyond ``policy.max_gap``).
        """
        limit, confidence = self.config.policy.max_gap, self.confidence
        known = [
            crowd_table(each.basis.crowds, each.measures, limit, confidence)
            for each in self.estimated
            if each.basis.crowds is not None
        ]
        return pd.concat(known, ignore_index=True) if known else None

    @property
    def pooled(self) -> BoolArray:
        """Per row of `gaps`, whether its gap was learned from the crowd (`findings/crowds.py`)."""
        each = [
            np.zeros(part.numbers.gap.size, dtype=bool)
            if part.basis.crowds is None
            else part.basis.crowds.judged.ravel()
            for part in self.estimated
        ]
        return np.concatenate(each)

    @property
    def estimator(self) -> EstimatorName:
        """The estimator that was used."""
        return self.config.estimator

    @property
    def wording(self) -> Wording:
        """How sentences describe the rate that is compared, in the words of the label column."""
        return self.wording_of(None)

    def wording_of(self, label_class: str | None) -> Wording:
        """Return how sentences describe the rate of one class; None for whatever is positive."""
        for each in self.estimated:
            if label_class is not None and each.question.label_class == label_class:
                return each.measures.wording
        return replace(self.estimated[0].measures.wording, words=self.data.words)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the assumption checks say: a summary of each, and what is not in order."""
        return diagnose_all([each.measures for each in self.estimated], self.config.policy)

    @property
    def fidelity(self) -> pd.Series | None:
        """How well each labeler's decisions are predicted: out-of-fold AUC, 0.5 is a coin.

        None for estimators without a model of the labelers. Of several questions, the lowest.
        """
        known = [each.measures.fidelity for each in self.estimated]
        each_auc = [auc for auc in known if auc is not None]
        if not each_auc:
            return None
        # NaN, where nothing can be predicted, is not the lowest.
        lowest = each_auc[0] if len(each_auc) == 1 else np.fmin.reduce(each_auc)
        return pd.Series(lowest, index=self._labelers, name="auc")

    @property
    def _labelers(self) -> pd.Index:
        return pd.Index(self.estimated[0].measures.labelers, name="labeler")

    @property
    def labels_per_labeler(self) -> pd.Series:
        """How many labels each labeler has given."""
        counts = self.estimated[0].measures.n_labels.sum(axis=1)
        return pd.Series(counts, index=self._labelers)

    def labels_concerned(self, about: Literal["labeler", "cohort", "whole"]) -> IntArray:
        """Return, per row of `gaps`, `cohorts` or `overall`, the labels that stay open with it.

        These are all labels of the labeler; of a combination of group columns, those about it, and
        of a class, those that name it.
        """
        parts = {
            "labeler": [each.measures for each in self.estimated],
            "cohort": [each.cohorts.measures for each in self.estimated if each.cohorts],
            "whole": [each.overall.measures for each in self.estimated if each.overall],
        }[about]
        return np.concatenate([each.labels_concerned.ravel() for each in parts])

    def with_policy(self, policy: Policy) -> Assessment:
        """Return the same numbers judged by another policy; nothing is estimated again."""
        if policy == self.config.policy:
            return self
        config = self.config.model_copy(update={"policy": policy})
        asked = at_look(config, self.rounds)
        table = with_findings(self._table, [each.basis for each in self.estimated], asked)
        return replace(self, config=config, _table=table)

    def joint_intervals(self) -> pd.DataFrame:
        """Return intervals that hold for all labelers at once, with the configured confidence.

        They are wider than those in `gaps`; the gold items shared by all labelers are accounted
        for, so they are narrower than Bonferroni's. Nothing is drawn before this is called; an
        assessment from a cache holds too little for it.
        """
        # Bonferroni's over questions: each of them may be wrong in its share of all draws.
        confidence = 1 - (1 - self.confidence) / len(self.estimated)
        ends = [each.numbers.interval(confidence, joint=True) for each in self.estimated]
        low, high = (np.concatenate([each[side].ravel() for each in ends]) for side in (0, 1))
        keys = ["labeler", "attribute", "group", "reference", "class", "gap"]
        return self._table[keys].assign(ci_low=low, ci_high=high)

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
        >>> from mdba_checks import assess
        >>> from mdba_checks.simulation import simulate
        >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.8, 0.9], gold_per_group=40, seed=2)
        >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
        >>> assessment.plan(half_width=0.05).summary[0]
        '... more gold items of ... would narrow the interval... to ±0.05, ...'
        """
        crowds = [
            None
            if each.basis.crowds is None or each.overall is None
            else crowd_facts(
                each.basis.crowds,
                each.measures,
                each.overall.numbers,
                has_cohorts=each.cohorts is not None,
                confidence=self.confidence,
            )
            for each in self.estimated
        ]
        return make_plan(
            self._table,
            [each.basis for each in self.estimated],
            policy=self.config.policy,
            confidence=self.confidence,
            half_width=half_width,
            power=power,
            crowds=crowds,
        )

    def outlook(self, more: int = 50) -> Outlook:
        """Return what so many more judged items would bring, and whether more can help at all."""
        parts = [each.basis for each in self.estimated]
        return outlook_of(self._table, parts, self.config, self.rounds, more)

    @property
    def plot(self) -> Plots:
        """Figures: ``plot.gaps()``, ``plot.rates()``, ``plot.power()``; they need matplotlib."""
        from mdba_checks.report import Plots

        return Plots(self, [each.numbers for each in self.estimated])

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

        text = findings_csv(to_record(self, decision or gate(self)).values())
        if path is not None:
            write_whole(path, text, force=force)
        return text

    def _repr_html_(self) -> str:
        from mdba_checks.report import fragment
        from mdba_checks.verdict import gate

        return fragment(self, gate(self))
