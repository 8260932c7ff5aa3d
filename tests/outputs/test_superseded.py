"""Releases grow old: a later check was stopped, the labels have changed, or time has passed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy, assess, read_released, verify
from mdba_checks.cli import main
from mdba_checks.errors import InputError
from mdba_checks.outputs import decide_release, parse_json, sidecar_path, write_release
from tests.helpers import selection_table, some_gold

FAIR = {"ann": {"men": (500, 1000), "women": (500, 1000)}}
BIASED = {"ann": {"men": (800, 1000), "women": (200, 1000)}}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    selection_table(FAIR).to_csv("labels.csv", index=False)
    some_gold().to_csv("gold.csv", index=False)


def check(*more: str, labels: str = "labels.csv", output: str = "out.csv") -> int:
    common = ("--gold", "gold.csv", "--estimator", "selection_rate", "--reference", "men")
    return main(["check", labels, *common, "--output", output, "--quiet", *more])


def now_biased(name: str = "labels.csv") -> None:
    selection_table(BIASED).to_csv(name, index=False)


@pytest.mark.parametrize("output", ["out.csv", "out.csv.gz", "out.parquet"])
def test_a_later_block_of_the_same_labels_marks_the_older_release(output, capsys):
    assert check(output=output) == 0
    before = Path(output).read_bytes()
    assert verify(output).ok
    now_biased()
    assert check("--force", output=output) == 1
    assert Path(output).read_bytes() == before  # the data stay as they are
    found = verify(output)
    assert not found.ok
    assert "superseded: a later check of the same labels ended with block" in found.reason
    assert "1 labeler biased beyond ±0.1: ann" in found.reason
    assert main(["verify", output]) == 1
    assert "superseded" in capsys.readouterr().out
    with pytest.raises(InputError, match="superseded"):
        read_released(output)


def test_the_check_says_that_it_marked_it(capsys):
    check()
    now_biased()
    common = ("--gold", "gold.csv", "--estimator", "selection_rate", "--reference", "men")
    main(["check", "labels.csv", *common, "--output", "out.csv", "--force"])
    assert "out.csv, released earlier, is marked as superseded" in capsys.readouterr().out


def test_the_same_rows_under_another_name_are_the_same_labels():
    check()
    Path("copy.csv").write_bytes(Path("labels.csv").read_bytes())
    # A policy that stops what was released before.
    assert check("--force", "--max-gap", "0", "--margin", "0", labels="copy.csv") == 3
    assert "ended with inconclusive" in verify("out.csv").reason


def test_other_labels_leave_a_release_alone():
    check()
    now_biased("others.csv")
    assert check("--force", labels="others.csv") == 1
    assert verify("out.csv").ok


def test_a_new_release_takes_the_place_of_a_superseded_one():
    check()
    now_biased()
    check("--force")
    assert check("--force", "--mode", "annotate") == 0
    assert verify("out.csv").ok


def test_nobody_can_take_the_mark_away_unseen():
    check()
    now_biased()
    check("--force")
    beside = sidecar_path("out.csv")
    record = json.loads(beside.read_text())
    del record["superseded"]
    beside.write_text(json.dumps(record))
    said = "out.csv.mdba.json is damaged: it is not what was written"
    assert verify("out.csv").reason == said


def test_labels_that_have_changed_make_a_release_old(capsys):
    check()
    moved = pd.read_csv("labels.csv").sample(frac=1, random_state=0)
    moved.to_parquet("moved.parquet")
    assert main(["verify", "out.csv", "--labels", "labels.csv"]) == 0
    assert main(["verify", "out.csv", "--labels", "moved.parquet"]) == 0  # other order and format
    now_biased()
    assert main(["verify", "out.csv", "--labels", "labels.csv"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "labels.csv does not hold the labels that were released any more" in said
    with pytest.raises(InputError, match="any more"):
        read_released("out.csv", labels="labels.csv")
    assert main(["verify", "out.csv", "--labels", "nowhere.csv"]) == 2


@pytest.mark.parametrize(
    ("days", "allowed", "code"), [(29, "30d", 0), (31, "30d", 1), (31, "5w", 0), (2, "47h", 1)]
)
def test_a_release_may_be_too_old(days, allowed, code, capsys):
    check()
    age_by(timedelta(days=days))
    assert main(["verify", "out.csv", "--max-age", allowed]) == code
    assert ("days ago" in capsys.readouterr().out) == bool(code)
    if code:
        with pytest.raises(InputError, match="check the labels again"):
            read_released("out.csv", max_age=timedelta(days=1))


def age_by(age: timedelta) -> None:
    """Release again at an earlier time: a sidecar that was edited would be damaged."""
    import mdba_checks.outputs.sidecar as module

    class Earlier(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) - age

    kept, module.datetime = module.datetime, Earlier
    try:
        assert check("--force") == 0
    finally:
        module.datetime = kept


def test_an_age_that_cannot_be_read_is_one_line(capsys):
    check()
    assert main(["verify", "out.csv", "--max-age", "soon"]) == 2
    assert "--max-age is 'soon': write it as 30d" in capsys.readouterr().err


class TestAnOverride:
    APPROVAL = {  # noqa: RUF012
        "decision": "release",
        "name": "Kim",
        "reason": "a deadline",
        "decided_at": "2026-01-01 00:00:00 UTC",
    }

    @pytest.fixture
    def released(self) -> Path:
        now_biased()
        config = CheckConfig(estimator="selection_rate", reference="men", policy=Policy())
        assessment = assess("labels.csv", "gold.csv", config)
        found = decide_release("labels.csv", "gold.csv", assessment, approval=self.APPROVAL)
        return write_release("labels.csv", found, "out.csv").path

    def test_is_a_field_of_the_sidecar_with_who_when_and_why(self, released):
        record = parse_json(sidecar_path(released).read_bytes())
        assert record["approval"] == {**self.APPROVAL, "verdict": "block"}

    def test_never_looks_like_a_pass(self, released, capsys):
        found = read_released(released)
        assert found.decision.verdict == "annotate"
        assert not found.decision.lets_through
        assert set(found.table["mdba_finding"]) == {"biased"}
        assert main(["verify", str(released)]) == 0
        said = capsys.readouterr().out
        assert "verdict annotate" in said
        assert "not a pass: release by Kim, 2026-01-01 00:00:00 UTC: a deadline" in said
        assert "(the verdict was block)" in " ".join(said.split())

    def test_without_one_the_field_is_empty(self):
        check()
        assert parse_json(sidecar_path("out.csv").read_bytes())["approval"] is None


def test_a_time_in_the_future_is_no_age():
    check()
    age_by(-timedelta(days=1))
    assert verify("out.csv", max_age=timedelta(hours=1)).ok


def test_released_rows_come_as_a_dataframe_or_an_arrow_table():
    check()
    released = read_released("out.csv")
    arrow = released.to_arrow()
    assert arrow.column_names == list(released.table.columns)
    pd.testing.assert_frame_equal(arrow.to_pandas(), released.table)
