"""Labels together: what is said and drawn about all of them, about cohorts and about the crowd.

The terminal, the report, Prefect and Great Expectations all show these rows and sentences, before
anything about single labelers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.assessment import Assessment
from mdba_checks.errors import joined, quoted
from mdba_checks.findings import SEVERITY, WHOLE, by_severity, comparisons, each, with_sides
from mdba_checks.report.forest import forest
from mdba_checks.report.formatting import interval, percent, signed
from mdba_checks.report.heatmap import MANY, heatmap
from mdba_checks.report.interval import Axis
from mdba_checks.report.markup import Html, fill

_FEW = 6  # comparisons that are said in the order of the table; of more, the worst come first
FIRST = 10  # people in the list of whom to look at first
_BINS, _HEIGHT = 40, 150
_FEWEST = 20  # comparisons that make a distribution worth drawing


def together(assessment: Assessment) -> pd.DataFrame:
    """Return the whole and the cohorts as rows like those of `gaps`, under the policy.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.3, 0.5], seed=1)
    >>> found = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> together(found)[["labeler", "group", "finding"]].to_numpy().tolist()
    [['all labels', 'women', 'biased']]
    """
    parts = []
    if assessment.overall is not None:
        parts.append(assessment.overall.assign(labeler=WHOLE))
    if assessment.cohorts is not None:
        parts.append(assessment.cohorts.rename(columns={"cohort": "labeler"}))
    columns = list(assessment.gaps.columns)
    return pd.concat(parts)[columns] if parts else assessment.gaps.iloc[:0]


def whole_sentences(assessment: Assessment, *, ascii_only: bool = False) -> list[str]:
    """Return one sentence per group about all labels together.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.3, 0.5], seed=1)
    >>> found = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> print(whole_sentences(found)[0])
    The data set as a whole says yes for ...% of women and ...% of men where yes is right: a gap \
of −0... (... tolerated ±0.1), biased
    """
    if assessment.overall is None:
        return []
    limit = assessment.config.policy.resolved().max_gap_overall
    said = []
    rows = with_sides(assessment.overall)
    for row in (rows if len(rows) <= _FEW else by_severity(rows)).to_dict("records"):
        if not math.isfinite(row["gap"]):
            said.append(f"All labels together, {quoted(row['side'])}: {row['reason']}")
            continue
        rates = assessment.wording_of(row["class"]).rates(
            (row["group"], row["rate"]), (row["reference"], row["rate_reference"]), gap=row["gap"]
        )
        gap = signed(row["gap"], ascii_only=ascii_only)
        ends = interval(row["ci_low"], row["ci_high"], ascii_only=ascii_only)
        said.append(
            f"The data set as a whole {rates}: a gap of {gap} ({ends}; tolerated ±{limit:g}), "
            f"{row['finding']}"
        )
    return said


def crowd_sentences(assessment: Assessment, *, ascii_only: bool = False) -> list[str]:
    """Return what is said about how gaps are spread over labelers; nothing without a crowd."""
    if assessment.crowd is None:
        return []
    limit = assessment.config.policy.max_gap
    said = []
    for row in with_sides(assessment.crowd).to_dict("records"):
        mean = signed(row["mean"], ascii_only=ascii_only)
        ends = interval(row["mean_low"], row["mean_high"], ascii_only=ascii_only)
        said.append(
            f"{row['n_labelers']:,} labelers, {row['side']} compared with {row['reference']}: "
            f"mean gap {mean} ({ends}); true gaps differ between labelers by {row['spread']:.2f} "
            f"({row['spread_low']:.2f} to {row['spread_high']:.2f}); beyond ±{limit:g} are about "
            f"{_share(row, 'labelers_beyond')} of the labelers and "
            f"{_share(row, 'labels_beyond')} of the labels"
        )
    return said


def look_first(assessment: Assessment, most: int = FIRST) -> pd.DataFrame:
    """Return the comparisons to look at first: the likeliest to be beyond the limit."""
    gaps = assessment.gaps
    known = gaps[gaps["p_beyond"].notna()]
    order = known.assign(size=known["gap"].abs()).sort_values(
        ["p_beyond", "size"], ascending=False, kind="stable"
    )
    return order.drop(columns="size").head(most)


def look_first_sentence(assessment: Assessment) -> str:
    """Return whom to look at first, with how likely each is beyond the limit; empty if nobody."""
    rows = look_first(assessment)
    rows = rows[rows["p_beyond"] > 0.5]
    named = [f"{quoted(row.labeler)} ({_likely(row.p_beyond)})" for row in each(rows)]
    return f"Look at these first: {joined(named)}" if named else ""


def whole_section(judged: Assessment) -> Html:
    """Return what is said and drawn about all labels; empty where nothing is known."""
    if judged.overall is None or judged.overall.empty:
        return Html()
    policy = judged.config.policy.resolved()
    limit = policy.max_gap_overall if policy.max_gap_overall is not None else policy.max_gap
    rows = judged.overall.assign(labeler=WHOLE)
    return fill(
        "whole.html",
        said=whole_sentences(judged),
        heatmap=heatmap(rows, max_gap=limit, who="Table"),
        forest=forest(rows, max_gap=limit, prefix="whole"),
    )


def cohorts_section(judged: Assessment) -> Html:
    """Return the cohorts compared with each other; empty without any."""
    if judged.cohorts is None or judged.cohorts.empty:
        return Html()
    limit = judged.config.policy.max_gap
    rows = judged.cohorts.rename(columns={"cohort": "labeler"})
    return fill(
        "cohorts.html",
        limit=f"{limit:g}",
        said=_cohorts_apart(rows),
        heatmap=heatmap(rows, max_gap=limit, who="Cohort"),
        forest=forest(rows, max_gap=limit, prefix="cohorts"),
    )


def _cohorts_apart(rows: pd.DataFrame) -> Iterator[str]:
    """Yield, per comparison, the cohorts that lie furthest apart."""
    for (side, reference), found in with_sides(rows).groupby(["side", "reference"], sort=False):
        known = found.dropna(subset=["gap"]).sort_values("gap", kind="stable")
        if len(known) < 2:
            continue
        low, high = known.iloc[0], known.iloc[-1]
        yield (
            f"{side} compared with {reference}: from {signed(low['gap'])} in the cohort "
            f"{quoted(low['labeler'])} ({low['finding']}, {low['n_labels']:,} labels) to "
            f"{signed(high['gap'])} in {quoted(high['labeler'])} ({high['finding']}, "
            f"{high['n_labels']:,} labels)"
        )


def crowd_section(judged: Assessment) -> Html:
    """Return how gaps are spread over labelers, and whom to look at first; empty for a few."""
    gaps = with_sides(judged.gaps)
    if judged.crowd is None and gaps["labeler"].nunique() < _FEWEST:
        return Html()
    first = look_first(judged)
    return fill(
        "crowd.html",
        said=crowd_sentences(judged),
        parts=_distributions(judged, gaps),
        findings=[each for each in SEVERITY if each in set(gaps["finding"])],
        limit=f"{judged.config.policy.max_gap:g}",
        first=[
            {**row._asdict(), "likely": _likely(row.p_beyond)}
            for row in each(with_sides(gaps).loc[first.index])
        ],
    )


def _likely(p: float) -> str:
    return "over 99%" if p > 0.99 else percent(p)


def _distributions(judged: Assessment, gaps: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a drawing per comparison, or one of all where there are many of them."""
    known = gaps.dropna(subset=["gap"])
    pairs = comparisons(known)
    if len(pairs) > MANY:
        return [_distribution(judged, known, f"All {len(pairs)} comparisons", None)]
    return [
        _distribution(
            judged,
            known[known["side"] == row.side],
            f"{row.side} compared with {row.reference}",
            _mean(judged, row),
        )
        for row in each(pairs)
        if (known["side"] == row.side).sum() >= _FEWEST
    ]


def _mean(judged: Assessment, pair: Any) -> float | None:
    """Return the mean gap of a comparison; keys are those that the crowd's table has."""
    if judged.crowd is None:
        return None
    fits = judged.crowd["group"] == pair.group
    for key, value in (("attribute", pair.attribute), ("class", pair.class_)):
        if value is not None:
            fits &= judged.crowd[key] == value
    found = judged.crowd.loc[fits, "mean"]
    return float(found.iloc[0]) if len(found) == 1 else None


def _distribution(
    judged: Assessment, gaps: pd.DataFrame, title: str, mean: float | None
) -> dict[str, Any]:
    limit = judged.config.policy.max_gap
    axis = Axis.over(gaps["gap"], limit, room=0.02)
    edges = np.linspace(axis.begin, axis.end, _BINS + 1)
    counts = {
        finding: np.histogram(gaps.loc[gaps["finding"] == finding, "gap"], edges)[0]
        for finding in SEVERITY
    }
    unit = (_HEIGHT - 20) / max(int(np.sum(list(counts.values()), axis=0).max()), 1)
    below, columns = np.zeros(_BINS), []
    for finding, values in counts.items():
        for number in np.flatnonzero(values):
            below[number] += unit * values[number]
            between = interval(edges[number], edges[number + 1])
            columns.append(
                {
                    "x": axis.percent(edges[number]),
                    "width": f"{0.9 * 100 / _BINS:.2f}%",
                    "y": f"{_HEIGHT - below[number]:.1f}",
                    "height": f"{unit * values[number]:.1f}",
                    "finding": finding,
                    "about": f"{values[number]:,} {finding}, gaps {between}",
                }
            )
    said = ", ".join(f"{int(values.sum()):,} {name}" for name, values in counts.items())
    right = mean is not None and axis.share(mean) > 0.5
    return {
        "title": f"How gaps are spread: {title}",
        "description": f"{title}, gaps of {len(gaps):,} labelers: {said}",
        "axis": axis,
        "zone": f"{100 * 2 * limit / (axis.end - axis.begin):.2f}%",
        "columns": columns,
        "ticks": [(axis.percent(tick), signed(tick)) for tick in axis.ticks],
        "mean": None if mean is None else axis.percent(mean),
        "mean_words": f"mean {signed(mean)}",
        "anchor": "end" if right else "start",
        "shift": -5 if right else 5,
    }


def _share(row: Mapping[Any, Any], name: str) -> str:
    ends = f"{percent(row[f'{name}_low'])} to {percent(row[f'{name}_high'])}"
    return f"{percent(row[name])} ({ends})"
