"""What people see of a check in Prefect: pages in markdown and tables, made without a server.

Every function here takes results and returns text or rows; publishing them is the business of
`mdba_checks.prefect`. Names of labelers, groups and files can hold anything, so whatever comes from
outside passes `plain` on its way into markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import pandas as pd

from mdba_checks.assessment import Assessment
from mdba_checks.config import CheckConfig
from mdba_checks.errors import MissingExtraError, visible
from mdba_checks.findings import INCONCLUSIVE, WHOLE, by_severity, with_sides
from mdba_checks.report.explanations import headline, next_steps
from mdba_checks.report.formatting import interval, percent, sentence, signed
from mdba_checks.report.interval import Axis, Interval
from mdba_checks.report.plots import png_data_uri
from mdba_checks.report.together import crowd_sentences, together, whole_sentences
from mdba_checks.verdict import CONSEQUENCES, Decision

MOST_ROWS = 10_000  # of a table: a browser shows that many without trouble
_ROWS_ON_PAGE = 15
_PLOT_ROWS = 30
_BAR = 25  # characters
_BY_A_PERSON = {"release": "Released", "quarantine": "Quarantined", "block": "Blocked"}
# What means something in markdown: markup anywhere, addresses that become links by themselves, and
# what makes a list, a heading or a rule at the beginning of a line.
_MEANS_SOMETHING = re.compile(r"[\\`*_{}\[\]()|~!@#]|:(?=//)|(?<=www)\.|^[-+=]|(?<=^\d)[.)]")


def plain(value: object) -> str:
    r"""Return text that markdown shows as it is: no markup, no link, no image, one line.

    Examples
    --------
    >>> print(plain("<b>Ann|Bob</b>"))
    &lt;b&gt;Ann\|Bob&lt;/b&gt;
    """
    return _MEANS_SOMETHING.sub(r"\\\g<0>", escape(visible(value, keep_joiners=True), quote=False))


def artifact_key(kind: str, source: str) -> str:
    """Return a key for an artifact: lowercase letters, digits and dashes, as Prefect wants it.

    The same data set has the same key in every run, so that Prefect shows its artifacts as versions
    of one thing.

    Examples
    --------
    >>> artifact_key("verdict", "data/Labels_2026.csv")
    'mdba-verdict-labels-2026'
    >>> artifact_key("verdict", "postgresql://host/db::labels")
    'mdba-verdict-labels'
    """
    name = re.split(r"[/\\]|::", source.rstrip("/\\"))[-1].lower()
    name = re.sub(r"\.(csv|csv\.gz|parquet)$", "", name)
    slug = re.sub(r"[^a-z0-9]+", "-", name).strip("-")
    return "-".join(filter(None, ("mdba", kind, slug)))


def verdict_page(
    assessment: Assessment,
    decision: Decision,
    *,
    source: str = "",
    waiting: str = "",
    approval: Mapping[str, Any] | None = None,
    outputs: Mapping[str, str] | None = None,
    plot: bool = True,
) -> str:
    """Return the verdict in markdown: the sentence, the reasons, the plot and what it rests on.

    Parameters
    ----------
    assessment, decision
        What was found and decided.
    source
        What was checked, by a name that is safe to show.
    waiting
        How long a person can still decide, such as "24 hours".
    approval
        What a person decided: ``decision``, ``name``, ``reason``, ``decided_at``.
    outputs
        Files that were written, by what they are.
    plot
        Whether the plot is drawn; without it, as where images inside a page are not shown, the
        table has bars made of letters.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> print(verdict_page(assessment, gate(assessment)).splitlines()[0])
    # Blocked: 1 of 2 labelers treats women and men differently by more than 10 percentage points.
    """
    assessment = assessment.with_policy(decision.policy)
    title = headline(assessment, decision)
    below = plain(sentence(CONSEQUENCES[decision.verdict]))
    if approval:
        title = f"{_BY_A_PERSON[approval['decision']]} by a person. {title}"
        below = approval_section(approval)
    parts = [f"# {plain(title)}", below]
    parts.append(_list(decision.reasons))
    if waiting:
        parts.append(
            f"**A person can decide, for {plain(waiting)} from now**: resume this run and choose "
            "release, quarantine or block. Without a decision by then, the labels are blocked."
        )
    about_all = [*whole_sentences(assessment), *crowd_sentences(assessment)]
    drawn = _plot(assessment) if plot else ""
    parts += [
        "\n".join(f"**{plain(each)}**  " for each in about_all),
        _cohorts(assessment),
        drawn,
        _worst(assessment, bars=not drawn),
        "## What to do next",
        _list(next_steps(assessment, decision)),
        "## What was checked",
        _facts(assessment, source, outputs or {}),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def question(source: str, verdict: str, reasons: Iterable[str]) -> str:
    """Return what a person is asked about labels that were stopped, in markdown.

    Examples
    --------
    >>> print(question("labels.csv", "block", ["1 labeler is biased"]))
    **labels.csv** was stopped: block
    <BLANKLINE>
    - 1 labeler is biased
    """
    return f"**{plain(source)}** was stopped: {plain(verdict)}\n\n{_list(reasons)}"


def approval_section(approval: Mapping[str, Any]) -> str:
    """Return what a person decided, in markdown.

    Examples
    --------
    >>> print(approval_section({"decision": "release", "name": "Ann", "reason": "small"}))
    ## Decided by a person
    <BLANKLINE>
    **release**, by Ann: small
    <BLANKLINE>
    Name and reason are what was typed; Prefect does not check who typed it.
    """
    when = f" \\({plain(approval['decided_at'])}\\)" if approval.get("decided_at") else ""
    note = "Name and reason are what was typed; Prefect does not check who typed it."
    return (
        "## Decided by a person\n\n"
        f"**{plain(approval['decision'])}**, by {plain(approval['name'])}: "
        f"{plain(approval['reason'])}{when}\n\n{plain(note)}"
    )


def labeler_rows(assessment: Assessment, decision: Decision) -> list[dict[str, Any]]:
    """Return the labelers as rows of a table artifact, the worst first, at most `MOST_ROWS`.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> row = labeler_rows(assessment, gate(assessment))[0]
    >>> row["labeler"], row["group"], row["finding"]
    ('L1', 'women', 'biased')
    """
    gaps = by_severity(with_sides(assessment.with_policy(decision.policy).gaps)).head(MOST_ROWS)
    rows: list[Any] = list(gaps.itertuples(index=False))
    return [
        {
            "labeler": visible(row.labeler, keep_joiners=True),
            "group": visible(row.side),
            "compared with": visible(row.reference),
            "finding": row.finding,
            "gap": signed(row.gap, 3),
            "interval": interval(row.ci_low, row.ci_high),
            "rate": percent(row.rate),
            "rate compared": percent(row.rate_reference),
            "labels": int(row.n_labels),
            "reason": visible(row.reason),
        }
        for row in rows
    ]


def plan_page(assessment: Assessment) -> str:
    """Return what would settle the open cases, in markdown; nothing where nothing is open.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, gold_per_group=40, seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> print(plan_page(assessment).splitlines()[0])
    # What would settle the open cases
    """
    gaps = assessment.gaps
    if not (gaps["finding"] == INCONCLUSIVE).any():
        return ""
    plan = assessment.plan()
    shown = with_sides(plan.table).head(_ROWS_ON_PAGE)
    single = [f"{row.labeler}, {row.side}: {row.sentence}" for row in shown.itertuples()]
    rest = len(plan.table) - len(shown)
    outlook = assessment.outlook()
    summary = [*plan.summary, *(outlook.sentences[1:] if outlook.n_open else ())]
    parts = ["# What would settle the open cases", _list(summary)]
    parts += ["## One by one", _list(single)] if single else []
    parts += [f"{rest:,} more are open."] if rest > 0 else []
    return "\n\n".join(parts) + "\n"


def training_page(
    rates: Iterable[Mapping[str, Any]],
    gaps: Iterable[Mapping[str, Any]] = (),
    *,
    source: str,
    target: str,
    model: str = "",
) -> str:
    """Return what became of training, in markdown: the model's rates and gaps by group on gold.

    Examples
    --------
    >>> rates = [{"group": "men", "tpr": 0.9, "fpr": 0.1, "n_gold": 50}]
    >>> print(training_page(rates, source="released.parquet", target="corrected").splitlines()[-1])
    | men | 90% | 10% | 50 |
    """
    rows = [
        f"| {plain(row['group'])} | {percent(row['tpr'])} | {percent(row['fpr'])} | "
        f"{row['n_gold']} |"
        for row in rates
    ]
    compared = [
        f"| {plain(row['group'])} | {plain(row['reference'])} | {signed(row['gap'])} | "
        f"{interval(row['ci_low'], row['ci_high'])} | {plain(row['finding'])} |"
        for row in gaps
    ]
    told = f" The model is in {plain(model)}." if model else ""
    page = [
        f"# A model trained on {plain(source)}",
        "",
        f"Target: {plain(target)} labels.{told} Judged on the gold items, by group:",
        "",
        "| group | true positive rate | false positive rate | gold items |",
        "| --- | --- | --- | --- |",
        *rows,
    ]
    if compared:
        head = ["| group | compared with | gap | interval | finding |", "| --- " * 5 + "|"]
        page += ["", "The model's own gap, by the metric and the policy of the check:", ""]
        page += [*head, *compared]
    return "\n".join(page)


def model_sentence(gap: Mapping[str, Any], config: CheckConfig) -> str:
    """Return the gap of a model in words.

    Examples
    --------
    >>> gap = {"group": "women", "reference": "men", "finding": "fair", "gap": -0.02}
    >>> print(model_sentence({**gap, "ci_low": -0.06, "ci_high": 0.02}, CheckConfig()))
    the model: tpr of women compared with men: gap −0.02, 90% interval −0.06 to +0.02; fair at ±0.1.
    """
    return (
        f"the model: {config.metric} of {gap['group']} compared with {gap['reference']}: gap "
        f"{signed(gap['gap'])}, {config.confidence:.0%} interval "
        f"{interval(gap['ci_low'], gap['ci_high'])}; {gap['finding']} at "
        f"±{config.policy.max_gap:g}."
    )


def _plot(assessment: Assessment) -> str:
    if assessment.gaps.empty:
        return ""
    try:
        image = png_data_uri(assessment.plot.gaps(max_rows=_PLOT_ROWS), dpi=90)
    except MissingExtraError:  # no matplotlib here; the table has bars
        return ""
    return f"![Gaps of the labelers; the numbers are in the table]({image})"


def _cohorts(assessment: Assessment) -> str:
    if assessment.cohorts is None or assessment.cohorts.empty:
        return ""
    rows = together(assessment)
    return _table_of(rows[rows["labeler"] != WHOLE], assessment, bars=True, who="cohort")


def _worst(assessment: Assessment, *, bars: bool) -> str:
    """Return the worst rows as a table, with bars made of letters where there is no plot."""
    gaps = by_severity(assessment.gaps)
    if gaps.empty:
        return ""
    table = _table_of(gaps.head(_ROWS_ON_PAGE), assessment, bars=bars)
    rest = len(gaps) - _ROWS_ON_PAGE
    return f"{table}\n\n{rest:,} more are in the table of labelers." if rest > 0 else table


def _table_of(
    gaps: pd.DataFrame, assessment: Assessment, *, bars: bool, who: str = "labeler"
) -> str:
    limit = assessment.config.policy.max_gap
    axis = Axis.of(gaps, limit)
    heading = [who, "group", "gap", f"{assessment.confidence:.0%} interval", "finding"]
    shown: list[Any] = list((gaps if "side" in gaps else with_sides(gaps)).itertuples(index=False))
    rows = [
        [
            plain(row.labeler),
            plain(row.side),
            signed(row.gap),
            interval(row.ci_low, row.ci_high),
            row.finding,
            f"`{Interval.of(row).text(axis, _BAR)}`",
        ]
        for row in shown
    ]
    cells: list[list[str]] = [[*heading, f"tolerated: ±{limit:g}"], ["---"] * 6, *rows]
    return "\n".join(f"| {' | '.join(each if bars else each[:-1])} |" for each in cells)


def _facts(assessment: Assessment, source: str, outputs: Mapping[str, str]) -> str:
    from mdba_checks import __version__

    data, config = assessment.data, assessment.config
    policy = config.policy.resolved()
    facts = {
        "labels": f"{source}: {data.n_labels:,} rows by {data.n_labelers:,} labelers"
        if source
        else f"{data.n_labels:,} rows by {data.n_labelers:,} labelers",
        "gold": f"{data.n_gold:,} items",
        "rate compared": config.metric,
        "estimator": config.estimator,
        "tolerated gap": f"±{config.policy.max_gap:g}",
        "policy": ", ".join(
            f"{name} {getattr(policy, name)}"
            for name in ("mode", "max_undecided", "on_inconclusive")
        ),
        "content hash of labels": data.labels_hash,
        "content hash of gold": data.gold_hash,
        "version": f"mdba-checks {__version__}",
        **outputs,
    }
    rows = [f"| {plain(name)} | {plain(value)} |" for name, value in facts.items()]
    notes = _list(assessment.messages)
    return "\n".join(["| what | value |", "| --- | --- |", *rows]) + (
        f"\n\n{notes}" if notes else ""
    )


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines)
