"""`release`, `read_released` and the rule behind them, in Python alone."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from mdba_checks import Blocked, CheckConfig, Policy, assess, read_released, release
from mdba_checks.errors import InputError
from mdba_checks.outputs import ADDED_COLUMNS, decide_release, write_release
from tests.helpers import selection_table, some_gold

FAIR = {"men": (1000, 2000), "women": (1000, 2000)}
BIASED = {"men": (1600, 2000), "women": (400, 2000)}
ANN = {"name": "Ann", "reason": "a pilot", "decided_at": "today"}


def config(**policy) -> CheckConfig:
    return CheckConfig(estimator="selection_rate", reference="men", jobs=1, policy=Policy(**policy))


def test_biased_labels_raise_and_the_reason_survives_a_process():
    labels = selection_table({"ann": FAIR, "bob": BIASED})
    with pytest.raises(Blocked, match=r"block: 1 labeler biased beyond ±0[.]1: bob") as caught:
        release(labels, some_gold(), config())
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  our own
    assert again.decision == caught.value.decision
    assert str(again) == str(caught.value)


@pytest.mark.parametrize(("mode", "who"), [("annotate", {"ann", "bob"}), ("quarantine", {"ann"})])
def test_the_rows_are_those_that_may_be_trained_on_untouched(mode, who):
    labels = selection_table({"ann": FAIR, "bob": BIASED}).sample(frac=1, random_state=1)
    released = release(labels, some_gold(), config(mode=mode))
    wanted = labels[labels["labeler"].isin(who)]
    pd.testing.assert_frame_equal(released.table[list(labels)], wanted)
    assert list(released.table) == [*labels, *ADDED_COLUMNS]
    assert not released.decision.lets_through
    assert released.config.policy.mode == mode


def test_a_written_release_is_read_back_with_its_decision(tmp_path):
    labels = selection_table({"007": FAIR, "bob": BIASED})
    found = decide_release(
        labels, some_gold(), assess(labels, some_gold(), config(mode="quarantine"))
    )
    for name in ("out.csv", "out.parquet"):
        write_release(labels, found, tmp_path / name)
        released = read_released(tmp_path / name)
        assert set(released.table["labeler"]) == {"007"}
        assert released.decision.verdict == "quarantine"
        assert released.decision.reasons == found.decision.reasons
        assert isinstance(released.table, pd.DataFrame)


def test_what_is_stopped_cannot_be_written(tmp_path):
    labels = selection_table({"bob": BIASED})
    found = decide_release(labels, some_gold(), assess(labels, some_gold(), config()))
    with pytest.raises(Blocked):
        write_release(labels, found, tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_what_is_left_is_checked_until_nobody_has_to_go():
    """20 of 8,020 labels are 0.25%, and of the 4,020 that are left without `biased` 0.5%."""
    people = {"fair": FAIR, "biased": BIASED, "open": {"men": (5, 10), "women": (6, 10)}}
    labels = selection_table(people)
    assessment = assess(labels, some_gold(), config(mode="quarantine", max_undecided=0.004))
    found = decide_release(labels, some_gold(), assessment)
    assert found.parts.labelers == ("biased", "open")
    assert found.parts.decision.verdict == "pass"
    assert set(found.table(labels)["labeler"]) == {"fair"}
    gone = found.parts.findings[found.parts.removed]["mdba_finding"]
    assert set(gone) == {"biased", "inconclusive"}


class TestAPersonsWord:
    LABELS = selection_table({"ann": FAIR, "bob": BIASED})

    def settled(self, decision: str):
        assessment = assess(self.LABELS, some_gold(), config())
        said = {"decision": decision, **ANN}
        return decide_release(self.LABELS, some_gold(), assessment, approval=said)

    @pytest.mark.parametrize(
        ("decision", "verdict", "who"),
        [("release", "annotate", {"ann", "bob"}), ("quarantine", "quarantine", {"ann"})],
    )
    def test_lets_rows_out_and_never_looks_like_a_pass(self, decision, verdict, who):
        found = self.settled(decision)
        assert found.decision.verdict == verdict
        assert set(found.table(self.LABELS)["labeler"]) == who
        record = found.record().values()
        assert record["approval"] == {"decision": decision, **ANN, "verdict": "block"}
        assert record["reasons"][0].startswith(f"{decision} by Ann, today: a pilot")

    def test_block_stops(self):
        assert self.settled("block").decision.stops


def test_a_file_that_nobody_released_is_refused(tmp_path):
    selection_table({"ann": FAIR}).to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(InputError, match="was not released by the gate as it is"):
        read_released(tmp_path / "labels.csv")


def test_reading_and_verifying_need_neither_prefect_nor_great_expectations(tmp_path):
    labels = selection_table({"ann": FAIR})
    found = decide_release(labels, some_gold(), assess(labels, some_gold(), config()))
    write_release(labels, found, tmp_path / "out.csv")
    code = """
import sys
sys.modules["prefect"] = sys.modules["great_expectations"] = None
from mdba_checks import read_released, verify
assert verify(sys.argv[1]).ok
print(len(read_released(sys.argv[1]).table))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out.csv")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) == len(labels)
    assert np.isfinite(read_released(tmp_path / "out.csv").table["mdba_gap"]).any()
