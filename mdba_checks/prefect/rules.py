"""Great Expectations in a flow: a suite or a contract as a task that fails on broken rules."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from prefect import task
from prefect.cache_policies import NO_CACHE

from mdba_checks.errors import CheckError
from mdba_checks.prefect.support import JSON, log

_STOPPED = {"block": "blocked", "inconclusive": "undecided", "error": "not checked"}


class RulesBrokenError(CheckError):
    """Labels are not as a suite or a contract demands, or nobody can say whether they are.

    Attributes
    ----------
    verdict
        block: a rule does not hold; inconclusive: the evidence does not decide it; error: a rule
        could not be checked.
    """

    def __init__(self, text: str, verdict: str = "error") -> None:
        super().__init__(text)
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[RulesBrokenError], tuple[str, str]]:
        return type(self), (str(self), self.verdict)


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
    """Compare labels with a suite or a contract; fail where a rule is broken or not checked.

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
        When a rule does not hold, cannot be decided or could not be checked; the message in
        Prefect's state begins with blocked, undecided or not checked, and gives the reason.

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
        verdict = ended.record["verdict"]
        # Raised, not returned as a state of that name: Prefect goes on after a returned state.
        raise RulesBrokenError(f"{_STOPPED[verdict]}: {'; '.join(ended.lines)}", verdict)
    return {"lines": list(ended.lines)}
