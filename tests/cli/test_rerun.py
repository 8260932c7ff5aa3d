"""`mdba rerun`: one line and an exit code for "is it still the same"."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def record(mdba, files):
    """A record of a check that blocks."""
    path = files.folder / "check.json"
    assert mdba(*files.quick, "--json", path).code == 1
    return path


def edit(path, change) -> None:
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def test_the_same_numbers_are_one_line_and_zero_also_where_the_verdict_was_block(mdba, record):
    run = mdba("rerun", record, COLUMNS="200")
    assert (run.code, run.err) == (0, "")
    assert run.out == "the same: 3 gaps agree to 1e-09; verdict block\n"


def test_quiet_says_it_with_the_exit_code_alone(mdba, record):
    run = mdba("rerun", record, "--quiet")
    assert (run.code, run.out, run.err) == (0, "", "")


def test_a_check_of_models_with_an_output_can_be_made_again_from_its_sidecar(mdba, files):
    out = files.folder / "out.parquet"
    asked = [*files.check, "--mode", "annotate", "--on-inconclusive", "annotate"]
    assert mdba(*asked, "--output", out).code == 0
    run = mdba("rerun", f"{out}.mdba.json", "--jobs", "1")
    assert run.code == 0
    assert "the same: 3 gaps agree to 1e-09; verdict annotate" in run.out


def test_another_number_is_one_line_that_names_it_and_two(mdba, record):
    def change(record):
        record["gaps"][2]["rate"] = 0.5
        record["gaps"][2]["ci_low"] = -0.5

    edit(record, change)
    run = mdba("rerun", record)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("mdba: not the same: labeler 'L3', group 'women': ci_low is ")
    assert "and was -0.5 (and 1 more difference); tolerated are 1e-09" in run.err
    assert run.err.count("\n") == 1


def test_other_versions_are_named_in_the_line(mdba, record):
    edit(record, lambda record: record["versions"].update(scipy="0.1"))
    run = mdba("rerun", record, COLUMNS="200")
    assert run.code == 0
    assert "agree to 1e-06" in run.out
    assert "versions differ: scipy 0.1 then, " in run.out


def test_a_changed_table_is_named_and_the_one_of_then_can_be_given(mdba, files, record):
    before = files.folder / "of-then.csv"
    before.write_bytes(files.gold.read_bytes())
    with files.gold.open("a") as file:
        file.write(files.gold.read_text().splitlines()[-1] + "\n")
    run = mdba("rerun", record)
    assert run.code == 2
    assert run.err.startswith(f"mdba: the gold table was changed since the check: {files.gold} ")
    assert run.err.count("\n") == 1
    assert mdba("rerun", record, "--gold", before).code == 0


def test_a_password_is_not_recorded_and_asked_for(mdba, record):
    url = "postgresql://***@host/jobs::labels"
    edit(record, lambda record: record["origin"].update(labels=url))
    run = mdba("rerun", record)
    assert run.code == 2
    assert url in run.err
    assert "give --labels URL::table, with user and password" in run.err


def test_pseudonyms_need_their_key(mdba, files):
    path = files.folder / "check.json"
    asked = [*files.quick, "--pseudonymize", "--json", path]
    assert mdba(*asked, MDBA_PSEUDONYM_KEY="a secret").code == 1
    run = mdba("rerun", path)
    assert run.code == 2
    assert "put the key that made them into MDBA_PSEUDONYM_KEY" in run.err
    assert mdba("rerun", path, MDBA_PSEUDONYM_KEY="another").code == 2
    assert mdba("rerun", path, MDBA_PSEUDONYM_KEY="a secret").code == 0


def test_nothing_is_written(mdba, files, record):
    def look():
        return {each: each.stat().st_mtime_ns for each in files.folder.iterdir()}

    before = look()
    assert mdba("rerun", record).code == 0
    assert look() == before


@pytest.mark.parametrize("what", ["nowhere.json", ".", "labels"])
def test_what_is_no_record_is_bad_input(mdba, files, what):
    run = mdba("rerun", files.labels if what == "labels" else what)
    assert run.code == 2
    assert run.err.count("\n") == 1


def test_fewer_than_one_job_is_bad_usage(mdba, record):
    run = mdba("rerun", record, "--jobs", "0")
    assert run.code == 2
    assert "jobs" in run.err


def test_names_cannot_act_on_a_terminal(mdba, record):
    edit(record, lambda record: record["gaps"][0].update(labeler="\x1b[2J\u202eL1"))
    run = mdba("rerun", record)
    assert run.code == 2
    assert "\x1b" not in run.err
    assert "\u202e" not in run.err
