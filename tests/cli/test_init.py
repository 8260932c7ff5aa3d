"""`mdba init`: what it writes works as it is, and nothing is lost to it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from mdba_checks.cli.setup import PROJECT_FILES, Column, look_at, suggest
from mdba_checks.config import CheckConfig
from mdba_checks.tables import Kind

ROOT = Path(__file__).parents[2]
ODD = {
    "labeler": 'who: "decided" #1',
    "label": "yes",
    "group": "Größe",
    "gold": "- gold",
    "item": "12:30",
}


@pytest.fixture
def hiring(files, monkeypatch) -> Path:
    """A folder with tables whose columns have other names and whose labels are words."""
    monkeypatch.chdir(files.folder)
    names = {"labeler": "recruiter", "label": "invited", "group": "sex", "item": "application_id"}
    labels = pd.read_csv(files.labels).rename(columns=names)
    labels["invited"] = labels["invited"].map({0: "no", 1: "yes"})
    labels.to_csv(files.labels, index=False)
    gold = pd.read_csv(files.gold).rename(columns={**names, "gold": "should_invite"})
    gold.to_csv(files.gold, index=False)
    return files.folder


def test_columns_are_suggested_and_the_settings_work(hiring, mdba):
    run = mdba("init", "--reference", "men", "--max-gap", "0.2")
    assert run.code == 0, run.err
    config = CheckConfig.from_yaml("mdba.yaml")
    assert config.columns.model_dump(exclude_defaults=True) == {
        "labeler": "recruiter",
        "label": "invited",
        "group": "sex",
        "gold": "should_invite",
        "item": "application_id",
    }
    assert (config.positive, config.reference, config.policy.max_gap) == ("yes", "men", 0.2)
    next_step = run.out.rpartition("Next: mdba ")[2].split()
    checked = mdba(*next_step, "--json", "-")
    assert checked.code == 1, checked.err
    assert json.loads(checked.out)["gaps"][0]["finding"] == "biased"


def test_the_step_of_the_workflow_runs(hiring, mdba):
    mdba("init", "--quiet", "--with", "all")
    (job,) = yaml.safe_load(Path(".github/workflows/mdba.yml").read_text())["jobs"].values()
    (step,) = (each["run"] for each in job["steps"] if each.get("name") == "Check labels")
    done = subprocess.run(
        ["bash", "-e", "-c", step.replace("mdba ", f"{sys.executable} -m mdba_checks ", 1)],
        env={**os.environ, **job["env"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "\n::error file=labels.csv,title=mdba%3A block::" in done.stdout
    assert Path("mdba-junit.xml").exists()
    assert Path("mdba-report.html").exists()


def test_the_workflow_in_the_pages_is_the_one_that_is_written(hiring, mdba):
    mdba("init", "--quiet", "--with", "all")
    written = Path(".github/workflows/mdba.yml").read_text().partition("\n")[2]  # without comment
    assert f"```yaml\n{written}```" in (ROOT / "docs" / "ci.md").read_text()


def test_the_suite_checks_the_same_columns(hiring, mdba):
    pytest.importorskip("great_expectations")
    mdba("init", "--reference", "men", "--quiet", "--with", "gx")
    run = mdba(
        "validate",
        *("--suite", "expectations/label_bias.json"),
        *("--labels", "labels.csv", "--gold", "gold.csv"),
    )
    assert run.code == 1, run.err
    assert "L1" in run.out


@pytest.mark.parametrize(
    ("name", "flow"),
    [
        ("label_bias_gate.py.txt", "label_bias_gate.py"),
        ("gated_training.py.txt", "gated_training.py"),
        ("blocked.yaml", "automations/blocked.yaml"),
        ("stuck.yaml", "automations/stuck.yaml"),
    ],
)
def test_flows_and_automations_are_those_of_this_repository(name, flow):
    template, original = ROOT / "mdba_checks/cli/setup/templates" / name, ROOT / "flows" / flow
    assert template.read_text() == original.read_text(), f"cp {original} {template}"


def test_with_prefect_training_is_deployed_behind_the_gate(hiring, mdba):
    run = mdba("init", "--prefect")
    assert run.code == 0, run.err
    mine = yaml.safe_load(Path("prefect.yaml").read_text())["deployments"]
    ours = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    assert [each["entrypoint"] for each in mine] == [each["entrypoint"] for each in ours]
    assert mine[1]["triggers"] == ours[1]["triggers"]
    assert mine[1]["parameters"]["gold"] == "gold.csv"
    for each in mine:
        assert Path(each["entrypoint"].partition(":")[0]).exists()
    assert "flows/automations/blocked.yaml" in run.out


def test_the_deployment_names_the_flow_and_the_tables(hiring, mdba):
    mdba("init", "--quiet", "--with", "all")
    deployment, _ = yaml.safe_load(Path("prefect.yaml").read_text())["deployments"]
    file, _, name = deployment["entrypoint"].partition(":")
    assert re.search(rf"import .*\b{name}\b", Path(file).read_text())
    named = deployment["parameters"]
    assert (named["labels"], named["gold"]) == ("labels.csv", "gold.csv")
    assert Path(named["config"]).exists()


def test_only_the_settings_are_written_unless_more_is_asked_for(hiring, mdba):
    before = set(hiring.rglob("*"))
    assert mdba("init").code == 0
    assert set(hiring.rglob("*")) - before == {hiring / "mdba.yaml"}
    assert mdba("init", "--with", "gx", "--with", "github").code == 0
    assert Path("expectations/label_bias.json").exists()
    assert Path(".github/workflows/mdba.yml").exists()
    assert not Path("prefect.yaml").exists()
    run = mdba("init", "--with", "githab")
    assert (run.code, run.err) == (
        2,
        "mdba: --with githab is not known. Did you mean 'github'?\n",
    )


def test_a_second_run_corrects_what_was_typed_and_keeps_the_rest(hiring, mdba):
    assert mdba("init", "--with", "all").code == 0
    others = {name: Path(name).read_bytes() for name in PROJECT_FILES if name != "mdba.yaml"}
    text = Path("mdba.yaml").read_text().replace("seed: 0", "seed: 7  # ours")
    Path("mdba.yaml").write_text(text)
    run = mdba("init", "--with", "all")
    assert (run.code, Path("mdba.yaml").read_text()) == (0, text)
    assert run.out.count("kept ") == len(PROJECT_FILES)

    run = mdba("init", "--group", "region", "--reference", "region_1", "--max-gap", "0.2")
    assert (run.code, "corrected mdba.yaml" in run.out) == (0, True), run.err
    config = CheckConfig.from_yaml("mdba.yaml")
    assert config == CheckConfig.from_mapping(yaml.safe_load(text)).updated(
        {"columns.group": "region", "reference": "region_1", "policy.max_gap": 0.2}
    )
    changed = set(Path("mdba.yaml").read_text().splitlines()) - set(text.splitlines())
    assert len(changed) == 3
    assert {name: Path(name).read_bytes() for name in others} == others

    odd = "columns: {labeler: recruiter, label: invited, group: sex, gold: should_invite}\n"
    Path("mdba.yaml").write_text(odd + "positive: 'yes'\n")
    run = mdba("init", "--group", "region")
    assert run.code == 2
    assert "set there columns.group: region" in run.err
    assert Path("mdba.yaml").read_text().startswith(odd)


def test_the_group_is_never_taken_for_the_decision(tmp_path):
    """Three classes beside a group with two values, and names that tell nothing."""
    labels = pd.DataFrame(
        {
            "a": ["ann", "bob", "cyd", "dan"] * 30,
            "b": ["f", "m"] * 60,
            "c": ["invite", "maybe", "reject"] * 40,
            "score": range(120),
        }
    )
    gold = labels.drop(columns=["a"]).rename(columns={"c": "d"})
    found = suggest(look_at(labels), look_at(gold))
    assert (found.label, found.gold, found.group) == ("c", "d", "b")
    assert suggest(look_at(labels)).label is None
    assert suggest(look_at(labels.rename(columns={"b": "sex"}))).label is None


def test_a_check_that_would_stop_is_not_proposed(hiring, mdba):
    gold = pd.read_csv("gold.csv")
    gold.assign(sex="women").to_csv("gold.csv", index=False)
    run = mdba("init")
    assert run.code == 2
    assert "the check would stop, so nothing was written: column 'sex' of labels has" in run.err
    assert not Path("mdba.yaml").exists()


def test_odd_names_are_read_back_as_they_were(files, mdba, monkeypatch):
    monkeypatch.chdir(files.folder)
    Path("odd, it's").mkdir()
    for name in ("labels", "gold"):
        table = pd.read_csv(f"{name}.csv").rename(columns=ODD)
        table.to_csv(f"odd, it's/{name}: 1.csv", index=False)
    sources = ("--labels", "odd, it's/labels: 1.csv", "--gold", "odd, it's/gold: 1.csv")
    flags = [f"--{'gold-label' if role == 'gold' else role}={name}" for role, name in ODD.items()]
    run = mdba("init", *sources, *flags, "--reference", "men", "--with", "prefect")
    assert run.code == 0, run.err
    columns = CheckConfig.from_yaml("mdba.yaml").columns
    assert {role: getattr(columns, role) for role in ODD} == ODD
    parameters = yaml.safe_load(Path("prefect.yaml").read_text())["deployments"][0]["parameters"]
    assert parameters["labels"] == sources[1]
    check = ["check", sources[1], "--gold", sources[3], "--config", "mdba.yaml"]
    assert mdba(*check, "--estimator", "selection_rate", "--max-gap", "0.05").code == 1


def test_what_cannot_be_told_is_asked_for_by_its_flag(files, mdba, monkeypatch):
    monkeypatch.chdir(files.folder)
    for name in ("labels", "gold"):
        table = pd.read_csv(f"{name}.csv")
        table = table.rename(columns={"labeler": "q1", "label": "q2", "group": "q3"})
        table.assign(q4=table["q3"]).to_csv(f"{name}.csv", index=False)
    run = mdba("init")
    assert run.code == 2
    assert run.err.startswith("mdba: cannot tell which column of labels is the group: give --group")
    run = mdba("init", "--group", "regio")
    assert run.err == "mdba: labels has no column 'regio' for --group. Did you mean 'region'?\n"
    assert not Path("mdba.yaml").exists()
    assert mdba("init", "--group", "q3").code == 0


def test_gold_may_still_be_to_come(hiring, mdba):
    Path("gold.csv").rename("later.csv")
    run = mdba("init")
    assert run.code == 0, run.err
    assert "gold.csv is not there yet" in run.out
    assert CheckConfig.from_yaml("mdba.yaml").columns.gold == "gold"
    typo = mdba("init", "--gold", "latter.csv")
    assert (typo.code, typo.err) == (
        2,
        "mdba: no such file: 'latter.csv'. Did you mean 'later.csv'?\n",
    )


def test_a_label_that_means_yes_is_asked_for(hiring, mdba):
    labels = pd.read_csv("labels.csv")
    labels["invited"] = labels["invited"].map({"no": "left", "yes": "right"})
    labels.to_csv("labels.csv", index=False)
    run = mdba("init")
    assert (run.code, "give --positive (values: left, right)" in run.err) == (2, True)
    assert mdba("init", "--positive", "right").code == 0


def test_a_missing_file_or_a_database_is_said_in_one_line(tmp_path, mdba, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = mdba("init")
    assert (run.code, run.err) == (2, "mdba: no such file: 'labels.csv'.\n")
    run = mdba("init", "--labels", "postgresql://ann:secret@host/db::labels")
    assert (run.code, "secret" in run.err) == (2, False)
    assert list(tmp_path.iterdir()) == []


def answered(*lines: str) -> tuple[int, str, str]:
    """Return how `mdba init` ends on a terminal on which these lines are typed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mdba_checks", "init"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    os.close(theirs)
    os.write(ours, "".join(f"{line}\n" for line in lines).encode())
    out, err = process.communicate(timeout=120)
    os.close(ours)
    return process.returncode, out, err


def test_on_a_terminal_it_asks_and_asks_again_after_a_typo(hiring):
    # Labels, gold, four columns, the word for yes, and the group to compare with.
    code, out, err = answered("", "", "", "sxe", "", "", "", "", "mne", "men")
    assert code == 0, err
    assert "Who decided (column of labels) [recruiter]" in err
    assert "labels has no column 'sxe' for --group. Did you mean 'sex'?" in err
    assert "'mne' is not a group in column 'sex'. Did you mean 'men'?" in err
    assert CheckConfig.from_yaml("mdba.yaml").reference == "men"
    assert "wrote mdba.yaml" in out
    assert "The check runs: " in out
    # The second time, what is there is suggested; one answer is corrected.
    code, out, err = answered("", "", "", "", "", "", "", "all")
    assert code == 0, err
    assert "[men]" in err
    assert "corrected mdba.yaml" in out
    assert CheckConfig.from_yaml("mdba.yaml").reference is None


def column(name: str, n_values: int, kind: Kind = Kind.TEXT) -> Column:
    return Column(name, kind, 1_000, n_values, ())


def test_a_column_that_only_one_table_has_is_likelier_to_be_its_own():
    labels = [column("rater", 9), column("sex", 2), column("smoker", 2), column("urgent", 2)]
    gold = [column("sex", 2), column("smoker", 2), column("panel_says", 2)]
    found = suggest(labels, gold)
    assert (found.labeler, found.label, found.group) == ("rater", "urgent", "sex")
    assert found.gold == "panel_says"


def test_measurements_and_dates_are_no_people(tmp_path):
    table = pd.DataFrame(
        {
            "score": [number % 90 for number in range(900)],
            "day": pd.date_range("2026-01-01", periods=9).repeat(100),
            "decision": [0, 1] * 450,
        }
    )
    found = suggest(look_at(table))
    assert (found.labeler, found.group, found.label) == (None, None, "decision")


def test_roles_are_proposed_from_content_where_no_name_is_known():
    """Who decided is in one table alone; what was decided has the words of the experts."""
    about = {"Geschlecht": ["Frauen", "Männer"] * 30, "Note": ["1,3", "2,7", "3,0"] * 20}
    labels = pd.DataFrame(
        {**about, "Prüfer": ["Jürgen", "Zoë", "Anna"] * 20, "Entscheidung": ["ja", "nein"] * 30}
    )
    gold = pd.DataFrame({**about, "Richtig": ["ja", "nein"] * 30})
    found = suggest(look_at(labels), look_at(gold))
    assert (found.labeler, found.label, found.gold) == ("Prüfer", "Entscheidung", "Richtig")


def test_texts_are_what_models_read_and_not_the_names_of_items():
    words = ["the", "photo", "is", "really", "nice", "and", "kind"]
    texts = [" ".join([*words, f"number{number}"]) for number in range(60)]
    labels = pd.DataFrame(
        {
            "text": texts,
            "comment_id": range(100, 160),
            "dialect": ["a", "b"] * 30,
            "moderator": ["x", "y", "z"] * 20,
            "action": ["keep", "remove"] * 30,
        }
    )
    gold = labels.drop(columns="moderator").rename(columns={"action": "should_be"})
    assert suggest(look_at(labels), look_at(gold)).item == "comment_id"
