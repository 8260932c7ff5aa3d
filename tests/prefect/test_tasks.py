"""The tasks as plain functions: what each of them does, without a server."""

from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
import pytest

pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")

from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

from mdba_checks import CheckConfig, assess, gate, read_released
from mdba_checks.errors import InputError
from mdba_checks.outputs import annotate, verify
from mdba_checks.prefect import (
    RulesBrokenError,
    assess_labels,
    decide,
    fingerprint,
    validate_rules,
    verify_released,
    write_outputs,
)
from mdba_checks.prefect.check import assessment_key
from mdba_checks.prefect.support import passing_trouble
from mdba_checks.tables import KEY_VARIABLE
from tests.prefect.api import ROOT, config


@pytest.fixture(scope="module", autouse=True)
def storage(tmp_path_factory):
    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: tmp_path_factory.mktemp("storage")}):
        yield


@pytest.fixture(scope="module")
def kept(tables):
    prints = fingerprint.fn(tables.labels, tables.gold, config())
    return assess_labels.fn(tables.labels, tables.gold, config(), prints)


class TestFingerprints:
    def test_are_those_of_the_assessment(self, tables):
        data = assess(tables.labels, tables.gold, CheckConfig(reference="men")).data
        prints = fingerprint.fn(tables.labels, tables.gold, config())
        assert prints == {"labels": data.labels_hash, "gold": data.gold_hash}

    def test_a_table_that_changes_during_the_check_is_noticed(self, tables):
        prints = {"labels": "another", "gold": "hash"}
        with pytest.raises(InputError, match="changed while it was being checked"):
            assess_labels.fn(tables.labels, tables.gold, config(), prints)


class TestTheCacheKey:
    PRINTS = {"labels": "a", "gold": "b"}  # noqa: RUF012

    def key(self, **changes):
        return assessment_key({**self.PRINTS}, CheckConfig().updated(changes))

    def test_does_not_depend_on_policy_and_on_who_does_the_work(self):
        changed = {"policy.max_gap": 0.5, "policy.on_block": "approve", "jobs": 2}
        cluster = {"engine": "dask", "cluster": "tcp://host:8786"}
        assert self.key(**changed) == self.key(**changed, **cluster) == self.key()

    @pytest.mark.parametrize(
        "change", [{"seed": 1}, {"metric": "fpr"}, {"reference": "men"}, {"confidence": 0.8}]
    )
    def test_depends_on_what_numbers_depend_on(self, change):
        assert self.key(**change) != self.key()

    def test_depends_on_both_tables(self):
        keys = {
            assessment_key({**self.PRINTS, name: "c"}, CheckConfig()) for name in ("labels", "gold")
        }
        assert len(keys | {self.key()}) == 3

    def test_another_key_for_pseudonyms_is_another_key(self, monkeypatch):
        keys = set()
        for secret in ("one", "two"):
            monkeypatch.setenv(KEY_VARIABLE, secret)
            keys.add(self.key(pseudonymize=True))
        assert len(keys) == 2


def test_deciding_gives_the_record_of_a_plain_check(tables, kept):
    settings = CheckConfig.from_mapping(config(max_gap=0.9))
    record = decide.fn(kept, settings.policy.model_dump(mode="json"))
    decision = gate(assess(tables.labels, tables.gold, settings))
    assert (record["verdict"], record["reasons"]) == ("pass", list(decision.reasons))
    json.dumps(record, allow_nan=False)


def policy(**changes):
    return CheckConfig.from_mapping(config(**changes)).policy.model_dump(mode="json")


class TestOutputs:
    def test_hold_what_annotate_would_add(self, tables, kept, tmp_path):
        out = tmp_path / "out.parquet"
        write_outputs.fn(tables.labels, tables.gold, kept, policy(mode="annotate"), str(out))
        settings = CheckConfig.from_mapping(config(mode="annotate"))
        expected = annotate(tables.labels, assess(tables.labels, tables.gold, settings))
        pd.testing.assert_frame_equal(pd.read_parquet(out), expected, check_dtype=False)

    def test_are_the_same_when_the_cached_rows_are_gone(self, tables, kept, tmp_path):
        lost = {**kept, "rows": {"file": str(tmp_path / "nowhere.npz"), "hash": ""}}
        frames = []
        for number, each in enumerate((kept, lost)):
            out = tmp_path / f"{number}.parquet"
            write_outputs.fn(tables.labels, tables.gold, each, policy(mode="annotate"), str(out))
            frames.append(pd.read_parquet(out))
        pd.testing.assert_frame_equal(*frames)

    def test_of_a_block_are_not_written(self, tables, kept, tmp_path):
        said = {"decision": "block", "name": "Ann", "reason": "no", "decided_at": "now"}
        for approval in (None, said):
            ended = write_outputs.fn(
                tables.labels,
                tables.gold,
                kept,
                policy(),
                str(tmp_path / "o.csv"),
                approval=approval,
            )
            assert (ended["verdict"], ended["files"]) == ("block", {})
        assert not list(tmp_path.iterdir())

    def test_know_labelers_by_their_pseudonyms_only(self, tables, tmp_path, monkeypatch):
        monkeypatch.setenv(KEY_VARIABLE, "a secret")
        settings = {**config(mode="annotate"), "pseudonymize": True}
        prints = fingerprint.fn(tables.labels, tables.gold, settings)
        kept = assess_labels.fn(tables.labels, tables.gold, settings, prints)
        out = tmp_path / "out.parquet"
        write_outputs.fn(tables.labels, tables.gold, kept, policy(mode="annotate"), str(out))
        findings = pd.read_parquet(out)["mdba_finding"]
        assert (findings == "biased").any()
        record = verify(out).record
        assert not {"L1", "L2"} & {row.labeler for row in record.gaps}


class TestReleasedData:
    def test_comes_with_the_settings_of_its_check(self, tables, kept, tmp_path):
        out = str(tmp_path / "out.csv")
        write_outputs.fn(tables.labels, tables.gold, kept, policy(max_gap=0.9), out)
        released = read_released(out)
        assert released.config.reference == "men"
        assert len(released.table) == len(pd.read_parquet(tables.labels))
        assert verify_released.fn(out)["verdict"] == "pass"

    def test_is_nothing_that_has_no_sidecar(self, tables):
        with pytest.raises(InputError, match="was not released by the gate as it is"):
            read_released(tables.labels)


def test_trouble_with_files_is_worth_another_try_and_a_verdict_is_not():
    from prefect.states import Failed

    def again(error):
        return passing_trouble(None, None, Failed(data=error))

    assert again(ConnectionResetError())
    assert not again(InputError("a column is missing"))
    assert not again(ValueError())


def test_without_prefect_one_line_says_what_to_install():
    code = """
import sys

class NotInstalled:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "prefect":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled)
import mdba_checks.prefect
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode != 0
    assert "pip install 'mdba-checks[prefect]'" in ended.stderr.splitlines()[-1]


def test_broken_rules_of_a_suite_fail_the_task(tables):
    pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
    suite = str(ROOT / "expectations" / "label_bias.json")
    with pytest.raises(RulesBrokenError, match="verdict: block"):
        validate_rules.fn(tables.labels, suite=suite, gold=tables.gold)
