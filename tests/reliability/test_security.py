"""What SECURITY.md promises about hostile names, files and settings.

Names of labelers, groups and columns, the tables themselves and the settings may come from
strangers. Nothing in them may run, leave its folder, forge a line of output or show a secret.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import traceback
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.cli import main
from mdba_checks.errors import InputError
from mdba_checks.outputs import (
    ADDED_COLUMNS,
    History,
    quarantine,
    removed_path,
    to_record,
)
from mdba_checks.report import artifact_key
from mdba_checks.simulation import simulate
from mdba_checks.tables import read_table
from tests.helpers import write_annotated, write_quarantined

ROOT = Path(__file__).parents[2]

# Names that are paths, formulas, commands, markup or escape sequences somewhere.
ESCAPING = [
    "../../up",
    "/nowhere/absolute",
    "..\\..\\up",
    "C:\\up",
    "a/b",
    "~/home",
    ".",
    "nul\x00l",
]
FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", "=cmd|' /C calc'!A0"]


# --- Names stay names ----------------------------------------------------------------------------


def renamed(made, names, groups=None):
    """Return the tables with other names for labelers, and for groups."""
    labels, gold = made.labels.copy(), made.gold.copy()
    people = labels["labeler"].unique()
    labels["labeler"] = labels["labeler"].map(
        {person: names[number % len(names)] for number, person in enumerate(people)}
    )
    for table in (labels, gold):
        table["group"] = table["group"].replace(groups or {})
    return labels, gold


@pytest.fixture(scope="module")
def made():
    return simulate(n_items=2400, n_labelers=8, tprs=[0.2] + [0.94] * 7, gold_per_group=120, seed=4)


def everything_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_no_name_leaves_its_folder(made, tmp_path):
    labels, gold = renamed(made, ESCAPING, {"women": "../../women", "men": "/etc/men"})
    inside = tmp_path / "one" / "two"
    inside.mkdir(parents=True)
    labels.to_parquet(inside / "labels.parquet")
    config = CheckConfig(
        reference="/etc/men",
        policy=Policy(mode="quarantine", max_gap=0.2, on_inconclusive="pass"),
        jobs=1,
    )
    found = assess(inside / "labels.parquet", gold, config)
    assert set(found.gaps["labeler"]) == set(ESCAPING)
    History(inside / "history").remember(to_record(found, gate(found)))
    write_annotated(inside / "labels.parquet", found, gate(found), inside / "annotated.parquet")
    parts = quarantine(inside / "labels.parquet", gold, found)
    assert parts.n_removed
    write_quarantined(inside / "labels.parquet", parts, found, gate(found), inside / "kept.parquet")
    found.to_html(inside / "report.html")
    written = everything_below(tmp_path)
    expected = re.compile(
        r"one/two/(labels\.parquet|report\.html|annotated\.parquet(\.mdba\.json)?"
        r"|kept(\.removed)?\.parquet(\.mdba\.json)?"
        r"|history/[0-9TZ.]+-[0-9a-f]{8}\.json)"
    )
    assert [name for name in written if not expected.fullmatch(name)] == []
    assert len(written) == 8


def test_the_name_of_an_output_decides_where_the_removed_rows_go_and_nothing_else():
    for output in ("x/labels.csv", "../labels.csv", "/somewhere/labels.parquet"):
        assert removed_path(output).parent == Path(output).parent


@given(st.text(), st.sampled_from(["verdict", "labelers", "plan"]))
def test_a_key_in_prefect_is_made_of_letters_digits_and_dashes(source, kind):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", artifact_key(kind, source))


@pytest.mark.parametrize(
    "name", ["labels; drop table labels", 'labels"; drop table labels; --', "labels' or '1'='1"]
)
def test_the_name_of_a_table_is_no_sql(name, tmp_path):
    path = tmp_path / "jobs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table labels (a)")
        connection.execute("insert into labels values (7)")
    source = f"sqlite:///{path}::{name}"
    with pytest.raises(InputError, match="there is no table"):
        read_table(source, text_columns=[], missing_values=[])
    # A table that is really called so is read like any other.
    quoted = '"' + name.replace('"', '""') + '"'
    with sqlite3.connect(path) as connection:
        connection.execute(f"create table {quoted} (a)")
        connection.execute(f"insert into {quoted} values (8)")  # noqa: S608  the test's own
    table = read_table(source, text_columns=[], missing_values=[])
    assert table["a"].to_pylist() == [8]
    with sqlite3.connect(path) as connection:
        assert connection.execute("select a from labels").fetchall() == [(7,)]


class TestInGreatExpectations:
    @pytest.fixture(autouse=True)
    def _gx(self):
        pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
        pytest.importorskip("sqlalchemy", reason="needs mdba-checks[sql]")

    def test_the_name_of_a_column_is_no_sql(self, made, tmp_path):
        import great_expectations as gx

        from mdba_checks.gx import ExpectLabelerTprGapToBeWithin

        feature = 'x"; drop table labels; --'
        labels = made.labels.rename(columns={"test_score": feature})
        gold = made.gold.rename(columns={"test_score": feature})
        gold.to_csv(tmp_path / "gold.csv", index=False)
        with sqlite3.connect(tmp_path / "jobs.db") as connection:
            labels.to_sql("labels", connection, index=False)
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        source = context.data_sources.add_sqlite(
            "s", connection_string=f"sqlite:///{tmp_path}/jobs.db"
        )
        asset = source.add_table_asset("labels", table_name="labels")
        batch = asset.add_batch_definition_whole_table("all").get_batch()
        rule = ExpectLabelerTprGapToBeWithin(
            max_gap=0.4, gold=str(tmp_path / "gold.csv"), reference_group="men"
        )
        result = batch.validate(rule)
        assert result.exception_info["exception_message"] is None
        assert len(result.result["details"]["gaps"]) == 8
        with sqlite3.connect(tmp_path / "jobs.db") as connection:
            (count,) = connection.execute("select count(*) from labels").fetchone()
        assert count == len(labels)

    def test_data_docs_stay_in_their_project(self, made, tmp_path):
        import great_expectations as gx
        from great_expectations.checkpoint import UpdateDataDocsAction

        from mdba_checks.gx import BlockOnLabelerGap, ExpectLabelerTprGapToBeWithin, LabelerGapError

        labels, gold = renamed(made, ESCAPING[:-1], {"women": "../../women"})
        root = tmp_path / "one" / "project"
        root.mkdir(parents=True)
        gold.to_csv(root / "gold.csv", index=False)
        context = gx.get_context(mode="file", project_root_dir=root)
        context.variables.progress_bars = {"globally": False}
        asset = context.data_sources.add_pandas("frames").add_dataframe_asset("labels")
        data = asset.add_batch_definition_whole_dataframe("all")
        rule = ExpectLabelerTprGapToBeWithin(max_gap=0.1, gold="gold.csv", reference_group="men")
        suite = context.suites.add(gx.ExpectationSuite(name="rules", expectations=[rule]))
        definition = gx.ValidationDefinition(name="rules", data=data, suite=suite)
        checkpoint = gx.Checkpoint(
            name="gate",
            validation_definitions=[context.validation_definitions.add(definition)],
            actions=[
                UpdateDataDocsAction(name="docs"),
                BlockOnLabelerGap(severity="critical", sidecar="labels.mdba.json"),
            ],
        )
        with pytest.raises(LabelerGapError):
            context.checkpoints.add(checkpoint).run(batch_parameters={"dataframe": labels})
        assert [name for name in everything_below(tmp_path) if "one/project/" not in name] == []
        assert not [name for name in everything_below(tmp_path) if "up" in Path(name).name]


# --- Spreadsheets --------------------------------------------------------------------------------


def cells(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_added_is_never_a_formula_and_what_was_there_stays(made, tmp_path, form):
    labels, gold = renamed(made, FORMULAS, {"women": "=women"})
    labels["note"] = np.array(FORMULAS, object)[np.arange(len(labels)) % len(FORMULAS)]
    source = tmp_path / f"labels.{form}"
    if form == "csv":
        labels.to_csv(source, index=False, quoting=csv.QUOTE_ALL)
    else:
        labels.to_parquet(source, index=False)
    found = assess(source, gold, CheckConfig(reference="men", jobs=1))
    write_annotated(source, found, gate(found), tmp_path / "annotated.csv")
    content = (tmp_path / "annotated.csv").read_bytes()
    header, *rows = cells(content)
    assert header[-5:] == list(ADDED_COLUMNS)
    number = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?|")
    for row in rows:
        *numbers, finding, chance = row[-5:]
        assert finding in ("biased", "fair", "inconclusive")
        assert all(number.fullmatch(each) for each in (*numbers, chance))
    # Rows are evidence: they leave as they came, also where a spreadsheet would calculate.
    assert {row[header.index("note")] for row in rows} == set(FORMULAS)
    if form == "csv":
        before = source.read_bytes().split(b"\n")
        assert all(
            line.startswith(known) for line, known in zip(content.split(b"\n"), before, strict=True)
        )


def test_simulated_tables_hold_no_formula(tmp_path):
    assert (
        main(["simulate", str(tmp_path / "out"), "--items", "900", "--gold-per-group", "50"]) == 0
    )
    written = sorted((tmp_path / "out").glob("*.csv"))
    assert len(written) >= 3
    harmless = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?|[A-Za-z_][\w ]*|")
    for path in written:
        unusual = {
            cell for row in cells(path.read_bytes()) for cell in row if not harmless.fullmatch(cell)
        }
        assert unusual == set(), path.name


# --- Terminals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_an_error_about_a_hostile_value_cannot_repaint_the_screen(made, tmp_path, capsys, debug):
    labels = made.labels.copy()
    labels["label"] = labels["label"].map({0: "no", 1: "yes"})
    labels.loc[3, "label"] = "\x1b]0;owned\x07\x1b[2Jyes\u202e\nmdba: passed"
    labels.to_parquet(tmp_path / "labels.parquet")
    made.gold.to_csv(tmp_path / "gold.csv", index=False)
    code = main(
        ["check", str(tmp_path / "labels.parquet"), "--gold", str(tmp_path / "gold.csv"), *debug]
    )
    said = capsys.readouterr().err
    assert code == 2
    assert bool(debug) == ("Traceback" in said)
    assert all(letter.isprintable() or letter == "\n" for letter in said)
    assert not [line for line in said.splitlines() if line.startswith("mdba: passed")]


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_neither_can_the_name_of_a_file(tmp_path, capsys, debug):
    hostile = str(tmp_path / "\x1b]0;owned\x07\x1b[2J.yaml")
    assert main(["check", "labels.csv", "--gold", "gold.csv", "--config", hostile, *debug]) == 2
    said = capsys.readouterr().err
    assert r"\x1b]0;owned\x07" in said
    assert all(letter.isprintable() or letter == "\n" for letter in said)


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_nor_can_an_option(capsys, debug):
    assert main(["check", "labels.csv", "--\x1b]0;owned\x07", *debug]) == 2
    said = capsys.readouterr().err
    assert bool(debug) == ("Traceback" in said)
    assert all(letter.isprintable() or letter == "\n" for letter in said)


# --- Secrets in URLs -----------------------------------------------------------------------------

SECRET = "hunter2"  # noqa: S105  not a real one
URLS = [
    f"postgresql://ann:{SECRET}@localhost:1/db::labels",
    f"postgresql+nodriver://ann:{SECRET}@localhost/db::labels",
    f"mysql://ann:{SECRET}",
    f"sqlite:////nowhere/file.db?password={SECRET}::labels",
    f"sqlite:///:memory:?timeout={SECRET}::labels",
    f"duckdb:///:memory:?threads={SECRET}::labels",
    f"mssql+pyodbc:///?odbc_connect=PWD%3D{SECRET};UID=a@b::labels",
]


def chain(error: BaseException | None) -> list[BaseException]:
    """Return an error and all that led to it, also those that a traceback would hide."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and each not in found:
            found.append(each)
            waiting += [each.__cause__, each.__context__]
    return found


@pytest.mark.parametrize("url", URLS)
def test_no_error_on_the_way_keeps_a_secret(url):
    with pytest.raises(Exception) as caught:  # noqa: PT011  of whichever kind
        read_table(url, text_columns=[], missing_values=[])
    for each in chain(caught.value):
        assert SECRET not in str(each)
        assert SECRET not in repr(each.args)
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=True))


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("place", ["labels", "gold"])
def test_a_failed_check_shows_no_secret_not_even_with_debug(url, place, made, tmp_path, capsys):
    made.labels.to_csv(tmp_path / "there.csv", index=False)
    there = str(tmp_path / "there.csv")
    sources = [url, "--gold", there] if place == "labels" else [there, "--gold", url]
    assert main(["check", *sources, "--debug"]) == 2
    captured = capsys.readouterr()
    assert SECRET not in captured.err + captured.out


def test_a_check_that_works_leaves_the_secret_nowhere(made, tmp_path, capsys):
    pytest.importorskip("sqlalchemy", reason="needs mdba-checks[sql]")
    with sqlite3.connect(tmp_path / "jobs.db") as connection:
        made.labels.to_sql("labels", connection, index=False)
        made.gold.to_sql("gold", connection, index=False)
    secret = "31337.25"  # noqa: S105  of a kind that SQLite takes: how long to wait for a lock
    url = f"sqlite:///{tmp_path}/jobs.db?timeout={secret}"
    out = tmp_path / "out"
    out.mkdir()
    code = main(
        [
            *("check", f"{url}::labels", "--gold", f"{url}::gold", "--reference", "men"),
            *("--mode", "annotate", "--on-inconclusive", "annotate"),
            *("--output", str(out / "labels.csv"), "--report", str(out / "report.html")),
            *("--json", str(out / "check.json"), "--junit", str(out / "junit.xml")),
            *("--history", str(out / "history"), "--debug"),
        ]
    )
    captured = capsys.readouterr()
    assert code == 0
    assert secret not in captured.out + captured.err
    written = [path for path in out.rglob("*") if path.is_file()]
    assert len(written) == 6
    for path in written:
        assert secret.encode() not in path.read_bytes(), path.name
    assert json.loads((out / "check.json").read_text())["verdict"] == "annotate"


# --- The paper -----------------------------------------------------------------------------------


def test_every_test_that_the_policy_names_exists():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", text)
    assert len(named) > 30
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).is_file()
        or not re.search(rf"def {name}\(", (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert missing == []
    mentioned = set(re.findall(r"`(tests/[\w/]+\.py)`", text))
    assert all((ROOT / path).is_file() for path in mentioned)
