"""`mdba check`: from two tables to a verdict and an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdba_checks.cli.options import (
    OUTPUT,
    Debug,
    Force,
    Quiet,
    column,
    examples,
    flag,
    method,
    policy,
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


def check(
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="One row per decision: .csv, .csv.gz, .parquet, a folder of Parquet parts, or a "
            "database table as URL::table.",
            show_default=False,
        ),
    ],
    gold: Annotated[
        str,
        typer.Option(
            metavar="GOLD",
            help="Items whose right decision is known, in the same forms as LABELS.",
            show_default=False,
        ),
    ],
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Settings in YAML; the flags below override it."),
    ] = None,
    labeler: Annotated[str | None, column("--labeler", "Who decided. Default: labeler.")] = None,
    label: Annotated[str | None, column("--label", "What they decided. Default: label.")] = None,
    group: Annotated[
        str | None,
        column("--group", "The group of the person decided about. Default: group."),
    ] = None,
    gold_label: Annotated[
        str | None,
        column("--gold-label", "The right decision, in the gold table. Default: gold."),
    ] = None,
    item: Annotated[
        str | None,
        column(
            "--item",
            "What was decided on, where several rows are about the same thing. Default: item, if "
            "there is such a column.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        column(
            "--features",
            "Columns that a decision may depend on. Default: all that both tables have.",
            "A,B,C",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        column(
            "--text",
            "A column of free text; may be given several times. Default: columns that hold it.",
        ),
    ] = None,
    cohort: Annotated[
        str | None,
        column(
            "--cohort",
            "Column in the labels that says where they come from, such as vendor, team or region: "
            "every cohort gets a row of its own.",
        ),
    ] = None,
    positive: Annotated[
        str | None,
        column(
            "--positive", "The label that means yes, where labels are two named values.", "VALUE"
        ),
    ] = None,
    drop_missing: Annotated[
        bool,
        flag(
            "--drop-missing",
            "Drop rows without labeler, label or group instead of stopping, and say so.",
            panel="Columns",
        ),
    ] = False,
    reference: Annotated[
        str | None,
        method(
            "--reference",
            "VALUE",
            "The group that others are compared with. Default: everyone else.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        method("--metric", "NAME", "The rate that is compared: tpr (default), fpr, tnr, fnr."),
    ] = None,
    estimator: Annotated[
        str | None,
        method(
            "--estimator",
            "NAME",
            "mdba_dr (default), mdba, mdba_naive, selection_rate, gold_model, confident_learning.",
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        method(
            "--confidence",
            "SHARE",
            "How often intervals are meant to be right, 0.5 to 1. Default: 0.9.",
        ),
    ] = None,
    text_model: Annotated[
        str | None,
        method(
            "--text-model",
            "FOLDER",
            "A sentence-transformers model that reads free text. Default: words and parts of "
            "words.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        method(
            "--jobs", "N", "Parallel workers; the numbers do not depend on it. Default: all cores."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        method(
            "--engine",
            "NAME",
            "Where labeler models are fitted: local (default), dask, spark; the numbers do not "
            "depend on it.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        method(
            "--cluster",
            "ADDRESS",
            "A Dask scheduler (tcp://host:8786) or a Spark master (spark://host:7077). Default: "
            "one is started on this machine.",
        ),
    ] = None,
    seed: Annotated[
        int | None, method("--seed", "N", "Same data and seed, same numbers. Default: 0.")
    ] = None,
    max_gap: Annotated[
        float | None,
        policy("--max-gap", "GAP", "The largest tolerated difference, 0 to 1. Default: 0.1."),
    ] = None,
    margin: Annotated[
        float | None,
        policy(
            "--margin",
            "GAP",
            "How far beyond --max-gap somebody may turn out to be who is called borderline. "
            "Default: half of it.",
        ),
    ] = None,
    max_gap_overall: Annotated[
        float | None,
        policy(
            "--max-gap-overall",
            "GAP",
            "The largest tolerated difference for all labels together. Default: --max-gap.",
        ),
    ] = None,
    max_undecided: Annotated[
        float | None,
        policy(
            "--max-undecided",
            "SHARE",
            "The share of labels that may come from labelers who are undecided for lack of "
            "evidence. Default: 0.1.",
        ),
    ] = None,
    mode: Annotated[
        str | None,
        policy(
            "--mode",
            "NAME",
            "The verdict when a labeler is biased: block (default), annotate, quarantine.",
        ),
    ] = None,
    on_inconclusive: Annotated[
        str | None,
        policy(
            "--on-inconclusive",
            "NAME",
            "When more than --max-undecided is undecided: block (exit code 3), annotate, "
            "quarantine, pass. Default: as --mode.",
        ),
    ] = None,
    correction: Annotated[
        str | None,
        policy(
            "--correction",
            "NAME",
            "How testing many labelers at once is accounted for: auto (default: holm up to 20 "
            "comparisons, bh beyond), holm, bh, none.",
        ),
    ] = None,
    decide_on: Annotated[
        str | None,
        policy(
            "--decide-on",
            "NAME",
            "Decide on intervals, confident (default), or on the number alone, estimate.",
        ),
    ] = None,
    min_gold_positives: Annotated[
        int | None,
        policy(
            "--min-gold-positives",
            "N",
            "Gold items needed per group, of the kind the metric is about. Default: 5.",
        ),
    ] = None,
    quarantine: Annotated[
        str | None,
        policy(
            "--quarantine",
            "NAME",
            "What a quarantine takes out: all rows of a labeler, labeler (default), or only those "
            "about the group they treat differently, group.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Where labels go that may be used: .csv, .csv.gz or .parquet, with what was found "
            "about every row; rows in quarantine go beside it. FILE.mdba.json says what was "
            "decided. Labels that are stopped go nowhere; without FILE nothing is written.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    pseudonymize: Annotated[
        bool,
        flag(
            "--pseudonymize",
            "Show labelers under pseudonyms, made with the key in MDBA_PSEUDONYM_KEY.",
        ),
    ] = False,
    mapping: Annotated[
        str | None,
        typer.Option(
            "--mapping",
            metavar="FILE",
            help="Write who is behind each pseudonym, as JSON; keep it apart.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="Write the whole result as JSON; - is stdout, which then holds nothing else.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report_file: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a report for people as one HTML file, to open in any browser.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    junit_file: Annotated[
        str | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Write a JUnit report: one test case per labeler and group.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="What is printed: text, or github, with annotations for pull requests.",
            rich_help_panel=OUTPUT,
        ),
    ] = "text",
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="FOLDER",
            help="Keep the result there too, under the time of the check, for mdba trend.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    every: Annotated[bool, flag("--all", "Show all labelers, not only the first 25.")] = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Check labels: who treats a group differently, and may training go on?

    Exit codes: 0 passed (or annotated, or quarantined, as asked), 1 blocked,
    2 bad usage or bad input, 3 stopped because the evidence does not decide it.
    """
    from mdba_checks.cli.ci import refuse_format, text_only, write_annotations
    from mdba_checks.cli.release import refuse, send
    from mdba_checks.errors import InputError
    from mdba_checks.outputs import check_target, write_whole

    settings = read_settings(
        config,
        {
            "columns.labeler": labeler,
            "columns.label": label,
            "columns.group": group,
            "columns.gold": gold_label,
            "columns.item": item,
            "features": tuple(features.split(",")) if features else None,
            "columns.text": tuple(text) if text else None,
            "text_model": text_model,
            "positive": positive,
            "drop_missing": drop_missing or None,
            "reference": reference,
            "metric": metric,
            "estimator": estimator,
            "confidence": confidence,
            "jobs": jobs,
            "engine": engine,
            "cluster": cluster,
            "seed": seed,
            "pseudonymize": pseudonymize or None,
            "policy.max_gap": max_gap,
            "policy.margin": margin,
            "policy.max_gap_overall": max_gap_overall,
            "policy.max_undecided": max_undecided,
            "policy.mode": mode,
            "policy.quarantine": quarantine,
            "policy.on_inconclusive": on_inconclusive,
            "columns.cohort": cohort,
            "policy.correction": correction,
            "policy.decide_on": decide_on,
            "policy.min_gold_positives": min_gold_positives,
        },
    )
    inputs = [*map(file_of, (labels, gold)), *([Path(config)] if config else [])]
    to_stdout = json_file == "-"
    refuse_format(form, json_to_stdout=to_stdout)
    named = (None if to_stdout else json_file, report_file, junit_file, mapping, output)
    targets = [each for each in named if each]
    resolved = [check_target(target, force=force, inputs=inputs) for target in targets]
    for number, target in enumerate(targets):
        if resolved[number] in resolved[:number]:
            raise InputError(f"cannot write {target}: another output goes there; rename one")
    refuse(settings, labels, output=output, mapping=mapping, force=force, inputs=inputs)

    kept = _open_history(history, inputs)
    assessment = perform(labels, gold, settings, quiet=quiet)
    if mapping:
        from mdba_checks.outputs import write_mapping

        write_mapping(assessment.pseudonyms, mapping, force=force)
    sent = send(labels, gold, assessment, output, force=force, inputs=inputs, quiet=quiet)
    decision, record = sent.release.decision, sent.record

    from mdba_checks.cli.result import EXIT_CODES, show_result
    from mdba_checks.cli.terminal import screen, write_stdout
    from mdba_checks.outputs import to_json

    if kept:
        kept.remember(record)
    if json_file:
        written = to_json(record)
        if to_stdout:
            write_stdout(written)
        else:
            write_whole(json_file, written, force=force, inputs=inputs)
    if report_file:
        from mdba_checks.report import write_report

        write_report(
            report_file,
            assessment,
            decision,
            history=_successive(kept),
            force=force,
            inputs=inputs,
        )
    if junit_file:
        from mdba_checks.report import junit

        write_whole(junit_file, junit(assessment, decision), force=force, inputs=inputs)
    if not quiet and not to_stdout:
        with text_only(form):
            show_result(screen(), assessment, decision, every=every, files=sent.lines)
    write_annotations(form, labels, assessment, decision)
    return EXIT_CODES[decision.verdict]


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
    except InputError:  # other questions were asked before: the report speaks of this check alone
        return None


def read_settings(path: str | None, flags: Mapping[str, object]) -> CheckConfig:
    """Return the settings of the file with the flags over them; errors name what the user typed."""
    from mdba_checks.config import CheckConfig
    from mdba_checks.errors import SettingsError

    settings = CheckConfig.from_yaml(path) if path else CheckConfig()
    given = {key: value for key, value in flags.items() if value is not None}
    try:
        return settings.updated(given)
    except SettingsError as error:
        # The file was fine, so a flag is not; say its name, not that of the key behind it.
        raise error.named(lambda key: _flag(key) if key in given else None) from None


def _flag(key: str) -> str:
    name = key.rpartition(".")[2].replace("_", "-")
    return "--gold-label" if key == "columns.gold" else f"--{name}"


def file_of(source: str) -> Path:
    """Return the file behind a source: a database in a file is one, and must not be overwritten."""
    url, _, _ = source.rpartition("::")
    scheme, mark, place = url.partition("://")
    if not mark:
        return Path(source)
    return Path(place.removeprefix("/").partition("?")[0] or scheme)
