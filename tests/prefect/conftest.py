"""Tables to check; the server is in tests/conftest.py."""

from __future__ import annotations

import pytest

pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")

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
