"""Findings beside the truth: what `real_people` and `stress` have in common.

A benchmark assesses many draws of a setting, `judge_draw` puts each finding beside what is true,
`summarize` makes one line per setting of them, and `write` keeps those lines, as CSV and as a
Markdown table, below the command that made them. Only the public names of the library are used, so
that the same file measures earlier and later versions.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import joblib
import numpy as np
import pandas as pd

from mdba_checks import Assessment, CheckConfig, assess

T = TypeVar("T")
RESULTS = Path(__file__).parent / "results"
MAX_GAP = 0.1
EVIDENCE, ASSUMPTION, REFUSED = "evidence", "assumption", "refused"
# A labeler who is exactly at the limit is not beyond it, whatever the last digit says.
_LAST_DIGIT = 1e-9
_TOO_LITTLE = r"the \d+% interval|gold has \d+ items?|has no labels|said "


@dataclass(frozen=True)
class Made:
    """Tables as a check gets them, and what it does not get.

    Attributes
    ----------
    labels, gold
        The two tables.
    right
        The right answer of every row of `labels`, 0 or 1.
    truth
        ``labeler, group, gap``: the gap of the labels in the table; and ``tendency``, the gap of
        the chances that the decisions were drawn from, where they are known.
    """

    labels: pd.DataFrame
    gold: pd.DataFrame
    right: np.ndarray
    truth: pd.DataFrame


@dataclass(frozen=True)
class Draw:
    """One data set, assessed: a row per comparison, and the checks that were serious.

    Attributes
    ----------
    findings
        ``labeler, group, gap, low, high, finding, cause, truth, tendency``.
    serious
        Per check that was serious about anybody, the share of labelers it was serious about.
    """

    findings: pd.DataFrame
    serious: dict[str, float]
    seconds: float


def gaps_in_table(labels: pd.DataFrame, right: np.ndarray, reference: str) -> pd.DataFrame:
    """Return ``labeler, group, gap``: TPR by counting, less that in the reference group.

    Examples
    --------
    >>> labels = pd.DataFrame({"labeler": ["L"] * 4, "group": list("wwmm"), "label": [0, 1, 1, 0]})
    >>> gaps_in_table(labels, np.array([1, 1, 1, 0]), "m").to_numpy().tolist()
    [['L', 'w', -0.5]]
    """
    positive = labels[right == 1]
    rates = positive.pivot_table(index="labeler", columns="group", values="label", aggfunc="mean")
    gaps = rates.drop(columns=reference).sub(rates[reference], axis=0)
    table: pd.DataFrame = gaps.stack().rename("gap").reset_index()
    return table


def judge_draw(made: Made, config: CheckConfig) -> Draw:
    """Assess one draw and put the truth beside every finding.

    Tables that the library refuses are inconclusive, with the cause ``refused``.
    """
    begin = time.perf_counter()
    try:
        assessment = assess(made.labels, made.gold, config)
    except Exception as error:
        if type(error).__name__ != "InputError":
            raise
        return Draw(_refused(made.truth), {}, time.perf_counter() - begin)
    seconds = time.perf_counter() - begin
    truth = made.truth.rename(columns={"gap": "truth"})
    if "tendency" not in truth:
        truth = truth.assign(tendency=np.nan)
    found = _estimates(assessment).merge(truth, on=["labeler", "group"], validate="one_to_one")
    if len(found) != len(assessment.gaps):
        msg = f"the truth is known for {len(found)} of {len(assessment.gaps)} comparisons"
        raise ValueError(msg)
    return Draw(found, _serious(assessment), seconds)


def _refused(truth: pd.DataFrame) -> pd.DataFrame:
    known = truth.rename(columns={"gap": "truth"})
    nothing = dict.fromkeys(("gap", "low", "high"), np.nan)
    tendency = known.get("tendency", pd.Series(np.nan, index=known.index))
    return known.assign(finding="inconclusive", cause=REFUSED, tendency=tendency, **nothing)


def _estimates(assessment: Assessment) -> pd.DataFrame:
    """Return the estimates that are about the labels in the table, and the findings."""
    gaps = assessment.gaps
    about_table = "table_gap" in gaps
    names = (
        ["table_gap", "table_low", "table_high"] if about_table else ["gap", "ci_low", "ci_high"]
    )
    estimates = gaps[["labeler", "group", "finding"]].copy()
    estimates[["gap", "low", "high"]] = gaps[names].to_numpy()
    cause = gaps["cause"] if "cause" in gaps else _cause_of(gaps["reason"])
    open_ones = gaps["finding"] == "inconclusive"
    return estimates.assign(cause=cause.where(open_ones, ""))


def _cause_of(reason: pd.Series) -> pd.Series:
    """Return the cause by the reason's text, for versions without a column for it."""
    return reason.str.match(_TOO_LITTLE).map({True: EVIDENCE, False: ASSUMPTION})


def _serious(assessment: Assessment) -> dict[str, float]:
    """Return the share of labelers about whom each check is serious; all, if it names nobody."""
    everybody = assessment.gaps["labeler"].nunique()
    named: dict[str, set[str]] = {}
    for record in assessment.diagnostics:
        if record.level == "serious":
            who = named.setdefault(record.check, set())
            if record.labeler is not None:
                who.add(record.labeler)
    return {check: len(who) / everybody if who else 1.0 for check, who in named.items()}


def summarize(draws: Sequence[Draw]) -> dict[str, Any]:
    """Return the figures of one setting over all its draws.

    ``wrong`` is the share of settled findings that contradict the labels in the table, ``rightly``
    the share of all findings that are settled and do not, and ``wrong_tendency`` the share of
    settled ones that contradict the chances the labels were drawn from; ``serious``
    says per check in which share of draws it fired, and for which share of labelers on average.
    """
    found = pd.concat([draw.findings for draw in draws], ignore_index=True)
    finding, cause = found["finding"], found["cause"]
    settled = finding != "inconclusive"
    biased, fair = finding == "biased", finding == "fair"
    within = found["truth"].abs() <= MAX_GAP + _LAST_DIGIT
    estimated = found.dropna(subset=["gap", "low", "high", "truth"])
    covered = estimated["truth"].between(estimated["low"], estimated["high"])
    wrongly_biased, wrongly_fair = biased & within, fair & ~within & found["truth"].notna()
    n_settled = int(settled.sum())
    wrong = int(wrongly_biased.sum() + wrongly_fair.sum())
    return {
        "draws": len(draws),
        "findings": len(found),
        "mae": (estimated["gap"] - estimated["truth"]).abs().mean(),
        "bias": (estimated["gap"] - estimated["truth"]).mean(),
        "coverage": covered.mean() if len(estimated) else np.nan,
        "width": (estimated["high"] - estimated["low"]).mean(),
        "settled": settled.mean(),
        "rightly": (n_settled - wrong) / len(found),
        "biased": biased.mean(),
        "fair": fair.mean(),
        "wrongly_biased": int(wrongly_biased.sum()),
        "wrongly_fair": int(wrongly_fair.sum()),
        "wrong": wrong / n_settled if n_settled else np.nan,
        "wrong_tendency": _wrong_tendency(found[settled]),
        # Of the comparisons whose labels are beyond the limit: those that were called biased.
        "caught": biased[~within].mean(),
        "evidence": (cause == EVIDENCE).mean(),
        "assumption": (cause == ASSUMPTION).mean(),
        "refused": (cause == REFUSED).mean(),
        "serious": _fired(draws),
        "seconds": float(np.median([draw.seconds for draw in draws])),
    }


def _wrong_tendency(settled: pd.DataFrame) -> float:
    if settled.empty or settled["tendency"].isna().any():
        return float("nan")
    within = settled["tendency"].abs() <= MAX_GAP + _LAST_DIGIT
    wrong = ((settled["finding"] == "biased") & within) | ((settled["finding"] == "fair") & ~within)
    return float(wrong.mean())


def _fired(draws: Sequence[Draw]) -> str:
    checks = sorted({check for draw in draws for check in draw.serious})
    parts = []
    for check in checks:
        shares = [draw.serious.get(check, 0.0) for draw in draws]
        fired = np.mean([share > 0 for share in shares])
        parts.append(f"{check} {fired:.0%} of draws ({np.mean(shares):.0%} of labelers)")
    return "; ".join(parts)


def in_processes(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[T]:
    """Yield `function` of every call, in order, worked on by several processes."""
    tasks = (joblib.delayed(function)(*call) for call in calls)
    yield from joblib.Parallel(n_jobs=jobs, return_as="generator")(tasks)


def records(draws: Sequence[Draw], **setting: str) -> pd.DataFrame:
    """Return every finding of a setting, for looking closer than the summary does."""
    numbered = [draw.findings.assign(draw=number) for number, draw in enumerate(draws)]
    return pd.concat(numbered, ignore_index=True).assign(**setting)


def write(path: Path, module: str, rows: Sequence[dict[str, Any]], shown: dict[str, str]) -> None:
    """Write lines as CSV, and some columns as a Markdown table, below the command.

    `shown` maps columns to the format of the Markdown table: ``{"mae": ".3f"}``.
    """
    command = shlex.join(["python", "-m", module, *sys.argv[1:]])
    path.parent.mkdir(parents=True, exist_ok=True)
    text = pd.DataFrame(rows).to_csv(index=False, float_format="%.4f")
    path.write_text(f"# {command}\n{text}", encoding="utf-8")
    page = f"Made by `{command}`.\n\n{markdown(rows, shown)}\n"
    path.with_suffix(".md").write_text(page, encoding="utf-8")


def markdown(rows: Sequence[dict[str, Any]], shown: dict[str, str]) -> str:
    """Return some columns of the lines as a Markdown table.

    Examples
    --------
    >>> print(markdown([{"shape": "xor", "mae": 0.0312}], {"shape": "", "mae": ".3f"}))
    | shape | mae |
    | --- | --- |
    | xor | 0.031 |
    """
    lines = [list(shown), ["---"] * len(shown)]
    lines += [[_cell(row.get(name), how) for name, how in shown.items()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object, how: str) -> str:
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    return "–" if missing else format(value, how)
