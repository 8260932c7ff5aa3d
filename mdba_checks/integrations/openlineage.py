"""OpenLineage: the event of a check that released a data set."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mdba_checks.errors import InputError, MissingExtraError
from mdba_checks.outputs import openlineage_facets, verify

try:
    from openlineage.client import event_v2
    from openlineage.client.generated.data_quality_assertions_dataset import (
        Assertion,
        DataQualityAssertionsDatasetFacet,
    )
    from openlineage.client.generated.dataset_version_dataset import DatasetVersionDatasetFacet
    from openlineage.client.uuid import generate_new_uuid
except ModuleNotFoundError as error:
    if not str(error.name).startswith("openlineage"):
        raise
    raise MissingExtraError("openlineage_event", "openlineage") from None


def openlineage_event(
    path: str | Path, *, namespace: str, job: str = "mdba-checks", run: str | None = None
) -> event_v2.RunEvent:
    """Return the event that says: this data set was released by a check of those labels.

    Labels and gold are inputs; the labels carry what was found out about them, the released data
    set the hash of its content as its version.

    Parameters
    ----------
    path
        A data set that left the gate, with its sidecar.
    namespace
        Of the data sets and of the job, as your lineage tool knows them.
    job
        The name of the job.
    run
        The id of the run, a UUID; a new one by default.

    Raises
    ------
    InputError
        When the file is not the one its sidecar describes.

    Examples
    --------
    ::

        OpenLineageClient().emit(openlineage_event("kept.parquet", namespace="hiring"))
    """
    found = verify(path)
    if not found.ok or found.record is None:
        raise InputError(f"{path} was not released by the gate as it is: {found.reason}")
    record, about, origin = found.record, found.record.file, found.record.origin
    if about is None or origin is None:
        raise InputError(f"the sidecar of {path} does not say what was checked")
    producer = f"urn:mdba-checks:{record.version}"
    whole = openlineage_facets(record.model_copy(update={"recheck": None}))
    said: list[dict[str, Any]] = whole["dataQualityAssertions"]["assertions"]
    facet = DataQualityAssertionsDatasetFacet([Assertion(**each) for each in said])
    version = DatasetVersionDatasetFacet(about.content_hash)
    return event_v2.RunEvent(
        eventTime=datetime.now(UTC).isoformat(),
        eventType=event_v2.RunState.COMPLETE,
        producer=producer,
        run=event_v2.Run(runId=run or str(generate_new_uuid())),
        job=event_v2.Job(namespace=namespace, name=job),
        inputs=[
            event_v2.InputDataset(
                namespace=namespace,
                name=origin.labels or "labels",
                inputFacets={"dataQualityAssertions": facet},
            ),
            event_v2.InputDataset(namespace=namespace, name=origin.gold or "gold"),
        ],
        outputs=[
            event_v2.OutputDataset(namespace=namespace, name=str(path), facets={"version": version})
        ],
    )
