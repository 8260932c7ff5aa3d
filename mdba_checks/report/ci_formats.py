"""A check in the forms that build servers read: annotations of GitHub, and JUnit XML.

Both say what the verdict says. A stopped check never looks green in them, and text from the data
cannot become a command: GitHub's runner obeys every line that begins with two colons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

from mdba_checks.errors import quoted
from mdba_checks.findings import BIASED, INCONCLUSIVE, said_about, with_sides

if TYPE_CHECKING:
    from mdba_checks.assessment import Assessment
    from mdba_checks.verdict import Decision

Level = Literal["error", "warning", "notice"]

# GitHub shows ten annotations of each level per step; the first is kept for the verdict.
MOST_OF_A_LEVEL = 9
_VERDICT_LEVELS: dict[str, Level] = {
    "pass": "notice",
    "annotate": "warning",
    "quarantine": "warning",
    "block": "error",
    "inconclusive": "error",
}
# What XML 1.0 has no way to hold, not even escaped.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def github_annotations(
    assessment: Assessment, decision: Decision, *, file: str | None = None
) -> list[str]:
    """Return a check as workflow commands of GitHub Actions, one per line, the verdict first.

    Parameters
    ----------
    assessment, decision
        What was found and decided. Biased labelers are errors if the verdict stops the data, and
        warnings otherwise; undecided ones are warnings; fair ones are not mentioned.
    file
        The file in the repository that the annotations are about, if there is one.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=2500, n_labelers=2, tprs=[0.4, 0.94], gold_per_group=200, seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> for line in github_annotations(assessment, gate(assessment)):
    ...     print(line.partition("::")[2][:42])
    error title=mdba%3A block::all labels toge
    error title=L1%2C women%3A biased::L1 says
    """
    lines = [
        _command(
            _VERDICT_LEVELS[decision.verdict],
            f"mdba: {decision.verdict}",
            "\n".join(decision.reasons) or "no comparison was possible",
            file,
        )
    ]
    gaps = with_sides(assessment.with_policy(decision.policy).gaps)
    levels: tuple[tuple[str, Level], ...] = (
        (BIASED, "error" if decision.stops else "warning"),
        (INCONCLUSIVE, "warning"),
    )
    for finding, level in levels:
        rows = gaps[gaps["finding"] == finding]
        rows = rows.reindex(rows["gap"].abs().sort_values(ascending=False, kind="stable").index)
        for row in islice(rows.itertuples(index=False), MOST_OF_A_LEVEL):
            about = f"{row.labeler}, {row.side}: {finding}"
            lines.append(_command(level, about, _said(row), file))
    return lines


def _said(row: Any) -> str:
    return said_about(quoted(row.labeler), row._asdict())


def _command(level: Level, title: str, message: str, file: str | None) -> str:
    properties = {"file": file, "title": title} if file else {"title": title}
    spelled = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {spelled}::{_data(message)}"


def _data(text: str | None) -> str:
    escaped = (text or "").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    # Other line ends of Unicode: not for the runner, but for whoever reads the log.
    return re.sub(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", " ", escaped)


def _property(text: str | None) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def junit(assessment: Assessment, decision: Decision) -> str:
    """Return a check as JUnit XML: one test case per labeler and group.

    Biased is a failure. Inconclusive is an error where the labels are stopped because of it, and
    skipped where they are not. If the verdict stops the data and no case says why, a case called
    "verdict" does.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=2500, n_labelers=2, tprs=[0.4, 0.94], gold_per_group=200, seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> junit(assessment, gate(assessment)).count("<testcase ")
    2
    """
    cases = list(_cases(assessment, decision))
    if decision.stops and not any(len(case) for case in cases):
        cases.append(_verdict_case(decision))
    config = assessment.config
    properties = {
        "verdict": decision.verdict,
        "metric": config.metric,
        "estimator": config.estimator,
        "max_gap": f"{decision.policy.max_gap:g}",
        "confidence": f"{config.confidence:g}",
    }
    return junit_file("mdba check", cases, properties, "\n".join(decision.reasons))


def junit_file(
    name: str, cases: Sequence[ET.Element], properties: Mapping[str, str], said: str
) -> str:
    """Return test cases as the text of a JUnit file."""
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    numbers = {key: str(count) for key, count in counts.items()}
    root = ET.Element("testsuites", numbers)
    suite = ET.SubElement(root, "testsuite", {"name": _xml(name), **numbers})
    listed = ET.SubElement(suite, "properties")
    for key, value in properties.items():
        ET.SubElement(listed, "property", {"name": key, "value": _xml(value)})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _xml(said)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _cases(assessment: Assessment, decision: Decision) -> Iterator[ET.Element]:
    stops = decision.verdict == "inconclusive"
    tags = {BIASED: "failure", INCONCLUSIVE: "error" if stops else "skipped"}
    row: Any
    for row in with_sides(assessment.with_policy(decision.policy).gaps).itertuples(index=False):
        case = junit_case(f"{row.labeler}: {row.side} vs {row.reference}", f"mdba.{row.metric}")
        if row.finding in tags:
            junit_outcome(case, tags[row.finding], row.finding, _said(row))
        yield case


def _verdict_case(decision: Decision) -> ET.Element:
    case = junit_case("verdict", "mdba")
    tag = "failure" if decision.verdict == "block" else "error"
    reasons = " ".join(decision.reasons) or "no comparison was possible"
    junit_outcome(case, tag, decision.verdict, reasons)
    return case


def junit_case(name: str, classname: str) -> ET.Element:
    """Return a test case, which passes as long as nothing is added to it."""
    return ET.Element("testcase", {"classname": classname, "name": _xml(name)})


def junit_outcome(case: ET.Element, tag: str, kind: str, message: str) -> None:
    """Add to a test case that it failed, was skipped or could not be run, and why."""
    told = {"message": _xml(message)}
    ET.SubElement(case, tag, told if tag == "skipped" else {**told, "type": kind})


def _xml(text: str) -> str:
    return _NOT_XML.sub("", text)
