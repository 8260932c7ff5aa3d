"""Data Docs: the rule in a sentence, the labelers in a table, intervals as bars.

Great Expectations escapes the parameters of a text but neither its template nor a plain table cell.
Every value from the data therefore is a parameter here, and templates are written in this file. The
page loads its style sheets from the network; the bars bring their own styles and need none of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from great_expectations.core import ExpectationValidationResult
from great_expectations.expectations.expectation import render_suite_parameter_string
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.render.components import (
    CollapseContent,
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
    RenderedTableContent,
)
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import (
    RendererConfiguration,
    RendererValueType,
)

from mdba_checks.assessment import Assessment
from mdba_checks.findings import BIASED, INCONCLUSIVE, SEVERITY
from mdba_checks.metrics import METRICS
from mdba_checks.report import (
    COLOURS,
    WHOLE,
    Axis,
    Interval,
    crowd_sentences,
    interval,
    look_first_sentence,
    percent,
    signed,
    whole_sentences,
)
from mdba_checks.verdict import About

# More rows than this make a page that nobody reads; all of them are in the stored result.
MAX_ROWS = 50

_WHO: dict[About, str] = {
    "labeler": "For every labeler",
    "cohort": "For the labels of every $cohort_column together",
    "whole": "For all labels together",
}
_RULE = ", the $rate for each $group_column must be within $max_gap of that for $reference."
_METHOD = (
    "\nLabelers in $labeler_column, labels in $label_column, gold from $gold. Decided with "
    "$estimator at $confidence confidence ($correction); more than $max_undecided undecided "
    "$undecided."
)
_UNDECIDED = {
    "pass": "passes",
    "annotate": "passes with a note",
    "quarantine": "fails",
    "block": "fails",
}
_CORRECTIONS = {
    "auto": "corrected for many labelers",
    "holm": "Holm's correction",
    "bh": "Benjamini-Hochberg correction",
    "none": "no correction for many labelers",
}


def text(template: str, **params: str) -> RenderedStringTemplateContent:
    """Return a text whose parameters are escaped by Great Expectations."""
    return RenderedStringTemplateContent(
        content_block_type="string_template",
        string_template={"template": template, "params": dict(params)},
    )


def _unbroken(template: str, **params: str) -> RenderedStringTemplateContent:
    content = text(template, **params)
    content.string_template["styling"] = {"styles": {"white-space": "nowrap"}}
    return content


def rule_params(arguments: Mapping[str, Any], metric: str) -> dict[str, str]:
    """Return what the sentences about a rule say, each as text.

    Examples
    --------
    >>> said = rule_params({"max_gap": 0.1, "reference_group": 0}, "tpr")
    >>> said["max_gap"], said["reference"], said["rate"]
    ('±0.1', '0', 'true positive rate')
    """
    reference = arguments.get("reference_group")
    confidence = arguments.get("confidence")
    undecided = arguments.get("on_inconclusive") or arguments.get("mode") or "block"
    correction = arguments.get("correction")
    return {
        "rate": METRICS[metric].title,
        "cohort_column": _name(arguments.get("cohort_column")),
        "group_column": _name(arguments.get("group_column")),
        "max_gap": _number(arguments.get("max_gap"), "±{:g}"),
        "reference": "everyone else" if reference is None else _name(reference),
        "labeler_column": _name(arguments.get("labeler_column")),
        "label_column": _name(arguments.get("label_column")),
        "gold": _name(arguments.get("gold")),
        "estimator": _name(arguments.get("estimator")),
        "confidence": _number(confidence, "{:.0%}"),
        "correction": _CORRECTIONS.get(str(correction), _name(correction)),
        "max_undecided": _number(arguments.get("max_undecided"), "{:.0%}"),
        "undecided": _UNDECIDED.get(str(undecided), _name(undecided)),
    }


def _number(value: Any, form: str) -> str:
    return form.format(value) if isinstance(value, (int, float)) else _name(value)


def _name(value: Any) -> str:
    """Return a value as it reads in a sentence; a reference by its parts."""
    if isinstance(value, Mapping):
        if "$PARAMETER" in value:
            return f"the parameter {value['$PARAMETER']}"
        return " / ".join(str(part) for part in value.values())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "–" if value is None else str(value)


# --- The table -----------------------------------------------------------------------------------


def labeler_table(
    gaps: Sequence[Mapping[str, Any]], max_gap: float, who: str = "Labeler"
) -> RenderedTableContent:
    """Return the labelers, those to look at first on top, with gap, interval, finding and bar."""
    ranked = sorted(gaps, key=_rank)
    shown = ranked[:MAX_ROWS]
    numbers = [row[key] for row in shown for key in ("gap", "ci_low", "ci_high")]
    axis = Axis.over(numbers, max_gap)
    rows = [
        [
            text("$name", name=str(row["labeler"])),
            _rates(row),
            _unbroken("$gap", gap=signed(row["gap"], 3)),
            _unbroken("$interval", interval=interval(row["ci_low"], row["ci_high"], 3)),
            text(Interval.of(row).spans(axis)),
            _finding(str(row["finding"]), str(row["reason"])),
        ]
        for row in shown
    ]
    if len(ranked) > MAX_ROWS:
        more = text("$more", more=f"and {len(ranked) - MAX_ROWS} more, in the stored result")
        rows.append([more, *(text("") for _ in range(5))])
    return RenderedTableContent(
        content_block_type="table",
        header_row=[
            who,
            "Rates",
            "Gap",
            "Interval",
            _unbroken("$axis", axis=interval(axis.begin, axis.end)),
            "Finding",
        ],
        table=rows,
        styling={"body": {"classes": ["table-bordered", "table-sm", "mt-3"]}},
    )


def _side(row: Mapping[str, Any]) -> str:
    """Return the group, with its class where every class is compared."""
    return f"{row['group']} ({row['class']})" if row.get("class") else str(row["group"])


def _rates(row: Mapping[str, Any]) -> RenderedStringTemplateContent:
    return text(  # a blank that does not break: the rate stays beside the name
        "$group\u00a0$rate\n$reference\u00a0$other",
        group=_side(row),
        rate=percent(row["rate"]),
        reference=str(row["reference"]),
        other=percent(row["rate_reference"]),
    )


def _finding(finding: str, reason: str) -> RenderedStringTemplateContent:
    # The numbers beside it say why somebody is fair; what somebody does, and why nothing can be
    # said, needs words.
    content = text("$finding\n$reason" if finding in (BIASED, INCONCLUSIVE) else "$finding")
    colour = COLOURS[finding]
    content.string_template.update(
        params={"finding": finding, "reason": reason},
        styling={
            "params": {
                "finding": {"styles": {"color": colour, "font-weight": "bold"}},
                "reason": {"styles": {"display": "inline-block", "min-width": "11em"}},
            }
        },
    )
    return content


def _rank(row: Mapping[str, Any]) -> tuple[float, ...]:
    likely = row.get("p_beyond")
    return SEVERITY.get(row["finding"], 0), -(likely or 0.0), -_size(row["gap"])


def _size(value: float | None) -> float:
    return math.inf if value is None else abs(value)


def in_words(assessment: Assessment, about: About) -> list[str]:
    """Return what is said before all tables: the whole, the crowd, and whom to look at first."""
    said = whole_sentences(assessment)
    if about == "labeler":
        said += [*crowd_sentences(assessment), look_first_sentence(assessment)]
    return [line for line in said if line]


# --- What Great Expectations calls ---------------------------------------------------------------


class GapRenderers:
    """The renderers of the expectations, which Great Expectations finds by their decorators."""

    @classmethod
    def _prescriptive_template(
        cls, renderer_configuration: RendererConfiguration[Any]
    ) -> RendererConfiguration[Any]:
        said = rule_params(renderer_configuration.kwargs, cls.metric)  # type: ignore[attr-defined]
        for name, value in said.items():
            renderer_configuration.add_param(
                name=name, param_type=RendererValueType.STRING, value=value
            )
        about: About = cls.about  # type: ignore[attr-defined]
        renderer_configuration.template_str = _WHO[about] + _RULE + _METHOD.replace("\n", " ")
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    @render_suite_parameter_string
    def _prescriptive_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,
        result: ExpectationValidationResult | None = None,
        runtime_configuration: dict[str, Any] | None = None,
    ) -> list[RenderedStringTemplateContent]:
        if configuration is None and result is not None:
            configuration = result.expectation_config
        arguments = configuration.kwargs if configuration else {}
        said = rule_params(arguments, cls.metric)  # type: ignore[attr-defined]
        condition = arguments.get("row_condition")
        rows = "labels and gold" if arguments.get("filter_gold") is True else "rows"
        only = f" Only {rows} where $condition." if condition else ""
        template = _WHO[cls.about] + _RULE + only + _METHOD  # type: ignore[attr-defined]
        return [
            RenderedStringTemplateContent(
                content_block_type="string_template",
                string_template={
                    "template": template,
                    "params": {**said, "condition": str(condition)},
                    "styling": (runtime_configuration or {}).get("styling", {}),
                },
            )
        ]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)
    def _diagnostic_unexpected_statement_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,  # noqa: ARG003
        result: ExpectationValidationResult | None = None,
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG003
    ) -> list[RenderedStringTemplateContent | CollapseContent]:
        """Say what was found or went wrong; a traceback, which is not escaped, is left out."""
        message = problem_of(result)
        if message:
            return [text("\n$problem", problem=f"Not checked: {message}")]
        said = details_of(result).get("in_words") or []
        return [text("\n$sentence", sentence=f"{line}.") for line in said]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,  # noqa: ARG003
        result: ExpectationValidationResult | None = None,
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG003
    ) -> list[RenderedTableContent | CollapseContent] | None:
        details = details_of(result)
        if not details:
            return None
        limit, overall = details["policy"]["max_gap"], details.get("overall") or []
        whole = [{**row, "labeler": WHOLE} for row in overall]
        cohorts = [{**row, "labeler": row["cohort"]} for row in details.get("cohorts") or []]
        overall_limit = details["policy"].get("max_gap_overall")
        tables = [(whole, limit if overall_limit is None else overall_limit, "Data set")]
        if cls.about != "whole":  # type: ignore[attr-defined]
            tables.append((cohorts, limit, "Cohort"))
        if cls.about == "labeler":  # type: ignore[attr-defined]
            tables.append((details["gaps"], limit, "Labeler"))
        return [labeler_table(rows, most, who) for rows, most, who in tables if rows]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,  # noqa: ARG003
        result: ExpectationValidationResult | None = None,
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG003
    ) -> Any:
        details = details_of(result)
        if not details:
            return "--"
        overall = "; ".join(
            f"{WHOLE}, {row['group']}: {signed(row['gap'], 3)} ({row['finding']})"
            for row in details.get("overall") or []
        )
        verdict = f"verdict: {details['verdict']}"
        if cls.about == "whole":  # type: ignore[attr-defined]
            return text("$overall\n$verdict", overall=overall, verdict=verdict)
        rows = details["cohorts" if cls.about == "cohort" else "gaps"]  # type: ignore[attr-defined]
        worst = min(rows, key=lambda row: -abs(row["gap"] or 0))
        return text(
            "$overall\n$gap ($labeler, $group)\n$verdict",
            overall=overall,
            gap=signed(worst["gap"], 3),
            labeler=str(worst[cls.about]),  # type: ignore[attr-defined]
            group=_side(worst),
            verdict=verdict,
        )


def details_of(result: ExpectationValidationResult | None) -> dict[str, Any]:
    """Return the record of a check from its result; empty where the result holds none."""
    found: dict[str, Any] = ((result.result if result else None) or {}).get("details") or {}
    return found


def problem_of(result: ExpectationValidationResult | None) -> str:
    """Return why an expectation could not be evaluated, or an empty text."""
    told: Mapping[str, Any] = (result.exception_info if result else None) or {}
    if "raised_exception" not in told:  # several, by the metric that raised them
        told = next(iter(told.values()), {})
    return str(told.get("exception_message") or "") if told.get("raised_exception") else ""
