"""Run a suite or a contract over one table of labels, and end in an exit code.

This is `mdba validate`: no project, no stored results, one answer. 0 passed, 1 blocked, 2 something
could not be checked, 3 stopped because the evidence does not decide it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
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
from mdba_checks.tables import Source, read_table

PASSED, BLOCKED, NOT_CHECKED, INCONCLUSIVE = 0, 1, 2, 3

_WORDS = {PASSED: "passed", BLOCKED: "block", NOT_CHECKED: "error", INCONCLUSIVE: "inconclusive"}


@dataclass(frozen=True)
class Validation:
    """How it ended, for programs and for people.

    Attributes
    ----------
    exit_code
        0 passed, 1 blocked, 2 something could not be checked, 3 inconclusive.
    lines
        One about the whole, one per expectation, and the verdict. Names from the data are in them
        as they are.
    """

    exit_code: int
    lines: tuple[str, ...]

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
    gold: str | Path | None = None,
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
        The value of the parameter `gold`, for rules that leave open where gold is.
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
    values = _values(rules, gold, parameters or {})
    context = get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    definition = (
        context.data_sources.add_pandas("mdba")
        .add_dataframe_asset("labels")
        .add_batch_definition_whole_dataframe("labels")
    )
    batch = definition.get_batch({"dataframe": _frame(labels, rules, values)})
    results = batch.validate(rules, expectation_parameters=values).results
    if len(results) != len(rules.expectations):
        raise InputError(f"{len(rules.expectations)} rules left {len(results)} results")
    limit = FailureSeverity(severity)
    codes = [_exit_code(result, limit) for result in results]
    # The strictest word has the last say: a rule that could not be checked spoils every other.
    worst = next((c for c in (NOT_CHECKED, BLOCKED, INCONCLUSIVE) if c in codes), PASSED)
    lines = [_line(result, code) for result, code in zip(results, codes, strict=True)]
    failed = sum(not result.success for result in results)
    head = f"{rules.name}: {len(results) - failed} of {len(results)} expectations hold"
    return Validation(worst, (head, *lines, f"verdict: {_WORDS[worst]}"))


def _values(
    rules: ExpectationSuite, gold: str | Path | None, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    values = dict(parameters)
    if gold is not None:
        values["gold"] = str(Path(gold).absolute())
    wanted = rules.suite_parameter_options
    for name in wanted:
        if name not in values:
            raise InputError(f"{rules.name} leaves the parameter {name!r} open: give it a value")
    for name in values:
        if name not in wanted:
            raise InputError(f"{rules.name} has no parameter {name!r}: it would not be used")
    return values


def _frame(labels: Source, rules: ExpectationSuite, values: Mapping[str, Any]) -> pd.DataFrame:
    """Read the labels; columns with names of people, groups and items are text, 007 stays 007."""
    if isinstance(labels, pd.DataFrame):
        return labels
    names: set[Any] = {"item"}
    for rule in rules.expectations:
        if isinstance(rule, LabelerGapExpectation):
            for name in (rule.labeler_column, rule.group_column, rule.item_column):
                names.add(values[name["$PARAMETER"]] if is_suite_parameter(name) else name)
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


def _line(result: ExpectationValidationResult, code: int) -> str:
    rule = result.expectation_config
    name = f"{rule.type} ({rule.severity.value})" if rule else "an expectation"
    reasons: Sequence[str] = details_of(result).get("reasons", ())
    why = problem_of(result) or "; ".join(reasons)
    word = "ok" if result.success else "noted" if code == PASSED else _WORDS[code]
    return f"{word}: {name}" + (f": {why}" if why else "")
