"""Quarantine: the rows of biased labelers leave the data set, and what is left is checked again.

Either all rows of a biased labeler go, or only those about the group they treat differently
(`policy.quarantine`). Kept and removed rows together are exactly the input, each in its old order.
The rest is another data set, so it gets a verdict of its own: where nothing is left, or what is
left cannot be assessed, that verdict is inconclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.annotate import Cells, locate, read_assessed
from mdba_checks.arrays import BoolArray
from mdba_checks.assessment import Assessment, assess
from mdba_checks.errors import InputError
from mdba_checks.estimation import Progress
from mdba_checks.findings import BIASED
from mdba_checks.record import to_record
from mdba_checks.sidecar import Part, Published, publish
from mdba_checks.tables import Source
from mdba_checks.verbatim import format_of, open_rows
from mdba_checks.verdict import Decision, decide, gate


@dataclass(frozen=True)
class Quarantine:
    """Which rows go, and what was found about those that stay.

    Attributes
    ----------
    removed
        Per row of the labels: whether it goes.
    assessment
        Of the rows that stay; None when they cannot be assessed.
    decision
        The verdict about the rows that stay.
    """

    removed: BoolArray
    assessment: Assessment | None
    decision: Decision

    @property
    def n_removed(self) -> int:
        """How many rows go."""
        return int(self.removed.sum())


def quarantine(
    labels: Source,
    gold: Source,
    assessment: Assessment,
    *,
    learner: Any = None,
    progress: Progress | None = None,
) -> Quarantine:
    """Say which rows of the labels go, and assess those that stay.

    Parameters
    ----------
    labels, gold
        The tables that were assessed.
    assessment
        What `assess` returned for them; its policy says who is biased and what goes.
    learner, progress
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
    table = read_assessed(labels, assessment)
    removed = _rows_of_biased(assessment, locate(table, assessment))
    if not removed.any():
        return Quarantine(removed, assessment, gate(assessment))
    config = assessment.config
    try:
        rest = assess(table.filter(~removed), gold, config, learner=learner, progress=progress)
    except InputError as error:
        reason = "nothing is left" if removed.all() else f"what is left cannot be assessed: {error}"
        return Quarantine(removed, None, Decision("inconclusive", (reason,), config.policy))
    if rest.data.gold_hash != assessment.data.gold_hash:
        raise InputError("gold was changed while the labels were checked: check again")
    return Quarantine(removed, rest, _decide(rest, assessment))


def removed_path(output: str | Path) -> Path:
    """Return where the removed rows go.

    Examples
    --------
    >>> removed_path("out/labels.csv.gz").name
    'labels.removed.csv.gz'
    """
    path, suffix = Path(output), f".{format_of(output)}"
    return path.with_name(f"{path.name[: -len(suffix)]}.removed{path.name[-len(suffix) :]}")


def write_quarantined(
    labels: Source,
    parts: Quarantine,
    assessment: Assessment,
    decision: Decision,
    output: str | Path,
    *,
    force: bool = False,
    inputs: Sequence[str | Path] = (),
) -> Published:
    """Write the kept rows with their sidecar, and the removed rows beside them.

    Parameters
    ----------
    labels, assessment
        As for `quarantine`.
    parts
        What `quarantine` returned.
    decision
        What was decided about all rows.
    output
        Where the kept rows go; `removed_path` of it takes the others.
    force
        Whether existing files may be replaced.
    inputs
        Files that must not be written to, whatever `force` says.
    """
    rows = open_rows(labels, format_of(output), assessment.config)
    read_assessed(labels, assessment)  # nobody has changed them before they were opened
    if len(rows) != len(parts.removed):
        raise InputError(
            f"cannot write {output}: {len(rows)} rows were found, {len(parts.removed)} assessed; "
            "choose an output in the other format"
        )
    record = to_record(assessment, decision)
    rest = parts.decision
    record["recheck"] = {"verdict": rest.verdict, "reasons": list(rest.reasons)}
    if parts.assessment is not None:
        record["recheck"] |= to_record(parts.assessment, rest)
    return publish(
        Part(Path(output), rows, keep=~parts.removed),
        Part(removed_path(output), rows, keep=parts.removed),
        record=record,
        config=assessment.config,
        source=labels,
        force=force,
        inputs=inputs,
    )


def _rows_of_biased(assessment: Assessment, cells: Cells) -> BoolArray:
    biased = _biased(assessment)
    if assessment.config.policy.quarantine == "labeler":
        goes = np.append(np.isin(cells.labelers, biased["labeler"]), values=False)
        removed: BoolArray = goes[cells.labeler]  # -1, nobody, finds the last entry
    else:
        pairs = np.zeros(cells.count, dtype=bool)
        pairs[cells.number(biased["labeler"], biased["group"])] = True
        removed = cells.spread(pairs, absent=False)
    return removed


def _biased(assessment: Assessment) -> pd.DataFrame:
    gaps = assessment.gaps
    return gaps.loc[gaps["finding"] == BIASED, ["labeler", "group"]]


def _decide(rest: Assessment, assessment: Assessment) -> Decision:
    """Decide about the rows that stay.

    Somebody whose rows about a group were taken out cannot be compared there any more. That was
    asked for and leaves nothing undecided, so it does not count.
    """
    gaps = rest.gaps
    gone = pd.MultiIndex.from_frame(_biased(assessment))
    there = ~pd.MultiIndex.from_frame(gaps[["labeler", "group"]]).isin(gone)
    return decide(gaps[there], rest.config.policy)
