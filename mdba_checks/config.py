"""What to check and what to do about it: columns, method and policy, in Python or in one YAML file.

`CheckConfig` says which columns play which role, how the gap is estimated, and holds a `Policy`,
which turns findings into a verdict. All models are frozen; unknown keys are refused with the
nearest known one, because a misspelt threshold must not silently become the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from mdba_checks.errors import InputError, did_you_mean

Metric = Literal["tpr", "fpr", "tnr", "fnr"]
EstimatorName = Literal[
    "mdba_dr", "mdba", "mdba_naive", "selection_rate", "gold_model", "confident_learning"
]
Mode = Literal["block", "annotate", "quarantine"]
Correction = Literal["holm", "bh", "none"]
EngineName = Literal["local", "dask", "spark"]

# Strict types: pydantic's plain `str` refuses 0, and `int | str` would turn "0" into 0.
Value = StrictBool | StrictInt | StrictStr

# Texts that mean "missing" in a CSV file. "NA" and "None" are left out on purpose: they are
# real groups and real categories to somebody (see docs on reading files).
MISSING_VALUES = ("", "NaN", "nan", "null", "NULL", "#N/A")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class Columns(_Model):
    """Which column of the tables plays which role."""

    labeler: str = Field("labeler", description="who decided (labels table)")
    label: str = Field("label", description="what they decided: two values (labels table)")
    group: str = Field("group", description="the group of the person decided about (both tables)")
    gold: str = Field("gold", description="the correct decision (gold table)")
    item: str | None = Field(
        None,
        description="identifies the thing that was decided on, when several labelers saw the same "
        "one or gold items were labeled too; a column named 'item' is used when this is not set",
    )
    gold_weight: str | None = Field(
        None, description="how many items of the population a gold row stands for (gold table)"
    )


class Policy(_Model):
    """When is a gap too large, how sure must we be, and what happens then."""

    max_gap: float = Field(
        0.1, ge=0, le=1, description="largest tolerated difference in the rate between groups"
    )
    mode: Mode = Field("block", description="what to do with a data set that has biased labelers")
    on_inconclusive: Literal["pass", "annotate", "block"] = Field(
        "block", description="what to do when no labeler is shown biased but some are undecided"
    )
    correction: Correction = Field(
        "holm", description="how many labelers being tested at once is accounted for"
    )
    decide_on: Literal["confident", "estimate"] = Field(
        "confident", description="'confident' decides on intervals, 'estimate' on the number alone"
    )
    min_gold_positives: int = Field(
        5, ge=1, description="gold items needed per group, of the kind the metric is about"
    )
    on_serious: Literal["inconclusive", "report"] = Field(
        "inconclusive",
        description="a serious assumption check makes the finding inconclusive, or is only shown",
    )


class CheckConfig(_Model):
    """One check, whole: what is read, how it is estimated, what is decided.

    Examples
    --------
    >>> config = CheckConfig(reference="men", policy=Policy(max_gap=0.15))
    >>> config.estimator, config.policy.mode
    ('mdba_dr', 'block')
    """

    columns: Columns = Field(default_factory=Columns, description="which column plays which role")
    features: tuple[str, ...] | None = Field(
        None, description="columns the decision may depend on; default: all shared ones"
    )
    reference: Value | None = Field(
        None, description="the group others are compared with; default: everyone else"
    )
    positive: Value | None = Field(
        None, description="the label that counts as positive, when labels are two named values"
    )
    estimator: EstimatorName = Field("mdba_dr", description="how the gap is estimated")
    metric: Metric = Field("tpr", description="the rate that is compared between groups")
    confidence: float = Field(0.9, gt=0.5, lt=1, description="coverage of the intervals")
    c: Annotated[tuple[float, ...], Field(min_length=1)] = Field(
        (1.0,), description="mdba: predicted positives / actual positives; several are averaged"
    )
    policy: Policy = Field(default_factory=Policy, description="what is decided, and when")
    drop_missing: bool = Field(
        False, description="drop and report rows without labeler, label or group instead of failing"
    )
    missing_values: tuple[str, ...] = Field(
        MISSING_VALUES, description="texts in CSV files that mean 'missing'"
    )
    pseudonymize: bool = Field(
        False, description="replace labeler names by keyed hashes in everything that leaves"
    )
    engine: EngineName = Field("local", description="where labeler models are fitted")
    jobs: int | None = Field(None, ge=1, description="parallel workers; default: all cores")
    seed: int = Field(0, ge=0, lt=2**32, description="same data and seed, same numbers")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(_one_line(error, type(self))) from None

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read a configuration; every problem is an `InputError` that names the file and the key."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read config {path}: {_reason(error)}") from None
        try:
            values = yaml.safe_load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" at line {mark.line + 1}" if mark else ""
            problem = getattr(error, "problem", None) or "not readable"
            raise InputError(f"config {path} is not valid YAML{where}: {problem}") from None
        return cls.from_mapping({} if values is None else values, origin=f"config {path}")

    @classmethod
    def from_mapping(cls, values: object, origin: str = "config") -> Self:
        """Build a configuration from parsed YAML or JSON."""
        if not isinstance(values, Mapping):
            raise InputError(f"{origin} must hold keys such as 'columns:' and 'policy:'")
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise InputError(f"{origin}: {_one_line(error, cls)}") from None

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Return the configuration as YAML, every value explicit; write it to `path` if given."""
        text: str = yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def updated(self, changes: Mapping[str, object]) -> Self:
        """Return a copy with some values replaced; keys are dotted, such as ``policy.max_gap``.

        Examples
        --------
        >>> CheckConfig().updated({"policy.max_gap": 0.2}).policy.max_gap
        0.2
        """
        values = self.model_dump()
        for key, value in changes.items():
            *parents, last = key.split(".")
            target = values
            for parent in parents:
                target = target[parent]
            target[last] = value
        return self.from_mapping(values)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _one_line(error: ValidationError, model: type[BaseModel]) -> str:
    problems = []
    for detail in error.errors():
        path = ".".join(str(part) for part in detail["loc"] if not _is_union_tag(part))
        if detail["type"] == "extra_forbidden":
            owner = _model_at(model, detail["loc"][:-1])
            name = str(detail["loc"][-1])
            problems.append(f"unknown key '{path}'.{did_you_mean(name, owner.model_fields)}")
        else:
            problems.append(f"'{path}' is {detail['input']!r}: {detail['msg'].lower()}")
    # A union reports one problem per member; the same place needs to be named once only.
    return "; ".join(dict.fromkeys(problems))


def _is_union_tag(part: object) -> bool:
    return isinstance(part, str) and part in {"bool", "int", "str"}


def _model_at(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    for part in path:
        annotation = model.model_fields[str(part)].annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return model
