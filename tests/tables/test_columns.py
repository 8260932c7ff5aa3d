"""Every column of both tables is accounted for: its role, what it holds, or why it is not used."""

from __future__ import annotations

import html
import json

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig
from mdba_checks.tables import load

N = 240


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(7)
    score = rng.normal(size=N)
    words = np.array(
        ["good", "bad", "plain", "honest", "careful", "late", "early", "sure", "kind", "short"]
    )
    both = {
        "item": [f"case {n}" for n in range(N)],
        "group": np.where(np.arange(N) % 2, "women", "men"),
        "score": score,
        "school": rng.choice(["north", "south", "west"], N),
        "essay": [" ".join(rng.choice(words, 7)) for _ in range(N)],
        "salary": [f"{value:.2f}".replace(".", ",") for value in rng.uniform(10, 99, N)],
        "year": 2024,
        "sent": pd.date_range("2024-01-01", periods=N),
    }
    both |= {f"emb_{n}": rng.normal(size=N) for n in range(60)}
    right = (score + rng.normal(size=N) / 3 > 0).astype(int)
    labels = pd.DataFrame({"labeler": rng.choice(["Ann", "Bo"], N), **both, "label": right})
    gold = pd.DataFrame({**both, "gold": right, "judge": "panel"})
    return labels.assign(minutes=3.5), gold


def held(config: CheckConfig, tables: tuple[pd.DataFrame, pd.DataFrame]) -> dict[str, tuple]:
    return {
        each.name: (each.tables, each.role, each.holds) for each in load(*tables, config).columns
    }


def test_every_column_is_there_once_with_its_role_and_what_it_holds(tables):
    found = held(CheckConfig(), tables)
    assert found.pop("essay")[2].startswith("text: 240 different, ")
    assert found.pop("emb_0 … emb_59")[2].startswith("vectors of 60 numbers, ")
    assert found == {
        "labeler": ("labels", "labeler", ""),
        "label": ("labels", "label", ""),
        "group": ("both tables", "group", ""),
        "gold": ("gold", "gold", ""),
        "item": ("both tables", "item", ""),
        "salary": ("both tables", "feature", "numbers, written with decimal commas"),
        "school": ("both tables", "feature", "categories, 3 different"),
        "score": ("both tables", "feature", "numbers"),
        "sent": (
            "both tables",
            "not used",
            "holds dates or times, which are features only if named",
        ),
        "year": ("both tables", "not used", "has the same value everywhere"),
        "minutes": ("labels", "not used", "gold does not have it"),
        "judge": ("gold", "not used", "labels does not have it"),
    }


def test_columns_that_were_not_named_are_said_to_be_unused(tables):
    found = held(CheckConfig(features=("score", "sent")), tables)
    assert found["sent"] == ("both tables", "feature", "dates or times, as a number of seconds")
    assert found["school"] == ("both tables", "not used", "is not named in features")
    assert len([name for name in found if name.startswith("emb_")]) == 60


def test_the_terminal_the_report_and_the_record_show_them(tables, tmp_path, monkeypatch, capsys):
    from mdba_checks.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name, table in zip(("labels.csv", "gold.csv"), tables, strict=True):
        table.to_csv(name, index=False)
    asked = ["check", "labels.csv", "--gold", "gold.csv", "--estimator", "selection_rate"]
    main([*asked, "--json", "r.json", "--report", "r.html", "--verbose"])
    shown = capsys.readouterr().out
    assert "\n- minutes (labels): not used, gold does not have it\n" in shown
    assert "\n- salary (both tables): feature, numbers, written with decimal commas\n" in shown
    recorded = json.loads((tmp_path / "r.json").read_text())["data"]["columns"]
    assert {"name": "judge", "tables": "gold", "role": "not used"}.items() <= recorded[-1].items()
    page = html.unescape((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "<td>numbers, written with decimal commas</td>" in page
    assert main([*asked, "--quiet"]) in (0, 1, 3)
    assert capsys.readouterr().out == ""
