"""What people see: the worst first, drawn truly, within the width, harmless, also in ASCII."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mdba_checks.cli.progress import _Log
from mdba_checks.cli.table import labeler_table
from mdba_checks.cli.terminal import Screen, screen, shorten
from mdba_checks.errors import visible
from mdba_checks.findings import by_severity

HOSTILE = ["[red]x[/red]", "\x1b[31mred\x1b[0m", "two\nlines", "\u202egnp.exe", "a\tb\rc", "=1+1"]


def row(labeler: str, gap: float, half: float, finding: str, group: str = "women") -> dict:
    return {
        "labeler": labeler,
        "group": group,
        "reference": "men",
        "gap": gap,
        "ci_low": gap - half,
        "ci_high": gap + half,
        "rate": 0.9 + gap,
        "rate_reference": 0.9,
        "finding": finding,
        "p_value": np.nan if np.isnan(gap) else 0.04,
    }


ROWS = pd.DataFrame(
    [
        row("ann", 0.01, 0.05, "fair"),
        row("bob", -0.4, 0.1, "biased"),
        row("cy", np.nan, np.nan, "inconclusive"),
        row("dan", 0.6, 0.1, "biased"),
        row("eve", -0.12, 0.1, "inconclusive"),
    ]
)


def paper(width: int, encoding: str = "utf-8") -> tuple[Screen, io.TextIOWrapper]:
    """Return a screen on a stream in memory."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    surface = screen(stream)
    surface.console.width = width
    return surface, stream


def table(width: int, rows: pd.DataFrame = ROWS, encoding: str = "utf-8") -> list[str]:
    surface, _ = paper(width, encoding)
    return [line.plain for line in labeler_table(by_severity(rows), surface, limit=0.1)]


def test_biased_come_first_then_inconclusive_then_fair_and_larger_gaps_before_smaller():
    assert by_severity(ROWS)["labeler"].tolist() == ["dan", "bob", "eve", "cy", "ann"]


def test_a_row_holds_gap_interval_rates_and_the_finding_in_a_word():
    _, dan, bob, *_ = table(100)
    assert dan.split()[:3] == ["dan", "women", "+0.60"]
    assert bob.endswith("-0.50 to -0.30  50% / 90%   biased")


def test_what_is_not_known_is_a_question_mark_and_no_drawing_of_an_interval():
    (cy,) = (line for line in table(100) if line.startswith("cy"))
    assert "●" not in cy
    assert "━" not in cy
    assert cy.split()[-4:] == ["?", "/", "90%", "inconclusive"]


def test_a_gap_of_nothing_has_no_minus():
    assert " 0.00 " in table(100, pd.DataFrame([row("ann", -0.001, 0.02, "fair")]))[1]


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_no_line_is_longer_than_the_screen_and_every_row_says_its_finding(width, encoding):
    rows = ROWS.assign(
        labeler=[f"annotator-of-team-{i}-李明" * 3 for i in range(5)], group="g" * 40
    )
    lines = table(width, rows, encoding)
    assert max(map(cell_len, lines)) <= max(width, 40)
    for line, finding in zip(lines[1:], by_severity(rows)["finding"], strict=True):
        assert line.endswith(finding)


def test_the_drawing_grows_with_the_screen():
    drawn = [len(re.search("├.*┤", table(width)[1]).group()) for width in (80, 120, 200)]
    assert drawn[0] < drawn[1] < drawn[2]


def test_ascii_streams_get_ascii():
    assert "".join(table(80, encoding="ascii")).isascii()
    assert any("=o=" in line for line in table(100, encoding="ascii"))


def test_dumb_terminals_get_ascii_drawings(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert "".join(table(80)).isascii()


def test_names_keep_both_ends_when_they_are_cut():
    assert shorten("annotator-007-of-team-blue", 12) == "annot…m-blue"
    assert shorten("李明李明李明", 5) == "李…明"
    assert cell_len(shorten("李明李明李明", 4)) <= 4


@given(st.text())
def test_nothing_invisible_survives_cleaning(text):
    assert all(
        character.isprintable() or character == " " or character.isspace() is False
        for character in visible(text)
    )
    assert "\x1b" not in visible(text)
    assert len(visible(text).splitlines()) <= 1


def test_hostile_names_are_shown_as_what_they_are(mdba, files, tables):
    labels = tables[0].copy()
    labels["labeler"] = np.array(HOSTILE, object)[np.arange(len(labels)) % len(HOSTILE)]
    names = files.folder / "labels.parquet"
    labels.to_parquet(names)
    command, _, *rest = files.quick
    run = mdba(command, names, *rest, COLUMNS="200", FORCE_COLOR="1")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", run.out)
    assert "\x1b" not in plain
    assert all(character.isprintable() or character == "\n" for character in plain)
    for shown in ("[red]x[/red]", "\\x1b[31mred\\x1b[0m", "two\\nlines", "\\u202egnp.exe"):
        assert sum(line.startswith(shown) for line in plain.splitlines()) == 1


@pytest.mark.parametrize("columns", ["80", "200"])
def test_the_whole_output_keeps_to_the_width(mdba, files, columns):
    run = mdba(*files.quick, COLUMNS=columns)
    lines = run.out.splitlines()
    assert max(map(cell_len, lines)) <= int(columns)
    assert all(line == line.rstrip() for line in lines)
    assert [line.split()[0] for line in lines if "women  " in line] == ["L1", "L2", "L3"]


def test_colour_is_for_terminals_and_never_the_only_sign(mdba, files):
    plain = mdba(*files.quick).out
    assert "\x1b" not in plain
    assert "biased" in plain
    coloured = mdba(*files.quick, FORCE_COLOR="1", TERM="xterm-256color").out
    assert "\x1b[" in coloured
    without = mdba(*files.quick, FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1").out
    assert not re.search(r"\x1b\[[0-9;]*3[1-7]m", without)


def test_many_labelers_are_cut_to_the_worst_and_all_shows_them(mdba, files, tables):
    labels = tables[0].copy()
    names = [f"worker-{number:02d}" for number in range(40)]
    labels["labeler"] = np.array(names, object)[np.arange(len(labels)) % 40]
    labels.to_csv(files.labels, index=False)
    run = mdba(*files.quick)
    shown = [line for line in run.out.splitlines() if re.match(r"worker-\d\d women", line)]
    assert len(shown) == 25
    assert re.search(r"… and 15 rows more \(.*\): --all shows them", run.out)
    run = mdba(*files.quick, "--all")
    assert sum(bool(re.match(r"worker-\d\d women", line)) for line in run.out.splitlines()) == 40
    assert "--all shows them" not in run.out


def test_why_nothing_can_be_said_about_somebody_is_said(mdba, files, tables):
    labels = tables[0].copy()
    labels.loc[labels["labeler"] == "L3", "label"] = 1
    labels.to_csv(files.labels, index=False)
    run = mdba(*files.quick, COLUMNS="160")
    assert re.search(r"^- L3: said yes for all \d+ items", run.out, re.MULTILINE)


def test_several_groups_are_compared_with_everyone_else_by_default(mdba, files, tables):
    for path, table in zip((files.labels, files.gold), tables, strict=True):
        thirds = np.array(["a", "b", "c"], object)[np.arange(len(table)) % 3]
        table.assign(group=thirds).to_csv(path, index=False)
    run = mdba("check", files.labels, "--gold", files.gold, "--estimator", "selection_rate")
    assert "compared with everyone else" in run.out
    assert len(re.findall(r"^L[123] +[abc] ", run.out, re.MULTILINE)) == 9


def test_a_log_gets_a_line_for_a_long_stage_only(capsys, monkeypatch):
    clock = iter([0.0, 1.5, 10.0, 11.0, 13.5])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    log = _Log()
    log("reading", 0, 1)
    log("reading", 1, 1)
    log("labelers", 0, 200)
    log("labelers", 100, 200)
    log("labelers", 200, 200)
    assert capsys.readouterr().err == "mdba: fitting labelers (200): 4 s\n"


def test_an_assumption_in_doubt_is_said(mdba, files, tables):
    _, gold = tables
    suitable_women = gold.index[(gold["gold"] == 1) & (gold["group"] == "women")]
    gold.drop(suitable_women[3:]).to_csv(files.gold, index=False)
    run = mdba(*files.check, COLUMNS="160")
    assert run.code == 3
    assert "- serious: " in run.out.split("Assumptions that need a look")[1]
    assert "- L1, L2, L3: gold has 3 items of women where yes is right" in run.out
