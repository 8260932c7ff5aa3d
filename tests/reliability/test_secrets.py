"""A database URL with a password is shown nowhere: every command, task and expectation is tried.

Wherever a table or a file can be named, a URL may stand, in the right place or in a wrong one.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import shutil
import sqlite3
from pathlib import Path
from typing import Any, ClassVar

import pytest
import typer

from mdba_checks import CheckConfig, assess, read_released, release, verify
from mdba_checks.cli import main
from mdba_checks.cli.app import app
from mdba_checks.errors import CheckError, InputError, hide_secrets
from mdba_checks.simulation import simulate

SECRET = "hunter2"  # noqa: S105  not a real one
URLS = [
    f"postgresql://ann:{SECRET}@localhost:1/db::labels",
    f"postgresql+nodriver://ann:p@ss/{SECRET}@localhost/db::labels",
    f"mysql://ann:{SECRET}",
    f"sqlite:////nowhere/file.db?password={SECRET}::labels",
    f"mssql+pyodbc:///?odbc_connect=PWD%3D{SECRET};UID=a@b::labels",
]


@pytest.fixture(scope="module")
def made():
    return simulate(n_items=2_000, n_labelers=2, tprs=[0.5, 0.94], gold_per_group=100, seed=1)


@pytest.fixture(scope="module")
def project(made, tmp_path_factory) -> Path:
    """Return tables, a suite, a released data set, its record and a sheet for experts."""
    folder = tmp_path_factory.mktemp("project")
    made.labels.to_csv(folder / "labels.csv", index=False)
    made.gold.to_csv(folder / "gold.csv", index=False)
    rule = {
        "type": "expect_labeler_tpr_gap_to_be_within",
        "kwargs": {"max_gap": 0.1, "gold": {"$PARAMETER": "gold"}},
    }
    suite = json.dumps({"name": "s", "expectations": [rule]})
    (folder / "suite.json").write_text(suite)
    with contextlib.chdir(folder):
        tables = ("labels.csv", "--gold", "gold.csv")
        how = ("--estimator", "selection_rate", "--mode", "annotate", "--quiet")
        results = ("--output", "released.csv", "--json", "record.json")
        assert main(["check", *tables, *how, *results]) == 0
        assert main(["choose", "labels.csv", "--n", "10", "--output", "sheet.csv"]) == 0
    return folder


@pytest.fixture
def here(project, tmp_path, monkeypatch) -> Path:
    """Return a copy of the project, to work in."""
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return all that was printed and written."""
    captured = capsys.readouterr()
    files = [path for path in folder.rglob("*") if path.is_file()]
    texts = [path.read_bytes().decode("latin-1") for path in files]
    return "\n".join([captured.out, captured.err, *texts, *map(str, folder.rglob("*"))])


def _is_a_name(parameter: Any) -> bool:
    # Values go into settings as they are. Numbers cannot be URLs.
    return parameter.metavar not in ("VALUE", "X", "N", "GAP", "SHARE", "0-1", "X,Y")


def commands() -> dict[str, list[Any]]:
    """Return the parameters of every command that take names: of tables, files and columns."""
    found: Any = typer.main.get_command(app)
    return {
        name: [
            each
            for each in command.params
            if not getattr(each, "is_flag", False) and _is_a_name(each)
        ]
        for name, command in found.commands.items()
    }


# What a command needs before it looks at anything else.
NEEDED = {
    "check": {"labels": "labels.csv", "gold": "gold.csv"},
    "plan": {"labels": "labels.csv", "gold": "gold.csv"},
    "choose": {"labels": "labels.csv", "output": "chosen.csv", "n": "10"},
    "init": {"labels": "labels.csv", "gold": "gold.csv"},
    "validate": {"labels": "labels.csv", "gold": "gold.csv", "suite": "suite.json"},
    "verify": {"file": "released.csv"},
    "rerun": {"record": "record.json"},
    "trend": {"records": "record.json"},
    "compare": {"before": "record.json", "after": "record.json"},
    "pages": {"record": "record.json", "output": "pages"},
    "answers": {"sheets": "sheet.csv", "output": "judged.csv"},
    "import": {"export": "labels.csv", "output": "imported.parquet"},
    "simulate": {"folder": "made"},
}
# They name no table, only a folder to make.
WITHOUT_TABLES = {"demo", "simulate"}
PLACES = [
    (name, each.name)
    for name, parameters in commands().items()
    for each in parameters
    if name not in WITHOUT_TABLES or each.name in ("output", "out", "folder")
    if (name, each.name) != ("choose", "gold_label")  # the name of a column that it writes
]


def typed(command: str, name: str, url: str) -> list[str]:
    """Return a command line in which a URL is in one place, and the rest is as it should be."""
    line = [command]
    values = {**NEEDED.get(command, {}), name: url}
    for each in commands()[command]:
        if each.name not in values:
            continue
        value = values[each.name]
        if each.param_type_name == "argument":
            line.append(value)
        else:
            line += [max(each.opts, key=len), f"x={value}" if each.opts == ["--set"] else value]
    return [*line, "--debug"]


def test_every_command_is_tried():
    found: Any = typer.main.get_command(app)
    for name, command in found.commands.items():
        required = {each.name for each in command.params if each.required}
        assert required <= set(NEEDED.get(name, ())), name  # else it stops before it reads a table
    assert {name for name, _ in PLACES} == set(commands())
    assert ("check", "gold") in PLACES
    assert ("validate", "values") in PLACES


@pytest.mark.parametrize(("command", "name"), PLACES)
def test_no_command_shows_it(command, name, here, capsys):
    code = main(typed(command, name, URLS[len(name) % 2 * 3]))
    said = shown(here, capsys)
    assert SECRET not in said
    assert "internal error" not in said
    # An output or a value that happens to be possible is no error.
    assert code in (0, 1, 2, 3)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("name", ["labels", "gold"])
def test_neither_do_the_commands_that_read_tables(name, url, here, capsys):
    for command in ("check", "plan", "validate", "init"):
        assert main(typed(command, name, url)) == 2
    assert SECRET not in shown(here, capsys)


def test_a_suite_may_hold_no_url_and_says_so_without_it(here, capsys):
    text = Path("suite.json").read_text().replace('{"$PARAMETER": "gold"}', f'"{URLS[0]}"')
    Path("url.json").write_text(text)
    assert main(["validate", "--suite", "url.json", "--labels", "labels.csv"]) == 2
    captured = capsys.readouterr()
    assert "a URL would be stored with its password" in captured.err
    assert SECRET not in captured.err + captured.out


def test_gold_in_a_database_is_validated_and_its_url_shown_nowhere(here, made, capsys):
    with sqlite3.connect(here / "jobs.db") as connection:
        made.gold.to_sql("gold", connection, index=False)
    secret = "31337.25"  # noqa: S105  of a kind that SQLite takes: how long to wait for a lock
    url = f"sqlite:///jobs.db?timeout={secret}::gold"
    command = ["validate", "--suite", "suite.json", "--labels", "labels.csv", "--debug"]
    outputs = ["--json", "v.json", "--junit", "v.xml", "--report", "v.html"]
    assert main([*command, "--gold", "gold.csv", "--quiet"]) == 1
    assert main([*command, "--gold", url, *outputs]) == 1
    from_url = json.loads(Path("v.json").read_text())
    assert from_url["rules"][0]["details"]["verdict"] == "block"
    assert secret not in shown(here, capsys)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("ask", [assess, release])
@pytest.mark.parametrize("place", [0, 1])
def test_python_does_not_say_it(url, ask, place, made):
    sources: list[Any] = [made.labels, made.gold]
    sources[place] = url
    with pytest.raises(CheckError) as caught:
        ask(*sources, CheckConfig())
    assert SECRET not in f"{caught.value} {caught.value.args}"


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("ask", [verify, read_released, CheckConfig.from_yaml])
def test_a_url_instead_of_a_file_is_refused_without_it(url, ask):
    with pytest.raises(InputError) as caught:
        ask(url)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("url", URLS)
def test_what_is_left_of_a_url_is_enough_to_know_which_one_it_was(url):
    said = hide_secrets(f"cannot read {url!r} and more")
    assert SECRET not in said
    assert said.startswith(f"cannot read '{url.partition(':')[0]}:/")
    assert said.endswith("and more")


class TestInGreatExpectations:
    @pytest.fixture(autouse=True)
    def _needs(self):
        pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")

    @pytest.mark.parametrize("url", [*URLS, Path(URLS[0])])
    def test_an_expectation_refuses_it(self, url):
        from mdba_checks import gx

        rules = [getattr(gx, name) for name in gx.__all__ if name.startswith("Expect")]
        assert len(rules) >= 6
        for rule in rules:
            with pytest.raises(ValueError, match="URL") as caught:
                rule(max_gap=0.1, gold=url)
            assert SECRET not in str(caught.value)

    @pytest.mark.parametrize("url", URLS)
    def test_neither_does_one_whose_settings_should_come_from_there(self, url):
        from mdba_checks import gx

        for name in (each for each in gx.__all__ if each.startswith("Expect")):
            with pytest.raises((InputError, ValueError)) as caught:
                getattr(gx, name)(gold="gold.csv", config=url)
            assert SECRET not in f"{caught.value} {caught.value.__cause__}"

    def test_a_result_does_not_hold_it_where_a_parameter_brings_it_in(self, made, caplog):
        from great_expectations import get_context

        from mdba_checks.gx import ExpectLabelerTprGapToBeWithin

        source = get_context(mode="ephemeral").data_sources.add_pandas("mdba")
        asset = source.add_dataframe_asset("labels")
        batch = asset.add_batch_definition_whole_dataframe("b").get_batch(
            {"dataframe": made.labels}
        )
        rule = ExpectLabelerTprGapToBeWithin(max_gap=0.1, gold={"$PARAMETER": "gold"})
        result = batch.validate(rule, expectation_parameters={"gold": URLS[0]})
        assert not result.success
        assert SECRET not in json.dumps(result.to_json_dict()) + caplog.text


class TestInPrefect:
    @pytest.fixture(autouse=True)
    def _needs(self, tmp_path):
        pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")
        from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

        with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: tmp_path / "storage"}):
            yield

    # What a task needs before it looks at anything else.
    NEEDED: ClassVar[dict[str, Any]] = {
        "labels": "labels.csv",
        "gold": "gold.csv",
        "config": {},
        "prints": {"labels": "0" * 32, "gold": "0" * 32},
        "suite": "suite.json",
        "released": "labels.csv",
        "path": "labels.csv",
        "target": "raw",
        "model": "m.ubj",
        "force": False,
        "output": "chosen.csv",
        "n": 10,
        "record": {"gaps": []},
    }
    # They are numbers, switches, names out of a list, or what another task has returned.
    NOT_NAMES: ClassVar[set[str]] = {
        *("kept", "policy", "prints", "record", "outcome", "content", "payload", "ended"),
        *("approval", "waiting", "n", "rounds", "force"),
    }
    # Get what others found, and no table by name; `write_outputs` reads what was assessed, and
    # tests/prefect/test_secrets_in_runs.py tries it inside the flows.
    WITHOUT: ClassVar[set[str]] = {"announce", "decide", "publish_verdict", "write_outputs"}

    @classmethod
    def places(cls) -> list[tuple[str, str]]:
        """Return every task with every parameter that may name something."""
        from prefect import Task

        from mdba_checks import prefect

        tasks = {name: getattr(prefect, name) for name in prefect.__all__}
        return [
            (name, parameter)
            for name, task in tasks.items()
            if isinstance(task, Task) and name not in cls.WITHOUT
            for parameter in inspect.signature(task.fn).parameters
            if parameter not in cls.NOT_NAMES
        ]

    def call(self, name: str, place: str, url: str) -> None:
        """Call a task with a URL in one place, and the rest as it should be."""
        from mdba_checks import prefect

        task = getattr(prefect, name)
        given = {}
        for each, about in inspect.signature(task.fn).parameters.items():
            if each in self.NEEDED and (about.default is about.empty or each == "suite"):
                given[each] = self.NEEDED[each]
        if place == "contract":
            del given["suite"]
        task.fn(**given | {place: [url] if place == "judged" else url})

    def test_every_task_and_parameter_is_tried(self):
        tried = self.places()
        for known in ("fingerprint", "assess_labels", "validate_rules", "choose_items"):
            assert (known, "labels") in tried
            assert (known, "gold") in tried
        assert ("verify_released", "path") in tried
        assert ("write_findings", "path") in tried

    @pytest.mark.parametrize("url", [URLS[0], URLS[3]])
    def test_no_task_says_it(self, url, here, caplog, capsys):
        caplog.set_level(logging.DEBUG)
        for name, place in self.places():
            with pytest.raises(CheckError) as caught:
                self.call(name, place, url)
            assert SECRET not in str(caught.value), (name, place)
        assert SECRET not in caplog.text + shown(here, capsys)
