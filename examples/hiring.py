"""Recruiters decide whom to invite, and their decisions shall train a model: may they?

    python examples/hiring.py [report.html]

The decisions are generated, so everybody's true gap is known and shown beside the estimate.
"""

from __future__ import annotations

import sys

from mdba_checks import CheckConfig, Columns, Policy, assess, gate
from mdba_checks.simulation import simulate


def main(report: str | None = None) -> None:
    made = simulate(n_items=6_000, n_labelers=4, tprs=[0.5, 0.7, 0.93, 0.95], seed=3)
    names = {"labeler": "recruiter", "label": "invited", "group": "gender", "gold": "suitable"}
    labels, gold = made.labels.rename(columns=names), made.gold.rename(columns=names)

    config = CheckConfig(
        columns=Columns(labeler="recruiter", label="invited", group="gender", gold="suitable"),
        reference="men",
        metric="tpr",  # of the suitable, how many are invited?
        policy=Policy(max_gap=0.1),
    )
    assessment = assess(labels, gold, config)
    shown = assessment.gaps[["labeler", "group", "gap", "ci_low", "ci_high", "finding"]]
    print(shown.assign(truth=made.truth["gap"]).round(2).to_string(index=False))

    decision = gate(assessment)
    print(f"\n{decision.verdict}:", *decision.reasons, sep="\n- ")
    if report is not None:
        assessment.to_html(report)


if __name__ == "__main__":
    main(*sys.argv[1:2])
