"""What leaves the gate: the one rule that says what is kept, removed, written and told.

The command line, Prefect, Great Expectations and `release` all ask `decide_release`. A verdict that
stops leaves nothing. Every other verdict leaves rows with what is known about them; a quarantine
leaves those that stay, after they were checked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.assessment import Assessment, assess
from mdba_checks.config import CheckConfig
from mdba_checks.errors import CheckError, InputError, hide_secrets, listed
from mdba_checks.estimation import ESTIMATORS, Progress, open_workers
from mdba_checks.outputs.annotate import annotate, read_assessed, read_once, refuse_annotated
from mdba_checks.outputs.copied_rows import format_of, open_rows
from mdba_checks.outputs.lineage import openlineage_facets
from mdba_checks.outputs.object_storage import beside
from mdba_checks.outputs.parts_release import CheckedRound, write_parts
from mdba_checks.outputs.quarantine import (
    Quarantine,
    QuarantinedParts,
    quarantine,
    quarantine_parts,
    removed_path,
    takes_rows_out,
)
from mdba_checks.outputs.record import Record, to_record
from mdba_checks.outputs.released import Released
from mdba_checks.outputs.row_findings import findings_by_row
from mdba_checks.outputs.sidecar import Part, Published, publish
from mdba_checks.tables import (
    Partitions,
    Source,
    TextModel,
    is_remote,
    parts_of,
    source_name,
    without_file_scheme,
)
from mdba_checks.verdict import Decision, Verdict, gate

NO_MODELS = (
    "mdba_p_positive is missing: estimator {!r} does not model what is right; use one of "
    + ", ".join(each.name for each in ESTIMATORS.values() if each.needs_models)
)


class Blocked(CheckError):  # noqa: N818  what happened, not a fault
    """There are no rows that may be trained on; `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"{decision.verdict}: {' '.join(decision.reasons)}")
        self.decision = decision

    def __reduce__(self) -> tuple[type[Blocked], tuple[Decision]]:
        # Exceptions travel between processes; the default reduce would pass the finished message.
        return type(self), (self.decision,)


@dataclass(frozen=True)
class Release:
    """What becomes of a data set.

    Attributes
    ----------
    decision
        The verdict that holds in the end: a quarantine whose rest is stopped is a stop.
    assessment
        Of all rows.
    parts
        Which rows go and which stay, where rows were to be taken out.
    approval
        What a person decided about labels that the policy stops: ``decision`` (release, quarantine
        or block), ``name``, ``reason``, ``decided_at``, and ``verdict``, what the policy said.
    """

    decision: Decision
    assessment: Assessment
    parts: Quarantine | QuarantinedParts | None = None
    approval: Mapping[str, str] | None = None

    @property
    def judged(self) -> Assessment:
        """The assessment of all rows, with the findings of the decision's policy."""
        return self.assessment.with_policy(self.decision.policy)

    def record(self) -> Record:
        """Return the record of the check, with the second check after a quarantine."""
        record = to_record(self.assessment, self.decision)
        if self.parts is not None:
            rest, found = self.parts.decision, self.parts.assessment
            recheck = {"verdict": rest.verdict, "reasons": rest.reasons}
            again = {} if found is None else to_record(found, rest).values()
            record = record.with_values(recheck={**again, **recheck})
        return record if self.approval is None else record.with_values(approval=self.approval)

    def lines(self, published: Published | None = None) -> tuple[str, ...]:
        """Return what people are told about the rows and the files."""
        if self.decision.stops:
            return ("nothing was written: these labels are stopped",)
        said = []
        parts = self.parts
        if published is not None:
            rows = published.record.file.rows if published.record.file else 0
            stay = "rows with their findings" if parts is None else "rows that stay"
            said.append(f"{published.path}: {rows:,} {stay}")
            said[-1] += f"; sidecar {Path(published.sidecar).name}"
            said += [
                f"{beside(published.path, each.name)}: {each.rows:,} rows taken out"
                for each in published.record.other_files
            ]
        elif parts is not None:
            said.append(
                f"nothing was written; {parts.n_removed:,} rows of {listed(parts.labelers)} "
                "would be taken out"
            )
        elif not self.decision.lets_through:
            said.append("nothing was written; every row would get its findings")
        if parts is not None:
            said.append(f"the rows that stay were checked again: {parts.decision.verdict}")
        return (*said, *(published.messages if published is not None else ()))

    def table(self, labels: Source) -> pd.DataFrame:
        """Return the rows that may be used, with what is known about each."""
        if self.assessment.parts is not None:
            raise InputError(
                "labels that stay on a cluster are not brought here: write them with an output "
                "(mdba check --output, write_release)"
            )
        if not isinstance(self.parts, Quarantine):
            return annotate(labels, self.judged)
        assessed = read_assessed(read_once(labels), self.judged, source_name(labels))
        refuse_annotated(assessed.table.column_names, labels)
        return assessed.joined(self.parts.findings)[~self.parts.removed[assessed.place]]


def decide_release(
    labels: Source,
    gold: Source,
    assessment: Assessment,
    *,
    approval: Mapping[str, str] | None = None,
    learner: Any = None,
    text_model: TextModel | None = None,
    progress: Progress | None = None,
) -> Release:
    """Decide what becomes of a data set, by the policy in its assessment; write nothing.

    Parameters
    ----------
    labels, gold
        The tables that were assessed.
    assessment
        What `assess` returned for them.
    approval
        What a person decided about labels that the policy stops. It never turns into a pass: rows
        that a person releases are annotated, and the record names the person.
    learner, text_model, progress
        As for `assess`; rows that stay after a quarantine are assessed again.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, Policy, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=6000, n_labelers=3, tprs=[0.5, 0.94, 0.94], seed=1)
    >>> config = CheckConfig(reference="men", policy=Policy(mode="quarantine", max_gap=0.2))
    >>> found = decide_release(made.labels, made.gold, assess(made.labels, made.gold, config))
    >>> found.decision.verdict, sorted(found.table(made.labels)["labeler"].unique())
    ('quarantine', ['L2', 'L3'])
    """
    decision = gate(assessment)
    policy = assessment.config.policy
    asked = None if approval is None else approval["decision"]
    if approval is not None:
        approval = {**approval, "verdict": decision.verdict}
        decision = _by_a_person(decision, approval)
    if asked == "quarantine":
        # Who takes it on may accept what is undecided for lack of evidence.
        policy = policy.model_copy(update={"mode": "quarantine", "on_inconclusive": "pass"})
    if decision.verdict != "quarantine":
        return Release(decision, assessment, approval=approval)
    how: dict[str, Any] = {"learner": learner, "text_model": text_model, "progress": progress}
    judged = assessment.with_policy(policy)
    parts: Quarantine | QuarantinedParts
    if assessment.parts is None:
        parts = quarantine(labels, gold, judged, **how)
    else:
        with open_workers(labels, judged.config):
            parts = quarantine_parts(in_parts(labels, judged.config), gold, judged, **how)
    rest = parts.decision
    if rest.stops:
        said = f"without the rows taken out: {rest.verdict}. {' '.join(rest.reasons)}"
        decision = replace(
            decision, verdict=rest.verdict, reasons=(*decision.reasons, said), removes=()
        )
    return Release(decision, assessment, parts, approval)


def in_parts(labels: Source, config: CheckConfig) -> Partitions:
    """Return the parts of labels that were assessed in parts."""
    parts = parts_of(labels, config)
    if parts is None:
        raise InputError(
            f"{source_name(labels)} was assessed where it is, and cannot be opened so any more"
        )
    return parts


def _by_a_person(decision: Decision, approval: Mapping[str, str]) -> Decision:
    """Return what holds after a person has decided, with their words as the first reason."""
    words = (
        f"{approval['decision']} by {approval['name']}, {approval['decided_at']}: "
        f"{approval['reason']} (the verdict was {decision.verdict})"
    )
    verdicts: dict[str, Verdict] = {
        "release": "annotate",
        "quarantine": "quarantine",
        "block": "block",
    }
    verdict = verdicts[approval["decision"]]
    return replace(decision, verdict=verdict, reasons=(words, *decision.reasons))


def write_release(
    labels: Source,
    found: Release,
    output: str | Path,
    *,
    force: bool = False,
    inputs: Sequence[str | Path] = (),
) -> Published:
    """Write the rows that may be used, with their findings and a sidecar; removed rows beside them.

    Each file appears whole or not at all.

    Parameters
    ----------
    labels
        The labels that were assessed.
    found
        What `decide_release` returned for them.
    output
        A name that ends in .csv, .csv.gz or .parquet; it need not be the format of the input. It
        may be in object storage (``s3://…``): the data set is uploaded after its sidecar. Where
        the policy can take rows out, `removed_path` of it takes them.
    force
        Whether existing files may be replaced.
    inputs
        Files that must not be written to, whatever `force` says.

    Raises
    ------
    Blocked
        When the verdict stops the labels.
    """
    if found.decision.stops:
        raise Blocked(found.decision)
    judged, parts = found.judged, found.parts
    output = output if is_remote(output) else Path(without_file_scheme(output))
    record = found.record()
    messages = () if judged.rates is not None else (NO_MODELS.format(judged.estimator),)
    record = record.with_values(
        openlineage=openlineage_facets(record), messages=[*record.messages, *messages]
    )
    if judged.parts is not None:
        with open_workers(labels, judged.config):
            published = _write_parts(labels, found, output, record, force=force, inputs=inputs)
        return replace(published, messages=messages)
    if isinstance(parts, QuarantinedParts):
        msg = "labels that were read are not in parts"
        raise TypeError(msg)
    source = read_once(labels)
    # Opened before they are compared with what was assessed: a later change is noticed.
    rows = open_rows(source, format_of(output), judged.config)
    assessed = read_assessed(source, judged, source_name(labels))
    refuse_annotated(assessed.table.column_names, labels)
    findings = findings_by_row(assessed.table, judged) if parts is None else parts.findings
    findings = findings.iloc[assessed.place]
    removed = (
        np.zeros(len(findings), dtype=bool) if parts is None else parts.removed[assessed.place]
    )
    others = []
    if parts is not None or takes_rows_out(judged.config.policy):
        others.append(Part(removed_path(output), rows, extra=findings, keep=removed))
    published = publish(
        Part(output, rows, extra=findings, keep=~removed if removed.any() else None),
        *others,
        order=assessed.order,
        record=record,
        config=judged.config,
        source=labels,
        force=force,
        inputs=inputs,
    )
    return replace(published, messages=messages)


def _write_parts(
    labels: Source,
    found: Release,
    output: str | Path,
    record: Record,
    *,
    force: bool,
    inputs: Sequence[str | Path],
) -> Published:
    """Let workers write the rows of labels that stay in parts."""
    if is_remote(output):
        raise InputError(
            f"cannot write {hide_secrets(output)}: workers write to a folder of a file system that "
            "they share; write it there and copy it together with its sidecar"
        )
    output = Path(output)
    judged, taken_out = found.judged, found.parts
    parts = in_parts(labels, judged.config)
    refuse_annotated(parts.schema.names, labels)
    rounds: tuple[CheckedRound, ...] = (CheckedRound.of(judged),)
    if isinstance(taken_out, QuarantinedParts):
        rounds = taken_out.rounds
    removed = None
    if taken_out is not None or takes_rows_out(judged.config.policy):
        removed = removed_path(output)
    own = [labels] if isinstance(labels, (str, Path)) else []
    return write_parts(
        parts,
        rounds,
        (output, removed),
        record=record,
        config=judged.config,
        force=force,
        inputs=[*inputs, *own],
    )


def release(
    labels: Source,
    gold: Source,
    config: CheckConfig | None = None,
    *,
    learner: Any = None,
    text_model: TextModel | None = None,
    progress: Progress | None = None,
) -> Released:
    """Check labels and return the rows that may be trained on.

    All rows where the labels pass or are annotated, those that stay after a quarantine; each with
    what is known about it in the columns of `annotate`. These columns are findings, not features:
    leave them out of what a model sees.

    Parameters
    ----------
    labels, gold, config, learner, text_model, progress
        As for `assess`.

    Raises
    ------
    Blocked
        When there are no such rows; its `decision` says why.
    InputError
        When the tables or the settings cannot be used.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, Policy
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=6000, n_labelers=3, tprs=[0.5, 0.94, 0.94], seed=1)
    >>> policy = Policy(mode="quarantine", max_gap=0.2)
    >>> released = release(made.labels, made.gold, CheckConfig(reference="men", policy=policy))
    >>> released.decision.verdict, sorted(released.table["labeler"].unique())
    ('quarantine', ['L2', 'L3'])
    >>> release(made.labels, made.gold, CheckConfig(reference="men"))
    Traceback (most recent call last):
    ...
    mdba_checks.outputs.release_rule.Blocked: block: ...1 labeler biased beyond ±0.1: L1. ...
    """
    models: dict[str, Any] = {"learner": learner, "text_model": text_model, "progress": progress}
    assessment = assess(labels, gold, config, **models)
    found = decide_release(labels, gold, assessment, **models)
    if found.decision.stops:
        raise Blocked(found.decision)
    return Released(found.table(labels), found.decision, found.record())
