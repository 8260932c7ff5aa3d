"""What Great Expectations wants to know about an expectation: its kind, its sources, its makers."""

from __future__ import annotations

from typing import Any

from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metadata_types import DataQualityIssues, SupportedDataSources

_SOURCES = [
    SupportedDataSources.PANDAS.value,
    SupportedDataSources.SPARK.value,
    SupportedDataSources.SQLITE.value,
    SupportedDataSources.POSTGRESQL.value,
]
METADATA: dict[str, str | list[str] | bool] = {
    "maturity": "beta",
    "tags": ["fairness", "labels", "table expectation"],
    "contributors": ["mdba-checks"],
    "requirements": ["mdba-checks[gx]"],
    "has_full_test_suite": True,
    "manually_reviewed_code": True,
}


def describe(schema: dict[str, Any], model: Any, description: str) -> None:
    """Add what Great Expectations wants to know about an expectation to its JSON schema."""
    BatchExpectation.Config.schema_extra(schema, model)
    schema["properties"]["metadata"]["properties"].update(
        {
            "data_quality_issues": {
                "title": "Data Quality Issues",
                "type": "array",
                "const": [DataQualityIssues.VALIDITY.value],
            },
            "library_metadata": {
                "title": "Library Metadata",
                "type": "object",
                "const": METADATA,
            },
            "short_description": {
                "title": "Short Description",
                "type": "string",
                "const": description,
            },
            "supported_data_sources": {
                "title": "Supported Data Sources",
                "type": "array",
                "const": _SOURCES,
            },
        }
    )
