"""`mdba check`: verdicts and exit codes, flags over YAML, the JSON record."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mdba_checks.config import CheckConfig, Policy

VERDICTS = {
    "block": ([], 1),
    "pass": (["--max-gap", "0.95"], 0),
    "annotate": (["--mode", "annotate", "--on-inconclusive", "pass", "--output"], 0),
    "quarantine": (["--mode", "quarantine", "--on-inconclusive", "annotate", "--output"], 0),
    # L1's true gap is near -0.65: with this limit its interval lies across.
    "inconclusive": (["--max-gap", "0.6", "--margin", "0"], 3),
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_its_exit_code_and_is_said_aloud(mdba, files, verdict):
    flags, code = VERDICTS[verdict]
    target = files.folder / "out.json"
    output = [files.folder / "out.csv"] if "--output" in flags else []
    run = mdba(*files.check, *flags, *output, "--json", target)
    assert run.code == code
    assert f"Verdict: {verdict.upper()} - " in run.out
    # On a busy machine a stage may take long enough to be worth a line.
    assert all(line.startswith("mdba: fitting") for line in run.err.splitlines())
    record = json.loads(target.read_text())
    assert record["verdict"] == verdict
    assert record["data"]["n_labels"] == 2_600


def test_what_blocked_is_named_with_its_reason(mdba, files):
    run = mdba(*files.check, COLUMNS="400")
    assert re.search(r"^- [12] labelers? biased beyond ±0.1: L1", run.out, re.MULTILINE)
    assert re.search(r"L1 says yes for \d+(\.\d)?% of women and \d+(\.\d)?% of men where", run.out)
    assert "What to do next" in run.out


def test_json_on_stdout_is_json_alone(mdba, files):
    run = mdba(*files.quick, "--json", "-")
    record = json.loads(run.out)
    assert (record["estimator"], record["reference"]) == ("selection_rate", "men")
    assert record["gaps"][0]["labeler"] == "L1"
    assert run.err == ""


def test_quiet_says_nothing_at_all(mdba, files):
    run = mdba(*files.quick, "--quiet")
    assert (run.code, run.out, run.err) == (1, "", "")


def test_quiet_still_gives_the_json_that_was_asked_for(mdba, files):
    run = mdba(*files.quick, "--quiet", "--json", "-")
    assert json.loads(run.out)["verdict"] == "block"


def test_flags_override_the_file_and_the_rest_of_it_holds(mdba, files):
    settings = files.folder / "mdba.yaml"
    settings.write_text(
        "reference: women\nestimator: selection_rate\nseed: 4\n"
        "policy: {max_gap: 0.3, correction: bh, min_gold_positives: 7}\n"
    )
    labels, gold = files.labels, files.gold
    plain = ["check", labels, "--gold", gold, "--config", settings, "--json", "-"]
    record = json.loads(mdba(*plain).out)
    assert (record["reference"], record["seed"]) == ("women", 4)
    assert (record["policy"]["max_gap"], record["policy"]["correction"]) == (0.3, "bh")
    record = json.loads(mdba(*plain, "--reference", "men", "--max-gap", "0.2").out)
    assert (record["reference"], record["seed"]) == ("men", 4)
    assert (record["policy"]["max_gap"], record["policy"]["correction"]) == (0.2, "bh")
    assert record["policy"]["min_gold_positives"] == 7


def test_every_flag_reaches_the_setting_it_names(mdba, files, tables):
    labels, gold = (table.rename(columns={"group": "sex", "item": "case"}) for table in tables)
    yes = {0: "no", 1: "yes"}
    labels = labels.rename(columns={"labeler": "who", "label": "hired"})
    labels.assign(hired=labels["hired"].map(yes)).to_csv(files.labels, index=False)
    gold = gold.rename(columns={"gold": "right"})
    gold.assign(right=gold["right"].map(yes)).to_csv(files.gold, index=False)
    flags = {
        "--labeler": ("columns.labeler", "who"),
        "--label": ("columns.label", "hired"),
        "--group": ("columns.group", "sex"),
        "--gold-label": ("columns.gold", "right"),
        "--item": ("columns.item", "case"),
        "--positive": ("positive", "yes"),
        "--reference": ("reference", "men"),
        "--metric": ("metric", "fpr"),
        "--estimator": ("estimator", "selection_rate"),
        "--confidence": ("confidence", 0.8),
        "--jobs": ("jobs", 1),
        "--engine": ("engine", "dask"),
        "--seed": ("seed", 9),
        "--max-gap": ("policy.max_gap", 0.25),
        "--mode": ("policy.mode", "annotate"),
        "--margin": ("policy.margin", 0.1),
        "--max-gap-overall": ("policy.max_gap_overall", 0.3),
        "--max-undecided": ("policy.max_undecided", 0.2),
        "--cohort": ("columns.cohort", "region"),
        "--quarantine": ("policy.quarantine", "group"),
        "--on-inconclusive": ("policy.on_inconclusive", "pass"),
        "--correction": ("policy.correction", "none"),
        "--decide-on": ("policy.decide_on", "estimate"),
        "--min-gold-positives": ("policy.min_gold_positives", 3),
        "--on-serious": ("policy.on_serious", "report"),
        "--positive-verb": ("words.positive_verb", "invites"),
        "--negative-verb": ("words.negative_verb", "rejects"),
        "--positive-adjective": ("words.positive_adjective", "suitable"),
        "--negative-adjective": ("words.negative_adjective", "unsuitable"),
    }
    given = [str(part) for flag, (_, value) in flags.items() for part in (flag, value)]
    given += ["--features", "education,test_score", "--drop-missing", "--pseudonymize"]
    given += ["--c", "0.9", "--c", "1.1", "--missing-values", "-"]
    given += ["--output", str(files.folder / "out.csv"), "--json", "-"]
    run = mdba("check", files.labels, "--gold", files.gold, *given, MDBA_PSEUDONYM_KEY="secret")
    changes = dict(flags.values()) | {
        "features": ("education", "test_score"),
        "c": (0.9, 1.1),
        "missing_values": ("-",),
        "drop_missing": True,
        "pseudonymize": True,
    }
    record = json.loads(run.out)
    assert CheckConfig.from_mapping(record["config"]) == CheckConfig().updated(changes)
    assert record["data"]["features"] == ["education", "test_score"]
    words = mdba("check", "--help").out.split()
    options = {word.rstrip(".") for word in words if word.startswith("--")}
    others = {"--gold", "--config", "--json", "--report", "--all", "--force", "--quiet", "--debug"}
    others |= {
        "--help",
        "--verbose",
        "--output",
        "--csv",
        "--mapping",
        "--history",
        "--format",
        "--junit",
        "--cluster",
    }
    others |= {"--verbose", "--intersections"}  # shows more; needs several group columns
    others |= {"--gold-positive"}  # needs gold in other words
    others |= {"--text", "--text-model"}  # need a column of text, and a model
    others |= {"--cluster-column", "--gold-weight"}  # need columns that are not there
    several = {"--features", "--c", "--missing-values"}
    assert options - others == {*flags, *several, "--drop-missing", "--pseudonymize"}


def test_the_defaults_in_the_help_are_those_of_the_settings(mdba):
    text = " ".join(mdba("check", "--help", COLUMNS="1000").out.split())
    config, policy = CheckConfig(), Policy()
    for flag, default in {
        "--labeler": config.columns.labeler,
        "--label": config.columns.label,
        "--group": config.columns.group,
        "--gold-label": config.columns.gold,
        "--confidence": config.confidence,
        "--seed": config.seed,
        "--max-gap": policy.max_gap,
        "--min-gold-positives": policy.min_gold_positives,
    }.items():
        shown = text.split(f"{flag} ")[1].split("│")[0]
        assert re.search(rf"Default: {default}[.;]", shown)  # a column may be given several times
    for flag, default in {
        "--metric": config.metric,
        "--estimator": config.estimator,
        "--mode": policy.mode,
        "--correction": policy.correction,
        "--decide-on": policy.decide_on,
    }.items():
        about = text.split(f"{flag} ")[1].split("│")[0]
        assert f"{default} (default" in about


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--max-gap", "5"], "--max-gap is 5.0"),
        (["--metric", "accuracy"], "--metric is 'accuracy'"),
        (["--mode", "blok"], "--mode is 'blok'"),
        (["--gold-label", ""], "--gold-label"),
        (["--max-gap", "much"], "--max-gap"),
        (["--maxgap", "0.1"], "No such option: --maxgap"),
        (["--jobs", "0"], "--jobs is 0"),
        (["--seed", "-1"], "--seed is -1"),
        (["extra"], "extra"),
    ],
)
def test_a_wrong_flag_is_one_line_that_names_the_flag(mdba, files, flags, said):
    run = mdba(*files.quick, *flags)
    assert run.code == 2
    assert run.out == ""
    assert run.err.startswith("mdba: ")
    assert run.err.count("\n") == 1
    assert said in run.err


def test_no_gold_is_bad_usage(mdba, files):
    run = mdba("check", files.labels)
    assert run.code == 2
    assert run.err == "mdba: Missing option '--gold'. (see mdba check --help)\n"


def test_an_output_that_cannot_be_written_is_refused_before_the_work(mdba, files):
    for target in (files.labels, files.gold, files.folder / "no" / "out.json"):
        before = {path: path.read_bytes() for path in files.folder.iterdir()}
        # An estimator that needs models: the refusal must not wait for them.
        run = mdba(*files.check, "--json", target, "--force")
        assert run.code == 2
        assert run.err.startswith(f"mdba: cannot write {target}: ")
        assert run.err.count("\n") == 1
        assert before == {path: path.read_bytes() for path in files.folder.iterdir()}


def test_the_file_of_a_database_is_an_input_too(mdba, files, tables):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    database = files.folder / "jobs.db"
    engine = sqlalchemy.create_engine(f"sqlite:///{database}")
    tables[0].to_sql("labels", engine, index=False)
    tables[1].to_sql("gold", engine, index=False)
    engine.dispose()
    source = f"sqlite:///{database}"
    check = ["check", f"{source}::labels", "--gold", f"{source}::gold", "--reference", "men"]
    check += ["--estimator", "selection_rate", "--max-gap", "0.05"]
    assert mdba(*check, "--quiet").code == 1
    before = database.read_bytes()
    run = mdba(*check, "--json", database, "--force")
    assert (run.code, run.err) == (
        2,
        f"mdba: cannot write {database}: it is an input; choose another name\n",
    )
    assert database.read_bytes() == before


def test_an_existing_json_file_is_replaced_with_force_only(mdba, files):
    target = files.folder / "out.json"
    target.write_text("precious")
    run = mdba(*files.quick, "--json", target)
    assert run.code == 2
    assert target.read_text() == "precious"
    assert mdba(*files.quick, "--json", target, "--force").code == 1
    assert json.loads(target.read_text())["verdict"] == "block"


def test_dropped_rows_are_reported(mdba, files, tables):
    labels = tables[0].copy()
    labels.loc[:4, "labeler"] = None
    labels.to_csv(files.labels, index=False)
    run = mdba(*files.quick, "--drop-missing")
    assert run.code == 1
    assert "2,595 labels" in run.out
    assert "5" in run.out.split("About the tables")[1]


def test_a_crash_is_one_line_and_exit_code_70_and_debug_shows_where(mdba, files, monkeypatch):
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("mdba_checks.assessment.assessing.open_tables", crash)
    run = mdba(*files.quick)
    assert run.code == 70
    assert run.err == "mdba: internal error: RuntimeError: first line (run with --debug)\n"
    run = mdba(*files.quick, "--debug")
    assert run.code == 70
    assert "Traceback" in run.err
    assert "in crash" in run.err


def test_an_interrupt_is_no_verdict(mdba, files, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mdba_checks.assessment.assessing.open_tables", interrupt)
    assert mdba(*files.quick).code == 130


def test_debug_shows_the_traceback_of_bad_input_too(mdba, files):
    run = mdba(*files.quick, "--label", "lable", "--debug")
    assert run.code == 2
    assert "Traceback" in run.err


def test_the_version_is_that_of_the_package(mdba):
    from mdba_checks import __version__

    assert mdba("--version").out == f"mdba-checks {__version__}\n"


def test_no_command_at_all_shows_the_help_and_is_bad_usage(mdba):
    run = mdba()
    assert run.code == 2
    assert "Commands" in run.out


@pytest.mark.parametrize(
    "command", ["check", "demo", "plan", "simulate", "trend", "validate", "verify"]
)
def test_the_help_of_every_command_has_examples(mdba, command):
    run = mdba(command, "--help")
    assert run.code == 0
    assert f"mdba {command} " in run.out.split("Examples:")[1] or command == "demo"
    assert max(map(len, run.out.splitlines())) <= 80


def test_relative_paths_work_from_where_the_user_stands(mdba, files, monkeypatch):
    monkeypatch.chdir(files.folder)
    check = ["check", "labels.csv", "--gold", "gold.csv", "--estimator", "selection_rate"]
    assert mdba(*check, "--max-gap", "0.9").code == 0
    assert sorted(path.name for path in Path().iterdir()) == ["gold.csv", "labels.csv"]
