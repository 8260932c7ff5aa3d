"""Every `mdba` command line in the README and in docs/ parses, and runs on tables that fit it."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

from mdba_checks import CheckConfig, choose_gold, read_answers
from mdba_checks.cli import main
from mdba_checks.cli.app import app
from mdba_checks.outputs import write_sheet
from mdba_checks.simulation import Simulation, simulate

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
# Blocks of code, be they fenced or indented; a line that ends in \ goes on.
FENCED = re.compile(r"^```(?:text|bash|console|sh|yaml)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
TYPED = re.compile(r"^ *(?:\$ |- |entry: )?(mdba (?!:)[a-z].*)$", re.MULTILINE)
LABLE = "mdba check mdba-demo/labels.csv --gold mdba-demo/gold.csv --label lable"
# Parsed, but run elsewhere (tests/cli/test_readme.py) or meant to fail.
HATECHECK = (  # tests/cli/test_import.py runs them, where the data are
    "mdba import all_annotations.csv",
    "mdba check labels.parquet --gold gold.parquet --group target_ident",
)
SHEET = ("mdba import book.xlsx",)  # tests/cli/test_import.py
STORAGE = ("mdba check s3://", "mdba verify s3://")  # tests/outputs/test_object_storage.py
NOT_RUN = ("mdba demo", LABLE, *HATECHECK, *SHEET, *STORAGE)
WORDS = {"[OPTIONS]", "LABELS", "COMMAND", "…"}


def documented() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = FENCED.findall(text) + INDENTED.findall(FENCED.sub("", text))
        for block in blocks:
            # Lines of one command: continued with \, or folded as YAML does behind `>-`.
            joined = re.sub(r"\\\n *|(?<=mdba\.yaml)\n +(?=--)", " ", block)
            for line in TYPED.findall(joined):
                command = re.split(r" \| | && |  +#| +# ", line)[0].strip()
                if not WORDS & set(command.split()):
                    yield page.name, command


COMMANDS = sorted({command for _, command in documented()})


def test_commands_are_found_on_the_pages():
    pages = {name for name, _ in documented()}
    assert {"README.md", "ci.md", "getting-started.md", "command-line.md"} <= pages
    names = {command.split()[1] for command in COMMANDS}
    assert names == set(typer.main.get_command(app).commands)


def arguments_of(command: str) -> list[str]:
    told = {"$LABELS": "labels.csv", "$GOLD": "gold.csv"}
    return [told.get(each, each) for each in shlex.split(command)[1:]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_parses(command):
    name, *arguments = arguments_of(command)
    typer.main.get_command(app).commands[name].make_context(name, arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with everything that the commands name, small."""
    place = tmp_path_factory.mktemp("documented")
    made = simulate(n_items=900, n_labelers=2, gold_per_group=80, tprs=[0.3, 0.95], seed=1)
    with contextlib.chdir(place), contextlib.closing(sqlite3.connect("jobs.db")) as base:
        for name, table in (("labels", _renamed(made.labels)), ("gold", _renamed(made.gold))):
            table.to_csv(f"{name}.csv", index=False)
            table.to_parquet(f"{name}.parquet", index=False)
            table.to_sql(name, base, index=False)
            table.to_json(f"{name}.jsonl", orient="records", lines=True)
            for other in ("mdba-demo", "trial"):
                Path(other).mkdir(exist_ok=True)
                table.to_csv(f"{other}/{name}.csv", index=False)
        with pd.ExcelWriter("book.xlsx") as book:
            for name, table in (("Labels", made.labels), ("Gold", made.gold)):
                table.to_excel(book, sheet_name=name, index=False)
        _exports(made.labels)
        _texts_and_vectors(made)
        _german(made)
        for settings in ("mdba.yaml", "mdba-demo/mdba.yaml"):
            Path(settings).write_text(
                "reference: men\nfeatures: [education, test_score]\njobs: 1\n"
            )
        Path("expectations").mkdir()
        for source in (ROOT / "expectations").iterdir():
            Path(source.name).write_bytes(source.read_bytes())
            Path("expectations", source.name).write_bytes(source.read_bytes())
        Path("suite.yaml").write_text(SUITE)
        Path("checks").mkdir()
        for month in ("january.json", "february.json", "march.json"):
            check = [
                "check",
                "labels.csv",
                "--gold",
                "gold.csv",
                "--quiet",
                "--config",
                "mdba.yaml",
            ]
            main([*check, "--estimator", "selection_rate", "--json", month])
            Path("checks", month).write_bytes(Path(month).read_bytes())
        for name in ("check.json", "before.json", "after.json"):
            Path(name).write_bytes(Path("january.json").read_bytes())
        _judged_sheets(made)
        released = ["--mode", "annotate", "--on-inconclusive", "annotate"]
        for name in ("kept.parquet", "kept.csv", "labels.checked.parquet", "released.csv"):
            assert main([*check, *released, "--output", name]) == 0
    return place


def _judged_sheets(made: Simulation) -> None:
    """Write sheets of two rounds with their answers, by two experts, and other items."""
    config = CheckConfig.from_yaml("mdba.yaml")
    right = made.answers.assign(item=made.answers["item"].astype(str)).set_index("item")["gold"]
    sheets: list[pd.DataFrame] = []
    for _ in range(2):
        sheet = choose_gold("labels.csv", 40, judged=sheets, config=config).sheet
        sheets.append(sheet.assign(gold=right[sheet["item"]].to_numpy()))
    for name, sheet in (("to_judge", sheets[0]), ("round2", sheets[1])):
        sheet.to_csv(f"{name}.csv", index=False)
    for name in ("ann.xlsx", "bob.xlsx"):
        write_sheet(sheets[0], name, config=config)
    read_answers(sheets, config=config).gold.to_csv("judged.csv", index=False)
    pd.read_csv("labels.csv").tail(100).to_csv("archive.csv", index=False)


def _without(arguments: list[str], options: Collection[str]) -> list[str]:
    """Return arguments without some options and their values."""
    pairs = zip(arguments, [None, *arguments], strict=False)
    return [each for each, before in pairs if each not in options and before not in options]


def _exports(labels: pd.DataFrame) -> None:
    """Write the exports that docs/exports.md names."""
    tasks, rows = [], []
    for item, row in labels.head(40).iterrows():
        value = {"choices": ["invite" if row["label"] else "decline"]}
        result = [{"from_name": "decision", "type": "choices", "value": value}]
        given = {"completed_by": row["labeler"], "result": result}
        right = {"completed_by": "expert", "result": result, "ground_truth": True}
        data = {"gender": row["group"], "score": row["test_score"]}
        tasks.append({"id": item, "data": data, "annotations": [given, right]})
        answer = value["choices"][0]
        rows.append({"case_id": item, "rater_a": answer, "rater_b": answer, "expert": answer})
    Path("project.json").write_text(json.dumps(tasks))
    pd.DataFrame(rows).to_csv("wide.csv", index=False)
    pd.DataFrame(rows)[["case_id"]].assign(target="women").to_csv("cases.csv", index=False)


def _texts_and_vectors(made: Simulation) -> None:
    """Write posts with their texts, and with vectors instead, as docs/text.md names them."""
    words = np.array(["hate", "scum", "trash", "lovely", "music", "garden", "people", "today"])
    rng = np.random.default_rng(1)
    for table, names in (
        (made.labels, ("posts", "vectors")),
        (made.gold, ("posts_gold", "vectors_gold")),
    ):
        answer = "label" if "label" in table else "gold"
        known = table[["group", answer, *({"labeler"} & set(table))]].rename(
            columns={"group": "variety"}
        )
        known["variety"] = known["variety"].map({"men": "standard", "women": "dialect"})
        known[answer] = known[answer].map({0: "fine", 1: "hateful"})
        texts = [" ".join(rng.choice(words, 7)) for _ in range(len(known))]
        known.assign(post=texts).to_csv(f"{names[0]}.csv", index=False)
        vectors = list(rng.normal(size=(len(known), 12)))
        known.assign(embedding=vectors).to_parquet(f"{names[1]}.parquet", index=False)


def _german(made: Simulation) -> None:
    """Write the workbook of docs/spreadsheets.md."""
    names = {"labeler": "Prüfer", "label": "Entscheidung", "group": "Geschlecht", "gold": "Richtig"}
    with pd.ExcelWriter("Bewerbungen.xlsx") as book:
        for sheet, table in (("Urteile", made.labels), ("Gold", made.gold)):
            named = table.rename(columns=names).replace({"men": "Männer", "women": "Frauen"})
            for column in {"Entscheidung", "Richtig"} & set(named):
                named[column] = named[column].map({0: "ablehnen", 1: "einladen"})
            named.to_excel(book, sheet_name=sheet, index=False)


def _renamed(table: pd.DataFrame) -> pd.DataFrame:
    """Add the columns under other names, too: commands name several tables."""
    others = {
        "labeler": ("rater", "recruiter", "judge"),
        "label": ("invited",),
        "group": ("sex", "gender"),
        "gold": ("should_invite",),
    }
    copies = {new: table[old] for old in others if old in table for new in others[old]}
    for old, new in (("label", ("answer", "stars")), ("gold", ("right_answer", "right_stars"))):
        if old in table:
            middle = (table.index % 9 == 0) & (table[old] == 0)
            copies[new[0]] = table[old].map({0: "decline", 1: "invite"}).mask(middle, "maybe")
            copies[new[1]] = table[old].map({0: 1, 1: 5}).mask(middle, 3)
    if "gold" in table:
        judged = table["gold"].map({0: "not suitable", 1: "suitable"})
        copies["judgement"] = judged.mask(
            (table.index % 5 == 0) & (table["gold"] == 1), "rather suitable"
        )
    copies["age_band"] = pd.Series("under 50", table.index).mask(
        table.index % 3 == 0, "50 or older"
    )
    copies["variety"] = table["group"].map({"men": "standard", "women": "dialect"})
    if "labeler" in table:
        copies["kind"] = table["labeler"].map({"L1": "model"}).fillna("person")
    return table.assign(**copies)


SUITE = """\
name: other
expectations:
  - type: expect_labeler_tpr_gap_to_be_within
    severity: critical
    kwargs:
      max_gap: {$PARAMETER: limit}
      gold: gold.csv
      features: [education, test_score]
"""


@pytest.mark.parametrize("command", [each for each in COMMANDS if not each.startswith(NOT_RUN)])
def test_a_documented_command_runs(command, folder, monkeypatch, capsys):
    arguments = arguments_of(command)
    if arguments[0] == "validate":
        pytest.importorskip("great_expectations")
    if arguments[0] == "simulate":  # as large as users want it; here its size is not the point
        small = {"--items": "2000", "--labelers": "3", "--gold-per-group": "50"}
        arguments = ["simulate", "simulated", *_without(arguments[2:], small)]
        arguments += [each for pair in small.items() for each in pair]
    if arguments[0] == "choose":  # the sheets that are read later have answers
        place = arguments.index("--output") + 1
        arguments[place] = f"new-{arguments[place]}"
    if arguments[0] == "import":  # the tables that other commands read stay as they are
        arguments = [
            f"new-{each}" if before in ("--output", "--gold-output") else each
            for before, each in zip(["", *arguments], arguments, strict=False)
        ]
    if arguments[0] == "check" and not {"--estimator", "--text", "--c"} & set(arguments):
        # Counted in a tenth of the time; other tests check the models.
        arguments += ["--estimator", "selection_rate"]
    if arguments[0] in ("check", "plan", "choose") and "--config" not in arguments:
        arguments += ["--jobs", "1"]
    if (
        arguments[0] in ("check", "plan", "simulate", "trend", "choose", "answers", "import")
        or arguments[0] in ("pages", "compare")
    ) and "--force" not in arguments:
        arguments.append("--force")  # several commands write a file of the same name
    if arguments[0] == "pages":  # the labelers here have other names
        arguments = ["L1" if each == "Ada" else each for each in arguments]
    monkeypatch.chdir(folder)
    code = main(arguments)
    said = capsys.readouterr()
    assert code in (0, 1, 3), said.err
