"""The common part of the expectations: their fields, and what is done with a batch.

Fields are what a suite file holds, so they are strict and all of them are written, defaults too: a
later change of a default must not change the meaning of a suite that somebody agreed on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from great_expectations.compatibility import pydantic
from great_expectations.compatibility.pydantic import (
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)
from great_expectations.core.suite_parameters import is_suite_parameter
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation, Expectation
from great_expectations.expectations.expectation_configuration import parse_result_format
from great_expectations.expectations.model_field_types import ConditionParser
from great_expectations.expectations.row_conditions import RowConditionType

from mdba_checks.assessment import Assessment
from mdba_checks.config import CheckConfig
from mdba_checks.errors import (
    CheckError,
    InputError,
    NeedsAllRowsError,
    SettingsError,
    did_you_mean,
    hide_secrets,
)
from mdba_checks.gx.estimates import estimate
from mdba_checks.gx.fetching import collected
from mdba_checks.gx.from_config import fields_from
from mdba_checks.gx.gold import check_place
from mdba_checks.gx.metadata import METADATA, describe
from mdba_checks.gx.metric import METRIC, LabelsAndGold
from mdba_checks.gx.rendering import GapRenderers, in_words
from mdba_checks.gx.unexpected import only_counted, spelled, under_pseudonyms, unexpected_rows
from mdba_checks.metrics import MetricName
from mdba_checks.outputs import decide_release, rows_of_biased, to_record, values_of_biased
from mdba_checks.settings import Setting, settings
from mdba_checks.verdict import About, gate

# `dict` is also the name of a method below.
Values: TypeAlias = dict[str, Any]
# {"$PARAMETER": name}, for a value that is given when a suite is run.
Parameter: TypeAlias = dict[str, Any]

_DEFAULT = CheckConfig()

# What expectations call otherwise than the settings, and what they do not offer: what the class
# itself says, where the work is done, and what happens after a verdict. Numbers depend on none of
# the last two.
_NAMES = {
    "reference": "reference_group",
    "positive": "positive_label",
    "gold_positive": "gold_positive_label",
    "columns.text": "text_columns",
}
_NOT_OFFERED = {
    *("metric", "engine", "cluster", "jobs"),
    *("policy.quarantine", "policy.on_block", "policy.approval_timeout"),
}


def _called(each: Setting) -> str:
    return _NAMES.get(each.key, f"{each.name}_column" if each.section == "columns" else each.name)


_SETTINGS = {_called(each): each for each in settings() if each.key not in _NOT_OFFERED}
# Field of the expectation: key of the configuration.
CONFIG_KEYS = {name: each.key for name, each in _SETTINGS.items()}
RULE_FIELDS = (*CONFIG_KEYS, "gold", "filter_gold")

_PLAIN = (bool, int, float, str)
# Where the record of a check has the gaps that an expectation is about.
_ROWS = {"labeler": "gaps", "cohort": "cohorts", "whole": "overall"}

# Stand in for what is required while a faulty rule is carried to its result.
_STAND_INS: Values = {"max_gap": 0.0, "gold": "-"}


# Strict and in this order: group 0 stays 0, "0" stays "0" and False stays False.
_STRICT: Values = {
    "switch": StrictBool,
    "whole number": StrictInt,
    "number": StrictInt | StrictFloat,
    "text": StrictStr,
    "texts": list[StrictStr],
    "numbers": list[StrictInt | StrictFloat],
    "value": StrictBool | StrictInt | StrictStr,
    "text or texts": StrictStr | list[StrictStr],
    "value or values": StrictBool
    | StrictInt
    | StrictStr
    | list[StrictBool | StrictInt | StrictStr],
    # By column it is a dict, which every field may be.
    "value by column": StrictBool | StrictInt | StrictStr,
}
# Fields that may be a dict that is not a parameter.
_MAPPINGS = {"gold", *(name for name, each in _SETTINGS.items() if each.kind == "value by column")}


def _field(each: Setting) -> tuple[Any, Any]:
    """Return the type and the field of a setting; what is tolerated has to be said."""
    kind = Literal[each.choices] if each.kind == "choice" else _STRICT[each.kind]
    default = ... if each.key == "policy.max_gap" else each.default
    if isinstance(default, tuple):
        default = list(default)  # as JSON has it
    field = pydantic.Field(default=default, description=each.description)
    return kind | Parameter | None if each.optional else kind | Parameter, field


_FIELDS: Values = {name: _field(each) for name, each in _SETTINGS.items()}
_RuleFields: Any = pydantic.create_model("RuleFields", **_FIELDS)


class LabelerGapExpectation(GapRenderers, _RuleFields, BatchExpectation):  # type: ignore[misc]
    """What the expectations about a rate have in common; see those for how to use them."""

    gold: StrictStr | Values = pydantic.Field(
        default=...,
        description="where the gold table is: a path, or a reference {data_source, asset, "
        "batch_definition}",
    )
    filter_gold: StrictBool | Parameter = pydantic.Field(
        default=False, description="choose gold rows by row_condition too"
    )
    row_condition: RowConditionType = None
    condition_parser: ConditionParser | None = None

    metric: ClassVar[MetricName]
    about: ClassVar[About] = "labeler"
    library_metadata: ClassVar[dict[str, str | list[str] | bool]] = METADATA
    _library_metadata = library_metadata

    class Config:
        """What Great Expectations shows about every one of them."""

        @staticmethod
        def schema_extra(schema: dict[str, Any], model: Any) -> None:
            """Describe an expectation in its JSON schema, by the first line of its docstring."""
            describe(schema, model, (model.__doc__ or "").partition("\n")[0])

    metric_dependencies: ClassVar[tuple[str, ...]] = (METRIC,)
    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id", "row_condition", "condition_parser")
    success_keys: ClassVar[tuple[str, ...]] = RULE_FIELDS
    args_keys: ClassVar[tuple[str, ...]] = RULE_FIELDS

    _problem: str = pydantic.PrivateAttr(default="")

    def __init__(self, *, config: Any = None, **values: Any) -> None:
        if config is not None:
            values = {**fields_from(config, self.config_keys(), self.metric), **values}
        try:
            super().__init__(**values)
        except pydantic.ValidationError as error:
            # With a batch at hand this is a validation that goes on, after a parameter brought in
            # a value that cannot be. Raised here it would escape the whole checkpoint; carried
            # along, it becomes the result of this one expectation.
            if values.get("batch_id") is None:
                raise
            faulty = {str(detail["loc"][0]) for detail in error.errors()}
            others = set(type(self).__fields__) - set(RULE_FIELDS) - faulty
            fine: Values = {key: value for key, value in values.items() if key in others}
            super().__init__(**_STAND_INS, **fine)
            given = {key: _shown(value) for key, value in values.items() if key in RULE_FIELDS}
            self.__dict__.update(given)
            self._problem = explain(error, values, type(self))

    @pydantic.validator("gold", pre=True)
    def _gold_by_name(cls, gold: Any) -> Any:  # noqa: N805
        return check_place(gold)

    @pydantic.root_validator(skip_on_failure=True)
    def _possible(cls, values: Values) -> Values:  # noqa: N805
        for name in RULE_FIELDS:
            value = values.get(name)
            if isinstance(value, dict) and name not in _MAPPINGS and not is_suite_parameter(value):
                msg = f"{name}: a value or {{'$PARAMETER': …}} is needed, not {value!r}"
                raise ValueError(msg)
        keys = cls.config_keys()
        for name in CONFIG_KEYS.keys() - keys.keys():
            if values.get(name) is not None:
                msg = f"{name}: it has no effect here, where max_gap is about each {cls.about}"
                raise ValueError(msg)
        if cls.about == "cohort" and values.get("cohort_column") is None:
            msg = "cohort_column: name the column of the batch that holds the cohorts"
            raise ValueError(msg)
        given = {
            key: values[name] for name, key in keys.items() if not is_suite_parameter(values[name])
        }
        try:
            _DEFAULT.updated(given)
        except SettingsError as error:
            raise ValueError(str(error.named(_field_name))) from None
        except CheckError as error:
            raise ValueError(str(error)) from None
        return values

    def dict(self, **options: Any) -> Values:
        """Return the fields; those of the rule are there even where defaults are left out."""
        values: Values = super().dict(**options)
        if options.get("exclude_defaults"):
            left_out = options.get("exclude") or ()
            whole = super().dict(include=set(RULE_FIELDS) - set(left_out))
            values = {**whole, **values}
        return values

    @classmethod
    def config_keys(cls) -> Values:
        """Return the keys of the configuration that the fields of this expectation stand for."""
        if cls.about == "labeler":
            return CONFIG_KEYS
        keys = {key: value for key, value in CONFIG_KEYS.items() if key != "max_gap_overall"}
        return {**keys, "max_gap": "policy.max_gap_overall"} if cls.about == "whole" else keys

    @classmethod
    def is_abstract(cls) -> bool:
        """Return whether this is a base class; those with a metric can be used in a suite."""
        return not hasattr(cls, "metric")

    def check_config(self) -> CheckConfig:
        """Return the rule as a configuration of `assess`; parameters must have their values."""
        changes = {key: getattr(self, name) for name, key in self.config_keys().items()}
        return _DEFAULT.updated({**changes, "metric": self.metric})

    def _validate(
        self,
        metrics: Values,
        runtime_configuration: Values | None = None,
        execution_engine: ExecutionEngine[Any] | None = None,
    ) -> Values:
        """Estimate and decide; what the user can fix is the message of a failed result."""
        try:
            return self._checked(metrics[METRIC], runtime_configuration, execution_engine)
        except CheckError as error:
            return _failed(str(error))

    def _checked(
        self, tables: LabelsAndGold, asked: Values | None, engine: ExecutionEngine[Any] | None
    ) -> Values:
        problem = self._problem or tables.problem
        if problem or tables.labels is None or tables.gold is None:
            return _failed(problem or "the batch cannot be read")
        labels: Any = tables.labels
        try:
            assessment = estimate(labels, tables.gold, self.check_config())
        except NeedsAllRowsError:
            labels = collected(labels)
            assessment = estimate(labels, tables.gold, self.check_config())
        if self.about == "labeler":  # a data set that is biased as a whole does not pass here
            record = decide_release(labels, tables.gold, assessment).record().values()
        else:
            record = to_record(assessment, gate(assessment, about=self.about)).values()
        for part in (record, record.get("recheck", {})):
            part.pop("config", None)  # the arguments are in the result already
        record["in_words"] = in_words(assessment, self.about)
        gaps = [row["gap"] for row in record[_ROWS[self.about]] if row["gap"] is not None]
        worst = max(gaps, key=abs, default=None)
        # A batch is used as it is: what a quarantine would take out is still in it.
        success = record["verdict"] in ("pass", "annotate") and worst is not None
        result = {"observed_value": worst, "details": record}
        if engine is not None:
            result = {**self._unexpected(labels, assessment, asked, engine), **result}
        return {"success": success, "result": result}

    def _unexpected(
        self,
        labels: Any,
        assessment: Assessment,
        asked: Values | None,
        engine: ExecutionEngine[Any],
    ) -> Values:
        """Return the rows of whoever is biased, as far as the result format asks for them."""
        form = parse_result_format(self._get_result_format(asked))
        if form["result_format"] == "BOOLEAN_ONLY" or self.about == "whole":
            return {}
        column = self.labeler_column if self.about == "labeler" else self.cohort_column
        domain = {key: getattr(self, key) for key in self.domain_keys}
        rows = None
        if assessment.parts is None:
            rows = rows_of_biased(labels, assessment, self.about)
            names = spelled(labels, column, rows)
        else:
            names = values_of_biased(labels, assessment, self.about)
        try:
            found = unexpected_rows(column, names, domain, engine=engine, result_format=form)
        except InputError as error:  # the verdict is known all the same
            counted = {} if rows is None else only_counted(rows)
            found = {**counted, "unexpected_rows_problem": str(error)}
        if self.pseudonymize:
            found = under_pseudonyms(found, self.labeler_column, assessment.pseudonyms or {})
        return found


def explain(
    error: pydantic.ValidationError, values: Mapping[str, Any], rule: type[Expectation]
) -> str:
    """Return what is wrong with the fields of an expectation, in one line."""
    told: Values = {}
    for detail in error.errors():
        name, text = str(detail["loc"][0]), " ".join(detail["msg"].split())
        if detail["type"] == "value_error.extra":
            known = set(rule.__fields__) - {"id", "batch_id", "rendered_content"}
            told[name] = [f"unknown field {name!r}.{did_you_mean(name, known)}"]
        elif detail["type"] == "value_error.missing":
            told[name] = [f"field {name!r} is missing"]
        elif detail["type"] == "value_error":  # a sentence of this library
            told.setdefault(name, []).append(text)
        elif name not in told:
            told[name] = [f"{name!r} is {_shown(values.get(name))!r}: {text}"]
        elif (
            detail["type"] != "type_error.dict"
        ):  # every field may be a parameter, which is not worth a word here
            told[name].append(text)
    return "; ".join(", ".join(dict.fromkeys(texts)) for texts in told.values())


def _shown(value: Any) -> Any:
    """Return a value as it may be stored in a result: not a table, and nothing JSON cannot say."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return hide_secrets(value)
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(each, _PLAIN) for each in value):
        return [_shown(each) for each in value[:20]]
    if isinstance(value, Mapping) and all(isinstance(each, _PLAIN) for each in value.values()):
        return {str(key): _shown(each) for key, each in list(value.items())[:20]}
    return f"a {type(value).__name__}"


def _field_name(key: str) -> str | None:
    return next((repr(name) for name, known in CONFIG_KEYS.items() if known == key), None)


def _failed(problem: str) -> Values:
    return {
        "success": False,
        "result": {},
        "exception_info": {
            "raised_exception": True,
            "exception_traceback": None,
            "exception_message": problem,
        },
    }
