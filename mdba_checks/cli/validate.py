"""`mdba validate`: the rules of a suite or a data contract, held against one table of labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mdba_checks.cli.options import Debug, Quiet, examples

EPILOG = examples(
    "mdba validate --suite label_bias.json --labels labels.csv --gold gold.csv",
    "mdba validate --contract labels.odcs.yaml --labels labels.parquet --gold gold.csv",
    "mdba validate --suite suite.yaml --labels labels.csv --set limit=0.05 --severity warning",
)


def validate(
    labels: Annotated[
        str,
        typer.Option(
            "--labels",
            metavar="LABELS",
            help="One row per decision: .csv, .csv.gz, .parquet, a folder of Parquet parts, or a "
            "database table as URL::table.",
            show_default=False,
        ),
    ],
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite", metavar="FILE", help="A Great Expectations suite, in JSON or YAML."
        ),
    ] = None,
    contract: Annotated[
        str | None,
        typer.Option(
            "--contract", metavar="FILE", help="A contract of the Open Data Contract Standard 3."
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema", metavar="NAME", help="Which table of the contract, if it has several."
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold", metavar="GOLD", help="A file, for rules that leave open where gold is."
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="The value of another parameter; may be repeated."
        ),
    ] = None,
    severity: Annotated[
        str,
        typer.Option(
            "--severity",
            metavar="NAME",
            help="Failures below it are noted only: critical, warning, info.",
        ),
    ] = "critical",
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Validate labels against a Great Expectations suite or a data contract.

    Exit codes: 0 passed, 1 blocked, 2 bad usage, bad input or a rule that could not
    be checked, 3 stopped because the evidence does not decide it.
    """
    from mdba_checks.cli.terminal import screen
    from mdba_checks.errors import InputError, did_you_mean

    known = ("critical", "warning", "info")
    if severity not in known:
        raise InputError(f"--severity is {severity!r}.{did_you_mean(severity, known)}")
    if (suite is None) == (contract is None):
        raise InputError("give the rules with --suite or with --contract, one of the two")
    if schema is not None and contract is None:
        raise InputError("--schema names a table of a contract: it needs --contract")
    parameters = dict(map(_parameter, values or ()))

    from mdba_checks.gx import validate as run

    ended = run(
        labels,
        suite=suite,
        contract=contract,
        schema=schema,
        gold=gold,
        parameters=parameters,
        severity=severity,  # type: ignore[arg-type]  # it is checked above
    )
    if not quiet:
        surface = screen()
        for line in ended.lines:
            surface.write(line)
    return ended.exit_code


def _parameter(text: str) -> tuple[str, Any]:
    """Return name and value of a parameter; the value reads as in YAML, so 0.1 is a number."""
    import yaml

    from mdba_checks.errors import InputError

    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InputError(f"--set is {text!r}: write it as name=value")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError:
        return name, value
