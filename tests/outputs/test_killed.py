"""However a writer ends, readers find no file or a whole one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


JOBS = ("annotate:csv", "quarantine:parquet", "race:csv", "race:parquet")


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, list[dict]]:
    """Return what one process found out, which imports everything once."""
    program = Path(__file__).with_name("killed.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program, tmp_path_factory.mktemp("killed"), *JOBS],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("job", JOBS[:2])
def test_a_killed_writer_leaves_no_file_or_a_whole_one_and_the_next_cleans_up(found, job):
    rounds = found[job]
    assert any(each["killed"] for each in rounds)
    for each in rounds:
        after, again = each["after"], each["again"]
        assert after["there"] == (after["verified"] and after["ids"])
        # A file that was finished before the kill is not replaced without being asked to.
        assert each["refused"] == after["there"]
        assert again == {"there": True, "verified": True, "ids": True, "temporary": 0} or (
            each["refused"] and again["verified"] and again["ids"]
        )


@pytest.mark.parametrize("job", JOBS[2:])
def test_two_writers_at_once_leave_one_whole_file(found, job):
    for each in found[job]:
        assert each["codes"] == ([0, 0] if each["force"] else [0, 2])
        assert each["state"] == {"there": True, "verified": True, "ids": True, "temporary": 0}
