"""A check with a store gives the numbers of a check without one, and fits only what changed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import mdba_checks.store.fingerprints
from mdba_checks import Assessment, CheckConfig, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.record import to_record
from mdba_checks.simulation import simulate
from mdba_checks.store import Store
from mdba_checks.trend import trend

CONFIG = CheckConfig(reference="men", jobs=1)
N_LABELERS = 20


@pytest.fixture(scope="module")
def made():
    return simulate(n_items=2800, n_labelers=N_LABELERS, gold_per_group=200, seed=1)


@pytest.fixture(scope="module")
def full(made):
    return assess(made.labels, made.gold, CONFIG)


@pytest.fixture(scope="module")
def other_folds(made):
    return assess(made.labels, made.gold, CONFIG.updated({"seed": 1}))


@pytest.fixture(scope="module")
def filled(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores") / "filled"
    assess(made.labels, made.gold, CONFIG, store=folder)
    return folder


@pytest.fixture
def store(filled, tmp_path):
    return shutil.copytree(filled, tmp_path / "store")


class Check:
    """A check that remembers what it fitted."""

    def __init__(self, labels: Any, gold: Any, store: Path, config: CheckConfig = CONFIG) -> None:
        self.labelers, self.pool = 0, False
        self.assessment = assess(labels, gold, config, store=store, progress=self._see)

    def _see(self, stage: str, _done: int, total: int) -> None:
        self.pool |= stage == "pooled models"
        self.labelers = total if stage == "labelers" else self.labelers

    @property
    def fitted(self) -> tuple[bool, int]:
        """Whether the pool was fitted, and how many labelers were."""
        return self.pool, self.labelers


NOTHING, EVERYTHING = (False, 0), (True, N_LABELERS)


def same(one: Assessment, other: Assessment, *, within: float = 0.0) -> None:
    """Assert that two assessments say the same."""
    exactly = {"check_exact": True} if within == 0 else {"rtol": 0, "atol": within}
    assert_frame_equal(one.gaps, other.gaps, **exactly)
    assert_frame_equal(one.rates, other.rates, **exactly)
    assert_frame_equal(one.joint_intervals(), other.joint_intervals(), **exactly)
    np.testing.assert_allclose(one.p_right, other.p_right, rtol=0, atol=within)
    assert [each.level for each in one.diagnostics] == [each.level for each in other.diagnostics]


def apart(one: Assessment, other: Assessment) -> float:
    """Return how far gaps are apart on average, in standard errors."""
    difference = (one.gaps["gap"] - other.gaps["gap"]).abs() / one.gaps["std_error"]
    return float(difference.mean())


def deciding_anew(labels: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return labels in which some labelers turned every tenth of their decisions around."""
    turned = labels["labeler"].isin(names) & (labels.groupby("labeler").cumcount() % 10 == 0)
    return labels.assign(label=labels["label"].where(~turned, 1 - labels["label"]))


def test_unchanged_data_are_read_and_the_numbers_are_the_same_bits(made, full, store):
    again = Check(made.labels, made.gold, store)
    assert again.fitted == NOTHING
    same(again.assessment, full)
    assert again.assessment.diagnostics == full.diagnostics
    assert again.assessment.fidelity.equals(full.fidelity)


def test_the_order_of_rows_does_not_matter(made, full, store):
    order = np.random.default_rng(0).permutation(len(made.labels))
    again = Check(made.labels.iloc[order], made.gold, store)
    assert again.fitted == NOTHING
    assert_frame_equal(again.assessment.gaps, full.gaps, check_exact=True)
    np.testing.assert_array_equal(again.assessment.p_right, full.p_right[order])


@pytest.mark.parametrize("drop", [[], ["item"]], ids=["items", "no items"])
def test_only_a_labeler_who_changed_is_fitted(made, full, other_folds, tmp_path, drop):
    labels, gold = (table.drop(columns=drop, errors="ignore") for table in (made.labels, made.gold))
    before = assess(labels, gold, CONFIG, store=tmp_path)
    changed = deciding_anew(labels, "L03")
    again = Check(changed, gold, tmp_path)
    assert again.fitted == (False, 1)
    others = before.gaps["labeler"] != "L03"
    numbers = ["labeler", "gap", "std_error", "rate", "n_labels"]
    assert_frame_equal(again.assessment.gaps[others][numbers], before.gaps[others][numbers])
    # The pooled models have not seen the 5 % of the rows that changed. That matters less than the
    # choice of folds does.
    in_full = assess(changed, gold, CONFIG)
    assert apart(again.assessment, in_full) < apart(full, other_folds)
    same(Check(changed, gold, tmp_path).assessment, again.assessment)


def test_a_labeler_who_changes_back_gets_the_old_numbers_back(made, full, store):
    Check(deciding_anew(made.labels, "L03"), made.gold, store)
    back = Check(made.labels, made.gold, store)
    assert back.fitted == (False, 1)
    same(back.assessment, full, within=1e-9)


def test_a_labeler_who_left_costs_nothing(made, store):
    left = made.labels[made.labels["labeler"] != "L20"]
    again = Check(left, made.gold, store)
    assert again.fitted == NOTHING
    assert "L20" not in set(again.assessment.gaps["labeler"])


def test_no_model_that_saw_an_item_speaks_about_it_when_a_new_labeler_comes(made, full, store):
    # A name that sorts first moves the codes of everybody else, and folds are dealt by codes. The
    # pool has seen these rows under another name: only with the folds of then the numbers agree.
    renamed = made.labels.assign(labeler=made.labels["labeler"].replace("L20", "A new one"))
    again = Check(renamed, made.gold, store)
    assert again.fitted == (False, 1)
    now, then = (one.gaps.set_index("labeler") for one in (again.assessment, full))
    assert list(now.index) == ["A new one", *then.index[:-1]]
    assert_frame_equal(
        now[["gap", "std_error"]].rename(index={"A new one": "L20"}).loc[then.index],
        then[["gap", "std_error"]],
        rtol=0,
        atol=1e-9,
    )


def test_when_more_than_a_tenth_of_the_rows_changed_everything_is_fitted(made, store):
    changed = deciding_anew(made.labels, "L03", "L04", "L05")
    again = Check(changed, made.gold, store)
    assert again.fitted == EVERYTHING
    same(again.assessment, assess(changed, made.gold, CONFIG))


def test_a_value_that_moves_the_scale_of_a_column_makes_everything_be_fitted(made, store):
    labels = made.labels.copy()
    labels.loc[labels.index[labels["labeler"] == "L03"][0], "test_score"] = 1e6
    assert Check(labels, made.gold, store).fitted == EVERYTHING


def _flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "a flipped bit": _flip,
    "a flipped bit in the checksum": lambda content: (
        content[:10] + _flip(content[10:12]) + content[12:]
    ),
    "cut short": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "another kind of file": lambda content: b"PK\x03\x04" + content[4:],
    "longer": lambda content: content + b"\0",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_fits_are_fitted_again(made, full, store, what):
    file = min(store.glob("*/fits-*"))
    file.write_bytes(DAMAGE[what](file.read_bytes()))
    again = Check(made.labels, made.gold, store)
    assert not again.pool
    assert 0 < again.labelers < N_LABELERS
    same(again.assessment, full, within=1e-9)
    assert Check(made.labels, made.gold, store).fitted == NOTHING


@pytest.mark.parametrize("what", ["a flipped bit", "empty"])
def test_a_damaged_pool_is_fitted_again(made, full, store, what):
    (file,) = store.glob("*/pool")
    file.write_bytes(DAMAGE[what](file.read_bytes()))
    again = Check(made.labels, made.gold, store)
    assert again.fitted == EVERYTHING
    same(again.assessment, full)
    assert Check(made.labels, made.gold, store).fitted == NOTHING


def test_an_entry_in_the_wrong_place_is_not_believed(made, full, store):
    one, other = sorted(store.glob("*/fits-*"))[:2]
    shutil.copy(one, other)
    again = Check(made.labels, made.gold, store)
    assert 0 < again.labelers < N_LABELERS
    same(again.assessment, full, within=1e-9)


@pytest.mark.parametrize(
    "changes",
    [{"metric": "fpr"}, {"estimator": "mdba"}, {"features": ("education", "field")}],
    ids=str,
)
def test_another_question_shares_nothing(made, store, changes):
    assert Check(made.labels, made.gold, store, CONFIG.updated(changes)).fitted == EVERYTHING


def test_another_seed_shares_nothing(made, other_folds, store):
    again = Check(made.labels, made.gold, store, CONFIG.updated({"seed": 1}))
    assert again.fitted == EVERYTHING
    same(again.assessment, other_folds)


def test_other_gold_shares_nothing(made, store):
    gold = made.gold.iloc[1:]
    again = Check(made.labels, gold, store)
    assert again.fitted == EVERYTHING
    same(again.assessment, assess(made.labels, gold, CONFIG))


def test_another_version_shares_nothing(made, store, monkeypatch):
    monkeypatch.setattr(mdba_checks.store.fingerprints, "__version__", "0.0.0")
    assert Check(made.labels, made.gold, store).fitted == EVERYTHING


def test_another_policy_is_another_judgement_of_the_same_numbers(made, full, store):
    policy = Policy(max_gap=0.3)
    again = Check(made.labels, made.gold, store, CONFIG.model_copy(update={"policy": policy}))
    assert again.fitted == NOTHING
    same(again.assessment, full.with_policy(policy))


def test_names_are_not_in_the_store(made, tmp_path, monkeypatch):
    monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "secret")
    labels = made.labels.assign(labeler="someone-" + made.labels["labeler"])
    config = CONFIG.updated({"pseudonymize": True})
    first = Check(labels, made.gold, tmp_path, config)
    again = Check(labels, made.gold, tmp_path, config)
    assert again.fitted == NOTHING
    same(again.assessment, first.assessment)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in files if b"someone" in file.read_bytes()]


def test_baselines_are_computed_as_without_a_store(made, tmp_path):
    config = CONFIG.updated({"estimator": "selection_rate"})
    kept = assess(made.labels, made.gold, config, store=tmp_path)
    assert_frame_equal(kept.gaps, assess(made.labels, made.gold, config).gaps)
    assert list(tmp_path.iterdir()) == []


def test_a_learner_of_ones_own_is_refused(made, tmp_path):
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(InputError, match="leave out learner"):
        assess(made.labels, made.gold, CONFIG, learner=LogisticRegression(), store=tmp_path)


def test_a_store_that_is_a_file_or_lies_in_an_input_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(InputError, match="cannot use the store"):
        Store(file)
    with pytest.raises(InputError, match="is an input"):
        Store(tmp_path / "store", inputs=[tmp_path])


def test_two_checks_at_once_may_share_a_store(made, full, tmp_path):
    tables = {name: tmp_path / f"{name}.parquet" for name in ("labels", "gold")}
    made.labels.to_parquet(tables["labels"], index=False)
    made.gold.to_parquet(tables["gold"], index=False)
    store = tmp_path / "store"
    code = (
        "import sys; from mdba_checks import CheckConfig, assess\n"
        "labels, gold, store = sys.argv[1:]\n"
        "found = assess(labels, gold, CheckConfig(reference='men', jobs=1), store=store)\n"
        "print(found.gaps['gap'].tolist())\n"
    )
    command = [sys.executable, "-c", code, *map(str, tables.values()), str(store)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert answers == [f"{full.gaps['gap'].tolist()}\n"] * 2
    again = Check(tables["labels"], tables["gold"], store)
    assert again.fitted == NOTHING
    same(again.assessment, full)
    assert not list(store.rglob(".*"))


def test_a_store_remembers_checks_for_trend(full, tmp_path):
    store = Store(tmp_path)
    record = to_record(full, gate(full))
    paths = [store.remember(record) for _ in range(2)]
    assert paths == sorted((tmp_path / "history").iterdir())
    history = trend([tmp_path])
    assert set(history["check"]) == {1, 2}
    assert not history["changed"].any()


def test_checks_stay_in_order_when_the_clock_is_set_back(tmp_path):
    store = Store(tmp_path)
    first = store.remember({"check": 1})
    first = first.rename(first.with_name("2090" + first.name[4:]))  # the clock was ahead
    (store.history / "zz-notes.json").write_text("{}")
    second, third = (store.remember({"check": number}) for number in (2, 3))
    assert sorted([third, first, second]) == [first, second, third]
    said = json.loads(second.read_text())
    assert said["created"].startswith("2090")
    assert said["clock"] < "2090"
