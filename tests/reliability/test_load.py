"""Many checks at once: none is lost, and none gets the result of another.

Three here; `make faults` runs fifty (docs/reliability.md).
"""

from __future__ import annotations

import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from mdba_checks.outputs import parse_json, sidecar_path
from tests.reliability.load import CONFIG, Tables, checks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and wait4"),
]

AT_ONCE = 3


def test_checks_that_share_a_history_give_what_each_gives_alone(tmp_path):
    found = checks(tmp_path, AT_ONCE)
    assert (found.runs, found.lost, found.mixed_up) == (AT_ONCE, 0, 0)
    # Two thirds of it are libraries. Linux counts from what the process that starts a check has.
    here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert found.check_mb < max(700, here + 50)


def test_a_result_of_somebody_else_would_be_noticed(tmp_path):
    one, two = (Tables.make(tmp_path / str(seed), seed) for seed in (1, 2))
    assert one.alone()["gaps"] != two.alone()["gaps"]


@pytest.mark.usefixtures("server")
def test_runs_on_one_server_give_what_each_gives_alone(tmp_path):
    from mdba_checks.prefect import label_bias_gate

    tables = [Tables.make(tmp_path / f"flow-{number}", number) for number in range(AT_ONCE)]

    def gate(each: Tables):
        asked = (each.labels, each.gold, CONFIG, str(each.output))
        return label_bias_gate(*asked, return_state=True)

    with ThreadPoolExecutor(4) as pool:  # as many at a time as users would allow
        # Each thread needs the settings that lead to the server.
        started = [pool.submit(copy_context().run, gate, each) for each in tables]
        states = [each.result(240) for each in started]
    for state, each in zip(states, tables, strict=True):
        assert state.name in ("Annotated", "Passed"), state.message
        assert each.is_mine(parse_json(sidecar_path(each.output).read_bytes()))
