"""The record of a check: what was decided and everything it rests on, ready for JSON.

The record is what leaves the process: for other programs, for an archive, for whoever asks a year
later why training was stopped. It holds no rows of the data and no secrets, and it is enough to run
the check again (see `mdba_checks.outputs.rerun`). It is valid JSON always: a number that does not
exist is null, never NaN.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mdba_checks import __version__
from mdba_checks.config import EstimatorName
from mdba_checks.errors import must_be
from mdba_checks.estimation import ESTIMATORS
from mdba_checks.metrics import METRICS, AnswerWords, MetricName, Wording
from mdba_checks.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from mdba_checks.assessment import Assessment
    from mdba_checks.verdict import Decision

_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
_Count = Annotated[int, Field(ge=0)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Place = Annotated[str, Field(min_length=1, max_length=10_000)]


# Packages that numbers are made with, by the names that they may be installed under.
_MADE_WITH = (
    ("numpy",),
    ("pandas",),
    ("pyarrow",),
    ("scikit-learn",),
    ("scipy",),
    ("xgboost", "xgboost-cpu"),
)


@cache
def versions() -> Mapping[str, str | None]:
    """Return the versions of everything that the numbers of a check depend on.

    Examples
    --------
    >>> sorted(versions())
    ['mdba-checks', 'numpy', 'pandas', 'pyarrow', 'python', 'scikit-learn', 'scipy', 'xgboost']
    """
    made_with = {names[0]: _installed(names) for names in _MADE_WITH}
    return {"mdba-checks": __version__, "python": platform.python_version(), **made_with}


def _installed(names: tuple[str, ...]) -> str | None:
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


class _Strict(BaseModel):
    # Strict: "0.1" is not a number here. Other keys are of other versions, and never looked at.
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class ComparisonRow(_Strict):
    """One comparison; what is None could not be estimated, or is not in older records."""

    group: str
    reference: str
    attribute: str | None = None
    class_: Annotated[str | int | bool | None, Field(alias="class")] = None
    metric: MetricName | None = None
    gap: _Number | None
    std_error: _Number | None
    ci_low: _Number | None
    ci_high: _Number | None
    p_value: _Share | None = None
    rate: _Number | None = None
    rate_reference: _Number | None = None
    table_gap: _Number | None = None
    table_low: _Number | None = None
    table_high: _Number | None = None
    finding: Literal["biased", "borderline", "fair", "inconclusive"]
    reason: str = ""
    n_labels: _Count | None = None
    n_gold: _Count | None = None
    n_gold_positive: _Count | None = None
    n_direct: _Count | None = None


class GapRow(ComparisonRow):
    """A comparison about one labeler."""

    labeler: str


class Said(_Strict):
    """What a check of an assumption says: in general, of a labeler, of a group."""

    check: str
    labeler: str | None = None
    group: str | None = None
    level: Literal["ok", "look", "serious"] = "look"
    sentence: str


class Hashes(_Strict):
    """What the tables held."""

    labels_hash: _Hash
    gold_hash: _Hash
    n_labels: _Count | None = None
    n_gold: _Count | None = None
    n_labelers: _Count | None = None
    features: list[str] = []
    words: dict[str, str] = {}


class Places(_Strict):
    """Where the tables were, without secrets, and what else was handed in."""

    labels: _Place | None
    gold: _Place | None
    learner: str | None
    text_model: str | None = None


class Approval(_Strict):
    """What a person decided."""

    decision: Literal["release", "quarantine", "block"]
    name: str
    reason: str
    decided_at: str


class Recheck(_Strict):
    """What was found about the rows that a quarantine leaves."""

    gaps: list[GapRow] | None = None


class Record(_Strict):
    """The record of a check, as it is written and as it is read.

    Only what `mdba trend` compares has to be there; the rest may be missing in older records.

    Examples
    --------
    >>> row = {"labeler": "Ann", "group": "women", "reference": "men", "finding": "fair"}
    >>> row |= {"gap": 0.0, "std_error": 0.03, "ci_low": -0.05, "ci_high": 0.05}
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9}
    >>> Record.read({**about, "gaps": [row]}).gaps[0].finding
    'fair'
    >>> Record.read({**about, "gaps": [{**row, "gap": "none"}]})
    Traceback (most recent call last):
    ...
    ValueError: 'gaps.0.gap' must be a number
    """

    metric: MetricName
    estimator: EstimatorName
    confidence: Annotated[float, Field(gt=0, lt=1)]
    gaps: list[GapRow]
    overall: list[ComparisonRow] | None = None
    verdict: Verdict | None = None
    reasons: list[str] = []
    policy: dict[str, Any] = {}
    reference: bool | int | str | dict[str, bool | int | str] | None = None
    seed: int | None = None
    version: str | None = None
    diagnostics: list[Said] = []
    data: Hashes | None = None
    messages: list[str] = []
    config: dict[str, Any] | None = None
    origin: Places | None = None
    versions: dict[str, str | None] | None = None
    recheck: Recheck | None = None
    approval: Approval | None = None
    created: str | None = None

    @property
    def wording(self) -> Wording:
        """How sentences describe the rate; older records do not know the words of the labels."""
        known = {each.name for each in fields(AnswerWords)}
        words = self.data.words if self.data else {}
        return Wording(
            METRICS[self.metric],
            AnswerWords(**{name: word for name, word in words.items() if name in known}),
            of_all=ESTIMATORS[self.estimator].ignores_right_answers,
        )

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return the record that `values` hold; a stranger may have written them.

        Raises
        ------
        ValueError
            When a value is missing or cannot be; the text names its place.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            detail = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in detail["loc"])[:80]
            msg = f"{place!r} {must_be(detail)}"
            raise ValueError(msg) from None


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
        "policy": config.policy.resolved().model_dump(mode="json"),
        "estimator": config.estimator,
        "metric": config.metric,
        "confidence": config.confidence,
        "reference": config.reference,
        "seed": config.seed,
        "version": __version__,
        "gaps": judged.gaps.to_dict("records"),
        "cohorts": _rows(judged.cohorts),
        "overall": _rows(judged.overall),
        "crowd": _rows(judged.crowd),
        "diagnostics": [asdict(each) for each in judged.diagnostics],
        "data": asdict(judged.data),
        "messages": judged.messages,
        "config": config.model_dump(mode="json"),
        "origin": asdict(judged.origin),
        "versions": versions(),
    }
    plain: dict[str, Any] = to_plain_value(record)
    Record.read(plain)  # what cannot be read again must not be written
    return plain


def _rows(table: pd.DataFrame | None) -> list[dict[Any, Any]] | None:
    return None if table is None else table.to_dict("records")


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


def parse_record(text: bytes) -> dict[str, Any]:
    """Return the record that `to_json` wrote; a stranger may have written the text.

    Raises
    ------
    ValueError
        When the text is not one JSON object, or means different things to different readers: it has
        a key twice, or numbers that JSON does not know.

    Examples
    --------
    >>> parse_record(b'{"verdict": "pass"}')
    {'verdict': 'pass'}
    >>> parse_record(b'{"verdict": "pass", "verdict": "block"}')
    Traceback (most recent call last):
    ...
    ValueError: the key 'verdict' is there twice
    """
    try:
        found = json.loads(
            text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_no_number
        )
    except RecursionError:
        msg = "it is nested too deeply"
        raise ValueError(msg) from None
    if not isinstance(found, dict):
        msg = "it is not a JSON object"
        raise ValueError(msg)  # noqa: TRY004  like all other ways in which a text is not a record
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            msg = f"the key {key[:40]!r} is there twice"
            raise ValueError(msg)
        found[key] = value
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits[:40])


def _no_number(name: str) -> NoReturn:
    msg = f"{name} is not a number in JSON"
    raise ValueError(msg)


def to_plain_value(value: Any) -> Any:
    """Return the same value made of dicts, lists, texts and numbers that JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): to_plain_value(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain_value(each) for each in value]
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, datetime):  # those of pandas too, which may be missing
        return value.isoformat() if value == value else None  # noqa: PLR0124
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
