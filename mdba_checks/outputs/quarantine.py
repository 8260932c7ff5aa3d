"""Quarantine: rows leave the data set, and what is left is checked again.

Either all rows of a labeler go, or only those about the group they treat differently
(`policy.quarantine`). What is left is another data set, so it gets a verdict of its own; where that
verdict takes out more rows, they go as well, until nobody who has to go is left. Kept and removed
rows together are exactly the input, each in its old order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
import pyarrow as pa

from mdba_checks.assessment import Assessment, assess
from mdba_checks.config import Policy
from mdba_checks.errors import InputError
from mdba_checks.estimation import Progress
from mdba_checks.outputs.annotate import read_assessed
from mdba_checks.outputs.copied_rows import format_of
from mdba_checks.outputs.object_storage import beside
from mdba_checks.outputs.parts_release import CheckedRound
from mdba_checks.outputs.row_findings import findings_by_row, locate
from mdba_checks.tables import (
    BoolArray,
    KeptRows,
    Partitions,
    Source,
    Table,
    TakenOut,
    TextModel,
)
from mdba_checks.verdict import Decision, Removal, gate

NOTHING_LEFT = "nothing is left"


@dataclass(frozen=True)
class Quarantine:
    """Which rows go, and what was found about those that stay.

    Attributes
    ----------
    removed
        Per row of the labels, in the order in which they were assessed: whether it goes.
    labelers
        Whose rows go.
    assessment
        Of the rows that stay; None when they cannot be assessed.
    decision
        The verdict about the rows that stay.
    findings
        Per row of the labels, in the same order: what is known about it, as in `annotate`. Rows
        that go have what was found when they were taken out.
    """

    removed: BoolArray
    labelers: tuple[str, ...]
    assessment: Assessment | None
    decision: Decision
    findings: pd.DataFrame

    @property
    def n_removed(self) -> int:
        """How many rows go."""
        return int(self.removed.sum())


def takes_rows_out(policy: Policy) -> bool:
    """Return whether rows can leave a data set under a policy."""
    return "quarantine" in (policy.mode, policy.resolved().on_inconclusive)


def quarantine(
    labels: Source,
    gold: Source,
    assessment: Assessment,
    *,
    learner: Any = None,
    text_model: TextModel | None = None,
    progress: Progress | None = None,
) -> Quarantine:
    """Say which rows of the labels go, and assess those that stay.

    Parameters
    ----------
    labels, gold
        The tables that were assessed.
    assessment
        What `assess` returned for them; its policy says who has to go.
    learner, text_model, progress
        As for `assess`.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, Policy, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=6000, n_labelers=3, tprs=[0.5, 0.94, 0.94], seed=1)
    >>> config = CheckConfig(reference="men", policy=Policy(mode="quarantine", max_gap=0.2))
    >>> parts = quarantine(made.labels, made.gold, assess(made.labels, made.gold, config))
    >>> made.labels[parts.removed]["labeler"].unique().tolist(), parts.decision.verdict
    (['L1'], 'pass')
    """
    table = read_assessed(labels, assessment).table
    removed: BoolArray = np.zeros(table.num_rows, dtype=bool)
    findings = findings_by_row(table, assessment)
    gone: list[Removal] = []
    rest: Assessment | None = assessment
    decision = gate(assessment)
    while rest is not None and decision.verdict == "quarantine":
        gone += decision.removes
        stayed = np.flatnonzero(~removed)
        goes = _rows_of(decision.removes, rest, table.filter(~removed))
        removed[stayed[goes]] = True
        if goes.any():
            rest, problem = _assess_rest(
                table.filter(~removed),
                gold,
                assessment,
                learner=learner,
                text_model=text_model,
                progress=progress,
            )
        if rest is None:
            decision = Decision("inconclusive", (problem,), assessment.config.policy)
            continue
        for name, values in findings_by_row(table.filter(~removed), rest).items():
            findings.loc[~removed, name] = values.to_numpy()
        # Somebody whose rows about a group were taken out cannot be compared there any more. That
        # was asked for and leaves nothing undecided.
        decision = gate(rest, without=gone)
    labelers = tuple(dict.fromkeys(each.labeler for each in gone))
    return Quarantine(
        removed=removed, labelers=labelers, assessment=rest, decision=decision, findings=findings
    )


@dataclass(frozen=True)
class QuarantinedParts:
    """As `Quarantine`, of labels that stay in parts: workers take rows out where they are.

    Attributes
    ----------
    rounds
        What every check found about the rows that were left by then, and which rows it took out.
    n_removed, labelers, assessment, decision
        As in `Quarantine`.
    """

    rounds: tuple[CheckedRound, ...]
    n_removed: int
    labelers: tuple[str, ...]
    assessment: Assessment | None
    decision: Decision


def quarantine_parts(
    parts: Partitions,
    gold: Source,
    assessment: Assessment,
    *,
    learner: Any = None,
    text_model: TextModel | None = None,
    progress: Progress | None = None,
) -> QuarantinedParts:
    """As `quarantine`, for labels that stay in parts."""
    gone: list[Removal] = []
    rounds: list[CheckedRound] = []
    rest: Assessment | None = assessment
    decision = gate(assessment)
    while rest is not None and decision.verdict == "quarantine":
        gone += decision.removes
        out = _taken_out(decision.removes, rest)
        rounds.append(CheckedRound.of(rest, out))
        parts = KeptRows(parts, out)
        rest, problem = _assess_rest(
            parts,
            gold,
            assessment,
            learner=learner,
            text_model=text_model,
            progress=progress,
        )
        if rest is None:
            decision = Decision("inconclusive", (problem,), assessment.config.policy)
        else:
            decision = gate(rest, without=gone)
    left = sum(parts.select([]).map(_count, None)) if rest is None else sum(_rows(rest))
    return QuarantinedParts(
        rounds=(*rounds, *([] if rest is None else [CheckedRound.of(rest)])),
        n_removed=sum(_rows(assessment)) - left,
        labelers=tuple(dict.fromkeys(each.labeler for each in gone)),
        assessment=rest,
        decision=decision,
    )


def _rows(assessment: Assessment) -> tuple[int, ...]:
    return () if assessment.parts is None else assessment.parts.rows


def _count(_: object, __: object, rows: pa.Table) -> int:
    return int(rows.num_rows)


def _taken_out(removes: Sequence[Removal], assessment: Assessment) -> TakenOut:
    columns, question = assessment.config.columns, assessment.estimated[0].question
    pairs: frozenset[tuple[str, str]] = frozenset()
    labelers = frozenset(each.labeler for each in removes)
    if assessment.config.policy.quarantine != "labeler":
        pairs, labelers = frozenset((each.labeler, each.group) for each in removes), frozenset()
    return TakenOut(columns.labeler, question.columns[0], labelers, pairs)


@overload
def removed_path(output: Path) -> Path: ...
@overload
def removed_path(output: str | Path) -> str | Path: ...
def removed_path(output: str | Path) -> str | Path:
    """Return where the removed rows go.

    Examples
    --------
    >>> removed_path(Path("out/labels.csv.gz")).name
    'labels.removed.csv.gz'
    """
    name, suffix = Path(output).name, f".{format_of(output)}"
    return beside(output, f"{name[: -len(suffix)]}.removed{name[-len(suffix) :]}")


def _assess_rest(
    table: Table | Partitions,
    gold: Source,
    assessment: Assessment,
    *,
    learner: Any,
    text_model: TextModel | None,
    progress: Progress | None,
) -> tuple[Assessment | None, str]:
    """Return the assessment of the rows that stay, or None and why there is none."""
    if not getattr(table, "num_rows", 1):  # parts are counted by those who read them
        return None, NOTHING_LEFT
    try:
        rest = assess(
            table,
            gold,
            assessment.config,
            learner=learner,
            text_model=text_model,
            progress=progress,
        )
    except InputError as error:
        return None, f"what is left cannot be assessed: {error}"
    if rest.data.gold_hash != assessment.data.gold_hash:
        raise InputError("gold was changed while the labels were checked: check again")
    return rest, ""


def _rows_of(removes: Sequence[Removal], assessment: Assessment, table: Table) -> BoolArray:
    """Return which rows of an assessed table belong to labelers, or to them and a group."""
    if assessment.config.policy.quarantine == "labeler":
        cells = locate(table, assessment)
        names = [each.labeler for each in removes]
        goes = np.append(np.isin(cells.labelers, names), values=False)
        found: BoolArray = goes[cells.labeler]  # -1, nobody, finds the last entry
        return found
    found = np.zeros(table.num_rows, dtype=bool)
    for attribute in dict.fromkeys(each.attribute for each in removes):
        asked = next(e for e in assessment.estimated if e.question.attribute == attribute)
        cells = locate(table, assessment, asked)
        own = [(each.labeler, each.group) for each in removes if each.attribute == attribute]
        wanted = np.zeros(cells.count, dtype=bool)
        wanted[cells.number(*zip(*own, strict=True))] = True
        found |= cells.spread(wanted, absent=False)
    return found
