"""The readers of the public data sets, on a few rows in the form of the published files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from benchmarks.paper.datasets import ENVIRONMENT_VARIABLE, load
from mdba_checks.errors import InputError

ADULT = """\
age,workclass,fnlwgt,education,education-num,sex,income,split
39,?,77516,Bachelors,13,Male,<=50K,train
28,Private,1,Masters,14,Female,>50K.,test
"""
CREDIT = """\
ID,LIMIT_BAL,SEX,EDUCATION,MARRIAGE,AGE,default.payment.next.month
1,20000,2,0,0,24,1
2,120000,1,2,1,26,0
"""
EMPLOYEE = """\
employee_id,department,education,gender,previous_year_rating,is_promoted
65438,Sales,,f,5.0,0
65141,Operations,Bachelor's,m,,1
"""
READMISSION = """\
encounter_id,patient_nbr,gender,age,weight,admission_type_id,discharge_disposition_id,\
admission_source_id,medical_specialty,diag_1,diag_2,diag_3,A1Cresult,examide,readmitted
1,1,Female,[0-10),?,6,25,1,?,250.83,V57,?,None,No,NO
2,1,Male,[90-100),?,1,1,7,Surgery,428,E90,139,>8,No,>30
3,2,Male,[50-60),?,1,1,7,Surgery,140,460,800.2,Norm,No,<30
4,3,Unknown/Invalid,[50-60),?,1,1,7,?,1,2,3,None,No,NO
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("adult", ADULT),
        ("credit_default", CREDIT),
        ("employee_promotion", EMPLOYEE),
        ("diabetic_data", READMISSION),
    ):
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_adult_keeps_the_question_mark_as_missing_and_drops_the_survey_weight(folder):
    covariates = load("adult", folder)
    assert covariates.frame.columns.tolist() == ["age", "workclass", "education", "education-num"]
    assert covariates.frame["workclass"].isna().tolist() == [True, False]
    assert covariates.group.tolist() == ["men", "women"]
    assert covariates.outcome.tolist() == [0, 1]
    assert covariates.interaction == "education"


def test_credit_codes_are_categories_and_undocumented_ones_are_others(folder):
    covariates = load("credit", folder)
    assert covariates.frame["MARRIAGE"].tolist() == ["3", "1"]
    assert covariates.frame["EDUCATION"].tolist() == ["4", "2"]
    assert covariates.group.tolist() == ["women", "men"]
    assert covariates.outcome.tolist() == [1, 0]


def test_employee_rating_is_a_number_that_may_be_missing(folder):
    covariates = load("employee", folder)
    assert covariates.frame["previous_year_rating"].isna().tolist() == [False, True]
    assert covariates.frame["education"].isna().tolist() == [True, False]
    assert covariates.outcome.tolist() == [0, 1]


def test_readmission_reads_none_as_a_value_and_groups_the_diagnoses(folder):
    covariates = load("readmission", folder)
    frame = covariates.frame
    assert len(frame) == 3
    assert frame["A1Cresult"].tolist() == ["None", ">8", "Norm"]
    assert frame["age"].tolist() == [5, 95, 55]
    assert frame["diag_1"].tolist() == ["diabetes", "chapter_7", "chapter_2"]
    assert frame["diag_2"].tolist() == ["V", "E", "chapter_8"]
    assert frame["diag_3"].isna().tolist() == [True, False, False]
    assert frame["diag_3"].tolist()[1:] == ["chapter_1", "chapter_17"]
    assert frame["admission_type_id"].tolist() == ["6", "1", "1"]
    assert not {"weight", "examide", "patient_nbr", "encounter_id"} & set(frame)
    assert covariates.outcome.tolist() == [0, 1, 1]


def test_the_folder_may_come_from_the_environment(folder, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(folder))
    assert len(load("adult")) == 2


def test_a_missing_folder_file_or_name_is_told(folder, monkeypatch, tmp_path):
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    with pytest.raises(InputError, match="pass one or set MDBA_DATA"):
        load("adult")
    with pytest.raises(InputError, match="Did you mean 'adult'"):
        load("adlt", folder)
    with pytest.raises(InputError, match=r"adult\.csv\.gz does not exist"):
        load("adult", tmp_path / "nowhere")
