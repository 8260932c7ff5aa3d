"""Airflow: a task that writes the rows that may be trained on, or fails for good."""

from __future__ import annotations

from mdba_checks.errors import MissingExtraError
from mdba_checks.integrations.outcome import Config, check
from mdba_checks.outputs import check_outputs, remove, write_release

try:
    from airflow.sdk.exceptions import AirflowFailException
except ModuleNotFoundError as error:
    if error.name != "airflow":
        raise
    raise MissingExtraError("airflow_release", "airflow") from None


def airflow_release(
    labels: str, gold: str, config: str | None = None, *, output: str, force: bool = True
) -> str:
    """Check labels, write the rows that may be trained on with their sidecar, return their path.

    The path is small enough for XCom, and `read_released` of the task that trains refuses a file
    that was changed on the way. A verdict that stops raises `AirflowFailException`: Airflow does
    not try again what would be decided alike. What an earlier run wrote there is removed
    first, so that nothing trains on an older release by mistake.

    Parameters
    ----------
    labels, gold
        Paths or URLs, as for `assess`.
    config
        The path of a YAML file with the settings.
    output
        A name that ends in .csv, .csv.gz or .parquet.
    force
        Whether the files of an earlier run may be replaced.

    Examples
    --------
    ::

        @dag(schedule="@daily")
        def training():
            released = task(airflow_release)("labels.csv", "gold.csv", output="released.parquet")
            train(released)
    """
    settings: Config = config
    check_outputs(output, force=force, inputs=[labels, gold])
    if force:
        remove(output)
    found = check(labels, gold, settings)
    if found.decision.stops:
        message = f"{found.decision.verdict}: {' '.join(found.decision.reasons)}"
        raise AirflowFailException(message)
    published = write_release(labels, found, output, force=force, inputs=[gold])
    return str(published.path)
