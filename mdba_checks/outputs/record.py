"""The record of a check: what was decided and everything it rests on.

The record is what leaves the process: for other programs, for an archive, for whoever asks a year
later why training was stopped. It holds no rows of the data and no secrets, and it is enough to run
the check again (see `mdba_checks.outputs.rerun`). `Record` is what every file of it is written from
and read with: the JSON of ``mdba check``, the sidecar of a data set, the history of checks.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mdba_checks import __version__
from mdba_checks.config import EstimatorName
from mdba_checks.errors import must_be
from mdba_checks.estimation import ESTIMATORS
from mdba_checks.metrics import METRICS, AnswerWords, MetricName, Wording
from mdba_checks.outputs.json_text import SEAL, parse_json, seal_of, to_json, to_plain_value
from mdba_checks.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from mdba_checks.assessment import Assessment
    from mdba_checks.verdict import Decision

_Hash = Annotated[str, Field(pattern=r"^(rows-)?[0-9a-f]{32}$")]
_Count = Annotated[int, Field(ge=0)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Location = Annotated[str, Field(min_length=1, max_length=10_000)]


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
    # Strict: "0.1" is not a number here. Other keys are of other versions: never looked at, and
    # written again as they were.
    model_config = ConfigDict(strict=True, frozen=True, extra="allow", populate_by_name=True)


class _OfLabeler(_Strict):
    labeler: str


class _OfCohort(_Strict):
    cohort: str


class ComparisonRow(_Strict):
    """One comparison; what is None could not be estimated, or is not in older records."""

    attribute: str | None = None
    group: str
    reference: str
    class_: Annotated[str | int | bool | None, Field(alias="class")] = None
    metric: MetricName | None = None
    gap: _Number | None
    std_error: _Number | None
    ci_low: _Number | None
    ci_high: _Number | None
    p_value: _Share | None = None
    rate: _Number | None = None
    rate_low: _Number | None = None
    rate_high: _Number | None = None
    rate_reference: _Number | None = None
    table_gap: _Number | None = None
    table_low: _Number | None = None
    table_high: _Number | None = None
    finding: Literal["biased", "borderline", "fair", "inconclusive"]
    cause: str = ""
    reason: str = ""
    robustness: _Number | None = None
    p_beyond: _Share | None = None
    n_labels: _Count | None = None
    n_gold: _Count | None = None
    n_gold_positive: _Count | None = None
    n_direct: _Count | None = None


class GapRow(ComparisonRow, _OfLabeler):
    """A comparison about one labeler."""


class CohortRow(ComparisonRow, _OfCohort):
    """A comparison about one cohort of labelers."""


class Said(_Strict):
    """What a check of an assumption says: in general, of a labeler, of a group."""

    check: str
    labeler: str | None = None
    group: str | None = None
    value: _Number | None = None
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


class Locations(_Strict):
    """Where the tables were, without secrets, and what else was handed in."""

    labels: _Location | None
    gold: _Location | None
    learner: str | None
    text_model: str | None = None


class Approval(_Strict):
    """What a person decided, and the verdict that the policy gave."""

    decision: Literal["release", "quarantine", "block"]
    name: str
    reason: str
    decided_at: str
    verdict: Verdict | None = None


class Recheck(_Strict):
    """What was found about the rows that a quarantine leaves; a record where they were assessed."""

    verdict: Verdict | None = None
    reasons: list[str] = []
    gaps: list[GapRow] | None = None


class WrittenFile(_Strict):
    """A file with rows: its name, and what it held when it was written."""

    name: str
    rows: _Count
    content_hash: _Hash


class ReadableFile(WrittenFile):
    """A data set that left the gate, and how it is read to give the hash of its content."""

    text_columns: list[str]
    missing_values: list[str]


class Superseded(_Strict):
    """The later check of the same labels that was stopped."""

    at: str
    verdict: Verdict
    reasons: list[str]
    labels_hash: _Hash


class Record(_Strict):
    """The record of a check, as it is written and as it is read.

    Only what `mdba trend` compares has to be there; the rest may be missing in older records. What
    begins with `created` is there where a file keeps the record, and what follows `other_files`
    only in the sidecar of a data set.

    Examples
    --------
    >>> row = {"labeler": "Ann", "group": "women", "reference": "men", "finding": "fair"}
    >>> row |= {"gap": 0.0, "std_error": 0.03, "ci_low": -0.05, "ci_high": 0.05}
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9}
    >>> record = Record.read({**about, "gaps": [row]})
    >>> record.gaps[0].finding
    'fair'
    >>> Record.parse(record.to_json().encode()) == record
    True
    >>> Record.read({**about, "gaps": [{**row, "gap": "none"}]})
    Traceback (most recent call last):
    ...
    ValueError: 'gaps.0.gap' must be a number
    """

    verdict: Verdict | None = None
    reasons: list[str] = []
    policy: dict[str, Any] = {}
    estimator: EstimatorName
    metric: MetricName
    confidence: Annotated[float, Field(gt=0, lt=1)]
    reference: bool | int | str | dict[str, bool | int | str] | None = None
    seed: int | None = None
    version: str | None = None
    gaps: list[GapRow]
    cohorts: list[CohortRow] | None = None
    overall: list[ComparisonRow] | None = None
    crowd: list[dict[str, Any]] | None = None
    diagnostics: list[Said] = []
    data: Hashes | None = None
    messages: list[str] = []
    config: dict[str, Any] | None = None
    origin: Locations | None = None
    versions: dict[str, str | None] | None = None
    recheck: Recheck | None = None
    approval: Approval | None = None
    output: ReadableFile | None = None
    created: str | None = None
    clock: str | None = None
    created_by: str | None = None
    openlineage: dict[str, Any] | None = None
    other_files: list[WrittenFile] = []
    file: ReadableFile | None = None
    superseded: Superseded | None = None
    seal: str | None = None

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
            When a value is missing or cannot be; the text names its key.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            detail = error.errors(include_url=False, include_input=False)[0]
            key = ".".join(str(part) for part in detail["loc"])[:80]
            msg = f"{key!r} {must_be(detail)}"
            raise ValueError(msg) from None

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Return the record that a file holds; a stranger may have written it.

        Raises
        ------
        ValueError
            When the text is not the JSON of a record, or its seal is not the one of its content.
        """
        values = parse_json(text)
        if SEAL in values and not is_sealed(values):
            msg = "it is not what was written"
            raise ValueError(msg)
        return cls.read(values)

    def values(self) -> dict[str, Any]:
        """Return the record as dicts, lists, texts and numbers: what it was given, and no more."""
        return self.model_dump(by_alias=True, exclude_unset=True)

    def to_json(self) -> str:
        """Return the record as the text of a file."""
        return to_json(self.values())

    def with_values(self, **values: Any) -> Self:
        """Return the record with other values, which are validated, and without its seal."""
        kept = {key: value for key, value in self.values().items() if key != SEAL}
        return self.read({**kept, **to_plain_value(values)})

    def sealed(self) -> Self:
        """Return the record with a hash of itself, so that a change in it shows."""
        return self.with_values(**{SEAL: seal_of(self.values())})


def is_sealed(values: Mapping[str, Any]) -> bool:
    """Return whether the values of a record carry their own hash: nobody changed them."""
    try:
        return bool(values.get(SEAL) == seal_of(values))
    except RecursionError:  # what can be parsed may still be too deep to be written
        return False


def to_record(assessment: Assessment, decision: Decision) -> Record:
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
    >>> record.verdict, record.gaps[0].labeler, record.gaps[0].finding
    ('block', 'L1', 'biased')
    """
    judged = assessment.with_policy(decision.policy)
    config = judged.config
    values = {
        "verdict": decision.verdict,
        "reasons": decision.reasons,
        "policy": config.policy.resolved().model_dump(mode="json"),
        "estimator": config.estimator,
        "metric": config.metric,
        "confidence": config.confidence,
        "reference": config.reference,
        "seed": config.seed,
        "version": __version__,
        "gaps": _rows(judged.gaps),
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
    return Record.read(to_plain_value(values))


def _rows(table: pd.DataFrame | None) -> list[dict[Any, Any]] | None:
    return None if table is None else table.to_dict("records")
