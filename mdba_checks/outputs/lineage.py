"""What a lineage tool is told about a check: facets of OpenLineage, in the sidecar.

They are plain JSON, so that any tool can put them into its events without this library. They name
no labelers: who may see lineage need not know whose labels are biased.
"""

from __future__ import annotations

from typing import Any

from mdba_checks.outputs.record import Record

_NAME = "DataQualityAssertionsDatasetFacet"
_SCHEMA = f"https://openlineage.io/spec/facets/1-1-0/{_NAME}.json#/$defs/{_NAME}"
_SETTLED = ("fair", "borderline")


def openlineage_facets(record: Record) -> dict[str, Any]:
    """Return the `inputFacets` of a data set, from the record of its check.

    The facet `dataQualityAssertions` says whether the labels may be used as they are, and whether
    every labeler was shown to be within the limit. After a quarantine it is about the rows that
    stay.

    Examples
    --------
    >>> row = {"labeler": "Ann", "group": "women", "reference": "men", "finding": "biased"}
    >>> row |= {"gap": -0.3, "std_error": 0.03, "ci_low": -0.35, "ci_high": -0.25}
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9, "gaps": [row]}
    >>> record = Record.read({**about, "verdict": "block", "policy": {"max_gap": 0.1}})
    >>> facet = openlineage_facets(record)["dataQualityAssertions"]
    >>> [(each["assertion"], each["success"]) for each in facet["assertions"]]
    [('label_bias_verdict', False), ('labeler_tpr_gap', False)]
    """
    rest = record.recheck
    said = (rest and rest.verdict) or record.verdict
    rows = rest.gaps if rest and rest.gaps is not None else record.gaps
    gaps = [row.gap for row in rows if row.gap is not None]
    verdict = {
        "assertion": "label_bias_verdict",
        "success": said == "pass",
        "expected": "pass",
        "actual": said,
    }
    labelers = {
        "assertion": f"labeler_{record.metric}_gap",
        "success": bool(gaps) and all(row.finding in _SETTLED for row in rows),
        "expected": f"at most {record.policy['max_gap']:g}",
        "actual": f"{max(map(abs, gaps)):.3f}" if gaps else "unknown",
    }
    return {
        "dataQualityAssertions": {
            "_producer": f"urn:mdba-checks:{record.version}",
            "_schemaURL": _SCHEMA,
            "assertions": [verdict, labelers],
        }
    }
