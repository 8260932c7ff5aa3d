"""Two checks side by side, as sentences for every face and as one HTML file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from mdba_checks.findings import SEVERITY, each, with_sides
from mdba_checks.outputs import Record, SideBySide
from mdba_checks.report.explanations import VERDICTS
from mdba_checks.report.formatting import count, interval, p_value, signed
from mdba_checks.report.html import whole_page
from mdba_checks.report.interval import Axis, Interval
from mdba_checks.report.markup import Html, fill

MOST_ROWS = 500  # of the table; all of them are in CSV and JSON
_DEFAULT_LIMIT = 0.1  # drawn where records do not say what was tolerated
_HEIGHT = 34
_WHEN = ("before", "after")
_UNKNOWN = "not known"


def both_facts(found: SideBySide) -> list[tuple[str, str, str]]:
    """Return what both checks were about and came to: a name and two values, where one is known."""
    pairs = zip(_facts(found.before), _facts(found.after), strict=True)
    told = [(name, one, other) for (name, one), (_, other) in pairs]
    return [each for each in told if each[1:] != (_UNKNOWN, _UNKNOWN)]


def _facts(record: Record) -> list[tuple[str, str]]:
    data = record.data
    findings = [row.finding for row in record.gaps]
    counted = [f"{findings.count(each):,} {each}" for each in SEVERITY if each in findings]
    return [
        ("verdict", VERDICTS[record.verdict] if record.verdict else _UNKNOWN),
        ("made", (record.created or _UNKNOWN)[:16].replace("T", " ")),
        ("labels", _size(data.n_labels if data else None, "row")),
        ("gold", _size(data.n_gold if data else None, "item")),
        ("labelers", f"{len({row.labeler for row in record.gaps}):,}"),
        ("comparisons", ", ".join(counted) or "none"),
        ("tolerated gap", f"±{limit_of(record):g}"),
        ("estimator", record.estimator),
    ]


def limit_of(record: Record) -> float:
    """Return what was tolerated."""
    limit = record.policy.get("max_gap")
    return float(limit) if isinstance(limit, (int, float)) else _DEFAULT_LIMIT


def change_sentences(found: SideBySide, *, ascii_only: bool = False) -> Iterator[str]:
    """Yield what changed, the most important first.

    Examples
    --------
    >>> from mdba_checks.outputs import side_by_side
    >>> row = {"labeler": "Ann", "group": "women", "reference": "men", "finding": "fair"}
    >>> row |= {"gap": 0.0, "std_error": 0.03, "ci_low": -0.05, "ci_high": 0.05}
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9, "gaps": [row]}
    >>> print(*change_sentences(side_by_side(about, about)), sep="; ")
    no gap changed more than by chance; every finding is as before
    """
    rows = found.labelers
    for row in found.whole.to_dict("records"):
        gaps = [signed(row[f"gap_{when}"], ascii_only=ascii_only) for when in ("before", "after")]
        moved = " to ".join(dict.fromkeys([str(row["finding_before"]), str(row["finding_after"])]))
        yield f"all labels together, {row['group']}: gap {gaps[0]} before, {gaps[1]} after; {moved}"
    if found.same_tables:
        yield "both checks read the same tables: what differs comes from the settings"
    elif not found.tested:
        yield "the checks use different estimators: a difference is not a change of a labeler"
    elif n := int(rows["changed"].sum()):
        yield f"{count(n, 'gap')} changed more than by chance"
    else:
        yield "no gap changed more than by chance"
    both = rows["finding_before"].notna() & rows["finding_after"].notna()
    moved_rows = rows[both & (rows["finding_before"] != rows["finding_after"])]
    if len(moved_rows):
        yield f"{count(len(moved_rows), 'finding')} {_is(len(moved_rows))} not as before"
    else:
        yield "every finding is as before"
    for side, word in (
        ("before", "only in the first check"),
        ("after", "only in the second check"),
    ):
        other = "after" if side == "before" else "before"
        n = int((rows[f"finding_{side}"].notna() & rows[f"finding_{other}"].isna()).sum())
        if n:
            yield f"{count(n, 'comparison')} {_is(n)} {word}"


def compare_page(found: SideBySide, *, title: str = "Two checks side by side") -> str:
    """Return two checks side by side as the text of one HTML file."""
    rows = with_sides(found.labelers)
    shown = rows.head(MOST_ROWS)
    limit = limit_of(found.after)
    ends = shown[[f"{name}_{when}" for name in ("gap", "ci_low", "ci_high") for when in _WHEN]]
    axis = Axis.over(ends.to_numpy(dtype=float).ravel().tolist(), limit, room=0.03)
    moves = found.moves()
    order = [each for each in (*SEVERITY, "not there") if each in {*moves.index, *moves.columns}]
    main = fill(
        "compare.html",
        title=title,
        said=list(change_sentences(found)),
        facts=both_facts(found),
        settings=found.settings,
        order=order,
        moves=moves.reindex(index=order, columns=order, fill_value=0).to_numpy().tolist(),
        rows=[_row(row, axis) for row in each(shown)],
        zone=(axis.percent(-limit), f"{100 * 2 * limit / (axis.end - axis.begin):.2f}%"),
        zero=axis.percent(0),
        height=_HEIGHT,
        limit=f"{limit:g}",
        tested=found.tested,
        rest=len(rows) - len(shown),
    )
    return whole_page(title, main)


def _row(row: Any, axis: Axis) -> dict[str, Any]:
    values = row._asdict()
    return {
        "labeler": row.labeler,
        "side": row.side,
        "looks": [
            {
                "finding": values[f"finding_{when}"] if _known(values[f"finding_{when}"]) else None,
                "gap": signed(values[f"gap_{when}"]),
                "interval": interval(values[f"ci_low_{when}"], values[f"ci_high_{when}"]),
                "drawing": _drawn(values, when, axis),
            }
            for when in _WHEN
        ],
        "change": signed(row.change) if math.isfinite(row.change) else "",
        "p": p_value(row.change_p) if math.isfinite(row.change_p) else "",
        "changed": bool(row.changed),
    }


def _known(value: Any) -> bool:
    return not pd.isna(value)


def _drawn(values: dict[str, Any], when: str, axis: Axis) -> Html:
    if not _known(values[f"finding_{when}"]):
        return Html()
    gap, low, high = (float(values[f"{name}_{when}"]) for name in ("gap", "ci_low", "ci_high"))
    middle = _HEIGHT / 4 if when == "before" else 3 * _HEIGHT / 4
    return Interval(gap, low, high, str(values[f"finding_{when}"])).svg(axis, middle)


def _size(number: int | None, what: str) -> str:
    return _UNKNOWN if number is None else count(number, what)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
