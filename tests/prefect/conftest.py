"""A real Prefect server for the tests here, and tables to check."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")

from prefect.settings import (
    PREFECT_LOCAL_STORAGE_PATH,
    PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL,
    temporary_settings,
)
from prefect.testing.utilities import prefect_test_harness

from mdba_checks import CheckConfig, assess
from tests.prefect.api import Tables, make_tables


@pytest.fixture(scope="session")
def tables(tmp_path_factory) -> Tables:
    return make_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session")
def undecided_at(tables) -> float:
    """A tolerated gap in the middle of L1's interval: nobody can say on which side L1 is."""
    gaps = assess(tables.labels, tables.gold, CheckConfig(reference="men")).gaps
    return float(gaps.loc[gaps["labeler"] == "L1", "gap"].abs().iloc[0])


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[None]:
    """A server with a database of its own; results go to a folder of their own, too."""
    settings = {
        PREFECT_LOCAL_STORAGE_PATH: tmp_path_factory.mktemp("storage"),
        # Events wait to be written together; here somebody waits for them.
        PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL: 0.2,
    }
    with temporary_settings(settings), prefect_test_harness(server_startup_timeout=120):
        yield
