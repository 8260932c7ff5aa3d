"""Covariates: what is known about the items before anybody decides on them.

A table of features, a group, and an outcome that happened in the real world. `make_covariates`
invents such a table in the shape of job applications, so that nothing has to be downloaded;
any other table becomes one by wrapping it in `Covariates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mdba_checks.errors import InputError, did_you_mean

RESERVED_COLUMNS = ("item", "labeler", "group", "label", "gold")

_EDUCATION = ("none", "school", "bachelor", "master", "doctorate")
_FIELDS = ("engineering", "health", "law", "retail", "science", "teaching")
# How often the first group and all others work in each field.
_FIELD_SHARES_FIRST = (0.10, 0.25, 0.15, 0.20, 0.10, 0.20)
_FIELD_SHARES_REST = (0.25, 0.10, 0.15, 0.25, 0.15, 0.10)
_N_REGIONS = 12


@dataclass(frozen=True, eq=False)
class Covariates:
    """The items of a simulation before gold and labels are made.

    Parameters
    ----------
    frame
        Features only, one row per item: numeric, boolean, text or categorical, with or without
        missing values.
    group
        The group of every item, in the order of `frame`.
    outcome
        What happened in the real world, 0 or 1; the correct decision is modelled on it.
    biased_group
        The group that the labelers treat differently.
    reference
        The group that the truth is compared with.
    interaction
        The feature that labelers of the family "incorrect" misuse for the biased group.

    Examples
    --------
    >>> import numpy as np
    >>> frame = pd.DataFrame({"score": [1.0, 2.0, 3.0, 4.0]})
    >>> group = pd.Series(["women", "men", "women", "men"])
    >>> covariates = Covariates(frame, group, np.array([0, 0, 1, 1]), "women", "men", "score")
    >>> len(covariates)
    4
    """

    frame: pd.DataFrame
    group: pd.Series[Any]
    outcome: NDArray[Any]
    biased_group: Any
    reference: Any
    interaction: str

    def __post_init__(self) -> None:
        sizes = len(self.frame), len(self.group), len(self.outcome)
        if len(set(sizes)) > 1:
            raise InputError(
                "covariates: frame, group and outcome have {} / {} / {} rows; "
                "give one row per item in each".format(*sizes)
            )
        for name in RESERVED_COLUMNS:
            if name in self.frame.columns:
                raise InputError(f"covariates: the feature {name!r} has a reserved name; rename it")
        if not self.frame.columns.is_unique:
            twice = self.frame.columns[self.frame.columns.duplicated()][0]
            raise InputError(f"covariates: the feature {twice!r} appears twice; drop one")
        if self.interaction not in self.frame.columns:
            hint = did_you_mean(str(self.interaction), map(str, self.frame.columns))
            raise InputError(
                f"covariates: interaction {self.interaction!r} is not a feature.{hint}"
            )
        if self.group.isna().any():
            raise InputError(
                f"covariates: group is missing in {int(self.group.isna().sum())} rows; drop them"
            )
        known = self.group.unique().tolist()
        for role, value in (("biased_group", self.biased_group), ("reference", self.reference)):
            if value not in known:
                hint = did_you_mean(str(value), map(str, known))
                raise InputError(f"covariates: {role} {value!r} is not a group.{hint}")
        if self.biased_group == self.reference:
            raise InputError(
                f"covariates: biased_group and reference are both {self.reference!r}; "
                "name two different groups"
            )
        if set(np.unique(self.outcome).tolist()) != {0, 1}:
            raise InputError("covariates: outcome must hold both 0 and 1 and nothing else")

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: NDArray[np.intp]) -> Covariates:
        """Return the items at these positions, renumbered from 0."""
        return Covariates(
            frame=self.frame.iloc[rows].reset_index(drop=True),
            group=self.group.iloc[rows].reset_index(drop=True),
            outcome=self.outcome[rows],
            biased_group=self.biased_group,
            reference=self.reference,
            interaction=self.interaction,
        )


def make_covariates(
    n_items: int = 20_000, seed: int = 0, n_groups: int = 2, n_features: int = 12
) -> Covariates:
    """Invent job applications: mixed features, unequal groups, an outcome that is not quite linear.

    Parameters
    ----------
    n_items
        How many applications.
    seed
        Same seed, same table.
    n_groups
        "women" (about 40% with two groups), "men" (the reference), then "group_3", "group_4", …
        With more than two groups men count double and all others are of equal size.
    n_features
        At least 2. The first twelve have names; more are added with weak effects (`extra_13`, …).

    Returns
    -------
    Covariates
        Skewed, correlated, boolean and categorical features, some differing between the groups,
        some values missing.

    Examples
    --------
    >>> covariates = make_covariates(1_000, seed=1)
    >>> covariates.frame.shape
    (1000, 12)
    >>> sorted(covariates.group.unique())
    ['men', 'women']
    """
    if n_items < 10 or n_groups < 2 or n_features < 2:
        raise InputError(
            f"n_items={n_items}, n_groups={n_groups}, n_features={n_features}: "
            "at least 10 items, 2 groups and 2 features are needed"
        )
    rng = np.random.default_rng(seed)
    names = np.array(["women", "men", *(f"group_{i}" for i in range(3, n_groups + 1))], object)
    shares = np.full(n_groups, 1 / (n_groups + 1))
    shares[1] *= 2
    if n_groups == 2:
        shares = np.array([0.4, 0.6])
    codes = rng.choice(n_groups, size=n_items, p=shares)
    # Every group must exist, however small the table.
    codes[:n_groups] = np.arange(n_groups)
    columns, logit = _applications(codes == 0, rng)
    for number in range(len(columns) + 1, n_features + 1):
        column, effect = _extra(number, n_items, rng)
        columns[f"extra_{number}"] = column
        logit += effect
    chance = 1 / (1 + np.exp(-(logit - np.quantile(logit, 0.7))))
    outcome = (rng.random(n_items) < chance).astype(int)
    outcome[:2] = 0, 1
    frame = pd.DataFrame(dict(list(columns.items())[:n_features]))
    group = pd.Series(names[codes].tolist(), name="group")
    return Covariates(
        frame=frame,
        group=group,
        outcome=outcome,
        biased_group="women",
        reference="men",
        interaction="education",
    )


def _applications(
    first: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Return the twelve named features and the logit of the outcome, before its intercept."""
    n = len(first)
    test = rng.normal(size=n)
    education = np.clip(np.round(1.8 + 0.2 * first + 0.5 * test + rng.normal(size=n)), 0, 4)
    experience = rng.gamma(2.0, np.where(first, 3.5, 4.5))
    interview = 0.6 * test + 0.8 * rng.normal(size=n)
    gap_months = np.where(rng.random(n) < np.where(first, 0.35, 0.15), rng.exponential(14, n), 0)
    hours = np.clip(np.round(rng.normal(np.where(first, 36, 41), 6)), 10, 70)
    referral = rng.random(n) < 1 / (1 + np.exp(1.2 - 0.5 * interview))
    certificates = rng.poisson(1.2, n)
    field = np.where(
        first,
        rng.choice(len(_FIELDS), n, p=_FIELD_SHARES_FIRST),
        rng.choice(len(_FIELDS), n, p=_FIELD_SHARES_REST),
    )
    region = np.minimum(rng.geometric(0.22, n) - 1, _N_REGIONS - 1)
    remote = rng.random(n) < 0.3
    salary = np.exp(10.4 + 0.12 * education + 0.02 * experience + 0.25 * rng.normal(size=n))

    field_effect = np.array([0.5, 0.0, 0.3, -0.4, 0.4, -0.1])
    region_effect = np.linspace(0.4, -0.4, _N_REGIONS)[[0, 7, 3, 10, 1, 5, 8, 2, 11, 4, 9, 6]]
    logit = (
        0.6 * education
        + 0.9 * test
        + 0.4 * interview
        + 0.09 * np.minimum(experience, 15)  # the years beyond fifteen no longer count
        - 0.02 * gap_months
        + 0.5 * referral
        + 0.2 * certificates
        + field_effect[field]
        + region_effect[region]
        + 0.3 * test * (education >= 2)
        - 0.15 * interview**2
    )

    def mostly(values: NDArray[Any], missing: float) -> NDArray[Any]:
        seen = values.copy()
        seen[rng.random(n) < missing] = None if values.dtype == object else np.nan
        return seen

    levels = np.array(_EDUCATION, object)[education.astype(int)]
    columns = {
        "education": mostly(levels, 0.02).tolist(),
        "test_score": mostly((60 + 12 * test).round(1), 0.03),
        "experience_years": experience.round(1),
        "interview_score": (5 + 1.5 * interview).round(2),
        "career_gap_months": gap_months.round(1),
        "hours_per_week": hours,
        "referral": referral,
        "certificates": certificates,
        "field": np.array(_FIELDS, object)[field].tolist(),
        "region": [f"region_{code + 1}" for code in region],
        "remote": remote,
        "salary_expected": mostly(salary.round(-2), 0.08),
    }
    return columns, logit


def _extra(number: int, n: int, rng: np.random.Generator) -> tuple[Any, NDArray[np.float64]]:
    """Return one more feature, of a kind that depends on its number, and its effect."""
    kind = number % 4
    if kind == 0:
        code = rng.integers(3, size=n)
        return [f"level_{c}" for c in code], np.where(code == 1, 0.15, 0.0)
    if kind == 1:
        normal = rng.normal(size=n).round(3)
        return normal, 0.15 * normal
    if kind == 2:
        flag = rng.random(n) < 0.25
        return flag, np.where(flag, 0.15, 0.0)
    skewed = rng.lognormal(0, 0.8, n).round(3)
    return skewed, 0.1 * np.log(skewed + 0.1)
