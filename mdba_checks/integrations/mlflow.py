"""MLflow: the run that trains carries the verdict on its labels."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mdba_checks.errors import InputError, MissingExtraError
from mdba_checks.integrations.outcome import Config, check, numbers
from mdba_checks.outputs import Blocked, Release, Released, findings_csv
from mdba_checks.tables import Source

try:
    import mlflow
except ModuleNotFoundError as error:
    if error.name != "mlflow":
        raise
    raise MissingExtraError("mlflow_release", "mlflow") from None


def mlflow_release(
    labels: Source, gold: Source, config: Config = None, *, report: bool = True, **models: Any
) -> Released:
    """Check labels and return the rows that may be trained on, as `release` does; log the outcome.

    The active run gets tags (`mdba.verdict`, `mdba.labels_hash`, `mdba.gold_hash`, `mdba.version`),
    metrics (`mdba.largest_gap`, `mdba.overall_gap`, `mdba.labelers_biased` and others) and, in the
    folder `mdba` of its artifacts, the record of the check and the report. A stop is logged, too.
    Record and report name labelers, unless `pseudonymize` is set.

    Parameters
    ----------
    labels, gold
        As for `assess`.
    config
        Settings, or the path of a YAML file with them.
    report
        Whether the HTML report is logged; it needs no other extra.
    models
        `learner`, `text_model` and `progress`, as for `assess`.

    Raises
    ------
    Blocked
        When no rows may be trained on; the run then says so.
    InputError
        When no run is active, or the tables or the settings cannot be used.

    Examples
    --------
    ::

        with mlflow.start_run():
            released = mlflow_release("labels.parquet", "gold.csv", "mdba.yaml")
            train(released.table)
    """
    if mlflow.active_run() is None:
        raise InputError("no MLflow run is active: call mlflow_release inside mlflow.start_run()")
    # Until the end of the check, a run that was killed says that nothing is known.
    mlflow.set_tag("mdba.verdict", "unknown")
    found = check(labels, gold, config, **models)
    _log(found, report=report)
    if found.decision.stops:
        raise Blocked(found.decision)
    return Released(found.table(labels), found.decision, found.record())


def _log(found: Release, *, report: bool) -> None:
    record = found.record()
    with TemporaryDirectory() as folder:
        Path(folder, "record.json").write_text(record.to_json(), encoding="ascii")
        Path(folder, "findings.csv").write_text(findings_csv(record.values()), encoding="utf-8")
        if report:
            found.judged.to_html(Path(folder, "report.html"), decision=found.decision)
        mlflow.log_artifacts(folder, "mdba")
    mlflow.log_metrics({f"mdba.{name}": value for name, value in numbers(found).items()})
    mlflow.set_tags(
        {
            "mdba.reasons": "\n".join(found.decision.reasons)[:5000],  # what MLflow keeps of a tag
            "mdba.labels_hash": found.assessment.data.labels_hash,
            "mdba.gold_hash": found.assessment.data.gold_hash,
            "mdba.version": record.version,
            "mdba.verdict": found.decision.verdict,
        }
    )
