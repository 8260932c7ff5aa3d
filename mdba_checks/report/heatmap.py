"""The heatmap: labelers by comparisons, where there are too many to draw each interval first.

It is a table, so that it can be read without colours, aloud and on paper: the number in a cell is
the gap, the mark before it the finding, and the colour how large the gap is beside the limit.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from mdba_checks.findings import SEVERITY, by_severity, comparisons, each, with_sides
from mdba_checks.report.formatting import signed
from mdba_checks.report.markup import Html, fill

MANY = 4  # comparisons per labeler; with more there is a heatmap
MAX_ROWS, MAX_COLUMNS = 60, 24

_STEPS = (0.5, 1.0, 2.0, 3.0)  # of the limit


def heatmap(gaps: pd.DataFrame, *, max_gap: float, who: str = "Labeler") -> Html:
    """Return a table of labelers by comparisons; nothing where there are `MANY` or fewer.

    Parameters
    ----------
    gaps
        Rows of `Assessment.gaps`, judged already.
    max_gap
        The tolerated gap.
    who
        What the rows are about.

    Examples
    --------
    >>> row = {"labeler": "Ann", "reference": "others", "gap": -0.4, "finding": "biased"}
    >>> rows = pd.DataFrame([{**row, "group": group} for group in "abcde"])
    >>> heatmap(rows, max_gap=0.1).count('<td class="less-4">')
    5
    """
    gaps = with_sides(gaps)
    pairs = comparisons(gaps)
    if len(pairs) <= MANY:
        return Html()
    # The worst labelers and the worst comparisons, each as bad as their worst cell.
    ordered = by_severity(gaps)
    people = ordered["labeler"].drop_duplicates()
    sides = ordered["side"].drop_duplicates() if len(pairs) > MAX_COLUMNS else pairs["side"]
    sides = sides.drop_duplicates()
    cells = {(row.labeler, row.side): _cell(row, max_gap) for row in each(gaps)}
    shown = sides.head(MAX_COLUMNS).tolist()
    references = pairs["reference"].unique()
    return fill(
        "heatmap.html",
        who=who,
        sides=shown,
        rows=[
            (name, [cells.get((name, side)) for side in shown]) for name in people.head(MAX_ROWS)
        ],
        reference=references[0] if len(references) == 1 else "the reference of each",
        limit=f"{max_gap:g}",
        left_out=[
            f"the worst {most} of {n:,} {what} are shown"
            for n, most, what in (
                (len(people), MAX_ROWS, f"{who.lower()}s"),
                (len(sides), MAX_COLUMNS, "comparisons"),
            )
            if n > most
        ],
        steps=[f"{step * max_gap:g}" for step in _STEPS],
        findings=list(SEVERITY),
    )


def _cell(row: Any, max_gap: float) -> dict[str, str]:
    step = sum(abs(row.gap) > each * max_gap for each in _STEPS) if math.isfinite(row.gap) else 0
    shade = f"{'less' if row.gap < 0 else 'more'}-{step}" if step else "none"
    return {"shade": shade, "gap": signed(row.gap), "finding": str(row.finding)}
