"""The page about reliability says what was tried, and its figures are those of committed runs."""

from __future__ import annotations

import pytest

from tests.reliability.page import TABLES, rows_of, shown


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_what_came_out(name):
    if name == "catalogue":
        pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
    assert shown(name) == TABLES[name]()


def test_ten_thousand_damaged_inputs_broke_nothing():
    rows = rows_of("fuzz.csv")
    assert sum(int(row["runs"]) for row in rows) == 10_000
    assert {row["broken"] for row in rows} == {"0"}
    assert max(int(row["slowest_ms"]) for row in rows) < 10_000


def test_no_fault_and_no_load_lost_let_through_or_mis_stated_anything():
    rows = rows_of("faults.csv")
    for row in rows:
        assert (row["lost"], row["let_through"], row["mis_stated"]) == ("0", "0", "0"), row
        assert int(row["runs"]) > 0
    assert [row["runs"] for row in rows[-2:]] == ["50", "50"]
