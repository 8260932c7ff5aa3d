"""What is left of memory, against limits that are set in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mdba_checks.tables.memory import left


def test_no_more_is_left_than_the_machine_has():
    assert 0 < left() < sys.maxsize


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are set as Linux has them")
@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_process_counts_less_what_it_has_taken(kind):
    code = (
        f"import resource as r; r.setrlimit(r.{kind}, (1 << 30, 1 << 30));"
        "from mdba_checks.tables.memory import left; before = left(); taken = bytearray(200 << 20);"
        "print(before, left())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before < 1 << 30
    assert before - after == pytest.approx(200 << 20, rel=0.05)
