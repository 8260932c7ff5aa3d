"""`mdba check --output`, `mdba verify` and `mdba trend`, as users run them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from mdba_checks.cli import main
from mdba_checks.outputs import sidecar_path, verify
from mdba_checks.simulation import simulate


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str


@pytest.fixture
def mdba(capsys, monkeypatch) -> Callable[..., Run]:
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: object) -> Run:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Run(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """L1 is far too hard on women, the others are not."""
    made = simulate(n_items=3_000, n_labelers=3, gold_per_group=200, tprs=[0.3, 0.95, 0.95], seed=1)
    return made.labels, made.gold


@pytest.fixture
def folder(tmp_path, tables) -> Path:
    tables[0].to_csv(tmp_path / "labels.csv", index=False)
    tables[1].to_csv(tmp_path / "gold.csv", index=False)
    return tmp_path


@pytest.fixture
def check(folder) -> list[object]:
    """A check without models: rates of yes differ by about 0.13 for L1 and hardly for others."""
    basics = ["check", folder / "labels.csv", "--gold", folder / "gold.csv", "--reference", "men"]
    return [*basics, "--estimator", "selection_rate", "--max-gap", "0.05", "--jobs", "1"]


DECIDED = ["--decide-on", "estimate"]


class TestOutput:
    def test_annotate_writes_every_row_with_its_findings(self, mdba, folder, check, tables):
        output = folder / "out.csv"
        run = mdba(*check, *DECIDED, "--mode", "annotate", "--output", output)
        assert run.code == 0
        assert "Verdict: ANNOTATE" in run.out
        assert f"{output}: 2,600 rows with their findings; sidecar out.csv.mdba.json" in run.out
        assert "mdba_p_positive is missing" in run.out
        written = pd.read_csv(output)
        assert set(written.loc[written["labeler"] == "L1", "mdba_finding"]) == {"biased"}
        assert len(written) == len(tables[0])
        assert verify(output).ok

    def test_the_default_estimator_gives_probabilities(self, mdba, folder, check):
        output = folder / "out.parquet"
        run = mdba(
            *check, "--estimator", "mdba_dr", "--mode", "annotate", "--max-gap", "0.4", *DECIDED,
            "--output", output, "--quiet",
        )  # fmt: skip
        assert (run.code, run.out) == (0, "")
        assert pd.read_parquet(output)["mdba_p_positive"].between(0, 1).all()

    def test_quarantine_writes_two_files_and_checks_the_rest(self, mdba, folder, check):
        output = folder / "kept.csv"
        record = folder / "record.json"
        run = mdba(*check, *DECIDED, "--mode", "quarantine", "--output", output, "--json", record)
        assert run.code == 0
        assert "the rows that stay were checked again: pass" in run.out
        kept, removed = pd.read_csv(output), pd.read_csv(folder / "kept.removed.csv")
        assert set(kept["labeler"]) == {"L2", "L3"}
        assert set(removed["labeler"]) == {"L1"}
        assert len(kept) + len(removed) == 2_600
        said = json.loads(record.read_text())
        assert (said["verdict"], said["recheck"]["verdict"]) == ("quarantine", "pass")
        assert said["output"]["rows"] == len(kept)

    def test_only_the_affected_group_goes_if_asked(self, mdba, folder, check):
        output = folder / "kept.csv"
        flags = ["--mode", "quarantine", "--quarantine", "group", "--output", output]
        assert mdba(*check, *DECIDED, *flags).code == 0
        removed = pd.read_csv(folder / "kept.removed.csv")
        assert removed[["labeler", "group"]].drop_duplicates().to_numpy().tolist() == [
            ["L1", "women"]
        ]

    def test_a_rest_that_does_not_pass_is_not_written(self, mdba, folder, check, tables):
        labels = tables[0]
        labels[labels["labeler"] == "L1"].to_csv(folder / "labels.csv", index=False)
        output, record = folder / "kept.csv", folder / "record.json"
        run = mdba(*check, *DECIDED, "--mode", "quarantine", "--output", output, "--json", record)
        assert run.code == 3
        assert "Verdict: INCONCLUSIVE" in run.out
        assert "nothing is left" in run.out
        said = json.loads(record.read_text())
        assert (said["verdict"], said["recheck"]["verdict"]) == ("inconclusive", "inconclusive")
        assert not list(folder.glob("kept*"))

    @pytest.mark.parametrize(
        ("mode", "said"),
        [
            ("annotate", "nothing was written; every row would get its findings"),
            ("quarantine", "nothing was written; 867 rows of L1 would be taken out"),
        ],
    )
    def test_without_an_output_a_check_says_what_would_happen(
        self, mdba, folder, check, mode, said
    ):
        before = sorted(folder.iterdir())
        run = mdba(*check, *DECIDED, "--mode", mode)
        assert run.code == 0
        assert said in run.out
        assert sorted(folder.iterdir()) == before

    def test_what_is_stopped_goes_nowhere(self, mdba, folder, check):
        run = mdba(*check, *DECIDED, "--output", folder / "out.csv")
        assert run.code == 1
        assert not list(folder.glob("out*"))

    def test_what_passes_leaves_with_a_passport(self, mdba, folder, check):
        output = folder / "out.csv"
        assert mdba(*check, "--max-gap", "0.9", "--output", output).code == 0
        assert verify(output).record.verdict == "pass"


class TestRefusals:
    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            (["--output", "{}/labels.csv", "--force"], "it is an input"),
            (["--output", "{}/gold.csv", "--force"], "it is an input"),
            (["--output", "{}/out.xlsx"], "cannot tell the format"),
            (["--output", "{}/no/out.csv"], "there is no folder"),
            (["--output", "{}/there.csv"], "it exists"),
            (["--output", "{}/a.csv", "--json", "{}/a.csv"], "another output goes there"),
            (["--mapping", "{}/who.json"], "--mapping .* needs --pseudonymize"),
            (["--quarantine", "everybody"], "--quarantine is 'everybody'"),
            (["--pseudonymize"], "MDBA_PSEUDONYM_KEY"),
        ],
    )
    def test_are_one_line_before_anything_is_fitted(
        self, mdba, folder, check, flags, said, monkeypatch
    ):
        monkeypatch.delenv("MDBA_PSEUDONYM_KEY", raising=False)
        (folder / "there.csv").write_text("mine")
        before = sorted(folder.iterdir())
        run = mdba(*check, *(flag.format(folder) for flag in flags))
        assert (run.code, run.out) == (2, "")
        assert re.fullmatch(rf"mdba: .*{said}.*\n", run.err)
        assert sorted(folder.iterdir()) == before
        assert (folder / "there.csv").read_text() == "mine"

    def test_an_annotated_file_is_refused_before_anything_is_fitted(self, mdba, folder, check):
        labels = folder / "labels.csv"
        labels.write_text(labels.read_text().replace("label\n", "label,mdba_gap\n", 1))
        # Rows are now too short: whoever reads them fails with another text.
        run = mdba(*check, "--mode", "annotate", "--output", folder / "out.csv")
        assert run.code == 2
        assert "already has a column 'mdba_gap'" in run.err


class TestPrivacy:
    def test_names_are_in_the_mapping_only(self, mdba, folder, check, monkeypatch):
        monkeypatch.setenv("MDBA_PSEUDONYM_KEY", "secret")
        output = folder / "out.csv"
        files = ["--json", folder / "r.json", "--report", folder / "r.html", "--output", output]
        run = mdba(
            *check, *DECIDED, "--mode", "annotate", "--pseudonymize",
            "--mapping", folder / "who.json", *files,
        )  # fmt: skip
        assert run.code == 0
        said = [run.out, run.err, sidecar_path(output).read_text()]
        said += [(folder / name).read_text() for name in ("r.json", "r.html")]
        for text in said:
            assert not re.search(r"\bL[123]\b", text)
            assert "secret" not in text.replace("a secret key", "")
        mapping = json.loads((folder / "who.json").read_text())
        assert sorted(mapping.values()) == ["L1", "L2", "L3"]
        assert all(alias in said[3] for alias in mapping)


class TestVerify:
    def test_exit_codes_tell_whether_a_file_is_the_one_that_was_checked(self, mdba, folder, check):
        output = folder / "out.csv"
        mdba(*check, "--max-gap", "0.9", "--output", output)
        run = mdba("verify", output)
        assert run.code == 0
        assert run.out.startswith(f"ok: {output} holds what its sidecar describes: 2,600 rows")
        assert mdba("verify", output, "--quiet") == Run(0, "", "")
        output.write_text(output.read_text().replace("L1", "L2", 1))
        run = mdba("verify", output)
        assert run.code == 1
        assert run.out.startswith(f"not ok: {output}: ")
        assert mdba("verify", output, "--quiet") == Run(1, "", "")
        sidecar_path(output).unlink()
        assert "there is no out.csv.mdba.json" in mdba("verify", output).out

    def test_no_such_file_is_bad_usage(self, mdba, tmp_path):
        run = mdba("verify", tmp_path / "no.csv")
        assert (run.code, run.out) == (2, "")
        assert "no such file" in run.err


class TestTrend:
    @pytest.fixture
    def history(self, tmp_path) -> list[Path]:
        files = []
        for number, gap in enumerate((0.0, -0.02, -0.3)):
            rows = [
                {
                    "labeler": name,
                    "group": "women",
                    "reference": "men",
                    "finding": "fair",
                    "gap": gap if name == "ann" else 0.01,
                    "std_error": 0.03,
                    "ci_low": (gap if name == "ann" else 0.01) - 0.05,
                    "ci_high": (gap if name == "ann" else 0.01) + 0.05,
                }
                for name in ("ann", "\x1b[31mbob")
            ]
            record = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9, "gaps": rows}
            files.append(tmp_path / f"check-{number}.json")
            files[-1].write_text(json.dumps(record))
        return files

    def test_it_shows_every_check_and_who_changed(self, mdba, history):
        run = mdba("trend", *history)
        assert run.code == 0
        lines = run.out.splitlines()
        assert sum(line.rstrip().endswith(" yes") for line in lines) == 1
        columns = r"ann +women +3 +-0.30 .* -0.35 to -0.25 +fair +-0.28 +0.000 +yes"
        assert re.search(columns, run.out)
        assert lines[-1] == "1 change beyond chance in 3 checks."
        assert "\x1b" not in run.out

    def test_it_can_show_those_who_changed_alone(self, mdba, history):
        run = mdba("trend", *history, "--changed")
        assert run.out.count("ann ") == 3
        assert "bob" not in run.out

    def test_a_wide_screen_shows_the_intervals_drawn_and_dates_where_there_are_some(
        self, mdba, history, monkeypatch
    ):
        monkeypatch.setenv("COLUMNS", "130")
        for day, path in enumerate(history, start=1):
            record = json.loads(path.read_text())
            path.write_text(json.dumps({**record, "created": f"2026-03-0{day}T08:30:00+00:00"}))
        shown = mdba("trend", *history).out
        assert re.search(r"ann +women +2026-03-03 08:30 +-0.30 +━*●━* +├─+┼─+┤ ", shown)

    @pytest.mark.parametrize(("name", "begin"), [("t.png", b"\x89PNG"), ("t.svg", b"<?xml")])
    def test_the_gaps_over_time_can_be_drawn(self, mdba, history, tmp_path, name, begin):
        run = mdba("trend", *history, "--plot", tmp_path / name)
        assert run.code == 0
        assert (tmp_path / name).read_bytes().startswith(begin)
        refused = mdba("trend", *history, "--plot", tmp_path / "t.doc")
        assert (refused.code, "ends in .png or .svg" in refused.err) == (2, True)

    def test_json_holds_the_same_rows(self, mdba, history):
        rows = json.loads(mdba("trend", *history, "--json", "-").out)["trend"]
        assert [row["changed"] for row in rows if row["labeler"] == "ann"] == [False, False, True]
        assert rows[0]["change"] is None

    def test_an_input_is_not_overwritten(self, mdba, history):
        before = history[0].read_bytes()
        run = mdba("trend", *history, "--json", history[0], "--force")
        assert run.code == 2
        assert history[0].read_bytes() == before

    def test_other_files_are_bad_input(self, mdba, folder):
        run = mdba("trend", folder / "labels.csv")
        assert (run.code, run.out) == (2, "")
        assert run.err.count(os.linesep) == 1
