from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdba_checks import CheckConfig, Policy, assess, gate
from mdba_checks.errors import InputError
from mdba_checks.outputs import ADDED_COLUMNS, annotate
from mdba_checks.outputs.release_rule import NO_MODELS
from tests.helpers import write_annotated


def selection(shares, *, rows=200) -> pd.DataFrame:
    """Return labels in which `shares[labeler][group]` is the share of yes."""
    return pd.DataFrame(
        [
            {"labeler": labeler, "group": group, "label": int(n < share * rows), "x": float(n % 7)}
            for labeler, groups in shares.items()
            for group, share in groups.items()
            for n in range(rows)
        ]
    )


class TestFindings:
    def test_every_row_gets_the_numbers_of_its_labeler_and_group(self, checked):
        annotated = annotate(checked.labels, checked.assessment)
        gaps = checked.assessment.gaps.set_index(["labeler", "group"])
        women = annotated[annotated["group"] == "women"]
        for row in women.sample(50, random_state=1).itertuples():
            expected = gaps.loc[(row.labeler, row.group)]
            assert row.mdba_gap == expected["gap"]
            assert row.mdba_ci_low == expected["ci_low"]
            assert row.mdba_ci_high == expected["ci_high"]
            assert row.mdba_finding == expected["finding"]

    def test_the_reference_group_has_no_gap_but_the_finding_of_its_labeler(self, checked):
        annotated = annotate(checked.labels, checked.assessment)
        men = annotated[annotated["group"] == "men"]
        assert men[["mdba_gap", "mdba_ci_low", "mdba_ci_high"]].isna().all().all()
        by_labeler = men.groupby("labeler")["mdba_finding"].agg(["first", "nunique"])
        assert by_labeler["first"].to_dict() == {"L1": "biased", "L2": "fair", "L3": "fair"}
        assert (by_labeler["nunique"] == 1).all()

    def test_the_most_severe_of_several_findings_stands_for_the_reference_group(self, quick):
        shares = {
            "ann": {"m": 0.5, "w": 0.1, "x": 0.5},
            "bob": {"m": 0.5, "w": 0.5, "x": 0.5},
        }
        gold = pd.DataFrame({"group": list("mwx") * 8, "gold": [0, 1] * 12, "x": np.arange(24.0)})
        labels = selection(shares)
        assessment, _ = quick(labels, gold, reference="m", policy={"max_gap": 0.2})
        findings = (
            annotate(labels, assessment).groupby(["labeler", "group"])["mdba_finding"].first()
        )
        assert findings["ann"].to_dict() == {"m": "biased", "w": "biased", "x": "fair"}
        assert findings["bob"].to_dict() == {"m": "fair", "w": "fair", "x": "fair"}

    def test_rows_without_a_labeler_label_or_group_are_inconclusive_and_stay(self, quick):
        labels = selection({"ann": {"m": 0.5, "w": 0.5}, "bob": {"m": 0.5, "w": 0.5}})
        labels = labels.astype({"label": "Int64"})
        labels.loc[3, "labeler"] = None
        labels.loc[250, "label"] = pd.NA
        labels.loc[610, "group"] = None
        assessment, _ = quick(labels, reference="m", policy={"max_gap": 0.3})
        annotated = annotate(labels, assessment)
        assert len(annotated) == len(labels)
        odd = annotated.loc[[3, 250, 610]]
        assert odd["mdba_finding"].tolist() == ["inconclusive"] * 3
        assert odd[[c for c in ADDED_COLUMNS if c != "mdba_finding"]].isna().all().all()
        assert (annotated.drop(index=[3, 250, 610])["mdba_finding"] == "fair").all()

    def test_findings_are_those_of_the_policy_that_decided(self, checked, tmp_path):
        strict = gate(checked.assessment, Policy(mode="annotate", max_gap=0.0))
        output = tmp_path / "out.parquet"
        published = write_annotated(checked.labels, checked.assessment, strict, output)
        assert published.record.policy["max_gap"] == 0.0
        assert "fair" not in set(pd.read_parquet(output)["mdba_finding"])

    def test_numeric_labelers_and_boolean_groups_are_found_again(self, quick):
        labels = selection({7: {True: 0.5, False: 0.1}, 8: {True: 0.5, False: 0.5}})
        gold = pd.DataFrame(
            {"group": [True, False] * 6, "gold": [0, 1, 1] * 4, "x": np.arange(12.0)}
        )
        assessment, _ = quick(labels, gold, reference=True, policy={"max_gap": 0.2})
        annotated = annotate(labels, assessment)
        findings = annotated[~annotated["group"]].groupby("labeler")["mdba_finding"].first()
        assert findings.to_dict() == {7: "biased", 8: "fair"}


class TestCorrectedLabels:
    def test_the_probability_follows_from_bayes_rule_with_the_rates_of_the_cell(self, checked):
        annotated = annotate(checked.labels, checked.assessment)
        rates = checked.assessment.rates.set_index(["labeler", "group"])
        g = checked.assessment.p_right
        for row in np.random.default_rng(0).integers(len(annotated), size=200):
            cell = rates.loc[(annotated["labeler"][row], annotated["group"][row])]
            tpr, fpr = min(max(cell["tpr"], 0.01), 0.99), min(max(cell["fpr"], 0.01), 0.99)
            if annotated["label"][row] == 0:
                tpr, fpr = 1 - tpr, 1 - fpr
            odds = g[row] / (1 - g[row]) * tpr / fpr
            assert annotated["mdba_p_positive"][row] == pytest.approx(odds / (1 + odds))

    def test_a_no_of_somebody_who_overlooks_many_women_counts_for_less(self, checked):
        annotated = annotate(checked.labels, checked.assessment)
        truth = checked.made.answers.set_index("item")["gold"]
        no = annotated[(annotated["group"] == "women") & (annotated["label"] == 0)]
        expected = no.groupby("labeler")["mdba_p_positive"].mean()
        overlooked = truth.reindex(no["item"]).groupby(no["labeler"].to_numpy()).mean()
        assert expected["L1"] > 2 * expected["L2"]
        assert expected["L1"] == pytest.approx(overlooked["L1"], abs=0.05)

    def test_the_probability_does_not_depend_on_the_metric(self, checked):
        config = checked.assessment.config.updated({"metric": "fpr"})
        other = assess(checked.labels, checked.made.gold, config)
        assert np.allclose(
            annotate(checked.labels, other)["mdba_p_positive"],
            annotate(checked.labels, checked.assessment)["mdba_p_positive"],
        )

    def test_both_rates_are_near_the_truth(self, checked):
        rates = checked.assessment.rates.set_index(["labeler", "group"])
        for row in checked.made.truth.itertuples():
            found = rates.loc[(row.labeler, row.group)]
            assert found["tpr"] == pytest.approx(row.tpr, abs=0.15)
            assert found["fpr"] == pytest.approx(row.fpr, abs=0.03)

    def test_without_models_the_probability_is_missing_and_the_sidecar_says_so(
        self, quick, tmp_path
    ):
        labels = selection({"ann": {"m": 0.5, "w": 0.1}, "bob": {"m": 0.5, "w": 0.5}})
        assessment, decision = quick(labels, reference="m")
        assert annotate(labels, assessment)["mdba_p_positive"].isna().all()
        published = write_annotated(labels, assessment, decision, tmp_path / "out.csv")
        assert NO_MODELS.format("selection_rate") in published.record.messages


def test_rows_in_another_order_get_the_findings_of_their_own(checked):
    turned = checked.labels.sample(frac=1, random_state=3)
    found = annotate(turned, checked.assessment)
    pd.testing.assert_frame_equal(found[turned.columns], turned)
    pd.testing.assert_frame_equal(
        found.sort_index(), annotate(checked.labels, checked.assessment), check_exact=True
    )


class TestRefusals:
    def test_other_labels_than_those_assessed_are_refused(self, checked):
        changed = checked.labels.copy()
        changed.loc[5, "label"] = 1 - changed.loc[5, "label"]
        with pytest.raises(InputError, match="does not hold the labels that were assessed"):
            annotate(changed, checked.assessment)

    @pytest.mark.parametrize("column", ADDED_COLUMNS)
    def test_a_column_of_ours_in_the_input_is_refused(self, column, quick):
        labels = selection({"ann": {"m": 0.5, "w": 0.1}}).assign(**{column: 1.0})
        assessment, _ = quick(labels)
        with pytest.raises(InputError, match=f"already has a column '{column}'"):
            annotate(labels, assessment)

    def test_an_annotated_data_set_cannot_be_annotated_again(self, checked):
        annotated = annotate(checked.labels, checked.assessment)
        config = CheckConfig(estimator="selection_rate", reference="men")
        again = assess(annotated, checked.made.gold, config)
        with pytest.raises(InputError, match="already has a column 'mdba_gap'"):
            annotate(annotated, again)

    def test_an_unknown_format_is_refused(self, checked, tmp_path):
        with pytest.raises(InputError, match="cannot tell the format"):
            write_annotated(
                checked.labels, checked.assessment, checked.decision, tmp_path / "out.xlsx"
            )
