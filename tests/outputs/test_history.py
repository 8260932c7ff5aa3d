from __future__ import annotations

import json
import math

import numpy as np
import pytest

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import Record, to_record
from mdba_checks.outputs.history import COLUMNS, History, trend
from mdba_checks.simulation import simulate


def record(gaps: dict[str, tuple[float | None, float | None]], **more) -> dict:
    """Return a record with a gap and a standard error per labeler."""
    rows = [
        {
            "labeler": name,
            "group": "women",
            "reference": "men",
            "finding": "fair",
            "gap": gap,
            "std_error": error,
            "ci_low": None if gap is None else gap - 1.645 * error,
            "ci_high": None if gap is None else gap + 1.645 * error,
        }
        for name, (gap, error) in gaps.items()
    ]
    return {"gaps": rows, "metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9, **more}


def tail(z: float) -> float:
    """Return the two-sided p-value of a normal deviate."""
    return math.erfc(abs(z) / math.sqrt(2))


class TestChanges:
    def test_a_change_is_held_against_the_errors_of_both_checks(self):
        history = trend([record({"ann": (0.0, 0.03)}), record({"ann": (-0.2, 0.04)})])
        assert list(history.columns) == list(COLUMNS)
        assert history["check"].tolist() == [1, 2]
        assert math.isnan(history["change"][0])
        assert history["change"][1] == pytest.approx(-0.2)
        assert history["change_p"][1] == pytest.approx(tail(0.2 / 0.05))
        assert history["changed"].tolist() == [False, True]

    def test_p_values_are_adjusted_for_all_labelers_of_the_check(self):
        before = record({"ann": (0.0, 0.03), "bob": (0.0, 0.03), "cem": (0.0, 0.03)})
        after = record({"ann": (-0.1, 0.04), "bob": (0.05, 0.04), "cem": (0.01, 0.04)})
        history = trend([before, after])
        now = history[history["check"] == 2].set_index("labeler")["change_p"]
        p = [tail(0.1 / 0.05), tail(0.05 / 0.05), tail(0.01 / 0.05)]
        assert now["ann"] == pytest.approx(3 * p[0])
        assert now["bob"] == pytest.approx(2 * p[1])
        assert now["cem"] == pytest.approx(max(p[2], 2 * p[1]))
        assert not history["changed"].any()  # alone, ann's 0.0455 would have been one

    def test_a_labeler_who_was_away_is_compared_with_their_own_last_check(self):
        checks = [
            record({"ann": (0.0, 0.03), "bob": (0.0, 0.03)}),
            record({"bob": (0.0, 0.03)}),
            record({"ann": (0.3, 0.04), "bob": (0.0, 0.03)}),
        ]
        ann = trend(checks).query("labeler == 'ann'")
        assert ann["check"].tolist() == [1, 3]
        assert ann["change"].tolist()[1] == pytest.approx(0.3)

    def test_what_could_not_be_estimated_is_no_change(self):
        checks = [
            record({"ann": (0.0, 0.03)}),
            record({"ann": (None, None)}),
            record({"ann": (0.5, 0.03)}),
        ]
        history = trend(checks)
        assert history["change"].isna().all()
        assert not history["changed"].any()

    def test_gaps_to_different_references_are_not_compared(self):
        other = record({"ann": (0.5, 0.03)})
        other["gaps"][0]["reference"] = "everyone else"
        assert trend([record({"ann": (0.0, 0.03)}), other])["change"].isna().all()

    def test_without_a_change_few_labelers_are_flagged(self):
        rng = np.random.default_rng(0)
        flagged = 0
        for _ in range(200):
            checks = [
                record({f"L{n}": (rng.normal(0, 0.05), 0.05) for n in range(20)}) for _ in range(2)
            ]
            flagged += trend(checks)["changed"].any()
        assert flagged <= 32  # 20 expected at confidence 0.9; beyond 32 with chance 0.003


class TestRecords:
    def test_files_and_records_can_be_mixed(self, tmp_path):
        path = tmp_path / "first.json"
        path.write_text(json.dumps(record({"ann": (0.0, 0.03)})))
        history = trend([path, record({"ann": (0.1, 0.03)})])
        assert history["gap"].tolist() == [0.0, 0.1]

    def test_the_time_of_the_checks_decides_where_all_have_one(self):
        late = record({"ann": (0.2, 0.03)}, created="2026-02-01T00:00:00+00:00")
        early = record({"ann": (0.1, 0.03)}, created="2026-01-01T00:00:00+00:00")
        assert trend([late, early])["gap"].tolist() == [0.1, 0.2]
        del late["created"]
        assert trend([late, early])["gap"].tolist() == [0.2, 0.1]

    def test_a_folder_holds_many_records_and_other_things(self, tmp_path):
        for number, gap in enumerate((0.0, 0.1)):
            text = json.dumps(record({"ann": (gap, 0.03)}))
            (tmp_path / f"check-{number}.json").write_text(text)
        (tmp_path / "package.json").write_text("{}")
        assert trend([tmp_path])["gap"].tolist() == [0.0, 0.1]

    @pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"gaps": 3}', "\x00"])
    def test_other_files_are_refused_by_name(self, tmp_path, content):
        path = tmp_path / "other.json"
        path.write_text(content)
        with pytest.raises(InputError, match=r"other\.json is not"):
            trend([path])

    def test_damaged_gaps_are_refused(self):
        for gaps in (3, "x", [{"gap": "much"}]):
            with pytest.raises(InputError, match="the record is damaged: 'gaps"):
                trend([{**record({}), "gaps": gaps}])

    @pytest.mark.parametrize(("key", "other"), [("metric", "fpr"), ("estimator", "gold_model")])
    def test_records_of_different_kinds_are_refused(self, key, other):
        with pytest.raises(InputError, match=f"{key} is .* in one and {other} in another"):
            trend([record({"ann": (0.0, 0.1)}), record({"ann": (0.0, 0.1)}, **{key: other})])

    def test_times_are_dates_and_are_compared_as_such(self):
        late = record({"ann": (0.2, 0.03)}, created="2026-01-01T09:00:00+09:00")  # 0:00 UTC
        early = record({"ann": (0.1, 0.03)}, created="2025-12-31T23:30:00")  # UTC
        history = trend([late, early])
        assert history["gap"].tolist() == [0.1, 0.2]
        assert (history["created"][1] - history["created"][0]).total_seconds() == 30 * 60
        with pytest.raises(InputError, match="'created' is 'yesterday', not a date"):
            trend([record({"ann": (0.2, 0.03)}, created="yesterday")])

    def test_no_record_at_all_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="no record"):
            trend([])
        with pytest.raises(InputError, match="holds no record"):
            trend([tmp_path])


def test_a_labeler_who_changes_between_two_real_checks_is_flagged():
    config = CheckConfig(reference="men")
    records = []
    for tprs in ([0.9, 0.9], [0.4, 0.9]):
        made = simulate(n_items=4_000, n_labelers=2, tprs=tprs, seed=5)
        assessment = assess(made.labels, made.gold, config)
        records.append(json.loads(to_record(assessment, gate(assessment)).to_json()))
    history = trend(records)
    assert history.query("changed")[["labeler", "check"]].to_numpy().tolist() == [["L1", 2]]


class TestHistory:
    def test_it_keeps_checks_for_trend_in_the_order_of_their_time(self, tmp_path):
        history = History(tmp_path / "checks")
        paths = [history.remember(Record.read(record({"ann": (gap, 0.03)}))) for gap in (0.2, 0.1)]
        assert paths == sorted((tmp_path / "checks").iterdir())
        assert trend([history.folder])["gap"].tolist() == [0.2, 0.1]

    def test_checks_stay_in_order_when_the_clock_is_set_back(self, tmp_path):
        history = History(tmp_path)
        first = history.remember(Record.read(record({}, seed=1)))
        first = first.rename(first.with_name("2090" + first.name[4:]))  # the clock was ahead
        (history.folder / "zz-notes.json").write_text("{}")
        second, third = (
            history.remember(Record.read(record({}, seed=number))) for number in (2, 3)
        )
        assert sorted([third, first, second]) == [first, second, third]
        said = json.loads(second.read_text())
        assert said["created"].startswith("2090")
        assert said["clock"] < "2090"

    def test_a_file_or_a_folder_in_an_input_is_refused(self, tmp_path):
        (tmp_path / "file").write_text("x")
        with pytest.raises(InputError, match="cannot keep the history in"):
            History(tmp_path / "file")
        with pytest.raises(InputError, match="is an input"):
            History(tmp_path / "history", inputs=[tmp_path])
