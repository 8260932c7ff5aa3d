"""Data contracts: the Great Expectations rules of an ODCS 3 contract as a suite.

`datacontract test` passes over rules of the type `custom` and stays green, and its export keeps
severity only as a remark. Here the rules are taken from the contract itself, all of them or none,
with their severity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from great_expectations.core import ExpectationSuite

from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.gx.suites import SEVERITIES, build_suite, read_document, read_yaml

_IMPLEMENTATION = ("type", "expectation_type", "kwargs", "meta", "severity")
_ENGINES = ("greatexpectations", "great-expectations", "great_expectations")


def suite_from_contract(
    path: str | Path, schema: str | None = None, *, parameters: Mapping[str, Any] | None = None
) -> ExpectationSuite:
    """Return the Great Expectations rules that a contract makes for one of its tables.

    Rules of the table and of its properties count, where they have the type `custom` and the engine
    `greatExpectations`. Rules for other engines, SQL, library metrics and text are not expectations
    and are left to `datacontract test`.

    Parameters
    ----------
    path
        A contract of the Open Data Contract Standard 3. A relative path to gold starts at its
        folder.
    schema
        The name of the table; it may be left out where the contract has one table only.
    parameters
        Values for what the contract leaves open, as for `load_suite`.

    Raises
    ------
    InputError
        When there is no such rule, or when any of them cannot become an expectation.

    Examples
    --------
    >>> suite = suite_from_contract("expectations/labels.odcs.yaml", "labels")
    >>> [rule.severity.value for rule in suite.expectations]
    ['critical', 'warning']
    """
    document = read_document(path, "contract")
    version = str(document.get("apiVersion", ""))
    if document.get("kind") != "DataContract" or not version.startswith("v3"):
        raise InputError(
            f"contract {path} is not of the Open Data Contract Standard 3: it needs "
            "kind: DataContract and apiVersion: v3…"
        )
    table = _table(document, path, schema)
    name = str(table["name"])
    entries = [
        _entry(rule, column, f"contract {path}, {where}")
        for rule, column, where in _rules(table, f"schema {name!r}")
    ]
    if not entries:
        raise InputError(
            f"contract {path} has no quality rule with engine greatExpectations in schema {name!r}"
        )
    meta = {key: str(document[key]) for key in ("id", "version") if key in document}
    return build_suite(
        name,
        entries,
        origin=f"contract {path}",
        folder=Path(path).absolute().parent,
        parameters=parameters,
        meta={"contract": meta},
    )


def _table(document: Mapping[str, Any], path: str | Path, wanted: str | None) -> Mapping[str, Any]:
    listed = document.get("schema")
    tables = {
        str(table["name"]): table
        for table in (listed if isinstance(listed, list) else [])
        if isinstance(table, Mapping) and "name" in table
    }
    if not tables:
        raise InputError(f"contract {path} describes no table: add it under schema")
    if wanted is None and len(tables) > 1:
        names = ", ".join(map(repr, tables))
        raise InputError(f"contract {path} describes several tables, {names}: choose a schema")
    name = next(iter(tables)) if wanted is None else wanted
    if name not in tables:
        raise InputError(f"contract {path} has no schema {name!r}.{did_you_mean(name, tables)}")
    return tables[name]


def _rules(
    part: Mapping[str, Any], where: str, column: str | None = None
) -> Iterator[tuple[Mapping[str, Any], str | None, str]]:
    """Yield the rules for Great Expectations, with the column they are about and their place."""
    for number, rule in enumerate(part.get("quality") or (), start=1):
        place = f"{where}, quality rule {number}"
        if not isinstance(rule, Mapping):
            raise InputError(f"{place} must hold keys and values")
        engine = str(rule.get("engine") or "").lower()
        if rule.get("type") == "custom" and not engine:
            raise InputError(f"{place} is custom but names no engine, such as greatExpectations")
        if engine in _ENGINES:
            yield rule, column, place
    for each in part.get("properties") or ():
        if isinstance(each, Mapping) and "name" in each:
            inside = f"{column}.{each['name']}" if column else str(each["name"])
            yield from _rules(each, f"{where}, property {inside!r}", inside)


def _entry(rule: Mapping[str, Any], column: str | None, where: str) -> dict[str, Any]:
    """Return a rule in the form of an entry in a suite."""
    made = rule.get("implementation")
    if isinstance(made, str):  # the standard allows it as text, too
        try:
            made = read_yaml(made)
        except ValueError as error:
            raise InputError(f"{where}: implementation is not YAML: {error}") from None
    if not isinstance(made, Mapping):
        raise InputError(f"{where} has no implementation with type and kwargs")
    for key in made:
        if key not in _IMPLEMENTATION:
            near = did_you_mean(str(key), _IMPLEMENTATION)
            raise InputError(f"{where}: unknown key {str(key)!r} in implementation.{near}")
    kind = made.get("type") or made.get("expectation_type")
    arguments = dict(made.get("kwargs") or {})
    if column is not None and str(kind).startswith("expect_column_"):
        arguments.setdefault("column", column)
    severity = str(rule.get("severity") or made.get("severity") or "error").lower()
    if severity not in SEVERITIES:
        raise InputError(f"{where} has severity {severity!r}.{did_you_mean(severity, SEVERITIES)}")
    about = {key: str(rule[key]) for key in ("name", "description", "id") if rule.get(key)}
    meta = {**(made.get("meta") or {}), **({"contract_rule": about} if about else {})}
    return {"type": kind, "kwargs": arguments, "severity": SEVERITIES[severity], "meta": meta}
