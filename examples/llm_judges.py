"""Language models and people judge answers of a chatbot. Does one of them treat dialects apart?

    python examples/llm_judges.py

A labeler may be a model: what counts is who decided. Here two models and three people say of
answers whether they help; one model finds fewer of the helpful answers where the question was asked
in a dialect. Everything is simulated, and nothing is sent anywhere: in your own table the column
`judge` holds the name and version of the model, such as `judge-a@2026-05, prompt 3`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from mdba_checks import CheckConfig, Columns, Policy, assess, gate
from mdba_checks.simulation import Covariates, simulate

# Who judges, what kind of judge it is, and how many of 100 helpful answers in the dialect it finds.
JUDGES = {
    "judge-a, prompt 3": ("model", 0.65),
    "judge-b, prompt 3": ("model", 0.94),
    "Ines": ("person", 0.94),
    "Jonas": ("person", 0.93),
    "Kim": ("person", 0.95),
}


def answers(n: int, rng: np.random.Generator) -> Covariates:
    """Make answers: what can be measured about them, the dialect, and whether they help."""
    length = rng.integers(20, 400, n)
    sources = rng.poisson(1.5, n)
    overlap = rng.normal(0, 1, n)  # how much of the question's words come again
    frame = pd.DataFrame({"length": length, "sources": sources, "overlap": overlap})
    helps = (0.004 * length + 0.6 * sources + overlap + rng.normal(size=n) > 2).astype(int)
    dialect = pd.Series(rng.choice(["dialect", "standard"], n))
    return Covariates(frame, dialect, helps, "dialect", "standard", "sources")


def main() -> None:
    rng = np.random.default_rng(3)
    made = simulate(
        covariates=answers(12_000, rng),
        n_labelers=len(JUDGES),
        prevalence=0.5,
        tprs=[share for _, share in JUDGES.values()],
        seed=3,
    )
    names = dict(zip([f"L{n + 1}" for n in range(len(JUDGES))], JUDGES, strict=True))
    labels = made.labels.assign(judge=made.labels["labeler"].map(names)).drop(columns="labeler")
    labels["kind"] = [JUDGES[name][0] for name in labels["judge"]]

    config = CheckConfig(
        columns=Columns(labeler="judge", cohort="kind"),  # gold is the judgement of experts
        reference="standard",
        policy=Policy(max_gap=0.1),
    )
    assessment = assess(labels, made.gold, config)
    shown = ["labeler", "group", "gap", "ci_low", "ci_high", "finding"]
    print(assessment.gaps[shown].round(2).to_string(index=False))
    print("\nAll judges of a kind together, as far as the labels in the table go:")
    print(assessment.cohorts[["cohort", *shown[1:]]].round(2).to_string(index=False))
    decision = gate(assessment)
    print(f"\n{decision.verdict}: {decision.reasons[0]}")


if __name__ == "__main__":
    main()
