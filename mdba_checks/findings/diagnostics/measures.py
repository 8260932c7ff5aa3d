"""The numbers behind the assumption checks, before any policy grades them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from threadpoolctl import threadpool_limits

from mdba_checks.config import CheckConfig, EstimatorName
from mdba_checks.estimation import (
    ESTIMATORS,
    Estimation,
    Estimator,
    Hidden,
    LackOfFit,
    Rates,
)
from mdba_checks.findings.diagnostics.families import Families, find_families, rows_looked_at
from mdba_checks.findings.diagnostics.gaming import Gaming, look_for_gaming
from mdba_checks.findings.diagnostics.repeats import Repeats, find_repeats
from mdba_checks.findings.diagnostics.shift import Shift, measure_shift, shift_rows
from mdba_checks.findings.inference import Contrast
from mdba_checks.findings.inference import sides_of as weights_of_groups
from mdba_checks.metrics import EVERYONE_ELSE, METRICS, AnswerWords, Metric, MetricName, Wording
from mdba_checks.tables import BoolArray, Data, FloatArray, IntArray, Question

# Standard errors; one contrast in ten by chance. It does no harm by itself: what labelers could
# know has to matter, too.
UNEQUAL_CLEAR = 1.64


@dataclass(frozen=True)
class Inspection:
    """What the two tables show by themselves, whatever the estimator."""

    shift: Shift
    repeats: Repeats
    families: Families


@dataclass(frozen=True)
class Chosen:
    """Mean g on gold and among the labels; arrays are (groups,)."""

    on_gold: FloatArray
    on_labels: FloatArray
    error: FloatArray  # of the difference

    @property
    def z(self) -> FloatArray:
        """The difference in standard errors."""
        with np.errstate(invalid="ignore", divide="ignore"):
            z: FloatArray = (self.on_gold - self.on_labels) / self.error
        return z


@dataclass(frozen=True)
class Measures:
    """Everything the checks and the plan ask for; no rows.

    Arrays are (labelers, groups), (labelers, contrasts) or (groups,); what an estimator does not
    have is None.
    """

    question: Question
    labelers: tuple[str, ...]
    groups: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    estimator_name: EstimatorName
    metric_name: MetricName
    n_labels: IntArray  # (labelers, groups)
    n_positive: IntArray  # (labelers, groups)
    n_direct: IntArray  # (labelers, groups): decisions on gold items
    n_gold: IntArray  # (groups,)
    n_items: IntArray  # (groups,): items that were labeled and are not in gold
    n_gold_positive: IntArray  # (groups,), of the kind the metric is about
    worth_positive: (
        IntArray  # (groups,): how many even ones would say as much, by weight and family
    )
    gold_share: FloatArray  # (groups,): their share of the items that gold stands for
    inspection: Inspection
    fidelity: FloatArray | None  # (labelers,): out-of-fold AUC of f
    fidelity_within: FloatArray | None  # (labelers, groups): the same among items of one group
    gold_fit: FloatArray | None  # (groups,): out-of-fold AUC of g
    product: FloatArray | None  # (labelers, contrasts): bias of the gap that could remain
    product_bound: FloatArray | None  # the same at its theoretical worst, for other estimators
    c_spread: FloatArray | None  # (labelers, contrasts): how far gaps of different c lie apart
    gaming: Gaming | None  # signs that labelers behave differently where they are checked
    chosen: Chosen | None  # whether gold looks like the labels in what is probably right
    hidden: Hidden | None  # what labelers know beyond the features
    fit: LackOfFit | None  # what the models leave in the data
    words: AnswerWords = field(default_factory=AnswerWords)  # what decisions are called
    pooled: BoolArray | None = None  # (labelers, contrasts): whose gap is learned from a crowd

    @property
    def estimator(self) -> Estimator:
        """How the rates were estimated."""
        return ESTIMATORS[self.estimator_name]

    @property
    def metric(self) -> Metric:
        """The rate that is compared."""
        return METRICS[self.metric_name]

    def members(self, contrast: Contrast) -> IntArray:
        """Return the groups on the reference side."""
        codes = np.arange(len(self.groups))
        rest = codes != contrast.group
        return np.flatnonzero(rest if contrast.reference is None else codes == contrast.reference)

    def reference_name(self, contrast: Contrast) -> str:
        """Return what the group is compared with, in words."""
        return EVERYONE_ELSE if contrast.reference is None else self.groups[contrast.reference]

    @property
    def labels_compared(self) -> IntArray:
        """The labels on both sides of every comparison, (labelers, contrasts)."""
        sides = [[each.group, *self.members(each)] for each in self.contrasts]
        return np.stack([self.n_labels[:, codes].sum(axis=1) for codes in sides], axis=1)

    @property
    def labels_concerned(self) -> IntArray:
        """The labels that stay open when a comparison does, (labelers, contrasts).

        All labels of the labeler; of a combination, those about it, and of a class, those that
        name it. Others are covered by the comparisons of their own attribute and class.
        """
        question = self.question
        counts = self.n_labels if question.label_class is None else self.n_positive
        if not question.crosses:
            return np.repeat(counts.sum(axis=1)[:, None], len(self.contrasts), axis=1)
        return counts[:, [each.group for each in self.contrasts]]

    @property
    def direct_compared(self) -> IntArray:
        """The decisions on gold items on both sides of every comparison, (labelers, contrasts)."""
        sides = [[each.group, *self.members(each)] for each in self.contrasts]
        return np.stack([self.n_direct[:, codes].sum(axis=1) for codes in sides], axis=1)

    @property
    def counted(self) -> BoolArray:
        """The comparisons in which every label is about a gold item: nothing is estimated."""
        counted: BoolArray = self.direct_compared == self.labels_compared
        return counted

    @property
    def theta_measured(self) -> BoolArray:
        """The contrasts in all of whose groups hidden information was measured."""
        if self.hidden is None:
            return np.ones(len(self.contrasts), dtype=bool)
        known = self.hidden.measured
        sides = [[each.group, *self.members(each)] for each in self.contrasts]
        return np.array([bool(known[codes].all()) for codes in sides])

    @property
    def unequally_described(self) -> BoolArray:
        """The contrasts whose sides differ clearly in how much features leave open about gold."""
        if self.hidden is None:
            return np.zeros(len(self.contrasts), dtype=bool)
        left_open, error = self.hidden.left_open, self.hidden.left_open_error
        found = []
        for each in self.contrasts:
            rest = self.members(each)
            weight = self.n_gold[rest] / max(int(self.n_gold[rest].sum()), 1)
            other, other_error = weight @ left_open[rest], np.sqrt(weight**2 @ error[rest] ** 2)
            apart = abs(left_open[each.group] - other)
            found.append(apart > UNEQUAL_CLEAR * np.hypot(error[each.group], other_error))
        return np.array(found, dtype=bool)

    @property
    def wording(self) -> Wording:
        """How the rate is described."""
        return Wording(self.metric, self.words, of_all=self.estimator.ignores_right_answers)

    @property
    def is_right(self) -> str:
        """That the decision is right which the metric is about, in words."""
        return self.words.is_right(self.metric.right)


def inspect(data: Data) -> Inspection:
    """Look at the tables; one pass over the rows and one sort of their fingerprints."""
    # One thread, as everywhere: the last digits of a sum depend on how it is split up.
    with threadpool_limits(limits=1, user_api="blas"):
        if data.remote is not None:
            data.remote.keep(np.concatenate([shift_rows(data), *rows_looked_at(data)]))
        return Inspection(measure_shift(data), find_repeats(data), find_families(data))


def measure(
    data: Data,
    estimation: Estimation,
    asked: Estimator,
    wanted: list[Contrast],
    config: CheckConfig,
    inspection: Inspection,
) -> Measures:
    """Collect the numbers that say how far an estimate can be trusted."""
    rates, fidelity, gold = estimation.rates[asked.name], estimation.fidelity, data.gold
    n_groups = len(data.groups)
    metric = METRICS[config.metric]
    g, auc, fit, product, bound, gaming = estimation.gold_g, None, None, None, None, None
    chosen = None
    if asked.needs_models and fidelity is not None and g is not None:
        auc = fidelity.auc
        chosen = _chosen(data, estimation)
        gaming = look_for_gaming(data, estimation, metric, inspection.repeats)
        of_group = [gold.group == code for code in range(n_groups)]
        fit = np.array(
            [weighted_auc(g[here], gold.correct[here] == 1, gold.weight[here]) for here in of_group]
        )
        if asked.is_doubly_robust:
            product = _product(rates, wanted)
        else:
            error = np.bincount(gold.group, gold.weight * (gold.correct - g) ** 2, n_groups)
            brier_g = error / np.maximum(np.bincount(gold.group, gold.weight, n_groups), 1e-12)
            bound = _worst_product(rates, estimation.n_labels, fidelity.brier, brier_g, wanted)
    return Measures(
        labelers=data.labelers,
        question=data.question,
        groups=data.groups,
        contrasts=tuple(wanted),
        estimator_name=asked.name,
        metric_name=metric.name,
        words=data.words,
        n_labels=estimation.n_labels,
        n_positive=estimation.n_positive,
        n_direct=_direct(data),
        n_gold=np.bincount(gold.group, minlength=n_groups),
        n_items=_without_gold(data),
        n_gold_positive=np.bincount(
            gold.group[gold.correct == metric.right_code], minlength=n_groups
        ),
        worth_positive=_worth_positive(data, metric),
        gold_share=_gold_share(data, metric),
        inspection=inspection,
        fidelity=auc,
        fidelity_within=None if auc is None or fidelity is None else fidelity.within,
        gold_fit=fit,
        product=product,
        product_bound=bound,
        c_spread=_spread(estimation.rate_by_c, rates, wanted) if asked.by_c else None,
        gaming=gaming,
        chosen=chosen,
        hidden=estimation.hidden if asked.is_doubly_robust else None,
        fit=estimation.fit if asked.is_doubly_robust else None,
    )


def _without_gold(data: Data) -> IntArray:
    """Return how many items of every group were labeled and are not in gold."""
    items, first = np.unique(data.labels.item, return_index=True)
    left = first[~np.isin(items, data.gold.item)]
    return np.bincount(data.labels.group[left], minlength=len(data.groups))


def _worth_positive(data: Data, metric: Metric) -> IntArray:
    """Return how many gold items of the kind that counts there are, as weights and families go."""
    gold, n_groups = data.gold, len(data.groups)
    here = np.flatnonzero(gold.correct == metric.right_code)
    families, family = np.unique(
        np.stack([gold.group[here], gold.cluster[here]]), axis=1, return_inverse=True
    )
    weight = np.bincount(family.ravel(), gold.weight[here], minlength=families.shape[1])
    total = np.bincount(families[0], weight, minlength=n_groups)
    squares = np.bincount(families[0], weight**2, minlength=n_groups)
    worth = np.divide(total**2, squares, out=np.zeros(n_groups), where=squares > 0)
    counts: IntArray = np.floor(worth + 1e-6).astype(np.int64)
    return counts


def _gold_share(data: Data, metric: Metric) -> FloatArray:
    gold, n_groups = data.gold, len(data.groups)
    counted = gold.weight * (gold.correct == metric.right_code)
    total = np.bincount(gold.group, gold.weight, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        share: FloatArray = np.bincount(gold.group, counted, minlength=n_groups) / total
    return share


def _direct(data: Data) -> IntArray:
    labels, shape = data.labels, (len(data.labelers), len(data.groups))
    cell = labels.labeler.astype(np.int64) * shape[1] + labels.group
    found = cell[np.isin(labels.item, data.gold.item)]
    return np.bincount(found, minlength=shape[0] * shape[1]).reshape(shape)


def of_cohorts(
    measures: Measures, names: tuple[str, ...], member: IntArray, rates: Rates
) -> Measures:
    """Return the measures of cohorts in the place of labelers.

    `member`, (labelers, groups, cohorts), counts the labels that everybody gave in each cohort.
    """
    shift = measures.inspection.shift
    n_labels = member.sum(axis=0).T
    weight = member.sum(axis=1).astype(float)
    share = weight / np.maximum(weight.sum(axis=0), 1)  # (labelers, cohorts)
    of_all = (
        np.tile(shift.auc_of_all, (len(names), 1)),
        np.tile(shift.p_value_of_all, (len(names), 1)),
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        positive = measures.n_positive / measures.n_labels
        direct = measures.n_direct / measures.n_labels

    def spread(part: FloatArray) -> IntArray:
        each = np.einsum("kac,ka->ca", member, np.nan_to_num(part))
        counts: IntArray = np.rint(each).astype(np.int64)
        return counts

    return replace(
        measures,
        labelers=names,
        n_labels=n_labels,
        n_positive=spread(positive),
        n_direct=spread(direct),
        inspection=replace(
            measures.inspection,
            shift=replace(shift, auc=of_all[0], p_value=of_all[1]),
            repeats=replace(measures.inspection.repeats, share=np.zeros(len(names))),
        ),
        fidelity=None
        if measures.fidelity is None
        else np.nan_to_num(measures.fidelity, nan=0.5) @ share,
        fidelity_within=_of_cohorts_within(measures, member),
        product=_product(rates, list(measures.contrasts)),
        product_bound=None,
        c_spread=None,
        gaming=None,
    )


def _of_cohorts_within(measures: Measures, member: IntArray) -> FloatArray | None:
    within = measures.fidelity_within
    if within is None:
        return None
    weight = np.where(np.isfinite(within)[..., None], member, 0).astype(float)
    total = np.einsum("kac,ka->ca", weight, np.nan_to_num(within))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: FloatArray = total / weight.sum(axis=0).T
    return mean


def with_pooled(measures: Measures, pooled: BoolArray, whole: Measures) -> Measures:
    """Return the measures when some gaps are learned from the crowd.

    What models could have missed is then the same for all of those people, as for all labels
    together.
    """
    product = measures.product
    if product is not None and whole.product is not None:
        product = np.where(pooled, whole.product, product)
    return replace(measures, pooled=pooled, product=product)


def _chosen(data: Data, estimation: Estimation) -> Chosen | None:
    """Compare g on gold with g among the labels, item by item."""
    g, on_gold, gold, labels = estimation.g, estimation.gold_g, data.gold, data.labels
    if g is None or on_gold is None:
        return None
    n_groups = len(data.groups)
    codes, first = np.unique(labels.item, return_index=True)
    group = labels.group[first]
    mean, variance = _moments(g[first], np.ones(len(codes)), group, n_groups)
    gold_mean, gold_variance = _moments(on_gold, gold.weight, gold.group, n_groups)
    return Chosen(gold_mean, mean, np.sqrt(variance + gold_variance))


def _moments(
    values: FloatArray, weight: FloatArray, group: IntArray, n_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Return the weighted means of groups, and the variances of these means."""
    total = np.bincount(group, weight, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, weight * values, minlength=n_groups) / total
        off = (weight * (values - np.nan_to_num(mean)[group])) ** 2
        variance = np.bincount(group, off, minlength=n_groups) / total**2
    return mean, variance


def _product(rates: Rates, wanted: list[Contrast]) -> FloatArray:
    """Return the allowance of the group less that of the reference.

    Errors of f and g pull rates in the same direction, so what both sides have in common cancels.
    """
    each = []
    for contrast in wanted:
        weight = weights_of_groups(contrast, rates.mass, rates.rate.shape[1])
        each.append((weight * np.where(weight == 0, 0.0, rates.allowance)).sum(axis=1))
    product: FloatArray = np.abs(np.stack(each, axis=1))
    return product


def _worst_product(
    rates: Rates,
    n_labels: IntArray,
    brier_f: FloatArray,
    brier_g: FloatArray,
    wanted: list[Contrast],
) -> FloatArray:
    """Return the bias if the errors of f and g were the same function of the item."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share_right = rates.mass / n_labels
        bound = np.sqrt(brier_f[:, None] * brier_g) / share_right
    each = []
    for contrast in wanted:
        weight = weights_of_groups(contrast, rates.mass, rates.rate.shape[1])
        each.append(np.where(weight == 0, 0.0, np.abs(weight) * bound).max(axis=1))
    return np.stack(each, axis=1)


def _spread(
    rate_by_c: FloatArray | None, rates: Rates, wanted: list[Contrast]
) -> FloatArray | None:
    if rate_by_c is None:
        return None
    each = []
    for contrast in wanted:
        weight = weights_of_groups(contrast, rates.mass, rates.rate.shape[1])[..., None]
        each.append(np.ptp((weight * np.where(weight == 0, 0.0, rate_by_c)).sum(axis=1), axis=1))
    return np.stack(each, axis=1)


def weighted_auc(score: FloatArray, positive: BoolArray, weight: FloatArray) -> float:
    """Return the share of pairs, a positive and a negative, in the right order; ties count half."""
    if positive.all() or not positive.any():
        return float("nan")
    _, place = np.unique(score, return_inverse=True)
    negatives = np.bincount(place, weight * ~positive)
    below = np.cumsum(negatives) - negatives / 2
    of_positive = weight * positive
    return float(of_positive @ below[place] / (of_positive.sum() * negatives.sum()))
