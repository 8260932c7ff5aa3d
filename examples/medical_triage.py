"""Nurses decide which patients are urgent. Are urgent women missed? One cannot always tell yet.

    python examples/medical_triage.py

Gold is dear here: a panel of physicians has judged 60 women and 60 men. The plan says what more of
it would settle, and for whom more labels would do.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.simulation import Covariates, simulate


def patients(n: int, rng: np.random.Generator) -> Covariates:
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 95, n),
            "pain": rng.integers(0, 11, n),
            "pulse": rng.normal(85, 15, n).round(),
            "chest": rng.random(n) < 0.2,
        }
    )
    risk = 0.04 * frame["age"] + 0.3 * frame["pain"] + 0.04 * frame["pulse"] + 2 * frame["chest"]
    urgent = (risk + rng.normal(size=n) > 9.5).astype(int).to_numpy()
    sex = pd.Series(rng.choice(["men", "women"], n))
    return Covariates(frame, sex, urgent, "women", "men", "pain")


def main() -> None:
    covariates = patients(4_000, np.random.default_rng(7))
    made = simulate(
        covariates=covariates, n_labelers=3, gold_per_group=60, tprs=[0.55, 0.92, 0.95], seed=7
    )
    config = CheckConfig(reference="men", policy=Policy(max_gap=0.1))
    assessment = assess(made.labels, made.gold, config)
    print(assessment.gaps[["labeler", "gap", "ci_low", "ci_high", "finding"]].round(2))
    print("verdict:", gate(assessment).verdict)
    plan = assessment.plan(power=0.8)
    print("\nto settle the rest:", *plan.summary, sep="\n- ")


if __name__ == "__main__":
    main()
