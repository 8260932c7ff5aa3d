"""How often could any rule pass fair data sets, if it must not pass one labeler far beyond?

    python -m benchmarks.policy_bounds

The data sets of `benchmarks.policies`, as somebody sees them who knows all that can be known: the
chance that yes is right for every item, the personal taste of every labeler, the rate of every
labeler among men, and that either everybody's gap lies evenly from -0.05 to 0.05 or exactly one
labeler has the gap 0.3. Between two such alternatives no rule is better than comparing how likely
they make the decisions (Neyman and Pearson). Passing one labeler far beyond in 5% of the cases at
most, it passes fair data sets as often as `best_pass` says; no rule that knows less passes more.

Writes benchmarks/results/policy_bounds.csv.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logsumexp

from benchmarks.scoring import write

MODULE = "benchmarks.policy_bounds"
SIZES = ((10, 50), (10, 100), (10, 200), (10, 500), (100, 50), (100, 200), (100, 500), (1_000, 50))
# As in benchmarks.policies and mdba_checks.simulation: how items and labelers are made.
PREVALENCE, TPR_REFERENCE, SHARE_OF_WOMEN = 0.3, 0.9, 0.4
SHARPNESS, PERSONAL_NOISE = 5.0, 0.75
FAIR, FAR, WRONG_PASSES = 0.05, 0.3, 0.05
_PEOPLE, _SETS = 2_000, 4_000
Floats = NDArray[np.float64]


def shift_to(rate: float, logit: Floats, chance: Floats) -> float:
    """Return what has to be added to a logit so that yes is said to this share of right yeses."""
    found: float = brentq(
        lambda shift: np.average(expit(logit + shift), weights=chance) - rate, -30, 30
    )
    return found


def best_pass(labelers: int, labels_each: int, seed: int = 0) -> float:
    """Return how often the best rule passes fair data sets."""
    rng = np.random.default_rng([seed, labelers, labels_each])
    score = SHARPNESS * rng.normal(size=20_000)
    score += brentq(lambda shift: expit(score + shift).mean() - PREVALENCE, -30, 30)
    tastes = rng.normal(0, PERSONAL_NOISE, score.size)
    gaps = np.linspace(-FAIR, FAIR, 11)
    wanted = [*(TPR_REFERENCE - gaps), TPR_REFERENCE - FAR]
    shifts = np.array([shift_to(rate, score + tastes, expit(score)) for rate in wanted])
    n_women = round(SHARE_OF_WOMEN * labels_each)

    def log_odds(far: bool) -> Floats:
        """Return how much likelier a gap of 0.3 makes decisions, for labelers made at random."""
        shown = rng.choice(score, (_PEOPLE, n_women))
        logit = shown + rng.normal(0, PERSONAL_NOISE, shown.shape)
        own = shifts[-1] if far else np.interp(rng.uniform(-FAIR, FAIR, _PEOPLE), gaps, shifts[:-1])
        said = rng.random(shown.shape) < expit(logit + np.reshape(own, (-1, 1)))
        sign = np.where(said, 1.0, -1.0)
        logs = np.stack([log_expit(sign * (logit + each)).sum(axis=1) for each in shifts])
        odds: Floats = logs[-1] - logsumexp(logs[:-1], axis=0) + np.log(len(gaps))
        return odds

    fair, far = log_odds(far=False), log_odds(far=True)
    n_fair = np.empty(_SETS)
    n_one = np.empty(_SETS)
    for number in range(_SETS):
        some = rng.choice(fair, labelers)
        n_fair[number] = logsumexp(some)
        n_one[number] = logsumexp([*some[1:], rng.choice(far)])
    return float((n_fair < np.quantile(n_one, WRONG_PASSES)).mean())


def main() -> None:
    """Write a line per size."""
    lines = [
        {"labelers": people, "labels_each": each, "best_pass": best_pass(people, each)}
        for people, each in SIZES
    ]
    shown = {"labelers": "", "labels_each": "", "best_pass": ".0%"}
    write(Path(__file__).parent / "results" / "policy_bounds.csv", MODULE, lines, shown)


if __name__ == "__main__":
    main()
