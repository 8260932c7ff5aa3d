"""`mdba check`: from two tables to a verdict and an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from mdba_checks.cli.options import (
    ConfigFile,
    Debug,
    Flags,
    Force,
    Gold,
    Labels,
    Quiet,
    examples,
    flag,
    option_name,
    with_options,
    written,
)

if TYPE_CHECKING:
    import pandas as pd

    from mdba_checks.assessment import Assessment
    from mdba_checks.config import CheckConfig
    from mdba_checks.outputs import History

EPILOG = examples(
    "mdba check labels.csv --gold gold.csv --reference men",
    "mdba check labels.parquet --gold gold.csv --config mdba.yaml --json out.json",
    "mdba check labels.csv --gold gold.csv --labeler rater --group sex --report r.html",
    "mdba check sqlite:///jobs.db::labels --gold sqlite:///jobs.db::gold --json -",
)


@dataclass(frozen=True)
class Outputs:
    """What is written and shown."""

    output: Annotated[
        str | None,
        written(
            "--output",
            "Where labels go that may be used: .csv, .csv.gz or .parquet, with what was found "
            "about every row; rows in quarantine go beside it. FILE.mdba.json says what was "
            "decided. Labels that are stopped go nowhere; without FILE nothing is written.",
        ),
    ] = None
    mapping: Annotated[
        str | None,
        written("--mapping", "Write who is behind each pseudonym, as JSON; keep it apart."),
    ] = None
    json_file: Annotated[
        str | None,
        written(
            "--json",
            "Write the whole result as JSON; - is stdout, which then holds nothing else.",
            "FILE|-",
        ),
    ] = None
    report_file: Annotated[
        str | None,
        written("--report", "Write a report for people as one HTML file, to open in any browser."),
    ] = None
    csv_file: Annotated[
        str | None,
        written(
            "--csv",
            "Write the findings as CSV: a row per comparison of all labels, cohorts and labelers.",
        ),
    ] = None
    junit_file: Annotated[
        str | None,
        written("--junit", "Write a JUnit report: one test case per labeler and group."),
    ] = None
    form: Annotated[
        str,
        written(
            "--format",
            "What is printed: text, or github, with annotations for pull requests and a summary "
            "of the job.",
            "NAME",
        ),
    ] = "text"
    history: Annotated[
        str | None,
        written(
            "--history",
            "Keep the result there too, under the time of the check, for mdba trend.",
            "FOLDER",
        ),
    ] = None
    every: Annotated[bool, flag("--all", "Show all labelers, not only the first 25.")] = False
    verbose: Annotated[
        bool,
        flag("--verbose", "Show what became of every column of the tables.", short=("-v",)),
    ] = False
    quiet: Quiet = False

    @property
    def to_stdout(self) -> bool:
        """Whether stdout holds JSON and nothing else."""
        return self.json_file == "-"

    def files(self) -> list[str]:
        """Return the files that are asked for."""
        shown = (self.json_file, self.report_file, self.csv_file, self.junit_file)
        return [each for each in (*shown, self.mapping, self.output) if each and each != "-"]


@with_options()
def check(
    labels: Labels,
    gold: Gold,
    config: ConfigFile = None,
    flags: Flags = MappingProxyType({}),
    outputs: Outputs = Outputs(),  # noqa: B008  frozen
    force: Force = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Check labels: who treats a group differently, and may training go on?

    Exit codes: 0 passed (or annotated, or quarantined, as asked), 1 blocked,
    2 bad usage or bad input, 3 stopped because the evidence does not decide it.
    """
    from mdba_checks.cli.ci import refuse_format, text_only, write_annotations, write_summary
    from mdba_checks.cli.release import refuse, send
    from mdba_checks.errors import InputError
    from mdba_checks.outputs import check_target, write_whole

    settings = read_settings(config, flags)
    inputs = [*map(file_of, (labels, gold)), *([Path(config)] if config else [])]
    refuse_format(outputs.form, json_to_stdout=outputs.to_stdout)
    output, mapping, quiet = _path_of(outputs.output), outputs.mapping, outputs.quiet
    refuse(settings, labels, output=output, mapping=mapping, force=force, inputs=inputs)
    targets = outputs.files()
    resolved = [check_target(target, force=force, inputs=inputs) for target in targets]
    for number, target in enumerate(targets):
        if resolved[number] in resolved[:number]:
            raise InputError(f"cannot write {target}: another output goes there; rename one")

    history = _open_history(outputs.history, inputs)
    assessment = perform(labels, gold, settings, quiet=quiet)
    if mapping:
        from mdba_checks.outputs import write_mapping

        write_mapping(assessment.pseudonyms, mapping, force=force)
    sent = send(labels, gold, assessment, output, force=force, inputs=inputs, quiet=quiet)
    decision = sent.release.decision

    from mdba_checks.cli.result import EXIT_CODES, show_columns, show_result
    from mdba_checks.cli.terminal import screen

    record = sent.record.values()
    if history:
        history.remember(sent.record)
    if outputs.json_file:
        write_json(record, outputs.json_file, force=force, inputs=inputs)
    if outputs.report_file:
        from mdba_checks.report import write_report

        write_report(
            outputs.report_file,
            assessment,
            decision,
            history=_successive(history),
            force=force,
            inputs=inputs,
        )
    if outputs.csv_file:
        from mdba_checks.outputs import findings_csv

        write_whole(outputs.csv_file, findings_csv(record), force=force, inputs=inputs)
    if outputs.junit_file:
        from mdba_checks.report import junit

        write_whole(outputs.junit_file, junit(assessment, decision), force=force, inputs=inputs)
    if not quiet and not outputs.to_stdout:
        with text_only(outputs.form):
            surface = screen()
            show_result(surface, assessment, decision, every=outputs.every, files=sent.lines)
            if outputs.verbose:
                show_columns(surface, assessment)
    write_annotations(outputs.form, labels, assessment, decision)
    write_summary(outputs.form, labels, assessment, decision)
    return EXIT_CODES[decision.verdict]


def _path_of(output: str | None) -> str | None:
    """Return the path that ``file://…`` stands for, and everything else as it is."""
    if output is None:
        return None
    from mdba_checks.tables import without_file_scheme

    return str(without_file_scheme(output))


def write_json(record: Mapping[str, Any], target: str, *, force: bool, inputs: list[Path]) -> None:
    """Write a result for other programs; ``-`` is stdout."""
    from mdba_checks.cli.terminal import write_stdout
    from mdba_checks.outputs import to_json, write_whole

    text = to_json(record)
    if target == "-":
        write_stdout(text)
    else:
        write_whole(target, text, force=force, inputs=inputs)


def perform(labels: str, gold: str, settings: CheckConfig, *, quiet: bool) -> Assessment:
    """Assess, with signs of life on stderr."""
    from mdba_checks.cli.progress import progress

    with progress(quiet=quiet) as report:
        from mdba_checks.assessment import assess

        return assess(labels, gold, settings, progress=report)


def _open_history(folder: str | None, inputs: list[Path]) -> History | None:
    if folder is None:
        return None
    from mdba_checks.outputs import History

    return History(folder, inputs=inputs)


def _successive(history: History | None) -> pd.DataFrame | None:
    """Return the gaps of all checks so far, or nothing where they cannot be compared."""
    from mdba_checks.errors import InputError
    from mdba_checks.outputs import trend

    if history is None:
        return None
    try:
        return trend([history.folder])
    except InputError:  # other questions were asked before: the report describes this check alone
        return None


def read_settings(path: str | None, flags: Mapping[str, object]) -> CheckConfig:
    """Return the settings of the file with the flags over them; errors name what the user typed."""
    from mdba_checks.config import CheckConfig
    from mdba_checks.errors import SettingsError

    settings = CheckConfig.from_yaml(path) if path else CheckConfig()
    given = {key: value for key, value in flags.items() if value is not None}
    if "reference" in given:
        given["reference"] = with_references(
            given["reference"], given.get("columns.group"), settings
        )
    try:
        return settings.updated(given)
    except SettingsError as error:
        # The file was fine, so a flag is not; say its name, not that of the key behind it.
        raise error.named(lambda key: option_name(key) if key in given else None) from None


def with_references(typed: Any, groups: Any, settings: CheckConfig) -> object:
    """Return the reference that was typed, or one per group column (``gender=men``)."""
    from mdba_checks.errors import InputError

    columns = groups or settings.columns.groups
    named: dict[str, str] = {}
    for each in typed:
        column, equals, value = each.partition("=")
        if not equals or column not in columns:
            if len(typed) == 1:
                return each
            raise InputError(
                f"--reference {each}: say of which group column, such as {columns[0]}={each}"
            )
        if column in named:
            raise InputError(f"--reference is given twice for {column}: it takes one group")
        named[column] = value
    return named


def file_of(source: str) -> Path:
    """Return the file behind a source: a database in a file is one, and must not be overwritten."""
    from mdba_checks.tables import without_file_scheme

    url, _, _ = source.rpartition("::")
    scheme, mark, place = url.partition("://")
    if not mark:
        in_workbook = url.lower().endswith(".xlsx")
        return Path(url if in_workbook else without_file_scheme(source))
    return Path(place.removeprefix("/").partition("?")[0] or scheme)
