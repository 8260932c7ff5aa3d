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
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from mdba_checks import __version__
from mdba_checks.assessment import Assessment
from mdba_checks.estimation import ESTIMATORS
from mdba_checks.findings import BIASED, FAIR, INCONCLUSIVE, SEVERITY, Diagnostic
from mdba_checks.outputs import write_whole
from mdba_checks.report import explanations
from mdba_checks.report.forest import MAX_ROWS, forest
from mdba_checks.report.formatting import listed, sentence
from mdba_checks.report.labelers import LEVELS, badge, labelers_section
from mdba_checks.report.markup import Html, join, tag
from mdba_checks.report.together import together_section
from mdba_checks.verdict import CONSEQUENCES, Decision

_PACKAGES = ("numpy", "pandas", "scikit-learn", "xgboost")
_PLAN_ROWS = 30
_SENTENCES = 8
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
        ("whole", "All labels together", together_section(judged)),
        ("gaps", "The gaps", _gaps(judged)),
        ("labelers", "The labelers", labelers_section(judged, history)),
        ("plan", "What would settle the rest", _plan(judged)),
        ("judging", "Which items to judge next", _judging(judged)),
        ("assumptions", "What this rests on", _assumptions(judged.diagnostics)),
        ("reading", "How to read this", _reading(judged)),
        ("record", "How it was made", _record(judged, made)),
    ]
    shown = [(key, name, content) for key, name, content in sections if content]
    links = [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in shown]
    main = tag(
        "main",
        _verdict(judged, decision, title),
        tag("nav", tag("ul", *links), aria_label="Sections", class_="no-print"),
        *(
            tag("section", tag("h2", name, id=f"{key}-title"), content, id=key)
            for key, name, content in shown
        ),
    )
    return whole_page(f"{title}: {explanations.VERDICTS[decision.verdict].lower()}", main)


def whole_page(title: str, main: Html) -> str:
    """Return the text of an HTML file that loads nothing and lets nothing be loaded."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_security_policy()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", _asset("style.css")),
        tag("script", _asset("script.js")),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', main), lang='en')}\n"


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
    note = (
        f"The worst {rows} of {len(judged.gaps):,} comparisons. " if rows < len(judged.gaps) else ""
    )
    # Drawings of different checks can stand on one page, and ids must not meet.
    prefix = "forest-" + sha256(str(judged.gaps.to_dict("records")).encode()).hexdigest()[:12]
    return tag(
        "div",
        tag("p", tag("strong", explanations.headline(judged, decision))),
        forest(judged.gaps, max_gap=decision.policy.max_gap, max_rows=rows, prefix=prefix),
        tag("p", note, "The numbers: ", tag("code", ".gaps"), "; the report: ",
            tag("code", ".to_html()")),
    )  # fmt: skip


@cache
def _asset(name: str) -> Html:
    return Html(files("mdba_checks.report").joinpath(name).read_text(encoding="utf-8"))


@cache
def _security_policy() -> str:
    """Return a policy that allows the style and the script of the page, and nothing else."""
    style, script = (
        b64encode(sha256(_asset(name).encode()).digest()).decode()
        for name in ("style.css", "script.js")
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _verdict(judged: Assessment, decision: Decision, title: str) -> Html:
    counts = explanations.count_labelers(judged.gaps)
    tiles = [tag("li", tag("strong", f"{counts[each]:,}"), badge(each)) for each in SEVERITY]
    return tag(
        "header",
        tag("p", title, class_="title"),
        tag("h1", explanations.headline(judged, decision)),
        tag("p", sentence(CONSEQUENCES[decision.verdict]), class_="consequence"),
        tag("ul", *tiles, class_="tiles", aria_label="Labelers by finding"),
        tag("h2", "Why"),
        _list(decision.reasons),
        tag("h2", "What now"),
        _list(explanations.next_steps(judged, decision)),
        class_=f"verdict {_VERDICT_LOOKS[decision.verdict]}",
    )


def _gaps(judged: Assessment) -> Html:
    gaps, policy, config = judged.gaps, judged.config.policy, judged.config
    if gaps.empty:
        return Html("")
    name, explanation = explanations.rate(config)
    drawn = min(len(gaps), MAX_ROWS)
    left_out = f" The worst {drawn} of {len(gaps):,} are drawn." if drawn < len(gaps) else ""
    return join(
        [
            tag(
                "p",
                f"A gap is a labeler's {name} in one group, less that in the reference "
                f"({explanation}). Each line is one labeler: the mark is the estimate, the bar its "
                f"{judged.confidence:.0%} interval, the grey band what is tolerated, "
                f"±{policy.max_gap:g}.{left_out}",
            ),
            forest(gaps, max_gap=policy.max_gap),
            tag(
                "ul",
                *(
                    tag("li", badge(each), f": {meaning}")
                    for each, meaning in explanations.findings(policy).items()
                ),
                class_="legend",
            ),
            tag("p", "What is dashed was not tested; the reason is behind the name in the table.")
            if gaps["p_value"].isna().any()
            else "",
        ]
    )


def _plan(judged: Assessment) -> Html:
    gaps = judged.gaps
    if not (gaps["finding"] == INCONCLUSIVE).any():
        return Html("")
    plan = judged.plan()
    pairs = gaps[["group", "reference"]].drop_duplicates()
    several = len(pairs) > 1
    sides = ("the group", "the reference") if several else tuple(map(str, pairs.iloc[0]))
    headings = [tag("th", name, scope="col") for name in ("Labeler", "Group")[: 1 + several]]
    headings += [
        tag("th", name, scope="col", class_="numeric")
        for name in (*(f"More gold, {side}" for side in sides), "More labels")
    ]
    shown = explanations.each_row(plan.table.head(_PLAN_ROWS))
    rest = len(plan.table) - len(shown)
    return join(
        [
            _list(plan.summary),
            tag(
                "table",
                tag("caption", "What would settle each comparison that is open"),
                tag("thead", tag("tr", *headings)),
                tag("tbody", *(_plan_row(row, several) for row in shown)),
                class_="plan",
            ),
            tag("p", f"{rest:,} more are open.", class_="note") if rest else "",
        ]
    )


def _judging(judged: Assessment) -> Html:
    """Return what more judged items would bring; nothing where no comparison lacks evidence."""
    outlook = judged.outlook()
    if not outlook.n_open:
        return Html("")
    parts = [_list(outlook.sentences)]
    if outlook.helps:
        parts.append(
            tag(
                "p",
                "Not every item is worth the same: ",
                tag("code", "mdba choose LABELS --n 50 --gold GOLD --output to_judge.csv"),
                " draws those whose answers would settle most, with the weights that make up for "
                "the choice. ",
                tag("code", "mdba answers"),
                " reads the answers back.",
            )
        )
    return join(parts)


def _plan_row(row: Any, several: bool) -> Html:
    cells = [tag("th", tag("bdi", row.labeler), scope="row")]
    if several:
        cells.append(tag("td", tag("bdi", row.group)))
    amounts = (row.more_gold_group, row.more_gold_reference, row.more_labels)
    if any(pd.isna(each) for each in amounts):
        cells.append(tag("td", sentence(row.sentence), colspan=len(amounts)))
    else:
        cells += [tag("td", f"{each:,.0f}", class_="numeric") for each in amounts]
    return tag("tr", *cells)


def _assumptions(diagnostics: Sequence[Diagnostic]) -> Html:
    found: dict[str, list[Diagnostic]] = {}
    for each in diagnostics:
        found.setdefault(each.check, []).append(each)
    parts = []
    for assumption in explanations.ASSUMPTIONS:
        answers = [each for check in assumption.checks for each in found.pop(check, [])]
        if answers or not assumption.checks:
            parts.append(_assumption(assumption.name, assumption.sentence, answers))
    for check, answers in found.items():
        name = check.replace("_", " ").capitalize()
        parts.append(_assumption(name, "", answers))
    return join(
        [
            tag(
                "p",
                "The numbers mean what they say as far as these assumptions hold. Where data can "
                "tell, it was asked. “Look” is worth a look; “serious” makes a finding "
                "inconclusive, unless the policy says otherwise.",
            ),
            tag("ul", *parts, class_="assumptions"),
        ]
    )


def _assumption(name: str, meaning: str, answers: Sequence[Diagnostic]) -> Html:
    worst = max((each.level for each in answers), key=LEVELS.index, default=None)
    level = badge(worst) if worst else tag("span", "on trust: no data can show it", class_="badge")
    # The summary always, single groups and labelers where something is not in order.
    told = [each for each in answers if each.level != "ok" or not (each.labeler or each.group)]
    told.sort(key=lambda each: (each.labeler is not None, -LEVELS.index(each.level)))
    lines = [_answer(each) for each in told[:_SENTENCES]]
    if len(told) > _SENTENCES:
        lines.append(tag("li", f"And {len(told) - _SENTENCES:,} more, in the table of labelers."))
    return tag(
        "li",
        tag("h3", name, " ", level),
        tag("p", meaning) if meaning else "",
        tag("ul", *lines) if lines else "",
    )


def _answer(diagnostic: Diagnostic) -> Html:
    who, said = [diagnostic.labeler, diagnostic.group], diagnostic.sentence
    if diagnostic.group is not None and diagnostic.group in said:
        who.pop()
    about = ", ".join(each for each in who if each is not None)
    # A name keeps its first letter as it is.
    line = f"{about}: {said}." if about else sentence(said)
    summary = diagnostic.labeler is None and diagnostic.group is None
    return tag("li", line, "" if summary else join([" ", badge(diagnostic.level)]))


def _reading(judged: Assessment) -> Html:
    config = judged.config
    name, explanation = explanations.rate(config)
    return join(
        [
            _list(
                [
                    f"The rate that was compared is the {name}: {explanation}.",
                    "A gap of −0.20 means: 20 of 100 fewer in this group than in the reference.",
                    "An interval is the range of gaps that the data do not rule out.",
                    f"About {judged.confidence:.0%} of such intervals hold the true gap.",
                    _multiplicity(judged),
                    ESTIMATORS[config.estimator].description,
                ]
            ),
            tag("h3", "What it does not say"),
            _list(explanations.NOT_SAID),
        ]
    )


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


def _record(judged: Assessment, made: datetime | None) -> Html:
    data = judged.data
    facts: list[tuple[str, object]] = []
    if made is not None:
        facts.append(("made", made.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")))
    facts += [
        ("labels", f"{data.n_labels:,} rows by {data.n_labelers:,} labelers"),
        ("labels hash", tag("code", data.labels_hash)),
        ("gold", f"{data.n_gold:,} rows"),
        ("gold hash", tag("code", data.gold_hash)),
        ("rows dropped", f"{data.n_dropped:,}"),
        ("groups", listed(map(str, data.groups), most=50)),
        ("features", listed(map(str, data.features), most=50)),
    ]
    software = [("mdba-checks", __version__), ("Python", platform.python_version()), *_versions()]
    settings = _flat(judged.config.model_dump(mode="json"))
    return join(
        [
            tag("h3", "Data"),
            _facts(facts, "facts-list"),
            join([tag("h3", "About the tables"), _list(judged.messages)])
            if judged.messages
            else "",
            tag("h3", "Settings"),
            _facts((key, tag("code", _value(value))) for key, value in settings),
            tag("h3", "Software"),
            _facts(software),
        ]
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


def _facts(facts: Iterable[tuple[str, object]], look: str = "facts-list columns") -> Html:
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts),
        class_=look,
    )


def _list(sentences: Iterable[str]) -> Html:
    return tag("ul", *(tag("li", sentence(each)) for each in sentences))
