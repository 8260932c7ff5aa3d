"""Moderators remove posts. Is harmless speech removed more often when it is in a dialect?

    python examples/content_moderation.py

Here the harm is a removal that is not right: the rate to compare is the false positive rate.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from mdba_checks import CheckConfig, Columns, Policy, Words, assess, gate
from mdba_checks.simulation import Covariates, simulate


def posts(n: int, rng: np.random.Generator) -> Covariates:
    insults = rng.poisson(1.0, n)
    reports = rng.poisson(1 + insults)
    words = rng.integers(3, 60, n)
    frame = pd.DataFrame({"insults": insults, "reports": reports, "words": words})
    harmless = (1.5 * insults + 0.5 * reports + rng.normal(size=n) < 3).astype(int)
    speech = pd.Series(rng.choice(["dialect", "standard"], n))
    return Covariates(frame, speech, harmless, "dialect", "standard", "insults")


def main() -> None:
    # The simulation is about keeping: one moderator keeps 70 of 100 harmless posts in the dialect.
    rng = np.random.default_rng(5)
    made = simulate(
        covariates=posts(6_000, rng), n_labelers=3, prevalence=0.6, tprs=[0.7, 0.93, 0.95], seed=5
    )
    labels = made.labels.assign(removed=1 - made.labels["label"]).drop(columns="label")
    gold = made.gold.assign(harmful=1 - made.gold["gold"]).drop(columns="gold")

    config = CheckConfig(
        columns=Columns(label="removed", gold="harmful"),
        reference="standard",
        metric="fpr",  # of the harmless, how many are removed?
        words=Words(positive_verb="removes", negative_adjective="harmless"),
        policy=Policy(max_gap=0.1, mode="annotate"),
    )
    assessment = assess(labels, gold, config)
    for row in assessment.gaps.itertuples():
        print(f"{row.labeler}: {row.finding}: {row.reason}")
    print("verdict:", gate(assessment).verdict)


if __name__ == "__main__":
    main()
