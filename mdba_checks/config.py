"""What to check and what to do about it: columns, method and policy, in Python or in one YAML file.

`CheckConfig` says which columns play which role, how the gap is estimated, and holds a `Policy`,
which turns findings into a verdict. All models are frozen; unknown keys are refused with the
nearest known one, because a misspelt threshold must not silently become the default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mdba_checks.errors import InputError, SettingsError, did_you_mean, keys_of, problems_of
from mdba_checks.metrics import MetricName

EstimatorName = Literal[
    "mdba_dr", "mdba", "mdba_naive", "selection_rate", "gold_model", "confident_learning"
]
Mode = Literal["block", "annotate", "quarantine"]
OnInconclusive = Literal["block", "annotate", "quarantine", "pass"]
Correction = Literal["auto", "holm", "bh", "none"]
EngineName = Literal["local", "dask", "spark"]


def _plain(value: object) -> object:
    # `table["group"].max()` is a numpy scalar: the same value in another coat.
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, bool | int | str):
        problem = "must be text, a whole number, true or false; quotes make it text"
        raise PydanticCustomError("not_plain", problem)
    return value


def _name(value: object) -> object:
    if not isinstance(value, str) or not value:
        problem = "must be text; quotes make it text" if value != "" else "must not be empty"
        raise PydanticCustomError("no_name", problem)
    return value


def _several(value: object, kind: Callable[[object], object]) -> object:
    """Return one value, or several as a tuple; a list of one is the value."""
    if not isinstance(value, list | tuple):
        return kind(value)
    # True is 1 to Python, and here they are two values.
    known = {(type(each), each): each for each in map(kind, value)}
    if not known:
        raise PydanticCustomError("nothing", "must hold at least one value")
    values = tuple(known.values())
    return values[0] if len(values) == 1 else values


def _by_column(value: object) -> object:
    """Return a value, or a value per column."""
    if not isinstance(value, Mapping):
        return _plain(value)
    if not value:
        raise PydanticCustomError("nothing", "must hold at least one value")
    return {str(column): _plain(each) for column, each in value.items()}


def _not_a_switch(value: object) -> object:
    # Python's True is 1: `max_gap: true` would tolerate every gap there is.
    if isinstance(value, bool):
        raise PydanticCustomError("a_switch", "must be a number")
    return value


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


# Strict types: pydantic's plain `str` refuses 0, and `int | str` would turn "0" into 0.
Value = Annotated[StrictBool | StrictInt | StrictStr, BeforeValidator(_plain)]
Values = Annotated[
    Value | tuple[Value, ...], BeforeValidator(lambda value: _several(value, _plain))
]
ByColumn = Annotated[Value | dict[str, Value], BeforeValidator(_by_column)]
Number = Annotated[float, BeforeValidator(_not_a_switch)]
Count = Annotated[int, BeforeValidator(_not_a_switch)]
ColumnName = Annotated[str, Field(min_length=1)]
OneOrMoreColumns = Annotated[
    ColumnName | tuple[ColumnName, ...], BeforeValidator(lambda value: _several(value, _name))
]
Word = Annotated[str, Field(min_length=1, max_length=60)]
ColumnNames = Annotated[
    tuple[ColumnName, ...],
    BeforeValidator(_listed, json_schema_input_type=ColumnName | tuple[ColumnName, ...]),
]

# Sets of more columns are many, and their groups hold next to nobody.
MOST_CROSSED = 4
# Texts that mean "missing" in a CSV file. "NA" and "None" are left out on purpose: they are
# real groups and real categories to somebody (see docs on reading files).
MISSING_VALUES = ("", "NaN", "nan", "null", "NULL", "#N/A")


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _InputErrors(ModelMetaclass):
    """Makes `Policy(max_gap=2)` raise the one-line error of this library instead of pydantic's.

    An own `__init__` would do so too, but pydantic then calls it for the parts of a whole as well,
    and the error of a part would be raised before anybody can say where the part belongs.
    """

    def __call__(self, *args: Any, **values: Any) -> Any:
        try:
            return super().__call__(*args, **values)
        except ValidationError as error:
            raise SettingsError(problems_of(error, cast("type[BaseModel]", self)), "") from None


class _Model(BaseModel, metaclass=_InputErrors):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class Columns(_Model):
    """Which column of the tables plays which role."""

    labeler: ColumnName = Field("labeler", description="who decided (labels table)")
    label: ColumnName = Field("label", description="what they decided (labels table)")
    group: OneOrMoreColumns = Field(
        "group",
        description="the group of the person decided about; of several columns, each is an "
        "attribute of its own (both tables)",
    )
    gold: ColumnName = Field("gold", description="the correct decision (gold table)")
    item: ColumnName | None = Field(
        None,
        description="identifies the thing that was decided on, when several labelers saw the same "
        "one or gold items were labeled too; a column named 'item' is used when this is not set",
    )
    text: ColumnNames = Field(
        (),
        description="columns of free text, one or several (both tables); columns that hold free "
        "text are found without it",
    )
    cluster: ColumnName | None = Field(
        None,
        description="names families of items that are alike, such as versions of one text; models "
        "are kept from whole families, and a family is one piece of evidence (gold, or both "
        "tables)",
    )
    cohort: ColumnName | None = Field(
        None,
        description="where labels come from, such as vendor, team or region: every cohort gets a "
        "row of its own (labels table)",
    )
    gold_weight: ColumnName | None = Field(
        None,
        description="how many items of the population a gold row stands for (gold table); a column "
        "named 'gold_weight' is used when this is not set",
    )

    @model_validator(mode="after")
    def _one_role_each(self) -> Self:
        # Only within a table: the label and the gold label may well have the same name.
        for roles in (
            ("labeler", "label", "group", "item", "cluster", "cohort"),
            ("gold", "group", "item", "cluster", "gold_weight"),
        ):
            role_of: dict[str, str] = dict.fromkeys(self.text, "text")
            named = [(role, getattr(self, role)) for role in roles if role != "group"]
            for role, name in [*named, *(("group", name) for name in self.groups)]:
                if name in role_of:
                    problem = f"column {name!r} cannot be both {role_of[name]!r} and {role!r}"
                    raise PydanticCustomError("two_roles", problem)
                if name is not None:
                    role_of[name] = role
        return self

    @property
    def groups(self) -> tuple[str, ...]:
        """The group columns, one or several.

        Examples
        --------
        >>> Columns(group="sex").groups, Columns(group=["sex", "age_band"]).groups
        (('sex',), ('sex', 'age_band'))
        """
        return (self.group,) if isinstance(self.group, str) else self.group

    @property
    def only_group(self) -> str:
        """The group column, where no more than one can be used."""
        if len(self.groups) > 1:
            raise InputError(
                f"{len(self.groups)} group columns are named, and one can be used here: name one "
                "(--group)"
            )
        return self.groups[0]


class Policy(_Model):
    """When is a gap too large, how sure must we be, and what happens then."""

    max_gap: Number = Field(
        0.1,
        ge=0,
        le=1,
        description="largest tolerated difference in the rate between groups, of a labeler or a "
        "cohort",
    )
    margin: Number | None = Field(
        None,
        ge=0,
        le=1,
        description="how far beyond max_gap somebody may turn out to be who is called borderline; "
        "four margins are far beyond (see max_undecided); 0: nobody is borderline; default: half "
        "of max_gap",
    )
    max_gap_overall: Number | None = Field(
        None,
        ge=0,
        le=1,
        description="largest tolerated difference for all labels together; default: max_gap",
    )
    max_undecided: Number = Field(
        0.1,
        ge=0,
        le=1,
        description="share of the labels that may come from labelers who are undecided for lack of "
        "evidence; a twentieth of it from those who are probably beyond max_gap; those shown not "
        "to be far beyond it do not count, unless this is 0; a failed assumption is never covered",
    )
    mode: Mode = Field("block", description="what to do with a data set that has biased labelers")
    quarantine: Literal["labeler", "group"] = Field(
        "labeler",
        description="what leaves the data set in mode quarantine: all rows of biased labelers, "
        "or only those about the group they treat differently",
    )
    on_inconclusive: OnInconclusive | None = Field(
        None,
        description="what to do where more than max_undecided is undecided; pass does not cover a "
        "failed assumption; default: as mode",
    )
    on_block: Literal["fail", "approve"] = Field(
        "fail",
        description="in a Prefect flow: stop at once, or let a person release, quarantine or block",
    )
    approval_timeout: Count = Field(
        86_400,
        ge=1,
        le=31_536_000,
        description="seconds that a flow waits for that person; afterwards it is blocked",
    )
    correction: Correction = Field(
        "auto",
        description="how many labelers being tested at once is accounted for: holm aims at not one "
        "wrong accusation, bh at few among all of them; auto aims at not one up to 20 labelers, "
        "asking less where the others are shown to be well within the limit, and is bh beyond, "
        "where the crowd itself says how rare biased labelers are",
    )
    decide_on: Literal["confident", "estimate"] = Field(
        "confident", description="'confident' decides on intervals, 'estimate' on the number alone"
    )
    min_gold_positives: Count = Field(
        5,
        ge=1,
        description="gold items needed per group, of the kind the metric is about; with weights or "
        "clusters, as many as they are worth",
    )
    on_serious: Literal["inconclusive", "report"] = Field(
        "inconclusive",
        description="a serious assumption check makes the finding inconclusive, or is only shown",
    )

    def resolved(self) -> Self:
        """Return the policy with every default that follows another key written out.

        Examples
        --------
        >>> policy = Policy(max_gap=0.2, mode="quarantine").resolved()
        >>> policy.margin, policy.max_gap_overall, policy.on_inconclusive
        (0.1, 0.2, 'quarantine')
        """
        follows = {
            "margin": self.max_gap / 2,
            "max_gap_overall": self.max_gap,
            "on_inconclusive": self.mode,
        }
        unset = {key: value for key, value in follows.items() if getattr(self, key) is None}
        return self.model_copy(update=unset)

    def for_overall(self) -> Self:
        """Return the policy by which all labels together are judged."""
        return self.model_copy(update={"max_gap": self.resolved().max_gap_overall})


class Words(_Model):
    """How sentences name decisions; by default with the values of the label column."""

    positive_verb: Word | None = Field(
        None,
        description="what somebody does who decides positively, such as 'invites'; default: says "
        "the positive label",
    )
    negative_verb: Word | None = Field(
        None, description="what somebody does who decides negatively, such as 'rejects'"
    )
    positive_adjective: Word | None = Field(
        None,
        description="what those are for whom the positive decision is right, such as 'suitable'",
    )
    negative_adjective: Word | None = Field(
        None,
        description="what those are for whom the negative decision is right, such as 'unsuitable'",
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
    features: Annotated[tuple[ColumnName, ...], Field(min_length=1)] | None = Field(
        None,
        description="columns the decision may depend on; default: all that both tables have, "
        "without dates and times",
    )
    text_model: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="folder of a sentence-transformers model that reads free text; default: words "
        "and parts of words",
    )
    reference: ByColumn | None = Field(
        None,
        description="the group others are compared with; with several group columns, one per "
        "column (gender: men); default: everyone else",
    )
    intersections: bool = Field(
        False,
        description="also compare combinations of the group columns, such as women over 50",
    )
    positive: Values | None = Field(
        None,
        description="the labels that count as positive where labels are names, one or several, or "
        "an order of numbers such as '>= 4'; all others count as negative; 'each' compares every "
        "class",
    )
    gold_positive: Values | None = Field(
        None,
        description="the same for gold, where it uses other words than the labels; default: as "
        "positive",
    )
    estimator: EstimatorName = Field("mdba_dr", description="how the gap is estimated")
    metric: MetricName = Field("tpr", description="the rate that is compared between groups")
    confidence: Number = Field(0.9, gt=0.5, lt=1, description="coverage of the intervals")
    c: tuple[Annotated[Number, Field(gt=0, allow_inf_nan=False)], ...] = Field(
        (1.0,),
        min_length=1,
        description="mdba: predicted positives / actual positives; several are averaged",
    )
    policy: Policy = Field(default_factory=Policy, description="what is decided, and when")
    words: Words = Field(
        default_factory=Words, description="how sentences name decisions and items"
    )
    drop_missing: bool = Field(
        False, description="drop and report rows without labeler, label or group instead of failing"
    )
    missing_values: tuple[str, ...] = Field(
        MISSING_VALUES, description="texts in CSV files that mean 'missing'"
    )
    pseudonymize: bool = Field(
        False,
        description="show labelers under keyed hashes in everything but the rows themselves",
    )
    engine: EngineName = Field(
        "local", description="where labeler models are fitted: threads here, or a cluster"
    )
    cluster: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="address of a Dask scheduler or Spark master; default: started on this machine",
    )
    jobs: Count | None = Field(
        None, ge=1, le=1024, description="parallel workers; default: all cores"
    )
    seed: Count = Field(0, ge=0, lt=2**32, description="same data and seed, same numbers")

    @model_validator(mode="after")
    def _cluster_has_an_engine(self) -> Self:
        if self.cluster is not None and self.engine == "local":
            problem = f"cluster is {self.cluster!r}, but engine is 'local': say dask or spark"
            raise PydanticCustomError("no_engine", problem)
        return self

    @model_validator(mode="after")
    def _attributes_fit(self) -> Self:
        names, named = self.columns.groups, self.reference
        several = len(names) > 1
        problem = ""
        if isinstance(named, Mapping) and (unknown := set(named) - set(names)):
            other = min(unknown)
            problem = f"reference names {other!r}, which is not a group column."
            problem += did_you_mean(other, names)
        elif several and named is not None and not isinstance(named, Mapping):
            problem = (
                f"reference is {named!r}, and there are {len(names)} group columns: say of which, "
                f"such as reference: {{{names[0]}: {named}}} (--reference {names[0]}={named})"
            )
        elif self.intersections and not 1 < len(names) <= MOST_CROSSED:
            problem = (
                f"intersections are combinations of 2 to {MOST_CROSSED} group columns, and there "
                f"{'is' if len(names) == 1 else 'are'} {len(names)}: name others in columns.group "
                "(--group), or leave intersections out"
            )
        if problem:
            raise PydanticCustomError("attributes", problem)
        return self

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read a configuration; a problem is an `InputError` that names the file and the key."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"cannot read config {path}: it is not UTF-8 text") from None
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read config {path}: {_reason(error)}") from None
        try:
            values = yaml.load(text, Loader=StrictLoader)  # noqa: S506 (a SafeLoader, made stricter)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" at line {mark.line + 1}" if mark else ""
            problem = getattr(error, "problem", None) or "it holds bytes that are not text"
            raise InputError(f"config {path} is not valid YAML{where}: {problem}") from None
        except (ValueError, LookupError, AttributeError, RecursionError):
            # What PyYAML lets through for `!!int x`, a number of 5,000 digits or endless nesting.
            raise InputError(f"config {path} holds a value that YAML cannot read") from None
        return cls.from_mapping({} if values is None else values, origin=f"config {path}")

    @classmethod
    def from_mapping(cls, values: object, origin: str = "config") -> Self:
        """Build a configuration from parsed YAML or JSON."""
        if not isinstance(values, Mapping):
            raise InputError(f"{origin} must hold keys such as 'columns:' and 'policy:'")
        try:
            # Other keys than text (`1:` in YAML) cannot name anything; say so as for any other.
            return cls.model_validate({str(key): value for key, value in values.items()})
        except ValidationError as error:
            raise SettingsError(problems_of(error, cls), origin) from None

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Return the configuration as YAML, every value explicit; write it to `path` if given."""
        values = self.model_dump(mode="json")
        text: str = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
        if _RARE_LINE_ENDS & set(text):  # PyYAML folds these unless every letter is escaped
            text = yaml.safe_dump(values, sort_keys=False)
        if path is not None:
            try:
                Path(path).write_text(text, encoding="utf-8")
            except (OSError, ValueError) as error:
                raise InputError(f"cannot write config {path}: {_reason(error)}") from None
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
            section, _, name = key.rpartition(".")
            target = values.get(section) if section else values
            if not isinstance(target, dict):
                raise InputError(f"unknown key {key!r}.{did_you_mean(key, keys_of(type(self)))}")
            target[name] = value.model_dump() if isinstance(value, BaseModel) else value
        return self.from_mapping(values)


class StrictLoader(yaml.SafeLoader):
    """YAML that keeps what was written: only `true`, `false` and plain decimals are not text.

    PyYAML follows YAML 1.1, where a group called `no` is false, `012` is ten, `12:30` is 750 and
    the later of two equal keys wins without a word.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that is there twice."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the key {key.value!r} is there twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


# Each pattern is part of what YAML 1.1 would take, so whatever `to_yaml` leaves unquoted is text
# here as well.
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+0123456789."),
    ),
    ("merge", r"<<", ["<"]),
):
    StrictLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^({_pattern})$"), _first
    )

_RARE_LINE_ENDS = {"\x85", "\u2028", "\u2029"}


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
