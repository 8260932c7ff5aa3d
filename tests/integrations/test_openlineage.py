"""The facet in the sidecar, and an event that the real client emits."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("openlineage.client", reason="needs mdba-checks[openlineage]")

from openlineage.client import OpenLineageClient
from openlineage.client.generated.data_quality_assertions_dataset import (
    Assertion,
    DataQualityAssertionsDatasetFacet,
)
from openlineage.client.transport.file import FileConfig, FileTransport

from mdba_checks import CheckConfig, assess
from mdba_checks.errors import InputError
from mdba_checks.integrations import openlineage_event
from mdba_checks.outputs import decide_release, sidecar_path, write_release


@pytest.fixture(scope="module")
def kept(partly, tmp_path_factory):
    """L1 was taken out of it."""
    output = tmp_path_factory.mktemp("kept") / "kept.parquet"
    assessment = assess(partly.labels, partly.gold, CheckConfig.from_yaml(partly.config))
    write_release(partly.labels, decide_release(partly.labels, partly.gold, assessment), output)
    return output


def outcome(facet):
    return {each["assertion"]: (each["success"], each["actual"]) for each in facet["assertions"]}


def test_the_facet_in_the_sidecar_is_one_that_the_client_knows(kept):
    record = json.loads(sidecar_path(kept).read_text())
    facet = record["openlineage"]["dataQualityAssertions"]
    known = DataQualityAssertionsDatasetFacet([Assertion(**each) for each in facet["assertions"]])
    assert facet["_schemaURL"] == known._get_schema()
    # About the rows that stay: L2 and L3 are fair.
    gaps = [abs(row["gap"]) for row in record["recheck"]["gaps"]]
    assert outcome(facet) == {
        "label_bias_verdict": (True, "pass"),
        "labeler_tpr_gap": (True, f"{max(gaps):.3f}"),
    }
    assert "L1" not in json.dumps(facet)


def test_the_client_emits_the_event_of_a_released_file(kept, partly, tmp_path):
    log = tmp_path / "events.json"
    client = OpenLineageClient(transport=FileTransport(FileConfig(log_file_path=str(log))))
    client.emit(openlineage_event(kept, namespace="hiring"))
    (file,) = tmp_path.glob("events.json*")
    event = json.loads(file.read_text())
    labels, gold = event["inputs"]
    assert (labels["name"], gold["name"]) == (partly.labels, partly.gold)
    assert event["eventType"] == "COMPLETE"
    # About all rows: L1 is biased, the table must not be used as it is.
    found = outcome(labels["inputFacets"]["dataQualityAssertions"])
    assert found["label_bias_verdict"] == (False, "quarantine")
    assert found["labeler_tpr_gap"][0] is False
    record = json.loads(sidecar_path(kept).read_text())
    (released,) = event["outputs"]
    assert released["facets"]["version"]["datasetVersion"] == record["file"]["content_hash"]


def test_a_file_that_was_not_released_has_no_event(partly):
    with pytest.raises(InputError, match="was not released by the gate"):
        openlineage_event(partly.labels, namespace="hiring")
