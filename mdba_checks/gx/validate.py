"""Run a suite or a contract over one table of labels, and end in an exit code.

This is `mdba validate`: no project, no stored results, one answer. 0 passed, 1 blocked, 2 something
could not be checked, 3 stopped because the evidence does not decide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from great_expectations import get_context
from great_expectations.core import ExpectationSuite, ExpectationValidationResult
from great_expectations.core.suite_parameters import is_suite_parameter
from great_expectations.expectations.metadata_types import FailureSeverity

from mdba_checks.config import MISSING_VALUES
from mdba_checks.errors import InputError
from mdba_checks.gx.base import LabelerGapExpectation
from mdba_checks.gx.contract import suite_from_contract
from mdba_checks.gx.rendering import details_of, problem_of
from mdba_checks.gx.suites import load_suite
from mdba_checks.tables import Source, is_database, read_table, source_name

PASSED, BLOCKED, NOT_CHECKED, INCONCLUSIVE = 0, 1, 2, 3

_MOST_VALUES = 5
_WORDS = {PASSED: "passed", BLOCKED: "block", NOT_CHECKED: "error", INCONCLUSIVE: "inconclusive"}


@dataclass(frozen=True)
class Validation:
    """How it ended, for programs and for people.

    Attributes
    ----------
    exit_code
        0 passed, 1 blocked, 2 something could not be checked, 3 inconclusive.
    record
        ``suite``, ``labels``, ``verdict`` and ``rules``: what became of each, as plain values.
    """

    exit_code: int
    record: Mapping[str, Any]

    @property
    def lines(self) -> tuple[str, ...]:
        """One line about the whole, one per expectation, and the verdict.

        Names from the data are in them as they are.
        """
        rules = self.record["rules"]
        hold = sum(rule["outcome"] == "ok" for rule in rules)
        head = f"{self.record['suite']}: {hold} of {len(rules)} expectations hold"
        return (head, *map(_line, rules), f"verdict: {self.record['verdict']}")

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


def validate(
    labels: Source,
    *,
    suite: str | Path | None = None,
    contract: str | Path | None = None,
    schema: str | None = None,
    gold: Source | None = None,
    parameters: Mapping[str, Any] | None = None,
    severity: Literal["critical", "warning", "info"] = "critical",
) -> Validation:
    """Validate a table of labels against a suite or a contract.

    Parameters
    ----------
    labels
        A DataFrame, a path, or a database table, as for `mdba_checks.assess`.
    suite, contract
        The file with the rules; one of the two.
    schema
        Which table of the contract.
    gold
        The value of the parameter `gold`, for rules that leave open where gold is: a path, a
        DataFrame, or a database table as ``URL::table``. What is not a file is read here, and the
        rules get a copy: Great Expectations writes down what it is given, a password too.
    parameters
        Values of other parameters.
    severity
        Failures below it are shown, but do not change the exit code. What could not be checked at
        all always does.

    Raises
    ------
    InputError
        When the rules or the labels cannot be read, or a parameter has no value.

    Examples
    --------
    >>> import tempfile
    >>> from mdba_checks.simulation import simulate
    >>> folder = Path(tempfile.mkdtemp())
    >>> made = simulate(n_items=3_000, n_labelers=2, gold_per_group=100, tprs=[0.4, 0.94])
    >>> made.gold.to_csv(folder / "gold.csv", index=False)
    >>> ended = validate(
    ...     made.labels, suite="expectations/label_bias.json", gold=folder / "gold.csv"
    ... )
    >>> ended.exit_code
    1
    """
    if (suite is None) == (contract is None):
        raise InputError("give either a suite or a contract")
    rules = load_suite(suite) if suite else suite_from_contract(contract or "", schema)
    given = {**(parameters or {}), **({} if gold is None else {"gold": gold})}
    _refuse_open(rules, given)
    with ExitStack() as files:
        values = {name: _storable(value, files) for name, value in given.items()}
        results = _results(labels, rules, values)
    limit = FailureSeverity(severity)
    codes = [_exit_code(result, limit) for result in results]
    # The strictest word has the last say: a rule that could not be checked spoils every other.
    worst = next((c for c in (NOT_CHECKED, BLOCKED, INCONCLUSIVE) if c in codes), PASSED)
    record = {
        "suite": rules.name,
        "labels": source_name(labels),
        "verdict": _WORDS[worst],
        "rules": [_rule(result, code) for result, code in zip(results, codes, strict=True)],
    }
    return Validation(worst, record)


def _refuse_open(rules: ExpectationSuite, values: Mapping[str, Any]) -> None:
    wanted = rules.suite_parameter_options
    for name in wanted:
        if name not in values:
            raise InputError(f"{rules.name} leaves the parameter {name!r} open: give it a value")
    for name in values:
        if name not in wanted:
            raise InputError(f"{rules.name} has no parameter {name!r}: it would not be used")


def _storable(value: Any, files: ExitStack) -> Any:
    """Return a value that may be written down; a table that is not a file becomes one meanwhile."""
    if is_database(value) or isinstance(value, (pd.DataFrame, pa.Table)):
        folder = files.enter_context(TemporaryDirectory(prefix="mdba-"))
        path = Path(folder) / "gold.parquet"
        pq.write_table(read_table(value, text_columns=(), missing_values=MISSING_VALUES), path)
        return str(path)
    if isinstance(value, Path):
        return str(value.absolute())
    return value


def _results(
    labels: Source, rules: ExpectationSuite, values: Mapping[str, Any]
) -> list[ExpectationValidationResult]:
    context = get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    definition = (
        context.data_sources.add_pandas("mdba")
        .add_dataframe_asset("labels")
        .add_batch_definition_whole_dataframe("labels")
    )
    batch = definition.get_batch({"dataframe": _frame(labels, rules, values)})
    results = batch.validate(rules, expectation_parameters=dict(values)).results
    if len(results) != len(rules.expectations):
        raise InputError(f"{len(rules.expectations)} rules left {len(results)} results")
    return list(results)


def _frame(labels: Source, rules: ExpectationSuite, values: Mapping[str, Any]) -> pd.DataFrame:
    """Read the labels; columns with names of people, groups and items are text, 007 stays 007."""
    if isinstance(labels, pd.DataFrame):
        return labels
    names: set[Any] = {"item"}
    for rule in rules.expectations:
        if isinstance(rule, LabelerGapExpectation):
            who = (rule.labeler_column, rule.cohort_column, rule.cluster_column)
            for name in (*who, rule.group_column, rule.item_column):
                given = values[name["$PARAMETER"]] if is_suite_parameter(name) else name
                names.update(given if isinstance(given, (list, tuple)) else [given])
    table = read_table(labels, text_columns=names - {None}, missing_values=MISSING_VALUES)
    # Plain text, because other expectations take categories for something else.
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    frame: pd.DataFrame = pa.table(plain, names=table.column_names).to_pandas()
    return frame


def _exit_code(result: ExpectationValidationResult, limit: FailureSeverity) -> int:
    if problem_of(result):
        return NOT_CHECKED
    rule = result.expectation_config
    if result.success or (rule is not None and rule.severity < limit):
        return PASSED
    return INCONCLUSIVE if details_of(result).get("verdict") == "inconclusive" else BLOCKED


def _rule(result: ExpectationValidationResult, code: int) -> dict[str, Any]:
    """Return what became of a rule, as plain values."""
    rule = result.expectation_config
    details = details_of(result)
    problem = problem_of(result)
    reason = problem or "; ".join(details.get("reasons", ()))
    if not reason and not result.success:
        reason = "; ".join(_found(result))
    return {
        "outcome": "ok" if result.success else "noted" if code == PASSED else _WORDS[code],
        "expectation": rule.type if rule else "an expectation",
        "severity": rule.severity.value if rule else FailureSeverity.CRITICAL.value,
        "column": rule.kwargs.get("column") if rule else None,
        "reason": reason,
        "details": details,
    }


def _found(result: ExpectationValidationResult) -> Iterator[str]:
    """Yield what a core expectation found in the data, and what it wanted there."""
    rule, found = result.expectation_config, result.result or {}
    wanted = dict(rule.kwargs) if rule else {}
    wanted.pop("batch_id", None)
    column = wanted.pop("column", None)
    where = f"column {column!r}: " if column is not None else ""
    unexpected = [v for v in found.get("partial_unexpected_list") or () if v is not None]
    if unexpected:
        some = list(dict.fromkeys(map(repr, unexpected)))
        shown = ", ".join(some[:_MOST_VALUES]) + (", …" if len(some) > _MOST_VALUES else "")
        count, total = found.get("unexpected_count"), found.get("element_count")
        yield f"{where}{count:,} of {total:,} values are not as expected: {shown}"
    elif found.get("observed_value") is not None:
        yield f"{where}found {found['observed_value']!r}"
    elif found.get("unexpected_count"):  # there is nothing to show of a missing value
        count, total = found["unexpected_count"], found["element_count"]
        yield f"{where}{count:,} of {total:,} values are missing"
    else:
        yield f"{where}it does not hold"
    expected = ", ".join(f"{key} {value!r}" for key, value in wanted.items() if value is not None)
    if expected:
        yield f"expected {expected}"


def _line(rule: Mapping[str, Any]) -> str:
    name = f"{rule['expectation']} ({rule['severity']})"
    return f"{rule['outcome']}: {name}" + (f": {rule['reason']}" if rule["reason"] else "")
