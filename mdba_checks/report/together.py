"""Labels together: what is said and drawn about all of them, about cohorts and about the crowd.

The terminal, the report, Prefect and Great Expectations all show these rows and sentences, before
anything about single labelers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.assessment import Assessment
from mdba_checks.findings import SEVERITY
from mdba_checks.report.forest import forest
from mdba_checks.report.formatting import interval, listed, percent, sentence, signed
from mdba_checks.report.markup import Html, join, tag

WHOLE = "all labels"
FIRST = 10  # people in the list of whom to look at first
_BINS, _HEIGHT, _WIDTH = 40, 120, 600


def together(assessment: Assessment) -> pd.DataFrame:
    """Return the whole and the cohorts as rows like those of `gaps`, under the policy.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
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
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> found = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> print(whole_sentences(found)[0])
    All labels together: women ...%, men ...%, a gap of −0... (... tolerated ±0.1): biased
    """
    if assessment.overall is None:
        return []
    limit = assessment.config.policy.resolved().max_gap_overall
    said = []
    for row in assessment.overall.to_dict("records"):
        if not math.isfinite(row["gap"]):
            said.append(f"All labels together, {row['group']}: {row['reason']}")
            continue
        gap = signed(row["gap"], ascii_only=ascii_only)
        ends = interval(row["ci_low"], row["ci_high"], ascii_only=ascii_only)
        said.append(
            f"All labels together: {row['group']} {percent(row['rate'])}, {row['reference']} "
            f"{percent(row['rate_reference'])}, a gap of {gap} ({ends}; tolerated ±{limit:g}): "
            f"{row['finding']}"
        )
    return said


def crowd_sentences(assessment: Assessment, *, ascii_only: bool = False) -> list[str]:
    """Return what is said about how gaps are spread over labelers; nothing without a crowd."""
    if assessment.crowd is None:
        return []
    limit = assessment.config.policy.max_gap
    said = []
    for row in assessment.crowd.to_dict("records"):
        mean = signed(row["mean"], ascii_only=ascii_only)
        ends = interval(row["mean_low"], row["mean_high"], ascii_only=ascii_only)
        said.append(
            f"{row['n_labelers']:,} labelers, {row['group']} compared with {row['reference']}: "
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
    named = [f"{row.labeler} ({row.p_beyond:.0%})" for row in rows.itertuples(index=False)]
    return f"Look at these first: {listed(named)}" if named else ""


def distribution(assessment: Assessment) -> Html:
    """Return a drawing of how the labelers' gaps are spread, coloured by finding; SVG."""
    gaps = assessment.gaps.dropna(subset=["gap"])
    if len(gaps) < _BINS // 2:
        return Html("")
    limit = assessment.config.policy.max_gap
    reach = max(float(gaps["gap"].abs().max()), 1.5 * limit)
    edges = np.linspace(-reach, reach, _BINS + 1)
    counts = {
        finding: np.histogram(gaps.loc[gaps["finding"] == finding, "gap"], edges)[0]
        for finding in SEVERITY
    }
    highest = max(int(np.sum(list(counts.values()), axis=0).max()), 1)
    step = _WIDTH / _BINS
    parts = [_zone(limit, reach)]
    below = np.zeros(_BINS)
    for finding, values in counts.items():
        for number in np.flatnonzero(values):
            height = values[number] / highest * (_HEIGHT - 20)
            parts.append(
                tag(
                    "rect",
                    x=f"{number * step:.1f}",
                    y=f"{_HEIGHT - 20 - below[number] - height:.1f}",
                    width=f"{step - 1:.1f}",
                    height=f"{height:.1f}",
                    class_=f"column {finding}",
                )
            )
            below[number] += height
    parts += [_tick(value, reach) for value in (-limit, 0.0, limit)]
    said = ", ".join(f"{int(values.sum()):,} {name}" for name, values in counts.items())
    return tag(
        "figure",
        tag("figcaption", "How the gaps of all labelers are spread"),
        tag(
            "svg",
            tag("title", f"Gaps of {len(gaps):,} comparisons: {said}"),
            *parts,
            viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
            role="img",
            class_="distribution",
        ),
    )


def together_section(judged: Assessment) -> Html:
    """Return the section about labels together; empty where nothing is said about them."""
    rows, policy = together(judged), judged.config.policy.resolved()
    if rows.empty:
        return Html("")
    whole, cohorts = rows[rows["labeler"] == WHOLE], rows[rows["labeler"] != WHOLE]
    limit = policy.max_gap_overall if policy.max_gap_overall is not None else policy.max_gap
    said, people = whole_sentences(judged), crowd_sentences(judged)
    first = look_first_sentence(judged) if judged.crowd is not None else ""
    return join(
        [
            tag("p", "What a model that trains on all of these labels would learn from them."),
            _items(said),
            forest(whole, max_gap=limit, prefix="whole"),
            join(
                [
                    tag("h3", "Cohorts"),
                    forest(cohorts, max_gap=policy.max_gap, prefix="cohorts"),
                ]
            )
            if len(cohorts)
            else "",
            join(
                [
                    tag("h3", "The crowd"),
                    _items([*people, *([first] if first else [])]),
                    distribution(judged),
                ]
            )
            if people
            else "",
        ]
    )


def _items(lines: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", sentence(line)) for line in lines))


def _zone(limit: float, reach: float) -> Html:
    begin, end = (_WIDTH * (value + reach) / (2 * reach) for value in (-limit, limit))
    return tag(
        "rect",
        x=f"{begin:.1f}",
        y=0,
        width=f"{end - begin:.1f}",
        height=_HEIGHT - 20,
        class_="zone",
    )


def _tick(value: float, reach: float) -> Html:
    at = _WIDTH * (value + reach) / (2 * reach)
    return tag(
        "text",
        signed(value),
        x=f"{at:.1f}",
        y=_HEIGHT - 4,
        text_anchor="middle",
        font_size="11",
        fill="currentColor",
    )


def _share(row: Mapping[Any, Any], name: str) -> str:
    ends = f"{percent(row[f'{name}_low'])} to {percent(row[f'{name}_high'])}"
    return f"{percent(row[name])} ({ends})"
