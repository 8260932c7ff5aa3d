from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from mdba_checks import Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import ADDED_COLUMNS, sidecar_path, verify
from mdba_checks.outputs.quarantine import quarantine, removed_path
from tests.helpers import write_quarantined


def table(shares: dict[str, dict[str, float]], rows: int = 400) -> pd.DataFrame:
    """Return labels in which `shares[labeler][group]` is the share of yes."""
    return pd.DataFrame(
        [
            {"labeler": who, "group": group, "label": int(n < share * rows), "x": float(n % 7)}
            for who, groups in shares.items()
            for group, share in groups.items()
            for n in range(rows)
        ]
    )


BIASED, FAIR = {"m": 0.6, "w": 0.1}, {"m": 0.5, "w": 0.5}
STRICT = {"mode": "quarantine", "max_gap": 0.2, "on_inconclusive": "block"}


@pytest.fixture
def run():
    """Assess with an estimator that fits nothing, and quarantine."""
    from mdba_checks import CheckConfig

    def quarantined(labels, **policy):
        groups = sorted(labels["group"].unique())
        gold = pd.DataFrame(
            {
                "group": groups * 12,
                "gold": [0, 1] * (6 * len(groups)),
                "x": np.arange(12.0 * len(groups)),
            }
        )
        config = CheckConfig(
            estimator="selection_rate", reference="m", policy=Policy(**{**STRICT, **policy})
        )
        assessment = assess(labels, gold, config)
        return assessment, quarantine(labels, gold, assessment)

    return quarantined


class TestRows:
    def test_all_rows_of_a_biased_labeler_go(self, run):
        labels = table({"ann": BIASED, "bob": FAIR})
        _, parts = run(labels)
        assert (parts.removed == (labels["labeler"] == "ann")).all()

    def test_or_only_those_about_the_group_treated_differently(self, run):
        labels = table({"ann": BIASED, "bob": FAIR})
        _, parts = run(labels, quarantine="group")
        ann_about_women = (labels["labeler"] == "ann") & (labels["group"] == "w")
        assert (parts.removed == ann_about_women).all()

    def test_of_several_groups_only_the_affected_one_goes(self, run):
        labels = table(
            {"ann": {"m": 0.5, "w": 0.1, "x": 0.5}, "bob": {"m": 0.5, "w": 0.5, "x": 0.5}}
        )
        _, parts = run(labels, quarantine="group")
        assert set(labels[parts.removed]["group"]) == {"w"}
        assert set(labels[parts.removed]["labeler"]) == {"ann"}

    def test_nothing_goes_where_nobody_is_biased(self, run):
        assessment, parts = run(table({"ann": FAIR, "bob": FAIR}))
        assert parts.n_removed == 0
        assert parts.decision == gate(assessment)

    def test_rows_that_name_nobody_stay(self, quick):
        labels = table({"ann": BIASED, "bob": FAIR})
        labels.loc[[1, 900], "labeler"] = None
        labels.loc[3, "group"] = None
        assessment, _ = quick(labels, reference="m", policy={"mode": "quarantine"})
        gold = pd.DataFrame({"group": ["m", "w"] * 6, "gold": [0, 1, 1] * 4, "x": np.arange(12.0)})
        removed = quarantine(labels, gold, assessment).removed
        assert not removed[[1, 900]].any()
        assert removed[3]  # ann's, whoever it is about


class TestSecondVerdict:
    def test_what_is_left_passes_when_the_others_are_fair(self, run):
        assessment, parts = run(table({"ann": BIASED, "bob": FAIR, "cem": FAIR}))
        assert gate(assessment).verdict == "quarantine"
        assert parts.decision.verdict == "pass"
        assert parts.assessment.gaps["labeler"].tolist() == ["bob", "cem"]

    def test_it_is_the_verdict_of_a_check_of_the_kept_rows_alone(self, checked):
        parts = quarantine(checked.labels, checked.made.gold, checked.assessment)
        kept = checked.labels[~parts.removed]
        alone = assess(kept, checked.made.gold, checked.assessment.config)
        pd.testing.assert_frame_equal(parts.assessment.gaps, alone.gaps)
        assert parts.decision == gate(alone)

    def test_nothing_left_is_inconclusive(self, run):
        _, parts = run(table({"ann": BIASED, "bob": BIASED}))
        assert parts.removed.all()
        assert parts.assessment is None
        assert (parts.decision.verdict, parts.decision.reasons) == (
            "inconclusive",
            ("nothing is left",),
        )

    def test_what_cannot_be_assessed_is_inconclusive(self, run):
        labels = table({"ann": BIASED, "bob": FAIR})
        labels = labels[~((labels["labeler"] == "bob") & (labels["group"] == "w"))]
        _, parts = run(labels, on_inconclusive="pass")
        assert parts.decision.verdict == "inconclusive"
        assert "what is left cannot be assessed" in parts.decision.reasons[0]

    def test_a_comparison_that_quarantine_took_away_is_not_undecided(self, run):
        _, parts = run(table({"ann": BIASED, "bob": FAIR}), quarantine="group")
        assert parts.decision.verdict == "pass"

    def test_but_no_comparison_at_all_is_inconclusive(self, run):
        labels = table({"ann": BIASED, "bob": BIASED})
        _, parts = run(labels, quarantine="group", on_inconclusive="pass")
        assert parts.decision.verdict == "inconclusive"


class TestFiles:
    @pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
    def test_kept_and_removed_rows_are_the_input(self, run, tmp_path, form):
        labels = table({"ann": BIASED, "bob": FAIR, "cem": FAIR}, rows=30).sample(
            frac=1, random_state=0, ignore_index=True
        )
        assessment, parts = run(labels, decide_on="estimate")
        output = tmp_path / f"kept.{form}"
        write_quarantined(labels, parts, assessment, gate(assessment), output)
        read = pd.read_parquet if form == "parquet" else pd.read_csv
        kept, removed = read(output), read(tmp_path / f"kept.removed.{form}")
        assert [*labels, *ADDED_COLUMNS] == list(kept) == list(removed)
        assert set(removed["mdba_finding"]) == {"biased"}
        assert set(kept["mdba_finding"]) == {"fair"}
        whole = pd.concat([kept, removed])[list(labels)].astype(labels.dtypes)
        order = np.append(np.flatnonzero(~parts.removed), np.flatnonzero(parts.removed))
        pd.testing.assert_frame_equal(
            whole.reset_index(drop=True), labels.iloc[order].reset_index(drop=True)
        )
        assert verify(output).ok

    def test_the_sidecar_tells_both_verdicts_and_what_was_removed(self, run, tmp_path):
        labels = table({"ann": BIASED, "bob": FAIR, "cem": FAIR})
        assessment, parts = run(labels)
        output = tmp_path / "kept.csv"
        write_quarantined(labels, parts, assessment, gate(assessment), output)
        record = json.loads(sidecar_path(output).read_text())
        assert record["verdict"] == "quarantine"
        assert record["recheck"]["verdict"] == "pass"
        assert [row["labeler"] for row in record["recheck"]["gaps"]] == ["bob", "cem"]
        assert record["other_files"][0]["name"] == "kept.removed.csv"
        assert (record["file"]["rows"], record["other_files"][0]["rows"]) == (1600, 800)

    def test_when_nothing_goes_the_removed_file_has_a_header_and_no_rows(self, run, tmp_path):
        labels = table({"ann": FAIR, "bob": FAIR})
        assessment, parts = run(labels)
        for form in ("csv", "parquet"):
            output = tmp_path / f"kept.{form}"
            write_quarantined(labels, parts, assessment, gate(assessment), output)
            read = pd.read_parquet if form == "parquet" else pd.read_csv
            removed = read(removed_path(output))
            assert (list(removed), len(removed)) == ([*labels, *ADDED_COLUMNS], 0)
            assert verify(output).ok


class TestChangesMeanwhile:
    def test_labels_that_were_changed_are_not_split(self, run, tmp_path):
        path = tmp_path / "labels.csv"
        labels = table({"ann": BIASED, "bob": FAIR, "cem": FAIR})
        labels.to_csv(path, index=False)
        assessment, parts = run(labels)
        path.write_text(path.read_text().replace("bob", "ann", 1))
        with pytest.raises(InputError, match="does not hold the labels that were assessed"):
            write_quarantined(path, parts, assessment, gate(assessment), tmp_path / "kept.csv")
        assert [each.name for each in tmp_path.iterdir()] == ["labels.csv"]

    def test_gold_that_was_changed_gives_no_second_verdict(self, checked):
        gold = checked.made.gold.iloc[:-1]
        with pytest.raises(InputError, match="gold was changed"):
            quarantine(checked.labels, gold, checked.assessment)
