"""Great Expectations in a flow: a suite or a contract as a task that fails on broken rules."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from prefect import task
from prefect.cache_policies import NO_CACHE

from mdba_checks.errors import CheckError
from mdba_checks.prefect.support import JSON, log


class RulesBrokenError(CheckError):
    """Labels do not hold what a suite or a contract demands of them."""


@task(name="validate rules", cache_policy=NO_CACHE)
def validate_rules(
    labels: str,
    *,
    suite: str | None = None,
    contract: str | None = None,
    schema: str | None = None,
    gold: str | None = None,
    severity: Literal["critical", "warning", "info"] = "critical",
) -> JSON:
    """Hold labels against a suite or a contract; fail where a rule is broken or not checked.

    Parameters
    ----------
    labels
        A path or ``URL::table``.
    suite, contract
        The file with the rules; one of the two.
    schema
        Which table of the contract.
    gold
        Where gold is, for rules that leave it open: a path or ``URL::table``.
    severity
        Failures below it are only logged.

    Raises
    ------
    RulesBrokenError
        When a rule does not hold, cannot be decided or could not be checked; Prefect's state then
        carries the reason.

    Examples
    --------
    In a flow of your own, in front of whatever uses the labels::

        @flow
        def nightly(labels: str, gold: str) -> None:
            checked = validate_rules(labels, suite="expectations/label_bias.json", gold=gold)
            use(labels, wait_for=[checked])
    """
    from mdba_checks.gx import validate
    from mdba_checks.tables import is_database

    ended = validate(
        labels,
        suite=suite,
        contract=contract,
        schema=schema,
        gold=gold if gold is None or is_database(gold) else Path(gold),
        severity=severity,
    )
    for line in ended.lines:
        log().info("%s", line)
    if ended.exit_code != 0:
        raise RulesBrokenError("; ".join(ended.lines))
    return {"lines": list(ended.lines)}
