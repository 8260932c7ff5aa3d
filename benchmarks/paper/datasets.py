"""The four public data sets of the published evaluation, read into covariates.

Real features, a real group and a real outcome; what the labelers then decide is simulated.
The files are not part of the library: `load` reads them from a folder, given as an argument or by
the environment variable MDBA_DATA.

| name | file | outcome | misused feature |
|---|---|---|---|
| adult | adult.csv.gz | income above 50K | education |
| credit | credit_default.csv.gz | default next month | MARRIAGE |
| employee | employee_promotion.csv.gz | promoted | previous_year_rating |
| readmission | diabetic_data.csv.gz | readmitted, sooner or later | admission_type_id |

The biased group is "women", the reference "men", in all of them. All rows are kept (patients of
"readmission" repeat, as in the published evaluation) but for three of unknown gender.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.simulation import Covariates

ENVIRONMENT_VARIABLE = "MDBA_DATA"

# The first code of each chapter of ICD-9; V and E codes are chapters by their letter.
_ICD9_STARTS = (0, 140, 240, 280, 290, 320, 390, 460, 520, 580, 630, 680, 710, 740, 760, 780, 800)
# Diabetes is the disease of everybody in this table, so it is kept apart from its chapter.
_DIABETES = 250
_N_SPECIALTIES = 20


def load(name: str, folder: str | Path | None = None) -> Covariates:
    """Read one data set.

    Parameters
    ----------
    name
        "adult", "credit", "employee" or "readmission".
    folder
        Where the files are; default: the environment variable MDBA_DATA.
    """
    if name not in _READERS:
        raise InputError(f"data set {name!r} is not known.{did_you_mean(name, _READERS)}")
    folder = folder or os.environ.get(ENVIRONMENT_VARIABLE)
    if not folder:
        raise InputError(
            f"data set {name!r}: no folder given; pass one or set {ENVIRONMENT_VARIABLE}"
        )
    file, reader = _READERS[name]
    path = Path(folder) / file
    if not path.exists():
        raise InputError(f"data set {name!r}: {path} does not exist; put the file there")
    # Texts stay as they are ("None" is a value in readmission); the readers say what is missing.
    return reader(pd.read_csv(path, keep_default_na=False, low_memory=False))


def _adult(table: pd.DataFrame) -> Covariates:
    table = table.replace("?", None)
    # fnlwgt is a survey weight, not something that a person who decides would see.
    features = table.drop(columns=["fnlwgt", "sex", "income", "split"])
    outcome = table["income"].str.startswith(">50K")
    group = table["sex"].map({"Female": "women", "Male": "men"})
    return _covariates(features, group, outcome, "education")


def _credit(table: pd.DataFrame) -> Covariates:
    outcome = table["default.payment.next.month"] == 1
    group = table["SEX"].map({2: "women", 1: "men"})
    features = table.drop(columns=["ID", "SEX", "default.payment.next.month"])
    # Codes, not amounts. The undocumented ones (EDUCATION 0, 5, 6) are one level.
    features["EDUCATION"] = features["EDUCATION"].replace({0: 4, 5: 4, 6: 4}).astype(str)
    features["MARRIAGE"] = features["MARRIAGE"].replace({0: 3}).astype(str)
    return _covariates(features, group, outcome, "MARRIAGE")


def _employee(table: pd.DataFrame) -> Covariates:
    outcome = table["is_promoted"] == 1
    group = table["gender"].map({"f": "women", "m": "men"})
    features = table.drop(columns=["employee_id", "gender", "is_promoted"])
    features["education"] = features["education"].replace("", None)
    features["previous_year_rating"] = pd.to_numeric(features["previous_year_rating"])
    return _covariates(features, group, outcome, "previous_year_rating")


def _readmission(table: pd.DataFrame) -> Covariates:
    table = table[table["gender"] != "Unknown/Invalid"].replace("?", None)
    outcome = table["readmitted"] != "NO"
    group = table["gender"].map({"Female": "women", "Male": "men"})
    # The weight is missing for 97 in 100.
    features = table.drop(columns=["encounter_id", "patient_nbr", "gender", "readmitted", "weight"])
    for column in ("admission_type_id", "discharge_disposition_id", "admission_source_id"):
        features[column] = features[column].astype(str)
    features["age"] = features["age"].str.extract(r"(\d+)")[0].astype(int) + 5
    for column in ("diag_1", "diag_2", "diag_3"):
        features[column] = _icd9_chapter(features[column])
    specialty = features["medical_specialty"]
    common = specialty.value_counts().index[:_N_SPECIALTIES]
    features["medical_specialty"] = specialty.where(
        specialty.isin(common) | specialty.isna(), "other"
    )
    constant = [column for column in features if features[column].nunique(dropna=False) == 1]
    return _covariates(features.drop(columns=constant), group, outcome, "admission_type_id")


def _icd9_chapter(codes: pd.Series[Any]) -> pd.Series[Any]:
    number = pd.to_numeric(codes, errors="coerce")
    chapter = pd.Series(np.searchsorted(_ICD9_STARTS, number.fillna(0), side="right"), codes.index)
    text = "chapter_" + chapter.astype(str)
    text = text.where(number.fillna(0).astype(int) != _DIABETES, "diabetes")
    return text.where(number.notna(), codes.astype("str").str[:1])


def _covariates(
    features: pd.DataFrame, group: pd.Series[Any], outcome: pd.Series[Any], interaction: str
) -> Covariates:
    return Covariates(
        frame=features.reset_index(drop=True),
        group=group.reset_index(drop=True).rename("group"),
        outcome=outcome.to_numpy().astype(int),
        biased_group="women",
        reference="men",
        interaction=interaction,
    )


_READERS: dict[str, tuple[str, Callable[[pd.DataFrame], Covariates]]] = {
    "adult": ("adult.csv.gz", _adult),
    "credit": ("credit_default.csv.gz", _credit),
    "employee": ("employee_promotion.csv.gz", _employee),
    "readmission": ("diabetic_data.csv.gz", _readmission),
}
