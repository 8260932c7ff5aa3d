"""How people with few labels decide: learned from all, as far as their labels leave it open.

With few items per group the gap of somebody's labels is mostly luck. `gap` then describes how the
labeler decides, by the model of the crowd (`estimation/crowd`); what their labels in the table
show stays beside it as `table_gap`. Whoever has many labels stands for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.config import CheckConfig
from mdba_checks.estimation import (
    MOST_LABELS,
    CrowdGaps,
    CrowdGold,
    CrowdLabels,
    Estimate,
    Estimation,
    Progress,
    fit_crowd,
    spread,
)
from mdba_checks.findings.diagnostics import Measures
from mdba_checks.findings.inference import Contrast, Gaps
from mdba_checks.metrics import METRICS
from mdba_checks.tables import BoolArray, Data, FloatArray


@dataclass(frozen=True)
class OwnEvidence:
    """What people's own decisions say about a limit, (labelers, contrasts); NaN without a crowd."""

    p_value: FloatArray  # that the gap is at most the limit, without the crowd
    p_beyond: FloatArray  # that it is beyond, with the crowd
    stands_out: BoolArray  # whose own decisions speak against being like the others

    @classmethod
    def unknown(cls, shape: tuple[int, ...]) -> OwnEvidence:
        """Return that nothing is known, for so many labelers and contrasts."""
        nothing = np.full(shape, np.nan)
        return cls(nothing, nothing, np.zeros(shape, dtype=bool))


@dataclass(frozen=True)
class Crowds:
    """The crowd under every contrast, and who is judged by it."""

    gaps: tuple[CrowdGaps, ...]  # per contrast
    judged: BoolArray  # (labelers, contrasts)
    shift: FloatArray  # (contrasts,): what hidden information adds to everybody's gap
    path: FloatArray | None  # (contrasts, steps): how far gaps move if labelers know more
    path_error: FloatArray | None
    apart: FloatArray | None  # (contrasts, 2): how far they move at most, in both directions

    def evidence(self, max_gap: float, confidence: float) -> OwnEvidence:
        """Return what is known about a limit."""
        p, beyond = (np.full(self.judged.shape, np.nan) for _ in range(2))
        out = np.zeros(self.judged.shape, dtype=bool)
        for column, (crowd, shift) in enumerate(zip(self.gaps, self.shift, strict=True)):
            here = self.judged[:, column]
            moved = crowd.moved(shift)
            p[here, column] = moved.p_value(max_gap)[here]
            beyond[here, column] = moved.p_beyond(max_gap)[here]
            out[here, column] = moved.stands_out(max_gap, confidence)[here]
        return OwnEvidence(p, beyond, out)


def find_crowds(
    data: Data,
    estimation: Estimation,
    wanted: list[Contrast],
    whole: Gaps,
    config: CheckConfig,
    progress: Progress | None = None,
) -> Crowds | None:
    """Return what the crowd says about each labeler; None where there is no crowd.

    `whole` holds the gaps of all labels together: what models leave open is taken from there.
    """
    scores, gold_scores, g = estimation.scores, estimation.gold_scores, estimation.g
    on_gold, overall = estimation.gold_g, estimation.overall
    if scores is None or gold_scores is None or g is None or on_gold is None or overall is None:
        return None
    if not (np.isfinite(overall.rate).all() and np.isfinite(whole.gap).all()):
        return None  # a group without gold, or without labels: there is nothing to learn
    labels, gold = data.labels, data.gold
    metric = METRICS[config.metric]
    rows = CrowdLabels(
        labeler=labels.labeler.astype(np.int64),
        group=labels.group.astype(np.int64),
        item=labels.item,
        decision=labels.decision,
        scores=scores,
        g=1 - g if metric.turns_gold else g,
    )
    items = CrowdGold(
        group=gold.group.astype(np.int64),
        item=gold.cluster,
        correct=1 - gold.correct if metric.turns_gold else gold.correct,
        weight=gold.weight,
        scores=gold_scores,
        g=1 - on_gold if metric.turns_gold else on_gold,
    )
    found = []
    for number, each in enumerate(wanted):
        if progress:
            progress("crowd", number, len(wanted))
        crowd = fit_crowd(
            rows,
            items,
            (each.group, each.reference),
            n_labelers=len(data.labelers),
            n_groups=len(data.groups),
            order=np.argsort(data.labeler_mark, kind="stable"),
            model_error=float(np.sqrt(whole.model_variance[0, number])),
            says_no=metric.turns_decisions,
        )
        found.append(crowd.gaps)
    if progress:
        progress("crowd", len(wanted), len(wanted))
    few = np.stack([each.n_labels.sum(axis=1) <= MOST_LABELS for each in found], axis=1)
    both = np.stack([(each.n_labels > 0).all(axis=1) for each in found], axis=1)
    path = None if whole.path is None else whole.path[0] - whole.path[0][:, :1]
    return Crowds(
        gaps=tuple(found),
        judged=few & both,
        shift=whole.gap[0] - whole.plain_gap[0],
        path=path,
        path_error=None if whole.path_error is None else whole.path_error[0],
        apart=None if whole.apart is None else whole.apart[0] - whole.gap[0][:, None],
    )


def with_crowds(numbers: Gaps, crowds: Crowds | None, confidence: float) -> Gaps:
    """Return the gaps, those of people with few labels by what the crowd says about them."""
    if crowds is None:
        return numbers
    arrays = {
        name: getattr(numbers, name).copy()
        for name in ("gap", "std_error", "rate", "rate_error", "rate_reference", "own_variance")
    }
    ends = np.full((*crowds.judged.shape, 2), np.nan)
    gold_variance, freedom = numbers.gold_variance.copy(), numbers.freedom.copy()
    path = None if numbers.path is None else numbers.path.copy()
    path_error = None if numbers.path_error is None else numbers.path_error.copy()
    apart = None if numbers.apart is None else numbers.apart.copy()
    for column, (crowd, shift) in enumerate(zip(crowds.gaps, crowds.shift, strict=True)):
        here = crowds.judged[:, column]
        both_ends = np.stack(crowd.interval(confidence), axis=-1) + shift
        ends[here, column] = np.clip(both_ends, -1, 1)[here]
        found = {
            "gap": np.clip(crowd.estimate + shift, -1, 1),
            "std_error": crowd.std_error,
            "rate": crowd.rate,
            "rate_error": crowd.rate_error,
            "rate_reference": crowd.rate_reference,
        }
        from_gold = (crowd.weight * crowd.gold_variance).sum(axis=1)
        found["own_variance"] = np.maximum(crowd.std_error**2 - from_gold, 0.0)
        for name, values in found.items():
            arrays[name][here, column] = values[here]
        of_groups = numbers.gold_variance[:, column].sum(axis=0)
        part = of_groups / max(float(of_groups.sum()), 1e-300)
        gold_variance[here, column] = (from_gold[:, None] * part)[here]
        freedom[here, column] = np.inf
        if path is not None and crowds.path is not None:
            path[here, column] = arrays["gap"][here, column, None] + crowds.path[column]
        if path_error is not None and crowds.path_error is not None:
            path_error[here, column] = crowds.path_error[column]
        if apart is not None and crowds.apart is not None:
            apart[here, column] = arrays["gap"][here, column, None] + crowds.apart[column]
    return replace(
        numbers,
        **arrays,
        gold_variance=gold_variance,
        freedom=np.minimum(freedom, numbers.freedom.max(initial=1e6)),
        path=path,
        path_error=path_error,
        apart=apart,
        ends=ends,
    )


def crowd_table(
    crowds: Crowds, measures: Measures, max_gap: float, confidence: float
) -> pd.DataFrame:
    """Return how gaps are spread over labelers, a row per contrast; see `Assessment.crowd`."""
    rows = []
    for each, crowd, shift in zip(measures.contrasts, crowds.gaps, crowds.shift, strict=True):
        found = spread(crowd.moved(shift), max_gap, confidence)
        row: dict[str, Any] = {
            "attribute": measures.question.attribute,
            "group": measures.groups[each.group],
            "reference": measures.reference_name(each),
            "class": measures.question.label_class,
            "n_labelers": int((crowd.n_labels.sum(axis=1) > 0).sum()),
        }
        for field in fields(found):
            number: Estimate = getattr(found, field.name)
            row |= {
                field.name: number.value,
                f"{field.name}_low": number.low,
                f"{field.name}_high": number.high,
            }
        rows.append(row)
    return pd.DataFrame(rows)
