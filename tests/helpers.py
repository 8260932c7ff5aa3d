"""Small builders that several tests share: evidence with a known truth, and tables in miniature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from mdba_checks import Assessment, CheckConfig, Decision
from mdba_checks.errors import InputError
from mdba_checks.estimation import Evidence, GoldEvidence, Rates, Rows
from mdba_checks.outputs import Published, Quarantine, Release, write_release


def make_evidence(
    rng: np.random.Generator,
    *,
    n_labelers: int = 3,
    n_groups: int = 2,
    n_rows: int = 400,
    n_gold: int = 120,
    weighted: bool = False,
) -> Evidence:
    """Return evidence without any meaning, but with every array filled, for comparing formulas."""
    gold = GoldEvidence(
        group=np.arange(n_gold) % n_groups,
        correct=(rng.random(n_gold) < 0.4).astype(int),
        item=n_rows + np.arange(n_gold),
        weight=rng.uniform(0.5, 3.0, n_gold) if weighted else np.ones(n_gold),
        g=rng.uniform(0.05, 0.95, n_gold),
        g_spread=rng.uniform(0.001, 0.01, n_gold),
    )
    place = np.sort(rng.integers(n_labelers, size=n_rows))
    place[:n_labelers] = np.arange(n_labelers)
    place.sort()
    return Evidence(
        n_labelers=n_labelers,
        n_groups=n_groups,
        place=place,
        group=rng.integers(n_groups, size=n_rows),
        decision=rng.integers(2, size=n_rows),
        item=np.arange(n_rows),
        f=rng.random(n_rows),
        g=rng.uniform(0.05, 0.95, n_rows),
        gold=gold,
        f_gold=rng.random((n_labelers, n_gold)),
        f_spread=np.zeros((n_labelers, n_gold)),
    )


def variance(rates: Rates, gold_group: np.ndarray, labeler: int, group: int) -> float:
    """Return the variance of one rate, by its definition in `Rates`."""
    from_gold = 0.0
    for item in range(len(gold_group)):
        if gold_group[item] == group:
            from_gold += rates.gold_influence[labeler, item] ** 2
    return float(rates.own_variance[labeler, group]) + from_gold


@dataclass(frozen=True)
class Oracle:
    """One feature x, uniform on [-2, 2], and logistic f and g: every truth is an integral.

    Attributes
    ----------
    f, g
        Per group: intercept and slope of P(Y' = 1 | x) and P(Y = 1 | x).
    """

    f: tuple[tuple[float, float], ...] = ((-0.2, 1.5), (0.4, 1.0))
    g: tuple[tuple[float, float], ...] = ((-0.8, 2.0), (-1.2, 1.6))

    def rate(self, group: int) -> float:
        """Return the true positive rate in a group, by numerical integration."""
        x = np.linspace(-2, 2, 20_001)
        f, g = self.chance(self.f, group, x), self.chance(self.g, group, x)
        return float((f * g).sum() / g.sum())

    @staticmethod
    def chance(line: tuple[tuple[float, float], ...], group: int, x: np.ndarray) -> np.ndarray:
        intercept, slope = line[group]
        return expit(intercept + slope * x)

    def draw(
        self,
        rng: np.random.Generator,
        *,
        f_believed: tuple[tuple[float, float], ...] | None = None,
        g_believed: tuple[tuple[float, float], ...] | None = None,
        n_labelers: int = 1,
        rows_per_group: int = 400,
        gold_per_group: int = 150,
    ) -> tuple[Evidence, np.ndarray]:
        """Draw rows and gold from the truth; the models believe what they are told to believe.

        The second answer is what is right on the rows, which no check gets to see.
        """
        groups = np.array([0, 1])
        n_groups = len(groups)

        def of(line: tuple[tuple[float, float], ...], group: np.ndarray, x: np.ndarray):
            return expit(np.array(line)[group, 0] + np.array(line)[group, 1] * x)

        group = np.tile(np.repeat(groups, rows_per_group), n_labelers)
        x = rng.uniform(-2, 2, len(group))
        gold_group = np.repeat(groups, gold_per_group)
        gold_x = rng.uniform(-2, 2, len(gold_group))
        believed_f, believed_g = f_believed or self.f, g_believed or self.g
        f_gold = np.tile(of(believed_f, gold_group, gold_x), (n_labelers, 1))
        evidence = Evidence(
            n_labelers=n_labelers,
            n_groups=n_groups,
            place=np.repeat(np.arange(n_labelers), n_groups * rows_per_group),
            group=group,
            decision=(rng.random(len(x)) < of(self.f, group, x)).astype(int),
            item=np.arange(len(x)),
            f=of(believed_f, group, x),
            g=of(believed_g, group, x),
            gold=GoldEvidence(
                group=gold_group,
                correct=(rng.random(len(gold_x)) < of(self.g, gold_group, gold_x)).astype(int),
                item=len(x) + np.arange(len(gold_x)),
                weight=np.ones(len(gold_x)),
                g=of(believed_g, gold_group, gold_x),
                g_spread=np.zeros(len(gold_x)),
            ),
            f_gold=f_gold,
            f_spread=np.zeros_like(f_gold),
        )
        return evidence, (rng.random(len(x)) < of(self.g, group, x)).astype(int)


def make_rows(
    rng: np.random.Generator,
    sizes: list[int],
    *,
    n_groups: int = 2,
    n_columns: int = 3,
    coin: bool = False,
) -> Rows:
    """Return rows of labelers with a rule of their own (or a coin), in folds dealt by chance."""
    labeler = np.repeat(np.arange(len(sizes)), sizes)
    linear = rng.normal(size=(len(labeler), n_columns))
    group = rng.integers(n_groups, size=len(labeler))
    slope = rng.normal(1.0, 0.5, size=(len(sizes), n_groups, n_columns))
    chance = expit(np.einsum("np,np->n", linear, slope[labeler, group]))
    if coin:
        chance = np.full(len(labeler), 0.5)
    return Rows(
        labeler=labeler,
        group=group,
        decision=(rng.random(len(labeler)) < chance).astype(int),
        fold=rng.integers(3, size=len(labeler)),
        linear=linear,
        trees=linear.astype(np.float32),
    )


def selection_table(shares: dict[str, dict[str, tuple[int, int]]]) -> pd.DataFrame:
    """Return labels in which `shares[labeler][group] = (yes, rows)` holds exactly."""
    rows = [
        {"labeler": labeler, "group": group, "label": int(number < yes), "x": number % 7}
        for labeler, groups in shares.items()
        for group, (yes, total) in groups.items()
        for number in range(total)
    ]
    return pd.DataFrame(rows)


def some_gold(groups: tuple[str, ...] = ("men", "women"), per_group: int = 20) -> pd.DataFrame:
    """Return gold with both answers in every group, for estimators that hardly look at it."""
    rows = [
        {"group": group, "gold": number % 2, "x": number % 7}
        for group in groups
        for number in range(per_group)
    ]
    return pd.DataFrame(rows)


def crossed_selections(per_cell: int = 500) -> pd.DataFrame:
    """Return labels of two group columns: Ann says yes to 20% of women over 50, else all 50%."""
    rows = [
        {"labeler": who, "sex": sex, "age": age, "label": int(number < yes), "x": number % 7}
        for who in ("ann", "bob")
        for sex in ("men", "women")
        for age in ("over 50", "under 50")
        for yes in [per_cell * (2 if (who, sex, age) == ("ann", "women", "over 50") else 5) // 10]
        for number in range(per_cell)
    ]
    return pd.DataFrame(rows)


def some_gold_of(labels: pd.DataFrame, per_cell: int = 10) -> pd.DataFrame:
    """Return gold with both answers in every cell of two group columns."""
    cells = labels[["sex", "age"]].drop_duplicates()
    gold = cells.loc[cells.index.repeat(per_cell)].reset_index(drop=True)
    number = np.tile(np.arange(per_cell), len(cells))
    return gold.assign(gold=number % 2, x=number % 7)


def some_of(rows: Rows, chosen: np.ndarray | slice) -> Rows:
    """Return some of the rows."""
    return Rows(*(getattr(rows, field.name)[chosen] for field in fields(rows)))


def write_annotated(
    labels: Any, assessment: Assessment, decision: Decision, output: Any, **options: Any
) -> Published:
    """Write all rows with their findings, whatever the policy says about biased labelers."""
    update = {"mode": "annotate", "on_inconclusive": "annotate"}
    policy = decision.policy.model_copy(update=update)
    verdict = "pass" if decision.lets_through else "annotate"
    found = Release(replace(decision, verdict=verdict, policy=policy), assessment)
    return write_release(labels, found, output, **options)


def write_quarantined(
    labels: Any,
    parts: Quarantine,
    assessment: Assessment,
    decision: Decision,
    output: Any,
    **options: Any,
) -> Published:
    """Write the rows that stay, and those that go."""
    return write_release(labels, Release(decision, assessment, parts), output, **options)


def settings_from(path: Path, text: str | bytes) -> CheckConfig:
    """Write some YAML and read it as settings."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return CheckConfig.from_yaml(path)


def refusal(call: Callable[..., object], *args: object, **kwargs: object) -> str:
    """Return the text of the `InputError` that the call ends in, which must be one line."""
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text
    assert "\n" not in text
    return text
