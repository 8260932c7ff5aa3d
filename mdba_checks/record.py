"""The record of a check: what was decided and everything it rests on, ready for JSON.

The record is what leaves the process: for other programs, for an archive, for whoever asks a year
later why training was stopped. It holds no rows of the data, and it is valid JSON always: a number
that does not exist is null, never NaN.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mdba_checks import __version__

if TYPE_CHECKING:
    from mdba_checks.assessment import Assessment
    from mdba_checks.verdict import Decision


def to_record(assessment: Assessment, decision: Decision) -> dict[str, Any]:
    """Return the record of a check.

    Findings and reasons are those of the decision's policy, also where the assessment was made with
    another one.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> record = to_record(assessment, gate(assessment))
    >>> record["verdict"], record["gaps"][0]["labeler"], record["gaps"][0]["finding"]
    ('block', 'L1', 'biased')
    """
    judged = assessment.with_policy(decision.policy)
    config = judged.config
    record = {
        "verdict": decision.verdict,
        "reasons": decision.reasons,
        "policy": config.policy.model_dump(mode="json"),
        "estimator": config.estimator,
        "metric": config.metric,
        "confidence": config.confidence,
        "reference": config.reference,
        "seed": config.seed,
        "version": __version__,
        "gaps": judged.gaps.to_dict("records"),
        "diagnostics": [asdict(each) for each in judged.diagnostics],
        "data": asdict(judged.data),
        "messages": judged.messages,
        "config": config.model_dump(mode="json"),
    }
    plain: dict[str, Any] = _plain(record)
    return plain


def to_json(record: Mapping[str, Any]) -> str:
    r"""Return a record as JSON text, in ASCII.

    ASCII survives every terminal, pipe and log, and a labeler's name cannot carry a terminal escape
    into it.

    Examples
    --------
    >>> print(to_json({"labeler": "Zoë", "gap": None}), end="")
    {
      "labeler": "Zo\u00eb",
      "gap": null
    }
    """
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """Return the same value made of dicts, lists, texts and numbers that JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
