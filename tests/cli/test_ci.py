"""`mdba check` on a build server."""

from __future__ import annotations

import re

import pandas as pd


def test_github_gets_annotations_behind_the_text(files, mdba, monkeypatch):
    monkeypatch.chdir(files.folder)
    run = mdba("check", "labels.csv", "--gold", "gold.csv", *files.quick[4:], "--format", "github")
    assert run.code == 1
    lines = run.out.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    end = lines.index(f"::{token}::")
    assert any(line.startswith("Verdict: BLOCK") for line in lines[:end])
    assert lines[end + 1].startswith("::error file=labels.csv,title=mdba%3A block::")
    assert all(re.match(r"::(error|warning|notice) ", line) for line in lines[end + 1 :])


def test_quiet_leaves_the_annotations(files, mdba):
    run = mdba(*files.quick, "--format", "github", "--quiet")
    assert run.out.startswith("::error title=mdba%3A block::")  # not a file of this folder


def test_text_in_the_data_is_printed_while_commands_are_stopped(files, mdba):
    labels = pd.read_csv(files.labels)
    labels["labeler"] = labels["labeler"].replace("L1", "::set-output name=x::y")
    labels.to_csv(files.labels, index=False)
    lines = mdba(*files.quick, "--format", "github").out.splitlines()
    end = lines.index(f"::{lines[0].removeprefix('::stop-commands::')}::")
    assert any(line.startswith("::set") for line in lines[:end])
    assert not any(line.startswith("::set") for line in lines[end:])


def test_an_ascii_terminal_gets_annotations_too(files, process):
    run = process(*files.quick, "--format", "github", "-q", PYTHONIOENCODING="ascii")
    assert run.code == 1
    assert run.out.isascii()


def test_a_junit_report_is_written_whole_and_not_over_others(files, mdba, tmp_path):
    target = tmp_path / "junit.xml"
    assert mdba(*files.quick, "--junit", target).code == 1
    assert target.read_text().count("<testcase ") == 3
    assert mdba(*files.quick, "--junit", target).code == 2
    assert mdba(*files.quick, "--junit", target, "--force").code == 1
    clash = mdba(*files.quick, "--junit", tmp_path / "x", "--json", tmp_path / "x")
    assert (clash.code, "another output goes there" in clash.err) == (2, True)


def test_a_format_that_does_not_exist_is_named(files, mdba):
    run = mdba(*files.quick, "--format", "githib")
    assert (run.code, run.err) == (2, "mdba: --format is 'githib'. Did you mean 'github'?\n")
    run = mdba(*files.quick, "--format", "github", "--json", "-")
    assert (run.code, run.out) == (2, "")


def test_the_page_of_a_job_gets_the_verdict_behind_what_is_there(files, mdba, tmp_path):
    labels = pd.read_csv(files.labels)
    labels["labeler"] = labels["labeler"].replace("L1", "@all <img src=x> |")
    labels.to_csv(files.labels, index=False)
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    run = mdba(*files.quick, "--format", "github", "-q", GITHUB_STEP_SUMMARY=str(summary))
    text = summary.read_text(encoding="utf-8")
    assert run.code == 1
    assert text.startswith("before\n# Blocked: ")
    assert "\\@all &lt;img src=x&gt; \\|" in text
    assert "<img" not in text
    assert "base64" not in text  # GitHub does not show images that are inside a page
    assert "━" in text or "=" in text


def test_a_summary_that_cannot_be_written_leaves_the_verdict(files, mdba, tmp_path):
    run = mdba(*files.quick, "--format", "github", "-q", GITHUB_STEP_SUMMARY=str(tmp_path))
    assert run.code == 1
    assert run.err.startswith("mdba: no summary in GITHUB_STEP_SUMMARY: ")
    run = mdba(*files.quick, "-q", GITHUB_STEP_SUMMARY=str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
