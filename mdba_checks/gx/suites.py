"""Suites from files: what the file names is what is returned, or nothing is.

Great Expectations drops an expectation that it does not know from a suite, and with it the rule
that somebody relied on. Here every entry is built by itself and named when that fails.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from great_expectations.compatibility import pydantic
from great_expectations.core import ExpectationSuite
from great_expectations.core.suite_parameters import is_suite_parameter
from great_expectations.exceptions.exceptions import (
    ExpectationNotFoundError,
    GreatExpectationsError,
)
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.registry import (
    get_expectation_impl,
    list_registered_expectation_implementations,
)

from mdba_checks.config import StrictLoader
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.gx.base import explain
from mdba_checks.gx.expectations import LABELER_GAPS
from mdba_checks.gx.fetching import one_line
from mdba_checks.tables import is_database

# The words of data contracts, and those of Great Expectations. Without one a rule is critical.
SEVERITIES = {
    "error": "critical",
    "critical": "critical",
    "warning": "warning",
    "info": "info",
}


def load_suite(
    path: str | Path, *, parameters: Mapping[str, Any] | None = None
) -> ExpectationSuite:
    """Load a suite from JSON or YAML, in the form in which Great Expectations stores it.

    Ids are left out, so that the suite can be added to any context.

    Parameters
    ----------
    path
        The file. A relative path to gold in it starts at its folder.
    parameters
        Values for what the file leaves open as ``{"$PARAMETER": name}``, for those who run the
        suite with something that passes no parameters on. What is not given stays open.

    Raises
    ------
    InputError
        When the file cannot be read, or when any of its expectations cannot be built.

    Examples
    --------
    >>> load_suite("expectations/label_bias.json").name
    'label_bias'
    """
    document = read_document(path, "suite")
    name, entries = document.get("name"), document.get("expectations")
    if not isinstance(name, str) or not name:
        raise InputError(f'suite {path} has no name: add "name"')
    if not isinstance(entries, list):
        raise InputError(f'suite {path} has no list of expectations: add "expectations"')
    return build_suite(
        name,
        entries,
        origin=f"suite {path}",
        folder=Path(path).absolute().parent,
        parameters=parameters,
        meta=document.get("meta"),
        notes=document.get("notes"),
    )


def build_suite(
    name: str,
    entries: Sequence[Any],
    *,
    origin: str,
    folder: Path,
    parameters: Mapping[str, Any] | None = None,
    meta: Any = None,
    notes: Any = None,
) -> ExpectationSuite:
    """Build a suite of exactly these entries, or raise an `InputError` that names the first one."""
    if not entries:
        raise InputError(f"{origin} names no expectation: a suite without one always succeeds")
    entries = [_from_folder(entry, folder) for entry in entries]
    rules = [
        _rule(entry, f"{origin}, expectation {number}")
        for number, entry in enumerate(_filled(entries, parameters or {}, origin), start=1)
    ]
    suite = ExpectationSuite(
        name=name, expectations=rules, meta=dict(meta) if meta else None, notes=notes
    )
    if len(suite.expectations) != len(entries):
        raise InputError(
            f"{origin} names {len(entries)} expectations, and {len(suite.expectations)} arrived"
        )
    return suite


def _filled(entries: Sequence[Any], parameters: Mapping[str, Any], origin: str) -> list[Any]:
    """Return the entries with values for parameters; every value must be of use."""
    used = set()

    def value_of(value: Any) -> Any:
        if not is_suite_parameter(value) or value["$PARAMETER"] not in parameters:
            return value
        used.add(value["$PARAMETER"])
        return parameters[value["$PARAMETER"]]

    filled = [
        {**entry, "kwargs": {key: value_of(value) for key, value in entry["kwargs"].items()}}
        if isinstance(entry, Mapping) and isinstance(entry.get("kwargs"), Mapping)
        else entry
        for entry in entries
    ]
    for name in parameters:
        if name not in used:
            raise InputError(f"{origin} has no parameter {name!r}: it would not be used")
    return filled


def read_document(path: str | Path, what: str) -> Mapping[str, Any]:
    """Read a file of JSON or YAML that holds keys and values."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        # JSON by its ending, because YAML reads "1e5" and some escapes in its own way.
        read = _read_json if str(path).endswith(".json") else read_yaml
        document = read(text)
    except OSError as error:
        raise InputError(f"cannot read {what} {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{what} {path} is not valid: {one_line(error)}") from None
    if not isinstance(document, Mapping):
        raise InputError(f"{what} {path} must hold keys and values, not {type(document).__name__}")
    return document


def read_yaml(text: str) -> Any:
    """Read YAML as configurations are read: a group called `no` is text, and no key comes twice.

    Raises
    ------
    ValueError
        With one line that says what is wrong, and where.
    """
    try:
        return yaml.load(text, Loader=StrictLoader)  # noqa: S506  a SafeLoader, made stricter
    except yaml.MarkedYAMLError as error:
        where = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        msg = f"{error.problem}{where}"
        raise ValueError(msg) from None
    except (yaml.YAMLError, LookupError, AttributeError, RecursionError) as error:
        raise ValueError(one_line(error)) from None


def _read_json(text: str) -> Any:
    """Read JSON; of two equal keys the first would get lost, and a list of expectations with it."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for name, times in Counter(key for key, _ in pairs).items():
            if times > 1:
                msg = f"the key {name!r} is there twice"
                raise ValueError(msg)
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique)


def _from_folder(entry: Any, folder: Path) -> Any:
    """Return an entry whose paths to gold and settings start at the folder of its file."""
    if not isinstance(entry, Mapping) or entry.get("type") not in LABELER_GAPS:
        return entry
    arguments = entry.get("kwargs")
    if not isinstance(arguments, Mapping):
        return entry
    paths = {
        # A database is refused with its reason, and not as a file that is not there.
        name: str(folder / Path(arguments[name]).expanduser())
        for name in ("gold", "config")
        if isinstance(arguments.get(name), str) and not is_database(arguments[name])
    }
    return {**entry, "kwargs": {**arguments, **paths}}


def _rule(entry: Any, where: str) -> Expectation:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("type"), str):
        raise InputError(f'{where} has no type, such as "expect_labeler_tpr_gap_to_be_within"')
    kind, arguments = entry["type"], entry.get("kwargs") or {}
    if not isinstance(arguments, Mapping):
        raise InputError(f"{where} ({kind}): kwargs must hold keys and values")
    try:
        known = get_expectation_impl(kind)
    except ExpectationNotFoundError:
        near = did_you_mean(kind, list_registered_expectation_implementations())
        raise InputError(
            f"{where}: {kind!r} is not known here.{near} Import the package that defines it"
        ) from None
    options = {key: value for key, value in entry.items() if key not in ("type", "kwargs", "id")}
    remark = options["meta"].get("severity") if isinstance(options.get("meta"), Mapping) else None
    if "severity" not in options and remark in SEVERITIES:
        options["severity"] = SEVERITIES[remark]  # where `datacontract export` puts it
    try:
        return ExpectationConfiguration(
            type=kind, kwargs=dict(arguments), **options
        ).to_domain_obj()
    except pydantic.ValidationError as error:
        raise InputError(f"{where} ({kind}): {explain(error, arguments, known)}") from None
    except InputError as error:
        raise InputError(f"{where} ({kind}): {error}") from None
    except (GreatExpectationsError, TypeError, ValueError) as error:
        raise InputError(f"{where} ({kind}): {one_line(error)}") from None
