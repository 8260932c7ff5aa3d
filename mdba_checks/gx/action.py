"""The action that stops a checkpoint, also where an expectation has disappeared from its suite.

Great Expectations leaves an expectation whose class is not imported out of its suite, writes a line
to the log, and reports success. It does not do so with actions: a checkpoint that names this one
cannot be loaded without this package. And once it runs, it compares what was evaluated with what
the stored suite names, so that nothing gets lost on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from great_expectations.checkpoint.actions import ActionContext, ValidationAction
from great_expectations.checkpoint.checkpoint import CheckpointResult
from great_expectations.core.expectation_validation_result import (
    ExpectationSuiteValidationResult,
    ExpectationValidationResult,
)
from great_expectations.expectations.metadata_types import FailureSeverity

from mdba_checks import __version__
from mdba_checks.errors import CheckError, InputError
from mdba_checks.gx.expectations import LABELER_GAPS
from mdba_checks.gx.gold import path_in
from mdba_checks.gx.rendering import details_of, problem_of
from mdba_checks.outputs import rules_csv, to_json, write_whole

logger = logging.getLogger(__name__)

_NOTE = "label_bias"  # where the annotation is in the `meta` of a validation result


Verdict = Literal["pass", "annotate", "inconclusive", "block", "error"]
# The strictest counts: what could not be checked is not a verdict on anybody.
_STRICTNESS: tuple[Verdict, ...] = ("pass", "annotate", "inconclusive", "block", "error")
_STOPPED: dict[Verdict, str] = {
    "block": "blocked",
    "inconclusive": "undecided",
    "error": "stopped",
}


class LabelerGapError(CheckError):
    """A checkpoint was stopped; `verdict` says why.

    Attributes
    ----------
    verdict
        block: somebody is biased; inconclusive: the evidence does not decide it; error: a check did
        not take place.
    """

    def __init__(self, text: str, verdict: Verdict = "error") -> None:
        super().__init__(text)
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[LabelerGapError], tuple[str, Verdict]]:
        return type(self), (str(self), self.verdict)


@dataclass(frozen=True)
class Finding:
    """What one expectation about labelers came to."""

    expectation: str
    severity: FailureSeverity
    success: bool
    problem: str
    details: Mapping[str, Any]

    @classmethod
    def of(cls, result: ExpectationValidationResult) -> Finding:
        """Read a validation result; what is not known to be milder is critical."""
        rule = result.expectation_config
        return cls(
            expectation=rule.type if rule else "",
            severity=rule.severity if rule else FailureSeverity.CRITICAL,
            success=result.success is True,
            problem=problem_of(result),
            details=details_of(result),
        )

    @property
    def verdict(self) -> Verdict:
        """What it came to; a quarantine blocks, because a batch is used as it is."""
        said = self.details.get("verdict")
        if self.problem or said is None:
            return "pass" if self.success else "error"
        if self.success:
            return "annotate" if said == "annotate" else "pass"
        return "inconclusive" if said == "inconclusive" else "block"

    @property
    def reason(self) -> str:
        """Why it failed, in one sentence."""
        if self.problem:
            why = f"not checked: {self.problem}"
        else:
            why = "; ".join(self.details.get("reasons", ())) or "no details were kept"
        return f"{self.expectation} ({self.severity.value}): {why}"

    def record(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        told = {"expectation": self.expectation, "severity": self.severity.value}
        return {**told, "success": self.success, "problem": self.problem or None, **self.details}


class BlockOnLabelerGap(ValidationAction):
    """Stop a checkpoint when labelers are biased, and note what is not bad enough to stop.

    Only the expectations of this package count; what others found is in `success` of the result as
    ever. Actions after one that raises do not run, so put it last; Data Docs are written first in
    any case, and results are stored before.

    Parameters
    ----------
    severity : str
        Failures at or above this severity raise `LabelerGapError`: critical (default), warning or
        info. Milder ones are noted, in `meta["label_bias"]` of each validation result and in the
        sidecar. What could not be checked at all always raises.
    findings : str or None
        A file for what was found, as CSV: a row per expectation and comparison. It is replaced on
        every run, too; where it lies, see `sidecar`.
    sidecar : str or None
        A file for the verdict with everything it rests on, as JSON. It is replaced on every run, so
        that no older verdict survives. A relative path starts at the folder that holds the `gx`
        folder of a file context.
    """

    type: Literal["block_on_labeler_gap"] = "block_on_labeler_gap"
    name: str = "block_on_labeler_gap"
    severity: Literal["critical", "warning", "info"] = "critical"
    sidecar: str | None = None
    findings: str | None = None

    def run(
        self,
        checkpoint_result: CheckpointResult,
        action_context: ActionContext | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Decide about a finished run.

        Raises
        ------
        LabelerGapError
            When it must not go on; one line says why, and `verdict` whether somebody is biased
            (block), it is undecided (inconclusive), or a check did not take place (error).
        """
        checkpoint = checkpoint_result.checkpoint_config.name
        context = _context(checkpoint_result)
        lost = list(_lost(checkpoint_result, context.expectations_store))
        findings = [
            Finding.of(each)
            for result in checkpoint_result.run_results.values()
            for each in result.results
            if each.expectation_config and each.expectation_config.type in LABELER_GAPS
        ]
        if not findings:
            lost.append("no expectation about labelers was evaluated")
        failed = [finding for finding in findings if not finding.success]
        limit = FailureSeverity(self.severity)
        stops = [each for each in failed if each.problem or each.severity >= limit]
        stopping = lost + [each.reason for each in stops]
        found: list[Verdict] = ["error" if lost else "pass", *(each.verdict for each in stops)]
        if len(failed) > len(stops) or any(each.verdict == "annotate" for each in findings):
            found.append("annotate")
        verdict = max(found, key=_STRICTNESS.index)
        note = {
            "verdict": verdict,
            "reasons": stopping or [each.reason for each in findings if each.verdict != "pass"],
            "checkpoint": checkpoint,
            "run_time": checkpoint_result.run_id.run_time.isoformat(),
            "version": __version__,
        }
        for result in checkpoint_result.run_results.values():
            result.meta[_NOTE] = note  # type: ignore[literal-required]
        record = {**note, "checks": [finding.record() for finding in findings]}
        for name, made in ((self.sidecar, to_json), (self.findings, rules_csv)):
            if name is not None:
                write_whole(path_in(context, name), made(record), force=True)
        if stopping:
            text = f"checkpoint {checkpoint!r} {_STOPPED[verdict]}: {'; '.join(stopping)}"
            raise LabelerGapError(text, verdict)
        for finding in failed:
            logger.warning("checkpoint %r goes on in spite of %s", checkpoint, finding.reason)
        return note


def _context(result: CheckpointResult) -> Any:
    """Return the data context that the validated data belongs to."""
    for definition in result.checkpoint_config.validation_definitions:
        context = definition.data.data_asset.datasource.data_context
        if context is not None:
            return context
    raise InputError(
        f"checkpoint {result.checkpoint_config.name!r} validates no data of a data context: add "
        "its data source to the context"
    )


def _lost(result: CheckpointResult, store: Any) -> Iterator[str]:
    """Yield what should have been evaluated and was not."""
    wanted = len(result.checkpoint_config.validation_definitions)
    if len(result.run_results) < wanted:
        # They are kept by suite and batch, and the files of one asset are one batch by name.
        yield (
            f"{wanted} validation definitions left {len(result.run_results)} results, because some "
            "share suite and asset: give each its own asset or checkpoint"
        )
    for each in result.run_results.values():
        named = _named(each, store)
        if len(each.results) != named:
            yield (
                f"suite {each.suite_name!r} names {named} expectations but {len(each.results)} "
                "were evaluated: import the packages that define the others"
            )


def _named(result: ExpectationSuiteValidationResult, store: Any) -> int:
    """Return how many expectations the stored suite names, known or not."""
    try:
        stored = store.get(store.get_key(name=result.suite_name))
    except Exception as error:
        raise InputError(f"suite {result.suite_name!r} cannot be read from its store") from error
    return len(stored["expectations"])
