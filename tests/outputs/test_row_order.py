"""Databases have no order of rows: an update that changes nothing must not change anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy

from mdba_checks import CheckConfig, Policy, assess, read_released, verify
from mdba_checks.cli import main
from mdba_checks.errors import InputError
from mdba_checks.outputs import annotate, decide_release, write_release
from mdba_checks.simulation import simulate

MADE = simulate(n_items=4_000, n_labelers=3, tprs=[0.5, 0.94, 0.94], seed=1)
LABELS = MADE.labels.assign(row=range(len(MADE.labels)))  # no feature: gold does not have it


@dataclass(frozen=True)
class Database:
    url: str

    def put(self, labels: pd.DataFrame) -> None:
        """Store the rows, in this order."""
        engine = sqlalchemy.create_engine(self.url)
        labels.to_sql("labels", engine, index=False, if_exists="replace")
        MADE.gold.to_sql("gold", engine, index=False, if_exists="replace")
        engine.dispose()

    @property
    def tables(self) -> tuple[str, str]:
        return f"{self.url}::labels", f"{self.url}::gold"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    made = Database(f"sqlite:///{tmp_path / 'jobs.db'}")
    made.put(LABELS)
    return made


def config(mode: str) -> CheckConfig:
    return CheckConfig(reference="men", jobs=1, policy=Policy(mode=mode, max_gap=0.2))


def by_row(frame: pd.DataFrame) -> pd.DataFrame:
    names = dict.fromkeys(("item", "label"), str)  # released names are text
    return frame.sort_values("row", ignore_index=True).astype(names)


@pytest.mark.parametrize("mode", ["annotate", "quarantine"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_that_moved_between_check_and_writing_keep_what_was_found(
    database: Database, tmp_path: Path, mode: str, form: str
) -> None:
    assessment = assess(*database.tables, config(mode))
    found = decide_release(*database.tables, assessment)
    still = by_row(found.table(LABELS))
    moved = LABELS.sample(frac=1, random_state=5)
    database.put(moved)
    write_release(database.tables[0], found, tmp_path / f"out.{form}")
    released = read_released(tmp_path / f"out.{form}").table
    stays = moved["row"][moved["row"].isin(still["row"])]
    assert released["row"].tolist() == stays.tolist()  # in the order of the database
    pd.testing.assert_frame_equal(
        by_row(released)[still.columns], still, check_dtype=False, rtol=1e-12
    )
    pd.testing.assert_frame_equal(by_row(found.table(moved)), still)


def test_annotating_a_database_is_annotating_its_rows(database: Database) -> None:
    assessment = assess(*database.tables, config("annotate"))
    database.put(LABELS.iloc[::-1])
    found = annotate(database.tables[0], assessment)
    pd.testing.assert_frame_equal(
        by_row(found), by_row(annotate(LABELS, assessment)), check_dtype=False
    )


def test_a_check_can_be_made_again_after_the_rows_have_moved(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.parquet"
    command = ["check", database.tables[0], "--gold", database.tables[1], "--reference", "men"]
    command += ["--mode", "annotate", "--output", str(out), "--jobs", "1", "--quiet"]
    assert main(command) == 0
    database.put(LABELS.sample(frac=1, random_state=2))
    assert main(["rerun", f"{out}.mdba.json"]) == 0
    assert "same" in capsys.readouterr().out
    assert verify(out).ok


def test_the_cache_of_a_flow_survives(database: Database, tmp_path: Path) -> None:
    pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")
    from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

    from mdba_checks.prefect import assess_labels, fingerprint, write_outputs

    settings = config("annotate").model_dump(mode="json")
    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: tmp_path / "storage"}):
        before = fingerprint.fn(*database.tables, settings)
        cached = assess_labels.fn(*database.tables, settings, before)
        moved = LABELS.sample(frac=1, random_state=4)
        database.put(moved)
        assert fingerprint.fn(*database.tables, settings) == before
        out = tmp_path / "out.parquet"
        write_outputs.fn(*database.tables, cached, settings["policy"], str(out))
    released = read_released(out).table
    expected = by_row(annotate(LABELS, assess(LABELS, MADE.gold, config("annotate"))))
    assert released["row"].tolist() == moved["row"].tolist()
    pd.testing.assert_frame_equal(
        by_row(released)[expected.columns], expected, check_dtype=False, rtol=1e-9
    )


def test_a_changed_row_is_still_refused(database: Database, tmp_path: Path) -> None:
    assessment = assess(*database.tables, config("annotate"))
    found = decide_release(*database.tables, assessment)
    database.put(LABELS.assign(label=1 - LABELS["label"]))
    with pytest.raises(InputError, match="does not hold the labels that were assessed"):
        write_release(database.tables[0], found, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
