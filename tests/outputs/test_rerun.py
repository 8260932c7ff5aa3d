"""A record is enough to make a check again; and a record by a stranger can do no harm."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.estimation import open_engine
from mdba_checks.outputs import parse_json, sidecar_path, to_json, to_record, verify
from mdba_checks.outputs.quarantine import quarantine
from mdba_checks.outputs.record import versions
from mdba_checks.outputs.release_rule import decide_release
from mdba_checks.outputs.rerun import TOLERANCE, TOLERANCE_ACROSS_VERSIONS, read_recorded, rerun
from mdba_checks.simulation import simulate
from mdba_checks.tables import Origin, without_secrets
from tests.helpers import write_annotated, write_quarantined

# Counted, because that takes a tenth of the time; a test below does it with models.
CONFIG = CheckConfig(
    reference="men", estimator="selection_rate", jobs=1, seed=3, policy=Policy(max_gap=0.15)
)
ANNOTATE = Policy(mode="annotate", on_inconclusive="annotate", max_gap=0.15)


@pytest.fixture(scope="module")
def made():
    return simulate(
        n_items=2_000,
        n_labelers=3,
        prevalence=0.5,
        gold_per_group=120,
        tprs=[0.4, 0.9, 0.9],
        seed=2,
    )


class Folder:
    """Two tables on disk, a check of them, and its record."""

    def __init__(self, path: Path, made, config: CheckConfig = CONFIG) -> None:
        self.path = path
        self.labels, self.gold = path / "labels.csv", path / "gold.csv"
        self.record = path / "check.json"
        made.labels.to_csv(self.labels, index=False)
        made.gold.to_csv(self.gold, index=False)
        self.assessment = assess(self.labels, self.gold, config)
        self.write(to_record(self.assessment, gate(self.assessment)).values())

    def write(self, record) -> None:
        self.record.write_text(to_json(record))

    def change(self, place: str, value: object) -> None:
        """Put a value into the record; the place is dotted, numbers count in lists."""
        record = json.loads(self.record.read_text())
        *way, last = [int(step) if step.isdigit() else step for step in place.split(".")]
        target = record
        for step in way:
            target = target[step]
        target[last] = value
        self.write(record)


@pytest.fixture(scope="module")
def checked_once(tmp_path_factory, made) -> Folder:
    return Folder(tmp_path_factory.mktemp("checked"), made)


@pytest.fixture
def checked(checked_once) -> Folder:
    """The folder with the record as the check wrote it."""
    found = checked_once.assessment
    checked_once.write(to_record(found, gate(found)).values())
    return checked_once


class TestTheSameNumbers:
    def test_a_record_is_enough(self, checked):
        found = rerun(checked.record)
        assert found.same
        assert (found.n_gaps, found.tolerance, found.verdict) == (3, TOLERANCE, "block")
        assert found.other_versions == found.notes == ()

    def test_numbers_of_models_are_the_same_to_the_last_digits(self, made, tmp_path):
        folder = Folder(tmp_path, made, CONFIG.updated({"estimator": "mdba_dr"}))
        found = rerun(folder.record)
        assert (found.same, found.tolerance, found.verdict) == (True, TOLERANCE, "block")
        folder.change("gaps.2.gap", float(folder.assessment.gaps["gap"][2]) + 2e-9)
        assert len(rerun(folder.record).differences) == 1

    @pytest.mark.parametrize("name", ["gap", "std_error", "ci_low", "ci_high", "p_value", "rate"])
    def test_a_number_that_is_a_little_different_is_found_and_named(self, checked, name):
        before = json.loads(checked.record.read_text())["gaps"][1][name]
        changed = before - 2e-9 if before > 0.5 else before + 2e-9
        checked.change(f"gaps.1.{name}", changed)
        (difference,) = rerun(checked.record).differences
        assert (difference.labeler, difference.group, difference.name) == ("L2", "women", name)
        assert difference.recorded == changed
        assert difference.found == pytest.approx(before, abs=1e-12)
        assert str(difference).startswith(f"labeler 'L2', group 'women': {name} is ")

    @pytest.mark.parametrize("name", ["n_labels", "n_gold", "n_gold_positive"])
    def test_a_count_that_is_off_by_one_is_found(self, checked, name):
        before = json.loads(checked.record.read_text())["gaps"][0][name]
        checked.change(f"gaps.0.{name}", before + 1)
        (difference,) = rerun(checked.record).differences
        assert (difference.name, difference.recorded) == (name, before + 1)

    def test_a_number_where_there_was_none_is_found(self, checked):
        checked.change("gaps.0.gap", None)
        (difference,) = rerun(checked.record).differences
        assert difference.recorded is None

    def test_a_finding_that_the_numbers_do_not_bear_out_is_found(self, checked):
        checked.change("gaps.0.finding", "fair")
        (difference,) = rerun(checked.record).differences
        assert (difference.recorded, difference.found) == ("fair", "biased")

    def test_labelers_who_came_or_went_are_found(self, checked):
        checked.change("gaps.0.labeler", "somebody")
        differences = rerun(checked.record).differences
        assert [(each.labeler, each.name) for each in differences] == [
            ("somebody", "the gap"),
            ("L1", "the gap"),
        ]

    def test_a_verdict_that_the_numbers_do_not_bear_out_is_found(self, checked):
        checked.change("verdict", "pass")
        (difference,) = rerun(checked.record).differences
        assert str(difference) == "the verdict is 'block' and was 'pass'"

    def test_other_versions_are_said_and_tolerated_more(self, checked):
        checked.change("versions.numpy", "1.0")
        before = json.loads(checked.record.read_text())["gaps"][0]["gap"]
        checked.change("gaps.0.gap", before + 5e-7)
        found = rerun(checked.record)
        assert found.same
        assert found.tolerance == TOLERANCE_ACROSS_VERSIONS
        assert found.other_versions == (f"numpy 1.0 then, {versions()['numpy']} now",)
        checked.change("gaps.0.gap", before + 2e-6)
        assert not rerun(checked.record).same

    def test_the_number_of_jobs_is_not_taken_from_the_record(self, checked):
        checked.change("config.jobs", 1_000)
        assert rerun(checked.record, jobs=2).same


class TestEveryKindOfRecord:
    def test_the_sidecar_of_annotated_labels(self, checked, tmp_path):
        out = tmp_path / "out.parquet"
        decision = gate(checked.assessment, ANNOTATE)
        write_annotated(checked.labels, checked.assessment, decision, out)
        found = rerun(sidecar_path(out))
        assert (found.same, found.verdict) == (True, "annotate")

    def test_the_sidecar_of_a_quarantine_has_the_second_check_in_it(self, made, tmp_path):
        config = CONFIG.updated({"policy.mode": "quarantine", "policy.on_inconclusive": "pass"})
        folder = Folder(tmp_path, made, config)
        out = tmp_path / "kept.csv"
        parts = quarantine(folder.labels, folder.gold, folder.assessment)
        decision = gate(folder.assessment)
        write_quarantined(folder.labels, parts, folder.assessment, decision, out)
        found = rerun(sidecar_path(out))
        assert (found.same, found.n_gaps, found.verdict) == (True, 3 + 2, "quarantine")
        record = json.loads(sidecar_path(out).read_text())
        record["recheck"]["gaps"][1]["rate"] += 0.001
        del record["seal"]
        folder.write(record)
        (difference,) = rerun(folder.record).differences
        assert (difference.labeler, difference.name) == ("L3", "rate")

    def test_a_release_by_a_person_is_said(self, checked):
        said = {"decision": "release", "name": "Ann", "reason": "a\npilot", "decided_at": "today"}
        tables = checked.labels, checked.gold
        checked.write(decide_release(*tables, checked.assessment, approval=said).record().values())
        found = rerun(checked.record)
        assert (found.same, found.verdict) == (True, "annotate")
        assert found.notes == (
            "a person decided: release by Ann, today: a\npilot (the verdict was block)",
        )
        # Without the person's word the numbers bear out a block, and nothing else.
        checked.change("approval", None)
        (difference,) = rerun(checked.record).differences
        assert str(difference) == "the verdict is 'block' and was 'annotate'"

    def test_a_learner_of_its_own_cannot_be_recorded(self, made):
        found = assess(made.labels, made.gold, CONFIG, learner=LogisticRegression())
        assert found.origin == Origin(learner="LogisticRegression")

    def test_a_check_that_a_learner_made_is_refused(self, checked):
        checked.change("origin.learner", "LogisticRegression")
        with pytest.raises(InputError, match="a learner of its own, 'LogisticRegression'"):
            rerun(checked.record)


class TestWhereTheTablesAre:
    def test_they_may_have_moved_together_with_the_record(self, checked, tmp_path):
        moved = tmp_path / "moved"
        moved.mkdir()
        for each in (checked.labels, checked.gold):
            (moved / each.name).write_bytes(each.read_bytes())
        checked.change("origin.labels", "data/of/then/labels.csv")
        checked.change("origin.gold", str(tmp_path / "nowhere" / "gold.csv"))
        (moved / "check.json").write_bytes(checked.record.read_bytes())
        assert rerun(moved / "check.json").same

    def test_a_relative_path_is_looked_for_below_the_record(self, checked, tmp_path):
        (tmp_path / "data").mkdir()
        for each in (checked.labels, checked.gold):
            (tmp_path / "data" / each.name).write_bytes(each.read_bytes())
            checked.change(f"origin.{each.stem}", f"data/{each.name}")
        (tmp_path / "check.json").write_bytes(checked.record.read_bytes())
        assert rerun(tmp_path / "check.json").same

    def test_a_table_that_is_nowhere_is_asked_for(self, checked):
        checked.change("origin.labels", "gone.csv")
        with pytest.raises(
            InputError, match=r"^the labels table is not at 'gone.csv' any more.*--lab"
        ):
            rerun(checked.record)
        assert rerun(checked.record, labels=checked.labels).same

    def test_a_table_of_a_program_is_asked_for(self, checked, made):
        found = assess(made.labels, checked.gold, CONFIG)
        assert found.origin == Origin(gold=str(checked.gold))
        checked.write(to_record(found, gate(found)).values())
        with pytest.raises(
            InputError, match="does not say where the labels table was: give --labels"
        ):
            rerun(checked.record)
        assert rerun(checked.record, labels=made.labels).same

    def test_another_format_of_the_same_content_will_do(self, checked, tmp_path):
        other = tmp_path / "labels.parquet"
        pd.read_csv(checked.labels).to_parquet(other)
        assert rerun(checked.record, labels=other).same

    @pytest.mark.parametrize("name", ["labels", "gold"])
    def test_a_changed_table_is_named_with_both_hashes(self, checked, tmp_path, name):
        other = tmp_path / f"{name}.csv"
        lines = getattr(checked, name).read_text().splitlines(keepends=True)
        other.write_text("".join(lines[:-1]))
        expected = json.loads(checked.record.read_text())["data"][f"{name}_hash"]
        message = (
            rf"^the {name} table was changed since the check: .*{name}\.csv has the content hash "
        )
        with pytest.raises(InputError, match=rf"{message}[0-9a-f]{{32}}, and {expected} was"):
            rerun(checked.record, **{name: other})

    def test_a_database_in_a_file_is_found(self, made, tmp_path):
        with sqlite3.connect(tmp_path / "jobs.db") as database:
            made.labels.to_sql("labels", database, index=False)
            made.gold.to_sql("gold", database, index=False)
        database.close()
        url = f"sqlite:///{tmp_path}/jobs.db"
        found = assess(f"{url}::labels", (url, "gold"), CONFIG)
        assert found.origin == Origin(f"{url}::labels", f"{url}::gold")
        (tmp_path / "check.json").write_text(to_record(found, gate(found)).to_json())
        assert rerun(tmp_path / "check.json").same
        # And beside the record, where it is not where it was.
        found = replace(found, origin=Origin("sqlite:///no/jobs.db::labels", f"{url}::gold"))
        (tmp_path / "check.json").write_text(to_record(found, gate(found)).to_json())
        assert rerun(tmp_path / "check.json").same

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://***@host/jobs::labels",
            "postgresql://host/jobs::labels",  # nobody's password, but a stranger's server
            "sqlite:///jobs.db?***::labels",
            "duckdb:///md:jobs::labels",
            "http://host/labels.csv",
            "***::labels",
        ],
    )
    def test_a_server_is_never_asked_because_a_record_names_it(self, checked, url):
        checked.change("origin.labels", url)
        with pytest.raises(InputError, match=r"give --labels"):
            rerun(checked.record)

    def test_a_device_or_a_pipe_is_no_table(self, checked, tmp_path):
        os.mkfifo(tmp_path / "labels.csv")
        checked.change("origin.labels", str(tmp_path / "labels.csv"))
        # The name of the table beside the record is tried next, and that one is right.
        assert rerun(checked.record).same


class TestPseudonyms:
    @pytest.fixture
    def hidden(self, made, tmp_path, monkeypatch):
        monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "a secret")
        folder = Folder(tmp_path, made, CONFIG.updated({"pseudonymize": True}))
        assert "L1" not in folder.record.read_text()
        assert "a secret" not in folder.record.read_text()
        return folder

    def test_the_same_key_gives_the_same(self, hidden):
        assert rerun(hidden.record).same

    def test_without_the_key_it_is_asked_for(self, hidden, monkeypatch):
        monkeypatch.delenv("MDBA_PSEUDONYM_KEY")
        with pytest.raises(InputError, match="put the key that made them into MDBA_PSEUDONYM_KEY"):
            rerun(hidden.record)

    def test_another_key_is_told_before_anything_is_fitted(self, hidden, monkeypatch):
        monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "another")
        stages = []
        with pytest.raises(InputError, match="made with another key: set MDBA_PSEUDONYM_KEY to"):
            rerun(hidden.record, progress=lambda *stage: stages.append(stage))
        assert stages == []


class TestARecordByAStranger:
    @pytest.mark.parametrize("engine", ["dask", "spark"])
    def test_does_not_choose_where_rows_are_sent(self, checked, monkeypatch, engine):
        asked = []

        def watched(*arguments):
            asked.append(arguments)
            return open_engine(*arguments)

        monkeypatch.setattr("mdba_checks.assessment.assessing.open_engine", watched)
        checked.change("config.engine", engine)
        checked.change("config.cluster", "tcp://evil.example:8786")
        assert rerun(checked.record).same
        assert [each[:2] for each in asked] == [("local", None)]

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            ("verdict", "fine"),
            ("reasons", "none"),
            ("gaps", {}),
            ("gaps.0", []),
            ("gaps.0.gap", "0.1"),
            ("gaps.0.p_value", 7),
            ("gaps.0.n_labels", -1),
            ("gaps.0.n_labels", True),
            ("gaps.0.labeler", 7),
            ("gaps.0.finding", "innocent"),
            ("gaps.0.metric", "fpr"),
            ("data.labels_hash", "0"),
            ("data.gold_hash", None),
            ("data", []),
            ("config", []),
            ("config.seed", -1),
            ("config.engine", "elsewhere"),
            ("config.unknown", 1),
            ("config.estimator", "gold_model"),  # and the record says another
            ("policy", {}),
            ("confidence", 0.5),
            ("origin", "labels.csv"),
            ("origin.labels", ["labels.csv"]),
            ("versions", ["numpy"]),
            ("recheck", {"gaps": [{}]}),
        ],
    )
    def test_a_value_that_makes_no_sense_is_named_in_one_line(self, checked, place, value):
        checked.change(place, value)
        with pytest.raises(InputError) as told:
            rerun(checked.record)
        assert str(checked.record) in str(told.value)
        assert place.rpartition(".")[2].removesuffix("0") in str(told.value)
        assert "\n" not in str(told.value)

    @pytest.mark.parametrize("key", ["gaps", "config", "data", "origin", "versions", "verdict"])
    def test_every_part_is_needed(self, checked, key):
        record = json.loads(checked.record.read_text())
        del record[key]
        checked.write(record)
        with pytest.raises(InputError):
            rerun(checked.record)

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"null",
            b"[1]",
            b"labeler,label\nann,1\n",
            b'{"gaps": NaN}',
            b'{"gaps": 1e999}',
            b'{"gaps": [], "gaps": []}',
            b'{"a":' * 100_000,
            b'{"a": ' + b"9" * 10_000 + b"}",
            b"\xff\xfe\x00",
            b"PAR1\x00\x00",
        ],
    )
    def test_what_is_no_record_is_refused_in_one_line(self, tmp_path, text):
        path = tmp_path / "check.json"
        path.write_bytes(text)
        with pytest.raises(ValueError, match=r"."):
            parse_json(text)
        with pytest.raises(InputError) as told:
            rerun(path)
        assert "is not the record of a check" in str(told.value)
        assert len(str(told.value).splitlines()) == 1

    @pytest.mark.parametrize("value", ["NaN", "1e999", "Infinity", "[" * 90_000])
    def test_a_sidecar_with_odd_numbers_is_damaged_and_not_a_crash(self, checked, tmp_path, value):
        out = tmp_path / "out.csv"
        decision = gate(checked.assessment, ANNOTATE)
        write_annotated(checked.labels, checked.assessment, decision, out)
        text = sidecar_path(out).read_text().replace('"seed": 3', f'"seed": {value}', 1)
        sidecar_path(out).write_text(text)
        assert verify(out).reason.startswith("out.csv.mdba.json is damaged: ")

    def test_a_sidecar_that_somebody_changed_is_damaged(self, checked, tmp_path):
        out = tmp_path / "out.csv"
        decision = gate(checked.assessment, ANNOTATE)
        write_annotated(checked.labels, checked.assessment, decision, out)
        text = sidecar_path(out).read_text()
        sidecar_path(out).write_text(text.replace('"seed": 3', '"seed": 4'))
        with pytest.raises(InputError, match="is damaged: it is not what was written"):
            rerun(sidecar_path(out))

    def test_the_data_set_in_place_of_its_sidecar_is_told_apart(self, checked, tmp_path):
        out = tmp_path / "out.csv"
        decision = gate(checked.assessment, ANNOTATE)
        write_annotated(checked.labels, checked.assessment, decision, out)
        with pytest.raises(InputError, match=r"its record is .*out\.csv\.mdba\.json"):
            rerun(out)

    def test_a_name_cannot_fill_the_screen(self, checked):
        checked.change("gaps.0.labeler", "x" * 100_000)
        assert len(str(rerun(checked.record).differences[0])) < 500

    def test_unknown_keys_are_of_other_versions_and_do_not_matter(self, checked):
        checked.change("of_a_later_version", {"a": 1})
        assert read_recorded(checked.record).config == CONFIG


class TestWhatIsRecordedOfDatabases:
    @pytest.mark.parametrize(
        ("given", "recorded"),
        [
            ("postgresql://ann:s3cret@host/jobs::labels", "postgresql://***@host/jobs::labels"),
            ("postgresql://ann:p@s3cret@host:1/jobs::t", "postgresql://***@host:1/jobs::t"),
            ("postgresql://ann:s3cret/jobs::t", "postgresql://ann:***/jobs::t"),
            ("mysql+pymysql://host/jobs?password=s3cret::t", "mysql+pymysql://host/jobs?***::t"),
            ("mssql://host/jobs;pwd=s3cret::t", "mssql://host/jobs?***::t"),
            ("postgresql://host/jobs::t", "postgresql://host/jobs::t"),
            ("sqlite:///a/b@c.db::t", "sqlite:///a/b@c.db::t"),
            ("sqlite:///jobs.db?key=s3cret::t", "sqlite:///jobs.db?***::t"),
            # No table is named: what follows the colons is part of the password.
            ("postgresql://ann:a::s3cret@host/jobs", "postgresql://***@host/jobs"),
        ],
    )
    def test_no_secret_is_left_and_what_was_one_shows(self, given, recorded):
        assert without_secrets(given) == recorded
        assert "s3cret" not in recorded

    def test_a_table_in_memory_has_no_origin(self, made):
        assert Origin.of(made.labels, pa.table({"a": [1]})) == Origin()
