"""What all labelers have in common: the models that lend strength to each single one.

Fitted once, on all rows or on a bounded sample of labelers, and then read by every bucket of
labelers: the pooled rule, a learner that knows who decided, the stack, and the *consensus*
scores, which say how the average labeler judges an item and are what the gold model g is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from mdba_checks.estimation.labelers.folds import N_FOLDS
from mdba_checks.estimation.labelers.lapse import Rules
from mdba_checks.estimation.labelers.learners import Fitted, Learner
from mdba_checks.estimation.labelers.rows import Rows
from mdba_checks.estimation.labelers.rules import (
    PULLS,
    OwnRules,
    fit_own_rules,
    fit_pooled_rule,
    rule_logit,
)
from mdba_checks.estimation.labelers.stack import fit_stack, stacked
from mdba_checks.tables import FloatArray, IntArray

T = TypeVar("T")


class MapFolds(Protocol):
    """Something that applies a function to every fold number and returns the answers in order."""

    def __call__(self, function: Callable[[int], T]) -> list[T]:
        """Return ``[function(0), function(1), …]``."""


@dataclass(frozen=True)
class Items:
    """Things that can be judged: features and group, without anybody's decision."""

    group: IntArray
    linear: FloatArray
    trees: FloatArray


@dataclass(frozen=True)
class Known:
    """What fitting the pool already found out about its own rows: nothing is computed twice."""

    own: OwnRules
    logits: FloatArray  # (rows, models), out of fold

    def part(self, labeler: IntArray, rows: slice) -> Known:
        """Return what is known about a range of rows that holds whole labelers, in order."""
        first = np.searchsorted(self.own.labelers, labeler[0])
        labelers = slice(first, np.searchsorted(self.own.labelers, labeler[-1], side="right"))
        own = OwnRules(
            self.own.labelers[labelers],
            self.own.coef[:, :, labelers],
            self.own.rate[:, labelers],
            self.own.logit[rows],
        )
        return Known(own, self.logits[rows])

    def take(self, rows: IntArray) -> Known:
        """Return what is known about some of the rows."""
        return Known(replace(self.own, logit=self.own.logit[rows]), self.logits[rows])


@dataclass(frozen=True)
class Pool:
    """Everything a bucket of labelers needs to know about all the others."""

    n_groups: int
    rule: Rules  # of everybody; one variant per fold left out
    rate: FloatArray  # (folds, groups): pooled positive rate in the training folds
    learners: list[Fitted]  # per fold
    uses_linear: bool  # which columns the learners want
    stack: FloatArray  # (folds, 1, groups, 1 + models)
    mean_coef: FloatArray  # (folds, pulls, groups, columns): the average of the labelers' rules

    def model_logits(
        self, fold: int, items: Items, coef: FloatArray, rate: FloatArray
    ) -> FloatArray:
        """Return the logits of all models, (labelers, items, models), for one fold's models.

        `coef` is (pulls, labelers, groups, columns) and `rate` (labelers, groups): the rules and
        positive rates of the labelers asked about.
        """
        n_labelers, n_items = coef.shape[1], len(items.group)
        logits = np.empty((n_labelers, n_items, 1 + len(PULLS) + 1))
        for model, own in enumerate((self.rule.coef[0, ..., fold], *coef)):
            logits[..., model] = rule_logit(own, self.rule, fold, items.linear, items.group)
        columns = learner_columns(
            items, logits[..., :-1], rate[:, items.group], linear=self.uses_linear
        )
        logits[..., -1] = self.learners[fold].logit(columns).reshape(n_labelers, n_items)
        return logits

    def consensus(self, fold: int, items: Items) -> FloatArray:
        """Return how the average labeler judges the items, in several ways, (items, scores).

        The scores are: the whole stack at the average labeler, the average of the labelers' rules,
        and every group's pooled rule applied to everybody. The last ones see past a rule that is
        harsh on one group only.
        """
        mean, mean_rate = self.mean_coef[fold][:, None], self.rate[fold][None]
        whole = stacked(
            self.stack[fold, 0, items.group], self.model_logits(fold, items, mean, mean_rate)[0]
        )
        average = rule_logit(self.mean_coef[fold][-1], self.rule, fold, items.linear, items.group)
        scores = [whole, average]
        for code in range(self.n_groups):
            everybody = np.full(len(items.group), code)
            pooled = self.rule.coef[0, ..., fold]
            scores.append(rule_logit(pooled, self.rule, fold, items.linear, everybody))
        return np.column_stack(scores)


def fit_pool(
    rows: Rows,
    *,
    n_groups: int,
    tree_types: tuple[str, ...],
    learner: Learner,
    order: IntArray,
    seed: int,
    over_folds: MapFolds,
) -> tuple[Pool, Known]:
    """Fit the pool.

    The learner gets the rows in `order`; `over_folds` maps a function over fold numbers, in
    parallel if it likes.
    """
    rate = np.stack([_positive_rate(rows, n_groups, held_out) for held_out in range(N_FOLDS)])
    rule = fit_pooled_rule(rows, n_groups=n_groups)
    own = fit_own_rules(rows, rule, rate)
    logits = _rule_logits(rows, rule, own)
    columns = _row_columns(rows, own, logits, linear=learner.linear)
    types = _learner_types(tree_types)

    def fit_learner(fold: int) -> Fitted:
        train = order[rows.fold[order] != fold]
        return learner.fit(columns[train], rows.decision[train], types, seed + fold)

    learners = over_folds(fit_learner)
    logits[:, -1] = _learner_logits(rows, learners, columns)
    stack = fit_stack(logits, rows.group, rows.decision, rows.fold, n_groups=n_groups)
    mean_coef = own.coef.mean(axis=2)
    pool = Pool(
        n_groups=n_groups,
        rule=rule,
        rate=rate,
        learners=learners,
        uses_linear=learner.linear,
        stack=stack,
        mean_coef=mean_coef,
    )
    return pool, Known(own, logits)


def fit_to_pool(rows: Rows, pool: Pool) -> Known:
    """Return the rules and predictions of labelers that the pool was not fitted on."""
    own = fit_own_rules(rows, pool.rule, pool.rate)
    logits = _rule_logits(rows, pool.rule, own)
    columns = _row_columns(rows, own, logits, linear=pool.uses_linear)
    logits[:, -1] = _learner_logits(rows, pool.learners, columns)
    return Known(own, logits)


def _rule_logits(rows: Rows, rule: Rules, own: OwnRules) -> FloatArray:
    """Return the out-of-fold logits of all models; the last column, the learner's, is empty."""
    logits = np.empty((len(rows), 1 + len(PULLS) + 1))
    for fold in range(N_FOLDS):
        here = np.flatnonzero(rows.fold == fold)
        pooled = rule.coef[0, ..., fold]
        logits[here, 0] = rule_logit(pooled, rule, fold, rows.linear[here], rows.group[here])
    logits[:, 1:-1] = own.logit
    return logits


def _row_columns(rows: Rows, own: OwnRules, logits: FloatArray, *, linear: bool) -> FloatArray:
    place = np.searchsorted(own.labelers, rows.labeler)
    rate = own.rate[rows.fold, place, rows.group]
    items = Items(rows.group, rows.linear, rows.trees)
    return learner_columns(items, logits[None, :, :-1], rate[None], linear=linear)


def _learner_logits(rows: Rows, learners: list[Fitted], columns: FloatArray) -> FloatArray:
    logit = np.empty(len(rows))
    for fold, fitted in enumerate(learners):
        here = np.flatnonzero(rows.fold == fold)
        if len(here):
            logit[here] = fitted.logit(columns[here])
    return logit


def learner_columns(
    items: Items, rule_logits: FloatArray, rate: FloatArray, *, linear: bool
) -> FloatArray:
    """Return the columns a learner sees, one row per (labeler, item).

    `rule_logits` is (labelers, items, rules) and `rate` (labelers, items).
    """
    n_labelers, n_items, n_rules = rule_logits.shape
    base = items.linear if linear else items.trees
    columns = np.empty((n_labelers, n_items, base.shape[1] + 1 + n_rules + 1), dtype=np.float32)
    columns[..., : base.shape[1]] = base
    columns[..., base.shape[1]] = items.group
    columns[..., base.shape[1] + 1 : -1] = rule_logits
    columns[..., -1] = rate
    return columns.reshape(n_labelers * n_items, -1)


def _learner_types(tree_types: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the columns of `learner_columns` hold: numbers, 'q', or categories, 'c'."""
    return (*tree_types, "c", *("q" for _ in range(2 + len(PULLS))))


def _positive_rate(rows: Rows, n_groups: int, held_out: int) -> FloatArray:
    train = rows.fold != held_out
    count = np.bincount(rows.group[train], minlength=n_groups)
    positive = np.bincount(rows.group[train], rows.decision[train], minlength=n_groups)
    rate: FloatArray = (positive + 1) / (count + 2)
    return rate
