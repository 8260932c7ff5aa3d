"""Whatever the system does to a check: nothing is lost, let through or mis-stated.

Here every fault is made a few times; `make faults` makes it often (docs/reliability.md).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import parse_json, quarantine, to_record
from mdba_checks.simulation import simulate
from tests.helpers import write_annotated
from tests.reliability.faults.bench import (
    Bench,
    Ended,
    half_a_file,
    judged,
    mis_stated,
    same_numbers,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, tmpfs and /proc")

ROOT = Path(__file__).parents[2]
FAULTS = (
    "killed",
    "interrupted",
    "disk full",
    "file too large",
    "output full",
    "folder read-only",
    "table replaced",
    "table truncated",
    "database locked",
    "database gone",
    "out of memory",
)


@pytest.fixture(scope="module")
def trials() -> dict[str, list[dict[str, str]]]:
    """Make all faults in one process: what a check imports is imported once."""
    program = [sys.executable, "-W", "ignore", "-m", "tests.reliability.faults"]
    done = subprocess.run(
        [*program, "--few", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_lost_let_through_or_mis_stated(trials, fault):
    made = trials[fault]
    if fault == "disk full" and not made:
        pytest.skip("a small disk cannot be mounted here: it needs root")
    assert made
    for each in made:
        assert (each["lost"], each["let_through"], each["mis_stated"]) == ("", "", "")


@pytest.mark.parametrize(
    "fault",
    ["disk full", "file too large", "output full", "folder read-only", "database locked"],
)
def test_a_fault_that_surely_hits_ends_with_bad_input(trials, fault):
    if fault == "disk full" and not trials[fault]:
        pytest.skip("a small disk cannot be mounted here: it needs root")
    # The last one of those that grow may have had enough room.
    hit = trials[fault][:-1] if fault in ("disk full", "file too large") else trials[fault]
    assert {each["outcome"] for each in hit} == {"exit 2"}


class TestTheQuestionsCanBeAnsweredWithYes:
    """What the trials are asked about would be found: each fact is put there by hand."""

    @pytest.fixture
    def out(self, tmp_path):
        made = simulate(
            n_items=1_500, n_labelers=3, gold_per_group=100, tprs=[0.3, 0.9, 0.9], seed=4
        )
        config = CheckConfig(estimator="selection_rate", reference="men", jobs=1)
        found = assess(made.labels, made.gold, config)
        policy = Policy(mode="annotate", on_inconclusive="annotate")
        write_annotated(made.labels, found, gate(found, policy), tmp_path / "out.csv")
        (tmp_path / "check.json").write_text(to_record(found, gate(found)).to_json())
        (tmp_path / "junit.xml").write_text("<a/>")
        (tmp_path / "report.html").write_text("<html></html>")
        assert half_a_file(tmp_path) == ""
        return tmp_path

    @pytest.mark.parametrize(
        "name", ["out.csv", "out.csv.mdba.json", "check.json", "junit.xml", "report.html"]
    )
    def test_half_a_file_is_lost(self, out, name):
        content = (out / name).read_bytes()
        (out / name).write_bytes(content[: len(content) // 2])
        assert name in half_a_file(out)

    def test_half_a_record_in_the_history_is_lost(self, out):
        (out / "history").mkdir()
        (out / "history" / "check.json").write_bytes(b'{"verdict": ')
        assert half_a_file(out) == "check.json in the history is not whole"

    @pytest.mark.parametrize("code", [0, 3])
    def test_another_verdict_is_let_through(self, out, tmp_path_factory, code):
        bench = Bench(tmp_path_factory.mktemp("bench"), mode="block", n_items=1_000)
        record = parse_json((out / "check.json").read_bytes())
        bench.usual = (Ended(1, "", 1.0), record)
        assert judged(bench, Ended(1, "", 1.0), out, again=False).let_through == ""
        assert judged(bench, Ended(code, "", 1.0), out, again=False).let_through

    def test_a_changed_input_is_lost(self, out, tmp_path_factory):
        bench = Bench(tmp_path_factory.mktemp("bench"), mode="block", n_items=1_000)
        bench.usual = (Ended(1, "", 1.0), {})
        with (bench.inputs / "gold.csv").open("a") as file:
            file.write("\n")
        trial = judged(bench, Ended(-9, "", 1.0), out, again=False)
        assert trial.lost == "an input is not what it was"

    @pytest.mark.parametrize(
        "said",
        ["", "mdba: one\nmdba: two\n", "Traceback (most recent call last):\n", "mdba: oh dear\n"],
    )
    def test_an_end_without_the_right_words_is_mis_stated(self, said):
        assert mis_stated(Ended(2, said, 1.0), "No space left on device")
        assert not mis_stated(Ended(2, "mdba: No space left on device\n", 1.0), "No space left")

    def test_numbers_of_another_check_are_told_apart(self, out):
        record = parse_json((out / "check.json").read_bytes())
        assert same_numbers(record, record)
        assert not same_numbers(record, {**record, "gaps": record["gaps"][:1]})


class TestLabelsThatChangeBetweenReadingAndWriting:
    """What is written is what was assessed, or nothing."""

    @pytest.fixture
    def checked(self, tmp_path):
        made = simulate(
            n_items=1_500, n_labelers=3, gold_per_group=100, tprs=[0.3, 0.9, 0.9], seed=4
        )
        labels, gold = tmp_path / "labels.csv", tmp_path / "gold.csv"
        made.labels.to_csv(labels, index=False)
        made.gold.to_csv(gold, index=False)
        policy = Policy(mode="quarantine", on_inconclusive="annotate", max_gap=0.05)
        config = CheckConfig(estimator="selection_rate", reference="men", jobs=1, policy=policy)
        return labels, gold, assess(labels, gold, config)

    def test_annotate_refuses(self, checked, tmp_path):
        labels, _, assessment = checked
        text = labels.read_text()
        labels.write_text(text.replace(",men,", ",women,", 1))
        out = tmp_path / "out.csv"
        with pytest.raises(InputError, match="does not hold the labels that were assessed"):
            write_annotated(labels, assessment, gate(assessment), out)
        assert not out.exists()
        labels.write_text(text)
        assert write_annotated(labels, assessment, gate(assessment), out).path.exists()

    def test_a_second_check_with_other_gold_is_refused(self, checked):
        labels, gold, assessment = checked
        lines = gold.read_text().splitlines(keepends=True)
        gold.write_text("".join(lines[:-1]))
        with pytest.raises(InputError, match="gold was changed while the labels were checked"):
            quarantine(labels, gold, assessment)
