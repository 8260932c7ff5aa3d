"""What every test runs under: one thread per library, no telemetry, the same examples each time."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Set before numpy, XGBoost or Prefect are imported; they look only once.
os.environ.update(
    {
        # Tests run in parallel processes; threads inside them only get in each other's way.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # No window, whatever the machine offers.
        "MPLBACKEND": "Agg",
        # Prefect and others neither call home nor give up on a busy machine.
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        # Nothing here is scheduled, late, lost or cancelled: the server need not look for it.
        **{
            f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false"
            for name in ("SCHEDULER", "LATE_RUNS", "FOREMAN", "CANCELLATION_CLEANUP", "REPOSSESSOR")
        },
    }
)

import pytest
from hypothesis import settings

# Derandomised: a change is judged by the examples its predecessor was judged by. No deadline: the
# first example pays for imports.
settings.register_profile("repeatable", derandomize=True, deadline=None)
# For a search on purpose: pytest --hypothesis-profile=search
settings.register_profile("search", max_examples=2_000, deadline=None)
settings.load_profile("repeatable")

ROOT = Path(__file__).parents[1]
# What takes seconds to start is started once: one process runs all files that ask for it.
STARTED_ONCE = ("server", "spark")
# The longest begin first, so that no process is left with one of them at the end.
FIRST = ("server", "tests/prefect/test_deployment.py", "spark", "tests/docs/test_commands.py")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say which tests run in one process, and in which order; `make test` distributes groups."""
    group = {item.path: item.path.relative_to(ROOT).as_posix() for item in items}
    for item in items:
        for name in STARTED_ONCE:
            if name in getattr(item, "fixturenames", ()):
                group[item.path] = name
    size = Counter(group[item.path] for item in items)
    first = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: (first.get(group[item.path], len(first)), -size[group[item.path]]))
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            item.add_marker(pytest.mark.xdist_group(group[item.path]))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Prefect server with a database and a folder for results of its own."""
    pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")
    from prefect.settings import (
        PREFECT_LOCAL_STORAGE_PATH,
        PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL,
        temporary_settings,
    )
    from prefect.testing.utilities import prefect_test_harness

    values = {
        PREFECT_LOCAL_STORAGE_PATH: tmp_path_factory.mktemp("storage"),
        # Events wait to be written together; here somebody waits for them.
        PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL: 0.2,
    }
    with temporary_settings(values), prefect_test_harness(server_startup_timeout=600):
        yield


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The URL of an empty PostgreSQL database, which is dropped afterwards."""
    given = os.environ.get("MDBA_TEST_POSTGRES")
    if not given:
        pytest.skip(
            "NO POSTGRESQL TESTS: run them with make test, or as sh scripts/with-postgres.sh "
            "COMMAND, or set MDBA_TEST_POSTGRES to the URL of a server's database"
        )
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs mdba-checks[sql]")
    # A database for each file of tests: files run at the same time.
    name = f"mdba_{uuid.uuid4().hex}"
    server = sqlalchemy.create_engine(given, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(sqlalchemy.text(f"create database {name}"))
    try:
        yield server.url.set(database=name).render_as_string(hide_password=False)
    finally:
        with server.connect() as connection:
            connection.execute(sqlalchemy.text(f"drop database {name} with (force)"))
        server.dispose()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield an S3 server of this machine as a file system; it has a bucket ``labels-2024``."""
    fsspec = pytest.importorskip("fsspec", reason="needs mdba-checks[cloud]")
    pytest.importorskip("s3fs", reason="needs mdba-checks[cloud]")
    moto = pytest.importorskip("moto.server", reason="needs mdba-checks[dev]")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    storage = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
    storage.makedirs("labels-2024", exist_ok=True)
    yield storage
    storage.rm("labels-2024", recursive=True)  # servers of one process share what they hold
    fsspec.filesystem("s3").clear_instance_cache()
    server.stop()
