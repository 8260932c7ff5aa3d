"""Other tools of a pipeline: MLflow, Dagster, Airflow, OpenLineage.

Each adapter calls `assess`, `gate` and what decides a release, and tells its tool the outcome in
the tool's own form. None of them decides anything itself. Each needs an extra of its own, named
like the tool in small letters, and imports it when it is first used.
"""

from typing import TYPE_CHECKING, Any

__all__ = [
    "airflow_release",
    "dagster_asset",
    "dagster_check",
    "mlflow_release",
    "openlineage_event",
]

if TYPE_CHECKING:
    from mdba_checks.integrations.airflow import airflow_release
    from mdba_checks.integrations.dagster import dagster_asset, dagster_check
    from mdba_checks.integrations.mlflow import mlflow_release
    from mdba_checks.integrations.openlineage import openlineage_event


def __getattr__(name: str) -> Any:
    """Import an adapter when it is first used: its tool may not be installed."""
    from importlib import import_module

    if name not in __all__:
        msg = f"module 'mdba_checks.integrations' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"mdba_checks.integrations.{name.partition('_')[0]}"), name)
    globals()[name] = value
    return value
