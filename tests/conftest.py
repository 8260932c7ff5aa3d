"""What every test runs under: one thread per library, no telemetry, the same examples each time."""

from __future__ import annotations

import os

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

from hypothesis import settings

# Derandomised: a change is judged by the examples its predecessor was judged by. No deadline: the
# first example pays for imports.
settings.register_profile("repeatable", derandomize=True, deadline=None)
# For a search on purpose: pytest --hypothesis-profile=search
settings.register_profile("search", max_examples=2_000, deadline=None)
settings.load_profile("repeatable")
