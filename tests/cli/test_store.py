"""`mdba check --store`: the second check reads what the first one fitted."""

from __future__ import annotations

import json
import re

import pandas as pd


def test_a_second_check_reads_the_first_and_both_are_in_the_history(mdba, files):
    store = files.folder / "store"
    asked = ["check", files.labels, "--gold", files.gold, "--reference", "men", "--json", "-"]
    first = mdba(*asked, "--store", store)
    second = mdba(*asked, "--store", store)
    assert "pooled models" in first.err or not first.err
    assert "pooled models" not in second.err
    assert first.code == second.code == mdba(*asked).code
    assert json.loads(first.out) == json.loads(second.out)
    assert len(list((store / "history").iterdir())) == 2
    shown = mdba("trend", store, "--json", "-")
    assert shown.code == 0
    assert set(pd.DataFrame(json.loads(shown.out)["trend"])["check"]) == {1, 2}


def test_the_report_of_a_second_check_shows_the_first(mdba, files):
    store, page = files.folder / "store", files.folder / "report.html"
    asked = ["check", files.labels, "--gold", files.gold, "--reference", "men", "--store", store]
    for checks in (1, 2):
        mdba(*asked, "--report", page, "--force")
        told = re.findall("Checks so far: ([^<]*)<", page.read_text())
        assert told
        assert {len(each.split(";")) for each in told} == {checks}
    # A check with another question cannot be put beside the others.
    other = mdba(*asked, "--metric", "fpr", "--report", page, "--force")
    assert other.code in (0, 1, 3)
    assert "Checks so far" not in page.read_text()


def test_a_store_that_is_a_file_is_refused_in_one_line(mdba, files):
    run = mdba("check", files.labels, "--gold", files.gold, "--store", files.labels)
    assert run.code == 2
    assert "cannot use the store" in run.err
