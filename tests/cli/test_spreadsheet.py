"""A German workbook: umlauts, decimal commas as text, one command, and the numbers of Parquet."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from mdba_checks.simulation import simulate

pytest.importorskip("openpyxl", reason="needs mdba-checks[excel]")

NAMES = {
    "labeler": "Prüfer",
    "label": "Entscheidung",
    "group": "Geschlecht",
    "gold": "Richtig",
    "item": "Bewerbung",
}
COLUMNS = ("--labeler", "Prüfer", "--label", "Entscheidung", "--group", "Geschlecht")
ASKED = (
    *(*COLUMNS, "--gold-label", "Richtig", "--item", "Bewerbung", "--positive", "einladen"),
    *("--reference", "Männer", "--jobs", "1", "--json", "-"),
)


@pytest.fixture(scope="module")
def tables() -> list[pd.DataFrame]:
    made = simulate(n_items=1500, n_labelers=2, tprs=[0.4, 0.94], gold_per_group=150, seed=1)
    words = {0: "ablehnen", 1: "einladen"}
    people = {"L1": "Jürgen Groß", "L2": "Zoë"}
    found = []
    for table in (made.labels, made.gold):
        named = table.rename(columns=NAMES).replace(
            {"Geschlecht": {"women": "Frauen", "men": "Männer"}}
        )
        for column in {"Entscheidung", "Richtig"} & set(named):
            named[column] = named[column].map(words)
        if "Prüfer" in named:
            named["Prüfer"] = named["Prüfer"].map(people)
        number = named.select_dtypes("number").columns[0]
        found.append(named.assign(Größe=(named[number] * 1.25 + 0.5).round(2)))
    return found


def test_a_german_workbook_reaches_the_right_verdict_in_one_command(mdba, tables, tmp_path):
    book = tmp_path / "Bewerbungen.xlsx"
    with pd.ExcelWriter(book) as writer:
        for name, table in zip(("Urteile", "Gold"), tables, strict=True):
            commas = table["Größe"].map(lambda value: f"{value:.2f}".replace(".", ","))
            table.assign(Größe=commas).to_excel(writer, sheet_name=name, index=False)
    run = mdba("check", f"{book}::Urteile", "--gold", f"{book}::Gold", *ASKED)
    assert run.code in (1, 3), run.err
    told = json.loads(run.out)
    found = {row["labeler"]: row for row in told["gaps"]}
    assert found["Jürgen Groß"]["finding"] == "biased"
    assert found["Zoë"]["finding"] != "biased"
    assert 'says "einladen" for' in found["Jürgen Groß"]["reason"]
    (size,) = (each for each in told["data"]["columns"] if each["name"] == "Größe")
    assert size["holds"] == "numbers, written with decimal commas"

    for name, table in zip(("labels", "gold"), tables, strict=True):
        table.to_parquet(tmp_path / f"{name}.parquet", index=False)
    files = (tmp_path / "labels.parquet", "--gold", tmp_path / "gold.parquet")
    same = {row["labeler"]: row for row in json.loads(mdba("check", *files, *ASKED).out)["gaps"]}
    for name, row in found.items():
        for number in ("gap", "ci_low", "ci_high"):
            assert row[number] == pytest.approx(same[name][number], abs=1e-9)
