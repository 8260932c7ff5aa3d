"""`mdba validate`: the rules of a suite or a data contract, checked on one table of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mdba_checks.cli.options import OUTPUT, Debug, Force, Quiet, examples

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
            help="One row per decision: .csv, .csv.gz, .parquet, a folder of Parquet parts, .xlsx "
            "(BOOK.xlsx::SHEET), .json, .jsonl, the same as s3://… or gs://…, or a database table "
            "as URL::table.",
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
            "--gold",
            metavar="GOLD",
            help="For rules that leave open where gold is: a file, or a database table as "
            "URL::table.",
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
    json_file: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="Write what became of every rule as JSON; - is stdout, which then holds nothing "
            "else.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    junit_file: Annotated[
        str | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Write a JUnit report: one test case per rule.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write what the rules about labelers found as CSV, a row per comparison.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report_file: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a page for people as one HTML file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Validate labels against a Great Expectations suite or a data contract.

    Exit codes: 0 passed, 1 blocked, 2 bad usage, bad input or a rule that could not
    be checked, 3 stopped because the evidence does not decide it.
    """
    from mdba_checks.cli.check import file_of
    from mdba_checks.cli.terminal import screen, write_stdout
    from mdba_checks.errors import InputError, did_you_mean
    from mdba_checks.outputs import check_target

    known = ("critical", "warning", "info")
    if severity not in known:
        raise InputError(f"--severity is {severity!r}.{did_you_mean(severity, known)}")
    if (suite is None) == (contract is None):
        raise InputError("give the rules with --suite or with --contract, one of the two")
    if schema is not None and contract is None:
        raise InputError("--schema names a table of a contract: it needs --contract")
    parameters = dict(map(_parameter, values or ()))
    named = [each for each in (labels, gold) if each]
    inputs = [*map(file_of, named), *map(Path, filter(None, (suite, contract)))]
    for target in (json_file, junit_file, csv_file, report_file):
        if target and target != "-":
            check_target(target, force=force, inputs=inputs)

    from mdba_checks.gx import validate as run
    from mdba_checks.tables import is_database

    ended = run(
        labels,
        suite=suite,
        contract=contract,
        schema=schema,
        gold=gold if gold is None or is_database(gold) else Path(gold),
        parameters=parameters,
        severity=severity,  # type: ignore[arg-type]  # it is checked above
    )
    from mdba_checks.outputs import rules_csv, to_json, write_whole
    from mdba_checks.report import rules_junit, rules_page

    for target, made in (
        (json_file, to_json),
        (junit_file, rules_junit),
        (csv_file, rules_csv),
        (report_file, rules_page),
    ):
        if target and target != "-":
            write_whole(target, made(ended.record), force=force, inputs=inputs)
    if json_file == "-":
        write_stdout(to_json(ended.record))
    elif not quiet:
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
