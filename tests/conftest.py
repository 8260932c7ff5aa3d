"""What every test runs under: one thread per library, no telemetry, the same examples each time."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

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
