"""What a lineage tool is told about a check: facets of OpenLineage, in the sidecar.

They are plain JSON, so that any tool can put them into its events without this library. They name
no labelers: who may see lineage need not know whose labels are biased.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAME = "DataQualityAssertionsDatasetFacet"
_SCHEMA = f"https://openlineage.io/spec/facets/1-1-0/{_NAME}.json#/$defs/{_NAME}"
_SETTLED = ("fair", "borderline")


def openlineage_facets(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `inputFacets` of a data set, from the record of its check.

    The facet `dataQualityAssertions` says whether the labels may be used as they are, and whether
    every labeler was shown to be within the limit. After a quarantine it is about the rows that
    stay.

    Examples
    --------
    >>> policy, gap = {"max_gap": 0.1}, {"gap": -0.3, "finding": "biased"}
    >>> record = {"verdict": "block", "metric": "tpr", "policy": policy, "gaps": [gap]}
    >>> facet = openlineage_facets({**record, "version": "1.0"})["dataQualityAssertions"]
    >>> [(each["assertion"], each["success"]) for each in facet["assertions"]]
    [('label_bias_verdict', False), ('labeler_tpr_gap', False)]
    """
    about = {**record, **record.get("recheck", {})}
    gaps = [row["gap"] for row in about["gaps"] if row["gap"] is not None]
    verdict = {
        "assertion": "label_bias_verdict",
        "success": about["verdict"] == "pass",
        "expected": "pass",
        "actual": about["verdict"],
    }
    labelers = {
        "assertion": f"labeler_{record['metric']}_gap",
        "success": bool(gaps) and all(row["finding"] in _SETTLED for row in about["gaps"]),
        "expected": f"at most {record['policy']['max_gap']:g}",
        "actual": f"{max(map(abs, gaps)):.3f}" if gaps else "unknown",
    }
    return {
        "dataQualityAssertions": {
            "_producer": f"urn:mdba-checks:{record['version']}",
            "_schemaURL": _SCHEMA,
            "assertions": [verdict, labelers],
        }
    }
