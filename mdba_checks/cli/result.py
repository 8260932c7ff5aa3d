"""What people read after a check: what was read, the labelers, the verdict, what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd
from rich.text import Text

from mdba_checks.assessment import Assessment
from mdba_checks.cli.table import MAX_ROWS, STYLES, labeler_table
from mdba_checks.cli.terminal import Screen
from mdba_checks.errors import listed, quoted
from mdba_checks.findings import BIASED, FAIR, INCONCLUSIVE, by_severity, with_sides
from mdba_checks.report import (
    WHOLE,
    count,
    crowd_sentences,
    look_first_sentence,
    together,
    whole_sentences,
)
from mdba_checks.tables import DataSummary
from mdba_checks.verdict import CONSEQUENCES, Decision, Verdict

EXIT_CODES: dict[Verdict, int] = {
    "pass": 0,
    "annotate": 0,
    "quarantine": 0,
    "block": 1,
    "inconclusive": 3,
}

_VERDICT_STYLES: dict[Verdict, str] = {
    "pass": STYLES[FAIR],
    "annotate": STYLES[INCONCLUSIVE],
    "quarantine": STYLES[INCONCLUSIVE],
    "block": STYLES[BIASED],
    "inconclusive": STYLES[INCONCLUSIVE],
}
_MANY = 6


def show_result(
    screen: Screen,
    assessment: Assessment,
    decision: Decision,
    *,
    every: bool = False,
    truth: Mapping[tuple[str, str], float] | None = None,
    files: Iterable[str] = (),
) -> None:
    """Print a check for people.

    Parameters
    ----------
    screen
        Where to.
    assessment, decision
        What was found and decided.
    every
        Whether to show all rows instead of the first `MAX_ROWS`.
    truth
        The true gap by labeler and group, shown beside the estimate where it is known.
    files
        What to say about the data that was written.
    """
    assessment = assessment.with_policy(decision.policy)
    gaps = by_severity(with_sides(assessment.gaps))
    shown = gaps if every else gaps.head(MAX_ROWS)
    for line in _header(assessment):
        screen.write(line)
    screen.write()
    whole = whole_sentences(assessment, ascii_only=True)
    for line in whole[:_MANY]:
        screen.write(line)
    if len(whole) > _MANY:
        more = count(len(whole) - _MANY, "more comparison")
        screen.write(f"… and {more} of all labels together: --json has them", style="dim")
    of_cohorts = together(assessment)
    of_cohorts = of_cohorts[of_cohorts["labeler"] != WHOLE]
    if len(of_cohorts):
        for row in labeler_table(of_cohorts, screen, limit=decision.policy.max_gap, who="cohort"):
            screen.console.print(row)
    for line in crowd_sentences(assessment, ascii_only=True):
        screen.write(line)
    if assessment.crowd is not None and (first := look_first_sentence(assessment)):
        screen.write(first)
    screen.write()
    for row in labeler_table(shown, screen, limit=decision.policy.max_gap, truth=truth):
        screen.console.print(row)
    if len(shown) < len(gaps):
        screen.write(_hidden(gaps.iloc[len(shown) :]), style="dim")
    screen.write(_legend(screen, assessment), style="dim")
    _write_list(screen, _silent_rows(gaps))
    screen.write()
    screen.console.print(_verdict(decision.verdict))
    _write_list(screen, decision.reasons)
    _write_section(screen, "What leaves the gate", files)
    _write_section(screen, "What to do next", _next_steps(decision.verdict, gaps))
    if assessment.rounds is not None:
        _write_section(screen, "Judging more items", assessment.outlook().sentences)
    _write_section(screen, "Assumptions that need a look", _doubts(assessment))
    _write_section(screen, "About the tables", assessment.messages)


def show_columns(screen: Screen, assessment: Assessment) -> None:
    """Print what became of every column of the tables."""
    columns = assessment.data.columns
    lines = [
        f"{quoted(each.name)} ({each.tables}): {each.role}" + (f", {each.holds}" * bool(each.holds))
        for each in columns
    ]
    _write_section(screen, "Columns", lines)


def _header(assessment: Assessment) -> tuple[str, str]:
    data, config = assessment.data, assessment.config
    reference = _references(assessment.gaps)
    read = (
        f"{count(data.n_labels, 'label')} by {count(data.n_labelers, 'labeler')}, "
        f"{count(data.n_gold, 'gold item')}; {_groups(data)}"
    )
    asked = (
        f"{config.metric} ({assessment.wording.meaning()}) compared with {reference}; "
        f"estimator {config.estimator}, {assessment.confidence:.0%} intervals, "
        f"tolerated ±{config.policy.max_gap:g}"
    )
    return read, asked


def _groups(data: DataSummary) -> str:
    """Return what is compared: the groups, by column where there are several, and the classes."""
    if len(data.attributes) < 2:
        said = f"groups: {listed(data.groups)}"
    else:
        said = "; ".join(f"{name}: {listed(groups)}" for name, groups in data.attributes.items())
    return f"{said}; classes: {listed(data.classes)}" if data.classes else said


def _references(gaps: pd.DataFrame) -> str:
    by_attribute = gaps.drop_duplicates("attribute")[["attribute", "reference"]].to_numpy().tolist()
    if len(by_attribute) < 2:
        return str(by_attribute[0][1]) if by_attribute else "nobody"
    return ", ".join(f"{reference} ({attribute})" for attribute, reference in by_attribute)


def _hidden(rest: pd.DataFrame) -> str:
    counts = rest["finding"].value_counts()
    kinds = ", ".join(f"{counts[each]} {each}" for each in STYLES if each in counts)
    return f"… and {count(len(rest), 'row')} more ({kinds}): --all shows them"


def _legend(screen: Screen, assessment: Assessment) -> str:
    zone, interval = ("├─┼─┤", "━●━") if screen.draws else ("|-+-|", "=o=")
    config = assessment.config
    return (
        f"{interval} gap and {assessment.confidence:.0%} interval   {zone} tolerated "
        f"±{config.policy.max_gap:g}   rates: group / reference"
    )


def _silent_rows(gaps: pd.DataFrame) -> list[str]:
    """Return why nothing could be said, once per reason, for rows that were not even tested."""
    untested = gaps[gaps["p_value"].isna()]
    lines = [
        f"{listed(rows['labeler'])}: {reason}"
        for reason, rows in untested.groupby("reason", sort=False)
    ]
    if len(lines) > _MANY:
        lines[_MANY:] = [f"{len(lines) - _MANY} more reasons of this kind are in --json"]
    return lines


def _verdict(verdict: Verdict) -> Text:
    line = Text("Verdict: ")
    line.append(verdict.upper(), style=_VERDICT_STYLES[verdict])
    return line.append(f" - {CONSEQUENCES[verdict]}")


def _next_steps(verdict: Verdict, gaps: pd.DataFrame) -> list[str]:
    biased = list(dict.fromkeys(gaps.loc[gaps["finding"] == BIASED, "labeler"]))
    open_ = list(dict.fromkeys(gaps.loc[gaps["finding"] == INCONCLUSIVE, "labeler"]))
    who = listed(biased)
    steps = {
        "pass": ["Keep the record beside the data: --json FILE."],
        "annotate": ["Train on mdba_p_positive instead of the label, or weigh by mdba_finding."],
        "quarantine": [
            f"Train on what stays, and have the items of {listed(biased or open_)} labeled again."
        ],
        "block": [
            f"Look at decisions of {who}, with whoever made them: a gap does not say why.",
            "Have the affected items labeled again or leave these rows out; then check again.",
        ],
        "inconclusive": [],
    }[verdict]
    if open_ and verdict != "pass":
        steps.append(_how_to_know_more(gaps, open_))
    if verdict == "inconclusive":
        steps.append(
            "To accept the doubt: --max-undecided, or --on-inconclusive annotate. To tolerate "
            "more: --max-gap."
        )
    return steps


def _doubts(assessment: Assessment) -> list[str]:
    """Return what the assumption checks say about everybody, the serious first."""
    doubts = {
        level: [
            f"{level}: {each.sentence}"
            for each in assessment.diagnostics
            if each.level == level and each.labeler is None and each.group is None
        ]
        for level in ("serious", "look")
    }
    return doubts["serious"] + doubts["look"]


def _how_to_know_more(gaps: pd.DataFrame, names: list[str]) -> str:
    groups = gaps.drop_duplicates(["attribute", "group"]).sort_values("n_gold", kind="stable")
    now = ", ".join(
        f"{quoted(row.group)} {row.n_gold}" for row in groups.head(_MANY).itertuples(index=False)
    )
    return (
        f"To know more about {listed(names)}: more gold items, drawn as they come (now: {now}), or "
        "labels by them; mdba plan says how many would settle it."
    )


def _write_section(screen: Screen, title: str, lines: Iterable[str]) -> None:
    lines = list(lines)
    if lines:
        screen.write()
        screen.write(title, style="bold")
        _write_list(screen, lines)


def _write_list(screen: Screen, lines: Iterable[str]) -> None:
    for line in lines:
        screen.write(line, bullet="- ")
