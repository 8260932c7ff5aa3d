"""`mdba check --report` and the report of the demo."""

from __future__ import annotations

import json

import pytest

from mdba_checks.cli import demo as demo_module


def test_a_report_is_written_beside_the_other_output(mdba, files):
    record, report = files.folder / "out.json", files.folder / "out.html"
    run = mdba(*files.quick, "--report", report, "--json", record)
    assert run.code == 1
    assert "Verdict: BLOCK" in run.out
    text = report.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "<h1>Blocked: " in text
    assert json.loads(record.read_text())["data"]["labels_hash"] in text


def test_quiet_and_json_on_stdout_do_not_keep_the_report_from_being_written(mdba, files):
    for number, flags in enumerate((["--quiet"], ["--json", "-"])):
        report = files.folder / f"out{number}.html"
        assert mdba(*files.quick, *flags, "--report", report).code == 1
        assert report.is_file()


@pytest.mark.parametrize("name", ["labels.csv", "no/out.html", "there.html", "out.json"])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(mdba, files, name):
    (files.folder / "there.html").write_text("precious")
    before = {path: path.read_bytes() for path in files.folder.iterdir()}
    target = files.folder / name
    # An estimator that needs models: the refusal must not wait for them.
    run = mdba(*files.check, "--json", files.folder / "out.json", "--report", target)
    assert run.code == 2
    assert run.err.startswith(f"mdba: cannot write {target}: ")
    assert run.err.count("\n") == 1
    assert before == {path: path.read_bytes() for path in files.folder.iterdir()}


def test_the_demo_writes_a_report_and_says_where(mdba, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo_module, "_ITEMS", 4_000)
    run = mdba("demo", COLUMNS="80")
    assert "The report, to open in a browser: mdba-demo/report.html" in run.out
    assert "Ada" in (tmp_path / "mdba-demo" / "report.html").read_text(encoding="utf-8")
