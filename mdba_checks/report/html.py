"""The report: one HTML file that explains a verdict to the people it is about.

It loads nothing: style, script and drawing are in the file, and a content security policy makes
browsers refuse everything else, also anything that a labeler's name might try. Read from top to
bottom it answers: what was decided and why, how large the gaps are, who it is about, what would
settle the rest, how far to trust it, what it does not say, and how to get the same numbers again.
"""

from __future__ import annotations

import platform
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from mdba_checks import __version__
from mdba_checks.assessment import Assessment
from mdba_checks.errors import listed, quoted
from mdba_checks.estimation import ESTIMATORS
from mdba_checks.findings import (
    BIASED,
    FAIR,
    INCONCLUSIVE,
    Diagnostic,
    comparisons,
    each,
    with_sides,
)
from mdba_checks.outputs import write_whole
from mdba_checks.report import explanations
from mdba_checks.report.forest import MAX_ROWS, forest
from mdba_checks.report.formatting import sentence
from mdba_checks.report.heatmap import heatmap
from mdba_checks.report.labelers import LEVELS, labelers_section
from mdba_checks.report.markup import Html, asset, fill
from mdba_checks.report.together import cohorts_section, crowd_section, whole_section
from mdba_checks.verdict import CONSEQUENCES, Decision

_PACKAGES = ("numpy", "pandas", "scikit-learn", "xgboost")
_PLAN_ROWS = 30
_BESIDE_HEATMAP = 30  # comparisons that are drawn where a table shows all of them
_SENTENCES = 8
_MOST_COLUMNS = 200
_VERDICT_LOOKS = {
    "pass": FAIR,
    "annotate": INCONCLUSIVE,
    "quarantine": INCONCLUSIVE,
    "block": BIASED,
    "inconclusive": INCONCLUSIVE,
}


def render(
    assessment: Assessment,
    decision: Decision,
    *,
    title: str = "Label bias check",
    made: datetime | None = None,
    history: pd.DataFrame | None = None,
) -> str:
    """Return the report as the text of one HTML file.

    Parameters
    ----------
    assessment, decision
        What was found and decided. Findings are shown under the decision's policy.
    title
        The name of the page.
    made
        When the check was made. Left out unless given, so that the same check gives the same file.
    history
        What `mdba_checks.outputs.trend` found in earlier checks, to be shown with each labeler.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> page = render(assessment, gate(assessment))
    >>> "<h1>Blocked: 1 of 2 labelers treats women and men differently" in page
    True
    """
    judged = assessment.with_policy(decision.policy)
    sections = [
        ("whole", "All labels together", whole_section(judged)),
        ("cohorts", "Cohorts compared", cohorts_section(judged)),
        ("crowd", "The crowd", crowd_section(judged)),
        ("gaps", "The gaps", _gaps(judged)),
        ("labelers", "The labelers", labelers_section(judged, history)),
        ("plan", "What would settle the rest", _plan(judged)),
        ("judging", "Which items to judge next", _judging(judged)),
        ("assumptions", "What this rests on", _assumptions(judged.diagnostics)),
        ("columns", "The columns", _columns(judged)),
        ("reading", "How to read this", _reading(judged)),
        ("record", "How it was made", _record(judged, made)),
    ]
    main = fill(
        "report.html",
        title=title,
        headline=explanations.headline(judged, decision),
        consequence=CONSEQUENCES[decision.verdict],
        look=_VERDICT_LOOKS[decision.verdict],
        counts=explanations.count_labelers(judged.gaps),
        reasons=decision.reasons,
        steps=explanations.next_steps(judged, decision),
        sections=[section for section in sections if section[2]],
    )
    return whole_page(f"{title}: {explanations.VERDICTS[decision.verdict].lower()}", main)


def whole_page(title: str, main: Html) -> str:
    """Return the text of an HTML file that loads nothing and lets nothing be loaded."""
    style, script = asset("style.css"), asset("script.js")
    # A policy that allows the style and the script of the page, and nothing else.
    allowed = [b64encode(sha256(each.encode()).digest()).decode() for each in (style, script)]
    policy = (
        f"default-src 'none'; style-src 'sha256-{allowed[0]}'; script-src 'sha256-{allowed[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = fill(
        "page.html", title=title, main=main, style=style, script=script, security_policy=policy
    )
    return f"{page}\n"


def write_report(
    path: str | Path,
    assessment: Assessment,
    decision: Decision,
    *,
    title: str = "Label bias check",
    made: datetime | None = None,
    history: pd.DataFrame | None = None,
    force: bool = False,
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write the report so that it is there whole or not at all.

    Parameters
    ----------
    path
        Where to; its folder must exist.
    assessment, decision, title, history
        As for `render`.
    made
        When the check was made; now, unless given.
    force
        Whether an existing file may be replaced.
    inputs
        Files and folders that must not be written to, not even with `force`.

    Examples
    --------
    >>> import tempfile
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> target = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(target, assessment, gate(assessment))
    >>> target.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    made = made or datetime.now(UTC)
    page = render(assessment, decision, title=title, made=made, history=history)
    write_whole(path, page, force=force, inputs=inputs)


def fragment(assessment: Assessment, decision: Decision) -> str:
    """Return the headline and the plot as a piece of HTML, for notebooks and artifacts."""
    judged = assessment.with_policy(decision.policy)
    rows = min(len(judged.gaps), 25)
    # Drawings of different checks can stand on one page, and ids must not meet.
    prefix = "forest-" + sha256(str(judged.gaps.to_dict("records")).encode()).hexdigest()[:12]
    return fill(
        "fragment.html",
        headline=explanations.headline(judged, decision),
        forest=forest(judged.gaps, max_gap=decision.policy.max_gap, max_rows=rows, prefix=prefix),
        drawn=rows,
        n=len(judged.gaps),
    )


def _gaps(judged: Assessment) -> Html:
    gaps, policy = judged.gaps, judged.config.policy
    if gaps.empty:
        return Html()
    table = heatmap(gaps, max_gap=policy.max_gap)
    most = _BESIDE_HEATMAP if table else MAX_ROWS
    return fill(
        "gaps.html",
        rate=(judged.wording.title, judged.wording.question()),
        confidence=f"{judged.confidence:.0%}",
        limit=f"{policy.max_gap:g}",
        heatmap=table,
        forest=forest(gaps, max_gap=policy.max_gap, max_rows=most),
        drawn=min(len(gaps), most),
        n=len(gaps),
        findings=explanations.findings(policy),
        untested=gaps["p_value"].isna().any(),
    )


def _plan(judged: Assessment) -> Html:
    gaps = judged.gaps
    if not (gaps["finding"] == INCONCLUSIVE).any():
        return Html("")
    plan = judged.plan()
    pairs = comparisons(gaps)
    several = len(pairs) > 1
    one = ("the group", "the reference") if several else tuple(pairs[["side", "reference"]].iloc[0])
    shown = plan.table.head(_PLAN_ROWS)
    return fill(
        "plan.html",
        summary=plan.summary,
        several=several,
        sides=one,
        rows=[_plan_row(row) for row in each(with_sides(shown))],
        rest=len(plan.table) - len(shown),
    )


def _plan_row(row: Any) -> dict[str, Any]:
    amounts = (row.more_gold_group, row.more_gold_reference, row.more_labels)
    known = not any(pd.isna(each) for each in amounts)
    return {**row._asdict(), "amounts": amounts if known else ()}


def _judging(judged: Assessment) -> Html:
    """Return what more judged items would bring; nothing where no comparison lacks evidence."""
    outlook = judged.outlook()
    return fill("judging.html", outlook=outlook) if outlook.n_open else Html()


def _assumptions(diagnostics: Sequence[Diagnostic]) -> Html:
    found: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        found.setdefault(diagnostic.check, []).append(diagnostic)
    parts = []
    for assumption in explanations.ASSUMPTIONS:
        answers = [each for check in assumption.checks for each in found.pop(check, [])]
        if answers or not assumption.checks:
            parts.append(_assumption(assumption.name, assumption.sentence, answers))
    parts += [
        _assumption(check.replace("_", " ").capitalize(), "", answers)
        for check, answers in found.items()
    ]
    return fill("assumptions.html", assumptions=parts)


def _assumption(name: str, meaning: str, answers: Sequence[Diagnostic]) -> dict[str, Any]:
    # The summary always, single groups and labelers where something is not in order.
    told = [each for each in answers if each.level != "ok" or not (each.labeler or each.group)]
    told.sort(key=lambda each: (each.labeler is not None, -LEVELS.index(each.level)))
    return {
        "name": name,
        "meaning": meaning,
        "level": max((each.level for each in answers), key=LEVELS.index, default=None),
        "answers": [_answer(each) for each in told[:_SENTENCES]],
        "rest": len(told) - _SENTENCES,
    }


def _answer(diagnostic: Diagnostic) -> tuple[str, str | None]:
    """Return what a check says, and its level where that is not the level of all."""
    who, said = [diagnostic.labeler, diagnostic.group], diagnostic.sentence
    if diagnostic.group is not None and diagnostic.group in said:
        who.pop()
    about = ", ".join(quoted(each) for each in who if each is not None)
    # A name keeps its first letter as it is.
    line = f"{about}: {said}." if about else sentence(said)
    summary = diagnostic.labeler is None and diagnostic.group is None
    return line, None if summary else diagnostic.level


def _reading(judged: Assessment) -> Html:
    config = judged.config
    reading = [
        f"The rate that was compared is the {judged.wording.title}: {judged.wording.question()}.",
        "A gap of −0.20 means: 20 of 100 fewer in this group than in the reference.",
        "An interval is the range of gaps that the data do not rule out.",
        f"About {judged.confidence:.0%} of such intervals hold the true gap.",
        _multiplicity(judged),
        ESTIMATORS[config.estimator].description,
    ]
    return fill("reading.html", reading=reading, not_said=explanations.NOT_SAID)


def _multiplicity(judged: Assessment) -> str:
    policy = judged.config.policy
    if policy.decide_on == "estimate":
        return "Findings were decided on the estimates alone, without regard to their uncertainty."
    if policy.correction == "none":
        return (
            "Many labelers were tested without a correction for their number: some of the biased "
            "ones may be so by chance."
        )
    return (
        "Who looks at many labelers finds some that stand out by chance. Biased was therefore "
        f"decided with a correction for their number ({policy.correction}); an interval beyond the "
        "band alone is not enough."
    )


def _columns(judged: Assessment) -> Html:
    """Return what became of the columns of both tables, the first `_MOST_COLUMNS` of them."""
    columns = judged.data.columns
    rest = len(columns) - _MOST_COLUMNS
    return fill("columns.html", columns=columns[:_MOST_COLUMNS], rest=rest) if columns else Html()


def _record(judged: Assessment, made: datetime | None) -> Html:
    data = judged.data
    facts: list[tuple[str, object]] = []
    if made is not None:
        facts.append(("made", made.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")))
    facts += [
        ("labels", f"{data.n_labels:,} rows by {data.n_labelers:,} labelers"),
        ("labels hash", data.labels_hash),
        ("gold", f"{data.n_gold:,} rows"),
        ("gold hash", data.gold_hash),
        ("rows dropped", f"{data.n_dropped:,}"),
        ("groups", listed(map(str, data.groups), most=50)),
        ("features", listed(map(str, data.features), most=50)),
    ]
    settings = _flat(judged.config.model_dump(mode="json"))
    return fill(
        "record.html",
        data=facts,
        messages=judged.messages,
        settings=[(key, _value(value)) for key, value in settings],
        software=[
            ("mdba-checks", __version__),
            ("Python", platform.python_version()),
            *_versions(),
        ],
    )


def _versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:  # xgboost-cpu may stand in for xgboost
            continue


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _value(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(repr, value))
    return str(value)
