"""`mdba check --history`: successive checks in one folder."""

from __future__ import annotations

import json
import re

import pandas as pd


def test_successive_checks_are_kept_for_trend(mdba, files):
    history = files.folder / "history"
    asked = ["check", files.labels, "--gold", files.gold, "--reference", "men", "--json", "-"]
    first = mdba(*asked, "--history", history)
    second = mdba(*asked, "--history", history)
    assert first.code == second.code == mdba(*asked).code
    assert json.loads(first.out) == json.loads(second.out)
    assert len(list(history.iterdir())) == 2
    shown = mdba("trend", history, "--json", "-")
    assert shown.code == 0
    assert set(pd.DataFrame(json.loads(shown.out)["trend"])["check"]) == {1, 2}


def test_the_report_of_a_second_check_shows_the_first(mdba, files):
    history, page = files.folder / "history", files.folder / "report.html"
    asked = ["check", files.labels, "--gold", files.gold, "--reference", "men"]
    asked += ["--history", history]
    for checks in (1, 2):
        mdba(*asked, "--report", page, "--force")
        told = re.findall("Checks so far: ([^<]*)<", page.read_text())
        assert told
        assert {len(each.split(";")) for each in told} == {checks}
    # A check with another question cannot be put beside the others.
    other = mdba(*asked, "--metric", "fpr", "--report", page, "--force")
    assert other.code in (0, 1, 3)
    assert "Checks so far" not in page.read_text()


def test_a_history_that_is_a_file_is_refused_in_one_line(mdba, files):
    run = mdba("check", files.labels, "--gold", files.gold, "--history", files.labels)
    assert run.code == 2
    assert "cannot keep the history in" in run.err
