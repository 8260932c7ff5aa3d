"""Two checks side by side: the numbers of both, and changes tested as by hand."""

from __future__ import annotations

import csv
import json
import math

import pytest
from scipy.stats import norm

from mdba_checks.cli import main
from mdba_checks.errors import InputError
from mdba_checks.outputs import side_by_side, to_json, to_record
from mdba_checks.report import compare_page
from tests.report.builders import NASTY, SHARES, check

AFTER = {
    "Ada": {"women": (160, 400), "men": (240, 400)},  # 20 points better
    "Ben": {"women": (190, 400), "men": (204, 400)},
    "Dora": {"women": (200, 400), "men": (204, 400)},  # Cleo is gone, Dora is new
}


@pytest.fixture(scope="module")
def records():
    return to_record(*check()).values(), to_record(*check(AFTER)).values()


def test_a_change_is_the_difference_tested_with_both_errors_and_holm(records):
    found = side_by_side(*records).labelers.set_index("labeler")
    assert found["gap_before"]["Ada"] == pytest.approx(80 / 400 - 240 / 400)
    assert found["gap_after"]["Ada"] == pytest.approx(160 / 400 - 240 / 400)
    p = {}
    for name in ("Ada", "Ben"):
        row = found.loc[name]
        assert row["change"] == pytest.approx(row["gap_after"] - row["gap_before"])
        z = abs(row["change"]) / math.hypot(row["std_error_before"], row["std_error_after"])
        p[name] = 2 * norm.sf(z)
    assert found["change_p"]["Ada"] == pytest.approx(2 * p["Ada"])  # two tests, the smaller first
    assert found["change_p"]["Ben"] == pytest.approx(p["Ben"])
    assert found["changed"].to_dict() == {"Ada": True, "Ben": False, "Cleo": False, "Dora": False}
    assert math.isnan(found["change"]["Cleo"])
    assert found.index[0] == "Ada"


def test_the_same_tables_under_another_policy_are_not_tested():
    before, after = to_record(*check()), to_record(*check(policy={"max_gap": 0.5, "margin": 0.1}))
    found = side_by_side(before, after)
    assert found.same_tables
    assert found.labelers["change_p"].isna().all()
    assert ("policy.max_gap", 0.1, 0.5) in found.settings
    assert found.moves().loc["biased", "fair"] == 1
    assert "Both checks read the same tables" in compare_page(found)


def test_other_rates_cannot_be_compared(records):
    with pytest.raises(InputError, match="metric is tpr in one and fpr in the other"):
        side_by_side(records[0], {**records[1], "metric": "fpr"})
    with pytest.raises(InputError, match="damaged"):
        side_by_side(records[0], {**records[1], "gaps": [{"labeler": "x"}]})


def test_the_command_shows_and_writes_both(records, tmp_path, capsys):
    for name, record in zip(("before", "after"), records, strict=True):
        (tmp_path / f"{name}.json").write_text(to_json(record))
    files = {name: str(tmp_path / name) for name in ("before.json", "after.json", "x.html")}
    files |= {name: str(tmp_path / name) for name in ("x.csv", "x.json")}
    given = ["compare", files["before.json"], files["after.json"]]
    wanted = ["--report", files["x.html"], "--csv", files["x.csv"], "--json", files["x.json"]]
    assert main([*given, *wanted]) == 0
    said = capsys.readouterr().out
    assert "1 gap changed more than by chance" in said
    assert "1 comparison is only in the first check" in said
    told = json.loads((tmp_path / "x.json").read_text())
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["labeler"] for row in rows] == [row["labeler"] for row in told["labelers"]]
    assert float(rows[0]["change"]) == told["labelers"][0]["change"]
    assert main([*given, *wanted]) == 2  # they are there
    assert main([*given, "--json", "-"]) == 0
    capsys.readouterr()


def test_names_are_text_on_the_page():
    shares = dict.fromkeys(NASTY, SHARES["Ada"])
    found = side_by_side(to_record(*check(shares)), to_record(*check(shares | AFTER)))
    body = compare_page(found).partition("<main>")[2]
    assert not any(tag in body for tag in ("<script", "<img", 'onerror="w', "<b>"))
