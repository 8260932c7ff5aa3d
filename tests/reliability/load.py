"""Load: many checks at once, with one history and on one Prefect server.

    python -m tests.reliability.load                          # 50 of each, as in `make faults`
    python -m tests.reliability.load --checks 8 --flows 0 --json

Every check has tables of its own, made from a seed of its own, and the same columns and labelers'
names as all others: whoever gets the result of somebody else has another one than the same check
run alone. Counted are checks without a result (lost), results that are not their own (mixed up),
and the memory that a check and the server need at most.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mdba_checks import CheckConfig, assess, gate
from mdba_checks.outputs import parse_json, sidecar_path, to_record, verify
from mdba_checks.simulation import simulate

ROOT = Path(__file__).parents[2]
CONFIG = {
    "reference": "men",
    "jobs": 1,
    "policy": {"max_gap": 0.15, "mode": "annotate", "on_inconclusive": "annotate"},
}
PREFECT = [sys.executable, "-m", "prefect"]


@dataclass(frozen=True)
class Load:
    """What became of many checks at once; memory in MB, at most."""

    what: str
    runs: int
    lost: int
    mixed_up: int
    seconds: float
    check_mb: int
    server_mb: int = 0


@dataclass(frozen=True)
class Tables:
    """The tables of one check, and where its results go."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, seed: int) -> Tables:
        folder.mkdir(parents=True)
        made = simulate(
            n_items=1_200,
            n_labelers=3,
            gold_per_group=80,
            # No two checks have the same gaps.
            tprs=[0.3 + 0.6 * (seed * 37 % 101) / 101, 0.9, 0.6],
            seed=seed,
        )
        made.labels.to_csv(folder / "labels.csv", index=False)
        made.gold.to_csv(folder / "gold.csv", index=False)
        return cls(folder)

    @property
    def labels(self) -> str:
        return str(self.folder / "labels.csv")

    @property
    def gold(self) -> str:
        return str(self.folder / "gold.csv")

    @property
    def output(self) -> Path:
        return self.folder / "out.parquet"

    def alone(self) -> dict[str, Any]:
        """Return the record of the same check, made by itself."""
        found = assess(self.labels, self.gold, CheckConfig.from_mapping(CONFIG))
        return to_record(found, gate(found)).values()

    def is_mine(self, record: dict[str, Any]) -> bool:
        """Return whether a record is that of the same check run alone, and the data are whole."""
        alone = self.alone()
        keys = ("verdict", "reasons", "gaps", "data", "config")
        whole = verify(self.output)
        return (
            all(record[key] == alone[key] for key in keys)
            and whole.ok
            and whole.record is not None
            and whole.record.values()["gaps"] == alone["gaps"]
        )


# --- Checks with one history ----------------------------------------------------------------------


def checks(folder: Path, count: int) -> Load:
    """Start all checks at once; the operating system alone says who runs when."""
    settings = folder / "mdba.yaml"
    settings.write_text(json.dumps(CONFIG))
    tables = [Tables.make(folder / f"check-{number}", number) for number in range(count)]
    began = time.perf_counter()
    started = [
        subprocess.Popen(
            _command(each, settings, folder / "history"),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for each in tables
    ]
    peak, ended = 0, {}
    for process in started:
        _, status, used = os.wait4(process.pid, 0)
        ended[process.pid] = os.waitstatus_to_exitcode(status)
        process.returncode = ended[process.pid]  # it was waited for here
        peak = max(peak, used.ru_maxrss)
    seconds = time.perf_counter() - began
    lost = mixed_up = 0
    for process, each in zip(started, tables, strict=True):
        written = each.folder / "check.json"
        if ended[process.pid] != 0 or not written.exists():
            lost += 1
        elif not each.is_mine(parse_json(written.read_bytes())):
            mixed_up += 1
    remembered = [parse_json(each.read_bytes()) for each in (folder / "history").iterdir()]
    lost += count - len({each["data"]["labels_hash"] for each in remembered})
    return Load("checks with one history", count, lost, mixed_up, round(seconds, 1), peak >> 10)


def _command(tables: Tables, settings: Path, history: Path) -> list[str]:
    asked = [sys.executable, "-W", "ignore", "-m", "mdba_checks", "check", tables.labels, "--quiet"]
    asked += ["--gold", tables.gold, "--config", str(settings), "--history", str(history)]
    return [*asked, "--output", str(tables.output), "--json", str(tables.folder / "check.json")]


# --- Runs on one server ---------------------------------------------------------------------------


class Project:
    """A Prefect server, and workers, in a folder with the flows and `prefect.yaml`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        flows = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "flows", folder / "flows", ignore=flows)
        shutil.copy(ROOT / "prefect.yaml", folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.api = f"http://127.0.0.1:{port}/api"
        self.environment = {
            **os.environ,
            "PREFECT_API_URL": self.api,
            "PREFECT_HOME": str(folder / "home"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder}/server.db",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PYTHONPATH": str(ROOT),
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.server = self.start("server", "start", "--port", str(port), "--no-ui")

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            process = subprocess.Popen(
                [*PREFECT, *words],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that it can be ended with all that it starts
            )
        self.processes.append(process)
        return process

    def command(self, *words: str) -> None:
        subprocess.run(
            [*PREFECT, "--no-prompt", *words],
            check=True,
            cwd=self.folder,
            env=self.environment,
            timeout=300,
            capture_output=True,
        )

    def stop(self) -> None:
        for process in reversed(self.processes):
            kill_all(process)


@contextmanager
def project(folder: Path) -> Iterator[Project]:
    """Start a server with both deployments; inside, Prefect's client talks to it."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    made = Project(folder)
    try:
        with temporary_settings({PREFECT_API_URL: made.api}):
            until(_healthy, 240)
            made.command("work-pool", "create", "--type", "process", "mdba")
            made.command("deploy", "--all")
            yield made
    finally:
        made.stop()


def flows(folder: Path, count: int, *, limit: int = 4) -> Load:
    """Order all runs of the gate at once from one server; a worker runs `limit` at a time."""
    from prefect.client.orchestration import get_client

    place = folder / "project"
    place.mkdir()
    tables = [Tables.make(folder / f"flow-{number}", 1_000 + number) for number in range(count)]
    with project(place) as made, get_client(sync_client=True) as client:
        found = client.read_deployment_by_name("label-bias-gate/label-bias-gate")
        began = time.perf_counter()
        runs = [
            client.create_flow_run_from_deployment(
                found.id,
                parameters={
                    "labels": each.labels,
                    "gold": each.gold,
                    "config": CONFIG,
                    "output": str(each.output),
                },
            ).id
            for each in tables
        ]
        worker = made.start("worker", "start", "--pool", "mdba", "--limit", str(limit))
        waiting, states, check_kb = set(runs), {}, 0
        while waiting and time.perf_counter() - began < 60 * count:
            for number in family(worker.pid) - {worker.pid}:
                check_kb = max(check_kb, peak_of(number))
            for run in list(waiting):
                state = client.read_flow_run(run).state
                if state and state.is_final():
                    states[run] = state
                    waiting.discard(run)
            time.sleep(1)
        seconds = time.perf_counter() - began
        server_kb = sum(peak_of(number) for number in family(made.server.pid))
    lost = mixed_up = 0
    for run, each in zip(runs, tables, strict=True):
        # Annotated where somebody is biased or undecided, Passed where everybody is fair.
        state = states.get(run)
        if state is None or state.name not in ("Annotated", "Passed") or not each.output.exists():
            lost += 1
        elif not each.is_mine(parse_json(sidecar_path(each.output).read_bytes())):
            mixed_up += 1
    what = f"flow runs on one server, {limit} at a time"
    return Load(what, count, lost, mixed_up, round(seconds, 1), check_kb >> 10, server_kb >> 10)


def until(condition: Any, seconds: float) -> Any:
    """Return what `condition` returns once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.3)
    msg = f"it did not become true within {seconds} seconds"
    raise TimeoutError(msg)


def _healthy() -> bool:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.api_healthcheck() is None


# --- Processes ------------------------------------------------------------------------------------


def family(number: int) -> set[int]:
    """Return a process and all that came from it and are still there."""
    parents = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                # The name, in brackets, may hold anything.
                parents[int(each.name)] = int(
                    (each / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:  # it has ended meanwhile
                continue
    found = {number}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def peak_of(number: int) -> int:
    """Return the most memory that a process has had, in kB; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{number}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def kill_all(process: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> None:
    """End a process that was started here, and all that came from it, at once."""
    if process.poll() is not None:
        return
    for each in family(process.pid):
        try:
            os.kill(each, number)
        except ProcessLookupError:
            continue
    process.wait(30)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run many checks at once.")
    parser.add_argument("--checks", type=int, default=50)
    parser.add_argument("--flows", type=int, default=50)
    parser.add_argument("--limit", type=int, default=4, help="runs at a time, by the worker")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    found = []
    for count, kind in ((given.checks, checks), (given.flows, flows)):
        if count:
            with tempfile.TemporaryDirectory(prefix="mdba-load-") as folder:
                options = {"limit": given.limit} if kind is flows else {}
                found.append(kind(Path(folder), count, **options))
    if given.json:
        sys.stdout.write(json.dumps([asdict(each) for each in found]) + "\n")
    else:
        for each in found:
            sys.stdout.write(f"{each}\n")
    return int(any(each.lost or each.mixed_up for each in found))


if __name__ == "__main__":
    sys.exit(main())
